/** What vectors cannot say: places of refusals, copies, constructors, files. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import {
  BlankAnswerError,
  ContractError,
  DEFAULT_TIME_TO_LIVE_MS,
  Envelope,
  FlowInterrupt,
  HandoffEnvelope,
  INTERRUPT_KINDS,
  InterruptResponse,
  JsonError,
  JsonNumber,
  ProcessingRecord,
  RoutingSignal,
  SkillReport,
  TERMINAL_REASONS,
  UserEnvelopeParseError,
  answerText,
  createEnvelope,
  createInterrupt,
  formatCompact,
  formatJson,
  formatTime,
  judge,
  parseTerminalReason,
  parseTime,
  parseSkillReport,
  parseUserEnvelope,
  readSkillReport,
  resolveRouting,
  summarize,
  wrapUserEnvelope,
  writeHandoff,
  writeSkillReport,
  type AttachmentRef,
  type JsonValue,
} from "envoi";
import * as pure from "envoi/pure";

function refused(run: () => unknown): ContractError {
  try {
    run();
  } catch (error) {
    assert(error instanceof ContractError);
    return error;
  }
  return assert.fail("was not refused");
}

test("a wrong member is refused with its pointer and place, and nothing is built", () => {
  const rows: [string, string, number][] = [
    ['{"envelope_id": null}', "/envelope_id", 17],
    ['{"stage_order": ["a", 1]}', "/stage_order/1", 23],
    ['{"active_stages": {"a/b": "yes"}}', "/active_stages/a~1b", 27],
    ['{"processing_history": [{}, {"started_at": "noon"}]}', "/processing_history/1/started_at", 44],
    ['{"interrupt": {}}', "/interrupt", 15],
    ['{"interrupt": {"kind": "timeout", "response": {"approved": "yes"}}}', "/interrupt/response/approved", 60],
    ['{"🧪": 1, "terminal_reason": "tired"}', "/terminal_reason", 29],
  ];
  for (const [text, pointer, column] of rows) {
    const { code, pointer: found, position } = refused(() => Envelope.decode(text));
    assert.deepEqual([code, found, position], ["ENVELOPE_INVALID", pointer, { line: 1, column }]);
    assert.equal(refused(() => Envelope.fromDict(JSON.parse(text))).pointer, pointer);
  }
});

test("an envelope is read from plain JavaScript, and shares nothing with it", () => {
  const metadata = { list: [1] };
  const envelope = Envelope.fromDict({ metadata, iteration: 2, terminal_reason: "COMPLETED" });
  metadata.list.push(2);
  assert.equal(formatCompact(envelope.metadata), '{"list":[1]}');
  assert.deepEqual([envelope.iteration, envelope.terminal_reason], [2, "completed"]);
  const state = envelope.toStateDict();
  envelope.metadata.set("later", true);
  assert.equal(formatCompact(state.get("metadata")), '{"list":[1]}');
});

test("a stage context is a copy", () => {
  const envelope = new Envelope();
  const goals = ["a", "b", "a"];
  envelope.initializeGoals(goals);
  const context = envelope.getStageContext();
  envelope.markGoalComplete("a");
  envelope.markGoalComplete("unknown");
  assert.deepEqual(context.remaining_goals, goals);
  assert.deepEqual(envelope.remaining_goals, ["b", "a"]);
  assert.deepEqual(Array.from(envelope.goal_completion_status), [["a", "complete"], ["b", "pending"]]);
});

test("what nobody could read again is not written, whatever plain JavaScript has put there", () => {
  const rows: [string, unknown, string][] = [
    ["terminal_reason", "done", "/terminal_reason"],
    ["created_at", "yesterday", "/created_at"],
    ["received_at", 5, "/received_at"],
    ["terminated", "yes", "/terminated"],
    ["raw_input", undefined, "/raw_input"],
    ["user_id", null, "/user_id"],
    ["stage_order", [1], "/stage_order/0"],
    ["completed_stages", ["x"], "/completed_stages/0"],
    ["failed_stages", new Map([["a", 1]]), "/failed_stages/a"],
    ["outputs", { seen: new Set() }, "/outputs/seen"],
    ["outputs", [], "/outputs"],
    ["processing_history", "none", "/processing_history"],
    ["processing_history", [new ProcessingRecord({ started_at: "noon" })], "/processing_history/0/started_at"],
    ["processing_history", [new ProcessingRecord({ status: "ok" as "success" })], "/processing_history/0/status"],
    ["interrupt", new FlowInterrupt({ kind: "approval" as "timeout" }), "/interrupt/kind"],
    ["interrupt", new FlowInterrupt({ kind: "timeout", expires_at: "soon" }), "/interrupt/expires_at"],
    ["interrupt", new FlowInterrupt({ kind: "timeout", response: new InterruptResponse({ received_at: "now" }) }), "/interrupt/response/received_at"],
    ...[-1, 1.5, NaN, 2 ** 53].map((wrong): [string, unknown, string] => ["iteration", wrong, "/iteration"]),
  ];
  for (const [name, value, pointer] of rows) {
    const envelope = Object.assign(new Envelope(), { [name]: value });
    assert.deepEqual([refused(() => envelope.toStateDict()).code, refused(() => formatJson(envelope)).pointer], ["ENVELOPE_INVALID", pointer]);
  }
  let deep: JsonValue = null;
  for (let level = 0; level < 126; level += 1) deep = new Map([["a", deep]]);
  assert.equal(refused(() => Object.assign(new Envelope(), { outputs: { deep } }).toDict()).expected, "at most 127 levels of nesting");
  assert.equal(refused(() => new FlowInterrupt({ kind: "timeout", status: "open" as "pending" }).toJson()).pointer, "/status");
  assert.equal(refused(() => new ProcessingRecord({ llm_calls: 0.5 }).toJson()).pointer, "/llm_calls");
  assert.equal(refused(() => new InterruptResponse({ approved: 1 as unknown as boolean }).toJson()).pointer, "/approved");
});

test("what plain JavaScript says in its own way is written in the contract's", () => {
  const envelope = Object.assign(new Envelope(), { outputs: { a: { n: 1 } }, active_stages: { a: true }, unknown: { more: [1] }, completed_at: new Date(0), terminal_reason: "COMPLETED" });
  const state = envelope.toStateDict();
  assert.equal(formatCompact([state.get("outputs"), state.get("active_stages"), state.get("more")]), '[{"a":{"n":1}},{"a":true},[1]]');
  assert.deepEqual([state.get("completed_at"), state.get("terminal_reason"), state.size], ["1970-01-01T00:00:00.000Z", "completed", 38]);
  assert.equal(formatJson(Envelope.decode(formatJson(envelope))), formatJson(envelope));
});

test("a hand-off or a signal that nobody could read again is not written", () => {
  const handoff = writeHandoff({ step_id: "s", flow_key: "f", run_id: "r", status: "succeeded" });
  const rows: [object, string][] = [
    [{ summary: "x".repeat(2001) }, "/summary"],
    [{ error: "bad" }, "/error"],
    [{ timestamp: "never" }, "/timestamp"],
    [{ status: "done" }, "/status"],
    [{ step_id: " " }, "/step_id"],
    [{ duration_ms: 1.5 }, "/duration_ms"],
    [{ duration_ms: NaN }, "/duration_ms"],
    [{ artifacts: { a: "../a" } }, "/artifacts/a"],
    [{ file_changes: new Set() }, "/file_changes"],
    [{ routing_signal: new RoutingSignal({ decision: "fly" as "loop" }) }, "/routing_signal/decision"],
    [{ routing_signal: { decision: "fly" } }, "/routing_signal/decision"],
  ];
  for (const [parts, pointer] of rows) {
    const { code, pointer: found } = refused(() => formatJson(new HandoffEnvelope({ ...handoff, ...parts })));
    assert.deepEqual([code, found], ["HANDOFF_INVALID", pointer]);
  }
  assert.equal(refused(() => new HandoffEnvelope({ ...handoff, error: "bad" }).toJson()).hint, "set the status to `failed`, or leave the error out");
  for (const [parts, pointer] of [[{ decision: "done" }, "/decision"], [{ decision: "branch" }, ""], [{ confidence: new JsonNumber("2") }, "/confidence"], [{ needs_human: 1 }, "/needs_human"]] as const) {
    const signal = new RoutingSignal(parts as object);
    for (const write of [() => signal.toResolver(), () => signal.toOrchestrator()]) {
      const { code, pointer: found } = refused(write);
      assert.deepEqual([code, found], ["ROUTING_SIGNAL_INVALID", pointer]);
    }
  }
});

test("given ids and a moment, creating reads no clock", () => {
  const request = { raw_input: "i", user_id: "u", session_id: "s", request_id: "r", envelope_id: "e", now_ms: 1767323045006 };
  const { received_at, created_at, max_iterations, max_stages } = createEnvelope(request);
  assert.deepEqual([received_at, created_at, max_iterations, max_stages], ["2026-01-02T03:04:05.006Z", "2026-01-02T03:04:05.006Z", 3, 5]);
});

test("ids are drawn as the other languages draw them, also where a page has no TLS", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto") ?? assert.fail("no crypto");
  const getRandomValues = (into: Uint8Array): Uint8Array => into.fill(0xff);
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues }, configurable: true });
  try {
    const uuid4 = "ffffffffffff4fffbfffffffffffffff";
    const { envelope_id, request_id } = createEnvelope({ raw_input: "i", user_id: "u", session_id: "s" });
    assert.deepEqual([envelope_id, request_id], [`env_${uuid4}`, `req_${uuid4}`]);
    assert.equal(createInterrupt({ kind: "timeout" }).id, `int_${uuid4}`);
  } finally {
    Object.defineProperty(globalThis, "crypto", own);
  }
  const one = createEnvelope({ raw_input: "i", user_id: "u", session_id: "s" });
  assert.equal(/^env_[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(one.envelope_id), true, one.envelope_id);
  assert.notEqual(one.envelope_id.slice(4), one.request_id.slice(4));
});

test("an interrupt made here expires by its kind", () => {
  for (const kind of INTERRUPT_KINDS) {
    const { status, data, created_at, expires_at } = createInterrupt({ kind, id: "i", now_ms: 0 });
    assert.deepEqual([status, data, created_at], ["pending", new Map(), "1970-01-01T00:00:00.000Z"]);
    const timeToLive = DEFAULT_TIME_TO_LIVE_MS[kind];
    assert.equal(expires_at, timeToLive === null ? null : formatTime(timeToLive));
  }
  assert.equal(formatTime(DEFAULT_TIME_TO_LIVE_MS.clarification ?? 0), "1970-01-02T00:00:00.000Z");
});

test("terminal reasons are read in any case", () => {
  assert.equal(TERMINAL_REASONS.length, 20);
  for (const reason of TERMINAL_REASONS) assert.equal(parseTerminalReason(reason.toUpperCase()), reason);
  assert.equal(parseTerminalReason("completeD "), undefined);
});

test("times are read with their offset and shown in UTC", () => {
  const rows: [string, string | undefined][] = [
    ["2026-01-02T04:04:06.5+01:00", "2026-01-02T03:04:06.500Z"],
    ["2026-01-26T09:30:00.123456+00:00Z", "2026-01-26T09:30:00.123Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
    ["1969-12-31T23:59:59.001Z", "1969-12-31T23:59:59.001Z"],
    ["2100-02-29T00:00:00Z", undefined],
    ["2026-01-02T03:04:05", undefined],
    ["9999-12-31T23:59:59-00:01", undefined],
  ];
  for (const [read, shown] of rows) {
    const moment = parseTime(read);
    assert.equal(moment === undefined ? undefined : formatTime(moment), shown, read);
  }
  for (let day = -719528; day < 2932897; day += 997) {
    const shown = formatTime(day * 86_400_000);
    assert.equal(shown, new Date(day * 86_400_000).toISOString());
    assert.equal(parseTime(shown), day * 86_400_000);
  }
});

test("the engine's identity overrules what a step states, and the difference is kept", () => {
  const input = { step_id: "other", flow_key: "f", run_id: "r", status: "succeeded", verification_details: "fine" } as const;
  const handoff = writeHandoff(input, { step_id: "s", flow_key: "f", run_id: "r" });
  assert.equal(handoff.step_id, "s");
  const details = '{"details":"fine","identity_overruled":{"step_id":{"stated":"other","used":"s"}}}';
  assert.equal(formatCompact(handoff.verification_details), details);
});

test("a hand-off's own members are refused where they stand", () => {
  const base = '"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"advance"},"summary":"x","status":"succeeded"';
  assert.equal(HandoffEnvelope.decode(`{${base}}`).routing_signal.confidence.text, "0.7");
  assert.equal(HandoffEnvelope.decode(`{${base},"timestamp":"2026-01-02T03:04:05.1+00:00Z"}`).timestamp, "2026-01-02T03:04:05.1Z");
  assert.equal(refused(() => HandoffEnvelope.decode(`{${base},"timestamp":"noon"}`)).pointer, "/timestamp");
  const long = "🧪".repeat(2001);
  for (const [member, pointer] of [['"artifacts":{"a/b":"../x"}', "/artifacts/a~1b"], ['"duration_ms":1.5', "/duration_ms"], ['"error":"x"', "/error"]] as const) {
    assert.equal(refused(() => HandoffEnvelope.decode(`{${base},${member}}`)).pointer, pointer);
  }
  assert.equal(refused(() => HandoffEnvelope.decode(`{${base.replace('"x"', `"${long}"`)}}`)).found, "2001 of them");
  assert.equal(refused(() => HandoffEnvelope.decode(`{${base.replace("advance", "fly")}}`)).pointer, "/routing_signal/decision");
});

test("white space is ASCII: a form feed is blank, a vertical tab and a no-break space are not", () => {
  const write = (run_id: string): string => writeHandoff({ step_id: "s", flow_key: "f", run_id, status: "skipped" }).run_id;
  for (const id of ["\v", "\u00a0", "\uFEFF"]) assert.equal(write(id), id);
  for (const id of ["", " ", "\t\n\f\r"]) assert.equal(refused(() => write(id)).pointer, "/run_id");
});

test("a known member is never written twice, nor by an unknown one", () => {
  const envelope = new Envelope();
  envelope.user_id = "u";
  envelope.unknown.set("user_id", "other").set("more", true);
  const state = envelope.toStateDict();
  assert.deepEqual([state.get("user_id"), state.get("more"), state.size], ["u", true, 38]);
});

test("a summary counts scalars, keeps what states something, and says what it left out", () => {
  const exact = "🧪".repeat(2000);
  assert.equal(summarize(` ${exact}\n`), exact);
  const summary = summarize(`${"word ".repeat(500)}\nStatus: VERIFIED\n${"é🧪 ".repeat(900)}`);
  assert.equal(summary.startsWith("Status: VERIFIED\nword word"), true);
  assert.equal(Array.from(summary).length <= 2000, true);
  assert.equal(/\n… \[\d+ characters omitted\] …\n/.test(summary), true);
  const often = summarize(`${"Status: UNVERIFIED\n".repeat(200)}Status: VERIFIED\n${"x ".repeat(900)}`);
  assert.equal(often.startsWith("Status: UNVERIFIED\nStatus: VERIFIED\nStatus: UNVERIFIED\n"), true);
});

test("a routing input can be a value, a text, or bytes", () => {
  const input = { handoff_text: "Status: DONE", routing: { routing_kind: "microloop", loop_target: "done" } } as const;
  const text = JSON.stringify(input);
  for (const each of [input, text, new TextEncoder().encode(` \n${text}`)]) assert.equal(resolveRouting(each).decision, "advance");
  assert.equal(refused(() => resolveRouting(new Uint8Array([0xff]))).expected, "UTF-8 text");
  assert.equal(refused(() => resolveRouting({ ...input, iteration: 0.5 })).pointer, "/iteration");
});

test("a word ends where its letters end, those beyond the first plane too", () => {
  const routing = { routing_kind: "microloop", loop_target: "VERIFIED" } as const;
  for (const handoff_text of ["It is 𐐀VERIFIED.", "It is VERIFIED𐐀.", "It is éVERIFIED", "𐐀Status: VERIFIEDx"]) {
    assert.equal(resolveRouting({ handoff_text, routing }).reason, "Handoff does not state a status", handoff_text);
  }
  assert.equal(resolveRouting({ handoff_text: "🧪VERIFIED🧪", routing }).reason, "Loop target reached");
});

test("a full stop ends a denial, other marks do not", () => {
  const routing = { routing_kind: "microloop", loop_target: "VERIFIED" } as const;
  assert.equal(resolveRouting({ handoff_text: "Better not. VERIFIED", routing }).decision, "advance");
  assert.equal(resolveRouting({ handoff_text: "It is not yet: «VERIFIED»", routing }).decision, "loop");
});

test("a text of megabytes on one line is read in one go", () => {
  const routing = { routing_kind: "microloop", loop_target: "VERIFIED" } as const;
  const rows: [string, string][] = [
    ["Status: VERIFIED. ", "Loop target reached"],
    ["x go to y ", "Handoff does not state a status"],
    ["Go to step 'a' ", "Explicit routing hint: step 'a'"],
  ];
  for (const [piece, reason] of rows) {
    assert.equal(resolveRouting({ handoff_text: piece.repeat(130_000), routing }).reason, reason);
  }
});

test("a hint into another flow leads only where that flow's step is listed", () => {
  const given = { handoff_text: "Go to flow 'g' step 'x'", flow: "f" };
  assert.equal(resolveRouting({ ...given, steps: ["x"] }).reason, "No routing configuration; unknown step 'g/x'");
  assert.deepEqual(resolveRouting({ ...given, steps: ["g/x"] }).route, { flow: "g", step_id: "x" });
  assert.deepEqual(resolveRouting({ ...given, flow: "g", steps: ["x"] }).route, { flow: null, step_id: "x" });
});

test("a branch names its flow only where it is another one", () => {
  const signal = RoutingSignal.from({ decision: "route", route: { flow: "g", step_id: "x" } });
  assert.equal(signal.toOrchestrator("g").get("route"), "x");
  assert.equal(signal.toOrchestrator("f").get("route"), "g/x");
  assert.deepEqual([signal.decision, signal.raw_decision, signal.next_step_id], ["branch", "route", "x"]);
});

/** A folder that is gone afterwards. */
function inFolder(run: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "envoi-report-"));
  try {
    run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("a report is written whole, in the order of the contract, and nothing is left beside it", () => {
  inFolder((folder) => {
    const path = join(folder, "deep", "er", "report.json");
    const data = { big: 2n ** 64n, digits: new JsonNumber("1.00"), order: new Map([["10", 1], ["9", 2]]) };
    writeSkillReport(path, "s", "before");
    const report = writeSkillReport(path, "s", data, { metrics: { cost_usd: new JsonNumber("0.10") }, error: { code: "HALF", message: "m" } });
    const time = report.generatedAt;
    const expected = `{"ok":false,"generatedAt":"${time}","skillName":"s","data":{"big":18446744073709551616,"digits":1.00,"order":{"10":1,"9":2}},"metrics":{"cost_usd":0.10},"error":{"code":"HALF","message":"m"}}`;
    assert.equal(formatCompact(readSkillReport(path)), expected);
    assert.equal(readFileSync(path, "utf8").endsWith("\n}\n"), true);
    assert.deepEqual(readdirSync(join(folder, "deep", "er")), ["report.json"]);
    assert.deepEqual(judge({ exit: 0, report: readFileSync(path) }).error, { code: "HALF", message: "m" });
  });
});

test("no error is no error, however it is said, and a report that would be none is not written", () => {
  inFolder((folder) => {
    const path = join(folder, "report.json");
    for (const none of [{ error: null }, { error: undefined }, { ok: undefined, error: null, metrics: null }]) {
      const { ok, error, metrics, unknown } = writeSkillReport(path, "s", 1, none as object);
      assert.deepEqual([ok, error, metrics, unknown], [true, undefined, undefined, new Map()]);
      assert.equal(judge({ exit: 0, report: readFileSync(path) }).ok, true);
    }
    const before = readFileSync(path, "utf8");
    const rows: [unknown, unknown, object, string][] = [
      [null, 1, {}, "/skillName"],
      ["s", 1, { ok: "no" }, "/ok"],
      ["s", 1, { ok: 0 }, "/ok"],
      ["s", 1, { ok: null }, "/ok"],
      ["s", 1, { okk: false }, "/okk"],
      ["s", 1, { success: false }, "/success"],
      ["s", 1, false as unknown as object, ""],
      ["s", 1, { error: new Error("disk full") }, "/error"],
      ["s", { seen: new Set() }, {}, "/data/seen"],
      ["s", Promise.resolve(1), {}, "/data"],
      ["s", 1, { metrics: { rate: NaN } }, "/metrics/rate"],
      ...["12", 1.5, -1, 1e30, true].map((figure): [unknown, unknown, object, string] => ["s", 1, { metrics: { llm_calls: figure } }, "/metrics/llm_calls"]),
      ["s", 1, { metrics: { tokens_out: [] } }, "/metrics/tokens_out"],
      ...[-5, "NaN", "-1", "1e3", 18446744074, {}].map((figure): [unknown, unknown, object, string] => ["s", 1, { metrics: { cost_usd: figure } }, "/metrics/cost_usd"]),
    ];
    for (const [name, data, options, pointer] of rows) {
      const { code, pointer: found } = refused(() => writeSkillReport(path, name as string, data, options));
      assert.deepEqual([code, found], ["SKILL_REPORT_INVALID", pointer]);
    }
    assert.equal(readFileSync(path, "utf8"), before);
    for (const metrics of [{ llm_calls: 0, tokens_in: 5, cost_usd: "0.000125" }, { cost_usd: 3.5e-5, llm_calls: null }, { cost_usd: -0, other: -1 }]) {
      assert.equal(writeSkillReport(path, "s", 1, { metrics }).metrics?.size, Object.keys(metrics).length);
    }
  });
});

test("a report that cannot be written leaves what stood there", () => {
  inFolder((folder) => {
    const path = join(folder, "report.json");
    writeSkillReport(path, "s", 1, { ok: false });
    assert.throws(() => writeSkillReport(path, "s", NaN), (error) => error instanceof ContractError || error instanceof JsonError);
    assert.equal(readSkillReport(path)?.ok, false);
    mkdirSync(join(folder, "taken"));
    assert.throws(() => writeSkillReport(join(folder, "taken"), "s", 1));
    assert.deepEqual(readdirSync(folder), ["report.json", "taken"]);
    writeFileSync(path, '{"ok":1}');
    assert.equal(readSkillReport(path), null);
    assert.equal(readSkillReport(join(folder, "none")), null);
    assert.throws(() => readSkillReport(folder));
    assert.equal(refused(() => parseSkillReport('{"ok":1}')).pointer, "/ok");
  });
});

test("writing a report prints one line", () => {
  inFolder((folder) => {
    const path = join(folder, "r.json");
    const script = `import { writeSkillReport } from "envoi"; writeSkillReport(process.env.OUT, "triage", undefined);`;
    const here = fileURLToPath(new URL(".", import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd: here, encoding: "utf8", env: { OUT: path } });
    assert.equal(stdout + stderr, `triage: ok, report in ${path}\n`);
    assert.equal(readSkillReport(path)?.data, null);
  });
});

test("a report that counts as a failure says so in its line, and has an error also if none was given", () => {
  inFolder((folder) => {
    const path = join(folder, "r.json");
    const script = `import { writeSkillReport } from "envoi"; writeSkillReport(process.env.OUT, "triage", 1, { ok: false });`;
    const here = fileURLToPath(new URL(".", import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd: here, encoding: "utf8", env: { OUT: path } });
    assert.equal(stdout + stderr, `triage: failed (SKILL_REPORTED_FAILURE: Skill reported ok:false), report in ${path}\n`);
    const written = readFileSync(path, "utf8");
    assert(/"code": "SKILL_REPORTED_FAILURE",\s+"message": "Skill reported ok:false"/.test(written), written);
  });
});

test("metrics that are no object are kept as they came", () => {
  const text = '{"ok":true,"generatedAt":"t","skillName":"s","metrics":5}';
  assert.equal(formatCompact(SkillReport.decode(text)), text);
});

test("an error without a code of its own has one of ours", () => {
  const report = '{"ok":true,"generatedAt":"t","skillName":"s","error":{"code":"","message":"m"}}';
  assert.deepEqual(judge({ exit: 0, report }).error, { code: "SKILL_ERROR", message: "m" });
});

test("a signal is a failure whatever the exit code says", () => {
  assert.deepEqual(judge({ exit: 0, signal: 9 }).error, { code: "TOOL_EXIT_NON_ZERO", message: "signal 9" });
});

test("what an assigned report lacks is filled and named", () => {
  const fill = { skillName: "step", generatedAt: "2026-01-02T03:04:05Z" };
  const judged = judge({ exit: 0, report: '{"ok": true, "generatedAt": 7}', assigned: true, fill });
  assert.deepEqual(judged.filled, ["generatedAt", "skillName", "data"]);
  const { generatedAt, skillName, data } = judged.report ?? {};
  assert.deepEqual([generatedAt, skillName, data], [fill.generatedAt, "step", null]);
  const whole = '{"ok": true, "generatedAt": "t", "skillName": "s", "data": 1}';
  assert.deepEqual(judge({ exit: 0, report: whole, assigned: true, fill }).filled, []);
});

test("the verdict keeps the report of a failure", () => {
  const text = '{"ok":true,"generatedAt":"t","skillName":"s","data":1}';
  const { ok, error, report } = judge({ exit: null, signal: 9, report: text });
  assert.deepEqual([ok, error, report], [false, { code: "TOOL_EXIT_NON_ZERO", message: "signal 9" }, SkillReport.decode(text)]);
});

const REF = { artifactId: "a", representationRevisionId: "r", digest: "sha256:x", mime: "m", originKind: "upload" } as const;

function reason(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert(error instanceof UserEnvelopeParseError);
    assert.equal(error.code, "INVALID_USER_ENVELOPE");
    // Its code once, and it has the reason.
    assert.equal(error.message.split("INVALID_USER_ENVELOPE").length, 2, error.message);
    assert(error.message.endsWith(error.reason), error.message);
    return error.reason;
  }
  return assert.fail("was not refused");
}

