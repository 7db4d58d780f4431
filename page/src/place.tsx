/** One visit of a run: what it handed over, what its attempts wrote. */

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import type { ChangedFile, StepRow } from "./api.js";
import { Compare } from "./compare.js";
import { Rules, signalled } from "./decision.js";
import { Files } from "./files.js";
import { Line, Output, Words } from "./foreign.js";
import { useLoaded } from "./load.js";
import { tail, type Stream, type Tail } from "./log.js";
import { Shown, State } from "./parts.js";
import { at } from "./router.js";
import { duration, moment, plural, size } from "./words.js";
import { json } from "./wire.js";

interface Handoff {
  status?: string;
  summary?: string;
  error?: string | null;
  data?: unknown;
  routing_signal?: unknown;
  routing_audit?: unknown;
  file_changes?: { files?: readonly FileChange[]; total?: number };
}

interface FileChange {
  path: string;
  digest: string | null;
  change: string;
}

/** As the list of files takes it. What a file was before is not in the hand-off. */
const asChanged = ({ path, digest, change }: FileChange): ChangedFile => ({ path, before: null, created: change === "created", after: change === "deleted" ? null : digest });

interface Props {
  run: string;
  place: string;
  rows: ReadonlyMap<string, StepRow>;
  forkedFrom: string | null;
}

export function PlaceView({ run, place, rows, forkedFrom }: Props): JSX.Element {
  const row = rows.get(place);
  if (row === undefined) return <aside class="place"><p>There is no step at <code>{place}</code> in this run. <a href={at("r", run)}>The run</a></p></aside>;
  return (
    <aside class="place" aria-label={place}>
      <p class="facts"><a href={at("r", run)}>✕ close</a></p>
      <h2><Line text={place} /></h2>
      <p class="facts">
        <State of={row.state} />
        {row.value !== null && <span>item <Line text={row.value} /></span>}
        <span>began {moment(row.started_at)}</span>
        {row.took_ms !== null && <span>took {duration(row.took_ms)}</span>}
        {row.cost_usd !== null && <span>${row.cost_usd}</span>}
        {row.leads_to !== null && <span>leads to: {row.leads_to}</span>}
        {row.question !== null && <a href={at("q", row.question)}>its question</a>}
      </p>
      {row.ended_at !== null ? <HandedOver run={run} row={row} /> : row.summary !== "" && <Words text={row.summary} from="so far" />}
      {row.attempts > 0 && <Attempts {...{ run, row, rows, forkedFrom }} />}
    </aside>
  );
}

function HandedOver({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const loaded = useLoaded<Handoff>((signal) => json(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(row.place)}`, { signal }), [row.place, row.seq], () => false);
  return (
    <Shown of={loaded}>
      {({ summary = "", error, data, routing_signal: signal, routing_audit: audit, file_changes: changes }) => (
        <>
          {typeof error === "string" && <Words text={error} from="why it failed" />}
          {summary.trim() !== "" && <Words text={summary} from="its hand-off" />}
          {data !== undefined && data !== null && JSON.stringify(data) !== "{}" && <details><summary>data</summary><Words text={JSON.stringify(data, null, 2).slice(0, 262_144)} from="JSON" /></details>}
          {signal != null && (
            <details class="why-here" open={row.state === "failed" || row.leads_to === "loop"}>
              <summary>why it went on as it did</summary>
              <p><Line text={signalled(signal)} /></p>
              <Rules audit={audit} />
              <p class="note">Read was the text above, as the step wrote it. <a href={at("r", run, "why")}>All decisions of the run</a></p>
            </details>
          )}
          {changes?.files !== undefined && changes.files.length > 0 && (
            <>
              <h3>Files</h3>
              <Files run={run} files={changes.files.filter(({ change }) => change !== "unchanged").map(asChanged)} />
              {changes.total !== undefined && changes.total > changes.files.length && <p class="note">{`and ${plural(changes.total - changes.files.length, "more file")}`}</p>}
            </>
          )}
        </>
      )}
    </Shown>
  );
}

function Attempts({ run, row, rows, forkedFrom }: { run: string; row: StepRow } & Pick<Props, "rows" | "forkedFrom">): JSX.Element {
  const [attempt, setAttempt] = useState(row.attempts);
  const [stream, setStream] = useState<Stream>(row.state === "failed" ? "stderr" : "stdout");
  useEffect(() => setAttempt(row.attempts), [row.attempts]);
  return (
    <>
      <p class="facts" role="group" aria-label="output">
        {(["stdout", "stderr"] as const).map((each) => <button key={each} class={each === stream ? "chosen" : ""} aria-pressed={each === stream} onClick={() => setStream(each)}>{each}</button>)}
        {row.attempts > 1 && (
          <label>attempt <select value={attempt} onChange={(event) => setAttempt(Number(event.currentTarget.value))}>
            {Array.from({ length: row.attempts }, (_, nth) => <option key={nth} value={nth + 1}>{nth + 1}</option>)}
          </select></label>
        )}
      </p>
      <Log run={run} attempt={`${row.place}.${attempt}`} stream={stream} isLive={row.state === "running"} />
      {row.state !== "running" && <Compare {...{ run, row, rows, forkedFrom, attempt, stream }} />}
    </>
  );
}

const EVERY_MS = 1000;

function Log({ run, attempt, stream, isLive }: { run: string; attempt: string; stream: Stream; isLive: boolean }): JSX.Element {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!isLive) return setTick((tick) => tick + 1);
    const timer = setInterval(() => document.visibilityState === "visible" && setTick((tick) => tick + 1), EVERY_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  const [known, setKnown] = useState<[key: string, tail: Tail]>();
  const key = `${attempt} ${stream}`;
  const loaded = useLoaded<Tail>((signal) => tail(run, attempt, stream, signal), [key, tick], () => false);
  useEffect(() => {
    if (loaded.value !== undefined) setKnown([key, loaded.value]);
  }, [loaded.value]);
  // The last look stays until there is a newer one.
  const shown = loaded.value ?? (known?.[0] === key ? known[1] : undefined);
  return (
    <Shown of={{ ...loaded, value: shown }}>
      {({ text, from, whole }) => (
        <>
          {from > 0 && <p class="note">{`the last ${size(whole - from)} of ${size(whole)}`}</p>}
          {text === "" ? <p class="note">Nothing was written.</p> : <div class="scroll" tabIndex={0} role="region" aria-label={stream}><Output text={text} /></div>}
        </>
      )}
    </Shown>
  );
}
