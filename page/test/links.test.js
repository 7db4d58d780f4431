// Links that lead to what was meant: lines of an output, rounds, files, lines of a flow's text, what an error means; and what is downloaded.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const hash = (page) => decodeURIComponent(new URL(page.url()).hash.replaceAll("+", " "));

test("lines of an output are linked with the keyboard alone, and the link is said", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: talks\nsteps:\n  - id: long\n    run: seq 1 60000; echo 'the end'\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/long.1`);
  await page.getByText(/the last 64\.0 KiB of/).waitFor();
  const field = page.getByLabel("Link to lines of stdout");
  await field.focus();
  await page.keyboard.type("none");
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  await page.keyboard.press("Enter");
  assert.doesNotMatch(hash(page), /line=/, "what is no line is no link");
  await field.fill("");
  await page.keyboard.type("20000-20002");
  await page.keyboard.press("Enter");
  await page.locator(".output .ln.marked", { hasText: "20002" }).waitFor();
  assert.equal(await page.locator(".output .ln.marked").count(), 3);
  assert.match(hash(page), /at\/long\.1\?attempt=1&log=stdout&line=20000-20002$/);
  await page.getByRole("status").filter({ hasText: "lines 20000 to 20002 are in the address" }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

const LOOP = `
flow: loops
steps:
  - id: draft
    run: n=$(cat .n 2>/dev/null || echo 0); n=$((n+1)); echo $n > .n; echo "draft $n"
  - id: critic
    run: |
      if [ $(cat .n) -lt 3 ]; then echo 'Two dates are wrong. Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }
  - id: poll
    run: |
      n=$(cat .p 2>/dev/null || echo 0); n=$((n+1)); echo $n > .p; if [ $n -lt 3 ]; then echo 'Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: poll, max_iterations: 4, success_values: [VERIFIED] }
  - id: check
    for_each: \${{ range(12) | list }}
    run: echo "page \${{ item }}"; test \${{ item }} != 7
    continue_on_error: true
  - id: write
    run: printf 'one\\ntwo\\n' > a.txt; echo b > b.txt
    artifacts: [a.txt, b.txt]
`;

test("a round, what is filtered and an open file have a link, which shows the same to others", async () => {
  const stage = await Stage.open();
  const run = await stage.run(LOOP);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  // An output with nothing in it has no end that could be asked for.
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("row", { name: /sent back round 2/ }).click();
  await page.getByRole("row", { name: /draft visit 2/ }).waitFor();
  // A step that repeats itself needs no rows: each visit has its own result.
  await page.getByRole("row", { name: /loop poll 3 rounds/ }).getByRole("img", { name: "succeeded, succeeded, succeeded" }).waitFor();
  const round = page.url();
  assert.match(hash(page), /\?row=round 2 of/);
  const other = await person.tab(round);
  await other.getByRole("row", { name: /draft visit 2/ }).waitFor();
  await eventually("the round has the focus of the rows", () => other.evaluate(() => document.querySelector(".line.active")?.textContent?.includes("round 2")));
  // The filter and the words.
  await page.getByRole("button", { name: /failed/ }).click();
  await page.getByLabel("words in steps").fill("7.check");
  await page.getByRole("row", { name: /7\.check\.1/ }).waitFor();
  assert.match(hash(page), /show=failed&words=7.check/);
  await other.goto("about:blank");
  await other.goto(page.url());
  await other.getByRole("row", { name: /7\.check\.1/ }).waitFor();
  assert.equal(await other.getByRole("treegrid").getAttribute("aria-rowcount"), "1");
  await other.getByRole("row", { name: /7\.check\.1/ }).click();
  await other.getByRole("complementary", { name: "7.check.1" }).waitFor();
  assert.match(hash(other), /at\/7\.check\.1\?show=failed&words=7.check$/, "the filter stays in the address of a visit");
  // From an item to the whole above it.
  const above = other.getByRole("navigation", { name: "what it is a part of" });
  await above.getByRole("link", { name: "check.1" }).click();
  await other.getByRole("complementary", { name: "check.1", exact: true }).waitFor();
  await person.accessible(other);
  // A file.
  await page.goto(`${stage.url}/#/r/${run}/files`);
  await page.getByRole("button", { name: /a\.txt/ }).click();
  await page.getByRole("table", { name: "what has changed" }).waitFor();
  assert.match(hash(page), /files\?file=a\.txt$/);
  await other.goto(page.url());
  await other.getByRole("table", { name: "what has changed" }).waitFor();
  await page.getByRole("button", { name: /a\.txt/ }).click();
  assert.match(hash(page), /files$/);
  await person.done();
  await stage.close();
});

