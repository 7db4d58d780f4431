/** Documents as they come: text, or bytes that must be UTF-8; within 16 MiB either way. */

import { isIllFormed } from "../scalars.js";

/** What decoders read: a text, or its bytes. */
export type Source = string | Uint8Array;

/** The largest document that is read: 16 MiB of UTF-8. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** A source's text, or what stands in the way of having one. */
export type Opened =
  | { text: string }
  | { tooLarge: number }
  /** The text up to where UTF-8 ends; the byte that stands there, if the source has bytes. */
  | { before: string; byte: number | undefined };

export function open(source: Source): Opened {
  return typeof source === "string" ? openText(source) : openBytes(source);
}

function openText(text: string): Opened {
  const bytes = text.length * 3 <= MAX_BYTES ? text.length : new TextEncoder().encode(text).length;
  if (bytes > MAX_BYTES) return { tooLarge: bytes };
  if (!isIllFormed(text)) return { text };
  return { before: text.slice(0, text.search(/\p{Surrogate}/u)), byte: undefined };
}

function openBytes(bytes: Uint8Array): Opened {
  if (bytes.length > MAX_BYTES) return { tooLarge: bytes.length };
  try {
    return { text: decode(bytes) };
  } catch {
    const end = validLength(bytes);
    return { before: decode(bytes.subarray(0, end)), byte: bytes[end] };
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** How many bytes from the beginning are UTF-8. */
function validLength(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = scalarLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** The length of the UTF-8 sequence at `at`; 0 if it is none. */
function scalarLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  const second = bytes[at + 1] ?? 0;
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (length === 0 || second < lowest || second > highest) return 0;
  for (let next = 2; next < length; next += 1) {
    if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
