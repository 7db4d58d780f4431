/** Why a signal is what it is, and what an import had to interpret. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ContractError, Envelope, createEnvelope, formatCompact, parseJson, resolve, resolveRouting, toPlain } from "envoi";

import { digestOf } from "../dist/sha256.js";

test("an audit says which row fired, and why those before it did not", () => {
  const input = 'Handoff text: "Not yet VERIFIED. Go to step moon"\nStep routing: loop_target=VERIFIED, routing_kind=microloop\nSteps: [build]\n';
  const { signal, audit } = resolve(input);
  assert.deepEqual(signal, resolveRouting(input));
  assert.deepEqual(toPlain(audit.toJson()), {
    row: "6",
    fired_because: "the status is no success and iterations are left",
    passed_over: {
      "1": "the step that the hint names is unknown",
      "1a": "only one hint",
      "2": "routing is configured",
      "3": "the status not VERIFIED is no success value, inferred from unlabelled words",
      "4": "iterations are left",
      "5": "further iteration can help",
    },
    unknown_hint: "moon",
    input_digest: "sha256:582057d3386017aaafca3c89e75cae7d873b70d9f9065cd493d5186ac0eb29dd",
  });
});

test("another input has another digest", () => {
  const [one, other] = [0, 1].map((iteration) => resolve({ handoff_text: "x", iteration }).audit);
  assert(one !== undefined && one.input_digest !== other?.input_digest);
  assert.deepEqual([one.row, one.unknown_hint, one.toJson().has("unknown_hint")], ["2", null, false]);
});

test("digests are those of the standard, whatever the length", () => {
  const rows = [
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
    ["a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
  ] as const;
  for (const [text, digest] of rows) assert.equal(digestOf(text), `sha256:${digest}`);
});

test("an import says what is written in another way", () => {
  const document = parseJson('{"terminal_reason":"COMPLETED","iteration":4096.0,"created_at":"2026-01-26T09:30:00.5+00:00Z","completed_at":null,"interrupt":{"kind":"timeout","response":{"text":null}},"metadata":{"n":1.00},"x":[1.0],"processing_history":[{"llm_calls":-0}]}');
  const { envelope, interpretations } = Envelope.importDict(document);
  assert.equal(formatCompact(envelope), formatCompact(Envelope.fromDict(document)));
  assert.deepEqual(interpretations, [
    { pointer: "/terminal_reason", read: '`"COMPLETED"`', taken_as: '`"completed"`' },
    { pointer: "/iteration", read: "`4096.0`", taken_as: "`4096`" },
    { pointer: "/created_at", read: '`"2026-01-26T09:30:00.5+00:00Z"`', taken_as: '`"2026-01-26T09:30:00.5Z"`' },
    { pointer: "/processing_history/0/llm_calls", read: "`-0`", taken_as: "`0`" },
  ]);
});

test("an import reports members that another system groups", () => {
  const document = parseJson('{"identity":{"envelope_id":"env-1","user_id":"u","tenant":"t"},"user_id":"top","termination_reason":null,"a/b":{"termination_reason":"r","iteration":null},"bounds":{"llm_call_count":2,"deep":{"iteration":1}},"pipeline":[]}');
  const { envelope, interpretations } = Envelope.importDict(document);
  assert.deepEqual([envelope.envelope_id, envelope.user_id], ["", "top"]);
  const rows = [["/identity/envelope_id", '`"env-1"`', "envelope_id"], ["/a~1b/termination_reason", '`"r"`', "termination_reason"], ["/bounds/llm_call_count", "`2`", "llm_call_count"]] as const;
  assert.deepEqual(interpretations, rows.map(([pointer, read, name]) => ({ pointer, read, taken_as: `a part of the unknown member, not \`${name}\`` })));
});

test("our own envelope has nothing to interpret, and a wrong one is refused", () => {
  const ours = createEnvelope({ raw_input: "x", user_id: "", session_id: "", metadata: { a: [1.5, null, {}] } });
  assert.deepEqual(Envelope.importDict(ours.toStateDict()).interpretations, []);
  assert.throws(() => Envelope.importDict({ iteration: -1 }), (error) => error instanceof ContractError);
});
