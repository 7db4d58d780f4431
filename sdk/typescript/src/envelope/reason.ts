/** Why a pipeline ended: the words of three systems and Envoi's own, read as one vocabulary and kept as they came. */

import { lower } from "../scalars.js";
import { TERMINAL_REASONS, type TerminalReason } from "../vocabulary.js";

/** Reads a word of any of the vocabularies, in any case. */
export function parseTerminalReason(word: string): TerminalReason | undefined {
  const folded = lower(word);
  return TERMINAL_REASONS.find((reason) => reason === folded);
}
