/**
 * JSON values that lose nothing: objects are maps, numbers are tokens.
 *
 * A plain JavaScript object would move names like `"10"` to its front, and a plain number would drop digits; so what is
 * read has neither. Writing is generous: {@link toJson} takes ordinary JavaScript values too, and refuses what it could only guess.
 */

import { isIllFormed, shorten } from "../scalars.js";
import { JsonError, escapeSegment } from "./error.js";
import { JsonNumber } from "./number.js";
import { membersOf, refuseStringify } from "./stringify.js";

/** An object: its members in the order in which they were read or set. */
export type JsonObject = Map<string, JsonValue>;

/** Any JSON value. */
export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject;

/** How many arrays and objects may stand inside one another. */
export const MAX_DEPTH = 127;

/**
 * A deep copy of `value` as JSON. Takes JSON values, finite numbers, bigints, maps with string keys, arrays, plain objects
 * (members that are `undefined`, or named by a symbol, are left out), the contracts' own classes, and what converts itself by a `toJson`
 * or a `toJSON`, such as a `Date`.
 *
 * @throws JsonError with the place for anything else: `NaN`, infinities, `undefined`, functions, symbols, promises, sets, errors and
 * other instances of a class, half a surrogate pair, and more than 127 levels. Nothing becomes `{}` for want of members.
 */
export function toJson(value: unknown): JsonValue {
  return convert(value, []);
}

/** The same for what must be an object. */
export function toJsonObject(value: unknown): JsonObject {
  const json = toJson(value);
  if (json instanceof Map) return json;
  throw new JsonError("", undefined, "an object", describe(json));
}

function convert(value: unknown, path: string[]): JsonValue {
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      return checked(value, path);
    case "number":
      if (!Number.isFinite(value)) throw refused(path, "a number that JSON can express", `\`${value}\``);
      return new JsonNumber(Object.is(value, -0) ? "-0" : String(value));
    case "bigint":
      return new JsonNumber(value.toString());
    case "object":
      return value === null || value instanceof JsonNumber ? value : representationOf(value, path);
    default:
      throw unsayable(path, `a JavaScript \`${typeof value}\``);
  }
}

/** The JSON that an object gives of itself, if it does. */
function representationOf(value: object, path: string[]): JsonValue {
  if (value instanceof Date && Number.isNaN(value.getTime())) throw unsayable(path, "an invalid `Date`");
  const own = ownWords(value, path.at(-1) ?? "");
  return own === value ? container(value, path) : convert(own, path);
}

function ownWords(value: object, name: string): unknown {
  if (hasMethod(value, "toJson")) return value.toJson();
  return hasMethod(value, "toJSON") && value.toJSON !== refuseStringify ? value.toJSON(name) : value;
}

function container(value: object, path: string[]): JsonValue {
  if (path.length === MAX_DEPTH) throw refused(path, "at most 127 levels of nesting", "a level more");
  if (Array.isArray(value)) return Array.from(value, (element: unknown, index) => child(element, path, String(index)));
  const object: JsonObject = membersOf();
  for (const [name, member] of entriesOf(value, path)) {
    if (typeof name !== "string") throw refused(path, "member names that are strings", `a JavaScript \`${typeof name}\``);
    object.set(checked(name, path), child(member, path, name));
  }
  return object;
}

/** The members of a map or a plain object. What an instance of a class consists of, only the class knows. */
function entriesOf(value: object, path: string[]): Iterable<[unknown, unknown]> {
  if (value instanceof Map) return value;
  const isPromise = hasMethod(value, "then");
  if (isPromise || !isPlain(value)) {
    throw unsayable(path, `a JavaScript \`${classOf(value)}\`${isPromise ? ": an `await` is missing" : ""}`);
  }
  return Object.entries(value).filter(([, member]) => member !== undefined);
}

/** Whether it is an object without a class, also one of another realm, such as a frame. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function child(value: unknown, path: string[], segment: string): JsonValue {
  path.push(segment);
  const converted = convert(value, path);
  path.pop();
  return converted;
}

function hasMethod<N extends string>(value: object, name: N): value is { [K in N]: (...given: unknown[]) => unknown } {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

function checked(text: string, path: string[]): string {
  if (isIllFormed(text)) throw refused(path, "text", "half a surrogate pair");
  return text;
}

function unsayable(path: string[], found: string): JsonError {
  return refused(path, "a value that JSON can express", found);
}

function refused(path: string[], expected: string, found: string): JsonError {
  return new JsonError(path.map((segment) => `/${escapeSegment(segment)}`).join(""), undefined, expected, found);
}

/** The name of a value's class, also if reading it throws. */
export function classOf(value: object): string {
  try {
    const made: unknown = (value as { constructor?: unknown }).constructor;
    return typeof made === "function" && made.name !== "" && !isIllFormed(made.name) ? made.name : "object";
  } catch {
    return "object";
  }
}

/**
 * A deep copy as plain objects, arrays and numbers, for code that wants ordinary JavaScript. Loses what those lose: digits
 * past double precision, number texts, and the order of names that look like integers.
 */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return value.toNumber();
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return value;
  const plain = {};
  for (const [name, member] of value) {
    const own = { value: toPlain(member), writable: true, enumerable: true, configurable: true };
    Object.defineProperty(plain, name, own); // an assignment to `__proto__` would make no member
  }
  return plain;
}

/** The member `name`, if `value` is an object that has it. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof Map ? value.get(name) : undefined;
}

/** The string, if it is one. */
export function asString(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A value, short enough for a message. */
export function describe(value: JsonValue): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Map) return "an object";
  return shorten(value instanceof JsonNumber ? value.text : typeof value === "string" ? quote(value) : String(value), 60);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
};

/** `text` in quotes, escaping only what JSON demands. */
export function quote(text: string): string {
  const escape = (unit: string): string =>
    SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${text.replace(/["\\\u0000-\u001f]/g, escape)}"`;
}
