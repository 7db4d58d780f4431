/**
 * Whether a skill worked, whatever its exit code is: the report that it leaves, and the verdict over report, exit and
 * signal. The caller, which ran the skill, knows which file counts and whether it is fresh.
 */

import { ContractError, jsonFor, readDocument } from "./diagnostic.js";
import { Fields, withUnknown } from "./fields.js";
import type { Source } from "./json/source.js";
import { membersOf, refuseStringify } from "./json/stringify.js";
import { asString, member, type JsonObject, type JsonValue } from "./json/value.js";
import { compact } from "./json/write.js";
import { lastScalars, shorten, trim } from "./scalars.js";

const INVALID = "SKILL_REPORT_INVALID";

/** The error of a report with `ok: false` and no error. */
export const REPORTED_FAILURE: Readonly<SkillError> = {
  code: "SKILL_REPORTED_FAILURE",
  message: "Skill reported ok:false",
};

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

/** A report as it was read. `data` and `error` distinguish absent (undefined) from null. */
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

  /** The failure that the engine sees in the report of a command that exited 0; a stated error wins over `ok: true`. */
  judged(): SkillError | undefined {
    return this.statedError() ?? (this.ok ? undefined : { ...REPORTED_FAILURE });
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

/** The observed facts of one execution. */
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
  /** What stands in the place of the report and is no file that can be read, such as `a folder`. */
  reportUnreadable?: string | null;
  /** Whether the report stood at the path that the engine set (`$ENVOI_REPORT`): nothing there is ignored. */
  assigned?: boolean;
  /** Whether the step must leave a report. */
  declared?: boolean;
  /** The skill that the step declares, which the report's `skillName` must equal; null: any. */
  skill?: string | null;
  /** What an assigned report that lacks them is completed with. */
  fill?: { skillName?: string; generatedAt?: string };
}

/** Whether an execution worked, why not, and what it reported. */
export interface Verdict {
  ok: boolean;
  /** Null exactly when `ok` is true. */
  error: SkillError | null;
  /** The report, if what it left was one; also of a failure. */
  report: SkillReport | null;
  /** The members that an assigned report lacked and that were filled. */
  filled: readonly string[];
}

/** What stands in the place of a report. */
interface Found {
  report: SkillReport | null;
  filled: readonly string[];
  /** Why what was left is no report; null if there is one, or nothing. */
  refusal: string | null;
}

/** Judges one execution: timeout and cancellation first, then exit and signal, then the report. */
export function judge(observed: Observed): Verdict {
  const { report, filled, refusal } = find(observed);
  const earlier = executionFailure(observed, report);
  const error = earlier === undefined ? judgedReport(observed, report, refusal) : naming(earlier, refusal);
  return { ok: error === undefined, error: error ?? null, report, filled };
}

function find(observed: Observed): Found {
  const found = readReport(observed);
  const strict = observed.assigned === true || observed.declared === true;
  return strict ? found : { ...found, refusal: null };
}

function readReport({ report: source, reportUnreadable, assigned, skill, fill }: Observed): Found {
  const none: Found = { report: null, filled: [], refusal: null };
  if ((reportUnreadable ?? null) !== null) {
    return { ...none, refusal: `expected a report that can be read, found ${reportUnreadable}` };
  }
  if ((source ?? null) === null) return none;
  const filled: string[] = [];
  const named = skill ?? null;
  try {
    const report = readDocument(INVALID, source as Source, (value) => {
      const whole = assigned === true ? complete(value, named, fill ?? {}, filled) : value;
      return SkillReport.from(whole);
    });
    if (named === null || report.skillName === named) return { ...none, report, filled };
    const expected = `expected the \`skillName\` \`${named}\` that the step declares`;
    return { ...none, refusal: `${expected}, found ${shorten(report.skillName, 60)}` };
  } catch (error) {
    if (error instanceof ContractError) return { ...none, refusal: error.withoutCode };
    throw error;
  }
}

/**
 * The report with what it lacks. The verdict does not depend on name and time, so they are filled if they are missing or not a string.
 * But if the step declares its skill, only a missing name is filled: another value is the report of another skill.
 */
function complete(value: JsonValue, skill: string | null, fill: NonNullable<Observed["fill"]>, filled: string[]): JsonValue {
  if (!(value instanceof Map)) return value;
  const members = membersOf<JsonValue>(value);
  const texts = { generatedAt: fill.generatedAt ?? "", skillName: skill ?? fill.skillName ?? "" };
  for (const [name, text] of Object.entries(texts)) {
    const found = members.get(name);
    const strict = skill !== null && name === "skillName";
    if (found === undefined || (typeof found !== "string" && !strict)) {
      members.set(name, text);
      filled.push(name);
    }
  }
  if (!members.has("data")) {
    members.set("data", null);
    filled.push("data");
  }
  return members;
}

/** The failure of the execution itself, whatever its report states. */
function executionFailure(observed: Observed, report: SkillReport | null): SkillError | undefined {
  if (observed.timedOut) return { code: "TOOL_TIMEOUT", message: "the timeout ended it" };
  if (observed.cancelled) return { code: "TOOL_CANCELLED", message: "it was cancelled" };
  if (observed.exit === 0 && (observed.signal ?? null) === null) return undefined;
  return report?.statedError() ?? { code: "TOOL_EXIT_NON_ZERO", message: exitMessage(observed) };
}

/** A failure that names the bad report beside it: nothing else would. */
function naming({ code, message }: SkillError, refusal: string | null): SkillError {
  return { code, message: refusal === null ? message : `${message} (its report is invalid too: ${refusal})` };
}

/** What the report of a command that exited 0 means. */
function judgedReport({ declared }: Observed, report: SkillReport | null, refusal: string | null): SkillError | undefined {
  if (refusal !== null) return { code: INVALID, message: refusal };
  if (report !== null) return report.judged();
  return declared === true ? { code: "SKILL_REPORT_MISSING", message: "the skill left no report" } : undefined;
}

/** The end of stderr; the exit code or signal if stderr is blank. */
function exitMessage({ stderr = "", exit, signal }: Observed): string {
  const words = trim(stderr);
  if (words !== "") return lastScalars(words, STDERR_SCALARS);
  if ((signal ?? null) !== null) return `signal ${signal}`;
  return (exit ?? null) === null ? "no exit code" : `exit code ${exit}`;
}
