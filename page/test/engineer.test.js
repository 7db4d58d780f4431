// A person who builds flows: a failure found with the keyboard alone, files byte for byte, a run while its server is gone, `run --web`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { DESK, NARROW, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const FAILS = `
flow: fails
title: Checks
steps:
  - id: make
    run: printf 'a\\0b\\r\\n\\377' > raw.bin; printf '\\357\\273\\277w\\303\\266rter\\r\\n' > '-tricky name.txt'
    artifacts: [raw.bin, '-tricky name.txt']
  - id: check
    for_each: [0, 1, 2, 3]
    run: 'echo looked at \${{ item }}; test \${{ item }} != 2 || { echo "link 2 is broken" >&2; exit 4; }'
`;

test("the engineer's story with the keyboard alone: the runs, the one that failed, the failure, its output, and back", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FAILS);
  await stage.until(run, "failed");
  for (const screen of [DESK, NARROW]) {
    const person = await Person.at(stage, screen);
    person.allowed.push(/status of 416/);
    const page = await person.tab(stage.link());
    await page.getByText("Nothing waits for you.").waitFor();
    const hash = () => new URL(page.url()).hash;
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    const until = async (wanted) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press("Tab");
        if (wanted.test(await focused())) return;
      }
      assert.fail(`${wanted} cannot be reached with Tab`);
    };
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.getByRole("link", { name: /Checks|fails/ }).first().waitFor();
    await until(/✗ failed/);
    await page.keyboard.press("Enter");
    await page.getByRole("treegrid").waitFor();
    await page.keyboard.press("e");
    await page.locator(".line.active", { hasText: "check" }).waitFor();
    await page.keyboard.press("e");
    await page.locator(".line.active", { hasText: "link 2 is broken" }).waitFor();
    await page.keyboard.press("Enter");
    await eventually("its place", () => hash() === `#/r/${run}/at/2.check.1`);
    await page.locator(".output", { hasText: "link 2 is broken" }).waitFor();
    await page.keyboard.press("l");
    await eventually("its output has the focus", () => page.evaluate(() => document.activeElement?.id === "output"));
    // From there Tab leads to what can be done with it, and not to the top of the page.
    await until(/^stdout$/);
    await page.keyboard.press("Enter");
    await page.locator(".output", { hasText: "looked at 2" }).waitFor();
    await person.accessible(page);
    await page.keyboard.press("Escape");
    await eventually("the run", () => hash() === `#/r/${run}`);
    await page.keyboard.press("Escape");
    await eventually("the runs", () => hash() === "#/runs");
    await person.done();
  }
  await stage.close();
});

test("keys that follow each other at once go as far as each of them says", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FAILS);
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}/at/2.check.1`);
  await page.locator(".output", { hasText: "link 2 is broken" }).waitFor();
  // In one task, so that the browser has reported nothing of the first key when the second one comes.
  const pressed = (...keys) => page.evaluate((keys) => keys.map((key) => (document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })), location.hash)), keys);
  assert.deepEqual(await pressed("Escape", "Escape"), [`#/r/${run}`, "#/runs"]);
  await page.getByRole("link", { name: /Checks|fails/ }).first().waitFor();
  const moved = await page.evaluate((to) => ((location.hash = to), document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "m", bubbles: true })), location.hash), `#/r/${run}`);
  assert.equal(moved, `#/r/${run}/map`);
  await person.done();
  await stage.close();
});

