/** The rows of a run as a tree, with the steps that have not begun, and loops as rounds. Pure: no document, no server. */

import type { FlowShape, InnerFlow, StepRow, StepShape } from "../wire/api.js";

/** A group of visits: a loop, or one of its rounds. */
export interface Group {
  kind: "loop" | "round";
  /** For a loop: the number of its rounds so far. For a round: its number, from 1. */
  count: number;
  /** For a loop: the most rounds, if the limit is that of one step alone. */
  most: number | undefined;
  state: StepRow["state"] | "sent_back";
  /** Why a round was sent back, in the words of the step that did. */
  words: string;
}

/** The states of the parts of a visit with items. */
export interface Items {
  /** How many in each state, the worst first. */
  counts: ReadonlyMap<StepRow["state"], number>;
}

export interface Node {
  /** As commands name it; for a step that has not begun: its flow and its id. */
  place: string;
  name: string;
  row: StepRow | undefined;
  group: Group | undefined;
  shape: StepShape | undefined;
  level: number;
  parts: Node[];
  items: Items | undefined;
  /** For a step that repeats itself: the states of its newest visits, in order. */
  ticks?: readonly StepRow["state"][];
}

/** Most of them. */
const MOST_TICKS = 12;

/** Takes rows that have changed; a row replaces the one of the same place. */
export function taken(known: ReadonlyMap<string, StepRow>, changed: readonly StepRow[]): Map<string, StepRow> {
  const all = new Map(known);
  for (const row of changed) all.set(row.place, row);
  return all;
}

interface Level {
  graph: boolean;
  steps: readonly StepShape[];
}

type Flows = Readonly<Record<string, InnerFlow>>;
type Rows = ReadonlyMap<string, StepRow[]>;

/** The rows as they stand in the tree: in the order of the flow, then of their visits. */
export function treeOf(rows: ReadonlyMap<string, StepRow>, shape: FlowShape | undefined): Node[] {
  const parts = new Map<string, StepRow[]>();
  for (const row of rows.values()) {
    const of = row.part_of !== null && rows.has(row.part_of) ? row.part_of : "";
    const known = parts.get(of);
    if (known === undefined) parts.set(of, [row]);
    else known.push(row);
  }
  return levelOf(parts, "", 1, shape, (shape?.flows ?? {}) as Flows, []);
}

/** `above` are the flows around this level: no flow is within itself. */
function levelOf(parts: Rows, of: string, depth: number, level: Level | undefined, flows: Flows, above: readonly string[]): Node[] {
  const order = new Map((level?.steps ?? []).map((step, nth) => [step.step, nth]));
  const rank = (row: StepRow): number => order.get(row.step) ?? 0;
  const nodes = (parts.get(of) ?? []).map((row) => begun(parts, row, depth, level, flows, above));
  nodes.sort(({ row: a }, { row: b }) => (a === undefined || b === undefined ? 0 : rank(a) - rank(b) || a.visit - b.visit));
  const seen = new Set(nodes.map(({ row }) => row?.step));
  for (const step of level?.steps ?? []) {
    if (seen.has(step.step)) continue;
    const before = nodes.findLastIndex((each) => (order.get(each.shape?.step ?? "") ?? -1) < (order.get(step.step) ?? 0));
    nodes.splice(before + 1, 0, toCome(of, step, depth, flows, above));
  }
  return level === undefined ? nodes : inRounds(nodes, level, of, depth);
}

function begun(parts: Rows, row: StepRow, depth: number, level: Level | undefined, flows: Flows, above: readonly string[]): Node {
  const shape = level?.steps.find((each) => each.step === row.step);
  const node = { place: row.place, name: nameOf(row), row, group: undefined, shape, level: depth };
  if (row.items !== null) {
    const items = (parts.get(row.place) ?? []).map((item) => begun(parts, item, depth + 1, level, flows, above));
    items.sort((a, b) => (a.row?.item ?? 0) - (b.row?.item ?? 0));
    const states = items.flatMap((item) => (item.row === undefined ? [] : [item.row.state]));
    // The most urgent items come first.
    items.sort((a, b) => urgency(a) - urgency(b));
    return { ...node, parts: items, items: { counts: countOf(states) } };
  }
  const name = shape?.runs_flow ?? "";
  const inner = above.includes(name) ? undefined : flows[name];
  const found = levelOf(parts, row.place, depth + 1, inner, flows, [...above, name]);
  return { ...node, parts: inner === undefined || parts.has(row.place) || row.ended_at === null ? found : [], items: undefined };
}

