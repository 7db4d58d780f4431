// Questions: the link, the inbox, the form, the answer.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const APPROVAL = `
flow: publish
title: Notes of the release
steps:
  - id: draft
    run: printf 'one\\ntwo\\n' > notes.md; echo 'Two lines, dates agree with the tags.'
    artifacts: [notes.md]
  - id: ok
    ask: 'Publish the notes?'
  - id: send
    run: echo sent >> did.txt
`;

const FORM = `
flow: form
steps:
  - id: details
    ask:
      message: Fill this in.
      kind: clarification
      schema:
        type: object
        required: [name, count, level]
        properties:
          name: { type: string, title: Your name, maxLength: 20 }
          count: { type: integer, minimum: 1, description: How many }
          level: { enum: [low, high] }
          day: { type: string, format: date }
          sure: { type: boolean }
          tags: { type: array, items: { type: string } }
          more: { type: object }
`;

test("an approval on a phone: the link, the question, the choice, the answer", async () => {
  const stage = await Stage.open();
  const run = await stage.run(APPROVAL);
  await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByRole("link", { name: "Publish the notes?" }).waitFor();
  assert.equal(new URL(page.url()).hash, "#/inbox", "the code stands in the address no more");
  assert.match(await page.title(), /^\(1\) Envoi$/);
  await person.accessible(page);
  await person.shot(page, "inbox-phone");
  await page.getByRole("link", { name: "Publish the notes?" }).tap();
  await page.locator(".markdown", { hasText: "two" }).waitFor();
  await page.getByRole("button", { name: "what differs" }).tap();
  await page.getByRole("row").filter({ hasText: "two" }).waitFor();
  assert.match(await page.getByRole("main").innerText(), /goes on with step `send`/);
  await person.accessible(page);
  await person.shot(page, "question-phone");
  const send = page.getByRole("button", { name: /Choose first|Send/ });
  assert(await send.isDisabled(), "nothing is chosen for anybody");
  const box = await page.locator("label.choice").first().boundingBox();
  assert(box.height >= 44, "a choice is as large as a thumb");
  await page.getByText("Approve", { exact: true }).tap();
  await page.getByRole("button", { name: "Send: Approve" }).tap();
  await page.getByText(/by ann at/).waitFor();
  await person.shot(page, "answered-phone");
  await stage.until(run, "succeeded");
  const [row] = (await stage.ask("GET", `questions?run=${run}&closed=true`)).questions;
  assert.deepEqual([row.answer, row.answered_by], ["approve", "ann"]);
  await page.getByRole("link", { name: "Other questions" }).tap();
  await page.getByText("Nothing waits for you.").waitFor();
  await person.done();
  await stage.close();
});

test("a question in Markdown is shown as it is meant, and still as words of the flow", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: marked\ntitle: Notes\nsteps:\n  - id: ok\n    ask: |\n      **Publish the notes?**\n\n      Two files:\n      - `notes.md`\n      - *.txt, see [the list](https://example.org/list)\n");
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  const card = page.getByRole("link", { name: /Publish the notes/ });
  assert.equal(await card.locator(".first").innerText(), "Publish the notes?");
  await page.goto(`${stage.url}/#/q/${question}`);
  const words = page.locator("figure.words", { hasText: "The flow asks" });
  await words.locator("strong", { hasText: "Publish the notes?" }).waitFor();
  assert.deepEqual(await words.locator("li").allInnerTexts(), ["notes.md", "*.txt, see the list (example.org)"]);
  assert.doesNotMatch(await words.innerText(), /\*\*|`/);
  await person.accessible(page);
  await person.shot(page, "question-marked");
  await person.done();
  await stage.close();
});

test("a form: what is wrong is said at its field, and what was typed stays", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FORM);
  const { question } = await stage.question(run);
  const person = await Person.at(stage);
  person.allowed.push(/status of 422/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  const send = page.getByRole("button", { name: "Send: Answer" });
  await page.getByText("Answer", { exact: true }).click();
  await send.waitFor();
  const labels = await page.locator(".field > label:not(.option), .field > legend").allInnerTexts();
  assert.deepEqual(labels.map((label) => label.split(" (")[0]), ["Your name", "count", "level", "day", "sure", "tags", "more", "In words", "Files"], "in the order of the flow file");
  await person.accessible(page);
  await person.shot(page, "form-desk");
  await send.click();
  assert.equal(await page.getByText("This has to be filled in.").count(), 3);
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("count").fill("1.5");
  await page.getByLabel("high").check();
  await send.click();
  await page.getByText("This is not a whole number.").waitFor();
  await person.accessible(page);
  // A mistake that only the server finds is shown when it has refused; nothing is lost, also not by a reload.
  await page.getByLabel("count").fill("0");
  await page.getByLabel("day").fill("2026-11-24");
  await page.getByLabel("yes").check();
  await page.getByLabel("tags").fill("a\nb\n");
  await page.getByLabel("more").fill('{"x": [1]}');
  await page.getByLabel("In words").fill("in haste");
  await send.click();
  await page.getByText("Your answer was not recorded.", { exact: false }).waitFor();
  await page.reload();
  await page.getByLabel("count").waitFor();
  assert.equal(await page.getByLabel("In words").inputValue(), "in haste");
  await page.getByLabel("count").fill("3");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/Answer, by/).waitFor();
  await stage.until(run, "succeeded");
  const { given } = await stage.ask("GET", `questions/${question}`);
  assert.deepEqual(given.data, { name: "Ann", count: 3, level: "high", day: "2026-11-24", sure: true, tags: ["a", "b"], more: { x: [1] } });
  assert.equal(given.text, "in haste");
  await person.done();
  await stage.close();
});

test("what changes while it is read is not approved unseen", async () => {
  const stage = await Stage.open();
  const run = await stage.run(APPROVAL);
  const { question } = await stage.question(run);
  const person = await Person.at(stage);
  person.allowed.push(/status of 409/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  await page.getByLabel("In words").fill("looks fine");
  stage.write("notes.md", "another thing\n");
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText("What you looked at has changed", { exact: false }).waitFor();
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "waiting");
  await page.getByRole("link", { name: "Look at it as it is now" }).click();
  // The differences from the version that was seen, and not from the one before the run.
  await page.getByText("It was asked before,", { exact: false }).waitFor();
  await page.getByRole("button", { name: "what differs" }).click();
  const lines = async () => (await page.locator(".diff").getByRole("row").allInnerTexts()).map((line) => line.replaceAll(/\s+/g, " ").trim());
  await page.getByText("another thing").waitFor();
  assert.match((await lines()).join("|"), /− one.*− two.*\+ another thing/);
  await page.getByRole("button", { name: "since the run began" }).click();
  await page.getByRole("button", { name: "what differs" }).click();
  await page.getByText("another thing").waitFor();
  assert.doesNotMatch((await lines()).join("|"), /two/);
  await person.accessible(page);
  assert(await page.getByRole("button", { name: "Choose first" }).isDisabled(), "what was chosen for another thing is not chosen for this one");
  assert.equal(await page.getByLabel("In words").count(), 0);
  await page.getByText("Approve", { exact: true }).click();
  assert.equal(await page.getByLabel("In words").inputValue(), "looks fine");
  await person.done();
  await stage.close();
});

const ROUNDS = `
flow: rounds
steps:
  - id: draft
    run: 'if [ -e notes.md ]; then printf "one\\ntwo\\nthree\\n" > notes.md; echo new > more.md; else printf "one\\ntwo\\n" > notes.md; echo old > same.md; fi'
    artifacts: ['*.md']
  - id: ok
    ask: 'Publish the notes?'
    routing: { loop_to: draft, max_iterations: 3 }
`;

test("in a further round, what changed since the last one is shown, and what was answered then", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ROUNDS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByRole("heading", { name: "What changed", exact: true }).waitFor();
  assert.equal(await page.getByText("It was asked before,", { exact: false }).count(), 0);
  await page.getByText("Once more", { exact: true }).tap();
  await page.getByLabel("In words").fill("a third line, please");
  await page.getByRole("button", { name: "Send: Once more" }).tap();
  await page.getByText(/Once more, by ann/).waitFor();
  const next = await eventually("the next round", async () => (await stage.ask("GET", `questions?run=${run}`)).questions.find((each) => each.question !== question));
  await page.goto(`${stage.url}/#/q/${next.question}`);
  await page.getByRole("heading", { name: "What changed since then" }).waitFor();
  await page.getByText("a third line, please").waitFor();
  const files = () => page.locator(".files > li > button").allInnerTexts();
  assert.deepEqual((await files()).map((file) => /(\w+\.md)\s+(\w+)/.exec(file)?.slice(1)), [["more.md", "new"], ["notes.md", "changed"]], "what has not changed since is not listed");
  await page.getByRole("button", { name: /notes\.md/ }).tap();
  await page.getByRole("button", { name: "what differs" }).tap();
  await page.getByRole("row").filter({ hasText: "three" }).waitFor();
  assert.match(await page.getByRole("button", { name: /notes\.md/ }).innerText(), /\+1 −0/);
  await person.accessible(page);
  await person.shot(page, "round-phone");
  await page.getByRole("button", { name: "since the run began" }).tap();
  await page.getByRole("heading", { name: "What changed", exact: true }).waitFor();
  assert.equal((await files()).length, 3);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("items in conflict are said with their files, in words", async () => {
  const stage = await Stage.open();
  const { digest } = await stage.ask("POST", "flows", "flow: edits\ntitle: Two edits\nworkspace: { isolate: tree }\nsteps:\n  - id: base\n    run: seq 1 3 > notes.md; echo old > gone.md\n    artifacts: ['*.md']\n  - id: edit\n    for_each: ['alpha', 'beta']\n    isolate: true\n    run: sed -i \"s/2/${{ item }}/\" notes.md\n  - id: done\n    run: cat notes.md\n");
  const { run } = await stage.ask("POST", "runs", { flow: digest });
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.getByText("Items of a step have changed the same lines", { exact: true }).waitFor();
  // The only conflict is open by itself: the answers come after what it shows.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/\/contents\//, async (route) => (await held, route.continue()));
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByRole("heading", { name: "What is in conflict" }).waitFor();
  await page.getByText("Item 1, notes.md: both have changed the same lines").waitFor();
  await page.getByRole("heading", { name: "What changed" }).waitFor();
  assert.equal(await page.locator(".choice").count(), 0, "the answers came before the conflict above them");
  release();
  assert.match(await page.locator(".choice", { hasText: "Take theirs" }).innerText(), /those of the items are taken; no item is done again/);
  assert.match(await page.locator(".choice", { hasText: "Once more" }).innerText(), /these items are done again/);
  const words = await page.getByRole("main").innerText();
  assert.deepEqual([words.split("item 1: conflict in").length - 1, / 1 files?/.exec(words)?.[0]], [1, " 1 file"], "each conflict is named once");
  assert.equal(await page.getByText("attempts/edit.1.1").count(), 0, "where the machine keeps the files is of no use here");
  assert.doesNotMatch(await page.getByRole("main").innerText(), /[{[]\s*"/, "no JSON for who has to decide");
  await person.accessible(page);
  await person.shot(page, "conflict");
  const between = page.getByRole("table", { name: "what has changed" });
  await between.waitFor();
  assert.deepEqual((await between.getByRole("row").allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim()), ["1", "removed − alpha", "added + beta", "3"]);
  // The file is written on the page, and a marker that is left is said before anything is sent.
  await page.getByText("Use edited files", { exact: true }).tap();
  const text = page.getByLabel("notes.md", { exact: true });
  assert.equal(await text.inputValue(), "1\n<<<<<<< ours\nalpha\n=======\nbeta\n>>>>>>> item 1\n3\n");
  await text.fill("1\nalpha\n>>>>>>> item 1\n3\n");
  await page.getByRole("button", { name: "Send: Use edited files" }).tap();
  await page.getByText("A marker is left", { exact: false }).waitFor();
  assert.equal((await stage.answers(run)).length, 0);
  await person.accessible(page);
  await person.shot(page, "conflict-edit");
  // It is kept until it is sent, and at once: also if the tab is gone before its next frame.
  const isKept = await text.evaluate(async (field) => {
    field.value = "1\nalpha and beta\n3\n";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    // Between these there is no frame.
    for (let turn = 0; turn < 20; turn += 1) await undefined;
    return Object.values(sessionStorage).some((each) => each.includes("alpha and beta"));
  });
  assert(isKept, "what was typed is kept before the next frame");
  await page.reload();
  assert.equal(await text.inputValue(), "1\nalpha and beta\n3\n");
  await page.getByRole("button", { name: "Send: Use edited files" }).tap();
  await page.getByText(/Use edited files, by/).waitFor();
  await stage.until(run, "succeeded");
  assert.equal((await stage.ask("GET", `runs/${run}/handoffs/done.1`)).summary.trim(), "1\nalpha and beta\n3");
  await person.done();
  await stage.close();
});

test("several items have changed one file: all versions stand there, and a text with CRLF keeps its line ends", async () => {
  const stage = await Stage.open();
  const flow = "flow: edits\nworkspace: { isolate: tree }\nsteps:\n  - id: base\n    run: printf '1\\r\\n2\\r\\n3\\r\\n' > notes.txt; printf 'a\\nb\\n' > other.txt\n    artifacts: ['*.txt']\n  - id: edit\n    for_each: ['alpha', 'beta', 'gamma']\n    isolate: true\n    run: sed -i \"s/2/${{ item }}/\" notes.txt; sed -i \"s/b/${{ item }}/\" other.txt\n  - id: done\n    run: od -c notes.txt; cat other.txt\n";
  const { run } = await stage.ask("POST", "runs", { flow: (await stage.ask("POST", "flows", flow)).digest });
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(`${stage.link()}`);
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Item 2, other.txt: both have changed the same lines").waitFor();
  assert.equal((await page.getByRole("main").innerText()).match(/item 1: conflict in/g)?.length, 1, "each conflict is named once");
  await page.getByRole("button", { name: "Item 1, notes.txt" }).click();
  const between = page.getByRole("table", { name: "what has changed" });
  await between.waitFor();
  assert.deepEqual((await between.getByRole("row").allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim()), ["1", "removed − alpha", "added + beta", "3"], "ends of lines that both have are not said");
  await page.getByText("Use edited files", { exact: true }).click();
  const [notes, other] = [page.getByLabel("notes.txt", { exact: true }), page.getByLabel("other.txt", { exact: true })];
  assert.equal(await notes.inputValue(), "1\n<<<<<<< ours\nalpha\n======= item 1\nbeta\n======= item 2\ngamma\n>>>>>>> item 1, item 2\n3\n");
  await notes.fill("1\nall three\n3\n");
  await other.fill("a\nall\n");
  await person.accessible(page);
  await person.shot(page, "conflict-several");
  await page.getByRole("button", { name: "Send: Use edited files" }).click();
  await page.getByText(/Use edited files, by/).waitFor();
  await stage.until(run, "succeeded");
  const { summary } = await stage.ask("GET", `runs/${run}/handoffs/done.1`);
  assert.match(summary.replace(/^\d+/gm, "").replaceAll(/\s+/g, " "), /1 \\r \\n a l l t h r e e \\r \\n 3 \\r \\n a all/);
  await person.done();
  await stage.close();
});

test("a file in conflict may be deleted, and one that is no text is left to the machine", async () => {
  const stage = await Stage.open();
  const flow = (name, change) => `flow: ${name}\nworkspace: { isolate: tree }\nsteps:\n  - id: base\n    run: echo old > gone.md; printf 'a\\0b' > raw.bin\n    artifacts: ['*.md', '*.bin']\n  - id: edit\n    for_each: [0, 1]\n    isolate: true\n    run: ${change}\n  - id: done\n    run: ls\n`;
  const start = async (text) => (await stage.ask("POST", "runs", { flow: (await stage.ask("POST", "flows", text)).digest })).run;
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  const gone = await start(flow("gone", "if [ $ENVOI_ITEM = 0 ]; then echo more >> gone.md; else rm gone.md; fi"));
  await page.goto(`${stage.url}/#/q/${(await stage.question(gone)).question}`);
  await page.getByText("the others have changed it, the item has deleted it", { exact: false }).waitFor();
  await page.getByText("Use edited files", { exact: true }).click();
  await page.getByLabel("gone.md", { exact: true }).waitFor();
  await page.getByLabel("the file is deleted").check();
  await page.getByRole("button", { name: "Send: Use edited files" }).click();
  await page.getByText(/Use edited files, by/).waitFor();
  await stage.until(gone, "succeeded");
  assert.doesNotMatch((await stage.ask("GET", `runs/${gone}/handoffs/done.1`)).summary, /gone/);
  const raw = await start(flow("raw", `'printf "a\\0$ENVOI_ITEM" > raw.bin'`));
  await page.goto(`${stage.url}/#/q/${(await stage.question(raw)).question}`);
  await page.getByText("cannot be shown side by side", { exact: false }).waitFor();
  await page.getByText("Use edited files", { exact: true }).click();
  await page.getByText("Not all of these files can be edited here.", { exact: false }).waitFor();
  await person.done();
  await stage.close();
});

test("who may not answer is told why, and a session that ends leads back to where one was", async () => {
  const stage = await Stage.open();
  const run = await stage.run(APPROVAL);
  const { question } = await stage.question(run);
  const person = await Person.at(stage);
  person.allowed.push(/status of 401/);
  const page = await person.tab(stage.link("--for", "reader", "--scope", "read"));
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("this token has not the scope", { exact: false }).waitFor();
  assert(await page.getByRole("button", { name: "Choose first" }).isDisabled());
  stage.envoi("token", "revoke", "reader");
  await stage.run(APPROVAL);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await person.accessible(page);
  await page.getByLabel("Token").fill("evt_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This token is not good", { exact: false }).waitFor();
  await page.getByLabel("Token").fill(stage.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Publish the notes?").waitFor();
  assert.equal(new URL(page.url()).hash, `#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  await page.getByLabel("In words").fill("for my eyes");
  await eventually("it is kept", () => page.evaluate(() => Object.values(sessionStorage).some((each) => each.includes("for my eyes"))));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(await page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage)]), [[], []], "nothing is left for who signs in next");
  await person.done();
  await stage.close();
});

test("a link that was used, or that nobody made, says so", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 401/);
  const link = stage.link();
  const page = await person.tab(link);
  await page.getByText("Nothing waits for you.").waitFor();
  const other = await Person.at(stage, DESK);
  other.allowed.push(/status of 401/);
  const late = await other.tab(link);
  await late.getByText("This link was used already", { exact: false }).waitFor();
  assert.equal(await eventually("no code", async () => !late.url().includes("/in/")), true);
  await other.done();
  await person.done();
  await stage.close();
});
