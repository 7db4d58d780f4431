/** The signal: one decision, its two wire forms, and the words that other systems use for it. */

import { ContractError, jsonFor, refuse } from "../diagnostic.js";
import { Fields, withUnknown } from "../fields.js";
import { JsonNumber } from "../json/number.js";
import { membersOf, refuseStringify } from "../json/stringify.js";
import { toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { lower, shorten } from "../scalars.js";

const INVALID = "ROUTING_SIGNAL_INVALID";

/** What happens next, in the words of a hand-off. */
export const DECISIONS = ["advance", "loop", "terminate", "branch"] as const;
export type Decision = (typeof DECISIONS)[number];

/** The word of the resolver's output for each decision. */
const RESOLVER_WORDS: Readonly<Record<Decision, string>> = {
  advance: "proceed",
  loop: "rerun",
  terminate: "blocked",
  branch: "route",
};

const ALIASES: ReadonlyMap<string, Decision> = new Map([
  ...DECISIONS.flatMap((decision): [string, Decision][] => [
    [decision, decision],
    [RESOLVER_WORDS[decision], decision],
  ]),
  ...["continue", "next"].map((word): [string, Decision] => [word, "advance"]),
  ...["retry", "repeat", "iterate"].map((word): [string, Decision] => [word, "loop"]),
  ...["stop", "end", "exit"].map((word): [string, Decision] => [word, "terminate"]),
  ...["switch", "redirect"].map((word): [string, Decision] => [word, "branch"]),
]);

/** The decision that a word of either form, or an alias, stands for, in any case. */
export function parseDecision(word: string): Decision | undefined {
  return ALIASES.get(lower(word));
}

/** Where a branch leads. */
export interface Route {
  /** The flow; null for the same one. */
  readonly flow: string | null;
  readonly step_id: string;
  /** Members that this contract does not know; only the resolver's form, an object, can carry them. */
  readonly unknown?: JsonObject;
}

/** The two wire forms: inside a hand-off, and the resolver's output. */
export type SignalForm = "orchestrator" | "resolver";

/** The members of a signal, all of which have a default. */
export interface SignalParts {
  decision?: Decision;
  raw_decision?: string | null;
  next_step_id?: string | null;
  route?: Route | null;
  reason?: string;
  confidence?: JsonNumber;
  needs_human?: boolean;
  unknown?: JsonObject;
}

/** One decision with its reason: the resolver's output, and a member of a hand-off. */
export class RoutingSignal {
  readonly decision: Decision;
  /** The word that was read, if it was not the one inside a hand-off. */
  readonly raw_decision: string | null;
  readonly next_step_id: string | null;
  readonly route: Route | null;
  /** Why, for people. */
  readonly reason: string;
  /** 0 to 1, digits as written: 0.7 is ambiguous, 1.0 an explicit instruction. */
  readonly confidence: JsonNumber;
  /** Whether a person should look before this is obeyed. */
  readonly needs_human: boolean;
  /** Members that this contract does not know, in the order read. */
  readonly unknown: JsonObject;

  /** Without parts: what a step that gave no signal means. */
  constructor(parts: SignalParts = {}) {
    this.decision = parts.decision ?? "advance";
    this.raw_decision = parts.raw_decision ?? null;
    this.next_step_id = parts.next_step_id ?? null;
    this.route = parts.route ?? null;
    this.reason = parts.reason ?? "No routing signal given";
    this.confidence = parts.confidence ?? new JsonNumber("0.7");
    this.needs_human = parts.needs_human ?? false;
    this.unknown = parts.unknown ?? membersOf();
  }

  /**
   * Reads either wire form, or a mixture of both. Only `decision` is required.
   *
   * @throws ContractError `ROUTING_SIGNAL_INVALID`: an unknown word, a wrong type, a confidence outside 0 to 1, a branch
   * that names no step.
   */
  static from(value: unknown): RoutingSignal {
    const fields = new Fields(INVALID, jsonFor(INVALID, value));
    const word = fields.requiredString("decision");
    const decision = parseDecision(word) ?? unknownWord(word);
    const next_step_id = fields.nullableString("next_step_id");
    const route = readRoute(fields.take("route") ?? null);
    const reason = fields.string("reason");
    const confidence = readConfidence(fields);
    const needs_human = fields.boolean("needs_human");
    const raw_decision = word === decision ? null : word;
    const target = decision === "branch" ? targeted(next_step_id, route) : { next_step_id, route };
    return new RoutingSignal({ decision, raw_decision, ...target, reason, confidence, needs_human, unknown: fields.rest() });
  }

  /**
   * The form inside a hand-off: six members, `route` a string or null; another flow is written as `flow/step`.
   *
   * @throws ContractError `ROUTING_SIGNAL_INVALID` for what could not be read again
   */
  toOrchestrator(currentFlow: string | null = null): JsonObject {
    const members = this.common(this.decision, this.route && routeName(this.route, currentFlow));
    return readable(withUnknown(members.set("needs_human", this.needs_human), this.unknown));
  }

  /** The form of the resolver's output: `route` an object or null, `needs_human` only when true. @throws as `toOrchestrator` */
  toResolver(): JsonObject {
    const { route } = this;
    const known = route && membersOf<JsonValue>([["flow", route.flow], ["step_id", route.step_id]]);
    const target = known && withUnknown(known, route?.unknown ?? membersOf());
    const members = this.common(RESOLVER_WORDS[this.decision] ?? this.decision, target);
    if (this.needs_human) members.set("needs_human", this.needs_human);
    return readable(withUnknown(members, this.unknown));
  }

  /** The same signal leading from `flow`: a route into that flow names only the step. */
  seenFrom(flow: string): RoutingSignal {
    const signal = this.forHandoff();
    if (signal.route === null || signal.route.flow !== flow || !canLeaveOutItsFlow(signal.route)) return signal;
    return new RoutingSignal({ ...signal, route: { flow: null, step_id: signal.route.step_id } });
  }

  /** The signal as a hand-off can hold it: there a route is a name, which carries no further members. */
  forHandoff(): RoutingSignal {
    if (this.route?.unknown === undefined) return this;
    return new RoutingSignal({ ...this, route: { flow: this.route.flow, step_id: this.route.step_id } });
  }

  /** The resolver's form. @throws as `toOrchestrator` */
  toJson(): JsonObject {
    return this.toResolver();
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }

  private common(word: string, route: JsonValue): JsonObject {
    return membersOf<JsonValue>([
      ["decision", word],
      ["next_step_id", this.next_step_id],
      ["route", route],
      ["reason", this.reason],
      ["confidence", this.confidence],
    ]);
  }
}

/** A written form as JSON; one that could not be read again is refused. */
function readable(form: JsonObject): JsonObject {
  RoutingSignal.from(form);
  return toJsonObject(form);
}

/**
 * A signal of either form in the form `to`. `currentFlow` is the flow that it is written in: only other flows are named.
 *
 * @throws ContractError as `RoutingSignal.from` does.
 */
export function convert(signal: unknown, to: SignalForm, currentFlow: string | null = null): JsonObject {
  const read = signal instanceof RoutingSignal ? signal : RoutingSignal.from(signal);
  return to === "orchestrator" ? read.toOrchestrator(currentFlow) : read.toResolver();
}

/** A step with a `/` would be read as a flow and a step. */
function canLeaveOutItsFlow(route: Route): boolean {
  return !route.step_id.includes("/");
}

function routeName(route: Route, currentFlow: string | null): string {
  const alone = route.flow === null || (route.flow === currentFlow && canLeaveOutItsFlow(route));
  return alone ? route.step_id : `${route.flow}/${route.step_id}`;
}

/** `step` or `flow/step`; null if a part is missing. */
function parseRoute(text: string): Route | null {
  const slash = text.indexOf("/");
  const flow = slash < 0 ? null : text.slice(0, slash);
  const step_id = text.slice(slash + 1);
  return step_id === "" || flow === "" ? null : { flow, step_id };
}

/** Completes a branch's target from the half that is given. */
function targeted(next: string | null, route: Route | null): { next_step_id: string | null; route: Route | null } {
  if (next === null && route === null) {
    const expected = "`route` or `next_step_id` beside the decision `branch`";
    throw new ContractError(INVALID, { pointer: "", expected, found: "neither", hint: "name the step to go to" });
  }
  return { next_step_id: next ?? route?.step_id ?? null, route: route ?? (next === null ? null : parseRoute(next)) };
}

function unknownWord(word: string): never {
  const expected = "advance, loop, terminate or branch (or proceed, rerun, blocked, route)";
  const hint = "an unknown word is never taken for `advance`";
  throw new ContractError(INVALID, { pointer: "/decision", expected, found: shorten(word, 60), hint });
}

function readConfidence(fields: Fields): JsonNumber {
  const value = fields.take("confidence");
  if (value === undefined) return new JsonNumber("0.7");
  if (value instanceof JsonNumber && value.isFractionOfOne()) return value;
  throw fields.wrong("confidence", "a number from 0 to 1", value);
}

function readRoute(value: JsonValue): Route | null {
  if (value === null) return null;
  if (value instanceof Map) return readRouteObject(value);
  if (typeof value !== "string") throw refuse(INVALID, "/route", "a string, an object or null", value);
  const route = parseRoute(value);
  if (route === null) throw refuse(INVALID, "/route", "a step, or a flow and a step as `flow/step`", value);
  return route;
}

/** Both forms must mean the same: a name that the string form reads differently is refused. */
function readRouteObject(value: JsonObject): Route {
  const fields = new Fields(INVALID, value, "/route");
  const flow = fields.nullableString("flow");
  const step_id = fields.requiredString("step_id");
  const read = parseRoute(flow === null ? step_id : `${flow}/${step_id}`);
  if (read === null || read.flow !== flow || read.step_id !== step_id) {
    throw refuse(INVALID, "/route", "names without `/`, not empty", value);
  }
  const unknown = fields.rest();
  return unknown.size === 0 ? read : { ...read, unknown };
}
