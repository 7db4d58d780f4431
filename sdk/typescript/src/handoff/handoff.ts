/** The hand-off from one step to the next: its members, their order and their rules. */

import { ContractError, jsonFor, readDocument } from "../diagnostic.js";
import { Fields, withUnknown } from "../fields.js";
import { JsonNumber } from "../json/number.js";
import type { Source } from "../json/source.js";
import { refuseStringify } from "../json/stringify.js";
import { interpretations, type Interpretation } from "../interpretation.js";
import { describe, toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { RoutingSignal } from "../routing/signal.js";
import { countScalars, isBlank, shorten } from "../scalars.js";
import { passedOn } from "../time.js";
import { HANDOFF_STATUSES, type HandoffStatus } from "../vocabulary.js";
import { MAX_SUMMARY_SCALARS } from "./summary.js";

export const INVALID = "HANDOFF_INVALID";

/** The members that a hand-off has only when they have content; null or empty is absent. */
export interface HandoffExtras {
  file_changes: JsonObject | null;
  prompt_hash: string | null;
  verification_passed: boolean | null;
  /** What a verification found; also where an overruled identity is recorded. */
  verification_details: JsonObject | null;
  routing_audit: JsonObject | null;
  assumptions_made: JsonObject[] | null;
  decisions_made: JsonObject[] | null;
}

/** The members of a hand-off. */
export interface HandoffParts extends HandoffExtras {
  step_id: string;
  flow_key: string;
  run_id: string;
  routing_signal: RoutingSignal;
  /** At most 2000 Unicode scalars. */
  summary: string;
  /** Names of files and their paths relative to the run's directory. */
  artifacts: Map<string, string>;
  status: HandoffStatus;
  error: string | null;
  duration_ms: number;
  /** RFC 3339, as it was read. */
  timestamp: string | null;
  /** Members that this contract does not know, in the order read. */
  unknown: JsonObject;
}

/** What happened in a step, where its files are, and where to go. `writeHandoff` makes one that keeps every rule. */
export class HandoffEnvelope implements HandoffParts {
  readonly step_id: string;
  readonly flow_key: string;
  readonly run_id: string;
  readonly routing_signal: RoutingSignal;
  readonly summary: string;
  readonly artifacts: Map<string, string>;
  readonly status: HandoffStatus;
  readonly error: string | null;
  readonly duration_ms: number;
  readonly timestamp: string | null;
  readonly file_changes: JsonObject | null;
  readonly prompt_hash: string | null;
  readonly verification_passed: boolean | null;
  readonly verification_details: JsonObject | null;
  readonly routing_audit: JsonObject | null;
  readonly assumptions_made: JsonObject[] | null;
  readonly decisions_made: JsonObject[] | null;
  readonly unknown: JsonObject;

  constructor(parts: HandoffParts) {
    this.step_id = parts.step_id;
    this.flow_key = parts.flow_key;
    this.run_id = parts.run_id;
    this.routing_signal = parts.routing_signal;
    this.summary = parts.summary;
    this.artifacts = parts.artifacts;
    this.status = parts.status;
    this.error = parts.error;
    this.duration_ms = parts.duration_ms;
    this.timestamp = parts.timestamp;
    this.file_changes = parts.file_changes;
    this.prompt_hash = parts.prompt_hash;
    this.verification_passed = parts.verification_passed;
    this.verification_details = parts.verification_details;
    this.routing_audit = parts.routing_audit;
    this.assumptions_made = parts.assumptions_made;
    this.decisions_made = parts.decisions_made;
    this.unknown = parts.unknown;
  }

  /**
   * Reads a hand-off of any writer; `step_id, flow_key, run_id, routing_signal` and `summary` are required. Without a
   * `status` it is `failed` if there is an `error`, else `succeeded`; `importDict` reports that.
   *
   * @throws ContractError `HANDOFF_INVALID` with the place
   */
  static decode(source: Source): HandoffEnvelope {
    return readDocument(INVALID, source, read);
  }

  /** Reads a hand-off that is JSON, or a JavaScript value, already. @throws ContractError `HANDOFF_INVALID` */
  static from(value: unknown): HandoffEnvelope {
    return read(jsonFor(INVALID, value));
  }

  /**
   * Reads a hand-off as `from` does, and lists what it interprets: every value that is written differently than it was
   * read, and a missing `status`.
   *
   * @throws ContractError `HANDOFF_INVALID`
   */
  static importDict(data: unknown): { handoff: HandoffEnvelope; interpretations: Interpretation[] } {
    const value = jsonFor(INVALID, data);
    const handoff = read(value);
    const found = interpretations(value, handoff.toJson());
    if (value instanceof Map && !value.has("status")) {
      found.push({ pointer: "/status", read: "nothing", taken_as: describe(handoff.status) });
    }
    return { handoff, interpretations: found };
  }

  /**
   * The hand-off as JSON, members in the order of the contract.
   *
   * @throws ContractError `HANDOFF_INVALID` for what could not be read again
   */
  toJson(): JsonObject {
    return toJsonObject(HandoffEnvelope.from(this.members()).members());
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }

  /** As they are, checked or not. */
  private members(): Map<string, unknown> {
    const { step_id, flow_key, run_id, summary, artifacts, status, error, duration_ms } = this;
    const ids = { step_id, flow_key, run_id, routing_signal: signalMembers(this.routing_signal) };
    const known = new Map<string, unknown>(Object.entries({ ...ids, summary, artifacts, status, error, duration_ms }));
    const { timestamp, file_changes, prompt_hash, verification_passed, verification_details } = this;
    const { routing_audit, assumptions_made, decisions_made } = this;
    const optional = { timestamp, file_changes, prompt_hash, verification_passed, verification_details };
    for (const [name, value] of Object.entries({ ...optional, routing_audit, assumptions_made, decisions_made })) {
      if (hasContent(value)) known.set(name, value);
    }
    return withUnknown(known, this.unknown);
  }
}

function signalMembers(signal: RoutingSignal): unknown {
  return signal instanceof RoutingSignal ? withPlace(() => signal.toOrchestrator()) : signal;
}

function read(value: JsonValue): HandoffEnvelope {
  const fields = new Fields(INVALID, value);
  const [step_id, flow_key, run_id] = [readId(fields, "step_id"), readId(fields, "flow_key"), readId(fields, "run_id")];
  const routing_signal = readSignal(fields);
  if (routing_signal === null) throw fields.missing("routing_signal");
  const summary = readSummary(fields);
  const artifacts = fields.mapOf("artifacts", "a path relative to the run's directory", isPath);
  const stated = readStatus(fields);
  const failure = fields.nullableString("error") || null;
  // The sister system requires five members, and `status` is not among them.
  const status = stated ?? (failure === null ? "succeeded" : "failed");
  const error = checkedError(status, failure);
  const duration_ms = fields.integer("duration_ms", 0);
  const timestamp = readTime(fields, "timestamp");
  const extras = readExtras(fields);
  const core = { step_id, flow_key, run_id, routing_signal, summary, artifacts, status, error, duration_ms, timestamp };
  return new HandoffEnvelope({ ...core, ...extras, unknown: fields.rest() });
}

export function readExtras(fields: Fields): HandoffExtras {
  const content = (name: string): JsonValue => contentOf(fields.take(name) ?? null);
  return {
    file_changes: listed(content("file_changes")),
    verification_details: inObject(content("verification_details"), "details"),
    routing_audit: inObject(content("routing_audit"), "reason"),
    assumptions_made: records(content("assumptions_made")),
    decisions_made: records(content("decisions_made")),
    prompt_hash: fields.nullableString("prompt_hash") || null,
    verification_passed: fields.nullableBoolean("verification_passed"),
  };
}

/** The changed files; earlier versions wrote a list. */
function listed(value: JsonValue): JsonObject | null {
  if (!Array.isArray(value)) return inObject(value, "details");
  return new Map<string, JsonValue>([
    ["files", value],
    ["total", new JsonNumber(String(value.length))],
  ]);
}

/** An object as it is; anything else in one, as the member `name`. */
function inObject(value: JsonValue, name: string): JsonObject | null {
  return value === null || value instanceof Map ? value : new Map([[name, value]]);
}

function records(value: JsonValue): JsonObject[] | null {
  if (value === null) return null;
  const elements = Array.isArray(value) ? value : [value];
  return elements.map((element) => (element instanceof Map ? element : new Map([["text", element]])));
}

/** Whether a value has content. */
function hasContent(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return (value ?? null) !== null && value !== "";
}

function contentOf(value: JsonValue): JsonValue {
  return hasContent(value) ? value : null;
}

function readId(fields: Fields, name: string): string {
  return checkedId(name, fields.requiredString(name));
}

export function checkedId(name: string, id: string): string {
  if (!isBlank(id)) return id;
  throw new ContractError(INVALID, { pointer: `/${name}`, expected: "an id that is not empty", found: "an empty one" });
}

export function readSignal(fields: Fields): RoutingSignal | null {
  const value = fields.take("routing_signal") ?? null;
  if (value === null) return null;
  return withPlace(() => RoutingSignal.from(value).forHandoff());
}

/** A refusal of the signal is one of the hand-off it stands in. */
function withPlace<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw error instanceof ContractError ? error.under(INVALID, "/routing_signal") : error;
  }
}