test("what an error code means is one step away: of a run that is set aside, of a failure, of a refusal", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: fails\nsteps:\n  - id: a\n    run: exit 3\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of (404|416|400)/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/why`);
  await page.getByRole("region", { name: "decisions" }).getByRole("link", { name: "TOOL_EXIT_NON_ZERO" }).click();
  await page.getByRole("heading", { name: "TOOL_EXIT_NON_ZERO" }).waitFor();
  await page.getByText("What to do", { exact: true }).waitFor();
  assert.equal(await page.locator(".markdown").getByText("TOOL_EXIT_NON_ZERO", { exact: true }).count(), 0, "the heading stands once");
  await person.accessible(page);
  await page.goto(`${stage.url}/#/code/MY_OWN`);
  await page.getByText("Envoi has no such code.", { exact: false }).waitFor();
  await person.accessible(page);
  // A refusal that a screen shows.
  await page.goto(`${stage.url}/#/runs?status=odd`);
  await page.getByRole("alert").getByRole("link", { name: "REQUEST_INVALID" }).click();
  await page.getByRole("heading", { name: "REQUEST_INVALID" }).waitFor();
  await person.done();
  await stage.close();
});

test("from a step of the map to its line in the text, of a flow and of a run", async () => {
  const stage = await Stage.open();
  const inner = "flow: inner\nsteps:\n  - id: deep\n    run: echo deep\n";
  const { digest } = await stage.ask("POST", "flows", { flow: "outer.yaml", files: { "outer.yaml": "flow: outer\nsteps:\n  - id: first\n    run: echo first\n  - id: both\n    flow: inner.yaml\n", "inner.yaml": inner } });
  const { run } = await stage.ask("POST", "runs", { flow: digest, workspace: "shared" });
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  for (const address of [`flows/${encodeURIComponent(digest)}`, `r/${run}/map`]) {
    await page.goto(`${stage.url}/#/${address}`);
    const marked = page.locator(".row-of-text.marked");
    await page.getByRole("link", { name: "line 5" }).tap();
    await marked.filter({ hasText: "id: both" }).waitFor();
    assert.match(hash(page), /\?line=5$/);
    await page.getByText("both: the flow inner").tap();
    await page.getByRole("link", { name: "line 3" }).last().tap();
    await marked.filter({ hasText: "id: deep" }).waitFor();
    assert.equal(await marked.count(), 1);
    await person.accessible(page);
  }
  await person.done();
  await stage.close();
});

test("an answer that is recorded names its event, and leads to it", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: asks\nsteps:\n  - id: ok\n    ask: 'Go on?'\n");
  const { question } = await stage.question(run);
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).tap();
  await page.getByRole("button", { name: "Send: Approve" }).tap();
  const [answered] = await eventually("the answer", async () => ((found) => found.length > 0 && found)(await stage.answers(run)));
  await page.getByRole("link", { name: `event ${answered.seq}` }).tap();
  const opened = page.getByRole("region", { name: "events" }).locator("details[open]");
  await opened.locator(".words", { hasText: question }).waitFor();
  assert.equal(await opened.count(), 1);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("the size of a file is said before it is read: a large one is asked about, one that is too large is refused", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: large\nsteps:\n  - id: make\n    run: head -c 35000000 /dev/zero > large.bin; echo small > small.txt; echo done\n    artifacts: [large.bin, small.txt]\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/files?file=large.bin`);
  const large = page.getByRole("listitem").filter({ hasText: "large.bin" });
  await large.getByText("No text, or too long to be shown: 33.4 MiB.").waitFor();
  let downloads = 0;
  page.on("download", () => (downloads += 1));
  await large.getByRole("button", { name: "download", exact: true }).click();
  const all = large.getByRole("button", { name: "download all 33.4 MiB" });
  await all.waitFor();
  assert.equal(downloads, 0, "nothing is read before it is wanted");
  await person.accessible(page);
  const [download] = await Promise.all([page.waitForEvent("download"), all.click()]);
  assert.equal(statSync(await download.path()).size, 35_000_000);
  // A file that a browser cannot hold. Such a file would fill the machine of the test: its head has its length.
  await page.evaluate(() => {
    const own = globalThis.fetch;
    globalThis.fetch = async (url, more) => (/stdout$/.test(url) && more.headers.range === undefined ? new Response("", { headers: { "content-length": "9000000000" } }) : own(url, more));
  });
  await page.goto(`${stage.url}/#/r/${run}/at/make.1`);
  await page.getByRole("button", { name: "download stdout" }).click();
  await page.getByRole("alert").filter({ hasText: "It has 8.4 GiB: too much for a browser." }).waitFor();
  await page.getByText(`envoi logs ${run} --step make`).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});
