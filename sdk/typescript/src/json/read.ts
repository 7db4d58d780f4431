/**
 * The strict reader. Refuses what two programs could read differently: equal names in one object, lone surrogates, a byte
 * order mark, anything after the document.
 */

import { shorten } from "../scalars.js";
import { JsonError, escapeSegment, positionOf } from "./error.js";
import { JsonNumber, tokenLength } from "./number.js";
import { open, type Source } from "./source.js";
import { membersOf } from "./stringify.js";
import { MAX_DEPTH, quote, type JsonObject, type JsonValue } from "./value.js";

/** An object with more members than this reports equal names at its end, where a syntax error has come first. */
const FEW_MEMBERS = 16;

/**
 * Reads one whole document.
 *
 * @throws JsonError with the place, for anything but one JSON document in UTF-8 of at most 16 MiB and 127 levels, and for an
 * object with two members of one name.
 */
export function parseJson(source: Source): JsonValue {
  const opened = open(source);
  if ("tooLarge" in opened) {
    throw new JsonError("", { line: 1, column: 1 }, "a document of at most 16 MiB", `${opened.tooLarge} bytes`);
  }
  if ("before" in opened) {
    throw new JsonError("", positionOf(opened.before, opened.before.length), "UTF-8 text", byteName(opened.byte));
  }
  if (opened.text.startsWith("\uFEFF")) {
    throw new JsonError("", { line: 1, column: 1 }, "JSON without a byte order mark", "a byte order mark");
  }
  return new Reader(opened.text).whole();
}

