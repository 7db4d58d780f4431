/** The examples of the seeds: those that any language can run are taken from the pages, those in Python are translated. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import {
  Envelope,
  HandoffEnvelope,
  createEnvelope,
  formatJson,
  parseSkillReport,
  parseTime,
  parseUserEnvelope,
  readSkillReport,
  resolveRouting,
  toPlain,
  writeHandoff,
  type SkillReportEnvelope,
} from "envoi";

import { block, page, skillReport } from "./pages.js";

test("seed 0: labelled text becomes the printed hand-off, byte for byte", () => {
  const name = "0-envelope-writer.md";
  assert.equal(formatJson(writeHandoff(block(name))), block(name, "json"));
  assert.equal(formatJson(HandoffEnvelope.decode(block(name, "json"))), block(name, "json"));
});

test("seed 1: labelled text becomes the printed signal, byte for byte", () => {
  const name = "1-routing-signal-resolver.md";
  assert.equal(formatJson(resolveRouting(block(name))), block(name, "json"));
});

test("seed 2: an envelope is created, works on goals, and is restored", () => {
  const envelope = createEnvelope({
    raw_input: "Analyze the authentication module",
    user_id: "user-123",
    session_id: "session-456",
    request_id: "req-789",
    metadata: { capability: "code_analysis", repo_path: "/path/to/repo" },
  });
  assert(parseTime(envelope.created_at ?? "") !== undefined);
  assert.equal(envelope.received_at, envelope.created_at);
  assert.equal(/^env_[0-9a-f]{32}$/.test(envelope.envelope_id), true);

  const goals = ["Find authentication entry point", "Trace login flow", "Identify security vulnerabilities"];
  envelope.initializeGoals(goals);
  envelope.markGoalComplete("Find authentication entry point");
  assert.deepEqual(envelope.remaining_goals, ["Trace login flow", "Identify security vulnerabilities"]);

  const context = envelope.getStageContext();
  assert.deepEqual([context.current_stage_number, context.max_stages, context.all_goals], [1, 5, goals]);

  const json_data = envelope.toDict();
  const full_state = envelope.toStateDict();
  assert.deepEqual([json_data.size, full_state.size], [22, 37]);
  assert.deepEqual(Envelope.fromDict(full_state), envelope);
  assert.equal(formatJson(Envelope.fromDict(json_data).toDict()), formatJson(json_data));

  assert.equal(envelope.isStuck(2), false);
  envelope.advanceStage();
  assert.equal(envelope.isStuck(2), false);
  envelope.initializeGoals(goals);
  assert.equal(envelope.isStuck(2), true);

  assert.deepEqual([envelope.terminated, envelope.terminal_reason], [false, null]);
  const ended = Envelope.fromDict({ terminated: true, terminal_reason: "MAX_LLM_CALLS_EXCEEDED" });
  assert.equal(ended.terminated && `Terminated: ${ended.terminal_reason}`, "Terminated: max_llm_calls_exceeded");
});

test("seed 3: the printed lines write a report", () => {
  const folder = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), "seed-"));
  try {
    const outputPath = join(folder, "out", "report.json");
    const domainData = { totals: { billing: 1, work: 1, personal: 1, spam: 1 }, items: [] };
    const given = `const outputPath = ${JSON.stringify(outputPath)}, domainData = ${JSON.stringify(domainData)};\n`;
    writeFileSync(join(folder, "skill.mjs"), given + skillReport().usage);
    const { status, stderr } = spawnSync(process.execPath, [join(folder, "skill.mjs")], { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);

    const report: SkillReportEnvelope = JSON.parse(readFileSync(outputPath, "utf8"));
    assert.deepEqual(Object.keys(report), ["ok", "generatedAt", "skillName", "data", "metrics"]);
    assert.deepEqual([report.ok, report.skillName, report.data, report.metrics], [true, "my-skill-name", domainData, { someCounter: 42 }]);
    assert.equal(new RegExp("^[0-9-]{10}T[0-9:]{8}[.][0-9]{3}Z$").test(report.generatedAt), true);
    assert.deepEqual(toPlain(readSkillReport(outputPath)?.data ?? null), domainData);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("seed 3: the printed output is a report, and says the same when it is written again", () => {
  const printed = block("3-skill-report.md", "json").replace("[...]", "[]");
  const report = parseSkillReport(printed);
  assert.deepEqual([report.ok, report.skillName], [true, "mail-triage"]);
  assert.deepEqual(JSON.parse(formatJson(report)), JSON.parse(printed));
});

test("seed 4: the printed answer is taken apart, and passed through where nobody opted in", () => {
  const [userResponse = ""] = /\{ "text": .*? \]\}/.exec(page("4-user-envelope.md")) ?? [];
  const { text, attachments } = JSON.parse(userResponse) as { text: string; attachments: unknown[] };
  assert.deepEqual([text, attachments.length], ["Approved with edits to draft #4.", 1]);
  assert.deepEqual(parseUserEnvelope(userResponse, true), { text, attachments });
  assert.deepEqual(parseUserEnvelope(userResponse, false), { text: userResponse });
});
