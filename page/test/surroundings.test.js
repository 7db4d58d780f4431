// The surroundings of the page: a proxy with a prefix, a stream that is cut, another version of the server, magnified text, forced colours,
// paper.

import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended, eventually } from "./stage.js";

after(ended);

const ASKS = `
flow: asks
title: Notes of the release
steps:
  - id: draft
    run: printf 'one\\ntwo\\n' > notes.md; echo 'Dates agree with the tags.'
    artifacts: [notes.md]
  - id: ok
    ask: 'Publish the notes?'
`;

const PREFIX = "/team/envoi/";

/** A proxy that has the server below a prefix. It can cut what is open, and change the page as another version would. */
async function behind(stage) {
  const proxy = { streams: [], last: [], version: undefined };
  const upstream = new URL(stage.url);
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith(PREFIX)) return answer.writeHead(404).end();
    const path = asked.url.slice(PREFIX.length - 1);
    if (path === "/v1/stream") proxy.last.push(asked.headers["last-event-id"]);
    const headers = { ...asked.headers, host: upstream.host, "accept-encoding": "identity" };
    if (headers.origin !== undefined) headers.origin = upstream.origin;
    const sent = request({ host: upstream.hostname, port: upstream.port, method: asked.method, path, headers }, (got) => {
      if (path === "/v1/stream") proxy.streams.push(asked.socket);
      if (path !== "/" || proxy.version === undefined) {
        answer.writeHead(got.statusCode, got.headers);
        return got.pipe(answer);
      }
      let text = "";
      got.on("data", (piece) => (text += piece));
      got.on("end", () => answer.writeHead(200, { "content-type": "text/html" }).end(text.replace(/app\.js\?v=[0-9a-f]+/, `app.js?v=${proxy.version}`)));
    });
    sent.on("error", () => asked.socket.destroy());
    asked.pipe(sent);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  proxy.cut = () => proxy.streams.splice(0).forEach((socket) => socket.destroy());
  proxy.close = () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
  return proxy;
}

test("behind a proxy with a prefix all of it works, also when the stream is cut; another version is said", async () => {
  const stage = await Stage.open();
  const proxy = await behind(stage);
  const person = await Person.at({ ...stage, url: proxy.url }, DESK);
  person.allowed.push(/Failed to load resource|ERR_/);
  const link = stage.link();
  const page = await person.tab(`${proxy.url}${PREFIX}${new URL(link).hash}`);
  await page.getByText("Nothing waits for you.").waitFor();
  const run = await stage.run(ASKS);
  await page.getByRole("link", { name: /Publish the notes/ }).waitFor();
  // Events during a cut are not missed: the stream goes on after the last hint.
  const before = proxy.last.length;
  proxy.cut();
  const other = await stage.run(ASKS.replace("Publish the notes?", "And these?"));
  await page.getByRole("link", { name: /And these/ }).waitFor();
  await eventually("another stream", () => proxy.last.length > before);
  assert(proxy.last.at(-1) !== undefined, "it goes on after the last event");
  await page.getByRole("link", { name: /Publish the notes/ }).click();
  await page.getByText("Approve", { exact: true }).click();
  await page.getByRole("button", { name: "Send: Approve" }).click();
  await page.getByText(/Approve, by/).waitFor();
  await stage.until(run, "succeeded");
  assert.deepEqual(person.asked.filter((url) => !url.startsWith(`${proxy.url}${PREFIX}`) && !url.startsWith("blob:")), [], "nothing is asked outside of the prefix");
  // The server goes away and comes back as another version.
  proxy.version = "0123456789abcdef";
  await stage.kill();
  await page.getByText("Not live since", { exact: false }).waitFor();
  await stage.restart();
  await page.getByText("The server has another version of this page by now.").waitFor();
  await person.accessible(page);
  assert.equal((await stage.ask("GET", `runs/${other}`)).status, "waiting");
  await person.done();
  await proxy.close();
  await stage.close();
});

/** Texts that change from run to run. */
const steady = (text) => [[/\/\S*envoi-page-\w+/g, "FOLDER"], [/run_[0-9a-z]+(…[0-9a-z]+)?/g, "RUN"], [/sha256(:|%3A)[0-9a-f]+/g, "DIGEST"], [/int_[0-9a-z]+/g, "INT"], [/\d+\.\d s\b/g, "TIME"], [/\d+ (ms|s|min|h)\b( \d+ (s|min|h))?/g, "TIME"], [/(yesterday |tomorrow )?\d{1,2}:\d\d(:\d\d)?( [AP]M)?/g, "CLOCK"]].reduce((all, [what, word]) => all.replaceAll(what, word), text);

test("a question and a run are told to who does not see them as they were told before", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  for (const [name, address, seen] of [["question", `q/${question}`, "two"], ["run", `r/${run}`, "Answer: ok.1"]]) {
    await page.goto(`${stage.url}/#/${address}`);
    await page.getByRole("main").getByText(seen).first().waitFor();
    await page.getByRole("main").getByText(/\$0\.00/).first().waitFor();
    const told = steady(await page.getByRole("main").ariaSnapshot());
    stage.golden(`${name}.txt`, told);
  }
  await person.done();
  await stage.close();
});

