/** The map of a flow: its steps in the order of the file, lines at the left for what leads on, arcs at the right for what goes back. */

import type { JSX } from "preact";

import { inWords, linesOf, type Edge, type Level } from "../model/map.js";
import type { FlowShape, InnerFlow, StepRow } from "../wire/api.js";
import { State } from "./status.js";
import { Line } from "./untrusted.js";

/** Pixels of a row and of a lane. */
const HEIGHT = 52;
const LANE = 14;

/** A drawing with more steps is not useful any more. */
const MOST = 200;

const KINDS = { run: "runs a command", ask: "asks a person", flow: "runs a flow", a2a: "calls another agent", agent: "runs an agent program", model: "asks a model" } as const;

/** The visits of a step in a run: their states, and why it was skipped. */
interface Fate {
  states: Map<string, number>;
  skipped: string;
}

/** The steps of a run, by the steps whose flow they are of, the outermost first. */
export type Counts = ReadonlyMap<string, ReadonlyMap<string, Fate>>;

/** The steps above, as a key. */
const levelOf = (above: readonly string[]): string => above.join("/");

/** The rows of a run, counted by step, also those of the flows that steps run; of a step with items, its items. */
export function countsOf(rows: ReadonlyMap<string, StepRow>): Counts {
  const all = new Map<string, Map<string, Fate>>();
  const levels = new Map<string, readonly string[]>();
  const above = (row: StepRow): readonly string[] => {
    const known = levels.get(row.place);
    if (known !== undefined) return known;
    const whole = row.part_of === null ? undefined : rows.get(row.part_of);
    // An item counts for its step.
    const found = whole === undefined ? [] : row.item !== null && whole.items !== null && whole.step === row.step ? above(whole) : [...above(whole), whole.step];
    levels.set(row.place, found);
    return found;
  };
  const begun = new Map<string, number>();
  for (const row of rows.values()) if (row.item !== null && row.part_of !== null) begun.set(row.part_of, (begun.get(row.part_of) ?? 0) + 1);
  for (const row of rows.values()) {
    const key = levelOf(above(row));
    const level = all.get(key) ?? new Map<string, Fate>();
    all.set(key, level);
    const fate = level.get(row.step) ?? { states: new Map<string, number>(), skipped: "" };
    level.set(row.step, fate);
    const add = (state: string, count: number): void => void (count > 0 && fate.states.set(state, (fate.states.get(state) ?? 0) + count));
    const left = (row.items ?? 0) - (begun.get(row.place) ?? 0);
    // For a step with items only its items count; if it has none, the step itself counts.
    if (row.items === null || row.items === 0) add(row.state, 1);
    else if (row.ended_at === null) add("not begun", left);
    if (row.state === "skipped") fate.skipped = row.summary;
  }
  return all;
}

interface Look {
  shape: FlowShape;
  /** For a run: its counts. */
  counts?: Counts;
  /** The address at which the text of a flow's file shows a line; no file is its first one. */
  lineAt?: (file: string | null, line: number) => string;
}

export function Drawing({ shape, counts, lineAt }: Look): JSX.Element {
  return <LevelView level={shape} file={null} flows={shape.flows as Record<string, InnerFlow>} above={[]} within={[]} counts={counts} lineAt={lineAt} />;
}

const middle = (nth: number): number => nth * HEIGHT + HEIGHT / 2;

function bracket({ from, to, lane }: Edge, x: number, side: 1 | -1): string {
  const out = x + side * (lane + 1) * LANE;
  const [a, b] = [middle(from), middle(to)];
  const turn = Math.sign(b - a) * 6;
  return `M${x} ${a}H${out - side * 6}Q${out} ${a} ${out} ${a + turn}V${b - turn}Q${out} ${b} ${out - side * 6} ${b}H${x}`;
}

/** The point of an arrow that comes from this side. */
const point = (x: number, nth: number, side: 1 | -1): string => `M${x} ${middle(nth)}l${side * 6} -4v8z`;

const lanes = (edges: readonly Edge[]): number => edges.reduce((most, { lane }) => Math.max(most, lane + 1), 0);

