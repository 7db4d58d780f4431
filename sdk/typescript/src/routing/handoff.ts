/**
 * Finds hand-offs in JSON that a text quotes.
 *
 * A step that prints the file at `$ENVOI_HANDOFF` prints the status of the step before; read as its own, the two would conflict.
 * A hand-off is known by the five members that every one has.
 */

import { parseJson } from "../json/read.js";

const MEMBERS = ["step_id", "flow_key", "run_id", "routing_signal", "summary"];

/** So many objects of a text are tried. Each may cost a reading of the rest of the text, so that the number has to be bounded. */
const ATTEMPTS = 32;

/** Whether a text is one hand-off. */
export function isWholeHandoff(text: string): boolean {
  return /^[ \t\r\n\f]*\{/.test(text) && mayHoldOne(text) && isHandoff(text);
}

/** Looks for hand-offs from the start of a text to its end. */
export class HandoffFinder {
  private readonly text: string;
  private attempts: number;

  constructor(text: string) {
    this.text = text;
    this.attempts = mayHoldOne(text) ? ATTEMPTS : 0;
  }

  /** Where the first hand-off that begins between `start` and `end` begins and ends. */
  first(start: number, end: number): { start: number; end: number } | undefined {
    // Braces of prose and of programs are not tried.
    const opening = /\{(?=[ \t\r\n]*")/g;
    opening.lastIndex = start;
    while (this.attempts > 0) {
      const at = opening.exec(this.text)?.index;
      if (at === undefined || at >= end) return undefined;
      this.attempts -= 1;
      const closing = objectEnd(this.text, at);
      if (closing !== undefined && isHandoff(this.text.slice(at, closing))) return { start: at, end: closing };
    }
    return undefined;
  }
}

/** Whether the names of a hand-off stand in a text, so that most texts are not searched at all. */
function mayHoldOne(text: string): boolean {
  return text.includes('"routing_signal"') && text.includes('"flow_key"');
}

function isHandoff(text: string): boolean {
  try {
    const value = parseJson(text);
    return value instanceof Map && MEMBERS.every((name) => value.has(name));
  } catch {
    return false;
  }
}

/** The end of what begins with `{` and ends with the brace that closes it; braces inside strings do not count. */
function objectEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (inString && char === "\\") at += 1;
    else if (char === '"') inString = !inString;
    else if (!inString && char === "{") depth += 1;
    else if (!inString && char === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