/** A step that has not begun, with the steps of the flow that it will run. */
function toCome(of: string, step: StepShape, depth: number, flows: Flows, above: readonly string[]): Node {
  const place = `${of === "" ? step.step : `${of}.${step.step}`}.…`;
  const name = step.runs_flow ?? "";
  const inner = above.includes(name) ? undefined : flows[name];
  const parts = (inner?.steps ?? []).map((each) => toCome(place, each, depth + 1, flows, [...above, name]));
  return { place, name: step.step, row: undefined, group: undefined, shape: step, level: depth, parts, items: undefined };
}

function nameOf(row: StepRow): string {
  if (row.item === null) return row.step;
  return row.value === null || row.value === String(row.item) ? String(row.item) : `${row.item} ${row.value}`;
}

/** The worst first. */
const STATES: readonly StepRow["state"][] = ["failed", "in_doubt", "left", "asks", "retries", "running", "open", "ready", "skipped", "succeeded"];
const worse = (a: StepRow["state"], b: StepRow["state"]): StepRow["state"] => (STATES.indexOf(a) <= STATES.indexOf(b) ? a : b);
const urgency = ({ row }: Node): number => (row === undefined ? 9 : BAD.has(row.state) ? 0 : row.state === "asks" ? 1 : BUSY.has(row.state) ? 2 : 3);

function countOf(states: readonly StepRow["state"][]): Map<StepRow["state"], number> {
  const found = new Map<StepRow["state"], number>();
  for (const state of states) found.set(state, (found.get(state) ?? 0) + 1);
  return new Map(STATES.flatMap((state) => (found.has(state) ? [[state, found.get(state) ?? 0] as const] : [])));
}

/** Steps that go round together, and those of them that send the run back. */
interface Loop {
  steps: Set<string>;
  back: StepShape[];
}

/** The loops of a flow. Loops that cross are one: each return begins a new round of it. */
function loopsOf({ graph, steps }: Level): Loop[] {
  const order = new Map(steps.map(({ step }, nth) => [step, nth]));
  const loops: Loop[] = [];
  for (const step of steps) {
    const [from, to] = [order.get(step.loop_to ?? "") ?? -1, order.get(step.step) ?? -1];
    if (from < 0) continue;
    const own = graph ? between(steps, step.loop_to ?? "", step.step) : new Set(steps.slice(from, to + 1).map((each) => each.step));
    const crossed = loops.filter((loop) => [...own].some((each) => loop.steps.has(each)));
    for (const loop of crossed) loops.splice(loops.indexOf(loop), 1);
    loops.push({ steps: new Set([...own, ...crossed.flatMap((loop) => [...loop.steps])]), back: [...crossed.flatMap((loop) => loop.back), step] });
  }
  return loops;
}

/** The steps on all ways from one to another, both with it. */
function between(steps: readonly StepShape[], first: string, last: string): Set<string> {
  const reach = (of: string, next: (step: string) => string[]): Set<string> => {
    const all = new Set([of]);
    for (const step of all) for (const each of next(step)) all.add(each);
    return all;
  };
  const after = reach(first, (step) => steps.filter(({ needs }) => needs.includes(step)).map((each) => each.step));
  const before = reach(last, (step) => [...(steps.find((each) => each.step === step)?.needs ?? [])]);
  return new Set([first, last, ...[...after].filter((step) => before.has(step))]);
}

/** Gathers the visits of each loop that has gone back. */
function inRounds(nodes: Node[], level: Level, of: string, depth: number): Node[] {
  let all = nodes;
  for (const loop of loopsOf(level)) {
    const isOne = ({ shape, row }: Node): boolean => loop.steps.has(shape?.step ?? row?.step ?? "");
    const returns = all.filter((node) => loop.back.some(({ step }) => step === node.row?.step) && node.row?.leads_to === "loop");
    if (returns.length === 0) continue;
    const group = looped(all.filter(isOne), returns, loop, { of, depth, level });
    const place = all.findIndex(isOne);
    all = all.filter((node) => !isOne(node));
    all.splice(place, 0, group);
  }
  return all;
}

