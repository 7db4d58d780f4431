/** One run: its sentence, its steps as a tree, and what can be done. */

import { useMemo } from "preact/hooks";
import type { JSX } from "preact";

import type { FlowShape, Run, RunLedger, StepRow, Steps } from "./api.js";
import { Actions } from "./actions.js";
import { useRunAloud } from "./aloud.js";
import { Cost, dollars, unknownIn } from "./cost.js";
import { Drawing, countsOf } from "./drawing.js";
import { EventsView } from "./events.js";
import { ChangedFilesView } from "./files.js";
import { RunTexts } from "./flows.js";
import { Line } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State, now, titled } from "./parts.js";
import { PlaceView } from "./place.js";
import { at } from "./router.js";
import { Standing, stateNow } from "./standing.js";
import { Tree } from "./steps.js";
import { taken, treeOf } from "./tree.js";
import { duration, moment, plural, since } from "./words.js";
import { Refused, json } from "./wire.js";
import { Why } from "./why.js";

interface Look {
  run: Run;
  shape: FlowShape;
  ledger: RunLedger;
  rows: Map<string, StepRow>;
  newest: number;
  /** Whether all rows are there. */
  isWhole: boolean;
}

/** All of a run. The first look at one shows what there is while the rest of its rows arrives: it may have very many. */
async function look(id: string, signal: AbortSignal, before: Look | undefined, show: (part: Look) => void): Promise<Look> {
  const path = `runs/${encodeURIComponent(id)}`;
  const [run, ledger] = await Promise.all([json<Run>(path, { signal }), json<RunLedger>(`${path}/ledger`, { signal })]);
  const isOther = before === undefined || before.run.flow_digest !== run.flow_digest;
  const shape = isOther ? await json<FlowShape>(`${path}/shape`, { signal }) : before.shape;
  let rows = before?.rows ?? new Map<string, StepRow>();
  let newest = before?.newest ?? 0;
  for (let after: number | null | undefined = before?.newest; after !== null; ) {
    const page: Steps = await json(`${path}/steps?limit=2000${after === undefined ? "" : `&after=${after}`}`, { signal });
    rows = taken(rows, page.steps);
    [after, newest] = [page.next, page.newest];
    if (before === undefined && after !== null) show({ run, shape, ledger, rows, newest, isWhole: false });
  }
  return { run, shape, ledger, rows, newest, isWhole: true };
}

/** What of a run is shown. */
export const PARTS = ["steps", "why", "files", "cost", "map", "events"] as const;
export type Part = (typeof PARTS)[number];

export function RunScreen({ id, part, chosen }: { id: string; part: Part; chosen: string | undefined }): JSX.Element {
  const loaded = useLoaded<Look>((signal, before, show) => look(id, signal, before, show), [id], (change) => change.run === id);
  if (loaded.error instanceof Refused && loaded.error.status === 404) {
    return <section class="page"><h1>No such run</h1><p>It is not there, or it is not yours. <a href="#/runs">All runs</a></p></section>;
  }
  return <section class="page wide run"><Shown of={loaded} title="Run">{(found) => <Whole look={found} part={part} chosen={chosen} again={loaded.again} />}</Shown></section>;
}

function Whole({ look, part, chosen, again }: { look: Look; part: Part; chosen: string | undefined; again: () => void }): JSX.Element {
  const { run, shape, ledger, rows, isWhole } = look;
  titled(`${run.flow} · ${run.status}`);
  useRunAloud(run, rows, isWhole);
  const nodes = useMemo(() => (isWhole ? treeOf(rows, shape) : []), [rows, shape, isWhole]);
  return (
    <>
      <Head look={look} again={again} />
      <p class="facts tabs">
        {PARTS.map((each) => <a key={each} href={each === "steps" ? at("r", run.run) : at("r", run.run, each)} aria-current={each === part ? "page" : undefined}>{each}</a>)}
      </p>
      {!isWhole && ["steps", "why", "map"].includes(part) && <p class="note" role="status">{`Reading the steps: ${rows.size} so far …`}</p>}
      {isWhole && part === "why" && <Why run={run} rows={rows} />}
      {part === "files" && <ChangedFilesView run={run.run} />}
      {part === "cost" && <Cost ledger={ledger} flow={run.flow_digest} nodes={nodes} />}
      {isWhole && part === "map" && <><Drawing shape={shape} counts={countsOf(rows)} lineAt={(file, line) => `${at("r", run.run, "map")}?${new URLSearchParams({ ...(file === null ? {} : { file }), line: String(line) })}`} /><RunTexts key={run.flow_digest} run={run.run} /></>}
      {part === "events" && <EventsView run={run.run} newest={look.newest} />}
      {isWhole && part === "steps" && (
        <div class={`split ${chosen === undefined ? "" : "has-place"}`}>
          <Tree nodes={nodes} run={run.run} account={run.waits_for?.account} chosen={chosen} />
          {chosen !== undefined && <PlaceView key={chosen} run={run.run} place={chosen} rows={rows} forkedFrom={run.forked_from} />}
        </div>
      )}
    </>
  );
}

function Head({ look: { run, shape, ledger, rows, isWhole }, again }: { look: Look; again: () => void }): JSX.Element {
  return (
    <header class="head">
      <h1><Line text={shape.title ?? run.flow} /></h1>
      <p class="facts">
        <State of={stateNow(run, rows)} />
        {run.terminal_reason === null ? <span>for {since(run.started_at, now.value)}</span> : <span>after {duration(Date.parse(run.updated_at) - Date.parse(run.started_at))}</span>}
        <span>started {moment(run.started_at)} by <Line text={run.actor} /></span>
        <span>{dollars(ledger.used.cost_usd, ledger.limits.cost_usd, unknownIn(ledger))}</span>
        <span>{plural(ledger.used.agent_hops, "attempt")}{ledger.limits.agent_hops !== null && ` of ${ledger.limits.agent_hops}`}</span>
        {run.part !== null && <span>a part of its flow</span>}
        <a href={at("flows", run.flow_digest)}><Line text={run.flow} /></a>
      </p>
      <p class="note digest"><code>{run.run}</code>{run.forked_from !== null && <> forked from <a href={at("r", run.forked_from)}>{run.forked_from}</a></>}</p>
      <Standing run={run} rows={rows} />
      {isWhole && <Actions {...{ run, shape, ledger, rows, again }} />}
    </header>
  );
}
