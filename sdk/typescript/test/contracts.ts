/** Random inputs of the contracts, mostly right and now and then wrong. */

import { JsonNumber, type JsonObject, type JsonValue } from "envoi";

import { json, number, object, text, type Chance } from "./chance.js";

/** A member that is mostly what it should be, at times something else, at times not there. */
type Member = [name: string, make: (chance: Chance) => JsonValue];

/** Of these members some; one in `wrong` has any value at all. Sometimes there are unknown ones, sometimes another order. */
export function some(chance: Chance, members: readonly Member[], wrong = 200, missing = 4): JsonObject {
  const kept = members.filter(() => !chance.once(missing));
  const made = kept.map(([name, make]): [string, JsonValue] => [name, chance.once(wrong) ? json(chance, 2) : make(chance)]);
  if (chance.once(5)) made.push(...object(chance, 2));
  if (chance.once(10)) made.reverse();
  return new Map(made);
}

const WORDS = ["VERIFIED", "verified", "UNVERIFIED", "done", "NOT VERIFIED", "not yet done", "Not", "passed-1", "été", "VERIFIEDé", "_VERIFIED_", "**done**"] as const;

const PIECES = [
  "Status:", "**Status:**", "*Status*:", "status :", "\"status\":", "Exit status:", "http_status:", "(Status:", "— Status:", "x—Status:", "é Status:",
  ...WORDS, ...WORDS,
  " | ", " / ", "|", "/", " or ", "OR", "<", "[", "{", "}", ".", ",", ";", "!", "#", "—", "'", "\"", "`", "*", "_", "(", ")",
  "```\n", "```yaml\n", "```json\n", "````\n", "~~~\n", "\n```", "\n> ", "> ", "\n- ", "\n  ", "\n", "\n", "\r\n", "\t", " ", " ", " ", "\f", "\v", "\u00a0",
  "Go to step ", "go to step", "Route to ", "do not go to step ", "don’t route to step ", "go to flow 'f' step ", "Go to flow f, step ", "route_to: ", "\"route_to\": ", "**route_to**: ",
  "Goto step ", "ago to step ", "to ", "'a'", "`b c`", "\"a/b\"", "a", "b", "build", "end",
  "Can further iteration help: no", "can_further_iteration_help: false", "Can further iteration help: not sure", "can_further_iteration_help: yes",
  "{\"status\": \"done\"}", "{\"Status\":\"VERIFIED | X\",\"route_to\":\"a\"}", "{\"can_further_iteration_help\": false, \"status\": \"NOT done\"}",
  "é", "🧪", "𐐀", "𐐀VERIFIED", "VERIFIED𐐀", "𐐀status:", "漢字", "İ", "ſ", "K", "not ", "yet ", "NOT YET ", "cannot ",
  "Handoff text:", "Step routing:", "loop_target=VERIFIED", "Output: \"", "Step ID: s",
] as const;

/** A text out of pieces that mean something to some reader. */
export function spoken(chance: Chance, most = 12): string {
  const said = (): string => `${chance.of(["Status: ", "**Status:** ", "status: ", "It is "])}${chance.of(WORDS)}`;
  const piece = (): string => (chance.once(9) ? said() : chance.of(PIECES));
  const body = chance.list(most, piece).join(chance.of(["", " ", " ", "\n"]));
  if (chance.once(12)) return `\`\`\`${chance.of(["", "yaml", "json", "YML", "text"])}\n${body}\n\`\`\``;
  if (chance.once(12)) return `{"status": ${JSON.stringify(chance.of(WORDS))}, "note": ${JSON.stringify(body)}}`;
  return body;
}

/** A text that is too long for a summary. */
export function long(chance: Chance): string {
  const line = (): string => (chance.once(4) ? `Status: ${chance.of(WORDS)}` : chance.of(["é", "🧪", "x", "y", " "]).repeat(chance.below(200)));
  return Array.from({ length: 20 + chance.below(40) }, () => `${line()}${spoken(chance, 3)}`).join(chance.of(["\n", "\n", " ", ""]));
}