test("an attachment beside the text that is no reference is refused with its place", () => {
  const why = reason(() => parseUserEnvelope("x", false, [{} as never]));
  assert(why.includes("artifactId"), why);
});

test("an opted-in text that is not the envelope is refused with its reason", () => {
  const [noJson, noMatch] = ["user_envelope=true but body.user is not valid JSON: ", "user_envelope=true but body.user does not match {text, attachments?}: "];
  const rows: [string, string][] = [
    ["x", `${noJson}expected a value, found \`x\` (line 1, column 1)`],
    ['{"text":1}', `${noMatch}expected a string, found \`1\` at \`/text\` (line 1, column 9)`],
    ['{"text":"","attachments":null}', `${noMatch}expected a list of references, found \`null\` at \`/attachments\` (line 1, column 26)`],
    ['{"text":"","a/b":1}', `${noMatch}expected no further member, found \`a/b\` at \`/a~1b\` (line 1, column 18)`],
  ];
  for (const [raw, expected] of rows) assert.equal(reason(() => parseUserEnvelope(raw, true)), expected);
});

test("the opt-in is exactly true or false", () => {
  const raw = '{"text":"t"}';
  for (const enabled of ["true", "false", "", 1, 0, null, undefined, {}]) {
    assert.throws(() => parseUserEnvelope(raw, enabled as unknown as boolean), (error) => error instanceof TypeError, String(enabled));
  }
  assert.deepEqual([parseUserEnvelope(raw, true).text, parseUserEnvelope(raw, false).text], ["t", raw]);
});

