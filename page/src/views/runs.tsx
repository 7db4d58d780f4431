/** Runs, newest first, by state, flow, words and age. */

import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";

import { partsOf, replaced } from "../model/list.js";
import { duration, moment, plural, short } from "../model/words.js";
import { Shown, now, titled } from "../parts/status.js";
import { Line, named } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at, place, replace } from "../state/router.js";
import type { Flows, Run, RunSoFar, Runs } from "../wire/api.js";
import { json } from "../wire/request.js";
import { may } from "../wire/session.js";
import { dollars } from "./cost.js";
import { RunState, inShort } from "./standing.js";

const PAGE = 50;
/** Runs that began at most so long ago. */
const AGES: Readonly<Record<string, [label: string, ms: number]>> = { hour: ["an hour", 3_600_000], day: ["a day", 86_400_000], week: ["a week", 7 * 86_400_000] };

const STATES = ["running", "waiting", "failed", "exhausted", "cancelled", "succeeded"] as const;

/** The obstacles of runs, by the words of the list. These are not counted: working runs are only shown. */
const BLOCKED: readonly [value: string, label: string, filter: readonly [name: string, value: string]][] = [
  ["in_doubt", "in doubt", ["in_doubt", "true"]],
  ["waiting_for_account", "waiting for an account", ["stands", "waiting_for_account"]],
  ["stopped", "stopped", ["stands", "stopped"]],
  ["running_without_an_engine", "running without an engine", ["stands", "running_without_an_engine"]],
  ["set_aside", "set aside", ["stands", "set_aside"]],
];

/** A filter of the address, as the server has it. */
function filterOf(name: string, value: string): readonly [name: string, value: string] {
  if (name === "since") return [name, new Date(Date.now() - (AGES[value]?.[1] ?? 0)).toISOString()];
  return (name === "status" ? BLOCKED.find(([state]) => state === value)?.[2] : undefined) ?? [name, value];
}

export function RunsScreen(): JSX.Element {
  const { query } = place.value;
  const asked = ["status", "flow", "q", "since"].map((name) => [name, query.get(name) ?? ""] as const).filter(([, value]) => value !== "");
  const key = JSON.stringify(asked);
  // Runs that have changed since the last look, and how many pages are wanted.
  const changed = useRef(new Set<string>());
  const wanted = useRef(1);
  useEffect(() => void ((wanted.current = 1), changed.current.clear()), [key]);
  const page = async (signal: AbortSignal, cursor: string | null | undefined): Promise<Runs> => {
    const filters = asked.map(([name, value]) => filterOf(name, value));
    return json(`runs?${new URLSearchParams([...filters.map((filter) => [...filter]), ["limit", String(PAGE)], ["so_far", "true"], ...(cursor == null ? [["counts", "true"]] : [["cursor", cursor]])])}`, { signal });
  };
  const loaded = useLoaded<Runs>(
    async (signal, before) => {
      const due = [...changed.current];
      changed.current.clear();
      let list = before;
      const isFurther = list !== undefined && list.next !== null && list.runs.length < wanted.current * PAGE;
      const parts = list === undefined ? undefined : due.length > 0 ? partsOf(list, due, PAGE) : isFurther ? [] : undefined;
      // Without a word of what has changed, something may have been missed.
      if (parts === undefined) list = undefined;
      else for (const part of parts) list = list && replaced(list, part * PAGE, await page(signal, part === 0 ? null : list.runs[part * PAGE - 1]?.run));
      list ??= await page(signal, null);
      while (list.next !== null && list.runs.length < wanted.current * PAGE) {
        const longer: Runs | undefined = replaced(list, list.runs.length, await page(signal, list.next));
        if (longer === undefined) break;
        list = longer;
      }
      return list;
    },
    [key],
    (change) => (changed.current.add(change.run), true),
  );
  const more = (): void => {
    const has = Math.ceil((loaded.value?.runs.length ?? 0) / PAGE);
    if (loaded.value === undefined || loaded.value.next === null || wanted.current > has) return;
    wanted.current = has + 1;
    loaded.again();
  };
  titled("Runs");
  // The registered flows, and those of shown runs: a run may be of a file that is not registered.
  const registered = useLoaded<Flows>((signal) => json("flows", { signal }), [], () => false);
  const flows = [...new Set([query.get("flow") ?? "", ...(registered.value?.flows ?? []).map(({ flow }) => flow), ...(loaded.value?.runs ?? []).map(({ flow }) => flow)])].filter((flow) => flow !== "").sort();
  const counts = (loaded.value?.counts ?? null) as Readonly<Record<string, number>> | null;
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
          <option value="">{counts === null ? "all" : `all (${Object.values(counts).reduce((sum, count) => sum + count, 0)})`}</option>
          {STATES.map((state) => <option key={state} value={state}>{counts === null ? state : `${state} (${counts[state] ?? 0})`}</option>)}
          {BLOCKED.map(([state, label]) => <option key={state} value={state}>{label}</option>)}
        </select></label>
        <label>Flow <select value={query.get("flow") ?? ""} onChange={(event) => set("flow", event.currentTarget.value)}>
          <option value="">any</option>
          {flows.map((flow) => <option key={flow} value={flow}>{named(flow)}</option>)}
        </select></label>
        <label>Began within <select value={query.get("since") ?? ""} onChange={(event) => set("since", event.currentTarget.value)}>
          <option value="">any time</option>
          {Object.entries(AGES).map(([name, [label]]) => <option key={name} value={name}>{label}</option>)}
        </select></label>
        <label>Words <input id="filter" type="search" value={query.get("q") ?? ""} onChange={(event) => set("q", event.currentTarget.value)} placeholder="flow, step, person, reason" /></label>
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
              {found.next !== null && <More count={found.runs.length} more={more} />}
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** The next page comes when its button comes into sight; the button is for the keyboard. */
function More({ count, more }: { count: number; more: () => void }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (button.current === null) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && more());
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [count]);
  return <button ref={button} onClick={more}>Show more</button>;
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

/** Its own cost; nothing if no step has reported a cost, and none is unknown. */
const costOf = ({ cost_usd: cost, unknown_costs: unknown }: RunSoFar): string => (Number(cost) === 0 && unknown === 0 ? "" : dollars(cost, null, unknown));

function Row({ run, soFar }: { run: Run; soFar: RunSoFar | undefined }): JSX.Element {
  const isOver = run.terminal_reason !== null;
  const took = Date.parse(isOver ? run.updated_at : new Date(now.value).toISOString()) - Date.parse(run.started_at);
  return (
    <a class="row" href={at("r", run.run)}>
      <RunState run={run} soFar={soFar} />
      <b><Line text={run.flow} />{run.part !== null && " (part)"}</b>
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
