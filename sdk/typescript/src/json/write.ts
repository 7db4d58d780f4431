/** Writes values: minimal escapes, two spaces or none, the same bytes on every machine. */

import { JsonNumber } from "./number.js";
import { quote, toJson, type JsonValue } from "./value.js";

/** `value` on one line, without white space. @throws JsonError as `toJson` does. */
export function formatCompact(value: unknown): string {
  return compact(toJson(value));
}

/** `value` indented by two spaces, ending with one newline. @throws JsonError as `toJson` does. */
export function formatJson(value: unknown): string {
  return `${pretty(toJson(value), "\n")}\n`;
}

/** The same as `formatCompact` for what is JSON already. */
export function compact(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(",")}]`;
  if (value instanceof Map) {
    const members = Array.from(value, ([name, member]) => `${quote(name)}:${compact(member)}`);
    return `{${members.join(",")}}`;
  }
  return scalar(value);
}

function scalar(value: null | boolean | string | JsonNumber): string {
  if (typeof value === "string") return quote(value);
  return value instanceof JsonNumber ? value.text : String(value);
}

/** `newline` is the line's end with the indentation of the line that `value` begins on. */
function pretty(value: JsonValue, newline: string): string {
  const inner = `${newline}  `;
  if (Array.isArray(value) && value.length > 0) {
    return `[${inner}${value.map((element) => pretty(element, inner)).join(`,${inner}`)}${newline}]`;
  }
  if (value instanceof Map && value.size > 0) {
    const members = Array.from(value, ([name, member]) => `${quote(name)}: ${pretty(member, inner)}`);
    return `{${inner}${members.join(`,${inner}`)}${newline}}`;
  }
  return compact(value);
}
