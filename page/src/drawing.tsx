/** The map of a flow: its steps in the order of the file, lines at the left for what leads on, arcs at the right for what goes back. */

import type { JSX } from "preact";

import type { FlowShape, InnerFlow, StepRow } from "./api.js";
import { Line } from "./foreign.js";
import { inWords, linesOf, type Edge, type Level } from "./map.js";
import { State } from "./parts.js";

/** Pixels of a row and of a lane. */
const HEIGHT = 52;
const LANE = 14;

/** Beyond so many steps a drawing says nothing any more. */
const MOST = 200;

const KINDS = { run: "runs a command", ask: "asks a person", flow: "runs a flow", a2a: "calls another agent", agent: "runs an agent program", model: "asks a model" } as const;

/** How often a step stands where in a run. */
export type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The rows of a run, counted by step of its own flow; of a step with items, its items. */
export function countsOf(rows: ReadonlyMap<string, StepRow>): Counts {
  const all = new Map<string, Map<string, number>>();
  for (const row of rows.values()) {
    const isItem = row.item !== null && row.part_of !== null && rows.get(row.part_of)?.part_of === null;
    if (!(isItem || (row.part_of === null && row.items === null))) continue;
    const own = all.get(row.step) ?? new Map<string, number>();
    all.set(row.step, own.set(row.state, (own.get(row.state) ?? 0) + 1));
  }
  return all;
}

export function Drawing({ shape, counts }: { shape: FlowShape; counts?: Counts }): JSX.Element {
  return <LevelView level={shape} flows={shape.flows as Record<string, InnerFlow>} above={[]} {...(counts === undefined ? {} : { counts })} />;
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
  /** The flows in which this one stands. */
  above: readonly string[];
  counts?: Counts;
}

function LevelView({ level, flows, above, counts }: Props): JSX.Element {
  const { steps } = level;
  const isDrawn = steps.length <= MOST;
  const { straight, forward, back } = isDrawn ? linesOf(level) : { straight: [], forward: [], back: [] };
  const [left, right] = [lanes(forward) * LANE + 16, back.length === 0 ? 0 : lanes(back) * LANE + 44];
  const height = steps.length * HEIGHT;
  const x = left - 4;
  return (
    <div class="map">
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
          <li key={step.step} class={step.condition === null ? "" : "conditional"}>
            <span class="station"><b><Line text={step.step} /></b> <span class="note">{KINDS[step.kind]}{step.runs_flow !== null && <> <Line text={step.runs_flow} /></>}</span></span>
            <span class="states">{[...(counts?.get(step.step) ?? [])].map(([state, count]) => <span key={state}><State of={state} />{count > 1 && ` ${count}`}</span>)}</span>
            <span class="note how"><Line text={inWords(step, nth, level).join(" · ")} /></span>
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
          <LevelView level={flows[name ?? ""] as InnerFlow} flows={flows} above={[...above, name ?? ""]} />
        </details>
      ))}
    </div>
  );
}