export function readStatus(fields: Fields): HandoffStatus | null {
  const value = fields.take("status");
  if (value === undefined) return null;
  const status = HANDOFF_STATUSES.find((known) => known === value);
  if (status !== undefined) return status;
  const { pointer, expected, found } = fields.wrong("status", "succeeded, failed or skipped", value);
  const hint = "this is the status of the execution; a critic's verdict belongs into the text";
  throw new ContractError(INVALID, { pointer, expected, found, hint });
}

/** Refuses `succeeded` with an error: the two contradict each other. An empty error is none. */
export function checkedError(status: HandoffStatus, stated: string | null): string | null {
  const error = stated || null;
  if (status !== "succeeded" || error === null) return error;
  const expected = "no error beside the status `succeeded`";
  const hint = "set the status to `failed`, or leave the error out";
  throw new ContractError(INVALID, { pointer: "/error", expected, found: shorten(error, 60), hint });
}

function readSummary(fields: Fields): string {
  const summary = fields.requiredString("summary");
  const scalars = countScalars(summary);
  if (scalars <= MAX_SUMMARY_SCALARS) return summary;
  const expected = "at most 2000 Unicode scalars";
  throw new ContractError(INVALID, { pointer: "/summary", expected, found: `${scalars} of them` });
}

/** A time that is passed on as it is. */
function readTime(fields: Fields, name: string): string | null {
  const text = fields.nullableString(name);
  if (text === null) return null;
  const kept = passedOn(text);
  if (kept === undefined) throw fields.wrong(name, "an RFC 3339 time", text);
  return kept;
}

function isPath(value: JsonValue): value is string {
  return typeof value === "string" && isInside(value);
}

/** Whether a path stays in the directory it is relative to: not absolute, no `..`, no empty segment, backslash or NUL. */
export function isInside(path: string): boolean {
  if (/^[A-Za-z]:\//.test(path) || /[\\\0]/.test(path)) return false;
  return path.split("/").every((segment) => segment !== "" && segment !== "..");
}
