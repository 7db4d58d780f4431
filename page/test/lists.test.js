// Lists that are long, and what changes in them by itself; the map of a run; what differs, side by side; what is said of a doubt.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASK = (id) => `flow: ${id}\ntitle: Flow ${id}\nsteps:\n  - id: ok\n    ask: 'May ${id} go on?'\n`;

test("each card of the questions says of which flow it is, also the last of many; closed ones say how they were answered", async () => {
  const stage = await Stage.open();
  const ids = Array.from({ length: 12 }, (_, nth) => `f${nth}`);
  const asked = [];
  for (const id of ids) asked.push(await stage.question(await stage.run(ASK(id))));
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.getByText("May f11 go on?").waitFor();
  assert.equal(await page.title(), "(12) Envoi");
  const detailed = () => person.asked.filter((url) => /questions\/int_/.test(url)).length;
  await page.locator(".card").first().getByText("Flow f0").waitFor();
  assert(detailed() < 12, `${detailed()}: those that are not seen are not asked for`);
  await page.getByText("May f11 go on?").scrollIntoViewIfNeeded();
  await page.locator(".card").last().getByText("Flow f11").waitFor();
  // A card is asked for again when its question changes.
  await stage.ask("POST", `questions/${asked[11].question}/answer`, { choice: "deny", text: "not <b>this</b> week" });
  await page.getByText("May f11 go on?").waitFor({ state: "detached" });
  await page.goto(`${stage.url}/#/inbox?closed`);
  const card = page.locator(".card", { hasText: "May f11 go on?" });
  await card.getByText("Flow f11").waitFor();
  await card.getByText("Deny by first (rest)").waitFor();
  await card.getByText("not <b>this</b> week").waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("what changes by itself is said to who does not see it: a question, a failure, an end; and not if it is not wanted", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: waits\nsteps:\n  - id: hold\n    run: while [ ! -e go ]; do sleep 0.05; done; exit 3\n    continue_on_error: true\n  - id: ok\n    ask: 'Go on?'\n");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  const tree = await person.tab(`${stage.url}/#/r/${run}`);
  await tree.getByText(/Now: hold\.1 for/).waitFor();
  const aloud = (tab) => tab.locator("#aloud");
  for (const tab of [page, tree]) {
    assert.equal(await aloud(tab).getAttribute("aria-live"), "polite");
    assert.equal(await aloud(tab).innerText(), "", "what is there at first is no change");
    await tab.evaluate(() => {
      globalThis.said = [];
      new MutationObserver(() => globalThis.said.push(document.getElementById("aloud").textContent)).observe(document.getElementById("aloud"), { childList: true, characterData: true, subtree: true });
    });
  }
  stage.write("go", "");
  await page.bringToFront();
  await eventually("the question is said", async () => (await aloud(page).innerText()) === "There is a new question. 1 question waits for an answer.");
  const said = async () => (await tree.evaluate(() => globalThis.said));
  await tree.bringToFront();
  await eventually("what happened is said", async () => /ok\.1 asks|hold\.1 has failed|The run of waits is now: waiting/.test((await said()).join(" ")));
  // It can be switched off.
  await page.goto(`${stage.url}/#/keys`);
  const switched = page.getByLabel("A screen reader says what changes by itself", { exact: false });
  assert(await switched.isChecked());
  await switched.uncheck();
  await page.goto(`${stage.url}/#/inbox`);
  await page.getByText("Go on?").waitFor();
  const before = await aloud(page).innerText();
  await stage.question(await stage.run(ASK("second")));
  await page.getByText("May second go on?").waitFor();
  assert.equal(await aloud(page).innerText(), before);
  await person.done();
  await stage.close();
});

test("a long list of runs goes on while one scrolls, is counted by state, and is read again only where it has changed", async () => {
  const stage = await Stage.open();
  const { digest } = await stage.ask("POST", "flows", "flow: quick\nsteps:\n  - id: a\n    if: 'false'\n    run: 'true'\n");
  const runs = [await stage.run(ASK("first"))];
  for (let nth = 0; nth < 54; nth += 1) runs.push((await stage.ask("POST", "runs", { flow: digest, workspace: "shared" })).run);
  for (const run of runs.slice(1)) await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  const rows = page.locator(".runs .row");
  await eventually("a page", async () => (await rows.count()) === 50);
  await page.getByRole("combobox", { name: "State" }).getByText("succeeded (54)").waitFor({ state: "attached" });
  assert.deepEqual(await page.getByRole("combobox", { name: "State" }).locator("option").allInnerTexts(), ["all (55)", "running (0)", "waiting (1)", "failed (0)", "exhausted (0)", "cancelled (0)", "succeeded (54)", "in doubt", "waiting for an account", "stopped", "running without an engine", "set aside"]);
  await page.mouse.wheel(0, 20_000);
  await eventually("all of them", async () => (await rows.count()) === 55);
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  await person.accessible(page);
  // Until nothing is asked any more but the stream.
  await eventually("the stream", () => person.asked.some((url) => /\/v1\/stream$/.test(url)));
  for (let last = -1; last !== person.asked.length || person.open > 1; ) {
    last = person.asked.length;
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
  }
  // The oldest run changes: its part of the list is loaded, and no other.
  const asked = () => person.asked.filter((url) => /\/v1\/runs\?/.test(url));
  const before = asked().length;
  const { questions } = await stage.ask("GET", `questions?run=${runs[0]}`);
  await stage.ask("POST", `questions/${questions[0].question}/answer`, { choice: "approve" });
  await page.locator(".runs .row", { hasText: "first" }).getByText("succeeded").waitFor();
  const later = asked().slice(before);
  assert(later.length > 0 && later.every((url) => /cursor=/.test(url)), later.join("\n"));
  assert.equal(await rows.count(), 55);
  assert.deepEqual(new Set(await rows.evaluateAll((all) => all.map((each) => each.hash.split("/").at(-1)))).size, 55, "each stands there once");
  // A new one is the first.
  const fresh = await stage.run(ASK("fresh"));
  await page.locator(".runs .row").first().filter({ hasText: "fresh" }).waitFor();
  assert.equal(await rows.count(), 56);
  assert.equal(await rows.first().evaluate((each) => each.hash), `#/r/${fresh}`);
  await person.done();
  await stage.close();
});

test("the map of a run has the states of inner flows too, what waits, what was skipped and why, and items that have not begun", async () => {
  const stage = await Stage.open();
  const files = {
    "outer.yaml": "flow: outer\nsteps:\n  - id: never\n    if: 'false'\n    run: echo never\n  - id: build\n    flow: inner.yaml\n  - id: each\n    for_each: [1, 2, 3]\n    max_parallel: 1\n    run: while [ ! -e go ]; do sleep 0.05; done\n  - id: ok\n    ask: 'Go on?'\n",
    "inner.yaml": "flow: inner\nsteps:\n  - id: deep\n    run: echo deep\n  - id: left\n    if: 'false'\n    run: echo left\n",
  };
  const { digest } = await stage.ask("POST", "flows", { flow: "outer.yaml", files });
  const { run } = await stage.ask("POST", "runs", { flow: digest, workspace: "shared" });
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/map`);
  const station = (name) => page.locator(".stations li").filter({ has: page.locator("b", { hasText: new RegExp(`^${name}$`) }) });
  await station("each").getByText(/running/).waitFor();
  const said = async (name) => (await station(name).innerText()).replace(/\s+/g, " ");
  assert.match(await said("never"), /skipped.*only if false/);
  assert.match(await said("each"), /● running · not begun 2/);
  assert.match(await said("ok"), /not begun/);
  await page.getByText("build: the flow inner").click();
  assert.match(await said("deep"), /✓ succeeded/);
  assert.match(await said("left"), /skipped/);
  const look = (name) => station(name).locator("b").evaluate((each) => getComputedStyle(each).color);
  assert.equal(await look("never"), await look("left"));
  assert.notEqual(await look("never"), await look("deep"), "what was skipped is dimmed");
  await person.accessible(page);
  stage.write("go", "");
  await station("ok").locator(".states").getByText("asks").waitFor();
  assert.match(await said("each"), /✓ succeeded 3/);
  await person.done();
  await stage.close();
});

test("what differs stands side by side where there is room, and the keys find it there too", async () => {
  const stage = await Stage.open();
  stage.write("a.txt", "one\ntwo\nthree\nfour\n");
  const run = await stage.run("flow: changes\nsteps:\n  - id: write\n    run: printf 'one\\n2\\nthree\\nfour\\nfive\\n' > a.txt\n    artifacts: [a.txt]\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/files`);
  const below = page.getByRole("table", { name: "what has changed", exact: true });
  await below.waitFor();
  await page.getByRole("button", { name: "side by side" }).click();
  const beside = page.getByRole("table", { name: "what has changed, side by side" });
  const rows = async () => (await beside.getByRole("row").all()).reduce(async (all, row) => [...(await all), (await row.locator(".text").allInnerTexts()).join(" | ")], []);
  assert.deepEqual(await rows(), ["one | one", "two | 2", "three | three", "four | four", " | five"]);
  await person.accessible(page);
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page.keyboard.press("n");
  assert.match(await focused(), /two.*2/);
  await page.keyboard.press("n");
  assert.match(await focused(), /five/);
  // Without room they are below each other, no matter what was chosen.
  await page.setViewportSize({ width: 700, height: 800 });
  await below.waitFor();
  assert.equal(await page.getByRole("button", { name: "side by side" }).count(), 0);
  await person.done();
  await stage.close();
});

