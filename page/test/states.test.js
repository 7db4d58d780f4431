// A run in states that are hard to reach: each is shown as what it is, with the remedy.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";

import { DESK, NARROW, PHONE, Person, Stage, ended, eventually } from "./stage.js";
import { LATER, NASTY, RELEASE, WRITES, models, throttled } from "./flows.js";

after(ended);

test("a run that waits for an account says so, until when, and can be tried before", async () => {
  const stage = await Stage.open();
  const run = await stage.run(throttled(stage));
  await eventually("the limit", async () => (await stage.ask("GET", `runs/${run}`)).waits_for !== null);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /waiting for claude of flow fixes until.*at fix/ }).click();
  await page.getByText(/It is waiting for claude of flow fixes until .* The account is at its limit/).waitFor();
  await page.getByRole("row", { name: /retries fix.*waits for claude of flow fixes · next try/ }).waitFor();
  await person.accessible(page);
  await page.getByRole("button", { name: "Try now …" }).click();
  await page.getByText("before the account claude of flow fixes is said to be open", { exact: false }).waitFor();
  await person.accessible(page);
  const tries = async () => (await stage.ask("GET", `runs/${run}/logs`)).logs.length;
  assert.equal(await tries(), 1);
  await page.getByRole("button", { name: "Try it now" }).click();
  await eventually("another try", async () => (await tries()) === 2);
  await person.done();
  await stage.close();
});

test("a bar of what waits is hatched, one of what works or has worked is not", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: waits\nsteps:\n  - id: make\n    run: echo made\n  - id: ok\n    ask: 'Go on?'\n");
  await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("row", { name: /ok/ }).waitFor();
  const hatched = (step) => page.locator("[role=row]", { hasText: step }).locator(".bar-of").evaluate((bar) => getComputedStyle(bar).maskImage.includes("gradient"));
  assert.deepEqual([await hatched("make"), await hatched("ok")], [false, true]);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("the bar of a step that has waited says when it worked, also once it is over", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: waited\nsteps:\n  - id: tries\n    run: if [ -e tried ]; then exit 0; fi; touch tried; exit 3\n    retry: { attempts: 2, backoff: 1500ms..1500ms }\n  - id: after\n    run: echo after\n");
  await stage.until(run, "succeeded");
  const [{ waits }] = (await stage.ask("GET", `runs/${run}/steps`)).steps;
  assert.deepEqual(waits.map(({ reason }) => reason), ["next_try"]);
  assert(Date.parse(waits[0].until) - Date.parse(waits[0].from) >= 1_000);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("row", { name: /after/ }).waitFor();
  const parts = (step) => page.locator("[role=row]", { hasText: step }).locator(".bar-of").evaluateAll((all) => all.map((bar) => getComputedStyle(bar).maskImage.includes("gradient")));
  assert.deepEqual([await parts("tries"), await parts("after")], [[false, true, false], [false]], "work, the wait, work");
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("a long wait for the next try is said with its time and the reason", async () => {
  const stage = await Stage.open();
  const run = await stage.run(LATER);
  await eventually("the wait", async () => (await stage.ask("GET", `runs/${run}/steps`)).steps.some((row) => row.next_try_at !== null));
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /running nightly at fetch, next try (tomorrow )?at/ }).waitFor();
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByText(/fetch\.1 is tried again .*, in \d+ h.* maintenance until/).waitFor();
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/at/fetch.1`);
  await page.getByText(/It is tried again .*, in \d+ h/).waitFor();
  await page.locator(".output", { hasText: "maintenance until 04:00" }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("a run that is set aside says why, and what to do", async () => {
  const stage = await Stage.open();
  const run = await stage.run(NASTY);
  await eventually("it to be set aside", async () => (await stage.ask("GET", `runs/${run}`)).set_aside !== null);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /set aside .* ago\s+nasty RUN_FILES_FAILED: / }).click();
  await page.getByRole("button", { name: "Go on …" }).waitFor();
  await person.accessible(page);
  await page.getByRole("link", { name: "RUN_FILES_FAILED" }).click();
  await page.getByText("There is no space or no permission.").waitFor();
  await person.done();
  await stage.close();
});

const BUILD = "flow: build\nsteps:\n  - id: compile\n    run: echo compiled\n  - id: test\n    run: echo '41 tests passed'\n";

const release = async (stage, text = RELEASE) => {
  const { digest } = await stage.ask("POST", "flows", { flow: "release.yaml", files: { "release.yaml": text, "build.yaml": BUILD } });
  return (await stage.ask("POST", "runs", { flow: digest, workspace: "shared" })).run;
};

test("loops are rounds, and 400 items are one row with counts", async () => {
  const stage = await Stage.open();
  const run = await release(stage);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  // 400 commands would take minutes on a machine that is busy: ten rows stand for each item.
  await page.route(/\/steps\?/, async (route) => {
    const found = await (await route.fetch()).json();
    const items = found.steps.filter(({ part_of: of }) => of === "check.1");
    const many = items.flatMap((row) => Array.from({ length: 10 }, (_, more) => (more === 0 ? row : { ...row, place: `${row.item + 40 * more}.check.1`, item: row.item + 40 * more, value: String(row.item + 40 * more), state: "succeeded", summary: "" })));
    await route.fulfill({ json: { ...found, steps: [...found.steps.filter((row) => !items.includes(row)), ...many] } });
  });
  await page.goto(`${stage.url}/#/r/${run}`);
  const grid = page.getByRole("treegrid");
  await grid.waitFor();
  await page.getByRole("row", { name: /build/ }).first().waitFor();
  await stage.until(run, "failed");
  await page.getByRole("row", { name: /succeeded loop draft … critic 3 rounds of at most 5/ }).waitFor();
  await page.getByRole("row", { name: /sent back round 1 .*Two dates are wrong/ }).waitFor();
  await page.getByRole("row", { name: /failed check 3 ✗ · 397 ✓/ }).waitFor();
  await person.accessible(page);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert(elements <= 1500, `${elements} elements`);
  // The first item that failed among the 400: two keys, and one more for its screen.
  await grid.focus();
  const active = () => page.evaluate(() => document.getElementById(document.querySelector("[role=treegrid]").getAttribute("aria-activedescendant"))?.textContent ?? "");
  await page.keyboard.press("e");
  await eventually("the step", async () => /failed check/.test(await active()));
  await page.keyboard.press("e");
  await eventually("its first failure", async () => /failed 7(?!\d)/.test(await active()));
  await page.keyboard.press("Enter");
  await eventually("its screen", () => /at\/7\.check\.1$/.test(page.url()));
  // Among all of them, by words: of a place, a value, what it came to.
  await page.getByLabel("words in steps").fill("399.check");
  await page.getByRole("row", { name: /succeeded 399\.check\.1/ }).waitFor();
  assert.equal(await page.getByRole("treegrid").getAttribute("aria-rowcount"), "1");
  await page.getByLabel("words in steps").fill("no such words");
  await page.getByText("No step has these words.").waitFor();
  await person.done();
  await stage.close();
});

