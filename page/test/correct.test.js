// A corrected flow that is not registered: typed, or from a file; compared before it holds.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { DESK, PHONE, Person, Stage, ended } from "./stage.js";

after(ended);

const OUTER = `
flow: outer
steps:
  - id: inner
    flow: inner.yaml
  - id: fails
    run: echo tried >> did.txt; exit 3
`;

const INNER = "flow: inner\nsteps:\n  - id: deep\n    run: echo deep >> did.txt\n";

test("a corrected flow is typed or read from a file; its mistakes and its comparison come first, and only what was compared holds", async () => {
  const stage = await Stage.open();
  const { digest } = await stage.ask("POST", "flows", { flow: "outer.yaml", files: { "outer.yaml": OUTER, "inner.yaml": INNER } });
  const { run } = await stage.ask("POST", "runs", { flow: digest, workspace: "shared" });
  await stage.until(run, "failed");
  const person = await Person.at(stage, DESK);
  person.allowed.push(/status of 422/);
  const page = await person.tab(stage.link());
  await page.goto(`${stage.url}/#/r/${run}`);
  await page.getByRole("button", { name: "Go on with a corrected flow …" }).click();
  await page.getByLabel("Version").selectOption("a text or a file of yours");
  const text = page.getByLabel("Its text");
  const go = page.getByRole("button", { name: "Go on as it says there" });
  assert.match(await text.inputValue(), /^\nflow: outer[^]*exit 3\n$/, "it begins with what holds now");
  assert(await go.isDisabled(), "nothing was compared");
  await text.fill(OUTER.replace("run:", "rum:"));
  await page.getByRole("button", { name: "Compare it" }).click();
  await page.getByRole("alert").getByText("rum", { exact: false }).first().waitFor();
  assert(await go.isDisabled(), "it has a mistake");
  await person.accessible(page);
  await page.getByLabel("From a file").setInputFiles({ name: "mine.yaml", mimeType: "text/yaml", buffer: Buffer.from(OUTER.replace("exit 3", "exit 0")) });
  await page.getByRole("alert").waitFor({ state: "detached" });
  assert.match(await text.inputValue(), /exit 0/);
  await page.getByRole("button", { name: "Compare it" }).click();
  await page.getByRole("row", { name: /fails.*changed: run.*failed.*runs again/ }).waitFor();
  assert.equal(await page.getByRole("row", { name: /inner.*kept.*succeeded.*stays/ }).count(), 1, "the flow that it names is the same");
  await person.accessible(page);
  await page.setViewportSize(PHONE.viewport);
  await person.accessible(page);
  await text.fill(OUTER.replace("exit 3", "exit 0; false"));
  assert(await go.isDisabled(), "what is typed after the comparison was not seen in it");
  await text.fill(OUTER.replace("exit 3", "exit 0"));
  await page.getByRole("button", { name: "Compare it" }).click();
  assert.equal((await stage.ask("GET", `runs/${run}`)).status, "failed", "looked at, and not done yet");
  await go.click();
  await stage.until(run, "succeeded");
  assert.equal(stage.read("did.txt"), "deep\ntried\ntried\n");
  await person.done();
  await stage.close();
});
