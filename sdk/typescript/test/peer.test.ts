/**
 * The binary is the other implementation: what this library answers to random inputs, the binary must answer too, to the
 * byte. Runs when `$ENVOI` names the binary.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  ContractError,
  Envelope,
  RoutingSignal,
  UserEnvelopeParseError,
  convert,
  formatCompact,
  formatJson,
  judge,
  parseUserEnvelope,
  resolveRouting,
  writeHandoff,
  type AttachmentRef,
  type JsonValue,
  type SignalForm,
} from "envoi";

import { Chance, json, text } from "./chance.js";
import * as contracts from "./contracts.js";

const BINARY = process.env["ENVOI"] ?? "";
const options = { skip: BINARY === "" ? "$ENVOI does not name the binary" : false };

type Case = Record<string, unknown>;

/** A case whose expectation is what this library answers. */
function answered(op: string, argument: Case, answer: () => Case): Case {
  try {
    return { op, name: formatCompact(argument), ...argument, ...answer() };
  } catch (error) {
    if (error instanceof ContractError) return refused(op, argument, error.code, error.message);
    if (error instanceof UserEnvelopeParseError) return refused(op, argument, error.code, error.reason);
    throw error;
  }
}

function refused(op: string, argument: Case, code: string, reason: string): Case {
  return { op, name: formatCompact(argument), ...argument, expect_error: { code, reason_prefix: reason } };
}