test("steps of an inner flow that has not begun are there, folded", async () => {
  const stage = await Stage.open();
  const run = await release(stage, RELEASE.replace('run: echo "Prepared 3 files"', "run: while [ ! -e go ]; do sleep 0.05; done"));
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  const row = page.getByRole("row", { name: /not begun build/ });
  await row.waitFor();
  await page.getByText(/Now: prepare\.1 for/).waitFor();
  await row.click();
  await page.getByRole("row", { name: /not begun compile/ }).waitFor();
  stage.write("go", "");
  await stage.until(run, "failed");
  await person.done();
  await stage.close();
});

test("an output is searched", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: talks\nsteps:\n  - id: short\n    run: for i in $(seq 1 300); do echo \"line $i\"; done; echo needle\n  - id: long\n    run: seq 1 60000; echo 'the end'\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  // An output with nothing in it has no end that could be asked for.
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/short.1`);
  const output = page.getByRole("region", { name: "stdout" });
  await output.getByText("needle").waitFor();
  await page.keyboard.press("l");
  await page.keyboard.press("/");
  await page.keyboard.type("line 29");
  await page.getByText("1 of 11 lines").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("2 of 11 lines").waitFor();
  // All of an output is had as a file, also what the page does not show.
  await page.goto(`${stage.url}/#/r/${run}/at/long.1`);
  await page.getByText(/the last 64\.0 KiB of/).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "download stdout" }).click()]);
  assert.equal(download.suggestedFilename(), "long.1.1.stdout.txt");
  const kept = readFileSync(await download.path(), "utf8").split("\n");
  assert.deepEqual([kept.length, kept[0], kept.at(-2)], [60_002, "1", "the end"]);
  await person.done();
  await stage.close();
});

