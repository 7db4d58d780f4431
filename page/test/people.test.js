// People who decide: with a thumb, with a keyboard, several of them, people without permission, and attempts in doubt.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
title: Notes of the release
steps:
  - id: draft
    run: echo one > notes.md; echo 'Dates agree with the tags.'
    artifacts: [notes.md]
  - id: ok
    ask: 'Publish the notes?'
  - id: send
    run: echo sent >> did.txt
`;

test("an approval is three taps from the link, whatever stands above the answers", async () => {
  const stage = await Stage.open();
  stage.write("long.txt", "");
  const run = await stage.run(ASKS.replace("echo one", "seq 1 200"));
  await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  let taps = 0;
  const tap = async (locator) => {
    await locator.waitFor();
    // A scroll by hand is not a tap; the tap on the button that scrolls there is one.
    taps += 1;
    await locator.tap();
  };
  const card = page.getByRole("link", { name: /Publish the notes/ });
  await card.getByText("1 file changed").waitFor();
  assert.match(await card.innerText(), /Notes of the release/, "of which flow, for people who know nothing of flows");
  await tap(card);
  await tap(page.getByText("Approve", { exact: true }));
  await tap(page.getByRole("button", { name: "Send: Approve" }));
  await page.getByText(/by ann at/).waitFor();
  assert.equal(taps, 3);
  await stage.until(run, "succeeded");
  await page.goto(`${stage.url}/#/inbox`);
  await page.getByText(/The last question was closed .* by ann/).waitFor();
  await person.accessible(page);
  await page.getByRole("link", { name: "closed" }).tap();
  await page.getByText("Approve by ann").waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("on a phone the way to the answer is in reach until the answers are seen", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS.replace("echo one", "seq 1 200"));
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  await page.getByRole("button", { name: "To the answer" }).waitFor();
  const before = await height();
  await page.getByRole("button", { name: "To the answer" }).tap();
  await page.getByRole("button", { name: "To the answer" }).waitFor({ state: "detached" });
  assert.equal(await height(), before, "nothing moves below a finger when the way is not needed any more");
  const box = await page.getByText("Approve", { exact: true }).boundingBox();
  assert(box.y >= 0 && box.y < PHONE.viewport.height, JSON.stringify(box));
  await person.done();
  await stage.close();
});

test("nothing above the answers moves once they are there: what a finger is over is what it taps", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/questions\?run=/, async (route) => (await held, route.continue()));
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("the run", { exact: true }).waitFor();
  await page.getByText("Asking the server").waitFor();
  assert.equal(await page.getByText("Approve", { exact: true }).count(), 0, "the answers came before what stands above them");
  // The only file is open by itself.
  let releaseFile;
  const heldFile = new Promise((resolve) => (releaseFile = resolve));
  await page.route(/\/contents\//, async (route) => (await heldFile, route.continue()));
  release();
  await page.getByText("notes.md").first().waitFor();
  await page.getByText("Asking the server").waitFor();
  assert.equal(await page.getByText("Approve", { exact: true }).count(), 0, "the answers came before the file above them");
  releaseFile();
  await page.getByText("Approve", { exact: true }).waitFor();
  assert.equal(await page.getByText("Asking the server").count(), 0);
  await page.getByRole("main").getByText("one", { exact: true }).first().waitFor();
  await page.getByText("Approve", { exact: true }).tap();
  await page.getByRole("button", { name: "Send: Approve" }).tap();
  await page.getByText(/Approve, by/).waitFor();
  await stage.until(run, "succeeded");
  await person.done();
  await stage.close();
});

