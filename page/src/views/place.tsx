/** A visit of a run: its hand-off, and the output of its attempts. */

import { useState } from "preact/hooks";
import type { JSX } from "preact";

import { rawItems, rawMember } from "../model/raw.js";
import { duration, moment, plural, since, until, when } from "../model/words.js";
import { Rules, signalled } from "../parts/decision.js";
import { Download } from "../parts/download.js";
import { Files } from "../parts/files.js";
import { Log } from "../parts/output.js";
import { Shown, State, now } from "../parts/status.js";
import { Line, Words } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at, place as here, setQueries } from "../state/router.js";
import type { ChangedFiles, Event, StepRow } from "../wire/api.js";
import type { Stream } from "../wire/log.js";
import { ask, json } from "../wire/request.js";
import { Compare } from "./compare.js";
import { EventRow, aboutOf, eventsOf } from "./events.js";

interface Handoff {
  status?: string;
  summary?: string;
  error?: string | null;
  routing_signal?: unknown;
  routing_audit?: unknown;
  file_changes?: unknown;
}

interface Props {
  run: string;
  place: string;
  rows: ReadonlyMap<string, StepRow>;
  forkedFrom: string | null;
}

export function PlaceView({ run, place, rows, forkedFrom }: Props): JSX.Element {
  const row = rows.get(place);
  if (row === undefined) return <aside class="place"><p>There is no step at <code><Line text={place} /></code> in this run. <a href={at("r", run)}>The run</a></p></aside>;
  const parts = [...rows.values()].filter((each) => each.part_of === place);
  return (
    <aside class="place" aria-label={place}>
      <Neighbours run={run} row={row} rows={rows} />
      <Above run={run} row={row} rows={rows} />
      <h2><Line text={place} /></h2>
      <p class="facts">
        <State of={row.state} />
        {row.value !== null && <span>item <Line text={row.value} /></span>}
        <span>began {moment(row.started_at)}</span>
        {row.took_ms !== null && <span>took {duration(row.took_ms)}</span>}
        {row.state === "running" && <span>for {since(row.started_at, now.value)}</span>}
        {row.attempts > 1 && <span>{plural(row.attempts, "attempt")}</span>}
        {row.cost_usd !== null && <span>${row.cost_usd}</span>}
        {row.cached_from !== null && <span>from the cache: <Line text={row.cached_from.attempt} /> of <a href={at("r", row.cached_from.run, "at", row.cached_from.attempt.replace(/\.\d+$/, ""))}>an earlier run</a></span>}
        {row.leads_to !== null && <span>leads to: {row.leads_to}</span>}
      </p>
      {row.question !== null && <p><a class="button" href={at("q", row.question)}>{row.state === "in_doubt" ? "Decide" : "Answer the question"}</a></p>}
      {row.next_try_at !== null && <p class="warn">It is tried again {when(row.next_try_at)}, in {until(row.next_try_at, now.value)}.</p>}
      {row.ended_at !== null ? <HandedOver run={run} row={row} rows={rows} forkedFrom={forkedFrom} /> : (
        <>
          {row.summary !== "" && <Words text={row.summary} from={row.state === "retries" ? "why the last attempt failed" : "so far"} />}
          {row.attempts > 0 && <Attempts {...{ run, row, rows, forkedFrom }} />}
        </>
      )}
      {parts.length > 0 && <p class="facts"><span>Its parts:</span>{parts.slice(0, 20).map((each) => <a key={each.place} href={at("r", run, "at", each.place)}><Line text={each.place} /></a>)}{parts.length > 20 && <span>and {parts.length - 20} more</span>}</p>}
      <Inside run={run} row={row} />
    </aside>
  );
}

/** The attempt that the address names, else the newest one. */
function shownAttempt({ attempts }: StepRow): number {
  const asked = Number(here.value.query.get("attempt"));
  return Number.isInteger(asked) && asked >= 1 && asked <= attempts ? asked : attempts;
}

/** The attempts before and after the one that is shown, then the visits of the same step: its rounds, in a loop. Keys `[` and `]` go there. */
function Neighbours({ run, row, rows }: { run: string; row: StepRow; rows: ReadonlyMap<string, StepRow> }): JSX.Element {
  const same = [...rows.values()].filter((each) => each.step === row.step && each.scope === row.scope).sort((a, b) => a.visit - b.visit);
  const nth = same.findIndex((each) => each.place === row.place);
  const link = (to: StepRow | undefined, id: string, label: string): JSX.Element | null => (to === undefined ? null : <a id={id} href={at("r", run, "at", to.place)}>{label}</a>);
  const shown = shownAttempt(row);
  const ofAttempt = (to: number): string => `${at("r", run, "at", row.place)}?attempt=${to}`;
  return (
    <p class="facts">
      <a id="close" href={at("r", run)}>✕ close</a>
      {shown > 1 ? <a id="before" href={ofAttempt(shown - 1)}>← attempt {shown - 1}</a> : link(same[nth - 1], "before", "← the visit before")}
      {shown < row.attempts ? <a id="after" href={ofAttempt(shown + 1)}>attempt {shown + 1} →</a> : link(same[nth + 1], "after", "the next visit →")}
    </p>
  );
}

