/**
 * Packs the package, installs the packed file in an empty project, and uses it there: the README's examples, the command,
 * and the types under the strictest settings. Run by `check.sh`, after the tests; prints what it did.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { skillReport } from "./pages.js";
import { runExamples } from "./readme.js";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const VECTORS = fileURLToPath(new URL("../../../spec/vectors/", import.meta.url));

const CONSUMER = `
import { Envelope, createEnvelope, judge, parseUserEnvelope, resolveRouting, toPlain, type JsonValue, type RoutingSignal } from "envoi";
import { runVectors } from "envoi/conformance";
import * as pure from "envoi/pure";

const signal: RoutingSignal = resolveRouting({ handoff_text: "x" });
const digits: string = signal.confidence.text;
const envelope: Envelope = createEnvelope({ raw_input: "", user_id: "", session_id: "", metadata: { a: 1 } });
const value: JsonValue | undefined = envelope.metadata.get("a");
const plain: unknown = toPlain(value ?? null);
const text: string = parseUserEnvelope("x", false, undefined).text;
const ok: boolean = judge({ exit: 0 }).ok && runVectors("[]").length === 0;
// @ts-expect-error: a closed vocabulary is closed
envelope.terminal_reason = "tired";
// @ts-expect-error: the pure part writes no files
pure.writeSkillReport;
export { digits, plain, text, ok };
`;

/** The lines of seed 3 as they are printed there, and the printed interface, which is the library's both ways. */
function skill(): string {
  const { printed, usage } = skillReport();
  const types = printed.replace("interface SkillReportEnvelope", "interface Printed");
  return `
import { readSkillReport, type SkillReportEnvelope } from "envoi/node";
interface Triage { totals: { spam: number } }
const domainData: Triage = { totals: { spam: 1 } };
const outputPath = "report.json";
${usage}
${types}
export const theirs = (ours: SkillReportEnvelope<Triage>): Printed<Triage> => ours;
export const ours = (theirs: Printed<Triage>): SkillReportEnvelope<Triage> => theirs;
export const name: string | undefined = readSkillReport("report.json")?.skillName;
`;
}

function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
  assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

/** Checks the types of `files` as a program that is resolved like this finds them. */
function compile(project: string, files: string[], module: string, moduleResolution: string): void {
  const strictest = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
  const compilerOptions = { ...strictest, target: "es2022", lib: ["es2022"], types: [], module, moduleResolution };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  run(project, process.execPath, join(PACKAGE, "node_modules", "typescript", "bin", "tsc"), "-p", project);
}

const folder = mkdtempSync(join(tmpdir(), "envoi-packed-"));
try {
  run(PACKAGE, "npm", "pack", "--silent", "--pack-destination", folder);
  const packed = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  assert.equal(packed.length, 1);

  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"name": "consumer", "private": true, "type": "module"}');
  run(project, "npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", join(folder, packed[0] ?? ""));
  const installed = join(project, "node_modules", "envoi");
  assert.deepEqual(readdirSync(installed).sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"]);

  const examples = runExamples(join(installed, "README.md"), project);
  writeFileSync(join(project, "consumer.ts"), CONSUMER);
  writeFileSync(join(project, "skill.ts"), skill());
  compile(project, ["consumer.ts", "skill.ts"], "nodenext", "nodenext");
  compile(project, ["consumer.ts"], "esnext", "bundler");
  const files = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));
  const vectors = run(project, "npx", "--no-install", "envoi-conformance", ...files.map((name) => join(VECTORS, name)));
  assert.equal(/^[1-9][0-9]* passed, 0 failed\n$/.test(vectors), true, vectors);
  process.stdout.write(`packed: ${examples} examples of the README, the types, and vectors (${vectors.trim()})\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
