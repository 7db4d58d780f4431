/** The output of an attempt, line by line: found by words, linked by numbers, followed while it grows. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import { plural, size } from "../model/words.js";
import { useLoaded } from "../state/load.js";
import { place, setQueries } from "../state/router.js";
import { TAIL_BYTES, tail, type Stream, type Tail } from "../wire/log.js";
import { Shown } from "./status.js";
import { lined } from "./untrusted.js";

const EVERY_MS = 1000;

/** Lines of a block, which the browser lays out only when it is seen; and most lines that are shown at once. */
const BLOCK = 200;
const MOST = 2_000;
/** Lines before one that is looked for. */
const BEFORE = 100;

/** Most bytes that are shown; the rest is for `envoi logs`. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Lines of the address, as `120` or `120-130`. */
function linesIn(text: string | null): [first: number, last: number] | undefined {
  const found = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text ?? "");
  if (found === null) return undefined;
  const first = Number(found[1]);
  return [first, Math.max(first, Number(found[2] ?? first))];
}

interface Props {
  run: string;
  attempt: string;
  stream: Stream;
  isLive: boolean;
}

export function Log({ run, attempt, stream, isLive }: Props): JSX.Element {
  const wanted = place.value.query.get("log") === stream ? linesIn(place.value.query.get("line")) : undefined;
  const [tick, setTick] = useState(0);
  // A line is counted from the beginning, so that this is what is needed.
  const isLinked = wanted !== undefined;
  const [bytes, setBytes] = useState(wanted === undefined ? TAIL_BYTES : MOST_BYTES);
  useEffect(() => {
    if (!isLive) return setTick((tick) => tick + 1);
    const timer = setInterval(() => document.visibilityState === "visible" && setTick((tick) => tick + 1), EVERY_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  const [known, setKnown] = useState<[key: string, tail: Tail]>();
  const key = `${attempt} ${stream} ${bytes} ${isLinked}`;
  const loaded = useLoaded<Tail>((signal) => tail(run, attempt, stream, signal, isLinked ? MOST_BYTES : bytes, !isLinked), [key, tick], () => false);
  useEffect(() => {
    if (loaded.value !== undefined) setKnown([key, loaded.value]);
  }, [loaded.value]);
  // The last look stays until there is a newer one.
  const shown = loaded.value ?? (known?.[0] === key ? known[1] : undefined);
  return (
    <Shown of={{ ...loaded, value: shown }}>
      {(found) => (
        <>
          {found.from > 0 && (
            <p class="note">
              {`the last ${size(found.whole - found.from)} of ${size(found.whole)} `}
              {bytes < MOST_BYTES ? <button class="small" onClick={() => setBytes(Math.min(MOST_BYTES, bytes * 8))}>Show earlier lines</button> : <>all of it: <code>{`envoi logs ${run} --step ${attempt.replace(/\.\d+\.\d+$/, "")}`}</code></>}
            </p>
          )}
          {found.from === 0 && found.length < found.whole && <p class="note">{`the first ${size(found.length)} of ${size(found.whole)}, in which lines have numbers; all of it: `}<code>{`envoi logs ${run} --step ${attempt.replace(/\.\d+\.\d+$/, "")}`}</code></p>}
          {found.text === "" ? <p class="note">{isLive ? "Nothing was written so far." : "Nothing was written."}</p> : <Text of={found} attempt={attempt} stream={stream} wanted={wanted} isLive={isLive} />}
        </>
      )}
    </Shown>
  );
}

function Text({ of: { text, from }, attempt, stream, wanted, isLive }: { of: Tail; attempt: string; stream: Stream; wanted: [number, number] | undefined; isLive: boolean }): JSX.Element {
  const [query, setQuery] = useState("");
  const [nth, setNth] = useState(0);
  const [more, setMore] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lines = useMemo(() => lined(text), [text]);
  const plainLines = useMemo(() => (query === "" ? [] : lines.map((line) => line.plain.toLowerCase())), [lines, query]);
  const found = useMemo(() => (query === "" ? [] : plainLines.flatMap((line, at) => (line.includes(query.toLowerCase()) ? [at] : []))), [plainLines, query]);
  const current = found[Math.min(nth, found.length - 1)];
  // A searched line is shown with the lines around it; else the end is shown. Never all lines: the browser would lay them out for seconds.
  const anchor = current ?? (wanted === undefined || from > 0 ? undefined : wanted[0] - 1);
  const first = Math.max(0, Math.min(lines.length - MOST * more, anchor === undefined ? lines.length : anchor - BEFORE));
  const end = Math.min(lines.length, first + MOST * more);
  const hasNumbers = from === 0;
  // It stays at the end while it grows, if it was there; what is being read never moves.
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && isAtEnd.current && wanted === undefined && query === "") element.scrollTop = element.scrollHeight;
  }, [text]);
  useEffect(() => {
    const element = box.current?.querySelector(".found.current") ?? (query === "" ? box.current?.querySelector(".marked") : undefined);
    element?.scrollIntoView({ block: "nearest" });
  }, [current, query, wanted?.[0], first]);
  const go = (by: 1 | -1): void => setNth((Math.min(nth, found.length - 1) + by + found.length) % found.length);
  const beyond = wanted !== undefined && wanted[0] > lines.length;
  const mark = (event: MouseEvent): void => {
    const number = Number((event.target as HTMLElement).dataset["n"] ?? "");
    if (!hasNumbers || number === 0) return;
    const [a, b] = event.shiftKey && wanted !== undefined ? [Math.min(wanted[0], number), Math.max(wanted[0], number)] : [number, number];
    link(a, b);
  };
  const link = (a: number, b: number): void => {
    setQueries({ attempt: /\d+$/.exec(attempt)?.[0] ?? "1", log: stream, line: a === b ? String(a) : `${a}-${b}` });
  };
  const blocks: JSX.Element[] = [];
  // Few lines are always laid out.
  const isLong = end - first > BLOCK;
  for (let begin = first; begin < end; begin += BLOCK) {
    blocks.push(
      <div class={isLong ? "block" : ""} key={begin}>
        {lines.slice(begin, Math.min(end, begin + BLOCK)).map((line, at) => {
          const number = begin + at + 1;
          const isMarked = hasNumbers && wanted !== undefined && number >= wanted[0] && number <= wanted[1];
          const isFound = query !== "" && plainLines[number - 1]?.includes(query.toLowerCase());
          return <div key={number} class={`ln ${isMarked ? "marked" : ""} ${isFound ? "found" : ""} ${current === number - 1 ? "current" : ""}`}>{hasNumbers && <span class="no" data-n={number} aria-hidden="true" />}<span class="tx">{line.parts}{"\n"}</span></div>;
        })}
      </div>,
    );
  }
  return (
    <>
      {lines.length > 1 && <LineLink stream={stream} wanted={wanted} link={link} />}
      {lines.length > 10 && (
        <p class="facts search" role="search">
          <label class="hidden" for="find">Find in {stream}</label>
          <input id="find" type="search" placeholder={`find in ${stream}`} value={query} onInput={(event) => (setQuery(event.currentTarget.value), setNth(0))} onKeyDown={(event) => event.key === "Enter" && found.length > 0 && (event.preventDefault(), go(event.shiftKey ? -1 : 1))} />
          {query !== "" && <span role="status">{found.length === 0 ? `no such line${from > 0 ? " in what is shown" : ""}` : `${Math.min(nth, found.length - 1) + 1} of ${plural(found.length, "line")}`}</span>}
          {found.length > 1 && <><button class="small" onClick={() => go(-1)}>previous</button><button class="small" onClick={() => go(1)}>next</button></>}
        </p>
      )}
      {beyond && <p class="warn" role="status">{`The link leads to line ${wanted[0]}. Here are ${plural(lines.length, "line")}.`}</p>}
      {first > 0 && <p class="note">{`${plural(first, "earlier line")} not shown `}<button class="small" onClick={() => setMore(more * 4)}>Show them</button></p>}
      <div ref={box} class={`output ${hasNumbers ? "numbers" : ""}`} dir="ltr" tabIndex={0} role="region" aria-label={stream} onClick={mark} onScroll={(event) => (isAtEnd.current = event.currentTarget.scrollTop + event.currentTarget.clientHeight >= event.currentTarget.scrollHeight - 4)}>
        {blocks}
        {isLive && <div class="note">…</div>}
      </div>
      {end < lines.length && <p class="note">{`${plural(lines.length - end, "later line")} not shown `}<button class="small" onClick={() => setMore(more * 4)}>Show them</button></p>}
    </>
  );
}

