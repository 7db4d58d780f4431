/** One run: its sentence, its steps as a tree, and what can be done. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import type { FlowShape, Run, RunLedger, StepRow, Steps } from "./api.js";
import { Actions } from "./actions.js";
import { Cost } from "./cost.js";
import { Drawing, countsOf } from "./drawing.js";
import { Line, Words } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State, now, titled } from "./parts.js";
import { PlaceView } from "./place.js";
import { at, go } from "./router.js";
import { every, flat, isBad, opens, taken, treeOf, type Node } from "./tree.js";
import { duration, moment, plural, since } from "./words.js";
import { Refused, json } from "./wire.js";
import { stateOf } from "./runs.js";
import { firstFailure, Why } from "./why.js";

interface Look {
  run: Run;
  shape: FlowShape;
  ledger: RunLedger;
  rows: Map<string, StepRow>;
  newest: number;
}

async function look(id: string, signal: AbortSignal, before: Look | undefined): Promise<Look> {
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
  }
  return { run, shape, ledger, rows, newest };
}

/** What of a run is shown. */
export type Part = "steps" | "why" | "cost" | "map";

export function RunScreen({ id, part, chosen }: { id: string; part: Part; chosen: string | undefined }): JSX.Element {
  const loaded = useLoaded<Look>((signal, before) => look(id, signal, before), [id], (change) => change.run === id);
  if (loaded.error instanceof Refused && loaded.error.status === 404) {
    return <section class="page"><h1>No such run</h1><p>It is not there, or it is not yours. <a href="#/runs">All runs</a></p></section>;
  }
  return <section class="page wide run"><Shown of={loaded}>{(found) => <Whole look={found} part={part} chosen={chosen} again={loaded.again} />}</Shown></section>;
}

function Whole({ look, part, chosen, again }: { look: Look; part: Part; chosen: string | undefined; again: () => void }): JSX.Element {
  const { run, shape, ledger, rows } = look;
  titled(`${run.flow} · ${run.status}`);
  const nodes = useMemo(() => treeOf(rows, shape), [rows, shape]);
  return (
    <>
      <Head look={look} again={again} />
      <p class="facts tabs">
        {(["steps", "why", "cost", "map"] as const).map((each) => <a key={each} href={each === "steps" ? at("r", run.run) : at("r", run.run, each)} aria-current={each === part ? "page" : undefined}>{each}</a>)}
      </p>
      {part === "why" && <Why run={run} rows={rows} />}
      {part === "cost" && <Cost ledger={ledger} />}
      {part === "map" && <Drawing shape={shape} counts={countsOf(rows)} />}
      {part === "steps" && (
        <div class={`split ${chosen === undefined ? "" : "has-place"}`}>
          <Tree nodes={nodes} run={run.run} chosen={chosen} />
          {chosen !== undefined && <PlaceView key={chosen} run={run.run} place={chosen} rows={rows} forkedFrom={run.forked_from} />}
        </div>
      )}
    </>
  );
}

function Head({ look: { run, shape, ledger, rows }, again }: { look: Look; again: () => void }): JSX.Element {
  const failed = firstFailure(rows);
  const isBadEnd = run.status === "failed" || run.status === "exhausted";
  const unknown = ledger.unpriced_calls + ledger.attempts_in_doubt;
  return (
    <header class="head">
      <h1><Line text={shape.title ?? run.flow} /></h1>
      <p class="facts">
        <State of={stateOf(run)} />
        {run.terminal_reason === null ? <span>for {since(run.started_at, now.value)}</span> : <span>after {duration(Date.parse(run.updated_at) - Date.parse(run.started_at))}</span>}
        <span>started {moment(run.started_at)} by <Line text={run.actor} /></span>
        <span>{unknown > 0 ? "≥ " : ""}${ledger.used.cost_usd}{ledger.limits.cost_usd !== null && ` of $${ledger.limits.cost_usd}`}{unknown > 0 && ` · ${unknown} unknown`}</span>
        <span>{plural(ledger.used.agent_hops, "attempt")}{ledger.limits.agent_hops !== null && ` of ${ledger.limits.agent_hops}`}</span>
      </p>
      <p class="note digest"><code>{run.run}</code>{run.forked_from !== null && <> forked from <a href={at("r", run.forked_from)}>{run.forked_from}</a></>}</p>
      {run.set_aside !== null && <div class="trouble"><p>Set aside ({run.set_aside.code}): <Line text={run.set_aside.reason} /></p></div>}
      {run.reason !== null && <Words text={run.reason} from={`${run.terminal_reason ?? run.status}`} />}
      {isBadEnd && failed !== undefined && <p>The first failure: <a href={at("r", run.run, "at", failed.place)}><Line text={failed.place} /></a> <Line text={failed.summary} /> · <a href={at("r", run.run, "why")}>why</a></p>}
      {run.open_questions > 0 && <p><a class="button" href="#/inbox">{plural(run.open_questions, "question")} to answer</a></p>}
      <Actions {...{ run, shape, ledger, rows, again }} />
    </header>
  );
}

