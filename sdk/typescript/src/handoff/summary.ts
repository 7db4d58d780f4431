/** The summary of a step's text: the text itself, or a digest that keeps its head, its tail and what it states. */

import { summaryLines } from "../routing/text.js";
import { countScalars, firstScalars, lastScalars, trim } from "../scalars.js";

/** The longest summary, in Unicode scalars. */
export const MAX_SUMMARY_SCALARS = 2000;

/** How many scalars the kept status lines may take. */
const KEPT_SCALARS = 400;

/** How many scalars are set aside for the marker of what was left out. */
const MARKER_SCALARS = 40;

/** How far from a cut a white space is looked for. */
const BREAK_SCALARS = 80;

/**
 * At most 2000 Unicode scalars of `text`: up to that, the text itself, trimmed; else the lines that state something, its head,
 * a marker and its tail. The same text gives the same summary.
 */
export function summarize(text: string): string {
  const trimmed = trim(text);
  const scalars = countScalars(trimmed);
  return scalars <= MAX_SUMMARY_SCALARS ? trimmed : digest(trimmed, scalars);
}

function digest(text: string, scalars: number): string {
  const kept = keptLines(text);
  const room = MAX_SUMMARY_SCALARS - countScalars(kept) - MARKER_SCALARS;
  const headRoom = Math.floor((2 * room) / 3);
  const head = brokenAtEnd(firstScalars(text, headRoom));
  const tail = brokenAtStart(lastScalars(text, room - headRoom));
  const omitted = scalars - countScalars(head) - countScalars(tail);
  return `${kept}${head}\n… [${omitted} characters omitted] …\n${tail}`;
}

/** The lines that carry a counted status label or hint, each once, as far as they fit. */
function keptLines(text: string): string {
  const kept = new Set<string>();
  let length = 0;
  for (const line of summaryLines(text)) {
    const withLine = length + countScalars(line) + 1;
    if (withLine > KEPT_SCALARS || kept.has(line)) continue;
    kept.add(line);
    length = withLine;
  }
  return Array.from(kept, (line) => `${line}\n`).join("");
}

/** The head up to the last white space near its end. */
function brokenAtEnd(head: string): string {
  const near = lastScalars(head, BREAK_SCALARS);
  const at = Math.max(near.lastIndexOf("\n"), near.lastIndexOf(" "));
  return at < 0 ? head : head.slice(0, head.length - near.length + at);
}

/** The tail from the first white space near its start. */
function brokenAtStart(tail: string): string {
  const at = firstScalars(tail, BREAK_SCALARS).search(/[\n ]/);
  return at < 0 ? tail : tail.slice(at + 1);
}