test("twenty attachments are the limit wherever they come from", () => {
  const refs = (count: number): AttachmentRef[] => Array.from({ length: count }, () => REF);
  const raw = (count: number): string => JSON.stringify({ text: "", attachments: refs(count) });
  assert.equal(parseUserEnvelope(raw(7), true, refs(13)).attachments?.length, 20);
  assert.equal(reason(() => parseUserEnvelope(raw(8), true, refs(13))), "merged attachments exceed the 20-ref total (envelope 8 + body 13 = 21)");
  assert.equal(reason(() => parseUserEnvelope("x", false, refs(21))), "merged attachments exceed the 20-ref total (envelope 0 + body 21 = 21)");
  assert.equal(reason(() => parseUserEnvelope(raw(21), true)).includes("at most 20 references"), true);
  assert.equal("attachments" in parseUserEnvelope(raw(0), true), false);
});

test("wrapping drops what is no reference and says how many", () => {
  for (const text of ["", ' {"text":1} ', "é\u0000"]) {
    assert.deepEqual(wrapUserEnvelope(text, [null]), { payload: text, enveloped: false, dropped: 1 });
    const { payload, enveloped, dropped } = wrapUserEnvelope(text, [{}, { ...REF, size: 3 }, { ...REF, extra: 1 }]);
    assert.deepEqual([enveloped, dropped, payload.startsWith('{"text":')], [true, 2, true]);
    assert.deepEqual(parseUserEnvelope(payload, true), { text, attachments: [{ ...REF, size: 3 }] });
  }
  assert.equal(reason(() => wrapUserEnvelope("", Array.from({ length: 21 }, () => REF))).includes("envelope 21 + body 0 = 21"), true);
});

