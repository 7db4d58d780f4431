// Why a run went as it did, what differs between rounds, and what its files look like.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended } from "./stage.js";

after(ended);

const ROUNDS = `
flow: rounds
steps:
  - id: draft
    run: |
      n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n
      echo "same"; echo "round $n"
      printf '# Notes\\n\\n<b>raw</b> **strong** [here](https://example.invalid/x) ![p](http://example.invalid/p.png)\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n' > notes.md
      printf 'name,words\\nann,"x, ""y"""\\n' > t.csv
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>fetch("//example.invalid")</script><rect width="40" height="20" fill="red"/></svg>' > p.svg
    artifacts: [notes.md, t.csv, p.svg]
  - id: check
    run: |
      if [ $(cat n) -lt 2 ]; then echo 'Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }
  - id: fails
    run: if [ -e tried ]; then echo second >&2; else touch tried; echo first >&2; fi; exit 3
    retry: { attempts: 2, backoff: 10ms..10ms }
`;

test("why it failed, in two keys from the list; the rule that decided, what was read, the rules that did not", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ROUNDS);
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/runs`);
  const link = page.getByRole("link", { name: /failed/ });
  await link.waitFor();
  await link.focus();
  await page.keyboard.press("Enter");
  // The key is for the screen of the run: it has to be there.
  await page.getByRole("treegrid").first().waitFor();
  await page.keyboard.press("w");
  const failure = page.getByRole("region", { name: "the first failure" });
  await failure.getByText("TOOL_EXIT_NON_ZERO", { exact: false }).first().waitFor();
  await failure.getByRole("region", { name: "stderr" }).getByText("second").waitFor();
  const decisions = page.getByRole("region", { name: "decisions" });
  const back = decisions.getByRole("listitem").filter({ hasText: "check.1 loop" });
  assert.match(await back.innerText(), /then: back to draft/);
  await back.getByText("the rules, and what they read").click();
  await back.getByText("NEEDS_WORK", { exact: false }).first().waitFor();
  const rules = await back.locator(".rules").innerText();
  assert.match(rules, /rule 6\s+decided: the status is no success and iterations are left/);
  assert.match(rules, /rule 3\s+not: the status NEEDS_WORK is no success value/);
  await back.locator(".words", { hasText: "Status: NEEDS_WORK" }).waitFor();
  await person.accessible(page);
  await person.shot(page, "why-desk");
  await page.goto(`${stage.url}/#/r/${run}/at/check.1`);
  await page.getByText("decided: the status is no success", { exact: false }).waitFor();
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("where a decision leads is said as the terminal says it", async () => {
  const stage = await Stage.open();
  const text = "flow: ways\nsteps:\n  - id: never\n    if: 'false'\n    run: echo never\n  - id: each\n    for_each: [1, 2]\n    run: echo looked\n  - id: draft\n    run: echo x >> n\n  - id: check\n    run: |\n      if [ $(wc -l < n) -lt 2 ]; then echo 'Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi\n    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }\n  - id: last\n    run: exit 3\n";
  const run = await stage.run(text);
  await stage.until(run, "failed");
  // `PLACE  COURSE: REASON`
  const told = stage.envoi("why", run, "--limit", "0").out.split("\n").flatMap((line) => (/^(\S+\.\d+)  ([^:]+): /.exec(line) === null ? [] : [/^(\S+\.\d+)  ([^:]+): /.exec(line).slice(1, 3)]));
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/why`);
  const decisions = page.getByRole("region", { name: "decisions" }).getByRole("listitem");
  await decisions.filter({ hasText: "then:" }).nth(7).waitFor();
  const shown = (await decisions.filter({ hasText: "then:" }).allInnerTexts()).map((line) => line.replaceAll(/\s+/g, " ")).map((line) => [line.split(" ")[0], /; then: (.*?)( the rules|$)/.exec(line)[1].trim()]);
  assert.deepEqual(shown, told);
  assert(shown.some(([place, words]) => place === "0.each.1" && words === "done"), "an item");
  await person.done();
  await stage.close();
});

test("attempts and rounds are compared", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ROUNDS);
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/draft.2`);
  await page.getByLabel("compare with").selectOption({ label: "visit 1" });
  const compared = page.getByRole("region", { name: "compared with visit 1" });
  await compared.getByText("stdout: 2 lines differ").waitFor();
  assert.deepEqual((await compared.locator(".diff").last().locator("[role=row]").allInnerTexts()).map((line) => line.replaceAll(/\s+/g, " ").trim()), ["same", "removed − round 1", "added + round 2"]);
  await person.accessible(page);
  await person.shot(page, "compare-desk");
  await page.goto(`${stage.url}/#/r/${run}/at/fails.1`);
  await page.getByLabel("compare with").selectOption({ label: "attempt 1 of this visit" });
  await page.getByRole("region", { name: "compared with attempt 1 of this visit" }).getByText("stderr: 2 lines differ").waitFor();
  // A fork, with the run that it comes from.
  const { run: fork } = await stage.ask("POST", `runs/${run}/fork`, { from: "draft", workspace: "shared" });
  await stage.until(fork, "failed");
  await page.goto(`${stage.url}/#/r/${fork}/at/draft.2`);
  await page.getByLabel("compare with").selectOption({ label: "the run that it was forked from" });
  const root = page.getByRole("region", { name: "compared with the run that it was forked from" });
  await root.getByText("stdout: 2 lines differ").waitFor();
  assert.match(await root.innerText(), /round 2[^]*round 3/);
  await person.done();
  await stage.close();
});