test("the answers come after a picture above them", async () => {
  const stage = await Stage.open();
  const run = await stage.run(`flow: draws\nsteps:\n  - id: draw\n    run: printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="400"/>' > plan.svg\n    artifacts: [plan.svg]\n  - id: ok\n    ask: 'Build it?'\n`);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: /Build it/ }).waitFor();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  let asked = 0;
  // First it is looked at as a file, then as a picture.
  await page.route(/\/contents\//, async (route) => {
    asked += 1;
    if (asked > 1) await held;
    await route.continue();
  });
  await page.goto(`${stage.url}/#/q/${question}`);
  await eventually("the picture", () => asked === 2);
  await page.getByText("Asking the server").waitFor();
  assert.equal(await page.getByText("Approve", { exact: true }).count(), 0, "the answers came before the picture above them");
  release();
  await page.getByText("Approve", { exact: true }).waitFor();
  assert(await page.getByRole("img").evaluate((picture) => picture.complete && picture.naturalHeight === 400));
  await person.done();
  await stage.close();
});

test("with the keyboard alone, from the link to the answer", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
  const until = async (wanted, key = "Tab") => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press(key);
      if (wanted.test(await focused())) return;
    }
    assert.fail(`${wanted} cannot be reached with ${key}`);
  };
  await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "To the content", "the first stop leaves out what is on every screen");
  await page.keyboard.press("Enter");
  await until(/Publish the notes/);
  await page.keyboard.press("Enter");
  await page.getByRole("radio").first().waitFor();
  const radio = page.getByRole("radio", { name: /Approve/ });
  for (let presses = 0; presses < 60 && !(await radio.evaluate((each) => each === document.activeElement)); presses += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  assert(await radio.isChecked());
  // Letters are keys outside of fields only, and none of them answers.
  await page.keyboard.press("a");
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "waiting");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/Approve, by/).waitFor();
  await stage.until(run, "succeeded");
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  // A person who uses speech input, or makes typing errors, can switch letters off.
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Help" }).waitFor();
  await page.getByLabel("Single letters are keys").uncheck();
  await page.getByRole("radio", { name: "dark", exact: true }).check();
  await page.reload();
  await page.getByRole("heading", { name: "Help" }).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark");
  await page.getByRole("heading", { name: "Help" }).click();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  assert.equal(new URL(page.url()).hash, "#/keys");
  await person.accessible(page);
  await person.done();
  await stage.close();
});

const KEYS = `
flow: keys
steps:
  - id: one
    run: 'if [ -e notes.md ]; then seq 1 60 | sed "s/^5$/five/; s/^50$/fifty/" > notes.md; else seq 1 60 > notes.md; fi; cat notes.md'
    artifacts: [notes.md]
  - id: each
    for_each: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
    run: test \${{ item }} != c; test \${{ item }} != f
    continue_on_error: true
  - id: ok
    ask: 'Go on?'
    routing: { loop_to: one }
`;

