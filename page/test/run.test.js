// Runs: the list, the tree of one, a place, what can be done.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended } from "./stage.js";

after(ended);

const ITEMS = `
flow: many
steps:
  - id: prepare
    run: printf '\\033[32mready\\033[0m\\n'
  - id: check
    for_each: \${{ range(40) | list }}
    run: echo "looked at \${{ item }}"; test \${{ item }} != 7 -a \${{ item }} != 23 -a \${{ item }} != 38
  - id: report
    run: echo report
`;

test("why it failed, in two keys; the place has its output, in colours", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ITEMS);
  await stage.until(run, "failed");
  const person = await Person.at(stage);
  // An output with nothing in it has no end that could be asked for.
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /failed/ }).waitFor();
  await person.accessible(page);
  await person.shot(page, "runs-desk");
  await page.getByRole("link", { name: /failed/ }).click();
  const grid = page.getByRole("treegrid");
  await grid.waitFor();
  await page.getByRole("row", { name: /report/ }).waitFor();
  await person.accessible(page);
  await person.shot(page, "run-desk");
  assert.equal(await page.getByRole("row", { name: /not begun report/ }).count(), 1, "what has not begun is shown too");
  const bars = await page.locator(".bar-of").evaluateAll((all) => all.map(({ style }) => [parseFloat(style.left), parseFloat(style.left) + parseFloat(style.width)]));
  assert(bars.length >= 2 && bars.every(([left, right]) => left >= 0 && right <= 100.01), JSON.stringify(bars));
  assert.deepEqual([Math.min(...bars.map(([left]) => left)), Math.round(Math.max(...bars.map(([, right]) => right)))], [0, 100], "the axis is that of the rows in view");
  await grid.focus();
  await page.keyboard.press("e");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary").waitFor();
  assert.match(decodeURIComponent(new URL(page.url()).hash), /at\/(check\.1|7\.check\.1)$/);
  await page.getByRole("button", { name: /failed/ }).click();
  await page.getByRole("row", { name: /7\.check\.1/ }).first().click();
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  await page.getByText("looked at 7").first().waitFor();
  await person.accessible(page);
  await person.shot(page, "place-desk");
  await page.goto(`${stage.url}/#/r/${run}/at/prepare.1`);
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  await page.locator(".output .fg-green", { hasText: "ready" }).waitFor();
  await person.done();
  await stage.close();
});

test("a run that goes on is followed, cancelled and taken up again, each said before it is done", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: waits\nsteps:\n  - id: first\n    run: echo first\n  - id: slow\n    run: while [ ! -e go ]; do sleep 0.05; done\n  - id: last\n    run: echo last\n");
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("row", { name: /running slow/ }).waitFor();
  await person.accessible(page);
  await person.shot(page, "run-phone");
  await page.getByRole("button", { name: "Cancel …" }).tap();
  await page.getByText("nothing more starts", { exact: false }).waitFor();
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "running", "asked, and not done yet");
  await page.getByRole("button", { name: "Cancel this run" }).tap();
  await stage.until(run, "cancelled");
  await page.getByRole("button", { name: "Go on …" }).tap();
  stage.write("go", "");
  await page.getByRole("button", { name: "Go on with this run" }).tap();
  await page.getByRole("row", { name: /succeeded last/ }).waitFor();
  await person.done();
  await stage.close();
});

/** A step that reports its cost. */
const COSTS = (dollars) => `printf '{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"cost_usd":${dollars}}}' > $ENVOI_REPORT`;

test("a list of runs says how far each is, and what it has cost; what is not known of it is said", async () => {
  const stage = await Stage.open();
  const failed = await stage.run(`flow: costs\nsteps:\n  - id: first\n    run: |\n      ${COSTS("0.25")}\n  - id: second\n    run: exit 3\n  - id: third\n    run: echo third\n`);
  await stage.until(failed, "failed");
  const asks = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Publish the notes?'\n  - id: send\n    run: echo sent\n");
  const { question } = await stage.question(asks);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /failed costs .*1 of 3 steps \$0\.25/ }).waitFor();
  const waits = page.getByRole("link", { name: /waiting asks/ });
  await waits.getByText("0 of 2 steps").waitFor();
  assert.doesNotMatch(await waits.innerText(), /\$/, "a run without a cost has none");
  await person.accessible(page);
  await person.shot(page, "runs-cost-desk");
  // The cost is read again when it has changed.
  await stage.ask("POST", `questions/${question}/answer`, { choice: "approve" });
  await page.getByRole("link", { name: /succeeded asks .*2 of 2 steps/ }).waitFor();
  await page.route(/\/runs\?/, async (route) => {
    const found = await (await route.fetch()).json();
    await route.fulfill({ json: { ...found, so_far: found.so_far.filter(({ run }) => run === failed).map((each) => ({ ...each, unknown_costs: 2 })) } });
  });
  await page.getByLabel("Words").fill("s");
  await page.getByLabel("Words").press("Enter");
  await page.getByRole("link", { name: /failed costs .*≥ \$0\.25 · 2 unknown/ }).waitFor();
  assert.doesNotMatch(await page.getByRole("link", { name: /succeeded asks/ }).innerText(), /of 2 steps/, "what was not told is not made up");
  await person.done();
  await stage.close();
});

