/** The resolver's input: a text, the expected statuses, and how often the loop has gone back. */

import { ContractError, jsonFor } from "../diagnostic.js";
import { Fields } from "../fields.js";
import type { Source } from "../json/source.js";
import type { JsonObject, JsonValue } from "../json/value.js";
import { list, pairs, readEither, saysNone, scalar, verbatim, word, type Labels } from "../labelled.js";
import { isBlank } from "../scalars.js";
import { ROUTING_KINDS, type RoutingKind } from "../vocabulary.js";

const INVALID = "ROUTING_INVALID";

/** A step's routing configuration, as it is given. */
export interface RoutingConfig {
  /** Default: linear. */
  routing_kind?: RoutingKind;
  /** The *value* that ends the loop, such as `VERIFIED`; not a step. */
  loop_target?: string | null;
  /** The values that count as success. Empty means the `loop_target` alone. */
  success_values?: readonly string[];
  /** How often the loop may go back. Default: 3. */
  max_iterations?: number;
  /** Whether running again can change anything; the text can deny it. Default: true. */
  can_further_iteration_help?: boolean;
}

/** The resolver's whole input, as it is given. */
export interface RoutingInput {
  handoff_text: string;
  /** Null or absent if nothing is configured. */
  routing?: RoutingConfig | null;
  /** How often the loop has gone back so far, from 0. */
  iteration?: number;
  /** The flow of the step, so that a hint into the same flow is known as one. */
  flow?: string | null;
  /** The steps that a hint may name, those of another flow as `flow/step`; null or absent if any. */
  steps?: readonly string[] | null;
  /** Whether hints in the text count. Default: true. */
  hints?: boolean;
}

/** The configuration with its defaults. */
export interface Routing {
  kind: RoutingKind;
  loopTarget: string | null;
  successValues: string[];
  maxIterations: number;
  canFurtherIterationHelp: boolean;
}

/** The input with its defaults. */
export interface Input {
  text: string;
  routing: Routing | null;
  iteration: number;
  flow: string | null;
  steps: string[] | null;
  hints: boolean;
}

const ROUTING_MEMBERS = [
  "routing_kind",
  "loop_target",
  "success_values",
  "max_iterations",
  "can_further_iteration_help",
];

/** The labels of the seed, and one for each other member of the JSON form. */
const LABELS: Labels = {
  code: INVALID,
  members: {
    "Handoff text": { name: "handoff_text", value: verbatim, freeText: true },
    "Step routing": { name: "routing", value: routingFrom, guarded: true },
    Iteration: { name: "iteration", value: scalar },
    Flow: { name: "flow", value: verbatim },
    Steps: { name: "steps", value: list },
    Hints: { name: "hints", value: scalar },
  },
};

function routingFrom(text: string): JsonValue {
  return saysNone(text) ? null : pairs(text, readPair);
}

function readPair(name: string, value: string): JsonValue {
  if (name === "success_values") return list(value);
  return name === "max_iterations" || name === "can_further_iteration_help" ? scalar(value) : word(value);
}

/** Reads an input: JSON or labelled text, or a value of the JSON form. @throws ContractError `ROUTING_INVALID` */
export function readInput(input: Source | RoutingInput | JsonObject): Input {
  if (typeof input === "string" || input instanceof Uint8Array) return readEither(LABELS, input, decode);
  return decode(jsonFor(INVALID, input));
}

function decode(value: JsonValue): Input {
  const fields = new Fields(INVALID, value);
  const text = fields.requiredString("handoff_text");
  const configured = fields.take("routing") ?? null;
  const routing = configured === null ? null : decodeRouting(configured);
  const iteration = fields.integer("iteration", 0);
  const flow = fields.nullableString("flow");
  const anyStep = value instanceof Map && (value.get("steps") ?? null) === null;
  if (anyStep) fields.take("steps");
  const steps = anyStep ? null : fields.strings("steps");
  const hints = fields.boolean("hints", true);
  fields.refuseOthers(["handoff_text", "routing", "iteration", "flow", "steps", "hints"]);
  return { text, routing, iteration, flow, steps, hints };
}

function decodeRouting(value: JsonValue): Routing {
  const fields = new Fields(INVALID, value, "/routing");
  const routing: Routing = {
    kind: fields.word("routing_kind", ROUTING_KINDS, "linear, microloop or branch", "linear"),
    loopTarget: fields.nullableString("loop_target"),
    successValues: fields.strings("success_values"),
    maxIterations: fields.integer("max_iterations", 3),
    canFurtherIterationHelp: fields.boolean("can_further_iteration_help", true),
  };
  // It is configuration: a misspelt `loop_target` would let every status pass.
  fields.refuseOthers(ROUTING_MEMBERS);
  return checked(routing);
}

/** Refuses a loop that nothing could end, and statuses that nothing could state. */
function checked(routing: Routing): Routing {
  const values = [...(routing.loopTarget === null ? [] : [routing.loopTarget]), ...routing.successValues];
  if (values.some(isBlank)) {
    const expected = "a `loop_target` and `success_values` that are not empty";
    throw new ContractError(INVALID, { pointer: "/routing", expected, found: "an empty one" });
  }
  if (routing.kind === "microloop" && values.length === 0) {
    const expected = "a `loop_target` or `success_values` beside the kind `microloop`";
    const hint = "set the status that ends the loop, for instance `loop_target: VERIFIED`";
    throw new ContractError(INVALID, { pointer: "/routing", expected, found: "neither", hint });
  }
  return routing;
}