test("a question is not answered by an approval", () => {
  assert.equal(answerText({ userResponse: " a " }, "clarification"), " a ");
  assert.equal(answerText({ userResponse: " \n", approvalNote: " n " }), "n");
  assert.equal(answerText({ approved: false }), "[Denied by operator]");
  assert.equal(answerText({ userResponse: 7 }), "[Approved by operator]");
  assert.throws(() => answerText({ approved: true }, "clarification"), (error) => error instanceof BlankAnswerError);
});

/** Every file that `name` loads, none of which is Node's. */
function loaded(name: string): Set<string> {
  const seen = new Set<string>();
  const follow = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export) .*?from "(.*?)";$/gm)) {
      assert.equal(from.startsWith("."), true, `${file} imports ${from}`);
      follow(join(file, "..", from));
    }
  };
  follow(join(fileURLToPath(new URL("../dist/", import.meta.url)), name));
  return seen;
}

test("the client is for pages too", () => {
  assert(loaded("client.js").size > 25);
});

test("the pure part has all but the files, and loads nothing of Node", () => {
  assert.equal("writeSkillReport" in pure, false);
  assert.equal(pure.resolveRouting, resolveRouting);
  const seen = loaded("index.js");
  assert.equal(seen.size > 25, true);
  for (const file of seen) {
    const clocks = /\b(?:Date\.now|new Date|Math\.random|crypto|process)\b/.test(readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, ""));
    assert.equal(clocks, file.endsWith("create.js"), file);
  }
});
