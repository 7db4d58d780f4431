/** What all parts of an envelope read and write in the same way: times that are passed on, and checked counters. */

import type { Fields } from "../fields.js";
import { JsonNumber } from "../json/number.js";
import { passedOn } from "../time.js";

export const INVALID = "ENVELOPE_INVALID";

/** A time that is passed on as it is; null and absent are the same. */
export function readTime(fields: Fields, name: string): string | null {
  const text = fields.nullableString(name);
  if (text === null) return null;
  const kept = passedOn(text);
  if (kept === undefined) throw fields.wrong(name, "an RFC 3339 time or null", text);
  return kept;
}

/** A counter as it is written. @throws RangeError for what is no integer in 0 to 2^53 - 1 */
export function counter(value: number): JsonNumber {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`a counter cannot be ${value}`);
  return new JsonNumber(String(value));
}
