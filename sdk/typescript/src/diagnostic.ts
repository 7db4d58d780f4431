/** The refusal that every decoder and writer gives: a code for programs, a place, and what to do. */

import { JsonError, type Position } from "./json/error.js";
import { locate } from "./json/locate.js";
import { parseJson } from "./json/read.js";
import { open, type Source } from "./json/source.js";
import { ADVICE, type Code } from "./vocabulary.js";
import { describe, toJson, type JsonValue } from "./json/value.js";

/** The content of a refusal, apart from its code. */
export interface Details {
  /** JSON Pointer of the value; of the object, if a member is missing. Empty for the whole document. */
  pointer: string;
  /** What may stand there. */
  expected: string;
  /** What stands there, shortened. */
  found: string;
  /** Line and column, when the text is known. */
  position?: Position | undefined;
  /** What to do; by default what the code advises. */
  hint?: string | undefined;
}

/** A value that a contract refuses. Nothing of the document is used. */
export class ContractError extends Error implements Details {
  override readonly name = "ContractError";
  /** Stable, for programs. */
  readonly code: Code;
  readonly pointer: string;
  readonly expected: string;
  readonly found: string;
  readonly position: Position | undefined;
  readonly hint: string;

  constructor(code: Code, { pointer, expected, found, position, hint = ADVICE[code] }: Details) {
    const at = pointer === "" ? "" : ` at \`${pointer}\``;
    const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
    super(`${code}${at}${place}: expected ${expected}, found ${found}; ${hint}`);
    this.code = code;
    this.pointer = pointer;
    this.expected = expected;
    this.found = found;
    this.position = position;
    this.hint = hint;
  }

  /** The message for where the code already stands beside it. */
  get withoutCode(): string {
    const { pointer, position, expected, found, hint } = this;
    const at = pointer === "" ? "" : ` at \`${pointer}\``;
    const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
    return `expected ${expected}, found ${found}${at}${place}; ${hint}`;
  }

  /** The same, seen from the document in which the refused one stands at `prefix`, under that document's code. */
  under(code: Code, prefix: string): ContractError {
    const hint = this.hint === ADVICE[this.code] ? undefined : this.hint;
    return new ContractError(code, { ...this.details(), pointer: prefix + this.pointer, hint });
  }

  /** The same with its place, found again in `text`. */
  located(text: string): ContractError {
    return this.at(this.position ?? locate(text, this.pointer));
  }

  /** The same at this place. */
  at(position: Position | undefined): ContractError {
    return new ContractError(this.code, { ...this.details(), position });
  }

  private details(): Details {
    const { pointer, expected, found, position, hint } = this;
    return { pointer, expected, found, position, hint };
  }
}

/** A refusal of `value`, which stands at `pointer`. */
export function refuse(code: Code, pointer: string, expected: string, value: JsonValue): ContractError {
  return new ContractError(code, { pointer, expected, found: describe(value) });
}

/** A refusal of what is no JSON at all. */
export function refuseJson(code: Code, { pointer, position, expected, found }: JsonError): ContractError {
  const hint = position && "the input is one JSON document in UTF-8 with each member name once";
  return new ContractError(code, { pointer, position, expected, found, hint });
}

/** Runs `read`, and turns a complaint about JSON into a refusal. */
function asRefusal<T>(code: Code, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof JsonError ? refuseJson(code, error) : error;
  }
}

/** Reads a document with `read`; a refusal knows its line and column. */
export function readDocument<T>(code: Code, source: Source, read: (value: JsonValue) => T): T {
  return readValue(source, asRefusal(code, () => parseJson(source)), read);
}

/** Reads `value`, which was read from `source`; a refusal is looked up there. */
export function readValue<T>(source: Source, value: JsonValue, read: (value: JsonValue) => T): T {
  try {
    return read(value);
  } catch (error) {
    const opened = open(source);
    throw error instanceof ContractError && "text" in opened ? error.located(opened.text) : error;
  }
}

/** A JavaScript value as JSON of its own, under the contract's code if it is none. */
export function jsonFor(code: Code, value: unknown): JsonValue {
  return asRefusal(code, () => toJson(value));
}
