// A session over TLS, and data that appear nowhere: halves of a session in an address, secrets of a flow on any screen.

import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { DESK, PHONE, Person, Stage, ended } from "./stage.js";

after(ended);

const kept = (name) => fileURLToPath(new URL(`../../crates/cli/tests/it/serve/${name}`, import.meta.url));

test("over TLS the cookie is of this host alone, and a question is answered as ever", async () => {
  const stage = await Stage.open({ config: "" });
  await stage.kill();
  for (const [from, to] of [["certificate.pem", "chain.pem"], ["key.pem", "key.pem"]]) copyFileSync(kept(from), join(stage.folder, ".envoi", to));
  stage.write(".envoi/config.yaml", "server: { tls: { certificate: chain.pem, key: key.pem } }\n");
  stage.write("flow.yaml", "flow: asks\nsteps:\n  - id: ok\n    ask: 'Publish the notes?'\n  - id: send\n    run: echo sent > did.txt\n");
  await stage.serve("127.0.0.1:0");
  assert.match(stage.url, /^https:/);
  assert.equal(stage.envoi("run", "flow.yaml", "--detach").status, 0);
  const person = await Person.at(stage, PHONE, { ignoreHTTPSErrors: true });
  const page = await person.tab(stage.link("--for", "ann", "--scope", "answer"));
  await page.getByRole("link", { name: "Publish the notes?" }).tap();
  const [cookie, ...more] = await person.context.cookies();
  assert.deepEqual([cookie.name, cookie.secure, cookie.httpOnly, cookie.sameSite, cookie.path, more], ["__Host-envoi", true, true, "Strict", "/", []]);
  await page.getByText("Approve", { exact: true }).tap();
  await page.getByRole("button", { name: "Send: Approve" }).tap();
  await page.getByText(/Approve, by ann/).waitFor();
  await page.getByRole("button", { name: "Sign out" }).tap();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(await person.context.cookies(), [], "signing out takes it away");
  await person.done();
  await stage.close();
});

const SECRET = "hunter2-correct-horse-battery";

/** It prints its secret in each of its texts. (A secret in a file that is handed over is a warning, and stays there: docs/flow-file.md.) */
const LEAKS = `
flow: leaks
secrets: { TOKEN: { file: token.txt } }
steps:
  - id: leak
    artifacts: [out.txt]
    run: |
      echo "out $TOKEN"; echo "err $TOKEN" >&2
      echo "a file" > out.txt
      printf '{"it":"%s"}' "$TOKEN" > "$ENVOI_DATA"
  - id: ok
    ask: 'They said: \${{ steps.leak.summary }}'
  - id: fail
    run: echo "$TOKEN is why" >&2; exit 3
`;

test("a secret of a flow is shown on no screen, and no answer that the page gets has it", async () => {
  const stage = await Stage.open();
  stage.write("token.txt", SECRET);
  const run = await stage.run(LEAKS);
  const { question } = await stage.question(run);
  const { flow_digest: digest } = await stage.ask("GET", `runs/${run}`);
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of (404|416)/);
  const page = await person.tab(stage.link());
  const answers = [];
  page.on("response", (response) => {
    if (response.url().includes("/v1/") && !response.url().endsWith("/v1/stream")) answers.push(response.text().catch(() => ""));
  });
  const look = async (address, ...seen) => {
    await page.goto(`${stage.url}/#/${address}`);
    for (const each of seen) await page.getByRole("main").getByText(each, { exact: false }).filter({ visible: true }).first().waitFor();
    await page.evaluate(() => document.querySelectorAll("details:not([open]) > summary").forEach((summary) => summary.click()));
    assert.doesNotMatch(await page.evaluate(() => document.documentElement.outerHTML), /hunter2/, address);
  };
  await look("inbox", "They said: out ***");
  await look(`q/${question}`, "They said: out ***", "out.txt");
  await stage.ask("POST", `questions/${question}/answer`, { choice: "approve" });
  await stage.until(run, "failed");
  await look("runs", "leaks");
  await look(`r/${run}`, "*** is why");
  await look(`r/${run}/why`, "*** is why");
  await look(`r/${run}/at/leak.1`, "out ***", "how it was started");
  await page.getByText("attempt leak.1.1, with sh -e -c").waitFor();
  await page.getByText('{"it":"***"}').waitFor();
  await page.getByRole("button", { name: "stderr", exact: true }).click();
  await page.locator(".output", { hasText: "err ***" }).waitFor();
  await look(`r/${run}/files`, "out.txt");
  await look(`r/${run}/cost`, "By step");
  await look(`r/${run}/map`, "leak");
  await look(`r/${run}/events`, "attempt started");
  await look(`flows/${encodeURIComponent(digest)}`, "leak");
  await look(`start/${encodeURIComponent(digest)}`, "leaks");
  const texts = await Promise.all(answers);
  assert(texts.length > 20 && texts.some((text) => text.includes("***")));
  for (const text of texts) assert(!text.includes("hunter2"), text.slice(0, 200));
  await person.done();
  await stage.close();
});