test("what is downloaded has the bytes that were handed over or written, and the name of the file", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FAILS);
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK, { acceptDownloads: true });
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  const saved = async (act) => {
    const [download] = await Promise.all([page.waitForEvent("download"), act()]);
    return [download.suggestedFilename(), readFileSync(await download.path())];
  };
  await page.goto(`${stage.url}/#/r/${run}/at/make.1`);
  const own = page.getByRole("complementary", { name: "make.1" });
  for (const name of ["raw.bin", "-tricky name.txt"]) {
    const file = own.getByRole("listitem").filter({ hasText: name });
    await file.getByRole("button", { name }).click();
    const [as, bytes] = await saved(() => file.getByRole("button", { name: "download", exact: true }).click());
    // A browser may change a name that begins with what has a meaning elsewhere; never where it is kept.
    assert.match(as, name === "raw.bin" ? /^raw\.bin$/ : /^[-_]tricky name\.txt$/);
    assert.deepEqual(bytes, readFileSync(join(stage.folder, name)), name);
  }
  await page.goto(`${stage.url}/#/r/${run}/at/2.check.1`);
  await page.locator(".output").waitFor();
  const [as, bytes] = await saved(() => page.getByRole("button", { name: "download stderr" }).click());
  assert.equal(as, "2.check.1.1.stderr.txt");
  assert.equal(bytes.toString(), "link 2 is broken\n");
  await person.done();
  await stage.close();
});

test("while the server is gone a run stays to be read, and nothing can be done with it", async () => {
  const stage = await Stage.open();
  const run = await stage.run(FAILS);
  await stage.until(run, "failed");
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  const person = await Person.at(stage, PHONE);
  person.allowed.push(/Failed to load resource/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("button", { name: "Go on …", exact: true }).waitFor();
  const other = await person.tab(`${stage.url}/#/start/${digest}`);
  await other.getByRole("button", { name: /^Start / }).waitFor();
  await stage.kill();
  for (const tab of [page, other]) await tab.getByText("Not live since", { exact: false }).waitFor();
  await page.getByText("link 2 is broken", { exact: false }).first().waitFor();
  for (const button of await page.locator("#actions button").all()) assert(await button.isDisabled(), await button.innerText());
  assert(await other.getByRole("button", { name: /^Start / }).isDisabled());
  for (const tab of [page, other]) await person.accessible(tab);
  await person.shot(page, "not-live-phone");
  await stage.restart();
  for (const tab of [page, other]) await tab.getByText("Not live since", { exact: false }).waitFor({ state: "detached" });
  assert(await page.getByRole("button", { name: "Go on …", exact: true }).isEnabled());
  await person.done();
  await stage.close();
});

test("`envoi run --web`: the link opens the run, its question is answered there, and the run goes on", async () => {
  const stage = await Stage.open();
  await stage.kill();
  stage.write("flow.yaml", "flow: asks\nsteps:\n  - id: ok\n    ask: 'Publish the notes?'\n  - id: send\n    run: echo sent > did.txt\n");
  const run = spawn(process.env.ENVOI, ["run", "flow.yaml", "--web"], { cwd: stage.folder, env: stage.env, stdio: ["ignore", "pipe", "pipe"] });
  try {
    let said = "";
    for (const stream of [run.stdout, run.stderr]) stream.on("data", (piece) => (said += piece));
    const link = await eventually("the link", () => /good once: (\S+)/.exec(said)?.[1]);
    stage.url = new URL(link).origin;
    assert.equal(new URL(link).hostname, "127.0.0.1");
    const person = await Person.at(stage, PHONE);
    const page = await person.tab(link);
    await page.getByRole("link", { name: /Answer: ok\.1/ }).tap();
    await page.getByText("Approve", { exact: true }).tap();
    await page.getByRole("button", { name: "Send: Approve" }).tap();
    await page.getByText(/Approve, by/).waitFor();
    await page.getByRole("link", { name: "the run", exact: true }).tap();
    await page.getByText("succeeded").first().waitFor();
    await eventually("it was sent", () => said.includes("the page stays until Ctrl-C"));
    assert.equal(stage.read("did.txt"), "sent\n");
    await person.accessible(page);
    await person.done();
    const over = new Promise((resolve) => run.once("exit", (code) => resolve(code)));
    run.kill("SIGTERM");
    assert.equal(await over, 0);
  } finally {
    if (run.exitCode === null) run.kill("SIGKILL");
  }
  await stage.close();
});
