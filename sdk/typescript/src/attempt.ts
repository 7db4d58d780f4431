/** A command that Envoi runs, for Node: what it is given in `ENVOI_*`, and what it leaves behind. */

import { readFileSync } from "node:fs";

import { Envelope } from "./envelope/envelope.js";
import { SKILL_ERROR, explained, reason, sayable, words } from "./failure.js";
import { HandoffEnvelope } from "./handoff/handoff.js";
import { toJson, type JsonObject } from "./json/value.js";
import { formatJson } from "./json/write.js";
import { writeWhole } from "./whole-file.js";
import type { SkillError, SkillReport } from "./skill-report.js";
import { checkMetrics, keepReport, reportOf } from "./skill-report-file.js";
import { answerOfWords, readAnswer, type Answer } from "./step-answer.js";

/** The feedback of a loop's critic: its text, and the end of its stderr. */
export interface Feedback {
  text: string;
  stderr: string;
}

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Metrics = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>;

/** One attempt of a step, seen from its command. A file is read on first access. */
export class Attempt {
  private readonly environment: Environment;
  private readonly lines: string[] = [];
  readonly runId: string;
  readonly flow: string;
  readonly id: string;
  /** Which visit of the step this is, from 1. */
  readonly visit: number;
  readonly attempt: string;
  /** How often the loop has gone back so far. */
  readonly iteration: number;
  /** The same for all attempts of a visit: what must be done once is done under this key. */
  readonly key: string;
  /** The run's folder, to which the paths of artifacts are relative. */
  readonly runBase: string | null;
  readonly skillName: string;
  /** The payload of the report. */
  data: unknown = null;
  /** Diagnostics; the engine understands `llm_calls`, `tokens_in`, `tokens_out` and `cost_usd`. */
  metrics: Record<string, unknown> = {};
  /** Why it did not work, if it did not. */
  error: SkillError | undefined;

  constructor(environment: Environment, skillName?: string) {
    const given = (name: string): string => environment[`ENVOI_${name}`] ?? "";
    this.environment = environment;
    this.runId = given("RUN_ID");
    this.flow = given("FLOW");
    this.id = given("STEP");
    this.visit = count(given("VISIT"), 1);
    this.attempt = given("ATTEMPT");
    this.iteration = count(given("ITERATION"), 0);
    this.key = given("KEY");
    this.runBase = given("RUN_BASE") || null;
    this.skillName = skillName || this.id || "skill";
  }

  /** The last hand-off; null in the first step. @throws ContractError `HANDOFF_INVALID` */
  get handoff(): HandoffEnvelope | null {
    const content = this.content("ENVOI_HANDOFF");
    return content && HandoffEnvelope.decode(content);
  }

  /** The critic's feedback, in a loop that has gone back. */
  get feedback(): Feedback | null {
    const content = this.content("ENVOI_FEEDBACK");
    return content && readFeedback(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(content));
  }

