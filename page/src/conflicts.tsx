/** Items of a step that have changed the same lines: which files, and the versions by digest. Their contents are with the trees of the items. */

import type { JSX } from "preact";

import { Line } from "./foreign.js";
import { short } from "./words.js";

interface ConflictFile {
  path: string;
  kind: string;
  /** Digests: of what the others have left, and of what the item has left; null if it was deleted. */
  ours: string | null;
  theirs: string | null;
}

export interface Conflict {
  item: number;
  files: readonly ConflictFile[];
}

const KINDS: Readonly<Record<string, string>> = {
  content: "both have changed the same lines",
  "add/add": "both have made it",
  "modify/delete": "the others have changed it, the item has deleted it",
  "delete/modify": "the others have deleted it, the item has changed it",
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const digest = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** What the evidence of a question says of conflicts; empty if it says nothing, or something else. */
export function conflictsIn(evidence: unknown): Conflict[] {
  const all = isObject(evidence) && Array.isArray(evidence["conflicts"]) ? (evidence["conflicts"] as unknown[]) : [];
  return all.flatMap((each) => {
    if (!isObject(each) || typeof each["item"] !== "number" || !Array.isArray(each["files"])) return [];
    const files = (each["files"] as unknown[]).filter(isObject).map((file) => ({ path: String(file["path"]), kind: String(file["kind"]), ours: digest(file["ours"]), theirs: digest(file["theirs"]) }));
    return [{ item: each["item"], files }];
  });
}

export function Conflicts({ conflicts }: { conflicts: readonly Conflict[] }): JSX.Element {
  return (
    <>
      <h2>What is in conflict</h2>
      <ul>
        {conflicts.flatMap(({ item, files }) => files.map(({ path, kind, ours, theirs }) => (
          <li key={`${item} ${path}`}>
            {`Item ${item}, `}<Line text={path} />: {KINDS[kind] ?? kind}
            <p class="note digest">{"the others have left "}<span title={ours ?? ""}>{ours === null ? "nothing" : short(ours)}</span>{", the item "}<span title={theirs ?? ""}>{theirs === null ? "nothing" : short(theirs)}</span></p>
          </li>
        )))}
      </ul>
    </>
  );
}
