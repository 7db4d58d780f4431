// Flows: the list, the map, the start of a run; what can be done with a run that has begun.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const INPUTS = `
flow: greets
title: A greeting
inputs:
  name: { type: string, description: Whom to greet }
  times: { type: integer, default: 2 }
  tone: { type: string, enum: [kind, brief], default: kind }
steps:
  - id: greet
    run: echo "hello \${{ inputs.name }} \${{ inputs.times }} \${{ inputs.tone }}"
  - id: again
    run: |
      if [ -e enough ]; then echo 'Status: VERIFIED'; else touch enough; echo 'Status: NEEDS_WORK'; fi
    routing: { kind: microloop, loop_to: greet, max_iterations: 3, success_values: [VERIFIED] }
  - id: both
    flow: inner.yaml
`;

const INNER = `
flow: inner
steps:
  - id: deep
    run: echo deep
`;

const STEPS = `
flow: steps
limits: { agent_hops: 3 }
steps:
  - id: a
    run: echo a >> did.txt
  - id: b
    run: echo b >> did.txt
  - id: c
    run: echo c >> did.txt; test -e good
  - id: d
    run: echo d >> did.txt
`;

test("a flow is looked at, and a run of it started with a form, on a phone", async () => {
  const stage = await Stage.open();
  await stage.ask("POST", "flows", { flow: "greets.yaml", files: { "greets.yaml": INPUTS, "inner.yaml": INNER } });
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: "Flows" }).tap();
  await page.getByRole("link", { name: /greets/ }).waitFor();
  await person.accessible(page);
  await person.shot(page, "flows-phone");
  await page.getByRole("link", { name: /greets/ }).tap();
  await page.getByRole("heading", { name: "A greeting" }).waitFor();
  const stations = await page.locator(".map").first().locator(":scope > ol > li").allInnerTexts();
  assert.equal(stations.length, 3);
  assert.match(stations[1], /again runs a command line 11\s+back to greet, at most 3 times/);
  assert.equal(await page.locator(".map").first().locator(":scope > svg.back text").innerHTML(), "≤ 3");
  await page.getByText("both: the flow inner").tap();
  await page.getByText("deep", { exact: true }).waitFor();
  await page.getByText("greets.yaml", { exact: true }).tap();
  await page.locator(".numbered", { hasText: "whom to greet" }).waitFor();
  await person.accessible(page);
  await person.shot(page, "flow-phone");
  await page.getByRole("link", { name: "Start a run …" }).tap();
  await page.getByText("begins with greet", { exact: false }).waitFor();
  await person.accessible(page);
  await person.shot(page, "start-phone");
  await page.getByRole("button", { name: "Start greets" }).tap();
  await page.getByText("This has to be filled in.").waitFor();
  assert.deepEqual((await stage.ask("GET", "runs")).runs, [], "nothing has begun");
  await page.getByLabel("name").fill("Ann");
  await page.getByLabel("times").fill("4");
  await page.getByLabel("brief").check();
  // The answer to the first try is lost: it is sent again, and one run begins.
  let tries = 0;
  person.allowed.push(/ERR_CONNECTION_RESET/);
  await page.route(/\/v1\/runs$/, async (route) => {
    if (route.request().method() !== "POST" || (tries += 1) > 1) return route.continue();
    assert.equal((await route.fetch()).status(), 201);
    await route.abort("connectionreset");
  });
  await page.getByRole("button", { name: "Start greets" }).tap();
  await page.getByRole("treegrid").waitFor();
  assert.equal(tries, 2);
  const { runs } = await stage.ask("GET", "runs");
  assert.equal(runs.length, 1);
  await stage.until(runs[0].run, "succeeded");
  assert.deepEqual((await stage.ask("GET", `runs/${runs[0].run}/handoffs/greet.1`)).summary.trim(), "hello Ann 4 brief");
  await page.keyboard.press("m");
  // The map has how often a step was done. It is drawn while the run's rows still arrive.
  await page.locator(".stations li", { hasText: /greet[^]*succeeded\s*2/ }).first().waitFor();
  // So has that of a flow within.
  await page.getByText("both: the flow inner").tap();
  await page.locator(".inner .stations li", { hasText: /deep[^]*succeeded/ }).waitFor();
  await person.accessible(page);
  await person.shot(page, "map-phone");
  await page.keyboard.press("c");
  const cost = page.getByRole("region", { name: "what was used" });
  await cost.getByRole("row", { name: /attempts 5 – none \d+/ }).waitFor();
  await page.getByRole("region", { name: "what each step used" }).getByRole("row", { name: /^greet – 2/ }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("a limit is raised, a run is forked: each says what it will do, and does it once", async () => {
  const stage = await Stage.open();
  const run = await stage.run(STEPS.replace("agent_hops: 3", "agent_hops: 2"));
  await eventually("the limit", async () => (await stage.ask("GET", `runs/${run}`)).open_questions > 0 || (await stage.ask("GET", `runs/${run}`)).terminal_reason !== null);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("button", { name: "Raise a limit …" }).click();
  await page.getByText("2 used of 2").waitFor();
  await person.accessible(page);
  await page.getByLabel("More attempts").fill("x");
  await page.getByRole("button", { name: "Raise it" }).click();
  await page.getByText("A number above 0.").waitFor();
  await page.getByLabel("More attempts").fill("3");
  await page.getByLabel("Reason", { exact: false }).fill("one more try");
  await page.getByRole("button", { name: "Raise it" }).click();
  await page.getByText("5 attempts", { exact: false }).or(page.getByText("of 5", { exact: false })).first().waitFor();
  await stage.until(run, "failed");
  assert.deepEqual((await stage.ask("GET", `runs/${run}/ledger`)).raised.agent_hops, 3);
  await page.getByRole("link", { name: "cost" }).click();
  await page.getByRole("row", { name: /attempts 3 – 5 raised by 3/ }).waitFor();
  assert.equal(stage.read("did.txt"), "a\nb\nc\n");
  await page.getByRole("button", { name: "Go on …" }).click();
  await page.getByRole("row", { name: /c.*failed.*runs again/ }).waitFor();
  assert.equal(await page.getByRole("row", { name: /a.*succeeded.*stays/ }).count(), 1);
  await person.accessible(page);
  await person.shot(page, "resume-desk");
  await page.getByRole("button", { name: "Leave it" }).click();
  await page.getByRole("button", { name: "Fork …" }).click();
  await page.getByText("This run stays as it is", { exact: false }).waitFor();
  assert.equal(await page.getByLabel("From step").inputValue(), "c", "where it was stopped");
  await page.getByLabel("From step").selectOption("b");
  await person.accessible(page);
  await person.shot(page, "fork-desk");
  stage.write("good", "");
  await page.getByRole("button", { name: "Begin a new run at b" }).click();
  const fork = await eventually("a fork", async () => (await stage.ask("GET", "runs")).runs.find((row) => row.forked_from === run));
  await stage.until(fork.run, "exhausted");
  assert.match(stage.read("did.txt"), /^a\nb\nc\nb\nc\n/);
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "failed", "the run itself stays as it was");
  await person.done();
  await stage.close();
});

test("what a run or its fork will meet is said before: files that lie otherwise, another run of the family", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: family\nsteps:\n  - id: make\n    run: echo made > out.txt\n    artifacts: [out.txt]\n  - id: use\n    run: test -e good; while [ ! -e go ]; do sleep 0.02; done\n");
  await stage.until(run, "failed");
  stage.write("out.txt", "other\n");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  const open = async (name) => page.getByRole("button", { name: `${name} …`, exact: true }).click();
  const leave = async () => page.getByRole("button", { name: "Leave it" }).click();
  await open("Go on");
  await page.getByText("than its steps have left them, and are not set back: `out.txt`", { exact: false }).waitFor();
  await leave();
  await open("Fork");
  await page.getByText("than when that step was entered, and are not set back: `out.txt`", { exact: false }).waitFor();
  const begin = page.getByRole("button", { name: "Begin a new run at use" });
  assert(await begin.isEnabled());
  await leave();
  stage.write("good", "");
  const { run: other } = await stage.ask("POST", `runs/${run}/fork`, { from: "use", workspace: "shared" });
  await open("Fork");
  await page.getByText("It cannot be forked:").waitFor();
  await page.getByText(`run \`${other}\` is running`, { exact: false }).waitFor();
  assert(await begin.isDisabled());
  await person.accessible(page);
  await leave();
  await open("Go on");
  await page.getByText("It cannot go on:").waitFor();
  assert(await page.getByRole("button", { name: "Go on with this run" }).isDisabled());
  await leave();
  stage.write("go", "");
  await stage.until(other, "succeeded");
  await open("Fork");
  await page.getByText("not set back: `out.txt`", { exact: false }).waitFor();
  assert(await begin.isEnabled(), "nothing of the family is under way any more");
  await person.done();
  await stage.close();
});