/** Lines that are marked, by the numbers that they show. */
const marked = (page) => page.locator(".output .ln.marked .no").evaluateAll((all) => all.map((each) => Number(each.dataset.n)));

test("a line of an output has an address that stays: of that attempt, of that stream, in a long output too", async () => {
  const stage = await Stage.open();
  const run = await stage.run(`
flow: talks
steps:
  - id: long
    run: seq 1 60000; echo 'the end'
  - id: fails
    run: |
      if [ -e tried ]; then seq 501 600; echo second >&2; else touch tried; seq 1 300; echo first >&2; fi
      exit 3
    retry: { attempts: 2, backoff: 10ms..10ms }
`);
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/fails.1`);
  await page.getByRole("region", { name: "stderr" }).getByText("second").waitFor();
  await page.getByRole("group", { name: "which output" }).getByRole("combobox").selectOption("1");
  await page.getByRole("region", { name: "stderr" }).getByText("first").waitFor();
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  const output = page.getByRole("region", { name: "stdout" });
  await output.getByText("300", { exact: true }).waitFor();
  await output.locator('.no[data-n="120"]').click();
  await output.locator('.no[data-n="130"]').click({ modifiers: ["Shift"] });
  const address = page.url();
  assert.match(new URL(address).hash, /at\/fails\.1\?attempt=1&log=stdout&line=120-130$/);
  // In another tab the same lines are shown, although a later attempt and another stream would be shown without the link.
  const other = await person.tab(address);
  await other.getByRole("region", { name: "stdout" }).getByText("125", { exact: true }).waitFor();
  assert.deepEqual(await marked(other), Array.from({ length: 11 }, (_, nth) => 120 + nth));
  const seen = async (tab, number) => {
    const [box, line] = [await tab.locator(".output").boundingBox(), await tab.locator(`.output .no[data-n="${number}"]`).boundingBox()];
    assert(line.y >= box.y && line.y + line.height <= box.y + box.height + 1, `line ${number}: ${JSON.stringify([box, line])}`);
  };
  await eventually("the line is in view", () => seen(other, 120).then(() => true, () => false));
  // A line far before the end that is shown without a link.
  await other.goto(`${stage.url}/#/r/${run}/at/long.1?log=stdout&line=20000`);
  await other.locator(".output .ln.marked", { hasText: "20000" }).waitFor();
  assert.deepEqual(await marked(other), [20_000]);
  assert.equal(await other.locator(".output .ln").count(), 2000, "with those around it, and not all");
  await other.getByText("38102 later lines not shown").waitFor();
  await eventually("the line is in view", () => seen(other, 20_000).then(() => true, () => false));
  await person.accessible(other);
  // With the keyboard: the number is typed.
  await page.getByLabel("Link to lines of stdout").fill("7-9");
  await page.keyboard.press("Enter");
  await eventually("the lines are marked", async () => (await marked(page)).join() === "7,8,9");
  assert.match(new URL(page.url()).hash, /at\/fails\.1\?attempt=1&log=stdout&line=7-9$/);
  // A missing line is not invented.
  await other.goto(`${stage.url}/#/r/${run}/at/fails.1?attempt=1&log=stdout&line=9000`);
  await other.getByText("The link leads to line 9000. Here are 300 lines.").waitFor();
  assert.deepEqual(await marked(other), []);
  await person.done();
  await stage.close();
});