interface Props {
  level: Level;
  flows: Readonly<Record<string, InnerFlow>>;
  /** The file with the flow; null: the first one. */
  file: string | null;
  /** The flows around this one. */
  above: readonly string[];
  /** The steps that run those. */
  within: readonly string[];
  counts: Counts | undefined;
  lineAt: Look["lineAt"];
}

function LevelView({ level, file, flows, above, within, counts, lineAt }: Props): JSX.Element {
  const { steps } = level;
  const isDrawn = steps.length <= MOST;
  const { straight, forward, back } = isDrawn ? linesOf(level) : { straight: [], forward: [], back: [] };
  const [left, right] = [lanes(forward) * LANE + 16, back.length === 0 ? 0 : lanes(back) * LANE + 44];
  const height = steps.length * HEIGHT;
  const x = left - 4;
  const fates = counts?.get(levelOf(within));
  const statesOf = (step: string): [string, number][] => (counts === undefined ? [] : [...(fates?.get(step)?.states ?? [["not begun", 1] as const])].sort(([a], [b]) => Number(a === "not begun") - Number(b === "not begun")));
  const isSkipped = (step: string): boolean => statesOf(step).every(([state]) => state === "skipped") && fates?.has(step) === true;
  return (
    <div class="map">
      {!isDrawn && <p class="note all">{`More than ${MOST} steps: the lines between them are left out.`}</p>}
      {isDrawn && (
        <svg class="lines" aria-hidden="true" width={left} height={height} viewBox={`0 0 ${left} ${height}`}>
          {straight.map((nth) => <path key={`s${nth}`} d={`M${x} ${middle(nth)}V${middle(nth + 1)}`} />)}
          {forward.map((edge) => <path key={`f${edge.from}-${edge.to}`} d={bracket(edge, x, -1)} />)}
          {forward.map((edge) => <path key={`p${edge.from}-${edge.to}`} class="tip" d={point(x, edge.to, -1)} />)}
          {steps.map((_, nth) => <circle key={nth} cx={x} cy={middle(nth)} r="4" />)}
        </svg>
      )}
      <ol class="stations">
        {steps.map((step, nth) => (
          <li key={step.step} class={isSkipped(step.step) ? "skipped" : ""}>
            <span class="station">
              <b><Line text={step.step} /></b> <span class="note">{KINDS[step.kind]}{step.runs_flow !== null && <> <Line text={step.runs_flow} /></>}</span>
              {step.line !== null && lineAt !== undefined && <> <a class="note" href={lineAt(file, step.line)}>line {step.line}</a></>}
            </span>
            <span class="states">{statesOf(step.step).map(([state, count]) => <span key={state}><State of={state} />{count > 1 && ` ${count}`}</span>)}</span>
            <span class="note how"><Line text={[isSkipped(step.step) && fates?.get(step.step)?.skipped, ...inWords(step, nth, level)].filter(Boolean).join(" · ")} /></span>
          </li>
        ))}
      </ol>
      {right > 0 && (
        <svg class="lines back" aria-hidden="true" width={right} height={height} viewBox={`0 0 ${right} ${height}`}>
          {back.map((edge) => <path key={`${edge.from}-${edge.to}`} d={bracket(edge, 2, 1)} />)}
          {back.map((edge) => <path key={`p${edge.from}-${edge.to}`} class="tip" d={point(2, edge.to, 1)} />)}
          {back.map((edge) => <text key={`t${edge.from}-${edge.to}`} x={(edge.lane + 1) * LANE + 6} y={(middle(edge.from) + middle(edge.to)) / 2 + 4}>{edge.label}</text>)}
        </svg>
      )}
      {steps.filter(({ runs_flow: name }) => name !== null && flows[name] !== undefined && !above.includes(name)).map(({ step, runs_flow: name }) => (
        <details key={step} class="inner">
          <summary><Line text={`${step}: the flow ${name}`} /></summary>
          <LevelView level={flows[name ?? ""] as InnerFlow} file={flows[name ?? ""]?.file ?? null} flows={flows} above={[...above, name ?? ""]} within={[...within, step]} counts={counts} lineAt={flows[name ?? ""]?.file == null ? undefined : lineAt} />
        </details>
      ))}
    </div>
  );
}
