/** The nearest of the words that would have been accepted. */

/** Longer words are never near; this also bounds the work. */
const LONGEST = 64;

/**
 * The candidate that `found` was probably meant to be: at most a third of the letters differ, or (`within`) it stands in it,
 * as `routing` in `step_routing`.
 */
export function nearest(found: string, candidates: readonly string[], within = true): string | undefined {
  if (found.length > LONGEST) return undefined;
  const word = found.toLowerCase();
  let best: { edits: number; candidate: string } | undefined;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const edits = within && word.includes(other) ? 0 : distance(word, other);
    const allowed = Math.max(1, Math.floor(Math.max(word.length, other.length) / 3));
    if (edits <= allowed && (best === undefined || edits < best.edits)) best = { edits, candidate };
  }
  return best?.candidate;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (let row = 0; row < from.length; row += 1) {
    const current = [row + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (above[column] ?? 0) + (from[row] === to[column] ? 0 : 1);
      let edits = Math.min(replaced, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1);
      if (row > 0 && column > 0 && from[row - 1] === to[column] && from[row] === to[column - 1]) {
        edits = Math.min(edits, (before[column - 1] ?? 0) + 1);
      }
      current.push(edits);
    }
    [before, above] = [above, current];
  }
  return above[to.length] ?? 0;
}