test("what a run has changed, its events, and how a step was started", async () => {
  const stage = await Stage.open();
  stage.write("old.txt", "one\ntwo\n");
  const run = await stage.run("flow: changes\nsteps:\n  - id: write\n    run: printf 'one\\nthree\\n' > old.txt; echo new > new.txt; echo '{\"price\":1.00}' > \"$ENVOI_DATA\" || true\n    env: { COLOUR: \"<b>red</b>\" }\n    artifacts: [old.txt, new.txt]\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("treegrid").waitFor();
  await page.keyboard.press("d");
  const files = page.getByRole("region", { name: "files", exact: true });
  await files.getByRole("button", { name: /new\.txt new/ }).waitFor();
  await files.getByRole("button", { name: /old\.txt/ }).click();
  await files.getByText("three").first().waitFor();
  await person.accessible(page);
  await page.getByRole("link", { name: "events" }).click();
  const events = page.getByRole("region", { name: "events" });
  await events.getByText("handoff written").waitFor();
  await events.getByText("attempt started").click();
  await events.locator(".words").waitFor();
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/at/write.1`);
  // A visit's own files are shown beside what they were before it.
  const own = page.getByRole("complementary", { name: "write.1" });
  await own.getByText("Each against what it was before this visit.").waitFor();
  await own.getByRole("button", { name: /old\.txt changed/ }).click();
  const differs = own.getByRole("table", { name: "what has changed" });
  await differs.waitFor();
  assert.deepEqual(await differs.getByRole("row").allInnerTexts().then((rows) => rows.map((row) => row.replace(/\s+/g, " ").trim())), ["one", "removed − two", "added + three"]);
  await page.getByText("how it was started, and its events").click();
  await page.getByText("attempt write.1.1, with sh -e -c").waitFor();
  await page.getByText("<b>red</b>").waitFor();
  await page.getByText("data", { exact: true }).click();
  await page.getByText('{"price":1.00}', { exact: true }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("what is not known of the cost is said, and not added up", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: one\nsteps:\n  - id: a\n    run: echo a\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.route(/\/ledger$/, async (route) => {
    const found = await (await route.fetch()).json();
    const used = { ...found.used, unknown_costs: 3, unknown_calls: 1, unknown_tokens: 2, llm_calls: 4 };
    await route.fulfill({ json: { ...found, used, attempts_in_doubt: 1 } });
  });
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByText("≥ $0.00 · 3 unknown").waitFor();
  await page.keyboard.press("c");
  await page.getByText("Not known: the cost of 3 attempts and calls, and how many calls 1 attempt or call made, and the tokens of 2 attempts and calls, and what 1 attempt in doubt used", { exact: false }).waitFor();
  await page.getByRole("row", { name: /dollars ≥ \$0\.00/ }).waitFor();
  await page.getByRole("row", { name: /model calls ≥ 4/ }).waitFor();
  await page.getByRole("row", { name: /tokens ≥ 0 in, ≥ 0 out/ }).waitFor();
  // The person who decides gets the same information.
  const asks = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Publish the notes?'\n");
  const { question } = await stage.question(asks);
  await page.route(new RegExp(`/questions/${question}$`), async (route) => {
    const found = await (await route.fetch()).json();
    await route.fulfill({ json: { ...found, used: { ...found.used, unknown_costs: 3 } } });
  });
  const before = person.asked.length;
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("used ≥ $0.00 · 3 unknown").waitFor();
  assert(!person.asked.slice(before).some((url) => url.includes(`${asks}/ledger`)), "the question itself says it");
  await person.done();
  await stage.close();
});

test("what a run cost is said by model and by round, with what is not known", async () => {
  const stage = await Stage.open({ config: "" });
  await stage.kill();
  const provider = await models(stage);
  await stage.restart();
  const run = await stage.run(WRITES);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/cost`);
  await page.getByRole("region", { name: "what each model was used for" }).waitFor();
  const rows = (name) => page.getByRole("region", { name }).locator("tbody tr").evaluateAll((all) => all.map((row) => row.innerText.replaceAll(/\s+/g, " ").trim()));
  // Three calls with 4, 8 and 12 thousand tokens of $3 a million, and 900 of $15 each.
  assert.deepEqual(await rows("what each model was used for"), [
    "small $0.1125 3 24000 2700 –",
    "large ≥ $0.00 3 24000 2700 the cost of 3 calls",
    "as programs reported $0.08 3 9100 700 which models",
  ]);
  const rounds = await rows("what each round of write … judge used");
  for (const [nth, expected] of [/^round 1 ≥ \$0\.0255 2 .* Two dates are wrong/, /^round 2 ≥ \$0\.0375 2 .* Two dates are wrong/, /^round 3 ≥ \$0\.0495 2 /].entries()) assert.match(rounds[nth], expected);
  assert.equal(rounds.length, 3);
  const widths = await page.getByRole("region", { name: "what each model was used for" }).locator("tbody .share span").evaluateAll((all) => all.map((each) => Math.round(parseFloat(each.style.width))));
  assert.deepEqual(widths, [100, 0, 71]);
  await person.accessible(page);
  await person.shot(page, "cost-models");
  await person.done();
  provider.close();
  await stage.close();
});