/** The parts around it, the outermost first. */
function Above({ run, row, rows }: { run: string; row: StepRow; rows: ReadonlyMap<string, StepRow> }): JSX.Element | null {
  const above: StepRow[] = [];
  for (let each = rows.get(row.part_of ?? ""); each !== undefined; each = rows.get(each.part_of ?? "")) above.unshift(each);
  if (above.length === 0) return null;
  return (
    <nav class="facts above" aria-label="what it is a part of">
      <a href={at("r", run)}>the run</a>
      {above.map((each) => <span key={each.place}><span aria-hidden="true">› </span><a href={at("r", run, "at", each.place)}><Line text={each.place} /></a></span>)}
      <span aria-hidden="true">›</span>
    </nav>
  );
}

async function handoffOf(run: string, place: string, signal: AbortSignal): Promise<Handoff> {
  const text = await (await ask(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(place)}`, { signal })).text();
  return JSON.parse(text) as Handoff;
}

/** Events that are asked for at once. An attempt settles with what follows from it: mostly the first ones are enough, and beside many other visits few are read. */
const NEAR = 20;

/** The data that the newest attempt of a visit has handed over, as it was written; undefined if there is none. Read from the end of the visit back. */
async function dataOf(run: string, row: StepRow, signal: AbortSignal): Promise<string | undefined> {
  let [until, count] = [row.seq + 1, NEAR];
  while (until > row.first_seq) {
    const from = Math.max(row.first_seq, until - count);
    let [isThere, data]: [boolean, string | undefined] = [false, undefined];
    for (let after: number | null = from - 1; after !== null && after < until - 1; ) {
      const text: string = await (await ask(`runs/${encodeURIComponent(run)}/events?limit=${until - 1 - after}${after < 0 ? "" : `&after=${after}`}`, { signal })).text();
      for (const item of rawItems(rawMember(text, "events") ?? "[]")) {
        const event = rawMember(item, "event") ?? "{}";
        if (rawMember(event, "type") !== '"attempt_settled"') continue;
        const attempt: unknown = JSON.parse(rawMember(event, "attempt") ?? '""');
        if (isOf(row.place, String(attempt))) [isThere, data] = [true, rawMember(event, "data")];
      }
      after = JSON.parse(rawMember(text, "next") ?? "null") as number | null;
    }
    if (isThere) return data === "null" || data === "{}" ? undefined : data;
    [until, count] = [from, 200];
  }
  return undefined;
}

/** Its data, loaded on request: they are among the events of the run. */
function Data({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const [open, setOpen] = useState(false);
  const loaded = useLoaded<{ data: string | undefined }>(async (signal) => ({ data: open ? await dataOf(run, row, signal) : undefined }), [run, row.place, row.seq, open], () => false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>data</summary>
      {open && <Shown of={loaded}>{({ data }) => (data === undefined ? <p class="note">It handed over no data.</p> : <Words text={data.slice(0, MOST_DATA)} from={data.length > MOST_DATA ? "the beginning of its data, as it was written" : "its data, as it was written"} />)}</Shown>}
    </details>
  );
}

/** So much of it is shown. */
const MOST_DATA = 262_144;

/** The files that the visit and its parts have changed, each against what it was before the visit. */
function OwnFiles({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const loaded = useLoaded<ChangedFiles>((signal) => json(`runs/${encodeURIComponent(run)}/files?place=${encodeURIComponent(row.place)}`, { signal }), [run, row.place, row.seq], () => false);
  return (
    <Shown of={loaded}>
      {({ files, total }) => files.length > 0 && (
        <>
          <h3 id="files" tabIndex={-1}>Files</h3>
          <p class="note">Each against what it was before this visit.</p>
          <Files run={run} files={files} />
          {total > files.length && <p class="note">{`and ${plural(total - files.length, "more file")}`}</p>}
        </>
      )}
    </Shown>
  );
}

function HandedOver({ run, row, rows, forkedFrom }: { run: string; row: StepRow } & Pick<Props, "rows" | "forkedFrom">): JSX.Element {
  const loaded = useLoaded<Handoff>((signal) => handoffOf(run, row.place, signal), [row.place, row.seq], () => false);
  return (
    <Shown of={loaded}>
      {({ summary = "", error, routing_signal: signal, routing_audit: audit, file_changes: changes }) => (
        <>
          {typeof error === "string" && <Words text={error} from="why it failed" />}
          {typeof error === "string" && row.attempts > 0 && <Attempts {...{ run, row, rows, forkedFrom }} />}
          {summary.trim() !== "" && <Words text={summary} from="its hand-off" />}
          {row.attempts > 0 && <Data run={run} row={row} />}
          {(changes != null || row.attempts === 0) && <OwnFiles run={run} row={row} />}
          {typeof error !== "string" && row.attempts > 0 && <Attempts {...{ run, row, rows, forkedFrom }} />}
          {signal != null && (
            <details class="why-here" open={row.state === "failed" || row.leads_to === "loop"}>
              <summary>why it went on as it did</summary>
              <p><Line text={signalled(signal)} /></p>
              <Rules audit={audit} />
              <p class="note">The decision was made from the text above, as the step wrote it. <a href={at("r", run, "why")}>All decisions of the run</a></p>
            </details>
          )}
        </>
      )}
    </Shown>
  );
}

/** Most events that are looked through for those of a visit. */
const MOST_EVENTS = 2_000;

/** Its start, and all that the journal has of it. */
function Inside({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const [open, setOpen] = useState(false);
  const last = Math.min(row.seq, row.first_seq + MOST_EVENTS);
  const loaded = useLoaded<Event[]>(
    async (signal) => (open ? (await eventsOf(run, row.first_seq, last, signal)).filter(({ event }) => isOf(row.place, aboutOf(event as unknown as Record<string, unknown>))) : []),
    [run, row.place, row.seq, open],
    () => false,
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>how it was started, and its events</summary>
      {open && (
        <Shown of={loaded}>
          {(events) => (
            <>
              {events.flatMap(({ seq, event }) => (event.type === "attempt_started" ? [<Started key={seq} event={event as unknown as StartedEvent} />] : []))}
              <ol class="events">{events.map((event) => <EventRow key={event.seq} event={event} />)}</ol>
              {last < row.seq && <p class="note">These are the first ones. All are among <a href={at("r", run, "events")}>the events of the run</a>.</p>}
            </>
          )}
        </Shown>
      )}
    </details>
  );
}

/** Whether an event is about this visit, or an attempt of it. */
const isOf = (place: string, about: string): boolean => about === place || (about.startsWith(`${place}.`) && /^\d+$/.test(about.slice(place.length + 1)));

interface StartedEvent {
  attempt: string;
  command: unknown;
  env: readonly (readonly [string, string])[];
  cwd: string;
  timeout_ms: number | null;
}

/** The command that was started, with the variables that the flow gives it. Secrets are never among them. */
function Started({ event: { attempt, command, env, cwd, timeout_ms: timeout } }: { event: StartedEvent }): JSX.Element {
  const { exec } = (command ?? {}) as { exec?: readonly string[] };
  const script = exec?.[0] === "sh" && exec.length === 4 ? exec[3] : undefined;
  return (
    <>
      <Words text={script ?? (exec === undefined ? JSON.stringify(command, null, 2) : exec.join(" "))} from={`attempt ${attempt}${script === undefined ? "" : ", with sh -e -c"}${cwd === "." ? "" : `, in ${cwd}`}${timeout === null ? "" : `, for at most ${duration(timeout)}`}`} />
      {env.length > 0 && <dl class="evidence">{env.map(([name, value]) => <div key={name}><dt><code>{name}</code></dt><dd class="text"><Line text={value.slice(0, 2_000)} /></dd></div>)}</dl>}
    </>
  );
}

function Attempts({ run, row, rows, forkedFrom }: { run: string; row: StepRow } & Pick<Props, "rows" | "forkedFrom">): JSX.Element {
  const { query } = here.value;
  const linked = query.get("log");
  // A link to lines is a link to those of an attempt, also if others were tried after it.
  const attempt = shownAttempt(row);
  const setAttempt = (to: number): void => setQueries({ attempt: String(to), log: stream, line: "" });
  const [stream, setStream] = useState<Stream>(linked === "stdout" || linked === "stderr" ? linked : row.state === "failed" || row.state === "retries" ? "stderr" : "stdout");
  return (
    <section aria-label="output" id="output" tabIndex={-1}>
      <p class="facts" role="group" aria-label="which output">
        {(["stdout", "stderr"] as const).map((each) => <button key={each} class={`small ${each === stream ? "chosen" : ""}`} aria-pressed={each === stream} onClick={() => setStream(each)}>{each}</button>)}
        <Download path={`runs/${encodeURIComponent(run)}/logs/${encodeURIComponent(`${row.place}.${attempt}`)}/${stream}`} name={`${row.place}.${attempt}.${stream}.txt`} command={`envoi logs ${run} --step ${row.place.replace(/\.\d+$/, "")}`}>download {stream}</Download>
        {row.attempts > 1 && (
          <label>attempt <select value={attempt} onChange={(event) => setAttempt(Number(event.currentTarget.value))}>
            {Array.from({ length: row.attempts }, (_, nth) => <option key={nth} value={nth + 1}>{nth + 1}</option>)}
          </select></label>
        )}
      </p>
      <Log key={`${row.place}.${attempt} ${stream}`} run={run} attempt={`${row.place}.${attempt}`} stream={stream} isLive={row.state === "running"} />
      {row.state !== "running" && <Compare {...{ run, row, rows, forkedFrom, attempt, stream }} />}
    </section>
  );
}
