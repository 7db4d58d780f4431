// Every kind of answer, given in the browser: what it is called, and what becomes of the run.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
steps:
  - id: draft
    run: echo drafted
  - id: ok
    ask: 'Publish the notes?'
    routing: { loop_to: draft }
`;

/** Its only round does not do. */
const ROUNDS = `
flow: rounds
steps:
  - id: critic
    run: 'echo "Status: NEEDS_WORK"'
    routing: { kind: microloop, success_values: [VERIFIED], max_iterations: 1 }
`;

/** Its output is not clear. */
const REVIEW = `
flow: review
steps:
  - id: critic
    run: 'echo "Who knows?"'
    routing: { kind: microloop, success_values: [VERIFIED] }
`;

const DOUBT = `
flow: doubt
steps:
  - id: migrate
    run: kill -9 $PPID; sleep 600
    on_in_doubt: ask
`;

const LIMIT = `
flow: limit
limits: { agent_hops: 1, on_reached: ask }
steps:
  - id: a
    run: echo a
  - id: b
    run: echo b
`;

/** The flow, the button, the choice that is recorded, and what becomes of the run. */
const ANSWERS = [
  [ASKS, "Deny", "deny", "failed"],
  [ASKS, "Once more", "again", "waiting"],
  [ROUNDS, "Go on", "proceed", "succeeded"],
  [ROUNDS, "Stop", "stop", "failed"],
  [REVIEW, "Once more", "again", "waiting"],
  [DOUBT, "Count it as failed", "fail", "failed"],
  [LIMIT, "Raise the limit", "raise", "succeeded"],
  [LIMIT, "Stop", "stop", "exhausted"],
];

test("each answer is given by its button, says first what it leads to, is recorded once, and the run does that", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByText("Nothing waits for you.").waitFor();
  for (const [flow, name, choice, status] of ANSWERS) {
    const run = await stage.run(flow);
    const { question } = await stage.question(run);
    await page.goto(`${stage.url}/#/q/${question}`);
    const answer = page.locator(".choice").filter({ has: page.getByText(name, { exact: true }) });
    assert.match(await answer.locator(".leads").innerText(), /\w/, `${choice}: what it leads to`);
    await answer.getByRole("radio").check();
    if (choice === "raise") await page.getByLabel("More attempts").fill("4");
    else await page.getByLabel("In words").fill(`because: ${choice}`);
    await person.accessible(page);
    await page.getByRole("button", { name: `Send: ${name}` }).click();
    await page.getByText(new RegExp(`${name}, by ann at`)).waitFor();
    await person.accessible(page);
    await stage.until(run, status);
    const recorded = (await stage.answers(run)).map(({ event }) => [event.choice, event.by.actor]);
    assert.deepEqual(recorded, [[choice, "ann"]], choice);
    if (choice === "again") assert.notEqual((await stage.question(run)).question, question, "it asks anew");
    if (choice === "raise") assert.equal((await stage.ask("GET", `runs/${run}/ledger`)).raised.agent_hops, 4);
  }
  await person.done();
  await stage.close();
});
