/** Skill reports as files, for Node: written whole or not at all, read as strictly as any report. */

import { readFileSync } from "node:fs";

import { ContractError } from "./diagnostic.js";
import { JsonNumber } from "./json/number.js";
import { describe, type JsonObject, type JsonValue } from "./json/value.js";
import { formatJson } from "./json/write.js";
import { REPORTED_FAILURE, SkillReport, type SkillError } from "./skill-report.js";
import { formatTime } from "./time.js";
import { writeWhole } from "./whole-file.js";

/** The members of a report beside its payload. */
export interface SkillReportOptions {
  /** Default: true, unless there is an `error`; null is none. */
  ok?: boolean | undefined;
  metrics?: Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown> | null | undefined;
  error?: SkillError | null | undefined;
}

/**
 * Writes the report of a skill: makes the folder, writes the file beside its place and moves it there when it is whole and
 * on disk, and prints one line to stdout, which states the engine's verdict: an `error` beside `ok: true` is a failure.
 * With `ok: false` and no `error`, the error is the one that the engine would give it. `data` may be any value that JSON can express; undefined is written as null.
 *
 * @throws ContractError `SKILL_REPORT_INVALID` if `data`, `metrics` or `error` cannot be written as JSON, if the report would be invalid, or
 * if an option has another name than these or `ok` is null;
 * what the file system throws. Nothing stands at `outputPath` then but what stood there before.
 */
export function writeSkillReport(
  outputPath: string,
  skillName: string,
  data: unknown,
  options: SkillReportOptions = {},
): SkillReport {
  checkOptions(options);
  const report = reportOf(skillName, data, options);
  keepReport(outputPath, report);
  const failure = report.judged();
  const judged = failure === undefined ? "ok" : `failed (${failure.code}: ${failure.message})`;
  process.stdout.write(`${skillName}: ${judged}, report in ${outputPath}\n`);
  return report;
}

/** A misspelt option would make a success of a failure: JavaScript has no compiler that finds it. @throws ContractError */
function checkOptions(options: unknown): void {
  const refused = (pointer: string, expected: string, found: string): ContractError =>
    new ContractError("SKILL_REPORT_INVALID", { pointer, expected, found });
  if (typeof options !== "object" || options === null) throw refused("", "options: ok, metrics, error", String(options));
  const other = Object.keys(options).find((name) => !["ok", "metrics", "error"].includes(name));
  if (other !== undefined) throw refused(`/${other}`, "one of ok, metrics, error", `\`${other}\``);
  if ("ok" in options && options.ok === null) throw refused("/ok", "true or false", "null");
}

/** A report of this moment. @throws ContractError `SKILL_REPORT_INVALID` */
export function reportOf(skillName: string, data: unknown, { ok, metrics, error }: SkillReportOptions): SkillReport {
  const report = SkillReport.from({
    ok: ok ?? (error ?? null) === null,
    generatedAt: formatTime(Date.now()),
    skillName,
    data: data ?? null,
    metrics: metrics ?? undefined,
    error: error ?? (ok === false ? { ...REPORTED_FAILURE } : undefined),
  });
  checkMetrics(report.metrics);
  return report;
}

/** The largest cost that the engine holds, in US dollars. */
const MOST_DOLLARS = 18446744073.709551615;

/** Refuses a figure that the engine would not count. Null says that it is not known. @throws ContractError `SKILL_REPORT_INVALID` */
export function checkMetrics(metrics: JsonObject | undefined): void {
  for (const name of ["llm_calls", "tokens_in", "tokens_out"]) {
    const count = metrics?.get(name) ?? null;
    if (count === null || (count instanceof JsonNumber && count.toSafeInteger() !== undefined)) continue;
    throw wrongFigure(name, "an integer from 0 to 2^53 - 1", count);
  }
  const cost = metrics?.get("cost_usd") ?? null;
  if (cost === null || isCost(cost)) return;
  throw wrongFigure("cost_usd", "US dollars from 0 to 18 billion: a number, or a decimal string", cost);
}

function isCost(cost: JsonValue): boolean {
  if (typeof cost === "string") return /^[0-9]+(\.[0-9]+)?$/.test(cost) && Number(cost) <= MOST_DOLLARS;
  if (!(cost instanceof JsonNumber)) return false;
  const isNegative = cost.text.startsWith("-") && /^[^eE]*[1-9]/.test(cost.text);
  return !isNegative && cost.toNumber() <= MOST_DOLLARS;
}

function wrongFigure(name: string, expected: string, found: JsonValue): ContractError {
  return new ContractError("SKILL_REPORT_INVALID", { pointer: `/metrics/${name}`, expected, found: describe(found) });
}

/** Writes a report whole, without a word on stdout. */
export function keepReport(outputPath: string, report: SkillReport): void {
  writeWhole(outputPath, formatJson(report));
}

/**
 * Reads the report at `path`; null if there is no such file, or if it is no report. `parseSkillReport` gives the reason.
 *
 * @throws what the file system throws for another reason than that there is no file.
 */
export function readSkillReport(path: string): SkillReport | null {
  try {
    return SkillReport.decode(readFileSync(path));
  } catch (cause) {
    if (cause instanceof ContractError || isMissing(cause)) return null;
    throw cause;
  }
}

function isMissing(cause: unknown): boolean {
  return typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ENOENT";
}