test("a failure that the flow has taken is not called the reason of a later one", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: two\nsteps:\n  - id: lint\n    run: echo 'a remark' >&2; exit 4\n    continue_on_error: true\n  - id: test\n    run: echo 'three tests failed' >&2; exit 5\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByText(/The first failure: test\.1 .*three tests failed/).waitFor();
  await page.goto(`${stage.url}/#/r/${run}/why`);
  const failure = page.getByRole("region", { name: "the first failure" });
  await failure.getByRole("region", { name: "stderr" }).getByText("three tests failed").waitFor();
  assert.equal(await failure.getByText("a remark").count(), 0);
  await person.done();
  await stage.close();
});

test("a comparison of long outputs reads more than their ends, and says what it has not read", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: long\nsteps:\n  - id: fails\n    run: |\n      if [ -e tried ]; then echo second; else touch tried; echo first; fi\n      seq 1 20000\n      exit 3\n    retry: { attempts: 2, backoff: 10ms..10ms }\n");
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  // An output with nothing in it has no end that could be asked for.
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/fails.1`);
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  await page.getByLabel("compare with").selectOption({ label: "attempt 1 of this visit" });
  const compared = page.getByRole("region", { name: "compared with attempt 1 of this visit" });
  await compared.getByText("stdout: 2 lines differ").waitFor();
  assert.match(await compared.innerText(), /first[^]*second/, "what stands 100 KiB before the end");
  const longer = await stage.run("flow: longer\nsteps:\n  - id: fails\n    run: |\n      if [ -e twice ]; then echo second; else touch twice; echo first; fi\n      seq 1 300000\n      exit 3\n    retry: { attempts: 2, backoff: 10ms..10ms }\n");
  await stage.until(longer, "failed");
  await page.goto(`${stage.url}/#/r/${longer}/at/fails.1`);
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  await page.getByLabel("compare with").selectOption({ label: "attempt 1 of this visit" });
  const other = page.getByRole("region", { name: "compared with attempt 1 of this visit" });
  await other.getByText("What stands before the last 1.0 MiB of an output is not compared.").waitFor();
  assert.doesNotMatch(await other.innerText(), /No difference in stdout/);
  await person.accessible(page);
  await person.done();
  await stage.close();
});

test("files of a step: Markdown, a table, a picture, each harmless; and as they are", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ROUNDS);
  await stage.until(run, "failed");
  const person = await Person.at(stage, PHONE);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/draft.1`);
  await page.getByRole("button", { name: /notes\.md/ }).tap();
  const notes = page.locator(".markdown");
  await notes.getByText("strong", { exact: true }).waitFor();
  assert.equal(await notes.locator("strong").innerText(), "strong");
  assert.match(await notes.innerText(), /<b>raw<\/b>/, "HTML is text");
  assert.match(await notes.innerText(), /here \(example\.invalid\) \[picture: p\]/, "a link says where it leads; no picture of others is asked for");
  assert.equal(await notes.locator("img").count(), 0);
  assert.deepEqual(await notes.locator("a").evaluateAll((all) => all.map((each) => [each.rel, each.target])), [["noopener noreferrer", "_blank"]]);
  assert.equal(await notes.locator("td").count(), 2);
  await page.getByRole("button", { name: "as text" }).tap();
  await page.getByText("# Notes").waitFor();
  await page.getByRole("button", { name: /notes\.md/ }).tap();
  await page.getByRole("button", { name: /t\.csv/ }).tap();
  await page.getByRole("cell", { name: 'x, "y"' }).waitFor();
  await page.getByRole("button", { name: /t\.csv/ }).tap();
  await page.getByRole("button", { name: /p\.svg/ }).tap();
  const picture = page.getByRole("img", { name: "the file p.svg" });
  await picture.waitFor();
  assert.equal(await picture.evaluate((image) => image.decode().then(() => image.naturalWidth)), 40);
  await person.accessible(page);
  await person.shot(page, "files-phone");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "download", exact: true }).tap()]);
  assert.equal(download.suggestedFilename(), "p.svg");
  await person.done();
  await stage.close();
});

test("a difference shows ends of lines, a byte order mark, and a last line that is not ended", async () => {
  const stage = await Stage.open();
  const run = await stage.run("flow: ends\nsteps:\n  - { id: make, run: \"for f in crlf mark end; do printf 'a\\\\nb\\\\n' > $f.txt; done\", artifacts: ['*.txt'] }\n  - { id: change, run: \"printf 'a\\\\r\\\\nb\\\\n' > crlf.txt; printf '\\\\357\\\\273\\\\277a\\\\nb\\\\n' > mark.txt; printf 'a\\\\nb' > end.txt\", artifacts: ['*.txt'] }\n");
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  // An output with nothing in it has no end that could be asked for.
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/change.1`);
  for (const [name, rows] of [
    ["crlf.txt", ["removed − a", "added + aU+000D", "b"]],
    ["end.txt", ["a", "removed − b", "added + bno newline at the end"]],
    ["mark.txt", ["removed − a", "added + U+FEFFa", "b"]],
  ]) {
    const file = page.getByRole("listitem").filter({ hasText: name });
    await file.getByRole("button", { name: new RegExp(name) }).first().click();
    const table = file.getByRole("table", { name: "what has changed" });
    await table.waitFor();
    assert.deepEqual((await table.getByRole("row").allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim()), rows, name);
  }
  await person.accessible(page);
  await person.done();
  await stage.close();
});
