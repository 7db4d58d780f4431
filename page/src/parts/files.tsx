/** Files that a run has changed: what differs, as text, and as they are. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import { counted, diffOfFiles, inPairs, type Change } from "../model/diff.js";
import { plural, short, size } from "../model/words.js";
import { useLoaded } from "../state/load.js";
import { usePending } from "../state/pending.js";
import { place, setQuery } from "../state/router.js";
import { choose, settings } from "../state/settings.js";
import type { ChangedFile, ChangedFiles } from "../wire/api.js";
import { Offline, Refused, ask, json } from "../wire/request.js";
import { Download } from "./download.js";
import { Markdown, Picture, Values, kindOf } from "./rendered.js";
import { Shown, Trouble } from "./status.js";
import { Line, named, plain } from "./untrusted.js";

/** Larger files are only offered as they are. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Lines of one file that are shown at once. */
const MOST_SHOWN = 400;

export interface Content {
  /** Undefined: it is no text, or too large. */
  text: string | undefined;
  bytes: number;
}

/** A file of a run by its digest; null is a file that does not exist. Undefined: the store does not have it. */
export async function content(run: string, digest: string | null, signal?: AbortSignal): Promise<Content | undefined> {
  if (digest === null) return { text: "", bytes: 0 };
  try {
    const response = await ask(`runs/${encodeURIComponent(run)}/contents/${digest}`, { headers: { range: `bytes=0-${MOST_BYTES}` }, ...(signal === undefined ? {} : { signal }) });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const whole = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1] ?? bytes.length);
    return { text: bytes.length > MOST_BYTES ? undefined : asText(bytes), bytes: whole };
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return undefined;
    throw error;
  }
}

function asText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** All files that a run has changed so far. */
export function ChangedFilesView({ run }: { run: string }): JSX.Element {
  const loaded = useLoaded<ChangedFiles>((signal) => json(`runs/${encodeURIComponent(run)}/files`, { signal }), [run], (change) => change.run === run);
  return (
    <section aria-label="files">
      <p class="note">What the run has changed in its workspace so far, as its steps have declared it or as it was seen. Each against what it was before the run.</p>
      <Shown of={loaded}>
        {({ files, total }) => (
          <>
            <Files run={run} files={files} />
            {total > files.length && <p class="note">{`and ${plural(total - files.length, "more file")}`}</p>}
          </>
        )}
      </Shown>
    </section>
  );
}

/** `before` is the run that has the contents from before, if it is another one. */
export function Files({ run, files, before = run }: { run: string; files: readonly ChangedFile[]; before?: string }): JSX.Element {
  if (files.length === 0) return <p class="note">No file has been changed.</p>;
  return <ul class="files">{files.map((file) => <File key={file.path} run={run} runBefore={before} file={file} isAlone={files.length === 1} />)}</ul>;
}

type Look = { before: Content | undefined; after: Content | undefined; changes: Change[] | undefined };

function File({ run, runBefore, file, isAlone }: { run: string; runBefore: string; file: ChangedFile; isAlone: boolean }): JSX.Element {
  const isNamed = place.value.query.get("file") === file.path;
  const [open, setOpen] = useState(isAlone || isNamed);
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isNamed) element.current?.scrollIntoView({ block: "start" });
  }, []);
  const toggle = (): void => {
    setOpen(!open);
    if (look instanceof Error) setLook(undefined);
    if (!open || isNamed) setQuery("file", open ? "" : file.path);
  };
  const [look, setLook] = useState<Look | Refused | Offline>();
  const isKnown = file.created || file.before_digest !== null;
  usePending(open && look === undefined);
  useEffect(() => {
    if (!open || look !== undefined) return;
    const load = async (): Promise<Look> => {
      const [before, after] = await Promise.all([content(runBefore, file.before_digest), content(run, file.after_digest)]);
      const isText = before?.text !== undefined && after?.text !== undefined && isKnown;
      return { before, after, changes: isText ? diffOfFiles(before?.text ?? "", after?.text ?? "") : undefined };
    };
    load().then(setLook, (error: unknown) => {
      if (error instanceof Refused || error instanceof Offline) setLook(error);
      else throw error;
    });
  }, [open, look]);
  const word = file.after_digest === null ? "deleted" : file.created ? "new" : "changed";
  return (
    <li ref={element}>
      <button class="fold" aria-expanded={open} onClick={toggle}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> <Line text={file.path} /> <span class="note">{word}</span>
        {look !== undefined && !(look instanceof Error) && look.changes !== undefined && <Counts changes={look.changes} />}
      </button>
      {open && (look === undefined ? <p class="note" role="status">Asking the server …</p> : look instanceof Error ? <Trouble error={look} /> : <Looked {...{ look, isKnown, run, runBefore, file }} />)}
      {open && file.after_digest !== null && (
        <p class="note digest">
          <Download path={`runs/${encodeURIComponent(run)}/contents/${file.after_digest}`} name={file.path.split("/").at(-1) || "file"}>download</Download>{file.size_bytes !== null && <> {size(file.size_bytes)}</>} <span title={file.after_digest}>{short(file.after_digest)}</span>
        </p>
      )}
    </li>
  );
}

