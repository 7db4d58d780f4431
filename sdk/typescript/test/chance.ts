/** Chance with a fixed seed: the same values on every machine, so that a failure can be seen again. */

import { JsonNumber, type JsonObject, type JsonValue } from "envoi";

export class Chance {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  /** A number in 0 (included) to 1. */
  private next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }
}

const PIECES = ["a", "B", "0", " ", "\n", "\t", '"', "\\", "/", "~", "é", "ß", "İ", "٣", "漢", "🧪", "\u0000", "\u001f", "\u007f", "\u2028", "\uFEFF", "\u00a0", "e\u0301"] as const;

export function text(chance: Chance, most = 8): string {
  return chance.list(most, () => chance.of(PIECES)).join("");
}

const NAMES = ["10", "9", "1", "-1", "__proto__", "constructor", "toJSON", "toJson", "a", "b", "", "é", "a/b", "a~b"] as const;

const NUMBERS = ["0", "-0", "0.0", "1.00", "1e400", "-1E-400", "123456789012345678901234567890", "9007199254740993", "0.1e+1", "4096.0", "4.096e3"] as const;

export function number(chance: Chance): JsonNumber {
  if (chance.once(2)) return new JsonNumber(chance.of(NUMBERS));
  const digits = (): string => chance.list(20, () => String(chance.below(10))).join("") || "0";
  const whole = digits().replace(/^0+(?=.)/, "");
  const fraction = chance.once(2) ? `.${digits()}` : "";
  const power = chance.once(3) ? `${chance.of(["e", "E"])}${chance.of(["", "+", "-"])}${chance.below(1000)}` : "";
  return new JsonNumber(`${chance.of(["", "-"])}${whole}${fraction}${power}`);
}

export function object(chance: Chance, depth = 3): JsonObject {
  const members = chance.list(5, (): [string, JsonValue] => [chance.once(2) ? chance.of(NAMES) : text(chance, 4), json(chance, depth)]);
  return new Map(members);
}

/** Any JSON value. */
export function json(chance: Chance, depth = 3): JsonValue {
  const kind = chance.below(depth > 0 ? 7 : 5);
  if (kind === 0) return null;
  if (kind === 1) return chance.once(2);
  if (kind === 2) return number(chance);
  if (kind === 5) return chance.list(4, () => json(chance, depth - 1));
  if (kind === 6) return object(chance, depth - 1);
  return text(chance);
}
