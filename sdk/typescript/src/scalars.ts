/**
 * Strings as the contracts count them: in Unicode scalars, while JavaScript counts UTF-16 units; folded and trimmed in
 * ASCII only.
 */

const SPACE = new Set([" ", "\t", "\n", "\f", "\r"]);

/** Whether a string has half a surrogate pair in it: such a string has no UTF-8 and is refused everywhere. */
export function isIllFormed(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** `text` with U+FFFD for each half of a surrogate pair. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

export function trimStart(text: string): string {
  let at = 0;
  while (SPACE.has(text.charAt(at))) at += 1;
  return text.slice(at);
}

export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

export function trim(text: string): string {
  return trimEnd(trimStart(text));
}

export function isBlank(text: string): boolean {
  return trimStart(text) === "";
}

export function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function sameIgnoringCase(one: string, other: string): boolean {
  return one === other || (one.length === other.length && lower(one) === lower(other));
}

export function endsIgnoringCase(text: string, end: string): boolean {
  return text.length >= end.length && sameIgnoringCase(text.slice(-end.length), end);
}

/** `text` without the UTF-16 units of `set` at its beginning. */
export function dropStart(text: string, set: string): string {
  let at = 0;
  while (at < text.length && set.includes(text.charAt(at))) at += 1;
  return text.slice(at);
}

/** `text` without the UTF-16 units of `set` at its end. */
export function dropEnd(text: string, set: string): string {
  let end = text.length;
  while (end > 0 && set.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Where the scalar begins that ends at `end`. */
function scalarBefore(text: string, end: number): number {
  return end > 1 && isLow(text.charCodeAt(end - 1)) ? end - 2 : end - 1;
}

/** The last scalar; empty if there is none. */
export function lastScalar(text: string): string {
  return text === "" ? "" : text.slice(scalarBefore(text, text.length));
}

/** `text` without the scalars at its end for which `belongs` is true. */
export function dropEndWhile(text: string, belongs: (scalar: string) => boolean): string {
  let end = text.length;
  while (end > 0) {
    const start = scalarBefore(text, end);
    if (!belongs(text.slice(start, end))) break;
    end = start;
  }
  return text.slice(0, end);
}

/** How many scalars there are in `text` between two places. */
export function countScalars(text: string, start = 0, end = text.length): number {
  let count = 0;
  for (let at = start; at < end; at += 1) {
    if (!isLow(text.charCodeAt(at))) count += 1;
  }
  return count;
}

/** The first `count` scalars. */
export function firstScalars(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken += 1) {
    end += isLow(text.charCodeAt(end + 1)) ? 2 : 1;
  }
  return text.slice(0, end);
}

/** The last `count` scalars. */
export function lastScalars(text: string, count: number): string {
  let start = text.length;
  for (let taken = 0; taken < count && start > 0; taken += 1) start = scalarBefore(text, start);
  return text.slice(start);
}

/** `text` in backticks, cut after `limit` scalars. */
export function shorten(text: string, limit: number): string {
  const shown = firstScalars(text, limit);
  return shown.length < text.length ? `\`${shown}…\`` : `\`${text}\``;
}
