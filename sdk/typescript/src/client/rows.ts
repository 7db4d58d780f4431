/** What was read as JSON, as rows with ordinary members: without a lost digit, and without a table of types. */

import { JsonNumber } from "../json/number.js";
import type { JsonObject, JsonValue } from "../json/value.js";
import { FREE, type Event } from "./shapes.js";

/**
 * An object of the API. Members that a type describes are ordinary values, also within it; those of any form stay as they were read.
 */
export function row<T>(object: JsonValue | undefined): T {
  const members = object instanceof Map ? object : new Map<string, JsonValue>();
  const settled = Array.from(members, ([name, value]) => [name, FREE.has(name) ? value : simple(value)] as const);
  return Object.fromEntries(settled) as T;
}

/** The rows of a page. */
export function rows<T>(page: JsonObject, name: string): T[] {
  const list = page.get(name);
  return Array.isArray(list) ? list.map((each) => row<T>(each)) : [];
}

/** Texts, truths, lists, rows within rows; numbers where a JavaScript number is exact. */
function simple(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(simple);
  if (value instanceof Map) return row(value);
  if (!(value instanceof JsonNumber)) return value;
  const number = value.toNumber();
  return String(number) === value.text ? number : value;
}

/** Something that happened to a question: it was put, answered, has expired, or its run has ended. */
export interface QuestionEvent {
  /** What to give as `after` to miss nothing that follows. */
  id: string;
  run: string;
  event: Event;
}
