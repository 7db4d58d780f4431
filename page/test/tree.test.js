// Rows of the tree that look alike but for their end, or but for what they wait for; what a visit costs to be looked at.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const PATHS = ["src/journal/pages/part-001.md", "src/journal/pages/part-002.md", "src/journal/other/part-001.md", "src/cli/pages/part-001.md"];

test("names that differ at their end are told apart, on a phone too, and a tooltip has the whole", async () => {
  const stage = await Stage.open();
  const run = await stage.run(`flow: pages\nsteps:\n  - id: check\n    for_each: ${JSON.stringify(PATHS)}\n    run: echo looked\n`);
  await stage.until(run, "succeeded");
  for (const screen of [DESK, PHONE]) {
    const person = await Person.at(stage, screen);
    const page = await person.tab(stage.link());
    await page.goto(`${stage.url}/#/r/${run}`);
    await page.getByRole("row", { name: /check/ }).first().waitFor();
    await page.locator(".line .twist").first().click();
    const names = page.locator(".line .name .cut");
    await names.nth(3).waitFor();
    assert.deepEqual(await names.evaluateAll((all) => all.map((each) => each.title).sort()), PATHS.map((path, nth) => `${nth} ${path}`).sort());
    // The visible parts of a name: its beginning as far as there is room, and its end.
    const seen = await names.evaluateAll((all) => all.map((name) => {
      const [begin, end] = [...name.querySelectorAll(":scope > [aria-hidden]")];
      const cell = name.closest(".name").getBoundingClientRect();
      const isInside = (part, box) => part.left >= box.left - 1 && part.right <= box.right + 1;
      const text = (each, from, to) => {
        const range = document.createRange();
        const node = document.createTreeWalker(each, NodeFilter.SHOW_TEXT).nextNode();
        range.setStart(node, from < 0 ? node.length + from : from);
        range.setEnd(node, to ?? node.length);
        return range.getBoundingClientRect();
      };
      const boxes = [begin, end].map((each) => each.getBoundingClientRect());
      const isSeen = boxes.every((box) => isInside(box, cell)) && isInside(text(begin, 0, 1), boxes[0]) && isInside(text(end, -7), boxes[1]);
      return { isSeen, whole: begin.textContent + end.textContent };
    }));
    await person.shot(page, `names-${screen.viewport.width}`);
    assert(seen.every(({ isSeen }) => isSeen), JSON.stringify(seen));
    for (const [nth, path] of PATHS.entries()) assert(seen.some(({ whole }) => whole === `${nth} ${path}`));
    // A screen reader gets the name of the row once.
    assert.equal(await page.getByRole("row", { name: /^succeeded 1 src\/journal\/pages\/part-002\.md (?!.*part-002)/ }).count(), 1);
    await person.accessible(page);
    await person.shot(page, `names-${screen.viewport.width}`);
    await person.done();
  }
  await stage.close();
});

