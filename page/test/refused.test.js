// Refusals of the server: later, too large, invalid. The page shows them at the field, waits as long as required, and loses nothing.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
steps:
  - id: ok
    ask: 'Publish the notes?'
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
        required: [name, count]
        properties:
          name: { type: string, title: Your name, maxLength: 20 }
          count: { type: integer, minimum: 1 }
`;

const PROBLEM = (status, code) => JSON.stringify({ type: `urn:envoi:error:${code}`, title: code, status, detail: "busy", code, hint: null, request_id: "req_1" });

test("a server that is busy is left alone as long as it says, and counts down meanwhile: one answer", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, PHONE);
  person.allowed.push(/Failed to load resource/);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByText("Nothing waits for you.").waitFor();
  // 429 from the server itself, 503 from a proxy that knows no more than when to come back, as a date.
  // Long enough that the words can be read before it is sent again.
  for (const [status, after] of [[429, () => "7"], [503, () => new Date(Date.now() + 7000).toUTCString()]]) {
    const run = await stage.run(ASKS);
    const { question } = await stage.question(run);
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByText("Approve", { exact: true }).tap();
    await page.getByLabel("In words").fill("read twice");
    const keys = [];
    await page.route(/\/answer$/, async (route) => {
      keys.push(route.request().headers()["idempotency-key"]);
      if (keys.length > 1) return route.continue();
      await route.fulfill({ status, headers: { "retry-after": after(), "content-type": "application/problem+json" }, body: status === 429 ? PROBLEM(429, "TOO_MANY_REQUESTS") : "<html>later</html>" });
    });
    await page.getByRole("button", { name: "Send: Approve" }).tap();
    const waits = page.getByText("The server is busy, and nothing is recorded so far.", { exact: false });
    await waits.waitFor();
    assert.match(await waits.innerText(), /In \d s\.|Now\./);
    await person.accessible(page);
    await person.shot(page, "busy-phone");
    await page.getByText(/Approve, by ann at/).waitFor();
    await stage.until(run, "succeeded");
    assert.deepEqual([(await stage.answers(run)).length, keys.length, new Set(keys).size], [1, 2, 1], "sent twice under one key");
    assert.equal(await waits.count(), 0);
    await page.unroute(/\/answer$/);
  }
  await person.done();
  await stage.close();
});

test("a screen that the server refuses for now says when it asks again, and does", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  person.allowed.push(/Failed to load resource/);
  const run = await stage.run(ASKS);
  await stage.question(run);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  // With and without a word about when.
  for (const headers of [{ "retry-after": "3" }, {}]) {
    let asked = 0;
    let isBusy = true;
    await page.route(/\/v1\/runs\/[^/]*$/, (route) => {
      asked += 1;
      return isBusy ? route.fulfill({ status: 503, headers: { ...headers, "content-type": "application/problem+json" }, body: PROBLEM(503, "ENGINE_STOPPING") }) : route.continue();
    });
    await page.goto(`${stage.url}/#/r/${run}`);
    const waits = page.getByText("The page asks again by itself.", { exact: false });
    await waits.waitFor();
    assert.match(await waits.innerText(), /In \d s\.|Now\./);
    await person.accessible(page);
    isBusy = false;
    await page.getByRole("link", { name: /Answer: ok/ }).waitFor();
    assert.equal(await waits.count(), 0);
    assert(asked > 1);
    await page.unroute(/\/v1\/runs\/[^/]*$/);
    await page.goto(`${stage.url}/#/inbox`);
    await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  }
  await person.done();
  await stage.close();
});

test("what is too large is said at its field: a file, words; the rest is taken", async () => {
  const stage = await Stage.open({ config: "" });
  await stage.kill();
  stage.write(".envoi/config.yaml", "server:\n  limits: { body: 20000, artifact: 100000 }\n");
  await stage.restart();
  const folder = mkdtempSync(join(tmpdir(), "envoi-files-"));
  for (const [name, bytes] of [["small.txt", 10], ["large.bin", 200_000], ["huge.bin", 30_000_000]]) writeFileSync(join(folder, name), Buffer.alloc(bytes, 97));
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 413|ERR_CONNECTION/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  // Also what the server does not read to its end; those that come after it are sent.
  await page.getByLabel("Files").setInputFiles(["huge.bin", "large.bin", "small.txt"].map((name) => join(folder, name)));
  await page.getByRole("listitem").filter({ hasText: "small.txt" }).waitFor();
  await page.getByText(/large\.bin \(195\.3 KiB\) was not taken\. It is too large for the server: the body is over 100000 bytes\./).waitFor();
  await page.getByText(/huge\.bin \(28\.6 MiB\) was not taken\. It is too large for the server: the body is over 100000 bytes\./).waitFor();
  await person.accessible(page);
  await page.getByLabel("In words").fill("long ".repeat(5000));
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText("This is too long for the server: the body is over 20000 bytes.").waitFor();
  await page.getByText("Your answer was not recorded.", { exact: false }).waitFor();
  await eventually("the field has the focus", () => page.evaluate(() => document.activeElement?.id === "words"));
  await person.accessible(page);
  await person.shot(page, "too-long");
  assert.equal((await page.getByLabel("In words").inputValue()).length, 25_000, "nothing that was typed is lost");
  await page.getByLabel("In words").fill("short");
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText(/Approve, by/).waitFor();
  const { given } = await stage.ask("GET", `questions/${question}`);
  assert.deepEqual([given.text, given.attachments.map(({ filename }) => filename)], ["short", ["small.txt"]]);
  rmSync(folder, { recursive: true });
  await person.done();
  await stage.close();
});

