/** Calls what a case names. */

import { HandoffEnvelope } from "../handoff/handoff.js";
import { writeHandoff } from "../handoff/write.js";
import { JsonNumber } from "../json/number.js";
import { asString, member, toJson, type JsonValue } from "../json/value.js";
import { compact } from "../json/write.js";
import { resolveRouting } from "../routing/resolve.js";
import { convert } from "../routing/signal.js";
import { judge } from "../skill-report.js";
import { answerText } from "../user-envelope/answer.js";
import type { AttachmentRef } from "../user-envelope/attachment.js";
import { parseUserEnvelope } from "../user-envelope/user-envelope.js";
import { apply, roundtrip } from "./state.js";
import { NotUnderstood, understood } from "./understood.js";

/** The result of a case. @throws NotUnderstood; what the library refuses with */
export function call(vector: JsonValue): JsonValue {
  switch (member(vector, "op")) {
    case "route.resolve":
      return resolveRouting(argument(vector)).toResolver();
    case "route.convert":
      return convertSignal(input(vector));
    case "handoff.write":
      return writeHandoff(argument(vector)).toJson();
    case "handoff.read":
      return HandoffEnvelope.decode(argument(vector)).toJson();
    case "envelope.apply":
      return apply(input(vector));
    case "envelope.roundtrip":
      return roundtrip(argument(vector), member(vector, "expect"));
    case "user_envelope.parse":
      return parse(input(vector));
    case "user_envelope.answer_text":
      return answerText(input(vector));
    case "skill.judge":
      return judgeSkill(input(vector));
    default:
      throw new NotUnderstood();
  }
}

function input(vector: JsonValue): JsonValue {
  return understood(member(vector, "input"));
}

/** The text that a decoder is given. */
function argument(vector: JsonValue): string {
  const text = member(vector, "input_text");
  return text === undefined ? compact(input(vector)) : understood(asString(text));
}

function convertSignal(value: JsonValue): JsonValue {
  const to = member(value, "to");
  if (to !== "orchestrator" && to !== "resolver") throw new NotUnderstood();
  return convert(understood(member(value, "signal")), to, asString(member(value, "current_flow")) ?? null);
}

function parse(value: JsonValue): JsonValue {
  const raw = understood(asString(member(value, "raw")));
  const enabled = member(value, "enabled");
  if (typeof enabled !== "boolean") throw new NotUnderstood();
  const topLevel = member(value, "top_level");
  // Unchecked on purpose: the parser itself looks at each reference.
  const refs = Array.isArray(topLevel) ? (topLevel as unknown[] as AttachmentRef[]) : [];
  return toJson(parseUserEnvelope(raw, enabled, refs));
}

function judgeSkill(value: JsonValue): JsonValue {
  const flag = (name: string): boolean => member(value, name) === true;
  const { ok, error } = judge({
    exit: code(member(value, "exit")),
    signal: code(member(value, "signal")),
    timedOut: flag("timed_out"),
    cancelled: flag("cancelled"),
    stderr: asString(member(value, "stderr")) ?? "",
    report: asString(member(value, "report_text")) ?? null,
    assigned: flag("assigned"),
    declared: flag("declared"),
    skill: asString(member(value, "skill")) ?? null,
  });
  return toJson({ ok, error });
}

/** An exit code or signal; absent and null are none. */
function code(value: JsonValue | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (!(value instanceof JsonNumber) || !value.isIntegerToken()) throw new NotUnderstood();
  return value.toNumber();
}
