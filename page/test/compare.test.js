// Comparisons: of attempts, rounds and forks, with their hand-offs, outputs and changes; and each comparison has an address.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, NARROW, Person, Stage, ended } from "./stage.js";

after(ended);

/** Two rounds of three steps, of which one is an inner flow; in the second one the draft differs, and one more file changes. */
const ROUNDS = `
flow: rounds
title: Notes, in rounds
steps:
  - id: draft
    run: |
      n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n
      printf 'the same\\nround %s\\n' $n > notes.md; echo always > same.md
      if [ $n = 2 ]; then echo more > more.md; fi
      echo "draft $n"; echo "written $n"
    artifacts: [notes.md, same.md, more.md]
  - id: build
    flow: inner.yaml
  - id: critic
    run: |
      rm -f same.md
      if [ $(cat n) = 1 ]; then echo 'Two dates are wrong. Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }
  - id: send
    run: test -e good; echo sent
`;
const INNER = "flow: inner\nsteps:\n  - id: compile\n    run: echo \"compiled $(cat n)\"\n  - id: lint\n    run: echo no remarks\n";

async function failed(stage) {
  const { digest } = await stage.ask("POST", "flows", { flow: "rounds.yaml", files: { "rounds.yaml": ROUNDS, "inner.yaml": INNER } });
  const { run } = await stage.ask("POST", "runs", { flow: digest, workspace: "shared" });
  await stage.until(run, "failed");
  return run;
}

const words = (text) => text.replaceAll(/\s+/g, " ").trim();
const hash = (page) => decodeURIComponent(new URL(page.url()).hash);

test("two visits are compared by their hand-off, output and files, and the comparison has an address", async () => {
  const stage = await Stage.open();
  const run = await failed(stage);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/draft.2`);
  await page.getByLabel("compare with").selectOption({ label: "visit 1" });
  assert.match(hash(page), /at\/draft\.2\?compare=draft\.1\.1$/);
  const look = async (tab) => {
    const compared = tab.getByRole("region", { name: "compared with visit 1" });
    await compared.getByText("stdout: 4 lines differ").waitFor();
    const files = compared.getByRole("region", { name: "files of both" });
    await files.getByText("1 file differs, each against what visit 1 made of it:").waitFor();
    assert.match(words(await files.innerText()), /The same in both: same\.md Changed by this visit alone: more\.md/);
    const between = files.getByRole("table", { name: "what has changed" });
    await between.waitFor();
    assert.deepEqual((await between.getByRole("row").allInnerTexts()).map(words), ["the same", "removed − round 1", "added + round 2"]);
  };
  await look(page);
  await person.accessible(page);
  // Another person with the address sees the same.
  const other = await person.tab(page.url());
  await look(other);
  // A link to a line of the same output keeps what is compared.
  await other.getByLabel("Link to lines of stdout").fill("2");
  await other.keyboard.press("Enter");
  await other.locator(".output .ln.marked").waitFor();
  assert.match(hash(other), /compare=draft\.1\.1&attempt=1&log=stdout&line=2$/);
  await look(other);
  await other.getByLabel("compare with").selectOption({ label: "nothing" });
  assert.doesNotMatch(hash(other), /compare/);
  // A missing visit is not invented.
  await other.goto(`${stage.url}/#/r/${run}/at/draft.2?compare=draft.7.1`);
  await other.getByRole("status").filter({ hasText: "The link compares with draft.7.1, which is not there." }).waitFor();
  await person.accessible(other);
  await person.done();
  await stage.close();
});

test("two rounds, and a fork and the run that it comes from, are compared as wholes", async () => {
  const stage = await Stage.open();
  const run = await failed(stage);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  const rows = async () => (await page.getByRole("region", { name: "what differs" }).locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.innerText)))).map((row) => row.map(words));
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("treegrid").waitFor();
  await page.getByRole("link", { name: "compare" }).click();
  await page.getByText("2 visits came to the same.").waitFor();
  const rounds = await rows();
  assert.deepEqual(rounds.map(([name]) => name), ["draft", "build › compile", "critic"]);
  assert.match(rounds[0][1], /succeeded draft 1/);
  assert.match(rounds[0][2], /succeeded draft 2/);
  assert.match(rounds[2][1], /Two dates are wrong/);
  await person.accessible(page);
  await person.shot(page, "rounds-compared");
  // The rounds are chosen, and stand in the address: here a round with itself.
  await page.getByRole("combobox", { name: "Compare" }).selectOption("round 2");
  await page.getByText("Nothing differs in what the steps came to.", { exact: false }).waitFor();
  assert.match(hash(page), /compare\?before=round\+2$/);
  await page.getByRole("combobox", { name: "Compare" }).selectOption("round 1");
  // From there to what a step of an inner flow wrote in both.
  await page.getByRole("row", { name: /build › compile/ }).getByRole("link", { name: "what they wrote" }).click();
  await page.getByRole("region", { name: "compared with build.1.compile.1" }).getByText("stdout: 2 lines differ").waitFor();
  assert.match(hash(page), /at\/build\.2\.compile\.1\?compare=build\.1\.compile\.1\.1$/);
  await person.accessible(page);
  // A fork.
  stage.write("good", "");
  const { run: fork } = await stage.ask("POST", `runs/${run}/fork`, { from: "critic", workspace: "shared" });
  await stage.until(fork, "succeeded");
  await page.goto(`${stage.url}/#/r/${fork}/compare`);
  await page.getByRole("region", { name: "what differs" }).waitFor();
  const forked = await rows();
  assert.deepEqual(forked.map(([name]) => name), ["send.1"]);
  assert.match(forked[0][1], /failed/);
  assert.match(forked[0][2], /succeeded sent/);
  await person.accessible(page);
  await page.getByRole("link", { name: "what they wrote" }).click();
  await page.getByRole("region", { name: "compared with the run that it was forked from" }).getByText("stdout: 1 line differs").waitFor();
  assert.match(hash(page), new RegExp(`at/send\\.1\\?compare=${run}/send\\.1\\.1$`));
  // Its rounds too.
  await page.goto(`${stage.url}/#/r/${fork}/compare`);
  await page.getByRole("combobox", { name: "What" }).selectOption({ label: "rounds of draft … critic" });
  await page.getByRole("row", { name: /build › compile/ }).waitFor();
  // It can be read on a small screen as well; a run without rounds shows that there is nothing.
  const alone = await stage.run("flow: alone\nsteps:\n  - id: a\n    run: echo a\n");
  await stage.until(alone, "succeeded");
  const narrow = await Person.at(stage, NARROW);
  const small = await narrow.tab(stage.link());
  await small.goto(`${stage.url}/#/r/${run}/compare`);
  await small.getByRole("region", { name: "what differs" }).waitFor();
  await narrow.accessible(small);
  await small.goto(`${stage.url}/#/r/${alone}`);
  await small.getByRole("treegrid").waitFor();
  assert.equal(await small.getByRole("link", { name: "compare" }).count(), 0);
  await small.goto(`${stage.url}/#/r/${alone}/compare`);
  await small.getByText("there is nothing to compare", { exact: false }).waitFor();
  await narrow.done();
  await person.done();
  await stage.close();
});
