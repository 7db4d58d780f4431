/** The examples of the seeds, as they are printed there, with the package's name changed. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  Envelope,
  createEnvelope,
  formatJson,
  parseTime,
  parseUserEnvelope,
  readSkillReport,
  resolveRouting,
  toPlain,
  writeHandoff,
  writeSkillReport,
  type SkillReportEnvelope,
} from "envoi";

test("seed 0: labelled text becomes the printed hand-off, byte for byte", () => {
  const summary =
    "Analyzed 15 user stories. Identified 3 high-priority features: authentication, user profile, and search functionality. Created requirements.md with detailed specifications.";
  const input = `Step ID: "analyze_requirements"
Flow key: "signal"
Run ID: "run-20251228-010000-abc123"
Output: "${summary}"
Status: succeeded
Duration: 45000 ms
Artifacts: requirements.md, user_stories.json
Routing: decision=advance, next_step_id=design_system, reason=requirements_complete, confidence=0.9
`;
  const output = `{
  "step_id": "analyze_requirements",
  "flow_key": "signal",
  "run_id": "run-20251228-010000-abc123",
  "routing_signal": {
    "decision": "advance",
    "next_step_id": "design_system",
    "route": null,
    "reason": "requirements_complete",
    "confidence": 0.9,
    "needs_human": false
  },
  "summary": "${summary}",
  "artifacts": {
    "requirements.md": "signal/requirements.md",
    "user_stories.json": "signal/user_stories.json"
  },
  "status": "succeeded",
  "error": null,
  "duration_ms": 45000,
  "timestamp": "2025-12-28T01:00:45.000Z"
}
`;
  assert.equal(formatJson(writeHandoff(input)), output);
});

test("seed 1: labelled text becomes the printed signal, byte for byte", () => {
  const input = `Handoff text: "The code review is complete. Status: VERIFIED"
Step routing: loop_target=VERIFIED, max_iterations=5, success_values=[VERIFIED], can_further_iteration_help=false
`;
  const output = `{
  "decision": "proceed",
  "next_step_id": null,
  "route": null,
  "reason": "Loop target reached",
  "confidence": 0.9
}
`;
  assert.equal(formatJson(resolveRouting(input)), output);
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
  assert.equal(/^[0-9a-f-]{36}$/.test(envelope.envelope_id), true);

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
  assert.equal(envelope.terminated, false);
});

test("seed 3: a skill writes its report", () => {
  const folder = mkdtempSync(join(tmpdir(), "envoi-seed-"));
  const outputPath = join(folder, "out", "report.json");
  const domainData = { totals: { billing: 1, work: 1, personal: 1, spam: 1 }, items: [] };

  writeSkillReport(outputPath, "my-skill-name", domainData, {
    metrics: { someCounter: 42 }
  });

  const report: SkillReportEnvelope = JSON.parse(readFileSync(outputPath, "utf8"));
  assert.deepEqual(Object.keys(report), ["ok", "generatedAt", "skillName", "data", "metrics"]);
  assert.deepEqual([report.ok, report.skillName, report.data, report.metrics], [true, "my-skill-name", domainData, { someCounter: 42 }]);
  assert.equal(new RegExp("^[0-9-]{10}T[0-9:]{8}[.][0-9]{3}Z$").test(report.generatedAt), true);
  assert.deepEqual(toPlain(readSkillReport(outputPath)?.data ?? null), domainData);
  rmSync(folder, { recursive: true });
});

test("seed 4: the printed answer is taken apart, and passed through where nobody opted in", () => {
  const userResponse = `{
  "text": "Approved with edits to draft #4.",
  "attachments": [
    { "artifactId": "art_…", "representationRevisionId": "rep_…", "digest": "sha256:…", "mime": "application/pdf", "originKind": "upload" }
  ]
}`;
  const attachment = { artifactId: "art_…", representationRevisionId: "rep_…", digest: "sha256:…", mime: "application/pdf", originKind: "upload" };
  assert.deepEqual(parseUserEnvelope(userResponse, true), { text: "Approved with edits to draft #4.", attachments: [attachment] });
  assert.deepEqual(parseUserEnvelope(userResponse, false), { text: userResponse });
});
