// Screens that have nothing to show, or nothing any more: before the first flow, questions that were denied or have lapsed, no stream.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, NARROW, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

test("before the first flow each list says that it is empty, and how it begins", async () => {
  const stage = await Stage.open();
  for (const screen of [DESK, NARROW]) {
    const person = await Person.at(stage, screen);
    const page = await person.tab(stage.url);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await person.accessible(page);
    await page.getByLabel("Token").fill(stage.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    for (const [address, seen] of [["inbox", "Nothing waits for you."], ["inbox?closed", "No question has been closed."], ["runs", "No run"], ["flows", "envoi"], ["q/int_nothing", "No such question"], ["r/run_nothing", "No such run"], ["nothing", "There is nothing here"]]) {
      person.allowed.push(/status of 404/);
      await page.goto(`${stage.url}/#/${address}`);
      await page.getByRole("main").getByText(seen, { exact: false }).first().waitFor();
      await person.accessible(page).catch((error) => assert.fail(`${address}: ${error.message}`));
    }
    await person.done();
  }
  await stage.close();
});

const ASK = (id, more = "") => `flow: ${id}\ntitle: Flow ${id}\nsteps:\n  - id: ok\n    ask: { message: 'May ${id} go on?'${more} }\n`;

test("questions stand oldest first with the hour at which they lapse; those that were denied or have lapsed say so", async () => {
  const stage = await Stage.open();
  const denied = await stage.question(await stage.run(ASK("denied")));
  await stage.ask("POST", `questions/${denied.question}/answer`, { choice: "deny", text: "not this week" });
  const lapsed = await stage.question(await stage.run(ASK("lapsed", ", expires_in: 1s, on_expire: deny")));
  await eventually("it has lapsed", async () => (await stage.ask("GET", `questions/${lapsed.question}`)).state !== "open");
  for (const [id, more] of [["first", ""], ["second", ", expires_in: 3h"], ["third", ""]]) await stage.question(await stage.run(ASK(id, more)));
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const cards = page.locator(".card .first");
  await page.getByText("May third go on?").waitFor();
  assert.deepEqual(await cards.allInnerTexts(), ["May first go on?", "May second go on?", "May third go on?"]);
  assert.match(await page.locator(".card", { hasText: "second" }).innerText(), /lapses in 2 h \d+ min/);
  assert.doesNotMatch(await page.locator(".card", { hasText: "first" }).innerText(), /lapses/);
  await person.accessible(page);
  await page.goto(`${stage.url}/#/inbox?closed`);
  await page.getByText("May denied go on?").waitFor();
  assert.match(await page.locator(".card", { hasText: "denied" }).innerText(), /Deny by first/);
  await person.accessible(page);
  for (const [{ question }, words] of [[denied, "not this week"], [lapsed, "lapsed"]]) {
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByRole("main").getByText(words, { exact: false }).first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^(Send|Choose)/ }).count(), 0, "nothing to send");
    await person.accessible(page);
  }
  await person.done();
  await stage.close();
});

test("what one person has typed is not shown to the next one in the same tab, and is there when the first one is back", async () => {
  const stage = await Stage.open();
  const { question } = await stage.question(await stage.run(ASK("publish")));
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 401/);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  const words = page.getByLabel("In words");
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  await words.fill("ann has looked at it");
  await eventually("it is kept", () => page.evaluate(() => Object.values(sessionStorage).some((each) => each.includes("ann has looked"))));
  // A session that ends by itself keeps what was typed: the same person comes back.
  const { status, out } = stage.envoi("token", "create", "bob", "--scope", "answer");
  assert.equal(status, 0);
  const bob = /evt_\S+/.exec(out)[0];
  const end = async () => {
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  };
  await end();
  await page.getByLabel("Token").fill(bob);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("radio").first().waitFor();
  assert.equal(await page.getByRole("radio", { checked: true }).count(), 0);
  await page.getByText("Approve", { exact: true }).click();
  assert.equal(await words.inputValue(), "");
  await end();
  await page.goto(stage.link("--for", "ann", "--scope", "answer"));
  // A code that is gone from the address before the page has seen it is not used.
  await page.getByText("May publish go on?").first().waitFor();
  await page.goto(`${stage.url}/#/q/${question}`);
  await words.waitFor();
  assert.equal(await words.inputValue(), "ann has looked at it");
  await person.done();
  await stage.close();
});

test("where the browser has no locks each tab reads a stream of its own", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  // As on a page of another host without TLS.
  await person.context.addInitScript(() => Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined }));
  const [one, two] = [await person.tab(stage.link()), await person.tab()];
  await one.getByText("Nothing waits for you.").waitFor();
  await two.goto(`${stage.url}/#/inbox`);
  await two.getByText("Nothing waits for you.").waitFor();
  await eventually("two streams", () => person.asked.filter((url) => url.endsWith("/v1/stream")).length >= 2);
  await stage.run(ASK("publish"));
  for (const tab of [one, two]) await tab.getByText("May publish go on?").waitFor();
  await person.done();
  await stage.close();
});
