// Texts that should deceive or take over, in the places that a run of everyday does not reach, and of kinds that are rare.
//
// Each run is done twice: with a hostile text, and with a harmless one. The page makes the same elements for both.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

/** How a text is written into a flow, as a shell prints it, and how the page shows it. */
const HOSTILE = { name: "hostile", yaml: String.raw`<b>b</b> <svg onload=alert(1)> <a href=javascript:alert(2)>a</a> <form><input> \u202eeno\u200b`, shell: String.raw`<b>b</b> <svg onload=alert(1)> <a href=javascript:alert(2)>a</a> <form><input> \342\200\256eno\342\200\213`, seen: "<b>b</b> <svg onload=alert(1)> <a href=javascript:alert(2)>a</a> <form><input> U+202EenoU+200B" };
const HARMLESS = { name: "plain", yaml: "a word", shell: "a word", seen: "a word" };
const typed = ({ yaml }) => JSON.parse(`"${yaml}"`);

const LOOP = ({ name, yaml, shell }) => `
flow: rounds_${name}
title: "${yaml}"
steps:
  - id: draft
    run: "printf '${shell.replaceAll("\\", "\\\\")}\\n'; date +%N > notes.md"
    artifacts: [notes.md]
  - id: critic
    run: |
      if [ -e seen ]; then echo 'Status: VERIFIED'; else touch seen; printf '${shell}. Status: NEEDS_WORK\\n'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 3, success_values: [VERIFIED] }
  - id: tried
    run: |
      if [ -e tried ]; then echo good; else touch tried; printf 'first ${shell}\\n'; printf '${shell}\\n' >&2; exit 3; fi
    retry: { attempts: 2, backoff: 10ms..10ms }
  - id: ok
    ask: "${yaml}"
    routing: { loop_to: tried, max_iterations: 3 }
`;

const LATER = ({ shell }) => `
flow: later
steps:
  - id: fetch
    run: printf '${shell}\\n' >&2; exit 75
    retry: { attempts: 5, backoff: 2h..8h }
`;

/** Its supervisor is ended once it has kept what the command has written. */
const DOUBT = ({ name, shell }) => `
flow: doubt
steps:
  - id: migrate
    run: |
      printf '${shell}\\nALTER %s\\n' ${name}
      while ! grep -rq 'ALTER[ ]${name}' .envoi/runs; do sleep 0.05; done
      kill -9 $PPID; sleep 600
    on_in_doubt: ask
`;

/**
 * The elements in the main part, each name with its number. There may be any number of elements that hold a piece of text. Lists of values
 * are not counted: the evidence of a doubt leaves out what is 0, such as how long the attempt ran. Nor are choices: there is one for each
 * flow that is registered by then.
 */
const made = (page) =>
  page.evaluate(() => {
    const counts = {};
    for (const { localName } of document.querySelectorAll("main *:not(dl *)")) if (localName !== "span" && localName !== "option") counts[localName] = (counts[localName] ?? 0) + 1;
    return Object.fromEntries(Object.entries(counts).sort());
  });

const visible = async (page) => `${await page.title()} ${await page.getByRole("main").innerText()}`;