test("each key does what the help says, and none answers", async () => {
  const stage = await Stage.open();
  const run = await stage.run(KEYS);
  const { question } = await stage.question(run);
  await stage.ask("POST", `questions/${question}/answer`, { choice: "again" });
  const second = await eventually("the next round", async () => (await stage.ask("GET", `questions?run=${run}`)).questions[0]);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: /Go on/ }).waitFor();
  const hash = () => new URL(page.url()).hash;
  const focused = () => page.evaluate(() => document.activeElement?.id ?? "");
  const active = () => page.locator(".line.active .name").innerText().then((text) => text.replaceAll(/\s+/g, " ").trim());
  const rows = () => page.locator(".line[role=row]").count();
  const open = async (address) => {
    await page.goto(`${stage.url}/#/${address}`);
    await page.getByRole("main").locator("h1").waitFor();
  };
  /** Presses keys, one after the other, until the last one has done what is said. */
  const press = async (keys, what, holds) => {
    for (const key of keys.split(" ")) await page.keyboard.press(key === "Space" ? " " : key);
    await eventually(`${keys}: ${what}`, holds);
  };
  await open(`r/${run}`);
  const grid = page.getByRole("treegrid");
  await grid.focus();
  await press("Home j", "the second row", async () => (await active()) !== "" && (await page.locator(".line").nth(2).getAttribute("class")).includes("active"));
  await press("k", "the first one", async () => (await page.locator(".line[role=row]").first().getAttribute("class")).includes("active"));
  // The loop, with its rounds, is the first row.
  const before = await rows();
  await press("ArrowLeft", "folded", async () => (await rows()) < before);
  await press("ArrowRight", "unfolded", async () => (await rows()) === before);
  await press("Space", "folded", async () => (await rows()) < before);
  await press("Space", "unfolded", async () => (await rows()) === before);
  await press("e e", "the next failure", async () => /failed/.test(await active()));
  const failure = await active();
  await press("e", "another one", async () => (await active()) !== failure);
  await press("E", "the one before", async () => (await active()) === failure);
  await press("f", "the newest row", async () => /ok/.test(await active()));
  await press(".", "what can be done", async () => (await focused()) === "actions");
  await press("/", "the filter of the steps", async () => (await focused()) === "filter");
  await page.keyboard.type("c");
  await press("Escape", "out of the field", async () => (await focused()) === "");
  for (const [key, part] of [["w", "/why"], ["d", "/files"], ["c", "/cost"], ["m", "/map"], ["s", ""]]) await press(key, part, () => hash() === `#/r/${run}${part}`);
  // Two keys in a row also where the second one alone does something.
  for (const [keys, to] of [["g f", "#/flows"], ["g r", "#/runs"], ["g i", "#/inbox"]]) {
    await open(`r/${run}`);
    await grid.focus();
    await press(keys, to, () => hash() === to);
  }
  await press("?", "the help", () => hash() === "#/keys");
  await open("runs");
  // The heading that `open` waits for may be that of the screen before.
  await page.locator("#filter").waitFor();
  await press("/", "the filter", async () => (await focused()) === "filter");
  await open(`r/${run}/at/one.1`);
  await page.getByRole("link", { name: "the next visit" }).waitFor();
  await press("]", "the next visit", () => hash() === `#/r/${run}/at/one.2`);
  await page.getByRole("link", { name: "the visit before" }).waitFor();
  await press("[", "the visit before", () => hash() === `#/r/${run}/at/one.1`);
  await page.locator(".output").waitFor();
  await press("l", "its output", async () => (await focused()) === "output");
  await press("Escape", "closed", () => hash() === `#/r/${run}`);
  await press("Escape", "the list", () => hash() === "#/runs");
  // The answer, from change to change; with a choice made, no key sends it but Ctrl+Enter.
  await open(`q/${second.question}`);
  await page.getByRole("button", { name: "what differs" }).click();
  await page.getByRole("row").filter({ hasText: "fifty" }).waitFor();
  const line = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await press("n", "the first change", async () => /5$/.test(await line()));
  await press("n", "the next one", async () => /50$/.test(await line()));
  await press("p", "the one before", async () => /removed−5$/.test(await line()));
  await page.getByText("Approve", { exact: true }).click();
  await page.getByRole("button", { name: "Send: Approve" }).waitFor();
  for (const letter of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./[]") {
    await page.keyboard.press(letter);
    if (hash() !== `#/q/${second.question}`) await open(`q/${second.question}`);
  }
  await person.accessible(page);
  assert.deepEqual(person.asked.filter((url) => /\/(answer|cancel|resume|fork)$/.test(url)), [], "no single key answers");
  await page.getByLabel("In words").focus();
  await page.keyboard.press("Control+Enter");
  await stage.until(run, "succeeded");
  await person.done();
  await stage.close();
});

test("two have to approve: the first one is told so, and the second one sees the first", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS.replace("ask: 'Publish the notes?'", "ask: { message: 'Publish the notes?', quorum: 2 }"));
  const { question } = await stage.question(run);
  for (const [name, seen, then] of [["ann", "So far: nobody.", /1 person of 2 approved/], ["bob", "So far: ann.", /Approve, by bob/]]) {
    const person = await Person.at(stage, PHONE);
    const page = await person.tab(stage.link("--for", name, "--scope", "answer"));
    await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByText(seen, { exact: false }).waitFor();
    await page.getByText("Approve", { exact: true }).tap();
    await page.getByRole("button", { name: "Send: Approve" }).tap();
    await page.getByText(then).waitFor();
    await person.accessible(page);
    await person.done();
  }
  await stage.until(run, "succeeded");
  await stage.close();
});

