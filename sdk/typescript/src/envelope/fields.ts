/** What all parts of an envelope read in the same way: times that are passed on. */

import type { Fields } from "../fields.js";
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
