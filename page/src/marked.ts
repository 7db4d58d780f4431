/** Two versions of a text as one: the lines that both have, and between markers those that differ, as the files of `edit` have them. */

import { whole } from "./diff.js";

/** Undefined: too much differs. An empty text is one without lines. */
export function marked(ours: string, theirs: string, name: string): string | undefined {
  const changes = whole(ours, theirs);
  if (changes === undefined) return undefined;
  const found: string[] = [];
  for (let at = 0; at < changes.length; ) {
    const same = changes[at];
    if (same?.kind === "same") {
      found.push(same.text);
      at += 1;
      continue;
    }
    const removed: string[] = [];
    const added: string[] = [];
    for (; at < changes.length && changes[at]?.kind !== "same"; at += 1) (changes[at]?.kind === "removed" ? removed : added).push(changes[at]?.text ?? "");
    found.push("<<<<<<< ours", ...removed, "=======", ...added, `>>>>>>> ${name}`);
  }
  return found.length === 0 ? "" : `${found.join("\n")}\n`;
}
