/** The lines of a flow's map: which step leads where, and in which lane. Pure: no document. */

import type { Rounds, StepShape } from "../wire/api.js";

/** A line from one row to another. */
export interface Edge {
  from: number;
  to: number;
  /** 0 is the one beside the rows. */
  lane: number;
  label: string;
}

export interface Lines {
  /** Rows that lead to the next one, and to nothing between. */
  straight: number[];
  /** The ways on, past other rows: drawn at the left. */
  forward: Edge[];
  /** The ways back: drawn at the right. */
  back: Edge[];
}

export interface Level {
  graph: boolean;
  rounds: Rounds | null;
  steps: readonly StepShape[];
}

export function linesOf({ graph, rounds, steps }: Level): Lines {
  const row = new Map(steps.map(({ step }, nth) => [step, nth]));
  const straight: number[] = [];
  const forward: Edge[] = [];
  const back: Edge[] = [];
  const lead = (from: number, to: number | undefined): void => {
    if (to === undefined) return;
    if (to === from + 1) straight.push(from);
    else forward.push({ from, to, lane: 0, label: "" });
  };
  steps.forEach((step, nth) => {
    if (graph) for (const need of step.needs) lead(row.get(need) ?? nth, row.has(need) ? nth : undefined);
    else if (step.next !== null) lead(nth, row.get(step.next));
    else if (nth + 1 < steps.length) lead(nth, nth + 1);
    for (const branch of step.branches) if (row.get(branch) !== nth + 1 || !straight.includes(nth)) lead(nth, row.get(branch));
    const to = step.loop_to === null ? undefined : row.get(step.loop_to);
    if (to !== undefined) back.push({ from: nth, to, lane: 0, label: step.max_iterations === null ? "" : `≤ ${step.max_iterations}` });
  });
  const [first, last] = rounds === null ? [] : [row.get(rounds.first_step), row.get(rounds.last_step)];
  if (rounds !== null && first !== undefined && last !== undefined) back.push({ from: last, to: first, lane: 0, label: `≤ ${rounds.max_rounds} rounds` });
  return { straight, forward: inLanes(forward), back: inLanes(back) };
}

/** Short lines lie inside; two that share rows have different lanes. */
function inLanes(edges: Edge[]): Edge[] {
  const lanes: [low: number, high: number][][] = [];
  const length = ({ from, to }: Edge): number => Math.abs(from - to);
  return [...edges].sort((a, b) => length(a) - length(b) || a.from - b.from).map((edge) => {
    const [low, high] = [Math.min(edge.from, edge.to), Math.max(edge.from, edge.to)];
    let lane = lanes.findIndex((taken) => taken.every(([from, to]) => high < from || low > to));
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane]?.push([low, high]);
    return { ...edge, lane };
  });
}

/** The ways to a step and from it, for people who do not see the lines. */
export function inWords(step: StepShape, nth: number, { graph, steps }: Level): string[] {
  const all: string[] = [];
  if (graph && step.needs.length > 0) all.push(`after ${step.needs.join(step.join === "all" ? " and " : ", ")}${step.join === "all" || step.needs.length === 1 ? "" : ` (${step.join})`}`);
  if (graph && step.needs.length === 0) all.push("at once");
  if (step.condition !== null) all.push(`only if ${step.condition}`);
  if (step.for_each) all.push("once for each of a list");
  if (step.tries > 1) all.push(`up to ${step.tries} tries`);
  if (step.loop_to !== null) all.push(`back to ${step.loop_to}${step.max_iterations === null ? "" : `, at most ${step.max_iterations} times`}`);
  if (step.branches.length > 0) all.push(`may lead to ${step.branches.join(", ")}`);
  if (step.next !== null && step.next !== steps[nth + 1]?.step) all.push(step.next === "end" ? "then the end" : `then ${step.next}`);
  if (step.continue_on_error) all.push("the run goes on if it fails");
  return all;
}
