import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { parseJson } from "envoi";
import { runVectors } from "envoi/conformance";

const VECTORS = fileURLToPath(new URL("../../../spec/vectors/", import.meta.url));
const RUNNER = fileURLToPath(new URL("../dist/conformance-cli.js", import.meta.url));
const FILES = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));

for (const name of FILES) {
  test(`every vector of ${name} passes`, () => {
    const bytes = readFileSync(join(VECTORS, name));
    const outcomes = runVectors(bytes);
    const cases = parseJson(bytes);
    assert(Array.isArray(cases) && cases.length > 0);
    assert.equal(outcomes.length, cases.length);
    assert.deepEqual(outcomes.filter(({ passed }) => !passed), []);
  });
}

test("the five contracts have vectors", () => {
  assert.deepEqual(FILES, ["envelope.json", "handoff.json", "routing.json", "skill-report.json", "user-envelope.json"]);
});

test("a case that is not understood or not met fails", () => {
  const cases = [
    { name: "no operation" },
    { op: "route.guess", name: "unknown operation", input: {}, expect: {} },
    { op: "route.resolve", name: "no argument", expect: {} },
    { op: "route.resolve", name: "no expectation", input: { handoff_text: "x" } },
    { op: "route.resolve", name: "other code", input: {}, expect_error: "HANDOFF_INVALID" },
    { op: "route.resolve", name: "other reason", input: {}, expect_error: { code: "ROUTING_INVALID", reason_prefix: "zz" } },
    { op: "route.resolve", name: "refused", input: {}, expect: {} },
    { op: "route.resolve", name: "not refused", input: { handoff_text: "x" }, expect_error: "ROUTING_INVALID" },
    { op: "route.resolve", name: "a member less", input: { handoff_text: "x" }, expect: { decision: "proceed" } },
    { op: "route.resolve", name: "other bytes", input: { handoff_text: "x" }, expect_text: "{}" },
    { op: "route.convert", name: "unknown form", input: { signal: { decision: "advance" }, to: "x" }, expect: {} },
    { op: "envelope.apply", name: "unknown step", input: { operations: [{ op: "fly" }] }, expect: { observations: [] } },
    { op: "envelope.apply", name: "other state", input: { operations: [] }, expect: { to_dict: {} } },
    { op: "envelope.roundtrip", name: "other text", input: { metadata: { a: 1 } }, expect: { members: { metadata: '{"a":1.0}' } } },
    { op: "user_envelope.parse", name: "without a switch", input: { raw: "x" }, expect: { text: "x" } },
    { op: "skill.judge", name: "other message", input: { exit: 1, stderr: "a" }, expect: { ok: false, error: { code: "TOOL_EXIT_NON_ZERO", message: "b" } } },
  ];
  for (const each of cases) assert.deepEqual(runVectors(JSON.stringify([each])).map(({ passed }) => passed), [false], each.name);
});

/** Runs the command on files of these contents. */
function run(...contents: string[]): { status: number | null; stdout: string; stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), "envoi-vectors-"));
  try {
    const files = contents.map((_, index) => `${index}.json`);
    files.forEach((file, index) => writeFileSync(join(folder, file), contents[index] ?? ""));
    return spawnSync(process.execPath, [RUNNER, ...files], { encoding: "utf8", cwd: folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const GOOD = '[{"op":"user_envelope.answer_text","name":"a","input":{"userResponse":"x"},"expect":"x"}]';
const BAD = '[{"op":"user_envelope.answer_text","name":"b","input":{},"expect":"x"},{"op":"fly","name":"c","input":{}}]';

test("the command says each failure on a line, then the counts, and exits 1 if there is one", () => {
  assert.deepEqual(run(GOOD).stdout, "1 passed, 0 failed\n");
  assert.equal(run(GOOD).status, 0);
  const { status, stdout } = run(GOOD, BAD);
  const lines = [
    '1.json: b: expected "x", got "[Approved by operator]"',
    "1.json: c: expected nothing: the case has no expectation, got a case that this runner does not know how to run",
    "1 passed, 2 failed",
  ];
  assert.equal(stdout, `${lines.join("\n")}\n`);
  assert.equal(status, 1);
});

test("a file that cannot be run and a missing argument are no failed cases: exit 2", () => {
  for (const { status, stdout, stderr } of [run("{}"), run("["), run()]) {
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert(stderr.startsWith("envoi-conformance: "));
  }
});

test("the command prints what the binary prints", { skip: process.env["ENVOI"] === undefined }, () => {
  const folder = mkdtempSync(join(tmpdir(), "envoi-vectors-"));
  writeFileSync(join(folder, "bad.json"), BAD);
  const args = ["bad.json", ...FILES.map((name) => join(VECTORS, name))];
  const ours = spawnSync(process.execPath, [RUNNER, ...args], { encoding: "utf8", cwd: folder });
  const theirs = spawnSync(process.env["ENVOI"] ?? "", ["conformance", ...args], { encoding: "utf8", cwd: folder });
  rmSync(folder, { recursive: true, force: true });
  assert.equal(ours.stdout, theirs.stdout);
  assert.equal(ours.status, theirs.status);
});

test("the documented command runs this runner, and asks no registry for a package of its name", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const documented = readFileSync(join(root, "docs", "conformance.md"), "utf8").split("\n").filter((line) => line.includes("npx "));
  const nobody = { npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0", npm_config_cache: join(root, "sdk", "typescript", "build", "npm") };
  const { stdout, stderr } = spawnSync("sh", ["-c", documented.join("\n")], { encoding: "utf8", cwd: root, env: { ...process.env, ...nobody } });
  assert.equal(/^[1-9][0-9]* passed, 0 failed\n$/.test(stdout), true, stdout + stderr);
  assert.equal(documented.length, 1);
});
