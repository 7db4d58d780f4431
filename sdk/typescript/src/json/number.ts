/** Numbers as they were written, and exact questions about their value. */

import { refuseStringify } from "./stringify.js";

/** The largest integer that a contract reads: the last one that every JSON reader holds exactly. */
const MAX_INTEGER = BigInt(Number.MAX_SAFE_INTEGER);

const TOKEN = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

/**
 * A JSON number as its token, so that `1.00`, `-0`, `1e400` and integers of any size come out as they went in.
 *
 * @example
 * new JsonNumber("123456789012345678901234567890").toBigInt()
 */
export class JsonNumber {
  /** The token. */
  readonly text: string;

  /** Takes exactly one JSON number token; anything else is a `RangeError`. */
  constructor(text: string) {
    if (tokenLength(text, 0) !== text.length || text === "") throw new RangeError(`\`${text}\` is no JSON number`);
    this.text = text;
  }

  /** The number, or undefined if `text` is not exactly one token. */
  static parse(text: string): JsonNumber | undefined {
    return text !== "" && tokenLength(text, 0) === text.length ? new JsonNumber(text) : undefined;
  }

  /** The nearest JavaScript number: digits may be lost, and what is too large is infinite. */
  toNumber(): number {
    return Number(this.text);
  }

  /** The exact value of an integer token. A token with a fraction or an exponent is a `RangeError`. */
  toBigInt(): bigint {
    if (!this.isIntegerToken()) throw new RangeError(`\`${this.text}\` is not written as an integer`);
    return BigInt(this.text);
  }

  /** The value, if it is an integer from 0 to 2^53 - 1. `4096.0` and `4.096e3` are the integer 4096. */
  toSafeInteger(): number | undefined {
    if (/^[0-9]{1,15}$/.test(this.text)) return Number(this.text);
    const { negative, digits, exponent } = decimalOf(this.text);
    if (digits === "") return 0;
    if (negative || exponent < 0n || exponent + BigInt(digits.length) > 16n) return undefined;
    const value = BigInt(digits) * 10n ** exponent;
    return value <= MAX_INTEGER ? Number(value) : undefined;
  }

  /** Whether the value lies in 0 to 1, both included. */
  isFractionOfOne(): boolean {
    const { negative, digits, exponent } = decimalOf(this.text);
    if (digits === "") return true;
    const point = clamp(exponent + BigInt(digits.length));
    return !negative && (point <= 0n || (point === 1n && digits === "1"));
  }

  /** Whether both have the same value, whatever their tokens. */
  hasValueOf(other: JsonNumber): boolean {
    const [one, two] = [decimalOf(this.text), decimalOf(other.text)];
    return one.negative === two.negative && one.digits === two.digits && one.exponent === two.exponent;
  }

  /** Whether the token has neither fraction nor exponent. */
  isIntegerToken(): boolean {
    return /^-?[0-9]+$/.test(this.text);
  }

  /** The token. */
  toString(): string {
    return this.text;
  }

  /** Refuses: `JSON.stringify` would write a double, or a string. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }
}

/** The length of the number token at `start`; 0 if none stands there. */
export function tokenLength(text: string, start: number): number {
  TOKEN.lastIndex = start;
  return TOKEN.test(text) ? TOKEN.lastIndex - start : 0;
}

/** A value in normal form: `digits × 10^exponent`, `digits` without zeros at either end. */
interface Decimal {
  negative: boolean;
  digits: string;
  exponent: bigint;
}

function decimalOf(token: string): Decimal {
  const [mantissa = "", power = "0"] = token.split(/[eE]/);
  const negative = mantissa.startsWith("-");
  const [whole = "", fraction = ""] = (negative ? mantissa.slice(1) : mantissa).split(".");
  const all = whole + fraction;
  let end = all.length;
  while (all.charAt(end - 1) === "0") end -= 1;
  let start = 0;
  while (start < end && all.charAt(start) === "0") start += 1;
  if (start === end) return { negative: false, digits: "", exponent: 0n };
  const shifted = clamp(exponentOf(power) - BigInt(fraction.length));
  return { negative, digits: all.slice(start, end), exponent: clamp(shifted + BigInt(all.length - end)) };
}

/** The exponent's value; past 64 bits it makes no difference any more. */
function exponentOf(power: string): bigint {
  const bare = power.replace(/^([+-]?)0+(?=[0-9])/, "$1");
  if (bare.length > 21) return bare.startsWith("-") ? MIN_I64 : MAX_I64;
  return clamp(BigInt(bare.startsWith("+") ? bare.slice(1) : bare));
}

function clamp(exponent: bigint): bigint {
  if (exponent < MIN_I64) return MIN_I64;
  return exponent > MAX_I64 ? MAX_I64 : exponent;
}