const word = (chance: Chance): JsonValue => (chance.once(100) ? " " : chance.of(["VERIFIED", "VERIFIED", "done", "été", "a b", "passed-1", "x🧪"]));
const words = (chance: Chance): JsonValue => chance.list(3, () => word(chance));
const truth = (chance: Chance): JsonValue => chance.once(2);
const small = (chance: Chance): JsonValue => (chance.once(30) ? number(chance) : integer(chance.below(6)));
const integer = (value: number): JsonValue => new JsonNumber(String(value));
const maybe = (make: (chance: Chance) => JsonValue) => (chance: Chance): JsonValue => (chance.once(3) ? null : make(chance));

const ROUTING: readonly Member[] = [
  ["routing_kind", (chance) => chance.of(["linear", "microloop", "microloop", "branch"])],
  ["loop_target", maybe(word)],
  ["success_values", words],
  ["max_iterations", small],
  ["can_further_iteration_help", truth],
];

export function routingInput(chance: Chance): JsonObject {
  const input = some(chance, [
    ["iteration", small],
    ["flow", maybe((inner) => inner.of(["f", "g"]))],
    ["steps", maybe((inner) => inner.list(3, () => inner.of(["a", "b", "build"])))],
    ["hints", (inner) => !inner.once(4)],
  ]);
  if (!chance.once(8)) input.set("routing", chance.once(100) ? json(chance, 1) : some(chance, ROUTING, 200, 6));
  return chance.once(100) ? input : new Map([["handoff_text", spoken(chance)], ...input]);
}

export function signal(chance: Chance): JsonObject {
  const decision = chance.once(30) ? chance.of(["İterate", "x"]) : chance.of(["advance", "loop", "terminate", "branch", "Route", "PROCEED", "rerun", "blocked", "next", "exit"]);
  const named = (flow: string | null, step_id: string): JsonObject => new Map([["flow", flow], ["step_id", step_id]]);
  const odd = (inner: Chance): JsonValue => inner.of(["/a", "", "a/", named(null, "a/b"), named("", "a")]);
  const route = (inner: Chance): JsonValue => (inner.once(20) ? odd(inner) : inner.of([null, "a", "f/a", "f/a/b", named("f", "a"), named(null, "b"), named("g", "b/c")]));
  const confidence = (inner: Chance): JsonValue => (inner.once(20) ? number(inner) : new JsonNumber(inner.of(["0.70", "1", "1.0", "0", "-0", "10e-1", "0.999", "1e-999999999999999999999"])));
  return new Map([["decision", decision], ...some(chance, [["next_step_id", maybe((inner) => inner.of(["a", "f/a", ""]))], ["route", route], ["reason", text], ["confidence", confidence], ["needs_human", truth]])]);
}

const time = (chance: Chance): JsonValue =>
  chance.of([
    "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456+02:00", "2026-01-02 03:04:05", "2026-01-26T09:30:00.1+00:00Z", "2024-02-29T23:59:60z", "2023-02-29T00:00:00Z",
    "0000-01-01T00:00:00+00:01", "0000-03-01T00:00:00Z", "9999-12-31T23:59:59.999-00:01", "1900-02-29T00:00:00Z", "2000-02-29T12:00:00.9999Z", "1969-12-31T23:59:59.5Z", "2026-01-02T03:04:05-00:00Z", "noon", "",
    `${String(chance.below(10000)).padStart(4, "0")}-${String(1 + chance.below(12)).padStart(2, "0")}-${String(1 + chance.below(31)).padStart(2, "0")}T${String(chance.below(24)).padStart(2, "0")}:00:0${chance.below(10)}.${chance.below(10000)}Z`,
  ]);

