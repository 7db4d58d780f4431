/** Runs, newest first, by state, flow, words and age. */

import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import type { Run, RunSoFar, Runs } from "./api.js";
import { dollars } from "./cost.js";
import { Line } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State, now, titled } from "./parts.js";
import { at, place, replace } from "./router.js";
import { may } from "./session.js";
import { inShort, stateInList } from "./standing.js";
import { duration, moment, plural, short } from "./words.js";
import { json } from "./wire.js";

const PAGE = 50;
/** Runs that began at most so long ago. */
const AGES: Readonly<Record<string, [label: string, ms: number]>> = { hour: ["an hour", 3_600_000], day: ["a day", 86_400_000], week: ["a week", 7 * 86_400_000] };

const STATES = ["running", "waiting", "failed", "exhausted", "cancelled", "succeeded"] as const;

export function RunsScreen(): JSX.Element {
  const { query } = place.value;
  const [pages, setPages] = useState(1);
  const asked = ["status", "flow", "q", "since"].map((name) => [name, query.get(name) ?? ""] as const).filter(([, value]) => value !== "");
  const key = JSON.stringify(asked);
  useEffect(() => setPages(1), [key]);
  const loaded = useLoaded<Runs>(
    async (signal) => {
      const all: Run[] = [];
      const soFar: RunSoFar[] = [];
      let next: string | null = null;
      for (let page = 0; page < pages; page += 1) {
        const params = new URLSearchParams([...asked.map(([name, value]) => [name, name === "since" ? new Date(Date.now() - (AGES[value]?.[1] ?? 0)).toISOString() : value]), ["limit", String(PAGE)], ["so_far", "true"], ...(next === null ? [] : [["cursor", next]])]);
        const found: Runs = await json(`runs?${params}`, { signal });
        all.push(...found.runs);
        soFar.push(...found.so_far);
        next = found.next;
        if (next === null) break;
      }
      return { runs: all, next, so_far: soFar };
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
        <label>Began within <select value={query.get("since") ?? ""} onChange={(event) => set("since", event.currentTarget.value)}>
          <option value="">any time</option>
          {Object.entries(AGES).map(([name, [label]]) => <option key={name} value={name}>{label}</option>)}
        </select></label>
        <label>Words <input id="filter" type="search" value={query.get("q") ?? ""} onChange={(event) => set("q", event.currentTarget.value)} placeholder="flow, step, person, reason" /></label>
        {query.get("flow") !== null && <button type="button" class="link" onClick={() => set("flow", "")}>flow <Line text={query.get("flow") ?? ""} /> ✕</button>}
        <button type="button" class={`small ${query.get("status") === "failed" ? "chosen" : ""}`} aria-pressed={query.get("status") === "failed"} onClick={() => set("status", query.get("status") === "failed" ? "" : "failed")}>only failed</button>
      </form>
      <Shown of={loaded}>
        {(found) =>
          found.runs.length === 0 ? (
            <p class="empty">{asked.length === 0 ? <>There is no run yet. <code>envoi run FLOW</code> starts one{may("run") && <>, or <a href="#/flows">choose a flow</a></>}.</> : <>No run is like that: <Line text={asked.map(([name, value]) => `${{ status: "state", flow: "flow", q: "words", since: "began within a" }[name]} ${value}`).join(", ")} />. <a href="#/runs">Show all</a></>}</p>
          ) : (
            <>
              <p class="row heads" aria-hidden="true"><span>state</span><span>flow</span><span>why it ended, or what it is at</span><span>steps</span><span class="amount">cost</span><span>began</span><span class="took">took</span><span>run</span></p>
              <ul class="rows runs">{families(found.runs).map(({ run, forks }) => <Family key={run.run} run={run} forks={forks} soFar={new Map(found.so_far.map((each) => [each.run, each]))} />)}</ul>
              {found.next !== null && <button onClick={() => setPages(pages + 1)}>Show more</button>}
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** Forks stand under the run that they come from, if that is shown too. */
function families(runs: readonly Run[]): { run: Run; forks: Run[] }[] {
  const shown = new Set(runs.map(({ run }) => run));
  const isUnder = ({ root, run }: Run): boolean => root !== null && root !== run && shown.has(root);
  return runs.filter((run) => !isUnder(run)).map((run) => ({ run, forks: runs.filter((each) => isUnder(each) && each.root === run.run) }));
}

function Family({ run, forks, soFar }: { run: Run; forks: readonly Run[]; soFar: ReadonlyMap<string, RunSoFar> }): JSX.Element {
  return (
    <li>
      <Row run={run} soFar={soFar.get(run.run)} />
      {forks.length > 0 && (
        <details class="older" open={forks.some((fork) => fork.terminal_reason === null)}>
          <summary class="note">{plural(forks.length, "fork")} of it, the newest {forks[0]?.status}</summary>
          <ul class="rows runs">{forks.map((fork) => <li key={fork.run}><Row run={fork} soFar={soFar.get(fork.run)} /></li>)}</ul>
        </details>
      )}
    </li>
  );
}

/** What it cost itself; nothing where no step has told of a cost, and none is unknown. */
const costOf = ({ cost_usd: cost, unknown_costs: unknown }: RunSoFar): string => (Number(cost) === 0 && unknown === 0 ? "" : dollars(cost, null, unknown));

function Row({ run, soFar }: { run: Run; soFar: RunSoFar | undefined }): JSX.Element {
  const isOver = run.terminal_reason !== null;
  const took = Date.parse(isOver ? run.updated_at : new Date(now.value).toISOString()) - Date.parse(run.started_at);
  return (
    <a class="row" href={at("r", run.run)}>
      <State of={stateInList(run, soFar)} />
      <b><Line text={run.flow} /></b>
      <span class="why">
        {run.open_questions > 0 && <b class="ask">{run.open_questions === 1 ? "asks " : `${run.open_questions} questions `}</b>}
        {run.forked_from !== null && <span class="note">fork </span>}
        <Line text={inShort(run, soFar)} />
      </span>
      <span class="note progress">{soFar !== undefined && `${soFar.steps_done} of ${plural(soFar.steps, "step")}`}</span>
      <span class="note amount">{soFar !== undefined && costOf(soFar)}</span>
      <span class="note when">{moment(run.started_at)}</span>
      <span class="note took">{duration(Math.max(0, took))}</span>
      <code class="note">{short(run.run)}</code>
    </a>
  );
}
