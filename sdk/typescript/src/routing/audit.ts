/** Why a signal is what it is: the row of the decision table that fired, and why the rows before it did not. */

import { JsonNumber } from "../json/number.js";
import { membersOf, refuseStringify } from "../json/stringify.js";
import type { JsonObject, JsonValue } from "../json/value.js";
import { compact } from "../json/write.js";
import { digestOf } from "../sha256.js";
import type { Input } from "./input.js";
import type { RoutingSignal } from "./signal.js";

/** A row of the decision table. */
export type Row = "1" | "1a" | "1b" | "2" | "3" | "4" | "5" | "6" | "7" | "8";

/** Why a signal is what it is. A hand-off keeps it as `routing_audit`. */
export class Audit {
  /** The row that fired. */
  readonly row: Row;
  /** What made it fire. */
  readonly fired_because: string;
  /** The rows before it, each with the reason why it did not fire. */
  readonly passed_over: ReadonlyMap<Row, string>;
  /** Row 1b held as well: the hint that named an unknown step. */
  readonly unknown_hint: string | null;
  /** SHA-256 of the whole input, as compact JSON with all its members in the order of the contract. */
  readonly input_digest: string;

  constructor(fired: Fired, passed: ReadonlyMap<Row, string>, unknownHint: string | null, input: Input) {
    this.row = fired.row;
    this.fired_because = fired.because;
    this.passed_over = passed;
    this.unknown_hint = unknownHint;
    this.input_digest = digestOf(compact(inputAsJson(input)));
  }

  /** The audit as it is kept in a hand-off: `row, fired_because, passed_over, unknown_hint?, input_digest`. */
  toJson(): JsonObject {
    const members = membersOf<JsonValue>([
      ["row", this.row],
      ["fired_because", this.fired_because],
      ["passed_over", membersOf<JsonValue>(this.passed_over)],
    ]);
    if (this.unknown_hint !== null) members.set("unknown_hint", this.unknown_hint);
    return members.set("input_digest", this.input_digest);
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }
}

/** A signal and why it is that. */
export interface Resolution {
  signal: RoutingSignal;
  audit: Audit;
}

/** The row that fired, why, and its signal. */
export interface Fired {
  row: Row;
  because: string;
  signal: RoutingSignal;
}

function inputAsJson({ text, routing, iteration, flow, steps, hints }: Input): JsonObject {
  const count = (value: number): JsonNumber => new JsonNumber(String(value));
  const configured = routing && new Map<string, JsonValue>([
    ["routing_kind", routing.kind],
    ["loop_target", routing.loopTarget],
    ["success_values", routing.successValues],
    ["max_iterations", count(routing.maxIterations)],
    ["can_further_iteration_help", routing.canFurtherIterationHelp],
  ]);
  const step: [string, JsonValue][] = [["iteration", count(iteration)], ["flow", flow], ["steps", steps], ["hints", hints]];
  return new Map<string, JsonValue>([["handoff_text", text], ["routing", configured], ...step]);
}
