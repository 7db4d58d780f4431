// The state of a run: the list, its own screen and the terminal show it with one word, which the server computes.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";
import { NASTY, throttled } from "./flows.js";

after(ended);

const DOUBT = "flow: doubt\nsteps:\n  - id: pay\n    run: |\n      echo PAY \"NOW\"\n      while ! grep -rq 'PAY[ ]NOW' .envoi/runs; do sleep 0.05; done\n      kill -9 $PPID; sleep 600\n    on_in_doubt: ask\n";

/** Times are written in the manner of each place. */
const timeless = (text) => text.replaceAll(/\s+/g, " ").trim().replace(/(until|next try at|next try) .*$/, "until TIME").replace(/ (\d[\w.]*( \w+)?( \d+ \w+)?|now) ago/, " TIME ago");

/** The state of each run in `envoi runs`. */
function inTerminal(stage) {
  const [heads, ...lines] = stage.envoi("runs").out.split("\n").filter((line) => line !== "");
  const [from, to] = [heads.indexOf("STATUS"), heads.indexOf("STEP")];
  return Object.fromEntries(lines.map((line) => [line.split(" ")[0], [timeless(line.slice(heads.indexOf("FLOW"), from)), timeless(line.slice(from, to))]]));
}

/** The state of each run in the list of the page. */
const onPage = (page) => page.locator(".runs .row").evaluateAll((all) => all.map((row) => [row.hash.split("/").at(-1), row.querySelector("b").innerText, row.querySelector(".state").innerText.replace(/^\S+\s/, "")])).then((all) => Object.fromEntries(all.map(([run, flow, state]) => [run, [timeless(flow), timeless(state)]])));

test("the list says of each run what the terminal says of it", async () => {
  const stage = await Stage.open();
  const runs = {};
  runs.succeeded = await stage.run("flow: good\nsteps:\n  - id: a\n    run: echo a\n");
  runs.failed = await stage.run("flow: bad\nsteps:\n  - id: a\n    run: exit 3\n");
  runs.waiting = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Go on?'\n");
  runs.doubt = await stage.run(DOUBT);
  runs.account = await stage.run(throttled(stage));
  runs.aside = await stage.run(NASTY);
  stage.write("part.yaml", "flow: part\nsteps:\n  - id: a\n    run: echo a\n  - id: b\n    run: echo b\n");
  assert.equal(stage.envoi("run", "part.yaml", "--only", "a", "--share-workspace").status, 0);
  await stage.until(runs.succeeded, "succeeded");
  await stage.until(runs.failed, "failed");
  await stage.question(runs.waiting);
  await stage.question(runs.doubt);
  await eventually("the limit", async () => (await stage.ask("GET", `runs/${runs.account}`)).stands === "waiting_for_account");
  await eventually("one that is set aside", async () => (await stage.ask("GET", `runs/${runs.aside}`)).stands === "set_aside");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  await page.locator(".runs .row").nth(6).waitFor();
  const told = inTerminal(stage);
  assert.deepEqual(await onPage(page), told);
  assert.deepEqual(Object.entries(runs).map(([name, run]) => [name, told[run][1]]), [
    ["succeeded", "succeeded"],
    ["failed", "failed"],
    ["waiting", "waiting"],
    ["doubt", "waiting (in doubt)"],
    ["account", "waiting for claude of flow fixes until TIME"],
    ["aside", "set aside TIME ago"],
  ]);
  assert(Object.values(told).some(([flow]) => flow === "part (part)"));
  await person.accessible(page);
  // Its own screen shows the same.
  await page.goto(`${stage.url}/#/r/${runs.account}`);
  await page.locator("header.head .state", { hasText: "waiting for claude of flow fixes until" }).waitFor();
  // The list by how they stand, and by flow.
  await page.goto(`${stage.url}/#/runs`);
  const shown = async (label, choice) => {
    await page.getByRole("combobox", { name: new RegExp(`^${label}`) }).selectOption(choice);
    await eventually(`one run with ${choice}`, async () => (await page.locator(".runs .row").count()) === 1);
    return page.locator(".runs .row").evaluate((row) => row.hash.split("/").at(-1));
  };
  for (const [choice, name] of [["set aside", "aside"], ["in doubt", "doubt"], ["waiting for an account", "account"]]) assert.equal(await shown("State", choice), runs[name], choice);
  await page.getByRole("combobox", { name: /^State/ }).selectOption("stopped");
  await page.getByText("No run is like that: state stopped.", { exact: false }).waitFor();
  await page.getByRole("combobox", { name: /^State/ }).selectOption({ index: 0 });
  assert.equal(await shown("Flow", "asks"), runs.waiting);
  assert.match(page.url(), /runs\?flow=asks$/);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("a step that works without an engine is said, and the run can be taken up; files that are half set back are said", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: long\nsteps:\n  - id: slow\n    run: while [ ! -e go ]; do sleep 0.05; done\n");
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  // The engine of a server goes on with all runs: another response is used for a run that an engine has left.
  let more = { activity: "working", step_works: true, stands: "running_without_an_engine" };
  await page.route(new RegExp(`/runs(/${run})?(\\?|$)`), async (route) => {
    const response = await route.fetch();
    const found = await response.json();
    await route.fulfill({ response, json: found.runs === undefined ? { ...found, ...more } : { ...found, runs: found.runs.map((each) => ({ ...each, ...more })) } });
  });
  await page.goto(`${stage.url}/#/runs`);
  await page.getByRole("link", { name: /running without an engine\s+long/ }).click();
  await page.getByText("No engine goes on with it, and its step still works", { exact: false }).waitFor();
  await page.locator("header.head .state", { hasText: "running without an engine" }).waitFor();
  await page.getByRole("button", { name: "Go on …" }).waitFor();
  await person.accessible(page);
  more = { activity: "stopped", step_works: false, stands: "stopped", files_half_set_back: true };
  await page.reload();
  await page.getByText("Nothing works on it.", { exact: false }).waitFor();
  await page.locator("header.head .state", { hasText: /stopped .* ago \(files half set back\)/ }).waitFor();
  await page.getByText("Its files may be half set back", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Go on …" }).waitFor();
  await person.accessible(page);
  more = {};
  await page.reload();
  await page.getByText(/Now: slow\.1 for/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Go on …" }).count(), 0, "an engine goes on with it");
  stage.write("go", "");
  await stage.until(run, "succeeded");
  await person.done();
  await stage.close();
});