const TOLD = `
flow: told
title: Notes of the release
inputs:
  version: { type: string, default: "0.9" }
steps:
  - id: draft
    run: |
      n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo "notes $n" > notes.md; echo "Draft $n"
    artifacts: [notes.md]
  - id: check
    run: |
      if [ $(cat n) -lt 2 ]; then echo 'Status: NEEDS_WORK'; else echo 'Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }
  - id: pages
    for_each: ["src/journal/pages/part-001.md", "src/journal/pages/part-002.md"]
    max_parallel: 1
    run: |
      echo looked; case \${{ item }} in *002.md) exit 3;; esac
`;

test("the other screens are told to who does not see them as they were told before", async () => {
  const stage = await Stage.open();
  const run = await stage.run(TOLD);
  await stage.until(run, "failed");
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 416/);
  const page = await person.tab(stage.link());
  // The longest work comes first, if nothing has a cost.
  const costs = { draft: "0.30", check: "0.20", pages: "0.10" };
  await page.route(/\/ledger$/, async (route) => {
    const found = await (await route.fetch()).json();
    await route.fulfill({ json: { ...found, by_step: Object.fromEntries(Object.entries(found.by_step).map(([step, amounts]) => [step, { ...amounts, cost_usd: costs[step] }])) } });
  });
  for (const [name, address, seen] of [
    ["inbox", "inbox", "Nothing waits for you."],
    ["runs", "runs", "of 3 steps"],
    ["failed", `r/${run}`, "$0.00"],
    ["why", `r/${run}/why`, "then: back to draft"],
    ["files", `r/${run}/files`, "notes.md"],
    ["cost", `r/${run}/cost`, "By step, the dearest first"],
    ["map", `r/${run}/map`, "back to draft"],
    ["compare", `r/${run}/compare`, "what they wrote"],
    ["events", `r/${run}/events`, "run ended"],
    ["place", `r/${run}/at/draft.2`, "the visit before"],
    ["flows", "flows", "registered"],
    ["flow", `flows/${encodeURIComponent(digest)}`, "back to draft"],
    ["start", `start/${encodeURIComponent(digest)}`, "begins with draft"],
    ["keys", "keys", "Single letters are keys"],
    ["code", "code/TOOL_EXIT_NON_ZERO", "What to do"],
  ]) {
    await page.goto(`${stage.url}/#/${address}`);
    await page.getByRole("main").getByText(seen, { exact: false }).first().waitFor();
    // Until nothing but the stream is open, and nothing more has come.
    let told = "";
    await eventually(`all of ${name}`, async () => {
      const before = told;
      told = steady(await page.getByRole("main").ariaSnapshot());
      return told === before && person.open <= 1;
    });
    stage.golden(`${name}.txt`, told);
  }
  await person.done();
  await stage.close();
});

test("on paper a question is whole: what is asked, what it is about, each answer, and nothing to press", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS.replace("printf 'one\\ntwo\\n'", "seq 1 300"));
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByRole("button", { name: "as text" }).click();
  await page.getByText("Approve", { exact: true }).click();
  await page.getByLabel("In words").fill("three links are broken");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.deepEqual(await page.evaluate(() => [getComputedStyle(document.documentElement).colorScheme, getComputedStyle(document.body).color]), ["light", "rgb(27, 30, 36)"], "dark on white, whatever was chosen");
  for (const text of ["Publish the notes?", "Dates agree with the tags.", "Approve", "Deny"]) assert(await page.getByText(text, { exact: true }).first().isVisible(), text);
  assert(await page.getByText("sha256:", { exact: false }).first().isVisible(), "the content that was read has a name");
  assert(await page.getByLabel("In words").isVisible());
  for (const button of await page.getByRole("button").all()) assert(!(await button.isVisible()) || (await button.getAttribute("aria-expanded")) !== null, await button.innerText());
  assert.equal(await page.getByRole("navigation").count(), 0, "not the head of the page");
  // Paper has no scroll bars: nothing is cut.
  const cut = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((each) => each.scrollHeight > each.clientHeight + 1 && ["auto", "scroll", "hidden"].includes(getComputedStyle(each).overflowY) && !each.matches(".hidden, textarea, input")).map((each) => each.className));
  assert.deepEqual(cut, []);
  await person.done();
  await stage.close();
});

test("with forced colours, what is chosen is seen", async () => {
  const stage = await Stage.open();
  const run = await stage.run(ASKS);
  const { question } = await stage.question(run);
  const person = await Person.at(stage, DESK, { forcedColors: "active" });
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/q/${question}`);
  await page.getByText("Approve", { exact: true }).click();
  const seen = async (what) => {
    const style = await page.locator(what).first().evaluate((each) => getComputedStyle(each).outlineStyle);
    assert.match(style, /solid|dashed/, `${what}: ${style}`);
  };
  await seen("label.choice.chosen");
  // On the other screens too: which list, which part of a run, which row, which lines.
  await seen(".bar nav a[aria-current]");
  const talks = await stage.run("flow: talks\nsteps:\n  - { id: a, run: seq 1 50 }\n");
  await stage.until(talks, "succeeded");
  await page.goto(`${stage.url}/#/r/${talks}`);
  await page.getByRole("row", { name: /a/ }).first().waitFor();
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("j");
  for (const what of [".tabs a[aria-current]", "button.chosen"]) await seen(what);
  await page.goto(`${stage.url}/#/r/${talks}/at/a.1?log=stdout&line=3-5`);
  await page.locator(".ln.marked").first().waitFor();
  for (const what of [".ln.marked", ".line.chosen"]) await seen(what);
  await person.done();
  await stage.close();
});
