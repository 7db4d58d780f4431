/** Runs the examples of the README as they stand there, and compares what they print with what the page says. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Runs every example of `page` in a new folder under `home`, from where `envoi` is found. How many there were. */
export function runExamples(page: string | URL, home: string): number {
  const examples = Array.from(readFileSync(page, "utf8").matchAll(/^```js\n([\s\S]*?)^```$/gm), ([, code = ""]) => code);
  const folder = mkdtempSync(join(home, "example-"));
  try {
    for (const code of examples) runExample(code, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return examples.length;
}

function runExample(code: string, folder: string): void {
  writeFileSync(join(folder, "example.mjs"), code);
  const env = { PATH: process.env["PATH"] };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["example.mjs"], { cwd: folder, encoding: "utf8", env });
  const expected = Array.from(code.matchAll(/^\/\/ prints: (.*)$/gm), ([, line]) => `${line}\n`).join("");
  assert.equal(stderr, "");
  assert.equal(status, 0);
  assert.equal(stdout, expected, code);
}
