/** When a result is what was expected. */

import { JsonNumber } from "../json/number.js";
import { member, type JsonObject, type JsonValue } from "../json/value.js";

/** Objects by member, integers by text, other numbers by value; a null `error.message` means any text. */
export function same(expected: JsonValue, got: JsonValue): boolean {
  if (expected instanceof Map) return got instanceof Map && sameMembers(expected, got);
  if (expected instanceof JsonNumber) return got instanceof JsonNumber && sameNumber(expected, got);
  if (!Array.isArray(expected)) return expected === got;
  return Array.isArray(got) && expected.length === got.length && expected.every((each, at) => same(each, got[at] ?? null));
}

/** Whether `got` has each expected member. */
export function hasAll(expected: JsonValue, got: JsonValue): boolean {
  if (!(expected instanceof Map)) return same(expected, got);
  return Array.from(expected).every(([name, value]) => {
    const there = member(got, name);
    return there !== undefined && same(value, there);
  });
}

function sameNumber(expected: JsonNumber, got: JsonNumber): boolean {
  if (expected.isIntegerToken() && got.isIntegerToken()) return expected.text === got.text;
  return expected.hasValueOf(got);
}

function sameMembers(expected: JsonObject, got: JsonObject): boolean {
  return expected.size === got.size && Array.from(expected).every(([name, value]) => {
    const there = got.get(name);
    return there !== undefined && (same(value, there) || (name === "error" && sameError(value, there)));
  });
}

/** An expected error whose message is null matches any message. */
function sameError(expected: JsonValue, got: JsonValue): boolean {
  const isOpen = member(expected, "message") === null && typeof member(got, "message") === "string";
  return isOpen && member(expected, "code") === member(got, "code");
}
