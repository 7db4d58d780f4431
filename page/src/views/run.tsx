/** A run: its sentence, its steps as a tree, and the possible actions. */

import { useMemo } from "preact/hooks";
import type { JSX } from "preact";

import { loopsIn } from "../model/pairs.js";
import { taken, treeOf, type Node } from "../model/tree.js";
import { duration, moment, plural, since } from "../model/words.js";
import { useRunAnnouncements } from "../parts/announcements.js";
import { Drawing, countsOf } from "../parts/drawing.js";
import { ChangedFilesView } from "../parts/files.js";
import { Shown, now, titled } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at } from "../state/router.js";
import type { FlowShape, Run, RunLedger, StepRow, Steps } from "../wire/api.js";
import { Refused, json } from "../wire/request.js";
import { Actions } from "./actions.js";
import { Between } from "./between.js";
import { Cost, dollars, unknownIn } from "./cost.js";
import { EventsView } from "./events.js";
import { RunTexts } from "./flows.js";
import { PlaceView } from "./place.js";
import { RunState, Standing, nextTryIn } from "./standing.js";
import { Tree } from "./steps.js";
import { Why } from "./why.js";

interface Look {
  run: Run;
  shape: FlowShape;
  /** Undefined until it is there: it is counted from all events of the run. */
  ledger: RunLedger | undefined;
  rows: Map<string, StepRow>;
  newest: number;
  /** Whether all rows are there. */
  isWhole: boolean;
}

/** All of a run, asked for at once. The first look at one shows what there is while the rest arrives: it may have very many rows. */
async function look(id: string, signal: AbortSignal, before: Look | undefined, show: (part: Look) => void): Promise<Look> {
  const get = <T,>(part: string): Promise<T> => json<T>(`runs/${encodeURIComponent(id)}${part}`, { signal });
  const stepsAfter = (after: number | undefined): Promise<Steps> => get(`/steps?limit=2000${after === undefined ? "" : `&after=${after}`}`);
  const [ledgerToCome, stepsToCome] = [get<RunLedger>("/ledger"), stepsAfter(before?.newest)];
  // If the run itself is refused, these are not awaited.
  for (const each of [ledgerToCome, stepsToCome]) each.catch(() => undefined);
  const shapeOf = (): Promise<FlowShape> => get("/shape");
  const [run, first] = await Promise.all([get<Run>(""), before === undefined ? shapeOf() : undefined]);
  const shape = first ?? (before === undefined || before.run.flow_digest !== run.flow_digest ? await shapeOf() : before.shape);
  let [rows, newest, ledger] = [before?.rows ?? new Map<string, StepRow>(), before?.newest ?? 0, before?.ledger];
  const part = (): Look => ({ run, shape, ledger, rows, newest, isWhole: false });
  if (before === undefined) show(part());
  for (let page = await stepsToCome; ; page = await stepsAfter(page.next ?? undefined)) {
    [rows, newest, ledger] = [taken(rows, page.steps), page.newest, await ledgerToCome];
    if (page.next === null) return { ...part(), isWhole: true };
    if (before === undefined) show(part());
  }
}

/** The parts of a run that are shown. */
export const PARTS = ["steps", "why", "files", "cost", "map", "compare", "events"] as const;
export type Part = (typeof PARTS)[number];

/** Whether there are two of something that could be compared. */
const isComparable = (run: Run, nodes: readonly Node[]): boolean => run.forked_from !== null || loopsIn(nodes).length > 0;

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
  useRunAnnouncements(run, rows, isWhole);
  const nodes = useMemo(() => (isWhole ? treeOf(rows, shape) : []), [rows, shape, isWhole]);
  return (
    <>
      <Head look={look} again={again} />
      <p class="facts tabs">
        {PARTS.filter((each) => each !== "compare" || each === part || isComparable(run, nodes)).map((each) => <a key={each} href={each === "steps" ? at("r", run.run) : at("r", run.run, each)} aria-current={each === part ? "page" : undefined}>{each}</a>)}
      </p>
      {((!isWhole && ["steps", "why", "map", "compare"].includes(part)) || (part === "cost" && ledger === undefined)) && <p class="note" role="status">{rows.size === 0 ? "Reading the steps …" : `Reading the steps: ${rows.size} so far …`}</p>}
      {isWhole && part === "why" && <Why run={run} rows={rows} />}
      {part === "files" && <ChangedFilesView run={run.run} />}
      {part === "cost" && ledger !== undefined && <Cost ledger={ledger} flow={run.flow_digest} nodes={nodes} />}
      {isWhole && part === "map" && <><Drawing shape={shape} counts={countsOf(rows)} lineAt={(file, line) => `${at("r", run.run, "map")}?${new URLSearchParams({ ...(file === null ? {} : { file }), line: String(line) })}`} /><RunTexts key={run.flow_digest} run={run.run} /></>}
      {isWhole && part === "compare" && <Between run={run} rows={rows} nodes={nodes} />}
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
        <RunState run={run} soFar={nextTryIn(rows)} />
        {run.terminal_reason === null ? <span>for {since(run.started_at, now.value)}</span> : <span>after {duration(Date.parse(run.updated_at) - Date.parse(run.started_at))}</span>}
        <span>started {moment(run.started_at)} by <Line text={run.actor} /></span>
        {ledger !== undefined && <span>{dollars(ledger.used.cost_usd, ledger.limits.cost_usd, unknownIn(ledger))}</span>}
        {ledger !== undefined && <span>{plural(ledger.used.agent_hops, "attempt")}{ledger.limits.agent_hops !== null && ` of ${ledger.limits.agent_hops}`}</span>}
        {run.part !== null && <span>a part of its flow</span>}
        <a href={at("flows", run.flow_digest)}><Line text={run.flow} /></a>
      </p>
      <p class="note digest"><code>{run.run}</code>{run.forked_from !== null && <> forked from <a href={at("r", run.forked_from)}>{run.forked_from}</a></>}</p>
      <Standing run={run} rows={rows} isWhole={isWhole} />
      {isWhole && ledger !== undefined && <Actions {...{ run, shape, ledger, rows, again }} />}
    </header>
  );
}
