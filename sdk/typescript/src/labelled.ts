/**
 * The labelled text of the seeds: `Label: value` lines, `name=value` pairs, `[a, b]` lists.
 *
 * Turns text into the JSON form; what the members mean is checked there, once for both.
 */

import { ContractError, readDocument } from "./diagnostic.js";
import { positionOf } from "./json/error.js";
import { JsonNumber } from "./json/number.js";
import { parseJson } from "./json/read.js";
import { open, type Source } from "./json/source.js";
import { membersOf } from "./json/stringify.js";
import type { JsonObject, JsonValue } from "./json/value.js";
import { dropEnd, isBlank, sameIgnoringCase, shorten, trim, trimEnd, trimStart } from "./scalars.js";
import { nearest } from "./suggestion.js";
import type { Code } from "./vocabulary.js";

/** Which labels a text may have, and what each becomes. */
export interface Labels {
  code: Code;
  /** As shown, with the member that each stands for; read in any case. A line that nearly is a `guarded` one is refused. */
  members: Readonly<Record<string, { name: string; value: (text: string) => JsonValue; freeText?: true; guarded?: true }>>;
}

/** Reads a source that is JSON or labelled text with `read`; a refusal knows its line and column, those of the label in labelled text. */
export function readEither<T>(labels: Labels, source: Source, read: (value: JsonValue) => T): T {
  if (isJson(source)) return readDocument(labels.code, source, read);
  const text = textOf(labels.code, source);
  const { members, starts } = fromLabels(labels, text);
  try {
    return read(members);
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    const start = starts.get(error.pointer.split("/")[1] ?? "");
    throw start === undefined ? error.located(text) : error.at(positionOf(text, start));
  }
}

