// Views that grow or change while they are seen: an output, a run of very many visits; and a screen never shows the data of another.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

test("an output is followed while one is at its end, and what is being read never moves", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: talks\nsteps:\n  - id: talk\n    run: |\n      for part in 1 2 3 4; do\n        while [ ! -e go$part ]; do sleep 0.05; done\n        for line in $(seq 1 100); do echo \"part $part line $line\"; done\n      done\n");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/talk.1`);
  const output = page.getByRole("region", { name: "stdout" });
  const grows = async (part) => {
    stage.write(`go${part}`, "");
    await output.getByText(`part ${part} line 100`, { exact: true }).waitFor();
  };
  const fromEnd = () => output.evaluate((box) => Math.round(box.scrollHeight - box.clientHeight - box.scrollTop));
  await grows(1);
  await eventually("the end is in view", async () => (await fromEnd()) <= 1);
  await grows(2);
  await eventually("it is followed", async () => (await fromEnd()) <= 1);
  // A reader who is further up is left there.
  await output.evaluate((box) => (box.scrollTop = 40));
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await grows(3);
  assert.equal(await output.evaluate((box) => box.scrollTop), 40);
  // Back at the end, it is followed again.
  await output.evaluate((box) => (box.scrollTop = box.scrollHeight));
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await grows(4);
  await eventually("it is followed", async () => (await fromEnd()) <= 1);
  await stage.until(run, "succeeded");
  await output.getByText("…", { exact: true }).waitFor({ state: "detached" });
  await person.done();
  await stage.close();
});

const GROWS = `
flow: grows
steps:
  - id: each
    for_each: \${{ range(30) | list }}
    max_parallel: 1
    run: while [ ! -e go\${{ item }} ]; do sleep 0.05; done; echo done
`;

test("a run of ten thousand visits that goes on is read once, then only what has changed; few elements, and the rows in view stay", async () => {
  const stage = await Stage.open();
  const run = await stage.run(GROWS);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const [row] = await eventually("a row", async () => ((found) => found.length > 0 && found)((await stage.ask("GET", `runs/${run}/steps`)).steps));
  // Ten thousand commands would take an hour: these rows stand for them. With each look, one more of them is over.
  const whole = { ...row, place: "all.1", step: "all", items: 10_000, attempts: 0, state: "open", ended_at: null, question: null, part_of: null };
  const item = (nth, over) => ({ ...whole, place: `${nth}.all.1`, part_of: "all.1", scope: String(nth), items: null, item: nth, value: `value ${nth}`, state: over ? "succeeded" : "ready", ended_at: over ? row.started_at : null, seq: 0 });
  const looks = [];
  await page.route(/\/steps\?/, async (route) => {
    const found = await (await route.fetch()).json();
    const isFirst = !/[?&]after=/.test(route.request().url());
    looks.push(isFirst);
    const made = isFirst ? [whole, ...Array.from({ length: 10_000 }, (_, nth) => item(nth, false))] : [item(looks.length, true)];
    await route.fulfill({ json: { ...found, steps: [...found.steps, ...made] } });
  });
  await page.goto(`${stage.url}/#/r/${run}`);
  const grid = page.getByRole("treegrid");
  await page.getByRole("row", { name: /all 10000 ○|all .*10000/ }).waitFor();
  await page.getByLabel("words in steps").fill("all");
  await page.getByRole("row", { name: /value 3|3\.all\.1/ }).first().waitFor();
  await grid.evaluate((box) => (box.scrollTop = 28 * 5_000));
  await page.getByRole("row", { name: /5005\.all\.1/ }).waitFor();
  const seen = () => page.locator(".rowbox .line .name b").evaluateAll((all) => all.map((each) => each.textContent));
  const before = await seen();
  for (let nth = 0; nth < 30; nth += 1) {
    const sofar = looks.length;
    stage.write(`go${nth}`, "");
    // The first ones one by one, so that a browser that is slower than the run looks several times, too.
    if (nth < 4) await eventually("a further look", () => looks.length > sofar);
  }
  await stage.until(run, "succeeded");
  await page.locator("header.head").getByText("succeeded").waitFor();
  assert(looks.length > 3, `${looks.length} looks`);
  assert.deepEqual(looks.filter((isFirst) => isFirst).length, 1, "all rows are read once");
  assert.deepEqual(await seen(), before, "the rows in view are those from before");
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert(elements <= 1500, `${elements} elements`);
  // The changes made meanwhile are there.
  await page.getByLabel("words in steps").fill("2.all.1");
  await page.getByRole("row", { name: /succeeded 2\.all\.1/ }).waitFor();
  await person.done();
  await stage.close();
});

