/** The text of an answer: what a person's submission says in words. */

import { toJson, member, asString } from "../json/value.js";
import { isBlank, trim } from "../scalars.js";
import type { InterruptKind } from "../vocabulary.js";

/** A question was answered with nothing. Ask again: the question stands. */
export class BlankAnswerError extends Error {
  override readonly name = "BlankAnswerError";

  constructor() {
    super("a question needs an answer that is not blank");
  }
}

/**
 * The text to send for the submitted values: `userResponse` as it is, else `approvalNote` trimmed, else
 * `[Denied by operator]` for `{"approved": false}`, else `[Approved by operator]`. Blank texts, and those that are no strings,
 * are passed over.
 *
 * @throws BlankAnswerError if a clarification was asked and no words were submitted: an approval does not answer a question.
 */
export function answerText(submitted: unknown, asked: InterruptKind = "confirmation"): string {
  const values = toJson(submitted);
  const words = (name: string): string => {
    const text = asString(member(values, name)) ?? "";
    return isBlank(text) ? "" : text;
  };
  const said = words("userResponse") || trim(words("approvalNote"));
  if (said !== "") return said;
  if (asked === "clarification") throw new BlankAnswerError();
  return member(values, "approved") === false ? "[Denied by operator]" : "[Approved by operator]";
}