/** Whether a source is meant as JSON: what comes first, apart from white space, begins a container. */
function isJson(source: Source): boolean {
  if (typeof source === "string") return /^[{[]/.test(trimStart(source));
  const first = source.find((byte) => ![0x20, 0x09, 0x0a, 0x0c, 0x0d].includes(byte));
  return first === 0x7b || first === 0x5b;
}

/** A label and its value so far; `open` while lines without a label belong to it. */
interface Entry {
  /** Where its line begins. */
  start: number;
  label: string;
  value: string;
  open: boolean;
}

/** The JSON form of a text, and where the label of each member stands. */
function fromLabels(labels: Labels, text: string): { members: JsonObject; starts: Map<string, number> } {
  const members: JsonObject = membersOf();
  const starts = new Map<string, number>();
  for (const { label, value, start } of entries(labels, text)) {
    const known = labels.members[label];
    if (known === undefined) continue;
    members.set(known.name, known.value(value));
    starts.set(known.name, start);
  }
  return { members, starts };
}

function entries(labels: Labels, text: string): Entry[] {
  const lines = new Lines(text);
  const found: Entry[] = [];
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const start = lines.lineStart;
    const labelled = split(labels, line);
    const last = found.at(-1);
    if (labelled !== undefined) {
      if (found.some(({ label }) => label === labelled.label)) {
        throw refusal(labels.code, text, start, "each label once", `a second \`${labelled.label}\``);
      }
      found.push({ start, ...entry(labels, labelled.label, labelled.value, lines) });
    } else if (misspelt(labels, line) !== undefined) {
      const expected = `one of the labels ${Object.keys(labels.members).join(", ")}`;
      const found = shorten(trim(line.slice(0, line.indexOf(":"))), 40);
      const hint = `did you mean \`${misspelt(labels, line)}\`?`;
      throw new ContractError(labels.code, { pointer: "", expected, found, hint, position: positionOf(text, start) });
    } else if (last?.open) {
      last.value += `\n${dropEnd(line, "\n\r")}`;
    } else if (!isBlank(line)) {
      const expected = `one of the labels ${Object.keys(labels.members).join(", ")}`;
      throw refusal(labels.code, text, start, expected, shorten(trim(line), 40));
    }
  }
  return found.map((each) => (each.open ? { ...each, value: trimEnd(each.value) } : each));
}

/** What follows a label: a quoted value to its end, else the rest of the line, which free text may go on from. */
function entry(labels: Labels, label: string, value: string, lines: Lines): Omit<Entry, "start"> {
  const start = trimStart(value);
  if (start.startsWith('"')) return { label, value: quoted(start.slice(1), lines), open: false };
  return { label, value: trim(value), open: labels.members[label]?.freeText === true };
}

/** The guarded label that a line probably begins with; such a line is no text that goes on. */
function misspelt(labels: Labels, line: string): string | undefined {
  const colon = line.indexOf(":");
  const guarded = Object.entries(labels.members).filter(([, known]) => known.guarded === true);
  return colon < 0 ? undefined : nearest(trim(line.slice(0, colon)), guarded.map(([label]) => label), false);
}

function split(labels: Labels, line: string): { label: string; value: string } | undefined {
  const colon = line.indexOf(":");
  if (colon < 0) return undefined;
  const named = trim(line.slice(0, colon));
  const label = Object.keys(labels.members).find((known) => sameIgnoringCase(known, named));
  return label === undefined ? undefined : { label, value: line.slice(colon + 1) };
}

/** The lines of a text, each with its line end. */
class Lines {
  private readonly text: string;
  private end = 0;
  /** Where the line that came last begins. */
  lineStart = 0;

  constructor(text: string) {
    this.text = text;
  }

  next(): string | undefined {
    if (this.end === this.text.length) return undefined;
    this.lineStart = this.end;
    const newline = this.text.indexOf("\n", this.end);
    this.end = newline < 0 ? this.text.length : newline + 1;
    return this.text.slice(this.lineStart, this.end);
  }
}

/** A quoted value ends with a quote at the end of a line, this one or a later one; unclosed, it is all the rest. */
function quoted(opened: string, lines: Lines): string {
  for (let text = opened; ; ) {
    const trimmed = trimEnd(text);
    if (trimmed.endsWith('"')) return unescaped(trimmed.slice(0, -1));
    const line = lines.next();
    if (line === undefined) return trimmed;
    text += line;
  }
}

/** The text itself, unless it has escapes and is a JSON string. */
function unescaped(inner: string): string {
  if (!inner.includes("\\")) return inner;
  try {
    const value = parseJson(`"${inner}"`);
    return typeof value === "string" ? value : inner;
  } catch {
    return inner;
  }
}

function textOf(code: Code, source: Source): string {
  const opened = open(source);
  if ("tooLarge" in opened) {
    const found = `${opened.tooLarge} bytes`;
    throw new ContractError(code, { pointer: "", expected: "an input of at most 16 MiB", found });
  }
  if ("before" in opened) throw refusal(code, opened.before, opened.before.length, "UTF-8 text", "another byte");
  if (isBlank(opened.text)) throw refusal(code, opened.text, 0, "a JSON object or labelled text", "nothing");
  return opened.text;
}

function refusal(code: Code, text: string, offset: number, expected: string, found: string): ContractError {
  const hint = "give a JSON object, or lines of the form `Label: value`";
  return new ContractError(code, { pointer: "", expected, found, position: positionOf(text, offset), hint });
}

/** `name=value, name=value`; pieces without a `=`, as in `[a, b]`, belong to the value before. */
export function pairs(text: string, read: (name: string, value: string) => JsonValue): JsonObject {
  const found: [string, string][] = [];
  for (const piece of text.split(",").filter((each) => !isBlank(each))) {
    const equals = piece.indexOf("=");
    const name = trim(piece.slice(0, Math.max(equals, 0)));
    const last = found.at(-1);
    if (/^[A-Za-z0-9_]+$/.test(name)) found.push([name, trim(piece.slice(equals + 1))]);
    else if (last !== undefined) last[1] += `,${trimEnd(piece)}`;
    else found.push([trim(piece), ""]);
  }
  const members: JsonObject = membersOf();
  for (const [name, value] of found) members.set(name, read(name, value));
  return members;
}

/** `a, b` or `[a, b]`, quotes optional. */
export function list(text: string): JsonValue {
  const trimmed = trim(text);
  const bracketed = trimmed.length > 1 && trimmed.startsWith("[") && trimmed.endsWith("]");
  const items = (bracketed ? trimmed.slice(1, -1) : trimmed).split(",");
  return items.map((item) => unquoted(trim(item))).filter((item) => item !== "");
}

/** A number or a truth value if it reads as one, else a word. */
export function scalar(text: string): JsonValue {
  if (text === "true" || text === "false") return text === "true";
  return JsonNumber.parse(text) ?? word(text);
}

/** Text; null if it is `null` or empty. */
export function word(text: string): JsonValue {
  return text === "" || text === "null" ? null : unquoted(text);
}

/** The text itself. */
export function verbatim(text: string): JsonValue {
  return text;
}

/** Whether a value means that there is none. */
export function saysNone(text: string): boolean {
  return word(text) === null || sameIgnoringCase(text, "none");
}

function unquoted(text: string): string {
  const within = (mark: string): boolean => text.length > 1 && text.startsWith(mark) && text.endsWith(mark);
  return within('"') || within("'") ? text.slice(1, -1) : text;
}