function Counts({ changes }: { changes: Change[] }): JSX.Element {
  const [added, removed] = counted(changes);
  return <span class="counts"><span class="good">+{added}</span> <span class="bad">−{removed}</span></span>;
}

const MARKS = { same: " ", added: "+", removed: "−", "left out": "…" } as const;

type Mode = "difference" | "shown" | "text";

/** The names of the ways to show a file. */
const MODES: Readonly<Record<Mode, string>> = { difference: "what differs", shown: "as it looks", text: "as text" };

function Looked({ look: { before, after, changes }, isKnown, run, runBefore, file }: { look: Look; isKnown: boolean; run: string; runBefore: string; file: ChangedFile }): JSX.Element {
  const kind = kindOf(file.path);
  const isNew = file.before_digest === null;
  const [mode, setMode] = useState<Mode>(kind !== undefined && isNew ? "shown" : "difference");
  if (after === undefined) return <p class="note digest">The store does not have its content any more{file.size_bytes !== null && `: ${size(file.size_bytes)}`}, <code>{file.after_digest}</code></p>;
  if (kind === "picture" && file.after_digest !== null) {
    return (
      <>
        {file.before_digest !== null && <><p class="note">before</p><Picture run={runBefore} digest={file.before_digest} path={file.path} /><p class="note">now</p></>}
        <Picture run={run} digest={file.after_digest} path={file.path} />
      </>
    );
  }
  const { text } = after;
  if (text === undefined) return <p class="note">{`No text, or too long to be shown: ${size(after.bytes)}.`}</p>;
  const modes: Mode[] = ["difference", ...(kind === undefined ? [] : (["shown"] as const)), "text"];
  return (
    <>
      {file.after_digest !== null && (kind !== undefined || !isNew) && (
        <p class="facts modes" role="group" aria-label="how it is shown">
          {modes.map((each) => <button key={each} class={each === mode ? "chosen" : ""} aria-pressed={each === mode} onClick={() => setMode(each)}>{MODES[each]}</button>)}
        </p>
      )}
      {mode === "shown" && kind === "markdown" && <Markdown text={unmarked(text)} />}
      {mode === "shown" && kind === "table" && <Values text={unmarked(text)} path={file.path} />}
      {mode === "text" && <Lines text={text} name={file.path} />}
      {mode === "difference" &&
        (changes === undefined ? (
          <><p class="note">{!isKnown || before === undefined ? "What it was before is not known. This is what it is now." : "Too much has changed to compare. This is what it is now."}</p><Lines text={text} name={file.path} /></>
        ) : changes.length === 0 ? (
          <p class="note">It is empty.</p>
        ) : (
          <Differences changes={changes} />
        ))}
    </>
  );
}

/** Without a byte order mark: it is shown with the differences, and is not part of the content. */
const unmarked = (text: string): string => text.replace(/^\ufeff/, "");

const unended = <span class="odd" title="the file does not end with a line feed">no newline at the end</span>;

