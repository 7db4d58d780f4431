/**
 * Why a command failed, as text that is valid in a report, for anything that is thrown.
 *
 * Nothing here throws. Half a surrogate pair becomes U+FFFD.
 */

import { classOf } from "./json/value.js";
import { wellFormed } from "./scalars.js";
import type { SkillError } from "./skill-report.js";

/** Code of a failure without one of its own. */
export const SKILL_ERROR = "SKILL_ERROR";

/** Code of a report when an exception without a code of its own ended the command. */
const SKILL_EXCEPTION = "SKILL_EXCEPTION";

/** An exception as the error of a report. A code in capitals is one that the command chose. */
export function explained(cause: unknown): SkillError {
  const code = memberOf(cause, "code");
  const known = typeof code === "string" && /^[A-Z][A-Z0-9_]*$/.test(code);
  return { code: known ? code : SKILL_EXCEPTION, message: words(cause) };
}

/** What a command gave as its error, as it can be written; null is none. */
export function sayable(error: unknown): SkillError | undefined {
  if ((error ?? null) === null) return undefined;
  const [code, message] = [memberOf(error, "code"), memberOf(error, "message")];
  return { code: code ? words(code) : SKILL_ERROR, message: words(message ?? error) };
}

/** Any value as text that has bytes; the name of its class, if it has no such text. */
export function words(value: unknown): string {
  try {
    const message = value instanceof Error ? undefined : memberOf(value, "message");
    return wellFormed(typeof message === "string" ? message : String(value));
  } catch {
    return classOf(Object(value));
  }
}

/** The message of an error, without the name of its class. */
export function reason(cause: unknown): string {
  const message = memberOf(cause, "message");
  return typeof message === "string" && message !== "" ? wellFormed(message) : words(cause);
}

/** A member of what was thrown; undefined too if reading it throws. */
function memberOf(value: unknown, name: "code" | "message"): unknown {
  try {
    return Object(value)[name];
  } catch {
    return undefined;
  }
}
