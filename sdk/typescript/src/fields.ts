/**
 * Takes the members of an object one by one, with the same refusals in every contract; what is left is unknown.
 *
 * Knows types, not meanings. Works on a copy of the object; values inside it are handed over as they are.
 */

import { ContractError, refuse } from "./diagnostic.js";
import { escapeSegment } from "./json/error.js";
import { JsonNumber } from "./json/number.js";
import { membersOf } from "./json/stringify.js";
import type { JsonObject, JsonValue } from "./json/value.js";
import { shorten } from "./scalars.js";
import { nearest } from "./suggestion.js";
import type { Code } from "./vocabulary.js";

const INTEGER = "an integer from 0 to 9007199254740991";

export class Fields {
  readonly code: Code;
  private readonly place: string;
  private readonly left: JsonObject;

  /** The members of `value`, which must be an object and stands at `place`. */
  constructor(code: Code, value: JsonValue, place = "") {
    if (!(value instanceof Map)) throw refuse(code, place, "an object", value);
    this.code = code;
    this.place = place;
    this.left = membersOf(value);
  }

  take(name: string): JsonValue | undefined {
    const value = this.left.get(name);
    this.left.delete(name);
    return value;
  }

  pointer(name: string): string {
    return `${this.place}/${escapeSegment(name)}`;
  }

  wrong(name: string, expected: string, found: JsonValue): ContractError {
    return refuse(this.code, this.pointer(name), expected, found);
  }

  missing(name: string): ContractError {
    return new ContractError(this.code, { pointer: this.place, expected: `a member \`${name}\``, found: "none" });
  }

  /** A string that must be there. */
  requiredString(name: string): string {
    const value = this.take(name);
    if (value === undefined) throw this.missing(name);
    return this.asString(name, value, "a string");
  }

  /** A string or null; absent is null. */
  nullableString(name: string): string | null {
    const value = this.take(name) ?? null;
    return value === null ? null : this.asString(name, value, "a string or null");
  }

  /** A string with its default; null is no string. */
  string(name: string, otherwise = ""): string {
    const value = this.take(name);
    return value === undefined ? otherwise : this.asString(name, value, "a string");
  }

  private asString(name: string, value: JsonValue, expected: string): string {
    if (typeof value === "string") return value;
    throw this.wrong(name, expected, value);
  }

  boolean(name: string, otherwise = false): boolean {
    const value = this.take(name);
    if (value === undefined) return otherwise;
    if (typeof value === "boolean") return value;
    throw this.wrong(name, "true or false", value);
  }

  /** True, false or null; absent is null. */
  nullableBoolean(name: string): boolean | null {
    const value = this.take(name) ?? null;
    if (value === null || typeof value === "boolean") return value;
    throw this.wrong(name, "true, false or null", value);
  }

  /** An integer in 0 to 2^53 - 1 with its default. */
  integer(name: string, otherwise: number): number {
    const value = this.take(name);
    if (value === undefined) return otherwise;
    const integer = value instanceof JsonNumber ? value.toSafeInteger() : undefined;
    if (integer === undefined) throw this.wrong(name, INTEGER, value);
    return integer;
  }

  /** A list of strings; empty when absent. */
  strings(name: string): string[] {
    return this.list(name, "a list of strings", (element, place) => {
      if (typeof element === "string") return element;
      throw refuse(this.code, place, "a string", element);
    });
  }

  /** A list, each element read by `read`; empty when absent. */
  list<T>(name: string, expected: string, read: (element: JsonValue, place: string) => T): T[] {
    const value = this.take(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.wrong(name, expected, value);
    return value.map((element, index) => read(element, `${this.pointer(name)}/${index}`));
  }

  /** An object; empty when absent. */
  object(name: string): JsonObject {
    const value = this.take(name);
    if (value === undefined) return membersOf();
    if (value instanceof Map) return value;
    throw this.wrong(name, "an object", value);
  }

  /** An object or null; absent is null. */
  nullableObject(name: string): JsonObject | null {
    const value = this.take(name) ?? null;
    if (value === null || value instanceof Map) return value;
    throw this.wrong(name, "an object or null", value);
  }

  /** A map whose values are all of one type; empty when absent. */
  mapOf<V extends JsonValue>(name: string, expected: string, is: (value: JsonValue) => value is V): Map<string, V> {
    const typed = membersOf<V>();
    for (const [key, value] of this.object(name)) {
      if (!is(value)) throw refuse(this.code, `${this.pointer(name)}/${escapeSegment(key)}`, expected, value);
      typed.set(key, value);
    }
    return typed;
  }

  /** A word of a closed vocabulary that must be there unless it has a default. */
  word<W extends string>(name: string, words: readonly W[], expected: string, otherwise?: W): W {
    const value = this.take(name);
    if (value === undefined) {
      if (otherwise === undefined) throw this.missing(name);
      return otherwise;
    }
    const word = words.find((known) => known === value);
    if (word === undefined) throw this.wrong(name, expected, value);
    return word;
  }

  /** Refuses members that are not taken; `names` are the known members. */
  refuseOthers(names: readonly string[]): void {
    for (const name of this.left.keys()) {
      const meant = nearest(name, names);
      const expected = `one of the members ${names.map((known) => `\`${known}\``).join(", ")}`;
      const hint = meant === undefined ? undefined : `did you mean \`${meant}\`?`;
      throw new ContractError(this.code, { pointer: this.pointer(name), expected, found: shorten(name, 60), hint });
    }
  }

  /** The members that are not taken, in the order read. */
  rest(): JsonObject {
    return this.left;
  }
}

export function isText(value: JsonValue): value is string {
  return typeof value === "string";
}

export function isTruth(value: JsonValue): value is boolean {
  return typeof value === "boolean";
}

/** The known members, then the unknown ones; a known name is never written twice. */
export function withUnknown<V>(known: Map<string, V>, unknown: ReadonlyMap<string, V>): Map<string, V> {
  for (const [name, value] of unknown) {
    if (!known.has(name)) known.set(name, value);
  }
  return known;
}
