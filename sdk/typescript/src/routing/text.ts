/**
 * Reads a hand-off text: the lines that count, their statuses and their routing hints.
 *
 * Fenced blocks and quoted lines quote others and do not count. A text that is one YAML or JSON block as a whole is the
 * step's own, and its `status` counts. A hand-off in JSON is a quotation wherever it stands.
 */

import { escapeSegment } from "../json/error.js";
import { locate } from "../json/locate.js";
import { parseJson } from "../json/read.js";
import type { JsonObject } from "../json/value.js";
import { dropStart, lower, trim, trimStart } from "../scalars.js";
import { HandoffFinder, isWholeHandoff } from "./handoff.js";
import { hintToStep, hintsOf } from "./hint.js";
import { deniesHelp, isNo, isStated, namesHelp, namesStatus, statusesOf, valueOf, type Stated, type Value } from "./label.js";
import type { Route } from "./signal.js";

/** The findings in a text. */
export interface Findings {
  /** Labelled statuses, in order. */
  statuses: Stated[];
  /** Hints, in order. */
  hints: Route[];
  /** Whether the text denies that further iteration can help. */
  deniesHelp: boolean;
}

/** A text as it is to be read: line by line, as one JSON object, or as one fenced YAML block. */
type Reading =
  | { as: "lines"; text: string }
  | { as: "json"; object: JsonObject; body: string; fenced: boolean }
  | { as: "yaml"; body: string };

function readingOf(text: string): Reading {
  const whole = trim(text);
  const block = onlyBlock(whole);
  if (isWholeHandoff(block?.body ?? whole)) return { as: "lines", text: "" };
  if (block !== undefined) return fencedReading(block) ?? { as: "lines", text };
  const object = whole.startsWith("{") ? jsonObject(whole) : undefined;
  return object === undefined ? { as: "lines", text } : { as: "json", object, body: whole, fenced: false };
}

/** The findings in a text; without hints unless `withHints`. */
export function findingsOf(text: string, withHints: boolean): Findings {
  const findings: Findings = { statuses: [], hints: [], deniesHelp: false };
  const reading = readingOf(text);
  if (reading.as === "lines") countedLines(reading.text).forEach((line) => addLine(findings, line, withHints));
  else if (reading.as === "yaml") marginLines(reading.body).forEach((line) => addLine(findings, line, false));
  else addMembers(findings, reading.object, withHints && !reading.fenced);
  return findings;
}

/** The lines in which an unlabelled status may stand: those that count and are no template. */
export function proseOf(text: string): string[] {
  const reading = readingOf(text);
  if (reading.as === "yaml" || (reading.as === "json" && reading.fenced)) return [];
  const prose = reading.as === "json" ? reading.body : reading.text;
  return countedLines(prose).filter((line) => !statusesOf(line).includes("template"));
}

/** The lines that carry a counted status label or hint, for the summary of a long text. */
export function summaryLines(text: string): string[] {
  const reading = readingOf(text);
  if (reading.as === "lines") return countedLines(reading.text).filter((line) => tells(line, true));
  if (reading.as === "yaml") return marginLines(reading.body).filter((line) => tells(line, false));
  const names = Array.from(reading.object.keys()).filter(namesStatus);
  return names.flatMap((name) => lineOfMember(reading.body, name));
}

function addLine(findings: Findings, line: string, withHints: boolean): void {
  for (const value of statusesOf(line)) addStatus(findings, value);
  findings.deniesHelp ||= deniesHelp(line);
  if (withHints) for (const hint of hintsOf(line)) findings.hints.push(hint);
}

function addMembers(findings: Findings, object: JsonObject, withHints: boolean): void {
  for (const [name, value] of object) {
    const text = typeof value === "string" ? value : "";
    if (namesStatus(name)) addStatus(findings, valueOf(text));
    else if (namesHelp(name)) findings.deniesHelp ||= value === false || isNo(text);
    else if (withHints && lower(name) === "route_to") findings.hints.push(...hintToStep(text));
  }
}

function addStatus(findings: Findings, value: Value): void {
  if (isStated(value)) findings.statuses.push(value);
}

function tells(line: string, withHints: boolean): boolean {
  return statusesOf(line).some(isStated) || (withHints && hintsOf(line).length > 0);
}

/** An open fence: at least three backticks or tildes, and the text after them. */
interface Fence {
  mark: string;
  length: number;
  info: string;
}

function fenceOpenedBy(line: string): Fence | undefined {
  const start = trimStart(line);
  const mark = start.charAt(0);
  if (mark !== "`" && mark !== "~") return undefined;
  const info = dropStart(start, mark);
  const length = start.length - info.length;
  return length < 3 || (mark === "`" && info.includes("`")) ? undefined : { mark, length, info: trim(info) };
}

function closes({ mark, length }: Fence, line: string): boolean {
  const start = trim(line);
  return start.length >= length && dropStart(start, mark) === "";
}

/** The info word and the body of a text that is one fenced block as a whole. */
function onlyBlock(whole: string): { info: string; body: string } | undefined {
  const bodyStart = whole.indexOf("\n") + 1;
  const fence = bodyStart === 0 ? undefined : fenceOpenedBy(whole.slice(0, bodyStart - 1));
  if (fence === undefined) return undefined;
  for (let start = bodyStart; start < whole.length; ) {
    const newline = whole.indexOf("\n", start);
    const end = newline < 0 ? whole.length : newline + 1;
    if (closes(fence, whole.slice(start, end))) {
      return end === whole.length ? { info: fence.info, body: whole.slice(bodyStart, start) } : undefined;
    }
    start = end;
  }
  return undefined;
}

/** How a text that is one block is read, if the block is JSON or YAML. */
function fencedReading({ info, body }: { info: string; body: string }): Reading | undefined {
  const language = lower(info);
  const object = language === "" || language === "json" ? jsonObject(body) : undefined;
  if (object !== undefined) return { as: "json", object, body, fenced: true };
  const isYaml = language === "" ? marginLines(body).every(looksLikeYaml) : ["yaml", "yml"].includes(language);
  return isYaml ? { as: "yaml", body } : undefined;
}

function jsonObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return value instanceof Map ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Lines of a YAML block that belong to its outermost mapping. */
function marginLines(body: string): string[] {
  return linesOf(body).filter((line) => !/^(?:[ \t#-]|$)/.test(line));
}

function looksLikeYaml(line: string): boolean {
  return line.includes(":") && /^[A-Za-z0-9_-]+(?:[:"']|$)/.test(dropStart(line, "\"'"));
}

/** The line of `body` in which the member `name` stands. */
function lineOfMember(body: string, name: string): string[] {
  const place = locate(body, `/${escapeSegment(name)}`);
  return place === undefined ? [] : linesOf(body).slice(place.line - 1, place.line);
}

function linesOf(text: string): string[] {
  return text.split("\n").map(withoutReturn);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/**
 * The lines that count: not fenced, not quoted, without the hand-offs in them. What stands before and behind a hand-off are lines
 * of their own.
 */
function countedLines(text: string): string[] {
  const counted: string[] = [];
  const handoffs = new HandoffFinder(text);
  let fence: Fence | undefined;
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const line = withoutReturn(text.slice(start, end));
    let next = end + 1;
    if (fence !== undefined) {
      if (closes(fence, line)) fence = undefined;
    } else {
      fence = fenceOpenedBy(line);
      if (fence === undefined && !trimStart(line).startsWith(">")) {
        const found = handoffs.first(start, end);
        counted.push(found === undefined ? line : text.slice(start, found.start));
        next = found?.end ?? next;
      }
    }
    start = next;
  }
  return counted;
}
