/** Labelled statuses: which colons of a line end a label, and what the value after one means. */

import { beginsWithLetter } from "../letters.js";
import { dropEnd, dropEndWhile, dropStart, endsIgnoringCase, lastScalar, sameIgnoringCase, trimEnd } from "../scalars.js";

/** A status as it was read: its word as written, and whether it was `NOT` or `NOT YET` that. */
export interface Stated {
  negated: boolean;
  word: string;
}

/** What follows a label: a status, a template that was echoed (`A | B`, `<status>`), or no word at all. */
export type Value = Stated | "template" | "nothing";

const MARKUP = "*_\"'`";
const DRESS = `${MARKUP} \t`;
const HELP_LABELS = ["can further iteration help", "can_further_iteration_help"];

/** Whether both are the same status, ignoring case. */
export function agree(one: Stated, other: Stated): boolean {
  return one.negated === other.negated && sameIgnoringCase(one.word, other.word);
}

/** A status as it is named in a reason. */
export function shown({ negated, word }: Stated): string {
  return negated ? `not ${word}` : word;
}

/** Whether the scalar that a text begins with can stand inside a word: a letter of any script, a digit, `_` or `-`. */
export function isWordPart(scalar: string): boolean {
  return scalar.startsWith("_") || scalar.startsWith("-") || beginsWithLetter(scalar);
}

/** Whether the value of a status label is a status. */
export function isStated(value: Value): value is Stated {
  return typeof value === "object";
}

/** The values of the status labels of a line, in order. */
export function statusesOf(line: string): Value[] {
  return labelled(line, ["status"]).map(valueOf);
}

/** Whether a line denies that further iteration can help. */
export function deniesHelp(line: string): boolean {
  return labelled(line, HELP_LABELS)
    .map(valueOf)
    .some((value) => isStated(value) && !value.negated && isNo(value.word));
}

/** Whether a value of the help label means no. */
export function isNo(word: string): boolean {
  return sameIgnoringCase(word, "no") || sameIgnoringCase(word, "false");
}

/** Whether a member is called as the status label is. */
export function namesStatus(name: string): boolean {
  return sameIgnoringCase(name, "status");
}

/** Whether a member is called as the help label is. */
export function namesHelp(name: string): boolean {
  return HELP_LABELS.some((label) => sameIgnoringCase(name, label));
}

/** What follows each colon that ends one of `labels`. */
function labelled(line: string, labels: readonly string[]): string[] {
  const values: string[] = [];
  for (let colon = line.indexOf(":"); colon >= 0; colon = line.indexOf(":", colon + 1)) {
    if (endsWithLabel(line.slice(0, colon), labels)) values.push(line.slice(colon + 1));
  }
  return values;
}

/** Whether a label ends here and is not the end of a longer name: `Exit status` and `http_status` are other labels. */
function endsWithLabel(text: string, labels: readonly string[]): boolean {
  const before = trimEnd(dropEnd(trimEnd(text), MARKUP));
  const label = labels.find((known) => endsIgnoringCase(before, known));
  if (label === undefined) return false;
  const prefix = dropEnd(before.slice(0, before.length - label.length), MARKUP);
  const spaced = trimEnd(prefix);
  const last = lastScalar(spaced);
  if (last === "") return true;
  if (spaced.length < prefix.length) return !beginsWithLetter(last);
  return "([{,;|#—–".includes(last);
}

/** Reads the value at the beginning of `text`. */
export function valueOf(text: string): Value {
  const bare = dropStart(text, DRESS);
  const first = wordOf(bare);
  if (first === undefined) return /^[<[{(]/.test(bare) ? "template" : "nothing";
  const denied = negation(first);
  const { word, after } = denied ?? first;
  return goesOnWithAlternative(after) ? "template" : { negated: denied !== undefined, word };
}

/** A word and what follows it. */
interface Word {
  word: string;
  after: string;
}

/** What `NOT X` or `NOT YET X` denies. */
function negation({ word, after }: Word): Word | undefined {
  if (!sameIgnoringCase(word, "not")) return undefined;
  const second = nextWord(after);
  if (second === undefined || !sameIgnoringCase(second.word, "yet")) return second;
  return nextWord(second.after) ?? second;
}

/** The word after white space and markup. */
function nextWord(text: string): Word | undefined {
  const start = dropStart(text, DRESS);
  return start.length < text.length ? wordOf(start) : undefined;
}

/**
 * The word at the beginning of `text`. It begins with an ASCII letter; a letter of any script that touches it belongs to it,
 * so that whole words are compared and never parts. Underscores at its end are markup.
 */
function wordOf(text: string): Word | undefined {
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const word = dropEnd(takeWord(text), "_");
  return { word, after: text.slice(word.length) };
}

/** The scalars at the beginning of `text` that can stand inside a word. */
export function takeWord(text: string): string {
  let end = 0;
  for (const scalar of text) {
    if (!isWordPart(scalar)) break;
    end += scalar.length;
  }
  return text.slice(0, end);
}

/** Whether a word is followed by `|`, `/` or `or` and another word. */
export function goesOnWithAlternative(text: string): boolean {
  const after = dropStart(text, DRESS);
  if (/^[|/]/.test(after)) return beginsWord(after.slice(1));
  const or = wordOf(after);
  return or !== undefined && sameIgnoringCase(or.word, "or") && /^[ \t]/.test(or.after) && beginsWord(or.after);
}

function beginsWord(text: string): boolean {
  return /^[A-Za-z]/.test(dropStart(text, DRESS));
}

/** `text` without the word that it ends in the middle of, if any. */
export function beforeLastWord(text: string): string {
  return dropEndWhile(text, isWordPart);
}
