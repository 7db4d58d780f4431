/**
 * Did it really work, whatever the exit code says: the report that a skill leaves, and the verdict over report, exit and
 * signal. Which file counts as the report, and whether it is fresh, is known to whoever ran the skill.
 */

import { ContractError, jsonFor, readDocument } from "./diagnostic.js";
import { Fields, withUnknown } from "./fields.js";
import type { Source } from "./json/source.js";
import { membersOf, refuseStringify } from "./json/stringify.js";
import { asString, member, type JsonObject, type JsonValue } from "./json/value.js";
import { compact } from "./json/write.js";
import { lastScalars, trim } from "./scalars.js";

const INVALID = "SKILL_REPORT_INVALID";

/** How many Unicode scalars of stderr's end an error shows. */
const STDERR_SCALARS = 2000;

/** The shape of a report as a program writes it. */
export interface SkillReportEnvelope<T = unknown> {
  /** Did the skill succeed? */
  ok: boolean;
  /** ISO 8601. */
  generatedAt: string;
  skillName: string;
  /** The domain's payload. */
  data: T;
  /** Diagnostics. The engine understands `llm_calls`, `tokens_in`, `tokens_out` and `cost_usd`. */
  metrics?: Record<string, unknown>;
  error?: SkillError;
}

/** Why an execution counts as failed. */
export interface SkillError {
  /** For programs: the report's own, or one of Envoi's such as `TOOL_EXIT_NON_ZERO`. */
  code: string;
  /** For people. */
  message: string;
}

/** A report as it was read. `data` and `error` tell absent (undefined) from null. */
export class SkillReport {
  readonly ok: boolean;
  /** As written, not checked. */
  readonly generatedAt: string;
  readonly skillName: string;
  readonly data: JsonValue | undefined;
  /** A `metrics` that is no object is kept in `unknown`. */
  readonly metrics: JsonObject | undefined;
  /** `{code, message}`, or whatever shape the skill gave it. */
  readonly error: JsonValue | undefined;
  /** Members that this contract does not know, in the order read. */
  readonly unknown: JsonObject;

  private constructor(value: JsonValue) {
    const fields = new Fields(INVALID, value);
    const ok = fields.take("ok");
    if (ok === undefined) throw fields.missing("ok");
    if (typeof ok !== "boolean") throw fields.wrong("ok", "true or false", ok);
    this.ok = ok;
    this.generatedAt = fields.requiredString("generatedAt");
    this.skillName = fields.requiredString("skillName");
    this.data = fields.take("data");
    const metrics = member(value, "metrics");
    this.metrics = metrics instanceof Map ? metrics : undefined;
    if (metrics instanceof Map) fields.take("metrics");
    this.error = fields.take("error");
    this.unknown = fields.rest();
  }

  /**
   * Reads a report.
   *
   * @throws ContractError `SKILL_REPORT_INVALID` unless `ok` is a boolean and `generatedAt` and `skillName` are strings.
   */
  static decode(source: Source): SkillReport {
    return readDocument(INVALID, source, (value) => new SkillReport(value));
  }

  /** Reads a report that is JSON, or a JavaScript value, already. @throws ContractError `SKILL_REPORT_INVALID` */
  static from(value: unknown): SkillReport {
    return new SkillReport(jsonFor(INVALID, value));
  }

  /** The report as JSON, members in the order of the contract. */
  toJson(): JsonObject {
    const { ok, generatedAt, skillName, data, metrics, error } = this;
    const known = membersOf<JsonValue>([["ok", ok], ["generatedAt", generatedAt], ["skillName", skillName]]);
    for (const [name, value] of Object.entries({ data, metrics, error })) {
      if (value !== undefined) known.set(name, value);
    }
    return withUnknown(known, this.unknown);
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }

  /** The failure that the report states, whatever its shape; null is none. */
  statedError(): SkillError | undefined {
    return this.error === undefined || this.error === null ? undefined : errorOf(this.error);
  }
}

/** Reads a report from its text or bytes. @throws ContractError `SKILL_REPORT_INVALID` with the place */
export function parseSkillReport(source: Source): SkillReport {
  return SkillReport.decode(source);
}

/** An error of another shape than `{code, message}` keeps its words under the code `SKILL_ERROR`. */
function errorOf(error: JsonValue): SkillError {
  const code = asString(member(error, "code")) || "SKILL_ERROR";
  return { code, message: asString(member(error, "message")) ?? asString(error) ?? compact(error) };
}

/** What was seen of one execution. */
export interface Observed {
  /** The exit code, unless a signal ended it. */
  exit?: number | null;
  /** The signal that ended it. */
  signal?: number | null;
  timedOut?: boolean;
  cancelled?: boolean;
  /** What it wrote to stderr, or the end of that. */
  stderr?: string;
  /** The file it left as a report, if it left one. */
  report?: Source | null;
  /** Whether the step must leave a report. */
  declared?: boolean;
}

/** Whether an execution worked, why not, and what it reported. */
export interface Verdict {
  ok: boolean;
  /** Null exactly when `ok` is true. */
  error: SkillError | null;
  /** The report, if what it left was one; also of a failure. */
  report: SkillReport | null;
}

/** Judges one execution: cancellation and timeout first, then exit and signal, then what the report says. */
export function judge(observed: Observed): Verdict {
  const read = readReport(observed.report ?? null);
  const report = read instanceof SkillReport ? read : null;
  const error = fate(observed, report) ?? (report === null ? lackOf(read, observed) : reportedFailure(report));
  return { ok: error === undefined, error: error ?? null, report };
}

function readReport(source: Source | null): SkillReport | ContractError | null {
  if (source === null) return null;
  try {
    return SkillReport.decode(source);
  } catch (error) {
    if (error instanceof ContractError) return error;
    throw error;
  }
}

/** The failure of the execution itself, before its report is asked whether it worked. */
function fate(observed: Observed, report: SkillReport | null): SkillError | undefined {
  if (observed.timedOut) return { code: "TOOL_TIMEOUT", message: "the timeout ended it" };
  if (observed.cancelled) return { code: "TOOL_CANCELLED", message: "it was cancelled" };
  if (observed.exit === 0 && (observed.signal ?? null) === null) return undefined;
  return report?.statedError() ?? { code: "TOOL_EXIT_NON_ZERO", message: lastWords(observed) };
}

/** The failure to leave a report where one is owed. */
function lackOf(refusal: SkillReport | ContractError | null, { declared }: Observed): SkillError | undefined {
  if (!declared) return undefined;
  if (refusal === null) return { code: "SKILL_REPORT_MISSING", message: "the skill left no report" };
  return { code: INVALID, message: refusal instanceof ContractError ? refusal.message : "" };
}

function reportedFailure(report: SkillReport): SkillError | undefined {
  const unexplained = report.ok ? undefined : { code: "SKILL_REPORTED_FAILURE", message: "Skill reported ok:false" };
  return report.statedError() ?? unexplained;
}

/** The end of stderr, or how it ended if it wrote nothing there. */
function lastWords({ stderr = "", exit, signal }: Observed): string {
  const words = trim(stderr);
  if (words !== "") return lastScalars(words, STDERR_SCALARS);
  if ((signal ?? null) !== null) return `signal ${signal}`;
  return (exit ?? null) === null ? "no exit code" : `exit code ${exit}`;
}