test("ten thousand rows are few elements", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: one\nsteps:\n  - id: a\n    run: echo a\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const [row] = (await stage.ask("GET", `runs/${run}/steps`)).steps;
  const whole = { ...row, place: "all.1", step: "all", items: 10_000, attempts: 0, state: "failed" };
  const item = (nth) => ({ ...row, place: `${nth}.all.1`, part_of: "all.1", step: "all", scope: String(nth), item: nth, value: `value ${nth}`, state: nth === 9_000 ? "failed" : "succeeded", seq: nth });
  const rows = [whole, ...Array.from({ length: 10_000 }, (_, nth) => item(nth))];
  await page.route(/\/steps\?/, (route) => route.fulfill({ json: { steps: rows, next: null, newest: 40_000 } }));
  await page.goto(`${stage.url}/#/r/${run}`);
  const grid = page.getByRole("treegrid");
  await grid.waitFor();
  await grid.focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("row", { name: /value 3/ }).first().waitFor();
  assert(Number(await grid.getAttribute("aria-rowcount")) >= 10_001);
  await page.keyboard.press("e");
  await page.getByRole("row", { name: /value 9000/ }).waitFor();
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert(elements <= 1500, `${elements} elements`);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("what is known of a run is shown while the rest of its rows arrives", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: two\nsteps:\n  - id: a\n    run: echo a\n  - id: b\n    run: exit 3\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const { steps, newest } = await stage.ask("GET", `runs/${run}/steps`);
  const [first, second] = steps;
  let arrive;
  const rest = new Promise((resolve) => (arrive = resolve));
  await page.route(/\/steps\?/, async (route) => {
    const isFirst = !/after=/.test(route.request().url());
    if (!isFirst) await rest;
    await route.fulfill({ json: isFirst ? { steps: [second], next: second.seq, newest } : { steps: [first], next: null, newest } });
  });
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByText("Reading the steps: 1 so far …").waitFor();
  await page.getByText("The first failure: b.1", { exact: false }).waitFor();
  assert.equal(await page.getByRole("treegrid").count(), 0, "no tree that lacks a part");
  await page.getByRole("link", { name: "cost" }).click();
  await page.getByRole("region", { name: "what was used" }).waitFor();
  await page.getByRole("link", { name: "steps" }).click();
  await person.accessible(page);
  arrive();
  await page.getByRole("treegrid").waitFor();
  assert.deepEqual(await page.locator("[role=row] .name b").allInnerTexts(), ["a", "b"]);
  await person.done();
  await stage.close();
});

test("the first screen needs few requests, one stream, and no other host", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, PHONE);
  await person.context.addInitScript(() => {
    new MutationObserver(() => (globalThis.shownAt ??= /Nothing waits for you/.test(document.body?.innerText ?? "") ? performance.now() : undefined)).observe(document, { childList: true, subtree: true });
  });
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  const asked = person.asked.map((url) => url.replace(stage.url, ""));
  assert.equal(asked.filter((path) => path.startsWith("/v1/stream")).length, 1, asked.join(" "));
  assert(asked.length <= 9, asked.join(" "));
  // The page itself, its script and its style, the sign-in, the questions; the stream begins beside these.
  const before = await page.evaluate(() => performance.getEntries().filter(({ entryType, startTime }) => ["navigation", "resource"].includes(entryType) && startTime < globalThis.shownAt).map(({ name }) => new URL(name).pathname));
  assert(before.length >= 5 && before.length <= 6, before.join(" "));
  await page.goto(`${stage.url}/#/nothing`);
  await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
  for (const [address, heading] of [["q/int_00000000000000000000000000", "No such question"], ["r/run_00000000000000000000000000", "No such run"]]) {
    person.allowed.push(/status of 404/);
    await page.goto(`${stage.url}/#/${address}`);
    await page.getByRole("heading", { name: heading }).waitFor();
  }
  await person.done();
  await stage.close();
});

test("a result from the cache is marked, and leads to the run that has made it", async () => {
  const stage = await Stage.open();
  const flow = "flow: cached\nworkspace: { keep: true }\nsteps:\n  - id: build\n    run: echo built\n    cache: true\n  - id: show\n    run: echo shown\n";
  const first = await stage.run(flow);
  await stage.until(first, "succeeded");
  const second = await stage.run(flow);
  await stage.until(second, "succeeded");
  const person = await Person.at(stage);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${first}`);
  await page.getByRole("row", { name: /build/ }).waitFor();
  assert.equal(await page.getByRole("row", { name: /from the cache/ }).count(), 0);
  await page.goto(`${stage.url}/#/r/${second}`);
  await page.getByRole("row", { name: /build.*from the cache/ }).waitFor();
  assert.equal(await page.getByRole("row", { name: /from the cache/ }).count(), 1);
  await page.getByRole("row", { name: /build/ }).click();
  await person.accessible(page);
  await page.getByRole("link", { name: "an earlier run" }).click();
  await page.waitForURL((url) => url.hash === `#/r/${first}/at/build.1`);
  await person.done();
  await stage.close();
});
