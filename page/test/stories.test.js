// What goes wrong around a person who decides: the server dies, many tabs are open, steps print what should deceive.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
steps:
  - id: ok
    ask: 'Publish the notes?'
  - id: send
    run: echo sent >> did.txt
`;

const answers = async (stage, run) => (await stage.ask("GET", `runs/${run}/events?limit=200`)).events.filter(({ event }) => event.type === "interrupt_answered");


test("the server is killed while a person answers: one answer, and the page says what is true", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, PHONE);
  person.allowed.push(/Failed to load resource/);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByText("Nothing waits for you.").waitFor();
  // Once the server dies before the answer has reached it, once after it has recorded it and before anybody hears of that.
  for (const moment of ["before", "after"]) {
    const run = await stage.run(ASKS);
    const { question } = await stage.question(run);
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByText("Approve", { exact: true }).tap();
    let tries = 0;
    await page.route(/\/answer$/, async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      if (moment === "after") assert.equal((await route.fetch()).status(), 200);
      await stage.kill();
      await route.abort("connectionreset");
    });
    await page.getByRole("button", { name: "Send: Approve" }).tap();
    await page.getByText("Not live since", { exact: false }).waitFor();
    assert.equal(await page.getByText(/by ann at/).count(), 0, "nothing is shown as recorded that no server has said");
    await stage.restart();
    await page.getByText(/Approve, by ann at/).waitFor();
    await stage.until(run, "succeeded");
    assert.equal((await answers(stage, run)).length, 1, moment);
    // What was recorded may also be seen before it is sent again.
    if (moment === "before") assert(tries > 1, "it was sent again");
    await page.getByText("Not live since", { exact: false }).waitFor({ state: "detached" });
    await page.unroute(/\/answer$/);
  }
  assert.deepEqual(stage.read("did.txt"), "sent\nsent\n");
  await person.done();
  await stage.close();
});

test("the server is killed and stays away: the page does not claim an answer, and keeps the words", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage);
  person.allowed.push(/Failed to load resource/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  await page.getByLabel("In words").fill("dates agree");
  await stage.kill();
  await page.getByText("Not live since", { exact: false }).waitFor();
  assert(await page.getByRole("button", { name: "Send: Approve" }).isDisabled(), "actions are off");
  await stage.restart();
  await page.getByText("Not live since", { exact: false }).waitFor({ state: "detached" });
  assert.equal((await answers(stage, run)).length, 0);
  assert.equal(await page.getByLabel("In words").inputValue(), "dates agree");
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText(/Approve, by/).waitFor();
  await person.done();
  await stage.close();
});

test("eight tabs: a new question appears in each, and there is one stream", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage);
  const pages = [await person.tab(stage.link())];
  await pages[0].getByText("Nothing waits for you.").waitFor();
  while (pages.length < 8) {
    const page = await person.tab(`${stage.url}/#/inbox`);
    await page.getByText("Nothing waits for you.").waitFor();
    pages.push(page);
  }
  const streams = () => person.asked.filter((url) => url.endsWith("/v1/stream")).length;
  const run = await stage.run(ASKS);
  for (const page of pages) await page.getByRole("link", { name: "Publish the notes?" }).waitFor();
  assert.equal(streams(), 1, "one tab reads for all");
  // The tab that reads is closed: another one goes on where it was.
  await pages.shift().close();
  await eventually("another stream", async () => streams() === 2);
  const { question } = await stage.question(run);
  await stage.ask("POST", `questions/${question}/answer`, { choice: "approve" });
  for (const page of pages) await page.getByText("Nothing waits for you.").waitFor();
  assert.equal(streams(), 2);
  // Who signs out in one tab is signed out in all.
  await pages[0].getByRole("button", { name: "Sign out" }).click();
  for (const page of pages) await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await person.done();
  await stage.close();
});

