/** Skill reports as files, for Node: written whole or not at all, read as strictly as any report. */

import { readFileSync } from "node:fs";

import { formatJson } from "./json/write.js";
import { SkillReport, type SkillError } from "./skill-report.js";
import { formatTime } from "./time.js";
import { writeWhole } from "./whole-file.js";

/** What a report may say beside its payload. */
export interface SkillReportOptions {
  /** Default: true, unless there is an `error`. */
  ok?: boolean | undefined;
  metrics?: Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown> | undefined;
  error?: SkillError | undefined;
}

/**
 * Writes the report of a skill: makes the folder, writes the file beside its place and moves it there when it is whole and
 * on disk, and prints one line to stdout. `data` may be any value that JSON can say; undefined is written as null.
 *
 * @throws JsonError if `data` or `metrics` cannot be said in JSON; what the file system throws. Nothing stands at
 * `outputPath` then but what stood there before.
 */
export function writeSkillReport(
  outputPath: string,
  skillName: string,
  data: unknown,
  options: SkillReportOptions = {},
): SkillReport {
  const report = leaveSkillReport(outputPath, skillName, data, options);
  process.stdout.write(`${skillName}: ${report.ok ? "ok" : "failed"}, report in ${outputPath}\n`);
  return report;
}

/** The same without a word on stdout. */
export function leaveSkillReport(
  outputPath: string,
  skillName: string,
  data: unknown,
  { ok, metrics, error }: SkillReportOptions,
): SkillReport {
  const report = SkillReport.from({
    ok: ok ?? error === undefined,
    generatedAt: formatTime(Date.now()),
    skillName,
    data: data ?? null,
    metrics,
    error,
  });
  writeWhole(outputPath, formatJson(report));
  return report;
}

/** Reads the report at `path`. @throws ContractError `SKILL_REPORT_INVALID`; what the file system throws. */
export function readSkillReport(path: string): SkillReport {
  return SkillReport.decode(readFileSync(path));
}