  /** The last answer of a person; a file that is no `.json` is its text. @throws JsonError; ContractError `INVALID_USER_ENVELOPE` */
  get answer(): Answer | null {
    const content = this.content("ENVOI_ANSWER");
    if (content === null) return null;
    const folder = this.environment["ENVOI_ANSWER_FILES"] || null;
    if (this.environment["ENVOI_ANSWER"]?.endsWith(".json")) return readAnswer(content, folder);
    return answerOfWords(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content));
  }

  /** The state of the run, for a step with `envelope: true`. @throws ContractError `ENVELOPE_INVALID` */
  get envelope(): Envelope | null {
    const content = this.content("ENVOI_ENVELOPE");
    return content && Envelope.decode(content);
  }

  /** Adds a line to the step's text, which routing reads and the next step sees. Once used, stdout is no part of it. */
  say(line: string): void {
    this.lines.push(`${line}\n`);
  }

  /** Marks the attempt as failed, and goes on: the report will have `ok: false`, the exit code stays as it is. */
  fail(message: string, code = SKILL_ERROR): void {
    this.error = { code: words(code), message: words(message) };
  }

  /**
   * Leaves text and report where the engine looks for them; without Envoi the text goes to stdout, the report nowhere.
   *
   * @throws JsonError or ContractError if JSON cannot express a part of the report. The report states that, and has the other parts
   */
  leave(): SkillReport | null {
    let report: SkillReport | null;
    try {
      this.leaveText();
    } finally {
      // The report states what was used even if the text cannot be written.
      report = this.leaveReport();
    }
    return report;
  }

  private leaveText(): void {
    if (this.lines.length === 0) return;
    const path = this.environment["ENVOI_OUTPUT"];
    if (path) writeWhole(path, this.lines.join(""));
    else process.stdout.write(this.lines.join(""));
  }

  private leaveReport(): SkillReport | null {
    const path = this.environment["ENVOI_REPORT"];
    if (!path) return null;
    const { report, refusal } = this.writableReport();
    keepReport(path, report);
    if (refusal !== undefined) throw refusal.cause;
    return report;
  }

  /** The report without the parts that JSON cannot express, and why, if there are any. */
  private writableReport(): { report: SkillReport; refusal: { cause: unknown } | undefined } {
    let refusal: { cause: unknown } | undefined;
    for (const [data, metrics] of this.payloads()) {
      try {
        return { report: reportOf(words(this.skillName), data, { metrics, error: sayable(this.error) }), refusal };
      } catch (cause) {
        refusal ??= { cause };
        this.error ??= { code: "SKILL_REPORT_INVALID", message: `data or metrics: ${reason(cause)}` };
      }
    }
    throw refusal?.cause;
  }

  /** Data and metrics as they are, then less and less of them. Limits are held by the metrics: they go last. */
  private *payloads(): Generator<[data: unknown, metrics: Metrics | null | undefined], void, undefined> {
    const { data } = this;
    const given: Metrics | null = this.metrics;
    const entries: [unknown, unknown][] = given instanceof Map ? Array.from(given) : Object.entries(given ?? {});
    yield [data, entries.length > 0 ? given : undefined];
    const writable = entries.filter(isMetric);
    const metrics = writable.length > 0 ? new Map(writable) : undefined;
    yield [data, metrics];
    yield [null, metrics];
    yield [null, undefined];
  }

  private content(variable: string): Uint8Array | null {
    const path = this.environment[variable];
    return path ? readFileSync(path) : null;
  }
}

/**
 * Runs the body of a command as an attempt of a step. What it returns becomes the report's data. On the way out the report is
 * written: `ok: false` if the body throws or reports a failure. An exception goes on its way, so that the exit code is 1.
 *
 * @param skillName stands in the report; without one it is the step's id
 */
export async function runStep<T>(
  body: (step: Attempt) => T | Promise<T>,
  { skillName, environment = process.env }: { skillName?: string; environment?: Environment } = {},
): Promise<SkillReport | null> {
  const step = new Attempt(environment, skillName);
  try {
    step.data = (await body(step)) ?? step.data;
  } catch (cause) {
    step.error = explained(cause);
    leaveQuietly(step);
    throw cause;
  }
  return step.leave();
}

/**
 * Hands over `data` as the step's data, at `$ENVOI_DATA`, as a whole or not at all; later steps read it as `steps.ID.data`. It needs no
 * report. Data in two places is a failure of the step: not in a step whose report has data, nor with `data: json`.
 *
 * @returns whether Envoi runs this command; without Envoi nothing is written
 * @throws JsonError for what JSON cannot express
 */
export function writeData(data: unknown, { environment = process.env }: { environment?: Environment } = {}): boolean {
  const text = formatJson(data);
  const path = environment["ENVOI_DATA"];
  if (!path) return false;
  writeWhole(path, text);
  return true;
}

/** Writes what can be written: the exception that is thrown already is more important than an incomplete report. */
function leaveQuietly(step: Attempt): void {
  try {
    step.leave();
  } catch (refusal) {
    process.stderr.write(`not in the report: ${reason(refusal)}\n`);
  }
}

/** Takes the file apart at the first line `--- stderr`. */
function readFeedback(content: string): Feedback {
  const mark = `\n${content}`.indexOf("\n--- stderr\n");
  if (mark < 0) return { text: content, stderr: "" };
  return { text: content.slice(0, mark), stderr: content.slice(mark + "--- stderr\n".length) };
}

/** Whether JSON can express it at its place in a report. */
function isMetric(metric: [unknown, unknown]): metric is [string, unknown] {
  try {
    toJson({ metrics: new Map([metric]) });
    checkMetrics(toJson(new Map([metric])) as JsonObject);
    return true;
  } catch {
    return false;
  }
}

function count(text: string, otherwise: number): number {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : otherwise;
}