/** Runs cases by the binary; what it says when all passed. */
function check(cases: readonly Case[]): void {
  const folder = mkdtempSync(join(tmpdir(), "envoi-peer-"));
  const path = join(folder, "cases.json");
  try {
    for (let start = 0; start < cases.length; start += 1000) {
      const some = cases.slice(start, start + 1000);
      writeFileSync(path, formatCompact(some));
      const { stdout, stderr } = spawnSync(BINARY, ["conformance", path], { encoding: "utf8", maxBuffer: 1 << 28 });
      assert.equal(stdout + stderr, `${some.length} passed, 0 failed\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function many(seed: number, count: number, make: (chance: Chance) => Case): void {
  const chance = new Chance(seed);
  check(Array.from({ length: count }, () => make(chance)));
}

/** Changes a text here and there, so that it is no JSON any more, or another. */
function damaged(chance: Chance, whole: string): string {
  let broken = whole;
  for (let times = chance.below(3); times > 0; times -= 1) {
    const at = chance.below(broken.length + 1);
    const piece = chance.of([",", ":", '"', "{", "}", "[", "]", "\\", "\\u", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "0", "-", ".", "e", "tru", "null", "\n", "\r\n", "\u0001", "é", "🧪", '"a":1,', "\uFEFF"]);
    broken = broken.slice(0, at) + piece + broken.slice(at + chance.below(3));
  }
  return broken.replace(/\p{Surrogate}/gu, "�");
}

test("a routing input resolves as it does in the binary", options, () => {
  many(1, 2500, (chance) => {
    const input_text = formatCompact(contracts.routingInput(chance));
    return answered("route.resolve", { input_text }, () => ({ expect_text: formatJson(resolveRouting(input_text)) }));
  });
});

test("a word ends in every script where it ends for the binary", options, () => {
  const borders: number[] = [];
  let was = false;
  for (let scalar = 0x80; scalar < 0x110000; scalar += 1) {
    const is = (scalar < 0xd800 || scalar > 0xdfff) && /[\p{Alphabetic}\p{N}]/u.test(String.fromCodePoint(scalar));
    if (is !== was) borders.push(scalar - 1, scalar);
    was = is;
  }
  const scalars = borders.filter((scalar) => scalar < 0xd800 || scalar > 0xdfff).map((scalar) => String.fromCodePoint(scalar));
  const cases: Case[] = [];
  for (let start = 0; start < scalars.length; start += 16) {
    const words = scalars.slice(start, start + 16).map((scalar, index) => `Status: x${index}${scalar}y\nGo to step z${index}${scalar}y`);
    const input_text = formatCompact({ handoff_text: words.join("\n"), routing: { loop_target: "x" } });
    const unhinted = formatCompact({ handoff_text: words.join("\n"), routing: { loop_target: "x" }, hints: false });
    cases.push(answered("route.resolve", { input_text }, () => ({ expect_text: formatJson(resolveRouting(input_text)) })));
    cases.push(answered("route.resolve", { input_text: unhinted }, () => ({ expect_text: formatJson(resolveRouting(unhinted)) })));
  }
  assert(scalars.length > 2000);
  check(cases);
});

test("labelled text resolves as it does in the binary", options, () => {
  many(2, 1000, (chance) => {
    const labels = ["Handoff text", "Step routing", "Iteration", "flow", "Steps", "HINTS"] as const;
    const routing = chance.once(2) ? "Step routing: loop_target=VERIFIED, max_iterations=2\n" : "";
    const input_text = `Handoff text: ${contracts.spoken(chance)}\n${routing}${contracts.labelled(chance, labels)}`;
    return answered("route.resolve", { input_text }, () => ({ expect_text: formatJson(resolveRouting(input_text)) }));
  });
});

test("a signal converts as it does in the binary", options, () => {
  many(3, 1000, (chance) => {
    const to: SignalForm = chance.of(["orchestrator", "resolver"]);
    const [signal, current_flow] = [contracts.signal(chance), chance.of(["f", "g", null])];
    return answered("route.convert", { input: { signal, to, current_flow } }, () => ({ expect_text: formatJson(convert(signal, to, current_flow)) }));
  });
});

test("a hand-off is written as it is by the binary", options, () => {
  many(4, 1200, (chance) => {
    const input_text = formatCompact(contracts.handoffInput(chance));
    return answered("handoff.write", { input_text }, () => ({ expect_text: formatJson(writeHandoff(input_text)) }));
  });
});

test("labelled text becomes the hand-off that the binary writes", options, () => {
  many(5, 1000, (chance) => {
    const labels = ["Output", "Summary", "Error", "Duration", "Artifacts", "Routing", "Timestamp", "started AT"] as const;
    const input_text = `Step ID: "s"\nFlow key: "f"\nRun ID: run-20251228-010000-abc123\nStatus: failed\n${contracts.labelled(chance, labels)}`;
    return answered("handoff.write", { input_text }, () => ({ expect_text: formatJson(writeHandoff(input_text)) }));
  });
});

test("an envelope is read and written as it is by the binary", options, () => {
  many(6, 600, (chance) => {
    const input_text = formatCompact(contracts.envelope(chance, 150));
    return answered("envelope.roundtrip", { input_text }, () => ({ expect: { members: memberTexts(Envelope.decode(input_text)) } }));
  });
});

test("what is no JSON is refused at the same place with the same words", options, () => {
  many(7, 1200, (chance) => {
    const input_text = damaged(chance, (chance.once(2) ? formatJson : formatCompact)(chance.once(2) ? json(chance) : contracts.envelope(chance)));
    return answered("envelope.roundtrip", { input_text }, () => ({ expect: { members: memberTexts(Envelope.decode(input_text)) } }));
  });
});

function memberTexts(envelope: Envelope): Map<string, JsonValue> {
  return new Map(Array.from(envelope.toStateDict(), ([name, value]) => [name, formatCompact(value)]));
}

test("a user envelope is taken apart as it is by the binary", options, () => {
  many(8, 1200, (chance) => {
    const whole = formatCompact(contracts.userEnvelope(chance));
    const raw = chance.once(4) ? damaged(chance, whole) : whole;
    const [enabled, refs] = [!chance.once(6), chance.once(3) ? chance.list(20, () => contracts.attachment(chance)) : []];
    const input = { raw, enabled, top_level: refs };
    const topLevel = refs as unknown[] as AttachmentRef[];
    return answered("user_envelope.parse", { input }, () => ({ expect_text: formatJson(parseUserEnvelope(raw, enabled, topLevel)) }));
  });
});

test("an execution is judged as it is by the binary", options, () => {
  many(9, 600, (chance) => {
    const report = new Map<string, JsonValue>([["ok", chance.once(2)], ["generatedAt", "t"], ["skillName", "s"], ["data", json(chance, 1)]]);
    if (chance.once(2)) report.set("error", chance.once(2) ? json(chance, 1) : new Map([["code", text(chance, 2)], ["message", text(chance)]]));
    const report_text = chance.once(4) ? null : damaged(chance, formatCompact(report));
    const [exit, signal] = [chance.of([0, 0, 0, 1, null]), chance.of([null, null, null, 9])];
    const [timed_out, cancelled, declared, stderr] = [chance.once(9), chance.once(9), chance.once(2), text(chance).repeat(chance.below(500))];
    const { ok, error } = judge({ exit, signal, timedOut: timed_out, cancelled, declared, stderr, report: report_text });
    return answered("skill.judge", { input: { exit, signal, timed_out, cancelled, declared, stderr, report_text } }, () => ({ expect: { ok, error } }));
  });
});

test("the filters `route` and `handoff` print the very bytes of this library", options, () => {
  const chance = new Chance(10);
  for (let times = 0; times < 20; times += 1) {
    const input = formatJson(contracts.routingInput(chance));
    same("route", input, () => formatJson(resolveRouting(input).toResolver()));
    const draft = formatJson(contracts.handoffInput(chance));
    same("handoff", draft, () => formatJson(writeHandoff(draft)));
  }
});

function same(command: string, input: string, ours: () => string): void {
  const { status, stdout } = spawnSync(BINARY, [command], { input, encoding: "utf8" });
  let expected = "";
  try {
    expected = ours();
  } catch (error) {
    assert(error instanceof ContractError);
  }
  assert.equal(stdout, expected, input);
  assert.equal(status, expected === "" ? 2 : 0, input);
}

test("a signal of this library stands in a hand-off as the binary writes it", options, () => {
  const routing_signal = new RoutingSignal({ decision: "branch", next_step_id: "x", route: { flow: "g", step_id: "x" } });
  const ids = { step_id: "s", flow_key: "f", run_id: "r", status: "succeeded" } as const;
  const written = formatJson(writeHandoff({ ...ids, routing_signal }));
  const theirs = spawnSync(BINARY, ["handoff"], { input: formatJson({ ...ids, routing_signal: routing_signal.toOrchestrator() }), encoding: "utf8" });
  assert.equal(written, theirs.stdout);
});