test("what only the server knows to be wrong is said at its field: of an answer, and of the inputs of a run", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FORM);
  const { question } = await stage.question(run);
  const { digest } = await stage.ask("POST", "flows", "flow: takes\ninputs:\n  count: { type: integer, minimum: 2 }\n  env: { type: string, maxLength: 3 }\nsteps:\n  - id: one\n    run: echo $ENVOI_INPUT_COUNT\n");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 422/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Answer", { exact: true }).click();
  await page.getByLabel("Your name").fill("somebody with a very long name");
  await page.getByLabel("count").fill("0");
  await page.getByRole("button", { name: "Send: Answer" }).click();
  await page.locator("#field-count-wrong", { hasText: "0 is less than the minimum of 1." }).waitFor();
  await page.locator("#field-name-wrong", { hasText: "is longer than 20 characters." }).waitFor();
  await page.getByText("Your answer was not recorded. What is wrong stands at its field", { exact: false }).waitFor();
  await eventually("a field has the focus", () => page.evaluate(() => /^field-/.test(document.activeElement?.id ?? "")));
  await person.accessible(page);
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("count").fill("1");
  await page.getByRole("button", { name: "Send: Answer" }).click();
  await page.getByText(/Answer, by/).waitFor();
  await page.goto(`${stage.url}/#/start/${encodeURIComponent(digest)}`);
  await page.getByLabel("count").fill("1");
  await page.getByLabel("env").fill("long");
  await page.getByRole("button", { name: "Start takes" }).click();
  await page.locator("#field-count-wrong", { hasText: "1 is less than the minimum of 2." }).waitFor();
  await page.locator("#field-env-wrong", { hasText: "is longer than 3 characters." }).waitFor();
  await page.getByText("No run has begun.", { exact: false }).waitFor();
  await person.accessible(page);
  await page.getByLabel("count").fill("2");
  await page.getByLabel("env").fill("env");
  await page.getByRole("button", { name: "Start takes" }).click();
  await page.getByText("succeeded").first().waitFor();
  await person.done();
  await stage.close();
});

test("what a session may not do is said with the scope that is missing, and how to get it", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  await stage.question(run);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 403/);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  // The page is of the time before ann could do less: it believes that she may still do all.
  await page.route(/\/v1\/token$/, async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), scopes: ["admin"] } }));
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.reload();
  await page.getByRole("button", { name: "Cancel …" }).click();
  await page.getByRole("button", { name: "Cancel this run" }).click();
  await page.getByText("envoi page --for ann --scope run", { exact: true }).waitFor();
  await page.getByText("SCOPE_TOO_SMALL", { exact: true }).waitFor();
  await page.getByText(/request req_[0-9a-z]+/).waitFor();
  await person.accessible(page);
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "waiting");
  await person.done();
  await stage.close();
});

test("who answers second is told who was first, and one answer counts", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const people = [];
  for (const name of ["ann", "bob"]) {
    const person = await Person.at(stage, PHONE);
    person.allowed.push(/status of 409/);
    const page = await person.tab(stage.link("--for", name, "--scope", "answer"));
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByText("Approve", { exact: true }).tap();
    people.push([person, page]);
  }
  const [[ann, hers], [bob, his]] = people;
  // Bob's page gets no events.
  await his.route(/\/v1\/(stream|questions\/[^/]*)$/, (route) => route.abort());
  bob.allowed.push(/Failed to load resource/);
  await hers.getByRole("button", { name: "Send: Approve" }).tap();
  await hers.getByText(/Approve, by ann/).waitFor();
  await his.getByText("Deny", { exact: true }).tap();
  await his.getByLabel("In words").fill("not yet");
  await his.getByRole("button", { name: "Send: Deny" }).tap();
  await his.getByText(/was answered .*approve by ann/).waitFor();
  await his.getByText("Your answer was not recorded.", { exact: false }).waitFor();
  await bob.accessible(his);
  assert.equal((await stage.answers(run)).length, 1);
  // Once it is known to be closed, that stays beside what ann has answered.
  await his.unroute(/\/v1\/(stream|questions\/[^/]*)$/);
  await his.getByText(/Approve, by ann at/).waitFor();
  await his.getByText(/Your answer was not recorded: .* was answered .*approve by ann/).waitFor();
  await bob.accessible(his);
  await ann.done();
  await bob.done();
  await stage.close();
});

test("a file whose content is gone says so, and keeps its digest and its size", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: makes\nsteps:\n  - id: make\n    run: seq 1 2000 > old.txt\n    artifacts: [old.txt]\n  - id: ok\n    ask: 'Fine?'\n");
  const { question } = await stage.question(run);
  const [{ after_digest: after }] = (await stage.ask("GET", `questions/${question}`)).files;
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 404/);
  const page = await person.tab(stage.link());
  await page.route(/\/contents\//, (route) => route.fulfill({ status: 404, contentType: "application/problem+json", body: PROBLEM(404, "CONTENT_NOT_FOUND") }));
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText(`The store does not have its content any more: 8.7 KiB, ${after}`).waitFor();
  await page.getByRole("button", { name: "download", exact: true }).click();
  await page.getByText("The store does not have its content any more.", { exact: true }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});