test("of an attempt in doubt it is said that it may be done twice, and what its verification said", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: pays\nsteps:\n  - id: pay\n    run: |\n      echo PAY \"NOW\"\n      while ! grep -rq 'PAY[ ]NOW' .envoi/runs; do sleep 0.05; done\n      kill -9 $PPID; sleep 600\n    on_in_doubt: { verify: \"echo 'the bank does not answer' >&2; exit 7\" }\n");
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  const choice = page.locator(".choice", { hasText: "Run it again" });
  await choice.getByText("the step runs again; what the attempt has done outside may then be done twice").waitFor();
  const known = page.locator(".evidence");
  await known.getByText("what the verification wrote to stderr").waitFor();
  await known.getByText("the bank does not answer").waitFor();
  await known.getByText("its verification", { exact: true }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("names that deceive are named where they stand in a frame's head or in place of a picture", async () => {
  const stage = await Stage.open();
  const folder = "a\u202eb";
  const run = await stage.run(`flow: odd\nsteps:\n  - id: make\n    run: mkdir -p '${folder}'; printf '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>' > 'p\u202egnp.svg'\n    artifacts: ['*.svg']\n  - id: inside\n    cwd: '${folder}'\n    run: pwd\n`);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/inside.1`);
  await page.getByText("how it was started, and its events").click();
  await page.locator("figcaption", { hasText: "in aU+202Eb" }).waitFor();
  await page.goto(`${stage.url}/#/r/${run}/files`);
  await page.getByRole("img", { name: "the file pU+202Egnp.svg" }).waitFor();
  const raw = await page.evaluate(() => document.documentElement.outerHTML.includes("\u202e"));
  assert.equal(raw, false, "also in no attribute");
  await person.done();
  await stage.close();
});
