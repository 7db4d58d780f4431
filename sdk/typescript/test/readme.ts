/** Runs the examples of the README as they stand there, and compares what they print with what the page says. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ENVOI, Served } from "./served.js";

/**
 * Runs every example of `page` in a new folder under `home`, from where `envoi` is found; those that need a server against one of
 * their own, where $ENVOI names the binary. How many there were.
 */
export async function runExamples(page: string | URL, home: string): Promise<number> {
  const blocks = Array.from(readFileSync(page, "utf8").matchAll(/^```js( server)?\n([\s\S]*?)^```$/gm));
  const examples = blocks.filter(([, needsServer]) => needsServer === undefined || ENVOI !== undefined);
  const folder = mkdtempSync(join(home, "example-"));
  try {
    for (const [, needsServer, code = ""] of examples) {
      if (needsServer === undefined) runExample(code, folder, {});
      else await runServed(code, folder);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return examples.length;
}

async function runServed(code: string, folder: string): Promise<void> {
  const served = await Served.start();
  try {
    runExample(code, folder, { ENVOI_URL: served.url, ENVOI_TOKEN: served.first });
  } finally {
    await served.end();
  }
}

function runExample(code: string, folder: string, more: Record<string, string>): void {
  writeFileSync(join(folder, "example.mjs"), code);
  const env = { PATH: process.env["PATH"], ...more };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["example.mjs"], { cwd: folder, encoding: "utf8", env });
  const expected = Array.from(code.matchAll(/^\/\/ prints: (.*)$/gm), ([, line]) => `${line}\n`).join("");
  assert.equal(stderr, "");
  assert.equal(status, 0);
  assert.equal(stdout, expected, code);
}
