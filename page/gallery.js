// Makes the pictures of docs/page.md: real runs on a real store, in the states that are hard to come by.
//
// Needs what check.sh needs: ENVOI=…/envoi CHROMIUM=…/chromium SHOTS=../docs/page node gallery.js [NAME …]

import { LATER, NASTY, RELEASE, WRITES, models, throttled } from "./test/flows.js";
import { DESK, PHONE, Person, Stage, ended, eventually } from "./test/stage.js";

const BUILD = `
flow: build
steps:
  - id: compile
    run: echo compiled
  - id: test
    run: echo '41 tests passed'
`;

const PUBLISH = `
flow: publish
title: Notes of the release
limits: { cost_usd: 5 }
steps:
  - id: draft
    run: printf '# Notes of 0.9\\n\\n- Pages open **faster**.\\n- Dates agree with the tags.\\n' > notes-0.9.md; echo 'Two changes. VERIFIED by the critic.'
    artifacts: [notes-0.9.md]
  - id: ok
    ask:
      message: 'Publish the notes of 0.9?'
      expires_in: 4h
  - id: send
    run: echo sent
`;

const DOUBT = `
flow: deploy
title: Deployment
steps:
  - id: migrate
    run: echo 'ALTER TABLE users ADD COLUMN seen'; touch begun; kill -9 $PPID; sleep 600
    on_in_doubt: ask
  - id: deploy
    run: echo deployed
`;

const CONFLICT = `
flow: edits
title: Three edits of the notes
workspace: { isolate: tree }
steps:
  - id: base
    run: printf '# Speed\\n\\nPages open fast.\\n' > speed.md; printf 'Opens fast.\\n' > summary.txt
    artifacts: [speed.md, summary.txt]
  - id: edit
    for_each: ['faster than before', 'in 80 ms', 'at once']
    isolate: true
    run: sed -i "s/open .*/open \${{ item }}./" speed.md; if [ $ENVOI_INDEX = 2 ]; then echo 'Opens at once.' > summary.txt; fi
`;

const FOLDERS = ["api", "engine", "journal", "kernel", "server"];
/** 400 files, of which three fail. */
const ITEMS = `
flow: check
title: All files of the library
steps:
  - id: list
    run: echo 'Found 400 files'
  - id: check
    for_each: [${Array.from({ length: 400 }, (_, nth) => `src/${FOLDERS[nth % 5]}/part_${Math.floor(nth / 5)}.rs`).join(", ")}]
    max_parallel: 8
    run: |
      case $ENVOI_INDEX in 57|203|311) echo "error: unused variable in \${{ item }}" >&2; exit 2;; esac
      echo 'no remarks'
  - id: publish
    run: echo published
`;

/** The answer that has the files in conflict, in view. */
async function edited(tab) {
  await tab.getByText("Use edited files", { exact: true }).click();
  await tab.getByLabel("speed.md", { exact: true }).waitFor();
  await tab.getByLabel("speed.md", { exact: true }).evaluate((text) => text.scrollIntoView({ block: "center" }));
}

/** A visit, which is below the tree on a phone. */
async function placed(tab) {
  await tab.locator(".output", { hasText: "is broken" }).waitFor();
  await tab.getByRole("complementary", { name: "7.check.1" }).evaluate((place) => place.scrollIntoView({ block: "start" }));
}

/** The differences between two rounds, in view. */
async function compared(tab) {
  await tab.getByLabel("compare with").selectOption({ label: "visit 2" });
  await tab.getByRole("region", { name: "compared with visit 2" }).locator(".diff").last().waitFor();
  await tab.locator(".diff").last().evaluate((differs) => differs.scrollIntoView({ block: "center" }));
}

/** The items of a run, those that failed first. */
async function unfolded(tab) {
  await tab.getByRole("row", { name: /failed check/ }).waitFor();
  await tab.getByRole("treegrid").focus();
  await tab.keyboard.press("e");
  await tab.keyboard.press("ArrowRight");
  await tab.getByRole("row", { name: /failed 57/ }).waitFor();
}

const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);

