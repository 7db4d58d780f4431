/** Finds a value again, for an error that was found after reading. */

import { positionOf, type Position } from "./error.js";
import { Reader } from "./read.js";

/** The place of the value that `pointer` names in `text`; undefined if there is none, or `text` is not readable so far. */
export function locate(text: string, pointer: string): Position | undefined {
  const reader = new Reader(text);
  reader.skipSpace();
  try {
    for (const segment of pointer.split("/").slice(1)) {
      if (!descend(reader, segment.replaceAll("~1", "/").replaceAll("~0", "~"))) return undefined;
    }
  } catch {
    return undefined;
  }
  return positionOf(text, reader.at);
}

/** Moves from the beginning of a container to the value `segment` in it. */
function descend(reader: Reader, segment: string): boolean {
  if (reader.eat("{")) return toMember(reader, segment);
  return /^[0-9]+$/.test(segment) && reader.eat("[") && toElement(reader, Number(segment));
}

function toMember(reader: Reader, wanted: string): boolean {
  do {
    reader.skipSpace();
    if (reader.name() === wanted) return true;
  } while (skipValue(reader));
  return false;
}

function toElement(reader: Reader, index: number): boolean {
  for (let passed = 0; passed < index; passed += 1) {
    reader.skipSpace();
    if (!skipValue(reader)) return false;
  }
  reader.skipSpace();
  return reader.peek() !== "]";
}

/** Passes a value; whether another one follows. */
function skipValue(reader: Reader): boolean {
  reader.value();
  reader.skipSpace();
  return reader.eat(",");
}
