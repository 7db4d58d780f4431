/** One visit of a run: what it handed over, what its attempts wrote. */

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import type { StepRow } from "./api.js";
import { Line, Output, Words } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State } from "./parts.js";
import { at } from "./router.js";
import { duration, moment, size } from "./words.js";
import { Refused, ask, json } from "./wire.js";

/** The end of an output that is asked for at first. */
const TAIL_BYTES = 64 * 1024;

interface Handoff {
  status?: string;
  summary?: string;
  error?: string | null;
  data?: unknown;
}

export function PlaceView({ run, place, row }: { run: string; place: string; row: StepRow | undefined }): JSX.Element {
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
      {row.attempts > 0 && <Attempts run={run} row={row} />}
    </aside>
  );
}

function HandedOver({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const loaded = useLoaded<Handoff>((signal) => json(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(row.place)}`, { signal }), [row.place, row.seq], () => false);
  return (
    <Shown of={loaded}>
      {({ summary = "", error, data }) => (
        <>
          {typeof error === "string" && <Words text={error} from="why it failed" />}
          {summary.trim() !== "" && <Words text={summary} from="its hand-off" />}
          {data !== undefined && data !== null && JSON.stringify(data) !== "{}" && <details><summary>data</summary><Words text={JSON.stringify(data, null, 2).slice(0, 262_144)} from="JSON" /></details>}
        </>
      )}
    </Shown>
  );
}

function Attempts({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const [attempt, setAttempt] = useState(row.attempts);
  const [stream, setStream] = useState<"stdout" | "stderr">(row.state === "failed" ? "stderr" : "stdout");
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
    </>
  );
}

interface Tail {
  text: string;
  from: number;
  whole: number;
}

async function tail(run: string, attempt: string, stream: string, signal: AbortSignal): Promise<Tail> {
  try {
    const path = `runs/${encodeURIComponent(run)}/logs/${encodeURIComponent(attempt)}/${stream}`;
    const response = await ask(path, { headers: { range: `bytes=-${TAIL_BYTES}` }, signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const [, from = "0", whole = String(bytes.length)] = /bytes (\d+)-\d+\/(\d+)/.exec(response.headers.get("content-range") ?? "") ?? [];
    return { text: new TextDecoder().decode(bytes), from: Number(from), whole: Number(whole) };
  } catch (error) {
    // Nothing was written.
    if (error instanceof Refused && error.status === 416) return { text: "", from: 0, whole: 0 };
    throw error;
  }
}

const EVERY_MS = 1000;

function Log({ run, attempt, stream, isLive }: { run: string; attempt: string; stream: string; isLive: boolean }): JSX.Element {
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
