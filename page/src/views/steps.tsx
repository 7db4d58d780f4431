/** The steps of a run: a tree of rows with a bar for each. Only the rows in view are in the document. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import { axisOf, type Axis } from "../model/axis.js";
import { inTwo } from "../model/names.js";
import { above, every, flat, isBad, movedBy, opens, type Items, type Node } from "../model/tree.js";
import { clock, duration, moment, plural, since } from "../model/words.js";
import { barOf, workOf, worked, type Reason } from "../model/worked.js";
import { State, now, signOf } from "../parts/status.js";
import { Line, named } from "../parts/untrusted.js";
import { at, go, place, setQuery } from "../state/router.js";
import type { StepRow } from "../wire/api.js";

/** Pixels of a row, and rows beyond the edge that are in the document too. */
const HEIGHT = 28;
const BEYOND = 12;

/** So few rows need no filter. */
const FEW = 10;

const FILTERS = ["all", "failed", "open"] as const;
type Filter = (typeof FILTERS)[number];

interface Props {
  nodes: Node[];
  run: string;
  /** The account that it waits for. */
  account: string | undefined;
  chosen: string | undefined;
}

export function Tree({ nodes, run, account, chosen }: Props): JSX.Element {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const { query } = place.value;
  const [filter, setOwnFilter] = useState<Filter>(FILTERS.find((each) => each === query.get("show")) ?? "all");
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const isOpen = (node: Node): boolean => folds.get(node.place) ?? opens(node);
  const all = useMemo(() => every(nodes), [nodes]);
  // Not with each frame while one scrolls: there may be very many.
  const { visits, failed, open } = useMemo(() => ({ visits: all.filter((node) => node.group === undefined), failed: all.filter(isBad), open: all.filter((node) => node.row !== undefined && node.row.ended_at === null) }), [all]);
  const [words, setOwnWords] = useState(query.get("words") ?? "");
  // A link leads to what is shown now.
  const setFilter = (to: Filter): void => (setOwnFilter(to), setQuery("show", to === "all" ? "" : to));
  const setWords = (to: string): void => (setOwnWords(to), setQuery("words", to));
  const wanted = words.trim().toLowerCase();
  // Filtered rows are shown alone, without the rows above them.
  const isWhole = filter !== "all" || wanted !== "";
  const rows = useMemo(() => {
    if (!isWhole) return flat(nodes, isOpen);
    const chosen = filter === "failed" ? failed : filter === "open" ? open : visits;
    return wanted === "" ? chosen : chosen.filter(({ place, row }) => [place, row?.value, row?.summary].some((text) => text?.toLowerCase().includes(wanted)));
  }, [nodes, filter, wanted, folds]);
  // While the run goes on, rows come and go above those in view: these stay where they are seen.
  const shown = useRef({ nodes, rows });
  useLayoutEffect(() => {
    const before = shown.current;
    shown.current = { nodes, rows };
    const element = box.current;
    if (element === null || element.scrollTop === 0 || before.nodes === nodes) return;
    const [from, to] = [Math.ceil(element.scrollTop / HEIGHT), Math.floor((element.scrollTop + element.clientHeight) / HEIGHT)];
    const moved = movedBy(before.rows, from, to, rows);
    if (moved === 0) return;
    element.scrollTop += moved * HEIGHT;
    setScroll({ top: element.scrollTop, height: element.clientHeight });
  }, [rows]);
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
  // A person who comes from a list by keyboard goes on with it. Another element that has the focus keeps it; on a phone it is not needed.
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia("(pointer: fine)").matches) box.current?.focus({ preventScroll: true });
  }, []);
  const show = (top: number): void => {
    const element = box.current;
    if (element === null) return;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = top + HEIGHT - element.clientHeight;
  };
  /** Unfolds all that is above a place, and goes there. */
  const reach = (place: string, isOpened = false): void => {
    const opened = new Map(folds);
    if (isOpened) opened.set(place, true);
    for (const each of above(nodes, place) ?? []) opened.set(each, true);
    setFolds(opened);
    setActive(place);
    const nth = flat(nodes, (node) => opened.get(node.place) ?? opens(node)).findIndex((node) => node.place === place);
    // The box has its new height after this.
    if (nth >= 0) requestAnimationFrame(() => show(nth * HEIGHT));
  };
  useEffect(() => {
    if (chosen !== undefined) reach(chosen);
  }, [chosen]);
  useEffect(() => {
    const named = query.get("row");
    if (named !== null) reach(named, true);
  }, []);
  const fold = (node: Node, to: boolean): void => setFolds(new Map(folds).set(node.place, to));
  const move = (to: number): void => {
    const node = rows[Math.max(0, Math.min(rows.length - 1, to))];
    if (node === undefined) return;
    setActive(node.place);
    show(rows.indexOf(node) * HEIGHT);
  };
  const choose = (node: Node): void => {
    const kept = new URLSearchParams(Object.entries({ show: filter === "all" ? "" : filter, words }).filter(([, value]) => value !== ""));
    if (node.row !== undefined) return go(`${at("r", run, "at", node.place)}${kept.size > 0 ? `?${kept}` : ""}`);
    // A row that is not a visit, such as a round, has no screen; a link leads to its row.
    if (node.group !== undefined) setQuery("row", node.place);
    if (node.parts.length > 0) fold(node, !isOpen(node));
  };
  /** To the next failure, also to one that is folded away. */
  const jump = (by: 1 | -1): void => {
    const place = rows[at0]?.place;
    const here = all.findIndex((node) => node.place === place);
    const found = by === 1 ? all.find((node, nth) => nth > here && isBad(node)) : all.findLast((node, nth) => nth < here && isBad(node));
    const target = found ?? (isBad(rows[at0] ?? ({} as Node)) ? undefined : failed[0]);
    if (target === undefined) return;
    if (!isWhole) reach(target.place);
    else move(rows.indexOf(target));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = rows[at0];
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
      ArrowLeft: () => node !== undefined && (isOpen(node) && node.parts.length > 0 ? fold(node, false) : move(rows.findLastIndex((each, nth) => nth < at0 && each.level < node.level))),
      " ": () => node !== undefined && node.parts.length > 0 && fold(node, !isOpen(node)),
      Enter: () => node !== undefined && choose(node),
      e: () => jump(1),
      E: () => jump(-1),
      f: () => {
        const newest = all.filter((each) => each.row !== undefined && each.row.items === null).reduce<Node | undefined>((best, each) => ((each.row?.seq ?? -1) >= (best?.row?.seq ?? -1) ? each : best), undefined);
        if (newest !== undefined) setFilter("all"), setWords(""), reach(newest.place);
      },
    };
    const found = keys[event.key];
    if (found !== undefined) event.preventDefault(), found();
  };
  const first = Math.max(0, Math.floor(scroll.top / HEIGHT) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((scroll.top + scroll.height) / HEIGHT) + BEYOND);
  // The axis is that of the rows in view: in a whole run of a day each bar would be a point.
  const axis = axisOf(rows.slice(Math.floor(scroll.top / HEIGHT), Math.ceil((scroll.top + scroll.height) / HEIGHT)).flatMap((node) => workOf(node, isOpen(node), now.value)));
  const choice = (which: Filter, label: string): JSX.Element => <button class={`small ${filter === which ? "chosen" : ""}`} aria-pressed={filter === which} onClick={() => setFilter(which)}>{label}</button>;
  return (
    <div class="tree">
      <p class="facts" role="group" aria-label="which steps are shown">
        {choice("all", plural(visits.length, "row"))}
        {choice("failed", `${failed.length} failed${failed.some((node) => node.row?.state !== "failed") ? " or in doubt" : ""}`)}
        {choice("open", `${open.length} not over`)}
        {visits.length > FEW && <input id="filter" type="search" aria-label="words in steps" placeholder="words in steps" value={words} onInput={(event) => setWords(event.currentTarget.value)} />}
      </p>
      {rows.length > 0 && <Head axis={axis} />}
      <div ref={box} class="rowbox" role="treegrid" aria-label="steps" aria-rowcount={rows.length} tabIndex={0} onKeyDown={key} aria-activedescendant={rows[at0] && at0 >= first && at0 < last ? `row-${at0}` : undefined}>
        <div class="spacer" role="presentation" style={{ height: `${rows.length * HEIGHT}px` }}>
          {rows.slice(first, last).map((node, nth) => (
            <StepLine key={node.place} {...{ node, account, isOpen: isOpen(node), axis, depth: isWhole ? 1 : node.level, isWhole }} nth={first + nth} isChosen={node.place === chosen} isActive={first + nth === at0} fold={(to) => fold(node, to)} choose={() => (setActive(node.place), choose(node))} />
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="empty">{wanted !== "" ? "No step has these words." : filter === "failed" ? "Nothing has failed." : filter === "open" ? "All that has begun is over." : "There is no step."}</p>}
    </div>
  );
}

/** The legend of the bars, for the eye: each row has it in words. */
function Head({ axis }: { axis: Axis }): JSX.Element {
  return (
    <div class="line headline" aria-hidden="true">
      <span>step</span><span class="note" /><span class="summary">what it came to</span>
      <span class="bar-cell">
        {clock(axis.from)}
        {axis.breaks.map(({ at, ms }) => <span key={at} class="break" style={{ left: `${at * 100}%` }} title={`${duration(ms)} in which nothing of what is in view was done`}>//</span>)}
      </span>
      <span class="took">{axis.breaks.length > 0 ? `// ${duration(axis.breaks.reduce((sum, { ms }) => sum + ms, 0))} left out` : clock(axis.to)}</span>
    </div>
  );
}

/** The reason of a row's wait, in words; for the eye each has its own hatching. */
const WAITS: Readonly<Record<Reason | "nothing", string>> = { person: "waited for a person", account: "waited for an account", next_try: "waited for its next try", slot: "waited for a slot", nothing: "nothing worked on it" };

/** When it began, and what it waited for and how long. */
function spoken(node: Node, begun: string): string {
  const waits = worked(node, now.value)?.waits ?? [];
  const of = (reason: Reason): number => waits.reduce((sum, [from, to, why]) => sum + (why === reason ? to - from : 0), 0);
  const told = (["person", "account", "next_try", "slot"] as const).filter((reason) => waits.some(([, , why]) => why === reason)).map((reason) => `${WAITS[reason]} for ${duration(of(reason))}`);
  return [begun, ...told].join(", ");
}

/** The times when a visit was worked on, among those in view. A hatched part is a wait. */
function Bar({ node, axis }: { node: Node; axis: Axis }): JSX.Element | null {
  const found = worked(node, now.value);
  if (found === undefined) return null;
  const isWhole = node.row === undefined || node.row.items !== null;
  const state = node.row?.state ?? node.group?.state ?? "";
  return (
    <>
      {barOf(found, axis.at).map(({ left, right, isWait, reason }, nth) => (
        <span key={nth} class={`bar-of ${state} ${isWhole ? "whole" : ""} ${isWait ? `waits for-${reason ?? "nothing"}` : ""}`} title={isWait ? WAITS[reason ?? "nothing"] : undefined} style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }} />
      ))}
    </>
  );
}

/** The colour of a state in a strip. */
const COLOURS: Readonly<Partial<Record<StepRow["state"], string>>> = { succeeded: "good", failed: "bad", running: "busy", asks: "ask", retries: "warn", in_doubt: "warn", left: "warn" };

/** The least part of a strip that a state takes, so that one failure among thousands is seen. */
const LEAST = 0.03;

/** The number of items by state, the worst first: one picture, whatever their number. */
function Strip({ items: { counts } }: { items: Items }): JSX.Element {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const parts = [...counts].map(([state, count]) => [state, Math.max(LEAST, count / all)] as const);
  const whole = parts.reduce((sum, [, part]) => sum + part, 0);
  let end = 0;
  const stops = parts.map(([state, part]) => {
    const from = end;
    end += part / whole;
    return `var(--${COLOURS[state] ?? "edge"}) ${from * 100}% ${end * 100}%`;
  });
  return <span class="strip" aria-hidden="true" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />;
}

function countsIn({ counts }: Items): string {
  return [...counts].map(([state, count]) => `${count} ${signOf(state)}`).join(" · ");
}

/** A name whose beginning and end are seen if there is no room for all of it; a tooltip has the whole. For a screen reader it is one text.
 * */
function Name({ text }: { text: string }): JSX.Element {
  const [begin, end] = inTwo(text);
  if (end === "") return <b><Line text={text} /></b>;
  return <b class="cut" title={named(text)}><span class="hidden"><Line text={text} /></span><span aria-hidden="true"><Line text={begin} /></span><span aria-hidden="true"><Line text={end} /></span></b>;
}

interface LineProps {
  node: Node;
  account: string | undefined;
  axis: Axis;
  nth: number;
  depth: number;
  isOpen: boolean;
  isWhole: boolean;
  isChosen: boolean;
  isActive: boolean;
  fold: (to: boolean) => void;
  choose: () => void;
}

/** Facts about a row beside its name. */
function factsOf({ row, shape, group, items }: Node, account: string | undefined): string {
  const facts = [
    group?.kind === "loop" && `${plural(group.count, "round")}${group.most === undefined ? "" : ` of at most ${group.most}`}`,
    items !== undefined && countsIn(items),
    row !== undefined && row.visit > 1 && `visit ${row.visit}`,
    row !== undefined && row.attempts > 1 && `attempt ${row.attempts}`,
    row?.cached_from != null && "from the cache",
    row?.state === "ready" && "waits for a slot",
    row?.next_try_at != null && account !== undefined && `waits for ${account}`,
    row?.next_try_at != null && `next try ${moment(row.next_try_at)}`,
    row === undefined && shape?.for_each && "for each of a list",
    row === undefined && shape?.loop_to != null && `loops to ${shape.loop_to}`,
    row === undefined && shape?.condition != null && "only if",
  ];
  return facts.filter(Boolean).join(" · ");
}

function StepLine({ node, account, axis, nth, depth, isOpen, isWhole, isChosen, isActive, fold, choose }: LineProps): JSX.Element {
  const { row, group, parts, items } = node;
  const span = group === undefined ? undefined : worked(node, now.value);
  const took = span !== undefined ? duration(span.to - span.from) : row === undefined ? "" : row.took_ms !== null ? duration(row.took_ms) : row.ended_at === null && row.state === "running" ? since(row.started_at, now.value) : "";
  const begun = row === undefined ? (span === undefined ? "not begun" : `began ${moment(span.from)}`) : `began ${moment(row.started_at)}`;
  return (
    <div id={`row-${nth}`} role="row" aria-level={depth} aria-rowindex={nth + 1} aria-expanded={parts.length > 0 && !isWhole ? isOpen : undefined} aria-selected={isChosen} class={`line ${isChosen ? "chosen" : ""} ${isActive ? "active" : ""}`} style={{ top: `${nth * HEIGHT}px` }} onClick={choose}>
      <span role="gridcell" class="name" style={{ paddingLeft: `${(depth - 1) * 16 + 4}px` }}>
        {parts.length > 0 && !isWhole ? (
          <span class="twist" aria-hidden="true" onClick={(event) => (event.stopPropagation(), fold(!isOpen))}>{isOpen ? "▾" : "▸"}</span>
        ) : <span class="twist" aria-hidden="true" />}
        {group?.kind === "loop" && <span class="loop" aria-hidden="true">↺ </span>}
        <State of={row?.state ?? group?.state ?? "not begun"} /> {group?.kind === "loop" && <span class="hidden">loop </span>}<Name text={isWhole ? node.place : node.name} />
      </span>
      <span role="gridcell" class="note">{factsOf(node, account)}</span>
      <span role="gridcell" class="summary">{items !== undefined && (row?.items ?? 0) > 1 && <Strip items={items} />}{node.ticks !== undefined && <span class="ticks" aria-label={node.ticks.join(", ")} role="img">{node.ticks.map(signOf).join("")}</span>}<Line text={row?.summary ?? group?.words ?? ""} /></span>
      <span role="gridcell" class="bar-cell" aria-label={spoken(node, begun)}><Bar node={node} axis={axis} /></span>
      <span role="gridcell" class="note took">{row?.cost_usd != null && `$${row.cost_usd} `}{took}</span>
    </div>
  );
}
