/** The rows of a run as a tree, with the steps that have not begun. Pure: no document, no server. */

import type { FlowShape, InnerFlow, StepRow, StepShape } from "./api.js";

export interface Node {
  /** As commands name it; of a step that has not begun, of the flow that it stands in and its id. */
  place: string;
  name: string;
  row: StepRow | undefined;
  shape: StepShape | undefined;
  level: number;
  parts: Node[];
}

/** Takes rows that have changed; a row replaces the one of the same place. */
export function taken(known: ReadonlyMap<string, StepRow>, changed: readonly StepRow[]): Map<string, StepRow> {
  const all = new Map(known);
  for (const row of changed) all.set(row.place, row);
  return all;
}

/** The rows as they stand in the tree: in the order of the flow, then of their visits. */
export function treeOf(rows: ReadonlyMap<string, StepRow>, shape: FlowShape | undefined): Node[] {
  const parts = new Map<string, StepRow[]>();
  for (const row of rows.values()) {
    const of = row.part_of !== null && rows.has(row.part_of) ? row.part_of : "";
    parts.set(of, [...(parts.get(of) ?? []), row]);
  }
  return level(parts, "", 1, shape?.steps, shape);
}

function level(parts: ReadonlyMap<string, StepRow[]>, of: string, depth: number, steps: readonly StepShape[] | undefined, shape: FlowShape | undefined): Node[] {
  const own = parts.get(of) ?? [];
  const order = new Map((steps ?? []).map((step, nth) => [step.step, nth]));
  const begun = new Set(own.map((row) => row.step));
  const node = (row: StepRow): Node => {
    const step = steps?.find((each) => each.step === row.step);
    const inner = step?.runs_flow === null || step?.runs_flow === undefined ? undefined : (shape?.flows as Record<string, InnerFlow> | undefined)?.[step.runs_flow];
    // The parts of a visit with items are visits of the same step; those of an item, or of a visit without items, the inner flow's.
    const below = row.items !== null ? (step === undefined ? undefined : []) : inner?.steps;
    const found = level(parts, row.place, depth + 1, row.items !== null ? (step === undefined ? [] : [step]) : below, shape);
    const begunParts = row.items === null ? found : found.filter((part) => part.row !== undefined);
    return { place: row.place, name: nameOf(row), row, shape: step, level: depth, parts: begunParts };
  };
  const sorted = [...own].sort((a, b) => (a.item ?? -1) - (b.item ?? -1) || (order.get(a.step) ?? 0) - (order.get(b.step) ?? 0) || a.visit - b.visit);
  const nodes = sorted.map(node);
  for (const step of steps ?? []) {
    if (begun.has(step.step)) continue;
    const before = nodes.findLastIndex((each) => (order.get(each.shape?.step ?? "") ?? -1) < (order.get(step.step) ?? 0));
    const place = of === "" ? step.step : `${of}.${step.step}`;
    nodes.splice(before + 1, 0, { place: `${place}.…`, name: step.step, row: undefined, shape: step, level: depth, parts: [] });
  }
  return nodes;
}

function nameOf(row: StepRow): string {
  if (row.item !== null) return row.value === null ? String(row.item) : `${row.item} ${row.value}`;
  return row.step;
}

const BAD = new Set(["failed", "in_doubt", "left"]);
const BUSY = new Set(["running", "asks", "in_doubt", "ready", "retries", "left", "open"]);

export const isBad = (node: Node): boolean => BAD.has(node.row?.state ?? "");

/** Whether a person should see what is in it without asking. */
export const opens = (node: Node): boolean =>
  node.parts.length > 0 && (node.row?.items === null || node.row?.items === undefined || node.parts.length <= 12) && BUSY.has(node.row?.state ?? "");

/** The rows that are in view, the parts of what is folded left out. */
export function flat(nodes: readonly Node[], isOpen: (node: Node) => boolean): Node[] {
  return nodes.flatMap((node) => [node, ...(isOpen(node) ? flat(node.parts, isOpen) : [])]);
}

/** Every node, a whole before its parts. */
export const every = (nodes: readonly Node[]): Node[] => nodes.flatMap((node) => [node, ...every(node.parts)]);