function looped(visits: readonly Node[], returns: readonly Node[], { steps, back }: Loop, { of, depth, level }: { of: string; depth: number; level: Level }): Node {
  const before = (node: Node): number => returns.filter((each) => each !== node && (each.row?.seq ?? 0) < (node.row?.first_seq ?? 0)).length;
  const inOrder = level.steps.filter(({ step }) => steps.has(step));
  const [first = "", last = ""] = [inOrder[0]?.step, inOrder.at(-1)?.step];
  const name = steps.size === 1 ? first : `${first} … ${last}`;
  const rounds: Node[] = [];
  const order = new Map(level.steps.map(({ step }, nth) => [step, nth]));
  for (let count = 1; ; count += 1) {
    const own = visits.filter((node) => node.row !== undefined && before(node) === count - 1);
    if (own.length === 0) break;
    const sent = own.find((node) => returns.includes(node));
    const furthest = Math.max(...own.map((node) => order.get(node.row?.step ?? "") ?? 0));
    const isNewest = !visits.some((node) => node.row !== undefined && before(node) >= count);
    // The steps that this round has not reached yet.
    const left = !isNewest || sent !== undefined || level.graph ? [] : level.steps.filter(({ step }) => steps.has(step) && (order.get(step) ?? 0) > furthest).map((step) => toCome(of, step, 0, {}, []));
    const parts = [...own, ...left, ...(isNewest && level.graph ? visits.filter(({ row }) => row === undefined) : [])];
    const state = sent === undefined ? own.flatMap(({ row }) => (row === undefined ? [] : [row.state])).reduce(worse) : "sent_back";
    const group: Group = { kind: "round", count, most: undefined, state, words: sent?.row?.summary ?? "" };
    rounds.push({ place: `round ${count} of ${of}.${name}`, name: `round ${count}`, row: undefined, group, shape: undefined, level: 0, parts, items: undefined });
  }
  const [only] = back;
  const most = back.length === 1 && only?.max_iterations != null ? only.max_iterations + 1 : undefined;
  const group: Group = { kind: "loop", count: rounds.length, most, state: rounds.at(-1)?.group?.state ?? "succeeded", words: "" };
  // A step that repeats itself needs no rows for its rounds.
  const parts = steps.size === 1 ? rounds.flatMap((round) => round.parts) : rounds;
  const ticks = steps.size === 1 ? parts.flatMap(({ row }) => (row === undefined ? [] : [row.state])).slice(-MOST_TICKS) : undefined;
  const node: Node = { ...(ticks === undefined ? {} : { ticks }), place: `loop of ${of}.${name}`, name, row: undefined, group, shape: undefined, level: depth, parts, items: undefined };
  deepen(node, depth);
  return node;
}

function deepen(node: Node, level: number): void {
  node.level = level;
  for (const part of node.parts) deepen(part, level + 1);
}

const BAD = new Set(["failed", "in_doubt", "left"]);
const BUSY = new Set(["running", "asks", "in_doubt", "ready", "retries", "left", "open"]);

export const isBad = (node: Node): boolean => BAD.has(node.row?.state ?? "");

/** Whether a person should see what is in it without asking. */
export function opens(node: Node): boolean {
  const { group, row, parts } = node;
  if (parts.length === 0) return false;
  if (group !== undefined) return group.kind === "loop" || group.state !== "sent_back";
  return (row?.items == null || parts.length <= 12) && (BUSY.has(row?.state ?? "") || row?.state === "failed");
}

/** The rows that are in view, the parts of what is folded left out. */
export function flat(nodes: readonly Node[], isOpen: (node: Node) => boolean): Node[] {
  const all: Node[] = [];
  const add = (node: Node): void => {
    all.push(node);
    if (node.parts.length > 0 && isOpen(node)) node.parts.forEach(add);
  };
  nodes.forEach(add);
  return all;
}

/** By how many rows those from one place to another have moved. Most of them count: one that is over by now may stand elsewhere. */
export function movedBy(before: readonly Node[], from: number, to: number, after: readonly Node[]): number {
  const places = new Map(after.map(({ place }, nth) => [place, nth]));
  const moves = before.slice(from, to).flatMap(({ place }, nth) => ((now) => (now === undefined ? [] : [now - from - nth]))(places.get(place)));
  return moves.sort((a, b) => a - b)[Math.floor(moves.length / 2)] ?? 0;
}

/** Every node, a whole before its parts. */
export const every = (nodes: readonly Node[]): Node[] => flat(nodes, () => true);

/** The places to unfold for a place to be seen: the places above it, the outermost first. */
export function above(nodes: readonly Node[], place: string): string[] | undefined {
  for (const node of nodes) {
    if (node.place === place) return [];
    const found = above(node.parts, place);
    if (found !== undefined) return [node.place, ...found];
  }
  return undefined;
}
