/**
 * Finds hand-offs in JSON that a text quotes.
 *
 * A step that prints the file at `$ENVOI_HANDOFF` prints the status of the step before; read as its own, the two would conflict.
 * A hand-off is known by the five members that every one has.
 *
 * The work is linear in the length of the text: objects inside an object are found in the same reading, and the next reading
 * begins behind the last one, or after a failure inside the string in which it ended.
 */

import { Fault, parseJson, Reader } from "../json/read.js";
import type { JsonObject } from "../json/value.js";

const MEMBERS = ["step_id", "flow_key", "run_id", "routing_signal", "summary"];

/** So many objects of a text are read, not counting those inside them. */
const READINGS = 32;

/** Where something stands in a text. */
interface Range {
  start: number;
  end: number;
}

/** Whether a text is one hand-off. */
export function isWholeHandoff(text: string): boolean {
  return /^[ \t\r\n\f]*\{/.test(text) && mayHoldOne(text) && isHandoff(text);
}

/** Looks for hand-offs from the start of a text to its end. */
export class HandoffFinder {
  private readonly text: string;
  private readingsLeft: number;
  /** Where the next reading may begin. */
  private next = 0;
  /** The first opening at `next` or behind it, once it is looked for. */
  private opening: number | undefined;
  /** The hand-offs of the last reading, in order. */
  private found: Range[] = [];
  /** How many of `found` are passed. */
  private passed = 0;
  /** How many UTF-16 units all readings have read. */
  unitsRead = 0;

  constructor(text: string) {
    this.text = text;
    this.readingsLeft = mayHoldOne(text) ? READINGS : 0;
  }

  /** Where the first hand-off stands that begins at `start` or behind it, and before `end`. Calls go from left to right. */
  first(start: number, end: number): Range | undefined {
    for (;;) {
      const handoff = this.found[this.passed];
      if (handoff !== undefined && handoff.start >= end) return undefined;
      if (handoff !== undefined) {
        this.passed += 1;
        if (handoff.start >= start) return handoff;
        continue;
      }
      const opening = this.openingFrom(Math.max(start, this.next));
      if (opening >= end || this.readingsLeft === 0) return undefined;
      this.readingsLeft -= 1;
      this.read(opening);
    }
  }

  /** The first `{` from `start` that a `"` follows; braces of prose and of programs begin no object. The end if there is none. */
  private openingFrom(start: number): number {
    if (this.opening === undefined || this.opening < start) {
      const pattern = /\{(?=[ \t\r\n]*")/g;
      pattern.lastIndex = start;
      this.opening = pattern.exec(this.text)?.index ?? this.text.length;
    }
    return this.opening;
  }

  private read(opening: number): void {
    const search = new Search(this.text, opening);
    const complete = search.complete();
    this.next = complete ? search.at : search.lastString + 1;
    this.found = search.found;
    this.passed = 0;
    this.unitsRead += search.at - opening;
  }
}

/** Keeps where the hand-offs stand: in order, none inside another. */
class Search extends Reader {
  lastString: number;
  readonly found: Range[] = [];

  constructor(text: string, start: number) {
    super(text);
    this.at = start;
    this.lastString = start;
  }

  /** Whether an object as a whole stands here. */
  complete(): boolean {
    try {
      this.value();
      return true;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return false;
    }
  }

  protected override string(): string {
    this.lastString = this.at;
    return super.string();
  }

  protected override object(): JsonObject {
    const start = this.at - 1;
    const members = super.object();
    if (hasMembers(members)) {
      while ((this.found.at(-1)?.start ?? 0) > start) this.found.pop();
      this.found.push({ start, end: this.at });
    }
    return members;
  }
}

/** Whether the names of a hand-off stand in a text, so that most texts are not searched at all. */
function mayHoldOne(text: string): boolean {
  return text.includes('"routing_signal"') && text.includes('"flow_key"');
}

function isHandoff(text: string): boolean {
  try {
    const value = parseJson(text);
    return value instanceof Map && hasMembers(value);
  } catch {
    return false;
  }
}

function hasMembers(members: JsonObject): boolean {
  return MEMBERS.every((name) => members.has(name));
}
