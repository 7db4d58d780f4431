// Measures the page as docs/figures.md has it: bytes, requests, elements, first paint, frames. Makes pictures with $SHOTS, a folder.
//
// Needs what check.sh needs: ENVOI=…/envoi CHROMIUM=…/chromium node figures.js

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { DESK, PHONE, Person, Stage, ended } from "./test/stage.js";

const FLOW = `
flow: one
title: Release of the notes
steps:
  - id: prepare
    run: echo prepared
  - id: check
    run: echo 'Three pages, all dates agree with the tags.'
`;

const ASKS = `
flow: publish
title: Notes of the release
steps:
  - id: draft
    run: printf '# Notes of 0.9\\n\\n- Pages open **faster**.\\n- Dates agree with the tags.\\n' > notes.md; echo 'Two changes. VERIFIED by the critic.'
    artifacts: [notes.md]
  - id: ok
    ask: 'Publish the notes of 0.9?'
  - id: send
    run: echo sent
`;

/** Of an item ten visits: the item, and nine steps that are skipped, so that nothing is started. */
const PAGES = (items) => `
flow: pages
title: All pages of the site
steps:
  - id: prepare
    run: echo prepared
  - id: page
    for_each: \${{ range(${items}) | list }}
    flow: page.yaml
`;
const ONE_PAGE = `flow: page\nsteps:\n${Array.from({ length: 9 }, (_, nth) => `  - id: look_${nth}\n    if: "false"\n    run: echo looked\n`).join("")}`;

const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

/** Rows of a run with this many visits, a failure among them. */
function rowsOf(row, count) {
  const whole = { ...row, place: "check.1", step: "check", items: count, attempts: 0, state: "failed", took_ms: 90_000, summary: `${count - 3} succeeded, 3 failed` };
  const item = (nth) => ({ ...row, place: `${nth}.check.1`, part_of: "check.1", step: "check", scope: String(nth), item: nth, value: `src/file_${nth}.rs`, took_ms: 40 + (nth % 90), state: nth % Math.ceil(count / 3) === 7 ? "failed" : "succeeded", summary: nth % Math.ceil(count / 3) === 7 ? "TOOL_EXIT_NON_ZERO: exit code 2" : "no remarks", seq: nth });
  return [{ ...row, place: "prepare.1", step: "prepare" }, whole, ...Array.from({ length: count }, (_, nth) => item(nth))];
}