const paths = (chance: Chance): JsonValue => {
  const path = (): string => chance.of(["a.md", "f/a.md", "10", "9", "../a", "/a", "a//b", "a\\b", "C:/a", "é/🧪", "a b"]);
  const good = (): string => chance.of(["a.md", "10", "9", "é/🧪", "b/c"]);
  const make = chance.once(10) ? path : good;
  return chance.once(2) ? chance.list(3, make) : new Map(chance.list(3, (): [string, JsonValue] => [make(), make()]));
};

export function handoffInput(chance: Chance): JsonObject {
  const status = chance.of(["succeeded", "succeeded", "failed", "skipped"]);
  return new Map<string, JsonValue>([
    ["step_id", chance.once(40) ? chance.of(["", " "]) : "s"],
    ["flow_key", chance.of(["f", "signal"])],
    ["run_id", chance.of(["r", "run-20251228-010000-abc123", "run-20251328-010000-x", "run-00000101-000000-"])],
    ["status", status],
    ...some(chance, [
      ["routing_signal", maybe(signal)],
      ["summary", maybe((inner) => (inner.once(3) ? long(inner) : spoken(inner)))],
      ["output", (inner) => (inner.once(2) ? long(inner) : spoken(inner))],
      ["artifacts", maybe(paths)],
      ["error", (inner) => (status === "succeeded" && !inner.once(20) ? inner.of([null, ""]) : text(inner))],
      ["duration_ms", (inner) => (inner.once(20) ? number(inner) : integer(inner.below(100000)))],
      ["timestamp", maybe((inner) => (inner.once(5) ? time(inner) : good(inner)))],
      ["started_at", maybe((inner) => (inner.once(5) ? time(inner) : good(inner)))],
      ["file_changes", (inner) => json(inner, 2)],
      ["prompt_hash", maybe(text)],
      ["verification_passed", maybe(truth)],
      ["verification_details", (inner) => json(inner, 2)],
      ["routing_audit", (inner) => json(inner, 2)],
      ["assumptions_made", (inner) => json(inner, 1)],
      ["decisions_made", (inner) => json(inner, 1)],
    ], 400, 2),
  ]);
}

/** Labelled text, mostly of the labels that `names` has. */
export function labelled(chance: Chance, names: readonly [string, ...string[]]): string {
  const value = (): string =>
    chance.of([
      spoken(chance, 5), `"${spoken(chance, 4)}"`, `"a\\n${text(chance, 2)}"`, "succeeded", "45000 ms", "12", "1e3", "[a, 'b', \"c\"]", "a, b", "null", "none", "true",
      "decision=advance, next_step_id=x, reason=a, b, confidence=0.9", "loop_target=VERIFIED, max_iterations=5, success_values=[VERIFIED, done], can_further_iteration_help=false",
      "routing_kind=microloop,success_values=[a,=b]", "", "2026-01-02T03:04:05Z", "s", "f",
    ]);
  return chance.list(6, () => `${chance.once(10) ? spoken(chance, 2) : chance.of(names)}:${chance.of([" ", "", "  "])}${value()}`).join(chance.of(["\n", "\n", "\r\n"]));
}

const record: readonly Member[] = [
  ["agent", text], ["stage_order", small], ["started_at", maybe(time)], ["completed_at", maybe(time)], ["duration_ms", small],
  ["status", (chance) => chance.of(["running", "success", "error", "skipped"])], ["error", maybe(text)], ["llm_calls", small],
];

const response: readonly Member[] = [["text", maybe(text)], ["approved", maybe(truth)], ["decision", maybe(text)], ["data", maybe((chance) => object(chance, 2))], ["received_at", maybe(good)]];