test("an address never shows what belongs to the one before, not for a frame", async () => {
  const stage = await Stage.open();
  const runs = [];
  for (const name of ["apples", "pears"]) runs.push(await stage.run(`flow: ${name}\ntitle: All about ${name}\nsteps:\n  - id: pick_${name}\n    run: echo ${name}\n  - id: ok_${name}\n    ask: 'Eat the ${name}?'\n`));
  const questions = [];
  for (const run of runs) questions.push((await stage.question(run)).question);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  for (const [first, second] of [[`r/${runs[0]}`, `r/${runs[1]}`], [`r/${runs[0]}/map`, `r/${runs[1]}/map`], [`q/${questions[0]}`, `q/${questions[1]}`]]) {
    await page.goto(`${stage.url}/#/${first}`);
    await page.getByRole("main").getByText("apples", { exact: false }).first().waitFor();
    // The page draws this after it has got the new address.
    await page.evaluate((to) => {
      globalThis.wrong = [];
      const look = () => {
        const text = document.querySelector("main").textContent;
        if (text.includes("apples")) globalThis.wrong.push(text.slice(0, 80));
      };
      addEventListener("hashchange", () => new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true }), { once: true });
      location.hash = to;
    }, `#/${second}`);
    await page.getByRole("main").getByText("pears", { exact: false }).first().waitFor();
    assert.deepEqual(await page.evaluate(() => globalThis.wrong), [], second);
  }
  await person.done();
  await stage.close();
});

test("a run is asked for at once, and shown before it is known who looks; what one may do comes with that", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: one\ntitle: One step\nsteps:\n  - id: a\n    run: exit 3\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await page.route(/\/v1\/token$/, async (route) => (await held, route.continue()));
  // None of these waits for another one.
  const parts = ["", "/shape", "/ledger", "/steps"];
  const asked = new Set();
  let go;
  const all = new Promise((resolve) => (go = resolve));
  await page.route(new RegExp(`/v1/runs/${run}`), async (route) => {
    const part = new URL(route.request().url()).pathname.split(run)[1];
    asked.add(part);
    if (parts.every((each) => asked.has(each))) go();
    await all;
    await route.continue();
  });
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.reload();
  await page.getByRole("row", { name: /failed a/ }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Go on …", exact: true }).count(), 0);
  await person.accessible(page);
  answer();
  await page.getByRole("button", { name: "Go on …", exact: true }).waitFor();
  // The end of a run is said before its steps are there.
  let rows;
  const late = new Promise((resolve) => (rows = resolve));
  await page.route(/\/(steps\?|ledger$)/, async (route) => (await late, route.continue()));
  await page.reload();
  await page.getByRole("heading", { name: "One step" }).waitFor();
  await page.locator("header.head").getByText("failed", { exact: false }).first().waitFor();
  await page.getByText("Reading the steps …").waitFor();
  await person.accessible(page);
  rows();
  await page.getByRole("row", { name: /failed a/ }).waitFor();
  // A session that is over leads to the sign-in, by any answer that reports it.
  person.allowed.push(/status of 401/);
  await page.evaluate(() => localStorage.setItem(Object.keys(localStorage)[0], "nothing"));
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByText("You were signed out: the session is over.").waitFor();
  await person.done();
  await stage.close();
});
