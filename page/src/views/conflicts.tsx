/**
 * Items of a step that have changed the same lines: what differs in each file, and the files as a person writes them.
 *
 * Not each content is kept where it can be had by its digest. A file that is not is named, and edited on the machine.
 */

import { useState } from "preact/hooks";
import type { JSX } from "preact";

import { diffOfFiles, type Change } from "../model/diff.js";
import { marked, type Version } from "../model/marked.js";
import { short } from "../model/words.js";
import { Differences, content } from "../parts/files.js";
import { Shown } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { usePending } from "../state/pending.js";

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
  "folder/file": "the others have a folder there, the item has a file",
  "file/folder": "the others have a file there, the item has a folder",
  "folder/link": "the others have a folder there, the item has a link",
  "link/folder": "the others have a link there, the item has a folder",
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const digest = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The conflicts in the evidence of a question; empty if it has none, or something else. */
export function conflictsIn(evidence: unknown): Conflict[] {
  const all = isObject(evidence) && Array.isArray(evidence["conflicts"]) ? (evidence["conflicts"] as unknown[]) : [];
  return all.flatMap((each) => {
    if (!isObject(each) || typeof each["item"] !== "number" || !Array.isArray(each["files"])) return [];
    const files = (each["files"] as unknown[]).filter(isObject).map((file) => ({ path: String(file["path"]), kind: String(file["kind"]), ours: digest(file["ours"]), theirs: digest(file["theirs"]) }));
    return [{ item: each["item"], files }];
  });
}

export function Conflicts({ run, conflicts }: { run: string; conflicts: readonly Conflict[] }): JSX.Element {
  return (
    <>
      <h2>What is in conflict</h2>
      <ul class="files">
        {conflicts.flatMap(({ item, files }) => files.map((file) => <InConflict key={`${item} ${file.path}`} run={run} item={item} file={file} isAlone={conflicts.length === 1 && files.length === 1} />))}
      </ul>
    </>
  );
}

function InConflict({ run, item, file, isAlone }: { run: string; item: number; file: ConflictFile; isAlone: boolean }): JSX.Element {
  const [open, setOpen] = useState(isAlone);
  const { path, kind, ours, theirs } = file;
  return (
    <li>
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> <span>{`Item ${item}, `}<Line text={path} />: {KINDS[kind] ?? kind}</span>
      </button>
      {open && <Versions run={run} file={file} />}
      <p class="note digest">{"the others have left "}<span title={ours ?? ""}>{ours === null ? "nothing" : short(ours)}</span>{", the item "}<span title={theirs ?? ""}>{theirs === null ? "nothing" : short(theirs)}</span></p>
    </li>
  );
}

function Versions({ run, file }: { run: string; file: ConflictFile }): JSX.Element {
  const loaded = useLoaded<{ changes: Change[] | undefined }>(
    async (signal) => {
      const [ours, theirs] = await Promise.all([content(run, file.ours, signal), content(run, file.theirs, signal)]);
      return { changes: ours?.text === undefined || theirs?.text === undefined ? undefined : diffOfFiles(ours.text, theirs.text) };
    },
    [run, file.ours, file.theirs],
    () => false,
  );
  usePending(loaded.value === undefined && loaded.error === undefined);
  return (
    <Shown of={loaded}>
      {({ changes }) => (changes === undefined ? <p class="note">The two cannot be shown side by side: one is no text, too long, or not kept here.</p> : <><p class="note">− what the others have left, + what the item has left</p><Differences changes={changes} /></>)}
    </Shown>
  );
}

/** The new content of each file in conflict; null: it is deleted. */
export type Edits = Readonly<Record<string, string | null>>;

/** Larger files are edited on the machine. */
const MOST_EDITED = 262_144;

/** The first contents of the files: both versions of the lines in conflict, between markers. Undefined: one of them cannot be edited here.
 * */
async function begun(run: string, conflicts: readonly Conflict[], signal: AbortSignal): Promise<Edits | undefined> {
  // Several items can have changed one file; its present content is the same for all of them.
  const versions = new Map<string, { ours: string | null; items: { name: string; theirs: string | null }[] }>();
  for (const { item, files } of conflicts) {
    for (const { path, ours, theirs } of files) {
      const of = versions.get(path) ?? { ours, items: [] };
      of.items.push({ name: `item ${item}${theirs === null ? " (deleted)" : ""}`, theirs });
      versions.set(path, of);
    }
  }
  const found: Record<string, string | null> = {};
  for (const [path, { ours, items }] of versions) {
    const before = await content(run, ours, signal);
    let size = before?.text?.length ?? 0;
    const others: Version[] = [];
    for (const { name, theirs } of items) {
      const own = await content(run, theirs, signal);
      if (own?.text === undefined) return undefined;
      size += own.text.length;
      others.push([name, own.text]);
    }
    if (before?.text === undefined || size > MOST_EDITED) return undefined;
    const all = marked(before.text, others);
    if (all === undefined) return undefined;
    found[path] = all;
  }
  return found;
}

/** A text field knows line feeds alone: the text with the ends of lines that all lines of the file have so far. */
export async function withEndsOf(run: string, conflicts: readonly Conflict[], path: string, text: string): Promise<string> {
  const ours = conflicts.flatMap(({ files }) => files).find((file) => file.path === path)?.ours ?? null;
  const before = (await content(run, ours))?.text ?? "";
  return before.includes("\r\n") && !/(?<!\r)\n/.test(before) ? text.replaceAll(/\r?\n/g, "\r\n") : text;
}

/** Whether a marker is left in a text. */
export const hasMarker = (text: string | null): boolean => text !== null && /^(<{7} |>{7} )/m.test(text);

interface Editing {
  run: string;
  question: string;
  conflicts: readonly Conflict[];
  edits: Edits | undefined;
  wrong: Readonly<Record<string, string>>;
  disabled: boolean;
  change: (edits: Edits) => void;
}

/** The files in conflict, to be written as they are to be. */
export function Editor({ run, question, conflicts, edits, wrong, disabled, change }: Editing): JSX.Element {
  const loaded = useLoaded<{ first: Edits | undefined }>(async (signal) => ({ first: await begun(run, conflicts, signal) }), [run, question], () => false);
  return (
    <Shown of={loaded}>
      {({ first }) => {
        if (first === undefined) return <p class="trouble">Not all of these files can be edited here. On the machine, <code>envoi show {question}</code> names the folder where they lie.</p>;
        const now = edits ?? first;
        return (
          <>
            <p class="note">Write what is to stand in each file, without the markers. Nothing changes before you send it.</p>
            {Object.entries(now).map(([path, text], nth) => (
              <div class="field" key={path}>
                <label for={`edit-${nth}`}><Line text={path} /></label>
                {text !== null && <textarea id={`edit-${nth}`} class="code" rows={12} value={text} disabled={disabled} spellcheck={false} autocomplete="off" aria-describedby={wrong[path] && `edit-${nth}-wrong`} onInput={(event) => change({ ...now, [path]: event.currentTarget.value })} />}
                <label class="option"><input type="checkbox" checked={text === null} disabled={disabled} onChange={(event) => change({ ...now, [path]: event.currentTarget.checked ? null : (first[path] ?? "") })} /> <span>the file is deleted</span></label>
                {wrong[path] !== undefined && <p class="wrong" id={`edit-${nth}-wrong`}>{wrong[path]}</p>}
              </div>
            ))}
          </>
        );
      }}
    </Shown>
  );
}
