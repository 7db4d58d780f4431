// An action that comes too late, or twice: the page reports it, and it is done once.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
steps:
  - id: ok
    ask: 'Publish the notes?'
`;

const WAITS = `
flow: waits
steps:
  - id: slow
    run: while [ ! -e go ]; do sleep 0.05; done
`;

/** It asks no person the first time. */
const FORKS = `
flow: forks
steps:
  - id: one
    run: echo one
  - id: ok
    run: if [ -e good ]; then rm good; else while [ ! -e over ]; do sleep 0.05; done; fi
`;

const STEPS = `
flow: steps
limits: { agent_hops: 2 }
steps:
  - id: a
    run: echo a >> did.txt
  - id: b
    run: echo b >> did.txt
  - id: c
    run: echo c >> did.txt; test -e good
`;

test("what a button does is there before it can be pressed: resume, fork", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: fails\nsteps:\n  - id: a\n    run: echo a\n  - id: b\n    run: exit 3\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  for (const [open, act] of [["Go on …", "Go on with this run"], ["Fork …", "Begin a new run at b"]]) {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/\/compare$/, async (route) => (await held, route.continue()));
    await page.getByRole("button", { name: open }).click();
    const button = page.getByRole("button", { name: act });
    await page.getByRole("group", { name: "what can be done" }).getByText("Asking the server").waitFor();
    assert(await button.isDisabled(), `${act}: it could be pressed before it was said what it means`);
    release();
    await page.getByRole("row", { name: /b.*failed.*runs again/ }).waitFor();
    assert(await button.isEnabled(), act);
    await page.unroute(/\/compare$/);
    await page.getByRole("button", { name: "Leave it" }).click();
  }
  await person.done();
  await stage.close();
});

/** Acts after the page was triggered to send a request, and before the server has it. */
async function meanwhile(page, path, act) {
  let times = 0;
  await page.route(path, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    times += 1;
    if (times === 1) await act();
    await route.continue();
  });
  return async () => {
    await page.unroute(path);
    return times;
  };
}

test("who comes too late is told what is true: the run is over, the workspace or the family is at work", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 409/);
  const page = await person.tab(stage.link("--for", "bob", "--scope", "run"));
  await page.getByText("Nothing waits for you.").waitFor();
  const waits = await stage.run(WAITS);
  // A run that wants to be alone, while another one works there.
  const { digest } = await stage.ask("POST", "flows", ASKS);
  await page.goto(`${stage.url}/#/start/${encodeURIComponent(digest)}`);
  await page.getByRole("radio", { name: /^alone/ }).check();
  await page.getByRole("button", { name: "Start asks" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("WORKSPACE_BUSY").waitFor();
  assert.match(await alert.innerText(), /another run is at work in the workspace[^]*`copy` or `shared`[^]*request req_/, "what to do, and the name of the refusal in the server's log");
  await person.accessible(page);
  // The run is over when it is cancelled.
  await page.goto(`${stage.url}/#/r/${waits}`);
  await page.getByRole("row", { name: /running slow/ }).waitFor();
  await page.getByRole("button", { name: "Cancel …" }).click();
  const sent = await meanwhile(page, /\/cancel$/, async () => (stage.write("go", ""), await stage.until(waits, "succeeded")));
  await page.getByRole("button", { name: "Cancel this run" }).click();
  await page.getByRole("row", { name: /succeeded slow/ }).waitFor();
  assert.equal((await stage.ask("GET", `runs/${waits}`)).status, "succeeded");
  assert.equal(await sent(), 1);
  await page.getByRole("main").getByText("cancelled").first().waitFor({ state: "detached" });
  // A fork, while another run of its family works.
  stage.write("good", "");
  const root = await stage.run(FORKS);
  await stage.until(root, "succeeded");
  await page.goto(`${stage.url}/#/r/${root}`);
  await page.getByRole("button", { name: "Fork …" }).click();
  await page.getByLabel("From step").selectOption("one");
  await page.getByRole("radio", { name: /^shared/ }).check();
  await page.getByRole("row", { name: /one.*runs again/ }).waitFor();
  // The shown state is no longer true when the button is pressed.
  await stage.ask("POST", `runs/${root}/fork`, { from: "ok", workspace: "shared" });
  await page.getByRole("button", { name: "Begin a new run at one" }).click();
  await alert.getByText("FAMILY_BUSY").waitFor();
  await person.accessible(page);
  assert.equal((await stage.ask("GET", "runs")).runs.length, 3, "no run has begun but those three");
  stage.write("over", "");
  await person.done();
  await stage.close();
});

test("what is sent again, because no answer came, is done once: raise, resume, correct, fork", async () => {
  const stage = await Stage.open();
  const run = await stage.run(STEPS);
  await eventually("the limit", async () => (await stage.ask("GET", `runs/${run}`)).terminal_reason !== null || (await stage.ask("GET", `runs/${run}`)).open_questions > 0);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/ERR_CONNECTION_RESET/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  /** The first answer of the server is lost. */
  const lost = async (operation, act) => {
    const keys = [];
    await page.route(new RegExp(`/${operation}$`), async (route) => {
      keys.push(route.request().headers()["idempotency-key"]);
      if (keys.length > 1) return route.continue();
      assert((await route.fetch()).ok());
      await route.abort("connectionreset");
    });
    await act();
    await eventually(`${operation} is sent again`, () => keys.length === 2);
    assert.equal(keys[0], keys[1]);
    await page.unroute(new RegExp(`/${operation}$`));
  };
  await page.getByRole("button", { name: "Raise a limit …" }).click();
  await page.getByLabel("More attempts").fill("7");
  await lost("raise", () => page.getByRole("button", { name: "Raise it" }).click());
  await stage.until(run, "failed");
  assert.equal((await stage.ask("GET", `runs/${run}/ledger`)).raised.agent_hops, 7);
  await page.getByRole("button", { name: "Go on …" }).click();
  await lost("resume", () => page.getByRole("button", { name: "Go on with this run" }).click());
  await eventually("another try", () => /^a\nb\nc\nc\n/.test(stage.read("did.txt")));
  await stage.until(run, "failed");
  await page.getByRole("button", { name: "Fork …" }).click();
  await page.getByLabel("From step").selectOption("b");
  await lost("fork", () => page.getByRole("button", { name: "Begin a new run at b" }).click());
  const [fork, ...more] = (await stage.ask("GET", "runs")).runs.filter((row) => row.forked_from === run);
  assert.deepEqual(more, [], "one fork");
  await stage.until(fork.run, "failed");
  assert.match(stage.read("did.txt"), /c\nb\nc\n$/);
  const { digest } = await stage.ask("POST", "flows", STEPS.replace("; test -e good", ""));
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("button", { name: "Go on with a corrected flow …" }).click();
  await page.getByLabel("Version").selectOption(digest);
  await page.getByRole("row", { name: /c.*changed: run.*runs again/ }).waitFor();
  await lost("correct", () => page.getByRole("button", { name: "Go on as it says there" }).click());
  await stage.until(run, "succeeded");
  assert.equal((await stage.events(run, "flow_corrected")).length, 1);
  await person.done();
  await stage.close();
});