export function Differences({ changes }: { changes: readonly Change[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWide((entry?.contentRect.width ?? 0) >= WIDE));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const { beside } = settings.value;
  return (
    <div ref={box}>
      {isWide && changes.length > 0 && <p class="facts modes"><button class={beside ? "chosen" : ""} aria-pressed={beside} onClick={() => choose({ beside: !beside })}>side by side</button></p>}
      {isWide && beside ? <Beside changes={changes.slice(0, MOST_SHOWN)} /> : <Below changes={changes.slice(0, MOST_SHOWN)} />}
      {changes.length > MOST_SHOWN && <p class="note">{`and ${plural(changes.length - MOST_SHOWN, "more line")}: download the file`}</p>}
    </div>
  );
}

/** Side by side there is room for lines of 80 characters. */
const WIDE = 1000;

/** Removed lines at the left, added lines at the right, in the same rows. */
function Beside({ changes }: { changes: readonly Change[] }): JSX.Element {
  const side = (change: Change | undefined): JSX.Element => (
    <>
      <span role="cell" class={`mark ${change?.kind ?? ""}`}>{change !== undefined && change.kind !== "same" && <><span class="hidden">{change.kind}</span><span aria-hidden="true">{MARKS[change.kind]}</span></>}</span>
      <span role="cell" class={`text ${change?.kind ?? ""}`}>{change !== undefined && <>{plain(change.text)}{change.isUnended === true && change.kind !== "same" && unended}</>}</span>
    </>
  );
  return (
    <div class="diff beside" role="table" aria-label="what has changed, side by side" tabIndex={0}>
      {inPairs(changes).map(([left, right], nth) =>
        left?.kind === "left out" ? <div role="row" key={nth} class="left-out"><span role="cell" class="mark" aria-hidden="true">{MARKS["left out"]}</span><span role="cell" class="text">{left.text}</span></div> : <div role="row" key={nth} class={left === right ? "same" : `pair ${right === undefined ? "removed" : "added"}`}>{side(left)}{side(right)}</div>,
      )}
    </div>
  );
}

function Below({ changes }: { changes: readonly Change[] }): JSX.Element {
  // If all lines of both end with CRLF, the mark for it is not shown.
  const isCrlf = changes.every(({ kind, text }) => kind === "left out" || text.endsWith("\r"));
  return (
    <>
      {isCrlf && changes.length > 0 && <p class="note">Lines end with CRLF.</p>}
      <div class="diff" role="table" aria-label="what has changed" tabIndex={0}>
        {changes.map(({ kind, text, isUnended }, nth) => (
          <div role="row" key={nth} class={kind.replace(" ", "-")}>
            <span role="cell" class="mark"><span class="hidden">{kind === "same" ? "" : kind}</span><span aria-hidden="true">{MARKS[kind]}</span></span>
            <span role="cell" class="text">{plain(isCrlf && kind !== "left out" ? text.slice(0, -1) : text)}{isUnended === true && kind !== "same" && unended}</span>
          </div>
        ))}
      </div>
    </>
  );
}

/** Lines before the one that is looked for. */
const BEFORE = 20;

/** A text with the numbers of its lines, and one of them marked. */
export function Lines({ text, name, line }: { text: string; name: string; line?: number | undefined }): JSX.Element {
  const lines = text.replace(/\n$/, "").split("\n");
  const first = line === undefined || line <= MOST_SHOWN ? 0 : Math.min(line, lines.length) - BEFORE;
  const left = lines.length - first - MOST_SHOWN;
  const marked = useRef<HTMLDivElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "center" }), [line, text]);
  return (
    <>
      {first > 0 && <p class="note">{`${plural(first, "earlier line")} not shown`}</p>}
      <div class="diff numbered" role="region" aria-label={`the text of ${named(name)}`} tabIndex={0}>
        {lines.slice(first, first + MOST_SHOWN).map((each, nth) => <div class={`row-of-text ${first + nth + 1 === line ? "marked" : ""}`} key={nth} {...(first + nth + 1 === line ? { ref: marked } : {})}><span class="mark" aria-hidden="true">{first + nth + 1}</span><span class="text">{plain(each)}</span></div>)}
      </div>
      {left > 0 && <p class="note">{`and ${plural(left, "more line")}`}</p>}
    </>
  );
}