function byteName(byte: number | undefined): string {
  if (byte === undefined) return "a lone surrogate";
  return `the byte 0x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

/** Why reading stopped, at which UTF-16 unit; the path is in the reader. */
export class Fault extends Error {
  readonly offset: number;
  readonly expected: string;
  readonly found: string;

  constructor(offset: number, expected: string, found: string) {
    super();
    this.offset = offset;
    this.expected = expected;
    this.found = found;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** A cursor over a document. */
export class Reader {
  private readonly text: string;
  private readonly path: string[] = [];
  private depth = 0;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  whole(): JsonValue {
    try {
      this.skipSpace();
      const value = this.value();
      this.skipSpace();
      if (this.at < this.text.length) throw this.fault("the end of the document");
      return value;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      const pointer = this.path.map((segment) => `/${escapeSegment(segment)}`).join("");
      throw new JsonError(pointer, positionOf(this.text, fault.offset), fault.expected, fault.found);
    }
  }

  peek(): string {
    return this.text.charAt(this.at);
  }

  skipSpace(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.at += 1;
    }
  }

  eat(mark: string): boolean {
    const there = this.peek() === mark;
    if (there) this.at += 1;
    return there;
  }

  private fault(expected: string): Fault {
    return new Fault(this.at, expected, this.glimpse());
  }

  /** What stands here, short enough for a message. */
  private glimpse(): string {
    if (this.at >= this.text.length) return "the end of the text";
    const end = this.text.indexOf("\n", this.at);
    if (end < 0) return shorten(this.text.slice(this.at), 24);
    return shorten(this.text.slice(this.at, this.text.charAt(end - 1) === "\r" && end > this.at ? end - 1 : end), 24);
  }

  /** Reads a value; white space before it is skipped already. */
  value(): JsonValue {
    const first = this.peek();
    switch (first) {
      case '"':
        return this.string();
      case "{":
        return this.nested(() => this.object());
      case "[":
        return this.nested(() => this.array());
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        if (first === "-" || (first >= "0" && first <= "9")) return this.number();
        throw this.fault("a value");
    }
  }

  private nested(read: () => JsonValue): JsonValue {
    if (this.depth === MAX_DEPTH) throw new Fault(this.at, "at most 127 levels of nesting", "a level more");
    this.depth += 1;
    this.at += 1;
    const value = read();
    this.depth -= 1;
    return value;
  }

  private word<V>(word: string, value: V): V {
    const end = this.at + word.length;
    if (!this.text.startsWith(word, this.at) || /[0-9A-Za-z]/.test(this.text.charAt(end))) throw this.fault("a value");
    this.at = end;
    return value;
  }

  private number(): JsonNumber {
    const end = this.at + tokenLength(this.text, this.at);
    if (end === this.at || /[0-9A-Za-z.+-]/.test(this.text.charAt(end))) throw this.fault("a number");
    const number = new JsonNumber(this.text.slice(this.at, end));
    this.at = end;
    return number;
  }

  private array(): JsonValue[] {
    const elements: JsonValue[] = [];
    this.skipSpace();
    if (this.eat("]")) return elements;
    for (;;) {
      this.skipSpace();
      this.path.push(String(elements.length));
      elements.push(this.value());
      this.path.pop();
      this.skipSpace();
      if (this.eat("]")) return elements;
      if (!this.eat(",")) throw this.fault("`,` or `]`");
    }
  }

  protected object(): JsonObject {
    const members: JsonObject = membersOf();
    let second: { name: string; fault: Fault } | undefined;
    this.skipSpace();
    if (this.eat("}")) return members;
    for (;;) {
      this.skipSpace();
      const start = this.at;
      const name = this.name();
      if (second === undefined && members.has(name)) {
        second = { name, fault: duplicate(start, name) };
        if (members.size < FEW_MEMBERS) break;
      }
      this.path.push(name);
      members.set(name, this.value());
      this.path.pop();
      this.skipSpace();
      if (this.eat("}")) break;
      if (!this.eat(",")) throw this.fault("`,` or `}`");
    }
    if (second === undefined) return members;
    this.path.push(second.name);
    throw second.fault;
  }

  /** Reads a member's name and the colon, up to its value. */
  name(): string {
    if (this.peek() !== '"') throw this.fault("a member name in quotes");
    const name = this.string();
    this.skipSpace();
    if (!this.eat(":")) throw this.fault("`:`");
    this.skipSpace();
    return name;
  }

  protected string(): string {
    this.at += 1;
    let text = this.plain();
    for (;;) {
      const mark = this.peek();
      if (mark === '"') {
        this.at += 1;
        return text;
      }
      if (mark !== "\\") throw this.fault("the rest of a string (control characters are escaped)");
      text += this.escape() + this.plain();
    }
  }

  /** Takes what stands for itself. */
  private plain(): string {
    const start = this.at;
    for (; this.at < this.text.length; this.at += 1) {
      const unit = this.text.charCodeAt(this.at);
      if (unit < 0x20 || unit === 0x22 || unit === 0x5c) break;
    }
    return this.text.slice(start, this.at);
  }

  private escape(): string {
    const mark = this.text.charAt(this.at + 1);
    if (mark === "u") return this.unicodeEscape();
    const simple = ESCAPES[mark];
    if (simple === undefined) throw this.fault("an escape that JSON knows");
    this.at += 2;
    return simple;
  }

  private unicodeEscape(): string {
    const first = this.unitAt(this.at);
    if (first === undefined) throw this.fault("four hexadecimal digits");
    if (first < 0xd800 || first > 0xdfff) {
      this.at += 6;
      return String.fromCharCode(first);
    }
    const second = this.unitAt(this.at + 6) ?? 0;
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) throw this.fault("a whole surrogate pair");
    this.at += 12;
    return String.fromCharCode(first, second);
  }

  /** The UTF-16 unit that the escape at `at` names. */
  private unitAt(at: number): number | undefined {
    const escape = this.text.slice(at, at + 6);
    return /^\\u[0-9A-Fa-f]{4}$/.test(escape) ? Number.parseInt(escape.slice(2), 16) : undefined;
  }
}

function duplicate(offset: number, name: string): Fault {
  const firstLine = quote(name).split("\n", 1)[0] ?? "";
  return new Fault(offset, "each member name once", `a second member ${shorten(firstLine, 24)}`);
}
