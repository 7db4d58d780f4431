/** Runs the conformance vectors: the executable examples that every language's library and the binary share. */

import { ContractError, readDocument, refuse } from "../diagnostic.js";
import type { Source } from "../json/source.js";
import { asString, member, type JsonValue } from "../json/value.js";
import { compact, formatJson } from "../json/write.js";
import { UserEnvelopeParseError } from "../user-envelope/user-envelope.js";
import { call } from "./call.js";
import { hasAll, same } from "./compare.js";
import { NotUnderstood } from "./understood.js";

/** What came of one case. */
export interface Outcome {
  name: string;
  passed: boolean;
  expected: string;
  got: string;
}

/** What a call gave: a value, of which maybe only the expected members count; or a refusal. */
type Got = { value: JsonValue; membersOnly: boolean } | { code: string; reason: string } | undefined;

/**
 * Runs every case of a vector file. A case that is not understood is a failure.
 *
 * @throws ContractError `VECTORS_INVALID` if the file is not a JSON array.
 */
export function runVectors(source: Source): Outcome[] {
  const cases = readDocument("VECTORS_INVALID", source, (file) => {
    if (Array.isArray(file)) return file;
    throw refuse("VECTORS_INVALID", "", "an array of cases", file);
  });
  return cases.map(runCase);
}

function runCase(vector: JsonValue, index: number): Outcome {
  const got = attempt(vector);
  return {
    name: asString(member(vector, "name")) ?? `case ${index}`,
    passed: got !== undefined && meets(got, vector),
    expected: expectation(vector),
    got: shown(got),
  };
}

function attempt(vector: JsonValue): Got {
  try {
    const value = call(vector);
    return { value, membersOnly: member(vector, "op") === "envelope.apply" };
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    if (error instanceof ContractError) return { code: error.code, reason: error.message };
    if (error instanceof UserEnvelopeParseError) return { code: error.code, reason: error.reason };
    throw error;
  }
}

function meets(got: NonNullable<Got>, vector: JsonValue): boolean {
  const refusal = member(vector, "expect_error");
  if ("code" in got || refusal !== undefined) return "code" in got && refusal !== undefined && refuses(got, refusal);
  const expected = member(vector, "expect");
  if (got.membersOnly) return expected !== undefined && hasAll(expected, got.value);
  const text = member(vector, "expect_text");
  if (text !== undefined && text !== formatJson(got.value)) return false;
  if (expected !== undefined && !same(expected, got.value)) return false;
  return text !== undefined || expected !== undefined;
}

function refuses({ code, reason }: { code: string; reason: string }, refusal: JsonValue): boolean {
  const prefix = asString(member(refusal, "reason_prefix")) ?? "";
  return (asString(refusal) ?? asString(member(refusal, "code"))) === code && reason.startsWith(prefix);
}

function expectation(vector: JsonValue): string {
  const text = asString(member(vector, "expect_text"));
  if (text !== undefined) return text;
  const [value, refusal] = [member(vector, "expect"), member(vector, "expect_error")];
  if (value !== undefined) return compact(value);
  return refusal === undefined ? "nothing: the case has no expectation" : `refused: ${compact(refusal)}`;
}

function shown(got: Got): string {
  if (got === undefined) return "a case that this runner does not know how to run";
  return "code" in got ? `refused: ${got.code} (${got.reason})` : compact(got.value);
}