/** Pixels of a row, and rows beyond the edge that are in the document too. */
const HEIGHT = 28;
const BEYOND = 12;

type Filter = "all" | "failed" | "open";

function Tree({ nodes, run, chosen }: { nodes: Node[]; run: string; chosen: string | undefined }): JSX.Element {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [filter, setFilter] = useState<Filter>("all");
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const isOpen = (node: Node): boolean => folds.get(node.place) ?? opens(node);
  const all = useMemo(() => every(nodes), [nodes]);
  const failed = all.filter(isBad);
  const open = all.filter((node) => node.row !== undefined && node.row.ended_at === null);
  const rows = filter === "all" ? flat(nodes, isOpen) : filter === "failed" ? failed : open;
  const at0 = Math.max(0, rows.findIndex((node) => node.place === (active ?? chosen)));
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setScroll({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => (observer.disconnect(), element.removeEventListener("scroll", measure));
  }, []);
  // A link opens all that is above the place.
  useEffect(() => {
    const node = all.find((each) => each.place === chosen);
    if (node?.row === undefined) return;
    const above = new Map(folds);
    for (let of = node.row.part_of; of !== null; of = all.find((each) => each.place === of)?.row?.part_of ?? null) above.set(of, true);
    setFolds(above);
  }, [chosen]);
  const fold = (node: Node, to: boolean): void => setFolds(new Map(folds).set(node.place, to));
  const move = (to: number): void => {
    const node = rows[Math.max(0, Math.min(rows.length - 1, to))];
    if (node === undefined) return;
    setActive(node.place);
    const top = rows.indexOf(node) * HEIGHT;
    const element = box.current;
    if (element === null) return;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = top + HEIGHT - element.clientHeight;
  };
  const choose = (node: Node): void => {
    if (node.row !== undefined) go(at("r", run, "at", node.place));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = rows[at0];
    const jump = (by: 1 | -1): void => {
      const bad = rows.map((each, nth) => (isBad(each) ? nth : -1)).filter((nth) => nth >= 0);
      const found = by === 1 ? bad.find((nth) => nth > at0) : bad.findLast((nth) => nth < at0);
      if (found !== undefined) move(found);
      // Failures that are folded away are listed by themselves.
      else if (failed.length > 0 && filter === "all") setFilter("failed");
    };
    const keys: Record<string, () => unknown> = {
      ArrowDown: () => move(at0 + 1),
      j: () => move(at0 + 1),
      ArrowUp: () => move(at0 - 1),
      k: () => move(at0 - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      PageDown: () => move(at0 + Math.floor(scroll.height / HEIGHT)),
      PageUp: () => move(at0 - Math.floor(scroll.height / HEIGHT)),
      ArrowRight: () => node !== undefined && node.parts.length > 0 && fold(node, true),
      ArrowLeft: () => node !== undefined && (isOpen(node) && node.parts.length > 0 ? fold(node, false) : move(rows.findIndex((each) => each.place === node.row?.part_of))),
      " ": () => node !== undefined && node.parts.length > 0 && fold(node, !isOpen(node)),
      Enter: () => node !== undefined && choose(node),
      e: () => jump(1),
      E: () => jump(-1),
    };
    const found = keys[event.key];
    if (found !== undefined) event.preventDefault(), found();
  };
  const first = Math.max(0, Math.floor(scroll.top / HEIGHT) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((scroll.top + scroll.height) / HEIGHT) + BEYOND);
  // The axis is that of the rows in view: in a whole run of a day each bar would be a point.
  const span = spanOf(rows.slice(Math.floor(scroll.top / HEIGHT), Math.ceil((scroll.top + scroll.height) / HEIGHT)));
  const choice = (which: Filter, label: string): JSX.Element => <button class={filter === which ? "chosen" : ""} aria-pressed={filter === which} onClick={() => setFilter(which)}>{label}</button>;
  return (
    <div class="tree">
      <p class="facts" role="group" aria-label="which steps are shown">
        {choice("all", `${all.length} rows`)}
        {choice("failed", `${failed.length} failed`)}
        {choice("open", `${open.length} not over`)}
      </p>
      <div ref={box} class="rowbox" role="treegrid" aria-label="steps" aria-rowcount={rows.length} tabIndex={0} onKeyDown={key} aria-activedescendant={rows[at0] && at0 >= first && at0 < last ? `row-${at0}` : undefined}>
        <div class="spacer" role="presentation" style={{ height: `${rows.length * HEIGHT}px` }}>
          {rows.slice(first, last).map((node, nth) => (
            <StepLine key={node.place} {...{ node, run, isOpen: isOpen(node), span, depth: filter === "all" ? node.level : 1, isWhole: filter !== "all" }} nth={first + nth} isChosen={node.place === chosen} isActive={first + nth === at0} fold={(to) => fold(node, to)} choose={() => (setActive(node.place), choose(node))} />
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="empty">{filter === "failed" ? "Nothing has failed." : "There is no step."}</p>}
    </div>
  );
}

/** From when to when, in milliseconds. */
type Span = readonly [from: number, to: number];

/** The end of what is not over is now. */
const endOf = (row: StepRow): number => (row.ended_at === null ? now.value : Date.parse(row.ended_at));

function spanOf(nodes: readonly Node[]): Span {
  const rows = nodes.flatMap(({ row }) => (row === undefined ? [] : [row]));
  if (rows.length === 0) return [0, 1];
  const from = Math.min(...rows.map((row) => Date.parse(row.started_at)));
  return [from, Math.max(from + 1, ...rows.map(endOf))];
}

/** When a visit was, among those in view. */
function Bar({ row, span: [from, to] }: { row: StepRow; span: Span }): JSX.Element {
  const part = (time: number): number => Math.min(1, Math.max(0, (time - from) / (to - from))) * 100;
  const [left, right] = [part(Date.parse(row.started_at)), part(endOf(row))];
  return <span class={`bar-of ${row.state} ${row.items === null ? "" : "whole"}`} style={{ left: `${left}%`, width: `${right - left}%` }} />;
}

interface LineProps {
  node: Node;
  span: Span;
  nth: number;
  run: string;
  depth: number;
  isOpen: boolean;
  isWhole: boolean;
  isChosen: boolean;
  isActive: boolean;
  fold: (to: boolean) => void;
  choose: () => void;
}

function StepLine({ node, span, nth, depth, isOpen, isWhole, isChosen, isActive, fold, choose }: LineProps): JSX.Element {
  const { row, shape, parts } = node;
  const took = row === undefined ? "" : row.took_ms !== null ? duration(row.took_ms) : row.state === "running" ? since(row.started_at, now.value) : "";
  const facts = [
    row !== undefined && row.visit > 1 && `visit ${row.visit}`,
    row !== undefined && row.attempts > 1 && `attempt ${row.attempts}`,
    row?.next_try_at != null && `next try ${moment(row.next_try_at)}`,
    row === undefined && shape?.for_each && "for each of a list",
    row === undefined && shape?.loop_to != null && `loops to ${shape.loop_to}`,
  ].filter(Boolean);
  return (
    <div id={`row-${nth}`} role="row" aria-level={depth} aria-rowindex={nth + 1} aria-expanded={parts.length > 0 && !isWhole ? isOpen : undefined} aria-selected={isChosen} class={`line ${isChosen ? "chosen" : ""} ${isActive ? "active" : ""}`} style={{ top: `${nth * HEIGHT}px` }} onClick={choose}>
      <span role="gridcell" class="name" style={{ paddingLeft: `${(depth - 1) * 16 + 4}px` }}>
        {parts.length > 0 && !isWhole ? (
          <span class="twist" aria-hidden="true" onClick={(event) => (event.stopPropagation(), fold(!isOpen))}>{isOpen ? "▾" : "▸"}</span>
        ) : <span class="twist" aria-hidden="true" />}
        <State of={row?.state ?? "not begun"} /> <b><Line text={isWhole ? node.place : node.name} /></b>
      </span>
      <span role="gridcell" class="note">{facts.join(" · ")}</span>
      <span role="gridcell" class="summary"><Line text={row?.summary ?? ""} /></span>
      <span role="gridcell" class="bar-cell" aria-label={row === undefined ? "not begun" : `began ${moment(row.started_at)}`}>{row !== undefined && <Bar row={row} span={span} />}</span>
      <span role="gridcell" class="note took">{row?.cost_usd != null && `$${row.cost_usd} `}{took}</span>
    </div>
  );
}