const HOSTILE = String.raw`
flow: hostile
title: "<img src=x onerror=alert(1)> \u202eeltit"
steps:
  - id: prints
    artifacts: ["*.md"]
    run: |
      printf '<script>document.title="owned"</script><img src=x onerror="document.title=1">\n'
      printf 'pay \342\200\256moc.live\342\200\254 now\n'
      printf 'in\342\200\213visible\n'
      printf '\033]8;;javascript:alert(1)\033\\a link\033]8;;\033\\ \033[2J\033[31mred\033[0m\033[8mhidden\033[0m\n'
      printf 'nul \000 and bell \007\n'
      head -c 300000 /dev/zero | tr '\0' 'x'; printf '\nthe end\n'
      printf '<b>bold</b> \342\200\256eno\n![](http://example.invalid/p.png) [here](javascript:alert(1))\n' > notes.md
      printf 'x\n' > "$(printf '<img src=y onerror=alert(2)>\342\200\256.md')"
  - id: says
    run: "printf '<i>slanted</i> [approve](javascript:alert(1)) \\342\\200\\256desrever\\n'"
  - id: ok
    ask: "Approve <u>this</u>? \u202egnihtemos\u202c \u200b [x](javascript:alert(1))"
`;

test("what steps print is shown harmless, and by name", async () => {
  const stage = await Stage.open();
  const run = await stage.run(HOSTILE);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  page.on("dialog", (dialog) => person.wrong.push(`dialog: ${dialog.message()}`));
  /** Elements that only a text could have made, and addresses that only a text could have given. */
  const harmless = async () => {
    const found = await page.evaluate(() => {
      const links = [...document.querySelectorAll("[href], [src]")].map((each) => each.getAttribute("href") ?? each.getAttribute("src"));
      return { made: document.querySelectorAll("main :is(img, script, iframe, u, i, svg, object)").length, odd: links.filter((link) => !/^(#|blob:|app\.|icon\.)/.test(link)), title: document.title };
    });
    assert.deepEqual([found.made, found.odd], [0, []]);
    assert.doesNotMatch(found.title, /owned|^1$|\u202e|\u200b/, "also the title of the tab");
  };
  const main = () => page.getByRole("main").innerText();
  await page.getByRole("link", { name: /Approve <u>this/ }).waitFor();
  await harmless();
  assert.match(await main(), /Approve <u>this<\/u>\? U\+202Egnihtemos/);
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("<img src=x onerror=alert(1)> U+202Eeltit").waitFor();
  assert.match(await page.title(), /U\+202Eeltit/);
  await page.getByText("U+202Edesrever", { exact: false }).waitFor();
  assert.match(await main(), /<i>slanted<\/i> \[approve\]\(javascript:alert\(1\)\)/);
  assert.match(await main(), /<img src=y onerror=alert\(2\)>U\+202E\.md/, "names of files too");
  await page.getByRole("button", { name: /notes\.md/ }).click();
  await page.getByText("U+202Eeno", { exact: false }).waitFor();
  await harmless();
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/at/prints.1`);
  await page.getByRole("button", { name: "stdout" }).click();
  await page.locator(".output", { hasText: "the end" }).waitFor();
  const output = await page.locator(".output").innerText();
  assert.match(await main(), /the last 64\.0 KiB of 293\.\d KiB/, "what is long is cut, and that is said");
  assert(output.length < 70_000);
  await harmless();
  // Short outputs are seen from their beginning.
  const small = await stage.run(HOSTILE.replace("head -c 300000", "head -c 300").replace("flow: hostile", "flow: hostile_small"));
  await stage.question(small);
  await page.goto(`${stage.url}/#/r/${small}/at/prints.1`);
  await page.getByRole("button", { name: "stdout" }).click();
  await page.locator(".output", { hasText: "the end" }).waitFor();
  const text = await page.locator(".output").innerText();
  assert.match(text, /<script>document\.title="owned"<\/script><img src=x/);
  assert.match(text, /pay U\+202Emoc\.liveU\+202C now/);
  assert.match(text, /inU\+200Bvisible/);
  assert.match(text, /a link redhidden/);
  assert.match(text, /nul U\+0000 and bell U\+0007/);
  await page.locator(".output .fg-red", { hasText: "red" }).waitFor();
  await harmless();
  await person.accessible(page);
  await person.done();
  await stage.close();
});