test("where nobody knows how an attempt ended, what is known is said, and a person decides", async () => {
  const stage = await Stage.open();
  // Its supervisor is ended once it has kept what the command has written.
  const run = await stage.run("flow: deploys\ntitle: Deployment\nsteps:\n  - id: migrate\n    run: |\n      if [ -e begun ]; then echo again; exit 0; fi\n      touch begun; echo ALTER \"TABLE\" users\n      while ! grep -rq 'ALTER TABLE[ ]users' .envoi/runs; do sleep 0.05; done\n      kill -9 $PPID; sleep 600\n    on_in_doubt: ask\n");
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByRole("heading", { name: "In doubt" }).waitFor();
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("link", { name: "Decide: migrate.1" }).click();
  await page.getByText("the end of its output").waitFor();
  await page.getByText("ALTER TABLE users").waitFor();
  assert.equal(new URL(page.url()).hash, `#/q/${question}`);
  await person.accessible(page);
  await page.getByText("Run it again", { exact: true }).click();
  await page.getByRole("button", { name: "Send: Run it again" }).click();
  await page.getByText(/Run it again, by/).waitFor();
  await stage.until(run, "succeeded");
  await person.done();
  await stage.close();
});

test("a file comes with the answer", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  await page.getByLabel("Files").setInputFiles([{ name: "tags <b>.txt", mimeType: "text/plain", buffer: Buffer.from("0.9\n") }, { name: "more.txt", mimeType: "text/plain", buffer: Buffer.from("x") }]);
  await page.getByRole("listitem").filter({ hasText: "more.txt" }).getByRole("button", { name: "remove" }).click();
  // While a file is on its way no answer goes without it, and what is removed meanwhile stays so.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/\/artifacts$/, async (route) => (await held, route.continue()));
  await page.getByLabel("Files").setInputFiles([{ name: "late.txt", mimeType: "text/plain", buffer: Buffer.from("late") }]);
  await page.getByText("Sending late.txt", { exact: false }).waitFor();
  assert(await page.getByRole("button", { name: "Send: Approve" }).isDisabled());
  await page.getByRole("listitem").filter({ hasText: "tags <b>.txt" }).getByRole("button", { name: "remove" }).click();
  release();
  await page.getByRole("listitem").filter({ hasText: "late.txt" }).waitFor();
  assert.equal(await page.getByRole("listitem").filter({ hasText: "tags <b>.txt" }).count(), 0);
  await page.getByLabel("Files").setInputFiles([{ name: "tags <b>.txt", mimeType: "text/plain", buffer: Buffer.from("0.9\n") }]);
  await page.getByRole("listitem").filter({ hasText: "tags <b>.txt" }).waitFor();
  await person.accessible(page);
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText(/Approve, by/).waitFor();
  const { given } = await stage.ask("GET", `questions/${question}`);
  assert.deepEqual(given.attachments.map(({ filename, size }) => [filename, size]), [["late.txt", 4], ["tags <b>.txt", 4]]);
  await person.done();
  await stage.close();
});

test("what is another tenant's is not there", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const made = stage.envoi("token", "create", "eve", "--scope", "admin", "--tenant", "north", "--json");
  const { token } = JSON.parse(made.out);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 404/);
  const page = await person.tab(`${stage.url}/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Nothing waits for you.").waitFor();
  for (const [address, heading] of [[`q/${question}`, "No such question"], [`r/${run}`, "No such run"], [`r/${run}/at/draft.1`, "No such run"], ["flows/asks", "No such flow"]]) {
    await page.goto(`${stage.url}/#/${address}`);
    await page.getByRole("heading", { name: heading }).waitFor();
  }
  await page.goto(`${stage.url}/#/runs`);
  await page.getByText("There is no run yet.", { exact: false }).waitFor();
  await person.done();
  await stage.close();
});