function good(chance: Chance): JsonValue {
  const time = chance.of(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456+02:00", "1999-12-31 23:59:60-00:30", "2026-01-26T09:30:00.1+00:00Z"]);
  return chance.once(8) ? time.slice(0, 19) : time;
}

const INTERRUPT: readonly Member[] = [
  ...["id", "request_id", "user_id", "session_id", "envelope_id", "question", "message", "trace_id", "span_id"].map((name): Member => [name, maybe(text)]),
  ["data", maybe((chance) => object(chance, 2))],
  ["response", maybe((chance) => some(chance, response))],
  ["status", maybe((chance) => chance.of(["pending", "resolved", "expired", "cancelled"]))],
  ...["created_at", "expires_at", "resolved_at"].map((name): Member => [name, maybe(good)]),
];

const map = (make: (chance: Chance) => JsonValue) => (chance: Chance): JsonValue => new Map(chance.list(3, (): [string, JsonValue] => [chance.of(["10", "9", "a", "é"]), make(chance)]));
const texts = (chance: Chance): JsonValue => chance.list(3, () => text(chance));
const objects = (chance: Chance): JsonValue => chance.list(2, () => object(chance, 2));

const ENVELOPE: readonly Member[] = [
  ...["envelope_id", "request_id", "user_id", "session_id", "raw_input", "current_stage"].map((name): Member => [name, text]),
  ...["received_at", "created_at", "completed_at"].map((name): Member => [name, maybe(good)]),
  ...["outputs", "metadata"].map((name): Member => [name, (chance) => object(chance)]),
  ...["stage_order", "all_goals", "remaining_goals", "loop_feedback"].map((name): Member => [name, texts]),
  ...["iteration", "max_iterations", "llm_call_count", "max_llm_calls", "agent_hop_count", "max_agent_hops", "current_stage_number", "max_stages"].map(
    (name): Member => [name, (chance) => integer(chance.once(9) ? Number.MAX_SAFE_INTEGER : chance.below(9))],
  ),
  ["terminal_reason", maybe((chance) => chance.of(["completed", "MAX_LLM_CALLS_EXCEEDED", "denied_by_policy", "cost_limit_exceeded"]))],
  ...["terminated", "interrupt_pending", "parallel_mode"].map((name): Member => [name, truth]),
  ["termination_reason", maybe(text)],
  ["interrupt", maybe((chance) => new Map([["kind", chance.of(["clarification", "confirmation", "timeout", "checkpoint"])], ...some(chance, INTERRUPT)]))],
  ...["active_stages", "completed_stage_set"].map((name): Member => [name, map(truth)]),
  ...["failed_stages", "goal_completion_status"].map((name): Member => [name, map(text)]),
  ...["completed_stages", "prior_plans", "errors"].map((name): Member => [name, objects]),
  ["processing_history", (chance) => chance.list(2, () => some(chance, record.map(([name, make]): Member => [name, name.endsWith("_at") ? maybe(good) : make])))],
  ["request_context", (chance) => json(chance, 2)],
];

export function envelope(chance: Chance, wrong = 1000): JsonObject {
  return some(chance, ENVELOPE, wrong, 3);
}

export function attachment(chance: Chance): JsonObject {
  const name = (inner: Chance): JsonValue => (inner.once(30) ? "" : inner.of(["art_1", "rep é", "sha256:x", "application/pdf"]));
  const members: readonly Member[] = ["artifactId", "representationRevisionId", "digest", "mime"].map((each): Member => [each, name]);
  const optional: readonly Member[] = [["title", text], ["filename", text], ["size", (inner) => (inner.once(5) ? number(inner) : integer(inner.below(9)))]];
  const made = [...members, ...optional, ["originKind", (inner) => inner.of(["upload", "email_attachment", "live_generator"])]] satisfies Member[];
  const whole = new Map(made.map(([each, make]) => [each, make(chance)]));
  if (chance.once(3)) whole.delete(chance.of(["title", "filename", "size"]));
  if (chance.once(30)) whole.set(text(chance), json(chance, 1));
  if (chance.once(60)) whole.delete(chance.of(["artifactId", "mime", "originKind"]));
  return whole;
}

export function userEnvelope(chance: Chance): JsonObject {
  const many = chance.once(15) ? 25 : 3;
  return new Map([["text", text(chance)], ...some(chance, [["attachments", (inner) => inner.list(many, () => attachment(inner))]], 20, 3)]);
}