test("a run goes on under a corrected flow, once its comparison was seen", async () => {
  const stage = await Stage.open();
  const run = await stage.run(STEPS.replace("agent_hops: 3", "agent_hops: 30"));
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("button", { name: "Go on with a corrected flow …" }).click();
  await page.getByText("No other version of", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Leave it" }).click();
  const { digest } = await stage.ask("POST", "flows", STEPS.replace("agent_hops: 3", "agent_hops: 30").replace("; test -e good", ""));
  await page.getByRole("button", { name: "Go on with a corrected flow …" }).click();
  await page.getByLabel("Version").selectOption(digest);
  await page.getByRole("row", { name: /c.*changed: run.*failed.*runs again/ }).waitFor();
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "failed", "looked at, and not done yet");
  await person.accessible(page);
  await person.shot(page, "correct-desk");
  await page.getByRole("button", { name: "Go on as it says there" }).click();
  await stage.until(run, "succeeded");
  assert.equal((await stage.ask("GET", `runs/${run}`)).flow_digest, digest);
  assert.equal(stage.read("did.txt"), "a\nb\nc\nc\nd\n");
  await person.done();
  await stage.close();
});

test("who may not start or change anything is not offered it", async () => {
  const stage = await Stage.open();
  const run = await stage.run(STEPS);
  await stage.until(run, "failed");
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  const person = await Person.at(stage, DESK);
  // A link may lead to a run, as that of `envoi run --web` does.
  const page = await person.tab(`${stage.link("--for", "reader", "--scope", "read")}/r/${run}`);
  await page.getByRole("treegrid").waitFor();
  assert.equal(new URL(page.url()).hash, `#/r/${run}`, "the code stands in the address no more");
  assert.equal(await page.getByRole("button", { name: /…$/ }).count(), 0);
  await page.goto(`${stage.url}/#/start/${digest}`);
  await page.getByText("You may not start runs", { exact: false }).waitFor();
  person.allowed.push(/status of 404/);
  await page.goto(`${stage.url}/#/flows/nothing`);
  await page.getByRole("heading", { name: "No such flow" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});
