/** Cases of the pipeline envelope: operations in order, and trips through text. */

import { Envelope } from "../envelope/envelope.js";
import { FlowInterrupt } from "../envelope/interrupt.js";
import { ProcessingRecord } from "../envelope/record.js";
import { JsonNumber } from "../json/number.js";
import { asString, member, toJson, type JsonObject, type JsonValue } from "../json/value.js";
import { compact, formatCompact } from "../json/write.js";
import { NotUnderstood, understood } from "./understood.js";

/** Applies the operations to a new envelope, and gives what was observed and what it is in the end. */
export function apply(input: JsonValue): JsonObject {
  const operations = member(input, "operations");
  if (!Array.isArray(operations)) throw new NotUnderstood();
  let envelope = new Envelope();
  const observations: JsonValue[] = [];
  for (const operation of operations) envelope = step(envelope, operation, observations);
  return new Map<string, JsonValue>([
    ["observations", observations],
    ["to_dict", envelope.toDict()],
    ["to_state_dict", envelope.toStateDict()],
  ]);
}

/** One operation: the envelope after it. */
function step(envelope: Envelope, operation: JsonValue, observations: JsonValue[]): Envelope {
  const part = (name: string): JsonValue => understood(member(operation, name));
  switch (member(operation, "op")) {
    case "new":
      return Envelope.fromDict(part("args"));
    case "set":
      return withMember(envelope, understood(asString(part("field"))), part("value"));
    case "set_terminal_reason":
      return withMember(envelope, "terminal_reason", part("value"));
    case "append_record":
      envelope.processing_history.push(ProcessingRecord.from(part("record")));
      return envelope;
    case "set_interrupt":
      envelope.interrupt = constructed(part("interrupt"));
      envelope.interrupt_pending = truth(part("pending"));
      return envelope;
    case "initialize_goals":
      envelope.initializeGoals(goals(part("goals")));
      return envelope;
    case "mark_goal_complete":
      envelope.markGoalComplete(understood(asString(part("goal"))));
      return envelope;
    case "advance_stage":
      for (let times = count(member(operation, "times"), 1); times > 0; times -= 1) envelope.advanceStage();
      return envelope;
    case "observe_stage_context":
      observations.push(toJson({ call: "get_stage_context", result: envelope.getStageContext() }));
      return envelope;
    case "observe_is_stuck":
      observations.push(observeIsStuck(envelope, member(operation, "args") ?? new Map()));
      return envelope;
    default:
      throw new NotUnderstood();
  }
}

function withMember(envelope: Envelope, field: string, value: JsonValue): Envelope {
  return Envelope.fromDict(envelope.toStateDict().set(field, value));
}

/** An interrupt as its constructor makes it: status `pending` and empty `data` where neither is given. */
function constructed(value: JsonValue): FlowInterrupt | null {
  if (value === null) return null;
  const read = FlowInterrupt.from(value);
  return new FlowInterrupt({ ...read, status: read.status ?? "pending", data: read.data ?? new Map() });
}

function goals(value: JsonValue): string[] {
  if (!Array.isArray(value)) throw new NotUnderstood();
  return value.map((goal) => understood(asString(goal)));
}

function truth(value: JsonValue): boolean {
  if (typeof value !== "boolean") throw new NotUnderstood();
  return value;
}

function count(value: JsonValue | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  return understood(value instanceof JsonNumber ? value.toSafeInteger() : undefined);
}

function observeIsStuck(envelope: Envelope, args: JsonValue): JsonObject {
  const result = envelope.isStuck(count(member(args, "min_progress_stages"), 2));
  return new Map<string, JsonValue>([["call", "is_stuck"], ["args", args], ["result", result]]);
}

/** Reads and writes twice; the texts of the expected members, where both trips agree. */
export function roundtrip(text: string, expected: JsonValue | undefined): JsonObject {
  const once = Envelope.decode(text).toStateDict();
  const twice = Envelope.decode(formatCompact(once)).toStateDict();
  const names = member(expected, "members");
  const members: JsonObject = new Map();
  for (const name of names instanceof Map ? names.keys() : []) {
    const [first, second] = [once.get(name), twice.get(name)];
    if (first !== undefined && second !== undefined && compact(first) === compact(second)) members.set(name, compact(first));
  }
  return new Map([["members", members]]);
}
