/** The text of an answer: that a person submits. */

import { toJson, member, asString } from "../json/value.js";
import { isBlank, trim } from "../scalars.js";
import type { InterruptKind } from "../vocabulary.js";

/** The answer to a question is blank. The question stays open. */
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
 * @throws BlankAnswerError if `kind` is a clarification and no words are submitted: an approval does not answer a question.
 */
export function answerText(submitted: unknown, kind: InterruptKind = "confirmation"): string {
  const values = toJson(submitted);
  const words = (name: string): string => {
    const text = asString(member(values, name)) ?? "";
    return isBlank(text) ? "" : text;
  };
  const text = words("userResponse") || trim(words("approvalNote"));
  if (text !== "") return text;
  if (kind === "clarification") throw new BlankAnswerError();
  return member(values, "approved") === false ? "[Denied by operator]" : "[Approved by operator]";
}
