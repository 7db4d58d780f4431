/** The reasons for the state of a run: its end, the first failure with its output, and each decision with its rule. */

import { useState } from "preact/hooks";
import type { JSX } from "preact";

import { firstFailure } from "../model/failure.js";
import { moment, when } from "../model/words.js";
import { Rules, signalled } from "../parts/decision.js";
import { Shown, State } from "../parts/status.js";
import { Line, Output, Words } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at } from "../state/router.js";
import type { Event, Events, Run, StepRow } from "../wire/api.js";
import { tail } from "../wire/log.js";
import { json } from "../wire/request.js";
import { Code } from "./code.js";

/** Lines of an error output that are shown with it. */
const LINES = 40;

/** Decisions of so many events are asked for at once. */
const SPAN = 1_000;
const PAGE = 200;

export function Why({ run, rows }: { run: Run; rows: ReadonlyMap<string, StepRow> }): JSX.Element {
  const failure = firstFailure(rows);
  return (
    <div class="why-screen">
      {run.reason === null && <p>It is not over{run.step !== null && <>: it is at <Line text={run.step} /></>}.</p>}
      {failure !== undefined && <Failure run={run.run} row={failure} />}
      <Decisions run={run} rows={rows} />
    </div>
  );
}

interface Failed {
  error: string;
  stderr: string;
}

function Failure({ run, row }: { run: string; row: StepRow }): JSX.Element {
  const loaded = useLoaded<Failed>(
    async (signal) => {
      const [handoff, written] = await Promise.all([
        json<{ error?: string | null }>(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(row.place)}`, { signal }),
        row.attempts === 0 ? undefined : tail(run, `${row.place}.${row.attempts}`, "stderr", signal),
      ]);
      return { error: handoff.error ?? "", stderr: written?.text ?? "" };
    },
    [run, row.place, row.seq],
    () => false,
  );
  return (
    <section aria-label="the first failure">
      <h2>The first failure: <a href={at("r", run, "at", row.place)}><Line text={row.place} /></a></h2>
      <Shown of={loaded}>
        {({ error, stderr }) => (
          <>
            <Words text={error} from={`why ${row.place} failed`} />
            {stderr.trim() !== "" && <><p class="note">the end of stderr</p><div class="scroll" tabIndex={0} role="region" aria-label="stderr"><Output text={stderr.trimEnd().split("\n").slice(-LINES).join("\n")} /></div></>}
          </>
        )}
      </Shown>
    </section>
  );
}

function Decisions({ run, rows }: { run: Run; rows: ReadonlyMap<string, StepRow> }): JSX.Element {
  const [spans, setSpans] = useState(1);
  const from = Math.max(0, run.events - spans * SPAN);
  const loaded = useLoaded<Event[]>(
    async (signal) => {
      const all: Event[] = [];
      for (let after: number | null = from - 1; after !== null; ) {
        const page: Events = await json(`runs/${encodeURIComponent(run.run)}/why?limit=${PAGE}${after < 0 ? "" : `&after=${after}`}`, { signal });
        all.push(...page.events);
        after = page.next;
      }
      return all;
    },
    [run.run, run.events, from],
    () => false,
  );
  return (
    <section aria-label="decisions">
      <h2>What decided</h2>
      <Shown of={loaded}>
        {(events) => (
          <>
            {from > 0 && <p><button onClick={() => setSpans(spans * 4)}>Show earlier ones</button></p>}
            {events.length === 0 && <p class="empty">Nothing was decided yet.</p>}
            <ol class="decisions">{events.map((event) => <Decision key={event.seq} event={event} run={run.run} rows={rows} />)}</ol>
          </>
        )}
      </Shown>
    </section>
  );
}

type Members = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));
const members = (value: unknown): Members => (typeof value === "object" && value !== null ? (value as Members) : {});

/** The name of a visit, as commands have it. */
function placeOf(visit: unknown): string {
  const { scope, step, visit: count } = members(visit);
  return [text(scope), text(step), text(count)].filter((part) => part !== "").join(".");
}

/** The way of a decision, in the words of `envoi why`. */
function course(found: unknown): string {
  if (typeof found === "string") return { gathered: "done", complete: "the end", hold: "waits for a person", stop: "stops" }[found] ?? found;
  const [[kind, value] = ["", ""]] = Object.entries(members(found));
  if (kind === "enter") return `on to ${text(value)}`;
  if (kind === "round") return `the next round, from ${text(value)}`;
  if (kind === "loop_back") return `back to ${text(value)}`;
  if (kind === "done") return { passed: "done", skipped: "not to be done", taken: "done in another run", failed: "failed" }[text(value)] ?? text(value);
  return `${kind} ${text(value)}`;
}

function Decision({ event: { event, at: happened }, run, rows }: { event: Event; run: string; rows: ReadonlyMap<string, StepRow> }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const found = event as unknown as Members;
  const { type } = event;
  const place = type === "attempt_settled" ? text(found["attempt"]) : placeOf(found["visit"]);
  const visit = type === "attempt_settled" ? place.replace(/\.\d+$/, "") : place;
  const link = visit === "" ? null : rows.has(visit) ? <a href={at("r", run, "at", visit)}><Line text={place} /></a> : <Line text={place} />;
  if (type === "routed") {
    return (
      <li>
        {link} <Line text={signalled(found["signal"])} />; then: {course(found["course"])}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>the rules, and what they read</summary>
          {open && <><Rules audit={found["audit"]} /><Read run={run} place={visit} /></>}
        </details>
      </li>
    );
  }
  if (type === "attempt_settled") {
    const { code, message } = members(found["error"]);
    return found["ok"] === true ? null : <li>{link} <State of="failed" /> <Code code={text(code)} /> <Line text={text(message)} /></li>;
  }
  const by = text(members(found["by"])["actor"]);
  const why = text(found["why"]) || text(found["reason"]) || text(found["question"]);
  return <li>{link} {type.replaceAll("_", " ")}{by !== "" && <> by <Line text={by} /></>}{type === "timer_set" && <>: tried again {when(text(found["due"]))}</>}{why !== "" && <>: <Line text={why} /></>} <span class="note">{moment(happened)}</span></li>;
}

/** The text that was read: what the visit said. */
function Read({ run, place }: { run: string; place: string }): JSX.Element {
  const loaded = useLoaded<{ summary?: string }>((signal) => json(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(place)}`, { signal }), [run, place], () => false);
  return <Shown of={loaded}>{({ summary = "" }) => <Words text={summary} from={summary.length >= 2000 ? "what was read, shortened" : "what was read"} />}</Shown>;
}
