/**
 * Packs a copy of the package outside the repository, installs the packed file in an empty project, and uses it there: the README's examples, the command,
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
import { ApiError, Client, type Question, type Run } from "envoi/client";
import { runVectors } from "envoi/conformance";
import * as pure from "envoi/pure";

const signal: RoutingSignal = resolveRouting({ handoff_text: "x" });
const digits: string = signal.confidence.text;
const envelope: Envelope = createEnvelope({ raw_input: "", user_id: "", session_id: "", metadata: { a: 1 } });
const value: JsonValue | undefined = envelope.metadata.get("a");
const plain: unknown = toPlain(value ?? null);
const text: string = parseUserEnvelope("x", false, undefined).text;
const ok: boolean = judge({ exit: 0 }).ok && runVectors("[]").length === 0;
const client = new Client("http://127.0.0.1:7007", "token");
const ended = async (run: string): Promise<Run["status"]> => (await client.waitUntil(run)).status;
const code = (error: unknown): string => (error instanceof ApiError ? error.code : "");
const asked = async (): Promise<Question[]> => {
  const found: Question[] = [];
  for await (const question of await client.listQuestions()) found.push(question);
  return found;
};
// @ts-expect-error: nor is this a choice
client.answerQuestion("int_1", { choice: "perhaps" });
// @ts-expect-error: a closed vocabulary is closed
envelope.terminal_reason = "tired";
// @ts-expect-error: the pure part writes no files
pure.writeSkillReport;
export { asked, code, digits, ended, plain, text, ok };
`;

/** The Node half by the package's plain name, as a program for Node gets it, with any resolver. */
const HALF = `
import { readSkillReport, runStep, writeSkillReport, type Attempt } from "envoi";

export const counted = runStep((step: Attempt) => ({ words: step.handoff?.summary.length ?? 0 }));
export const name: string | undefined = readSkillReport("report.json")?.skillName;
export const write: typeof writeSkillReport = writeSkillReport;
`;

/** A page's own half by the plain name, for who says that it is a page. */
const PURE = `
import { judge } from "envoi";
// @ts-expect-error: a page writes no files
import { writeSkillReport } from "envoi";
export const ok: boolean = judge({ exit: 0 }).ok;
`;

/** What the platform has is what the client takes: a page's own types. */
const PAGE = `
import { Client } from "envoi/client";

const stop: AbortController = new AbortController();
export const client = new Client(location.origin, "token", { fetch: (url, init) => fetch(url, init) });
export const other = new Client(location.origin, "token", { fetch: window.fetch.bind(window) });
export const answer = async (file: File, bytes: Uint8Array): Promise<void> => {
  await client.answerQuestion("int_1", { choice: "approve", files: [file, bytes, { content: file, mime: "text/plain" }] }, { signal: stop.signal });
  for await (const event of client.followRun("run_1", { signal: AbortSignal.timeout(1000) })) document.title = String(event.seq);
};
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
function compile(project: string, files: string[], module: string, moduleResolution: string, more: object = {}): void {
  const strictest = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
  const compilerOptions = { ...strictest, target: "es2022", lib: ["es2022"], types: [], module, moduleResolution, ...more };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  run(project, process.execPath, join(PACKAGE, "node_modules", "typescript", "bin", "tsc"), "-p", project);
}

const folder = mkdtempSync(join(tmpdir(), "envoi-packed-"));
try {
  const copy = join(folder, "a copy é");
  run(PACKAGE, "cp", "-R", ".", copy);
  rmSync(join(copy, "dist"), { recursive: true, force: true });
  run(copy, "npm", "pack", "--silent", "--pack-destination", folder);
  const packed = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  assert.equal(packed.length, 1);

  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"name": "consumer", "private": true, "type": "module"}');
  run(project, "npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", join(folder, packed[0] ?? ""));
  const installed = join(project, "node_modules", "envoi");
  assert.deepEqual(readdirSync(installed).sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"]);

  const examples = await runExamples(join(installed, "README.md"), project);
  writeFileSync(join(project, "consumer.ts"), CONSUMER);
  writeFileSync(join(project, "skill.ts"), skill());
  writeFileSync(join(project, "half.ts"), HALF);
  compile(project, ["consumer.ts", "skill.ts", "half.ts"], "nodenext", "nodenext");
  compile(project, ["consumer.ts", "skill.ts", "half.ts"], "esnext", "bundler");
  writeFileSync(join(project, "pure.ts"), PURE);
  compile(project, ["consumer.ts", "pure.ts"], "esnext", "bundler", { customConditions: ["browser"] });
  writeFileSync(join(project, "page.ts"), PAGE);
  compile(project, ["page.ts"], "esnext", "bundler", { lib: ["es2022", "dom"] });
  const files = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));
  const vectors = run(project, "npx", "--no-install", "envoi-conformance", ...files.map((name) => join(VECTORS, name)));
  assert.equal(/^[1-9][0-9]* passed, 0 failed\n$/.test(vectors), true, vectors);
  process.stdout.write(`packed: ${examples} examples of the README, the types, and vectors (${vectors.trim()})\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