test("what a row waits for is seen in its bar, and said: a person, its next try, a slot", async () => {
  const stage = await Stage.open({ args: ["--jobs", "1"] });
  const asks = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Go on?'\n");
  await stage.question(asks);
  const later = await stage.run("flow: later\nsteps:\n  - id: fetch\n    run: exit 75\n    retry: { attempts: 5, backoff: 2h..8h }\n");
  await eventually("the wait", async () => (await stage.ask("GET", `runs/${later}/steps`)).steps.some((row) => row.next_try_at !== null));
  // Its second attempt is due while another run has the only slot: that one is next in line when the first attempt ends.
  const first = async (run) => (await stage.ask("GET", `runs/${run}/steps`)).steps[0];
  const twice = await stage.run("flow: twice\nsteps:\n  - id: again\n    run: if [ -e tried ]; then exit 0; fi; touch tried; while [ ! -e fail ]; do sleep 0.05; done; exit 3\n    retry: { attempts: 2, backoff: 1s..1s }\n");
  await eventually("its first attempt", () => existsSync(join(stage.folder, "tried")));
  const holds = await stage.run("flow: holds\nsteps:\n  - id: slow\n    run: while [ ! -e go ]; do sleep 0.05; done\n");
  stage.write("fail", "");
  await eventually("the next in line has the slot", async () => (await first(holds))?.state === "running");
  await eventually("the wait for a slot", async () => (await first(twice)).state === "ready");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const bar = async (run, name) => {
    await page.goto(`${stage.url}/#/r/${run}`);
    const row = page.getByRole("row", { name });
    await row.waitFor();
    const hatched = await row.locator(".bar-of.waits").last().evaluate((each) => [getComputedStyle(each).maskImage, each.title]);
    return [...hatched, await row.locator(".bar-cell").getAttribute("aria-label")];
  };
  const found = [await bar(asks, /asks ok/), await bar(later, /retries fetch/), await bar(twice, /ready again/)];
  assert.equal(new Set(found.map(([mask]) => mask)).size, 3, JSON.stringify(found));
  assert.deepEqual(found.map(([, title]) => title), ["waited for a person", "waited for its next try", "waited for a slot"]);
  for (const [nth, words] of ["a person", "its next try", "a slot"].entries()) assert.match(found[nth][2], new RegExp(`wait(s|ed) for ${words}`));
  await page.getByRole("row", { name: /ready again.*waits for a slot/ }).waitFor();
  await person.accessible(page);
  stage.write("go", "");
  await stage.until(holds, "succeeded");
  await stage.until(twice, "succeeded");
  await person.done();
  await stage.close();
});

test("the data of a visit among many others is had with one look at the events", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: many\nsteps:\n  - id: each\n    for_each: ${{ range(30) | list }}\n    max_parallel: 30\n    run: 'while [ ! -e go ]; do sleep 0.1; done; echo \"{\\\"n\\\": ${{ item }}}\"'\n    outputs: { type: object }\n".replace("    outputs: { type: object }\n", "    data: json\n"));
  stage.write("go", "");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/17.each.1`);
  await page.getByText("data", { exact: true }).waitFor();
  const before = person.asked.length;
  await page.getByText("data", { exact: true }).click();
  await page.locator("figure", { hasText: "its data, as it was written" }).getByText(/"n":\s*17/).waitFor();
  const asked = person.asked.slice(before).filter((url) => /\/events\?/.test(url));
  assert.equal(asked.length, 1, asked.join("\n"));
  assert(Number(new URL(asked[0]).searchParams.get("limit")) <= 20, asked[0]);
  await person.done();
  await stage.close();
});

test("the brackets go through the attempts of a visit, then through its visits; where rounds are compared, through the rounds", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: rounds\nsteps:\n  - id: draft\n    run: |\n      n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo \"draft $n\"; test $n != 1\n    retry: { attempts: 2, backoff: 10ms..10ms }\n  - id: check\n    run: |\n      if [ $(cat n) -lt 4 ]; then echo 'Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi\n    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  const there = () => decodeURIComponent(new URL(page.url()).hash).replace(/^.*\/at\//, "");
  await page.goto(`${stage.url}/#/r/${run}/at/draft.2`);
  const steps = [["[", "draft.1", "draft 2"], ["[", "draft.1?attempt=1", "draft 1"], ["]", "draft.1?attempt=2", "draft 2"], ["]", "draft.2", "draft 3"]];
  await page.locator(".output", { hasText: "draft 3" }).waitFor();
  for (const [key, address, output] of steps) {
    await page.keyboard.press(key);
    await eventually(address, () => there() === address);
    await page.getByRole("button", { name: "stdout", exact: true }).click();
    await page.locator(".output", { hasText: output }).first().waitFor();
  }
  await page.goto(`${stage.url}/#/r/${run}/compare`);
  await page.getByText("the rounds before").waitFor();
  await page.keyboard.press("[");
  await eventually("the rounds before", () => /before=round\+1&after=round\+2$/.test(page.url()));
  await page.keyboard.press("]");
  await eventually("the newest rounds", () => /before=round\+2&after=round\+3$/.test(page.url()));
  await person.accessible(page);
  await person.done();
  await stage.close();
});
