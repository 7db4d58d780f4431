/** Runs, newest first, by state, flow, words and age. */

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import type { Run, Runs } from "./api.js";
import { Line } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State, now, titled } from "./parts.js";
import { at, place, replace } from "./router.js";
import { duration, moment, short } from "./words.js";
import { json } from "./wire.js";

const PAGE = 50;
const STATES = ["running", "waiting", "failed", "exhausted", "cancelled", "succeeded"] as const;

/** The state of a run in a word: what keeps it from going on comes first. */
export const stateOf = (run: Run): string => {
  if (run.set_aside !== null) return "set_aside";
  if (run.status === "running" && run.activity === "stopped") return "stopped";
  return run.in_doubt ? "in_doubt" : run.status;
};

export function RunsScreen(): JSX.Element {
  const { query } = place.value;
  const [pages, setPages] = useState(1);
  const asked = ["status", "flow", "q"].map((name) => [name, query.get(name) ?? ""] as const).filter(([, value]) => value !== "");
  const key = JSON.stringify(asked);
  useEffect(() => setPages(1), [key]);
  const loaded = useLoaded<Runs>(
    async (signal) => {
      const all: Run[] = [];
      let next: string | null = null;
      for (let page = 0; page < pages; page += 1) {
        const params = new URLSearchParams([...asked.map(([name, value]) => [name, value]), ["limit", String(PAGE)], ...(next === null ? [] : [["cursor", next]])]);
        const found: Runs = await json(`runs?${params}`, { signal });
        all.push(...found.runs);
        next = found.next;
        if (next === null) break;
      }
      return { runs: all, next };
    },
    [key, pages],
    () => true,
  );
  titled("Runs");
  const set = (name: string, value: string): void => {
    const params = new URLSearchParams(query);
    if (value === "") params.delete(name);
    else params.set(name, value);
    replace(`#/runs${params.size > 0 ? `?${params}` : ""}`);
  };
  return (
    <section class="page wide">
      <h1>Runs</h1>
      <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>State <select value={query.get("status") ?? ""} onChange={(event) => set("status", event.currentTarget.value)}>
          <option value="">all</option>
          {STATES.map((state) => <option key={state}>{state}</option>)}
        </select></label>
        <label>Words <input id="filter" type="search" value={query.get("q") ?? ""} onChange={(event) => set("q", event.currentTarget.value)} placeholder="flow, step, person, reason" /></label>
        {query.get("flow") !== null && <button class="link" onClick={() => set("flow", "")}>flow {query.get("flow")} ✕</button>}
      </form>
      <Shown of={loaded}>
        {(found) =>
          found.runs.length === 0 ? (
            <p class="empty">{asked.length === 0 ? <>There is no run yet. <code>envoi run FLOW</code> starts one.</> : <>No run is like that. <a href="#/runs">Show all</a></>}</p>
          ) : (
            <>
              <ul class="rows">{found.runs.map((run) => <Row key={run.run} run={run} />)}</ul>
              {found.next !== null && <button onClick={() => setPages(pages + 1)}>Show more</button>}
            </>
          )
        }
      </Shown>
    </section>
  );
}

function Row({ run }: { run: Run }): JSX.Element {
  const isOver = run.terminal_reason !== null;
  const took = Date.parse(isOver ? run.updated_at : new Date(now.value).toISOString()) - Date.parse(run.started_at);
  return (
    <li>
      <a class="row" href={at("r", run.run)}>
        <State of={stateOf(run)} />
        <b><Line text={run.flow} /></b>
        <span class="why"><Line text={run.set_aside?.reason ?? run.reason ?? (run.step === null ? "" : `at ${run.step}`)} /></span>
        {run.open_questions > 0 && <span class="ask">{run.open_questions === 1 ? "asks" : `${run.open_questions} questions`}</span>}
        {run.forked_from !== null && <span class="note">fork</span>}
        <span class="note">{moment(run.started_at)}</span>
        <span class="note">{duration(Math.max(0, took))}</span>
        <code class="note">{short(run.run)}</code>
      </a>
    </li>
  );
}