test("rounds, retries, doubt, comparisons and refusals show a text as text, with the elements of any other text", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of (404|416)/);
  const page = await person.tab(stage.link());
  page.on("dialog", (dialog) => person.wrong.push(`dialog: ${dialog.message()}`));
  const seen = [];
  for (const words of [HARMLESS, HOSTILE]) {
    const screens = {};
    const note = async (name, text = words.seen) => {
      await page.getByRole("main").getByText(text, { exact: false }).first().waitFor();
      await eventually(`all of ${name}`, async () => !/Asking the server/.test(await visible(page)));
      assert.doesNotMatch(await visible(page), /[\u200b\u202e]/, name);
      screens[name] = await made(page);
    };
    const look = async (name, address, text) => {
      await page.goto(`${stage.url}/#/${address}`);
      await note(name, text);
    };
    const run = await stage.run(LOOP(words));
    const { question } = await stage.question(run);
    const later = await stage.run(LATER(words));
    const doubt = await stage.run(DOUBT(words));
    await look("rounds", `r/${run}`, "sent back");
    await page.getByRole("row", { name: new RegExp(`sent back round 1 .*${words.seen.replaceAll(/[()+]/g, "\\$&")}`) }).waitFor();
    await look("sent back", `r/${run}/at/critic.1`, "why it went on as it did");
    await look("an attempt", `r/${run}/at/tried.1?attempt=1&log=stdout`, `first ${words.seen}`);
    await page.getByLabel("compare with").selectOption({ label: "attempt 2 of this visit" });
    await page.getByRole("region", { name: /^compared with/ }).getByText(words.seen, { exact: false }).first().waitFor();
    await note("compared");
    // The text of the last round is above the next question.
    await stage.ask("POST", `questions/${question}/answer`, { choice: "again", text: typed(words) });
    const next = await eventually("the next round", async () => (await stage.ask("GET", `questions?run=${run}`)).questions.find((each) => each.question !== question));
    await look("asked again", `q/${next.question}`, "It was asked before,");
    assert((await page.getByText(words.seen, { exact: false }).count()) >= 3, "title, question, and the words of the last round");
    await eventually("the wait", async () => (await stage.ask("GET", `runs/${later}/steps`)).steps.some((row) => row.next_try_at !== null));
    await look("tried later", `r/${later}`, "is tried again");
    await page.getByText(new RegExp(`is tried again.*${words.seen.slice(0, 6)}`)).waitFor();
    await look("tried later, its place", `r/${later}/at/fetch.1`);
    const asked = await stage.question(doubt);
    await look("in doubt", `q/${asked.question}`, "the end of its output");
    await page.getByText(words.seen, { exact: false }).first().waitFor();
    await look("in doubt, of the run", `r/${doubt}`, "Decide: migrate.1");
    // A corrected flow: what it changes is named, and its texts are not run.
    await stage.ask("POST", "flows", LOOP(words).replace("echo good", "echo better"));
    await look("corrected", `r/${run}`, words.seen);
    await page.getByRole("button", { name: "Go on with a corrected flow …" }).click();
    await page.getByLabel("Version").selectOption({ index: 1 });
    await page.getByRole("row", { name: /tried.*changed: run/ }).waitFor();
    await note("compared with a corrected flow");
    // A text in the address has no author either.
    const echo = encodeURIComponent(typed(words));
    await look("no such place", `r/${run}/at/${echo}`, `There is no step at ${words.seen}`);
    await look("no run is like that", `runs?q=${echo}&flow=${echo}`, `words ${words.seen}`);
    await look("no such run", `r/${echo}`, "No such run");
    await look("no such question", `q/${echo}`, "No such question");
    await look("no such flow", `flows/${echo}`, "No such flow");
    await stage.ask("POST", `runs/${run}/cancel`, {});
    await stage.ask("POST", `runs/${doubt}/cancel`, {});
    seen.push(screens);
    for (const name of ["seen", "tried"]) rmSync(join(stage.folder, name));
  }
  assert.deepEqual(seen[1], seen[0]);
  await person.done();
  await stage.close();
});

test("an endless line, half a character and data of many levels are shown as what they are", async () => {
  const stage = await Stage.open();
  const nested = (levels) => `(printf '{"d":'; head -c ${levels} /dev/zero | tr '\\0' '['; head -c ${levels} /dev/zero | tr '\\0' ']'; printf '}') > "$ENVOI_DATA"`;
  const run = await stage.run(`
flow: kinds
steps:
  - id: long
    run: |
      printf '<b>the beginning</b> '; head -c 1048576 /dev/zero | tr '\\0' 'x'; printf ' the end'
  - id: half
    data: json
    run: |
      printf '{"half":"\\\\ud800 <b>x</b> \\\\u202eeno"}' > "$ENVOI_DATA"
    continue_on_error: true
  - id: deep
    data: json
    run: |
      ${nested(99)}
  - id: deeper
    data: json
    run: |
      ${nested(5000)}
    continue_on_error: true
`);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/long.1`);
  await page.getByText(/the last 64\.0 KiB of 1\.0 MiB/).waitFor();
  const output = page.locator(".output");
  await output.getByText(/and \d+ more characters/).waitFor();
  // From its beginning: the line is cut, and that is said.
  for (const of of ["512.0 KiB", undefined]) {
    await page.getByRole("button", { name: "Show earlier lines" }).click();
    if (of !== undefined) await page.getByText(`the last ${of} of 1.0 MiB`).waitFor();
  }
  await output.getByText("<b>the beginning</b>", { exact: false }).waitFor();
  await output.getByText(/and 1\d{6} more characters/).waitFor();
  const shown = await output.evaluate((each) => each.textContent.length);
  assert(shown < 70_000, `${shown} characters are laid out`);
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/at/deep.1`);
  await page.getByRole("main").getByText("data", { exact: true }).click();
  await page.getByText("[".repeat(99) + "]".repeat(99), { exact: false }).first().waitFor();
  // The engine refuses a value that is not data, and quotes the beginning of it.
  await page.goto(`${stage.url}/#/r/${run}/at/half.1`);
  await page.getByRole("complementary").getByText("expected a whole surrogate pair, found `\\ud800 <b>x</b> \\u202een", { exact: false }).first().waitFor();
  await page.goto(`${stage.url}/#/r/${run}/at/deeper.1`);
  await page.getByRole("complementary").getByText("expected at most 127 levels of nesting", { exact: false }).first().waitFor();
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/events`);
  await page.getByText("attempt started").first().waitFor();
  for (const summary of await page.locator(".events details summary").all()) await summary.click();
  assert.equal(await page.locator("main b", { hasText: /^x$/ }).count(), 0);
  await person.accessible(page);
  await person.done();
  await stage.close();
});
