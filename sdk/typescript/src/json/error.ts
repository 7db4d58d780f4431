/** Why a text is no strict JSON document, or a JavaScript value no JSON, and where. */

import { countScalars } from "../scalars.js";

/** A place in a text: from 1, the column in Unicode scalars. */
export interface Position {
  line: number;
  column: number;
}

/** The place of the UTF-16 unit `offset` in `text`. */
export function positionOf(text: string, offset: number): Position {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", lineStart)) {
    line += 1;
    lineStart = at + 1;
  }
  return { line, column: countScalars(text, lineStart, Math.min(offset, text.length)) + 1 };
}

/** A member name as a segment of a JSON Pointer (RFC 6901). */
export function escapeSegment(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A text that is not one strict JSON document, or a value that JSON cannot express. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  /** JSON Pointer of the value that was being read. */
  readonly pointer: string;
  /** Line and column, when there is a text. */
  readonly position: Position | undefined;
  /** What may stand there. */
  readonly expected: string;
  /** What stands there, shortened. */
  readonly found: string;

  constructor(pointer: string, position: Position | undefined, expected: string, found: string) {
    const place = position === undefined ? [] : [`line ${position.line}, column ${position.column}`];
    if (pointer !== "") place.push(`at \`${pointer}\``);
    super(`${place.length === 0 ? "" : `${place.join(", ")}: `}expected ${expected}, found ${found}`);
    this.pointer = pointer;
    this.position = position;
    this.expected = expected;
    this.found = found;
  }
}
