#!/usr/bin/env node
/** `envoi-conformance FILE…`: one line a failure, and last how many passed; exit 1 if any failed, 2 if a file cannot be run. */

import { readFileSync } from "node:fs";

import { runVectors, type Outcome } from "./conformance/run.js";

function main(files: readonly string[]): number {
  if (files.length === 0) throw new Error("usage: envoi-conformance FILE…");
  let passed = 0;
  let failed = 0;
  for (const file of files) {
    for (const outcome of runVectors(readFileSync(file))) {
      if (outcome.passed) {
        passed += 1;
        continue;
      }
      failed += 1;
      process.stdout.write(line(file, outcome));
    }
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 ? 1 : 0;
}

function line(file: string, { name, expected, got }: Outcome): string {
  return `${file}: ${name}: expected ${expected}, got ${got}\n`;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`envoi-conformance: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
