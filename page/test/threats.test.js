// Other pages in the same browser: what they ask for with the session of a person, and what they cannot get.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { DESK, Person, Stage, ended } from "./stage.js";

after(ended);

const WAITS = `
flow: waits
steps:
  - id: make
    run: printf '<h1 id="owned">mine</h1>' > page.html
    artifacts: [page.html]
  - id: ok
    ask: 'Publish the notes?'
`;

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

test("another port of the host, a frame, a file's own address and a planted cookie open nothing", async () => {
  const stage = await Stage.open();
  const run = await stage.run(WAITS);
  const { question } = await stage.question(run);
  const [{ after_digest: digest }] = (await stage.ask("GET", `runs/${run}/files`)).files;
  const other = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<title>other</title><body></body>"));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  other.unref();
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByRole("link", { name: "Publish the notes?" }).waitFor();
  const [cookie, ...more] = await person.context.cookies();
  assert.deepEqual(more, []);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  const half = await page.evaluate(() => Object.values(localStorage)[0]);
  assert(!half.includes(cookie.value) && !cookie.value.includes(half), "two halves");

  // A page of another port is the same site, so that the browser sends the cookie with its requests.
  const evil = await person.context.newPage();
  await evil.goto(`http://127.0.0.1:${other.address().port}/`);
  const asked = [];
  evil.on("response", (response) => response.url().startsWith(stage.url) && asked.push(response));
  const reached = await evil.evaluate(
    async ([url, run, question, half]) => {
      const tries = [
        [`${url}/v1/runs`, {}],
        [`${url}/v1/runs`, { headers: { "x-envoi-page": half } }],
        [`${url}/v1/runs/${run}/cancel`, { method: "POST", mode: "no-cors" }],
        [`${url}/v1/questions/${question}/answer`, { method: "POST", mode: "no-cors", body: '{"choice":"approve"}' }],
        [`${url}/v1/sessions/end`, { method: "POST", mode: "no-cors" }],
      ];
      const texts = [];
      for (const [address, options] of tries) texts.push(await fetch(address, { credentials: "include", ...options }).then((response) => response.text(), () => ""));
      return texts.join("");
    },
    [stage.url, run, question, half],
  );
  assert.equal(reached, "", "nothing can be read there");
  assert(asked.length >= 3 && asked.every((response) => response.status() >= 400), asked.map((response) => `${response.status()} ${response.url()}`).join("\n"));
  assert.deepEqual([(await stage.ask("GET", `runs/${run}`)).status, (await stage.ask("GET", `questions/${question}`)).state], ["waiting", "open"]);

  // In a frame it is not shown.
  await evil.evaluate(
    (url) =>
      new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.src = `${url}/`;
        frame.onload = resolve;
        document.body.append(frame);
      }),
    stage.url,
  );
  const [, frame] = evil.frames();
  assert.equal(await frame.locator("#app").count(), 0, frame.url());

  // The address of a content is no page: not from elsewhere, and not typed.
  for (const from of [evil, await person.context.newPage()]) {
    const answer = await from.goto(`${stage.url}/v1/runs/${run}/contents/${digest}`);
    assert.equal(answer.status(), 401);
    assert.equal(await from.locator("#owned").count(), 0);
  }

  // The responses to the page itself: no copy of it is kept, and the policy is whole.
  const [files, front] = await Promise.all([page.waitForResponse(/\/v1\/runs\/[^/]+\/files$/), page.goto(`${stage.url}/?again#/r/${run}/files`)]);
  assert.equal(files.headers()["cache-control"], "no-store");
  const headers = front.headers();
  assert.equal(headers["content-security-policy"], POLICY);
  assert.deepEqual(
    ["cross-origin-opener-policy", "cross-origin-resource-policy", "referrer-policy", "x-frame-options", "x-content-type-options", "permissions-policy"].map((name) => headers[name]),
    ["same-origin", "same-origin", "no-referrer", "DENY", "nosniff", "camera=(), microphone=(), geolocation=()"],
  );
  // The half that a page keeps does not come with a planted cookie.
  const victim = await Person.at(stage, DESK);
  await victim.context.addCookies([cookie]);
  const fresh = await victim.tab(`${stage.url}/#/r/${run}`);
  await fresh.getByRole("heading", { name: "Sign in" }).waitFor();
  // A person who signs in gets a cookie of their own.
  await fresh.getByLabel("Token").fill(stage.token);
  await fresh.getByRole("button", { name: "Sign in" }).click();
  await fresh.getByRole("treegrid").waitFor();
  const [own] = await victim.context.cookies();
  assert.notEqual(own.value, cookie.value);
  await victim.done();
  await person.done();
  await new Promise((resolve) => (other.close(resolve), other.closeAllConnections()));
  await stage.close();
});
