/** The writer's input: JSON with the members of a hand-off plus `output`, or the seed's labelled text. */

import { ContractError, jsonFor } from "../diagnostic.js";
import { Fields, isText } from "../fields.js";
import type { Source } from "../json/source.js";
import { membersOf } from "../json/stringify.js";
import type { JsonObject, JsonValue } from "../json/value.js";
import { list, pairs, readEither, saysNone, scalar, verbatim, word, type Labels } from "../labelled.js";
import type { RoutingSignal } from "../routing/signal.js";
import { trimEnd } from "../scalars.js";
import type { HandoffStatus } from "../vocabulary.js";
import { INVALID, readExtras, readSignal, readStatus, type HandoffExtras } from "./handoff.js";

/** The writer's input. Only the ids and the status are required. Further members are written as they are. */
export interface HandoffInput {
  step_id?: string | null;
  flow_key?: string | null;
  run_id?: string | null;
  /** Either wire form. */
  routing_signal?: unknown;
  /** The summary, if the step has one. */
  summary?: string | null;
  /** The step's text, from which a summary is made otherwise. */
  output?: string | null;
  /** Names of files, which stand in the flow's folder; or names and their paths relative to the run's directory. */
  artifacts?: readonly string[] | ReadonlyMap<string, string> | Readonly<Record<string, string>> | null;
  status?: HandoffStatus;
  error?: string | null;
  duration_ms?: number;
  /** When the hand-off is made, RFC 3339 with offset. */
  timestamp?: string | null;
  /** When the step began, RFC 3339 with offset. */
  started_at?: string | null;
  file_changes?: unknown;
  prompt_hash?: string | null;
  verification_passed?: boolean | null;
  verification_details?: unknown;
  routing_audit?: unknown;
  assumptions_made?: unknown;
  decisions_made?: unknown;
  [unknown: string]: unknown;
}

/** The input as it was read. */
export interface Draft extends HandoffExtras {
  step_id: string | null;
  flow_key: string | null;
  run_id: string | null;
  routing_signal: RoutingSignal | null;
  summary: string | null;
  output: string | null;
  artifacts: string[] | Map<string, string>;
  status: HandoffStatus | null;
  error: string | null;
  duration_ms: number;
  timestamp: string | null;
  started_at: string | null;
  unknown: JsonObject;
}

/** The labels of the seed, and one for each other member that a person may want to give. */
const LABELS: Labels = {
  code: INVALID,
  members: {
    "Step ID": { name: "step_id", value: verbatim },
    "Flow key": { name: "flow_key", value: verbatim },
    "Run ID": { name: "run_id", value: verbatim },
    Output: { name: "output", value: verbatim, freeText: true },
    Summary: { name: "summary", value: verbatim, freeText: true },
    Status: { name: "status", value: verbatim },
    Error: { name: "error", value: word, freeText: true },
    Duration: { name: "duration_ms", value: duration },
    Artifacts: { name: "artifacts", value: list },
    Routing: { name: "routing_signal", value: routingFrom },
    Timestamp: { name: "timestamp", value: word },
    "Started at": { name: "started_at", value: word },
  },
};

/** `45000 ms` or `45000`. */
function duration(text: string): JsonValue {
  return scalar(text.endsWith("ms") ? trimEnd(text.slice(0, -2)) : text);
}

function routingFrom(text: string): JsonValue {
  return saysNone(text) ? null : pairs(text, readPair);
}

function readPair(name: string, value: string): JsonValue {
  return name === "confidence" || name === "needs_human" ? scalar(value) : word(value);
}

/** Reads an input: JSON or labelled text, or a value of the JSON form. @throws ContractError `HANDOFF_INVALID` */
export function readDraft(input: Source | HandoffInput | JsonObject): Draft {
  if (typeof input === "string" || input instanceof Uint8Array) return readEither(LABELS, input, decode);
  const value = input instanceof Map ? input : { ...input, ...orchestrator(input.routing_signal) };
  return decode(jsonFor(INVALID, value));
}

/** A signal of ours speaks the hand-off's words inside a hand-off. */
function orchestrator(signal: unknown): { routing_signal?: JsonObject } {
  const isSignal = typeof signal === "object" && signal !== null && "toOrchestrator" in signal;
  return isSignal ? { routing_signal: (signal as RoutingSignal).toOrchestrator() } : {};
}

/** Words of the seed's labels, which a writer's JSON may use too. */
const SEEDS_WORDS: ReadonlyMap<string, string> = new Map([["routing", "routing_signal"], ["duration", "duration_ms"]]);

/** A duration as the label writes it. */
const MILLISECONDS = /^(?:0|[1-9][0-9]{0,14})(?: ms)?$/;

/** The members under our names. @throws ContractError for a member that is there under both */
function inOurWords(value: JsonValue): JsonValue {
  if (!(value instanceof Map)) return value;
  const members = membersOf<JsonValue>();
  for (const [name, member] of value) {
    const ours = SEEDS_WORDS.get(name) ?? name;
    if (ours !== name && value.has(ours)) {
      const [expected, hint] = [`one of \`${name}\` and \`${ours}\``, "they mean the same: leave one out"];
      throw new ContractError(INVALID, { pointer: `/${name}`, expected, found: "both", hint });
    }
    const isLabelled = name === "duration" && typeof member === "string" && MILLISECONDS.test(member);
    members.set(ours, isLabelled ? duration(member) : member);
  }
  return members;
}

function decode(given: JsonValue): Draft {
  const value = inOurWords(given);
  const fields = new Fields(INVALID, value);
  return {
    step_id: fields.nullableString("step_id"),
    flow_key: fields.nullableString("flow_key"),
    run_id: fields.nullableString("run_id"),
    routing_signal: readSignal(fields),
    summary: fields.nullableString("summary"),
    output: fields.nullableString("output"),
    artifacts: readArtifacts(fields, value),
    status: readStatus(fields),
    error: fields.nullableString("error"),
    duration_ms: fields.integer("duration_ms", 0),
    timestamp: fields.nullableString("timestamp"),
    started_at: fields.nullableString("started_at"),
    ...readExtras(fields),
    unknown: fields.rest(),
  };
}

function readArtifacts(fields: Fields, document: JsonValue): string[] | Map<string, string> {
  const value = (document instanceof Map ? document.get("artifacts") : null) ?? null;
  if (Array.isArray(value)) return fields.strings("artifacts");
  if (value instanceof Map) return fields.mapOf("artifacts", "a path", isText);
  fields.take("artifacts");
  if (value === null) return membersOf();
  throw fields.wrong("artifacts", "a map of names to paths, or a list of names", value);
}
