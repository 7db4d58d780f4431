// Trouble around a person who decides: the server dies, many tabs are open, steps print deceiving texts.

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


test("the server is killed while a person answers: one answer, and the page says what is true", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, PHONE);
  person.allowed.push(/Failed to load resource/);
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByText("Nothing waits for you.").waitFor();
  // Once the server dies before the answer has reached it, once after it has recorded it and before the page gets the response.
  for (const moment of ["before", "after"]) {
    const run = await stage.run(ASKS);
    const { question } = await stage.question(run);
    await page.goto(`${stage.url}/#/q/${question}`);
    await page.getByText("Approve", { exact: true }).tap();
    // The page sends it again for a while only: its clock is stopped, so that a server may take long to start.
    await page.clock.setFixedTime(new Date());
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
    assert.equal((await stage.answers(run)).length, 1, moment);
    // The recorded answer may also be seen before it is sent again.
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
  assert.equal((await stage.answers(run)).length, 0);
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
  // A sign-out in one tab is a sign-out in all.
  await pages[0].getByRole("button", { name: "Sign out" }).click();
  for (const page of pages) await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await person.done();
  await stage.close();
});

test("a tab that is hidden reads no stream, and catches up when it is seen; one that gets no stream asks from time to time", async () => {
  const stage = await Stage.open();
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 429/);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  // A browser without a screen hides no tab by itself.
  const see = (state) => page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
  let closed = 0;
  page.on("requestfailed", (request) => (closed += request.url().endsWith("/v1/stream") ? 1 : 0));
  const streams = () => person.asked.filter((url) => url.endsWith("/v1/stream")).length;
  await eventually("a stream", async () => streams() === 1);
  await see("hidden");
  await eventually("the stream is closed", async () => closed === 1);
  // The list is asked for once more when the stream begins.
  await person.quiet(page);
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  assert.equal(await page.getByRole("link", { name: "Publish the notes?" }).count(), 0, "nothing is heard");
  assert.equal(streams(), 1);
  await see("visible");
  await page.getByRole("link", { name: "Publish the notes?" }).waitFor();
  assert.equal(streams(), 2);
  // All streams of the token are taken: the page is live all the same.
  await see("hidden");
  await eventually("the stream is closed", async () => closed === 2);
  let refused = 0;
  await page.route(/\/v1\/stream$/, (route) => {
    refused += 1;
    return route.fulfill({ status: 429, headers: { "content-type": "application/problem+json" }, body: JSON.stringify({ type: "about:blank", title: "busy", status: 429, detail: "too many streams", code: "TOO_MANY_REQUESTS", hint: null, request_id: "req_1" }) });
  });
  await see("visible");
  // Requests after the second refusal are sent by the clock, and not because the tab is seen again.
  await eventually("two refusals", async () => refused > 1);
  await stage.ask("POST", `questions/${question}/answer`, { choice: "approve" });
  await page.getByText("Nothing waits for you.").waitFor();
  assert.equal(await page.getByText("Not live since", { exact: false }).count(), 0);
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

/** Every other place at which a text of a flow, a step or a person is shown. */
const EVERYWHERE = String.raw`
flow: everywhere
title: "<img src=t onerror=alert(1)> \u202eeltit"
inputs:
  word: { type: string, description: "<b>bold</b> \u202etnirp", default: "<i>x</i>" }
steps:
  - id: files
    artifacts: ["*.svg", "*.html", "*.md", "*.csv", "*.png", "*.txt"]
    run: |
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title="owned";fetch("/owned")</script><image href="/owned.png"/><rect width="40" height="20" onload="alert(3)"/></svg>' > p.svg
      printf '<html><script>document.title="owned"</script><img src=/owned.png><iframe src="/owned"></iframe></html>' > r.html
      printf '# <b>h</b>\n\n![a](/owned.png) ![b](javascript:alert(4)) [c](javascript:alert(5)) [d](data:text/html,owned) <iframe src="/owned"></iframe>\n' > m.md
      printf '<script>alert(6)</script>,b\n<img src=/owned.png>,\342\200\256x\n' > t.csv
      printf 'no picture' > n.png
      printf 'nul \000, odd \377\376, \355\240\200 and the end\n' > o.txt
  - id: deep
    data: json
    run: |
      (printf '{"d":'; head -c 99 /dev/zero | tr '\0' '['; head -c 99 /dev/zero | tr '\0' ']'; printf '}') > "$ENVOI_DATA"
  - id: each
    for_each: ['<u>one</u>', "tw\u202eo", three]
    run: test "@{{ item }}" = three || { printf '\033]8;;javascript:alert(7)\033\\<img src=/owned.png>\033]8;;\033\\ \342\200\256failed\n' >&2; exit 3; }
    continue_on_error: true
  - id: form
    ask:
      message: "Fill <u>this</u> in. \u202e"
      kind: clarification
      schema:
        type: object
        properties:
          "<img src=x>": { type: string, title: "<img src=/owned.png> \u202e", description: "<script>alert(8)</script>" }
          one: { enum: ["<b>1</b>", "\u200b2"] }
  - id: fails
    run: printf '<script>alert(9)</script> \342\200\256why\n' >&2; exit 4
`;

test("a run's text is only text on every screen: names, values, files of all kinds, data, errors, forms, events", async () => {
  const stage = await Stage.open();
  const run = await stage.run(EVERYWHERE.replaceAll("@{{", "${{"));
  const { question } = await stage.question(run);
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  page.on("dialog", (dialog) => person.wrong.push(`dialog: ${dialog.message()}`));
  const main = () => page.getByRole("main").innerText();
  /** Elements that only a text could have made; of pictures, only those that the page shows on purpose. */
  const harmless = async (where) => {
    const found = await page.evaluate(() => ({
      made: [...document.querySelectorAll("main :is(script, iframe, object, embed, u, i, image, style, link, meta)")].map((each) => each.outerHTML),
      pictures: [...document.querySelectorAll("img")].map((each) => each.getAttribute("src")).filter((src) => !src.startsWith("blob:")),
      links: [...document.querySelectorAll("[href]")].map((each) => each.getAttribute("href")).filter((href) => !/^(#|blob:|app\.|icon\.)/.test(href)),
      handlers: [...document.querySelectorAll("*")].flatMap((each) => [...each.attributes].map(({ name }) => name).filter((name) => /^on/.test(name))),
      title: document.title,
    }));
    assert.deepEqual([found.made, found.pictures, found.links, found.handlers], [[], [], [], []], where);
    assert.doesNotMatch(found.title, /owned|\u202e|\u200b/, where);
    assert.doesNotMatch(await main(), /[\u202e\u200b]/, where);
  };
  const look = async (address, ...seen) => {
    await page.goto(`${stage.url}/#/${address}`);
    for (const each of seen) await page.getByRole("main").getByText(each, { exact: false }).filter({ visible: true }).first().waitFor();
    await harmless(address);
  };
  await look("inbox", "Fill <u>this</u> in. U+202E", "<img src=t onerror=alert(1)> U+202Eeltit");
  await look(`q/${question}`, "Fill <u>this</u> in. U+202E", "Your answer");
  await page.getByText("Answer", { exact: true }).click();
  for (const each of ["<img src=/owned.png> U+202E", "<script>alert(8)</script>", "<b>1</b>"]) await page.getByText(each, { exact: false }).first().waitFor();
  await harmless("the form");
  await stage.ask("POST", `questions/${question}/answer`, { choice: "respond", data: { one: "<b>1</b>" }, text: "<script>alert(10)</script> \u202eno" });
  await stage.until(run, "failed");
  await look("inbox?closed", "Fill <u>this</u> in. U+202E");
  await look(`q/${question}`, "<script>alert(10)</script> U+202Eno");
  await look("runs", "<script>alert(9)</script> U+202Ewhy");
  await look(`r/${run}`, "<img src=t onerror=alert(1)>", "<script>alert(9)</script> U+202Ewhy");
  await page.getByRole("button", { name: /failed/ }).click();
  await page.getByRole("row", { name: /0\.each\.1.*<img src=\/owned\.png> U\+202Efailed/ }).waitFor();
  await harmless("its failures");
  await look(`r/${run}/at/0.each.1`, "item <u>one</u>", "<img src=/owned.png> U+202Efailed");
  await look(`r/${run}/at/1.each.1`, "item twU+202Eo");
  await page.getByText("how it was started, and its events").click();
  await page.getByRole("main").getByText("attempt started").first().waitFor();
  await harmless("how it was started");
  await look(`r/${run}/at/deep.1`, "data");
  await page.getByText("data", { exact: true }).click();
  await page.getByText("[[[[[[[[", { exact: false }).first().waitFor();
  await harmless("deep data");
  await look(`r/${run}/why`, "<script>alert(9)</script> U+202Ewhy", "What decided");
  await look(`r/${run}/cost`, "By step");
  await look(`r/${run}/map`, "asks a person");
  await look(`r/${run}/events`, "attempt started");
  for (const summary of await page.locator(".events details summary").all()) await summary.click();
  await harmless("all events, open");
  await look("flows", "everywhere");
  await look(`flows/${encodeURIComponent(digest)}`, "<img src=t onerror=alert(1)> U+202Eeltit");
  await look(`start/${encodeURIComponent(digest)}`, "<b>bold</b> U+202Etnirp");
  // Files: each as it looks, and as text.
  await look(`r/${run}/at/files.1`, "r.html");
  for (const [name, shown] of [["r.html", "<iframe src=\"/owned\">"], ["m.md", "[picture: a]"], ["t.csv", "<script>alert(6)</script>"], ["n.png", "This is no picture"], ["o.txt", "No text, or too long to be shown"]]) {
    const file = page.getByRole("button", { name: new RegExp(name.replace(".", "\\.")) });
    await file.click();
    await page.getByText(shown, { exact: false }).first().waitFor();
    await harmless(name);
    await file.click();
  }
  await page.getByRole("button", { name: /p\.svg/ }).click();
  const picture = page.getByRole("img", { name: "the file p.svg" });
  await picture.waitFor();
  assert.equal(await picture.evaluate((image) => image.decode().then(() => image.naturalWidth)), 40);
  await harmless("the picture");
  await person.accessible(page);
  assert.deepEqual(person.asked.map((url) => url.replace(stage.url, "")).filter((path) => !/^(\/(#.*)?|\/(app|icon)\..*|\/v1\/.*|blob:.*)$/.test(path)), [], "nothing was asked that the page did not mean");
  await person.done();
  await stage.close();
});

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
  await page.getByRole("main").getByText("<img src=y onerror=alert(2)>U+202E.md", { exact: false }).first().waitFor();
  await page.getByRole("button", { name: /notes\.md/ }).click();
  await page.getByText("U+202Eeno", { exact: false }).waitFor();
  await harmless();
  await person.accessible(page);
  await page.goto(`${stage.url}/#/r/${run}/at/prints.1`);
  await page.getByRole("button", { name: "stdout", exact: true }).click();
  await page.locator(".output", { hasText: "the end" }).waitFor();
  const output = await page.locator(".output").innerText();
  assert.match(await main(), /the last 64\.0 KiB of 293\.\d KiB/, "what is long is cut, and that is said");
  assert(output.length < 70_000);
  await harmless();
  // Short outputs are seen from their beginning.
  const small = await stage.run(HOSTILE.replace("head -c 300000", "head -c 300").replace("flow: hostile", "flow: hostile_small"));
  await stage.question(small);
  await page.goto(`${stage.url}/#/r/${small}/at/prints.1`);
  await page.getByRole("button", { name: "stdout", exact: true }).click();
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