const stage = await Stage.open();
try {
  const files = ["index.html", "app.js", "app.css", "icon.svg"].map((name) => readFileSync(new URL(`../crates/server/page/${name}`, import.meta.url)));
  console.log(`bytes: ${Buffer.concat(files).length}, compressed one by one: ${files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)}`);

  const run = await stage.run(FLOW);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  console.log(`requests to the first screen: ${person.asked.length}`);

  const paints = [];
  for (let nth = 0; nth < 7; nth += 1) {
    await page.goto(`${stage.url}/#/r/${run}`);
    await page.reload();
    await page.getByRole("treegrid").waitFor();
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
  }
  console.log(`first paint, middle of 7: ${Math.round(middle(paints))} ms`);

  // Real runs, the server's part included. The first look after the server came up reads all events of the run.
  for (const items of [1, 1000]) {
    const { digest } = await stage.ask("POST", "flows", { flow: "pages.yaml", files: { "pages.yaml": PAGES(items), "page.yaml": ONE_PAGE } });
    const pages = (await stage.ask("POST", "runs", { flow: digest, workspace: "shared" })).run;
    await stage.until(pages, "succeeded");
    await stage.kill();
    await stage.restart();
    await page.goto(`${stage.url}/#/r/${pages}`);
    const looks = [];
    for (let nth = 0; nth < 7; nth += 1) {
      const asked = person.asked.length;
      await page.reload();
      // What the run is at stands there before its steps do.
      await page.locator("header.head .digest").waitFor();
      const head = await page.evaluate(() => performance.now());
      await page.getByRole("treegrid").waitFor();
      await page.getByRole("row", { name: /prepare/ }).waitFor();
      looks.push(await page.evaluate(() => {
        const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        const rows = all.filter(({ name }) => /\/steps\?/.test(name));
        return { paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, shown: performance.now(), bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0), steps: rows.reduce((sum, { transferSize }) => sum + transferSize, 0), elements: document.querySelectorAll("*").length, visits: document.querySelector(".tree .chosen, .tree button").textContent };
      }));
      Object.assign(looks.at(-1), { requests: person.asked.length - asked, head });
    }
    const shows = Array.from({ length: 7 }, () => {
      const begun = Date.now();
      stage.envoi("show", pages);
      return Date.now() - begun;
    });
    console.log(`\`envoi show\` of it, middle of 7: ${middle(shows)} ms`);
    const of = (name) => Math.round(middle(looks.map((look) => look[name])));
    console.log(`a real run, ${looks[0].visits}: ${of("requests")} requests, ${of("bytes")} bytes (rows ${of("steps")}), ${of("elements")} elements, first paint ${of("paint")} ms, its head after ${of("head")} ms, the tree after ${of("shown")} ms, the first time after ${Math.round(looks[0].shown)} ms`);
  }

  // Rows that are made up, among them three that failed, of a run that has failed.
  const failed = await stage.run(FLOW.replace("title: Release of the notes", "title: All files of the library").replace("echo 'Three pages, all dates agree with the tags.'", "exit 2"));
  await stage.until(failed, "failed");
  await page.goto(`${stage.url}/#/r/${failed}`);
  const [row] = (await stage.ask("GET", `runs/${failed}/steps`)).steps;
  for (const count of [10, 400, 10_000]) {
    const rows = rowsOf(row, count);
    await page.unrouteAll();
    await page.route(/\/steps\?/, (route) => route.fulfill({ json: { steps: rows, next: null, newest: 40_000 } }));
    const begun = Date.now();
    await page.reload();
    const grid = page.getByRole("treegrid");
    await grid.waitFor();
    const shown = Date.now() - begun;
    await grid.focus();
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((count) => Number(document.querySelector("[role=treegrid]").ariaRowCount ?? document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) >= count, count);
    const frames = await page.evaluate(async () => {
      const box = document.querySelector("[role=treegrid]");
      const times = [];
      let before = await new Promise(requestAnimationFrame);
      for (let nth = 0; nth < 120; nth += 1) {
        box.scrollTop += 400;
        const now = await new Promise(requestAnimationFrame);
        times.push(now - before);
        before = now;
      }
      box.scrollTop = 0;
      return times;
    });
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    const sorted = [...frames].sort((a, b) => a - b);
    console.log(`${count} visits: ${elements} elements, shown after ${shown} ms, a frame takes ${Math.round(middle(frames))} ms, 95 of 100 at most ${Math.round(sorted[Math.floor(sorted.length * 0.95)])} ms`);
    if (count > 10) await person.shot(page, count === 400 ? "items" : "visits");
  }
  await page.emulateMedia({ colorScheme: "dark" });
  await person.shot(page, "visits-10000-dark");
  await page.unrouteAll();

  const asks = await stage.run(ASKS);
  const { question } = await stage.question(asks);
  const phone = await Person.at(stage, PHONE);
  const small = await phone.tab(stage.link("--for", "ann", "--scope", "answer"));
  await small.goto(`${stage.url}/#/q/${question}`);
  await small.getByText("Pages open").waitFor();
  await phone.shot(small, "question-phone-light");
  await small.emulateMedia({ colorScheme: "dark" });
  await small.getByText("Approve", { exact: true }).tap();
  await small.evaluate(() => scrollTo(0, 0));
  await phone.shot(small, "question-phone-dark");
  await person.context.close();
  await phone.context.close();
} finally {
  await ended();
}