test("nothing that has the focus is covered, whatever the screen", async () => {
  const stage = await Stage.open();
  const run = await release(stage);
  await stage.until(run, "failed");
  const asks = await stage.run("flow: asks\nsteps:\n  - id: many\n    run: seq 1 60\n  - id: ok\n    ask: 'Publish the notes?'\n");
  const { question } = await stage.question(asks);
  for (const screen of [NARROW, PHONE, DESK]) {
    const person = await Person.at(stage, screen);
    person.allowed.push(/status of 416/);
    const page = await person.tab(stage.link());
    for (const [address, seen] of [[`q/${question}`, "Your answer"], [`r/${run}`, "The first failure"], [`r/${run}/at/7.check.1`, "is broken"], [`r/${run}/cost`, "By step"]]) {
      await page.goto(`${stage.url}/#/${address}`);
      await page.getByRole("main").getByText(seen, { exact: false }).first().waitFor();
      for (const way of ["Tab", "Shift+Tab"]) {
        await page.evaluate((end) => (document.activeElement?.blur(), scrollTo(0, end ? document.body.scrollHeight : 0)), way !== "Tab");
        for (let nth = 0; nth < 60; nth += 1) {
          await page.keyboard.press(way);
          const covered = await page.evaluate(() => {
            const element = document.activeElement;
            if (element === null || element === document.body || element.matches(".skip")) return null;
            const { left, top, right, bottom } = element.getBoundingClientRect();
            const [x, y] = [[left, right, innerWidth], [top, bottom, innerHeight]].map(([a, b, end]) => (Math.max(0, a) + Math.min(end, b)) / 2);
            // A label or its field may be on top; a box that scrolls has its rows there.
            const there = document.elementFromPoint(x, y);
            const isOwn = there !== null && (element.contains(there) || there.contains(element) || element.closest("label")?.contains(there));
            return isOwn ? null : `${element.outerHTML.slice(0, 90)} under ${there?.outerHTML.slice(0, 90)}`;
          });
          assert.equal(covered, null, `${address}, ${screen.viewport.width} pixels`);
          if (await page.evaluate(() => document.activeElement === document.body)) break;
        }
      }
    }
    await person.done();
  }
  await stage.close();
});

test("no screen has a violation that axe finds, light and dark, also 320 pixels wide", async () => {
  const stage = await Stage.open();
  const run = await release(stage);
  await stage.until(run, "failed");
  const asks = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Publish the notes, although three links of them are broken?'\n");
  const { question } = await stage.question(asks);
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  for (const screen of [DESK, NARROW, PHONE]) {
    const person = await Person.at(stage, screen);
    person.allowed.push(/status of 416/);
    const page = await person.tab(stage.link());
    for (const [address, seen] of [
      ["inbox", "Publish the notes"],
      ["inbox?closed", "No question has been closed."],
      [`q/${question}`, "Your answer"],
      ["runs", "4 of 7 steps"],
      ["runs?q=nothing-like-it", "No run is like that"],
      [`r/${run}`, "The first failure"],
      [`r/${run}/why`, "What decided"],
      [`r/${run}/files`, "What the run has changed"],
      [`r/${run}/cost`, "By step, the dearest first"],
      [`r/${run}/map`, "back to draft"],
      [`r/${run}/events`, "attempt started"],
      [`r/${run}/at/7.check.1`, "is broken"],
      ["flows", "release"],
      [`flows/${encodeURIComponent(digest)}`, "back to draft"],
      [`start/${encodeURIComponent(digest)}`, "begins with prepare"],
      ["keys", "Single letters are keys"],
      ["code/TOOL_EXIT_NON_ZERO", "What to do"],
      [`r/${run}/at/draft.2?compare=draft.1.1`, "lines differ"],
    ]) {
      await page.goto(`${stage.url}/#/${address}`);
      await page.getByRole("main").getByText(seen, { exact: false }).first().waitFor();
      const head = await page.getByRole("banner").boundingBox();
      assert(head.height <= 64, `${address}, ${screen.viewport.width} pixels: the head has one line`);
      await person.accessible(page).catch((error) => assert.fail(`${address}, ${screen.viewport.width} pixels: ${error.message}`));
      await person.shot(page, `axe-${address.replaceAll(/[^a-z]+/g, "-")}-${screen.viewport.width}`);
    }
    await person.done();
  }
  await stage.close();
});
