/** Two rounds of a loop, or a fork and the run that it comes from: which visits have another result. The address has the compared visits.
 * */

import type { JSX } from "preact";

import { isAlike, loopsIn, pairsOfRounds, pairsOfRuns, type Loop, type Pair, type Round } from "../model/pairs.js";
import { taken, type Node } from "../model/tree.js";
import { duration, plural } from "../model/words.js";
import { Shown, State } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at, place, setQueries } from "../state/router.js";
import type { Run, StepRow, Steps } from "../wire/api.js";
import { json } from "../wire/request.js";
import { nameInAddress } from "./compare.js";

/** Pairs that are shown at once. */
const MOST = 400;

/** In an address, the run that a fork comes from. */
const ORIGIN = "origin";

export function Between({ run, rows, nodes }: { run: Run; rows: ReadonlyMap<string, StepRow>; nodes: readonly Node[] }): JSX.Element {
  const loops = loopsIn(nodes);
  const { query } = place.value;
  const wanted = query.get("of") ?? "";
  const isOrigin = run.forked_from !== null && (wanted === ORIGIN || wanted === "" || loops.length === 0);
  const loop = isOrigin ? undefined : (loops.find((each) => each.place === wanted) ?? loops[0]);
  return (
    <section aria-label="compare">
      {run.forked_from === null && loops.length === 0 && <p class="empty">This run has no rounds, and is no fork: there is nothing to compare. Visits and attempts are compared where they are shown.</p>}
      {loops.length + (run.forked_from === null ? 0 : 1) > 1 && (
        <p class="facts"><label>What <select value={isOrigin ? ORIGIN : loop?.place} onChange={(event) => setQueries({ of: event.currentTarget.value, before: "", after: "" })}>
          {run.forked_from !== null && <option value={ORIGIN}>this run, and the one that it was forked from</option>}
          {loops.map((each) => <option key={each.place} value={each.place}>{`rounds of ${each.name}`}</option>)}
        </select></label></p>
      )}
      {isOrigin && run.forked_from !== null && <WithOrigin run={run.run} origin={run.forked_from} rows={rows} />}
      {loop !== undefined && <Rounds run={run.run} loop={loop} />}
    </section>
  );
}

/** A round of the address, else the one at a place from the end. */
function chosen(rounds: readonly Round[], name: string, fallback: number): Round | undefined {
  return rounds.find((round) => round.name === place.value.query.get(name)) ?? rounds.at(fallback);
}

function Rounds({ run, loop: { name, rounds } }: { run: string; loop: Loop }): JSX.Element {
  const [before, after] = [chosen(rounds, "before", -2), chosen(rounds, "after", -1)];
  if (before === undefined || after === undefined) return <p class="empty">There is one round so far.</p>;
  const select = (which: "before" | "after", value: string): JSX.Element => (
    <label>{which === "before" ? "Compare" : "with"} <select value={value} onChange={(event) => setQueries({ [which]: event.currentTarget.value })}>
      {rounds.map((round) => <option key={round.name} value={round.name}>{round.name}</option>)}
    </select></label>
  );
  const nth = rounds.indexOf(after);
  // Both move: what is compared is a round and the one before it.
  const link = (to: number, id: string, label: string): JSX.Element | null => (rounds[to - 1] === undefined || rounds[to] === undefined ? null : <button class="link" id={id} onClick={() => setQueries({ before: rounds[to - 1]?.name ?? "", after: rounds[to]?.name ?? "" })}>{label}</button>);
  return (
    <>
      <p class="facts"><Line text={name} />{select("before", before.name)}{select("after", after.name)}{link(nth - 1, "before", "← the rounds before")}{link(nth + 1, "after", "the next rounds →")}</p>
      <Pairs pairs={pairsOfRounds(before, after)} run={run} other={run} heads={[before.name, after.name]} />
    </>
  );
}

async function rowsOf(run: string, signal: AbortSignal): Promise<Map<string, StepRow>> {
  let rows = new Map<string, StepRow>();
  for (let after: number | null | undefined = undefined; after !== null; ) {
    const page: Steps = await json(`runs/${encodeURIComponent(run)}/steps?limit=2000${after === undefined ? "" : `&after=${after}`}`, { signal });
    rows = taken(rows, page.steps);
    after = page.next;
  }
  return rows;
}

function WithOrigin({ run, origin, rows }: { run: string; origin: string; rows: ReadonlyMap<string, StepRow> }): JSX.Element {
  const loaded = useLoaded<Map<string, StepRow>>((signal) => rowsOf(origin, signal), [origin], (change) => change.run === origin);
  return <Shown of={loaded}>{(before) => <Pairs pairs={pairsOfRuns(before, rows)} run={run} other={origin} heads={["the run that it comes from", "this fork"]} />}</Shown>;
}

function Pairs({ pairs, run, other, heads }: { pairs: readonly Pair[]; run: string; other: string; heads: [string, string] }): JSX.Element {
  const differing = pairs.filter((pair) => !isAlike(pair));
  const alike = pairs.length - differing.length;
  return (
    <>
      {alike > 0 && <p class="note">{`${plural(alike, "visit")} came to the same.`}</p>}
      {differing.length === 0 ? <p class="empty">Nothing differs in what the steps came to. What they wrote may differ: it is compared where a visit is shown.</p> : (
        <div class="across" tabIndex={0} role="region" aria-label="what differs">
          <table class="between">
            <thead><tr><th scope="col">step</th><th scope="col">{heads[0]}</th><th scope="col">{heads[1]}</th><th scope="col">compare</th></tr></thead>
            <tbody>
              {differing.slice(0, MOST).map((pair) => (
                <tr key={pair.name}>
                  <th scope="row"><Line text={pair.name} /></th>
                  <td><Came row={pair.before} run={other} /></td>
                  <td><Came row={pair.after} run={run} /></td>
                  <td>{pair.before !== undefined && pair.after !== undefined && pair.before.attempts > 0 && pair.after.attempts > 0 && <a href={`${at("r", run, "at", pair.after.place)}?${new URLSearchParams({ compare: nameInAddress(run, other, `${pair.before.place}.${pair.before.attempts}`) })}`}>what they wrote</a>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {differing.length > MOST && <p class="note">{`and ${plural(differing.length - MOST, "more visit")}`}</p>}
    </>
  );
}

/** The result of a visit. */
function Came({ row, run }: { row: StepRow | undefined; run: string }): JSX.Element {
  if (row === undefined) return <span class="note">not there</span>;
  return (
    <>
      <a href={at("r", run, "at", row.place)}><State of={row.state} /></a> <Line text={row.summary} />
      <span class="note">{[row.attempts > 1 && ` attempt ${row.attempts}`, row.took_ms !== null && ` ${duration(row.took_ms)}`, row.cost_usd !== null && ` $${row.cost_usd}`].filter(Boolean).join(" ·")}</span>
    </>
  );
}