const stage = await Stage.open({ config: "" });
await stage.kill();
const provider = await models(stage);
await stage.restart();
try {
  const { digest } = await stage.ask("POST", "flows", { flow: "release.yaml", files: { "release.yaml": RELEASE, "build.yaml": BUILD } });
  const runs = {};
  runs.release = (await stage.ask("POST", "runs", { flow: digest, workspace: "shared" })).run;
  await stage.until(runs.release, "failed");
  runs.items = await stage.run(ITEMS);
  await stage.until(runs.items, "failed");
  runs.writes = await stage.run(WRITES);
  await stage.until(runs.writes, "succeeded");
  runs.publish = await stage.run(PUBLISH);
  await stage.question(runs.publish);
  runs.later = await stage.run(LATER);
  runs.doubt = await stage.run(DOUBT);
  runs.throttle = await stage.run(throttled(stage));
  runs.aside = await stage.run(NASTY);
  const edits = (await stage.ask("POST", "runs", { flow: (await stage.ask("POST", "flows", CONFLICT)).digest })).run;
  const { question: conflict } = await stage.question(edits);
  await eventually("a throttle", async () => (await stage.ask("GET", `runs/${runs.throttle}`)).waits_for !== null);
  await eventually("one set aside", async () => (await stage.ask("GET", `runs/${runs.aside}`)).set_aside !== null);
  await eventually("a try later", async () => (await stage.ask("GET", `runs/${runs.later}/steps`)).steps.some((row) => row.next_try_at !== null));
  const { question: doubt } = await stage.question(runs.doubt);
  const { question: publish } = await stage.question(runs.publish);

  const desk = await Person.at(stage, DESK);
  const page = await desk.tab(stage.link());
  const phone = await Person.at(stage, PHONE);
  const small = await phone.tab(stage.link("--for", "ann", "--scope", "answer"));
  await small.getByRole("link", { name: /Publish the notes/ }).waitFor();

  const scenes = [
    ["inbox-phone", small, "#/inbox", (tab) => tab.getByRole("link", { name: /Publish the notes/ }).waitFor()],
    ["question", small, `#/q/${publish}`, (tab) => tab.getByText("Pages open").waitFor()],
    ["question-dark", small, `#/q/${publish}`, (tab) => tab.getByText("Pages open").waitFor(), { dark: true }],
    ["run-phone", small, `#/r/${runs.release}`, (tab) => tab.getByRole("treegrid").waitFor()],
    ["inbox", page, "#/inbox", (tab) => tab.getByRole("link", { name: /Publish the notes/ }).waitFor()],
    ["conflict", page, `#/q/${conflict}`, (tab) => edited(tab)],
    ["flows", page, "#/flows", (tab) => tab.getByRole("link", { name: /release/ }).first().waitFor()],
    ["runs", page, "#/runs", (tab) => tab.getByRole("link", { name: /release/ }).first().waitFor()],
    ["run", page, `#/r/${runs.release}`, (tab) => tab.getByRole("treegrid").waitFor()],
    ["run-dark", page, `#/r/${runs.release}`, (tab) => tab.getByRole("treegrid").waitFor(), { dark: true }],
    ["place", page, `#/r/${runs.release}/at/7.check.1`, (tab) => tab.locator(".output", { hasText: "is broken" }).waitFor()],
    ["place-phone", small, `#/r/${runs.release}/at/7.check.1`, (tab) => placed(tab)],
    ["compare", page, `#/r/${runs.release}/at/draft.3`, (tab) => compared(tab)],
    ["items", page, `#/r/${runs.items}`, (tab) => unfolded(tab)],
    ["items-dark", page, `#/r/${runs.items}`, (tab) => unfolded(tab), { dark: true }],
    ["why", page, `#/r/${runs.release}/why`, (tab) => tab.getByRole("region", { name: "decisions" }).getByRole("listitem").first().waitFor()],
    ["cost", page, `#/r/${runs.writes}/cost`, (tab) => tab.getByRole("region", { name: "what each model was used for" }).waitFor()],
    ["map", page, `#/r/${runs.release}/map`, (tab) => tab.locator(".stations li", { hasText: "prepare" }).first().waitFor()],
    ["rounds", page, `#/r/${runs.release}/compare`, (tab) => tab.getByRole("region", { name: "what differs" }).waitFor()],
    ["waits", page, `#/r/${runs.later}`, (tab) => tab.getByRole("row", { name: /retries fetch/ }).waitFor()],
    ["doubt-phone", small, `#/q/${doubt}`, (tab) => tab.getByRole("radio").first().waitFor()],
    ["doubt", page, `#/q/${doubt}`, (tab) => tab.getByRole("radio").first().waitFor()],
    ["doubt-run", page, `#/r/${runs.doubt}`, (tab) => tab.getByRole("row", { name: /in doubt migrate/ }).waitFor()],
    ["throttle", page, `#/r/${runs.throttle}`, (tab) => tab.getByRole("row", { name: /retries fix/ }).waitFor()],
    ["aside", page, `#/r/${runs.aside}`, (tab) => tab.getByRole("row", { name: /second/ }).waitFor()],
    ["flow", page, `#/flows/${digest}`, (tab) => tab.locator(".stations li").first().waitFor()],
    ["start", page, `#/start/${digest}`, (tab) => tab.getByRole("button", { name: /^Start / }).waitFor()],
  ];
  for (const [name, tab, address, seen, { dark = false } = {}] of scenes) {
    if (!isWanted(name)) continue;
    await tab.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    await tab.goto(`${stage.url}/${address}`);
    await seen(tab);
    // No link is under the pointer.
    await tab.mouse.move(0, 0);
    await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await desk.shot(tab, name);
    // A picture of a screen that was asked for again meanwhile would lie.
    if ((await tab.getByText("Asking the server …").count()) > 0) throw new Error(`${name}: the screen is not there any more`);
  }
  if (isWanted("not-live")) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(`${stage.url}/#/r/${runs.release}`);
    await page.getByRole("treegrid").waitFor();
    await stage.kill();
    await page.locator(".notlive").waitFor();
    await desk.shot(page, "not-live");
  }
} finally {
  provider.close();
  await ended();
}
