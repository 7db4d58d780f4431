/** What reading an envelope or a hand-off of another system had to interpret: every value that comes out otherwise than it went in. */

import { escapeSegment } from "./json/error.js";
import { describe, type JsonValue } from "./json/value.js";
import { compact } from "./json/write.js";

/** A value that was read by its meaning and is written in another way: an upper-case word, `4096.0`, a time with two zones. */
export interface Interpretation {
  /** JSON Pointer of the value. */
  pointer: string;
  /** How it was written, shortened. */
  read: string;
  /** What it is written as now, shortened; `nothing` if it is left out. */
  taken_as: string;
}

/** What differs. What was null, or not there, has its default now and is not among it. */
export function interpretations(read: JsonValue, written: JsonValue | undefined, pointer = ""): Interpretation[] {
  if (read === null) return [];
  if (read instanceof Map && written instanceof Map) {
    return Array.from(read).flatMap(([name, member]) =>
      interpretations(member, written.get(name), `${pointer}/${escapeSegment(name)}`),
    );
  }
  if (Array.isArray(read) && Array.isArray(written)) {
    return read.flatMap((element, index) => interpretations(element, written[index], `${pointer}/${index}`));
  }
  if (isSame(read, written)) return [];
  return [{ pointer, read: describe(read), taken_as: written === undefined ? "nothing" : describe(written) }];
}

/** Numbers are the same if they are written in the same way. */
function isSame(read: JsonValue, written: JsonValue | undefined): boolean {
  const isContainer = (value: JsonValue): boolean => Array.isArray(value) || value instanceof Map;
  if (written === undefined || isContainer(read) || isContainer(written)) return false;
  return compact(read) === compact(written);
}