/** Lines by their numbers, for people who do not click on one: the typed numbers are in the address. */
function LineLink({ stream, wanted, link }: { stream: Stream; wanted: [number, number] | undefined; link: (first: number, last: number) => void }): JSX.Element {
  const now = wanted === undefined ? "" : wanted[0] === wanted[1] ? String(wanted[0]) : wanted.join("-");
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  const lines = linesIn(text.trim());
  const isWrong = text.trim() !== "" && (lines === undefined || lines[0] === 0);
  const send = (): void => {
    if (lines !== undefined && !isWrong) link(...lines);
  };
  return (
    <form class="facts search" onSubmit={(event) => (event.preventDefault(), send())}>
      <label for="lines">Link to lines of {stream}</label>
      <input id="lines" type="text" inputMode="numeric" autocomplete="off" placeholder="12 or 12-20" value={text} aria-invalid={isWrong ? "true" : undefined} onInput={(event) => setText(event.currentTarget.value)} />
      <button class="small" type="submit" disabled={lines === undefined || isWrong}>Go</button>
      <span role="status">{wanted === undefined ? "" : wanted[0] === wanted[1] ? `line ${wanted[0]} is in the address` : `lines ${wanted[0]} to ${wanted[1]} are in the address`}</span>
    </form>
  );
}
