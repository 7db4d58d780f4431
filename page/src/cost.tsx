/** What a run has used of what it may use, and which step used it. What is not known is said, not added up. */

import type { JSX } from "preact";

import type { Amounts, RunLedger } from "./api.js";
import { Line } from "./foreign.js";
import { useWorstCase } from "./plan.js";
import { duration, plural } from "./words.js";

/** The bounds, in the order in which they are shown. */
const ROWS: readonly [member: keyof Amounts & keyof RunLedger["limits"], name: string][] = [
  ["cost_usd", "dollars"],
  ["agent_hops", "attempts"],
  ["llm_calls", "model calls"],
  ["iterations", "loop-backs"],
  ["rounds", "rounds"],
  ["wall_time_ms", "time of work"],
  ["waiting_ms", "waiting for accounts"],
];

/** What a step has an account of. */
const OF_STEPS = ROWS.filter(([member]) => member !== "waiting_ms");

const shown = (member: keyof Amounts, value: string | number): string => (member === "cost_usd" ? `$${value}` : member === "wall_time_ms" || member === "waiting_ms" ? duration(Number(value)) : String(value));

/** The dollars that are known to be used, and how many amounts are not. */
export function dollars(used: string, limit: string | null, unknown: number): string {
  return `${unknown > 0 ? "≥ " : ""}$${used}${limit === null ? "" : ` of $${limit}`}${unknown > 0 ? ` · ${unknown} unknown` : ""}`;
}

export const unknownIn = (ledger: RunLedger): number => ledger.unpriced_calls + ledger.attempts_in_doubt;

/** Nothing, of numbers and of dollars. */
const isNone = (value: string | number): boolean => Number(value) === 0;

export function Cost({ ledger, flow }: { ledger: RunLedger; flow: string }): JSX.Element {
  // A flow that is not registered has no plan at the server.
  const worst = useWorstCase(flow);
  const { used, own_used: own, reserved, raised, limits } = ledger;
  const rows = ROWS.filter(([member]) => member !== "waiting_ms" || used.waiting_ms > 0 || limits.waiting_ms !== null);
  const isFamily = ROWS.some(([member]) => String(used[member]) !== String(own[member]));
  const unknown = [
    ledger.unpriced_calls > 0 && `the cost of ${plural(ledger.unpriced_calls, "model call")}`,
    ledger.attempts_in_doubt > 0 && `what ${plural(ledger.attempts_in_doubt, "attempt")} in doubt used; the most that they may use is counted`,
  ].filter((each) => each !== false);
  return (
    <>
      {unknown.length > 0 && <p class="trouble">Not known: {unknown.join(", and ")}.</p>}
      <div class="across" tabIndex={0} role="region" aria-label="what was used">
        <table>
          <thead><tr><th scope="col">what</th><th scope="col">used</th>{isFamily && <th scope="col">of that by this run</th>}<th scope="col">reserved</th><th scope="col">limit</th>{worst !== undefined && <th scope="col">at most, by its flow</th>}</tr></thead>
          <tbody>
            {rows.map(([member, name]) => {
              const limit = limits[member];
              return (
                <tr key={member}>
                  <th scope="row">{name}</th>
                  <td class="amount">{member === "cost_usd" && unknown.length > 0 && "≥ "}{shown(member, used[member])}</td>
                  {isFamily && <td class="amount">{shown(member, own[member])}</td>}
                  <td class="amount">{isNone(reserved[member]) ? "–" : shown(member, reserved[member])}</td>
                  <td class="amount">{limit === null ? "none" : shown(member, limit)}{!isNone(raised[member]) && <span class="note"> raised by {shown(member, raised[member])}</span>}</td>
                  {worst !== undefined && <td class="amount">{worst[member] ?? "–"}</td>}
                </tr>
              );
            })}
            <tr><th scope="row">tokens</th><td class="amount">{`${used.tokens_in} in, ${used.tokens_out} out`}</td>{isFamily && <td class="amount">{`${own.tokens_in} in, ${own.tokens_out} out`}</td>}<td class="amount">–</td><td class="amount">none</td>{worst !== undefined && <td class="amount">–</td>}</tr>
          </tbody>
        </table>
      </div>
      {isFamily && <p class="note">Runs that were forked from each other share their limits.</p>}
      <Steps ledger={ledger} />
    </>
  );
}

function Steps({ ledger }: { ledger: RunLedger }): JSX.Element | null {
  const all = Object.entries(ledger.by_step as Record<string, Amounts>).sort(([, a], [, b]) => Number(b.cost_usd) - Number(a.cost_usd) || b.wall_time_ms - a.wall_time_ms);
  if (all.length === 0) return null;
  return (
    <>
      <h2>By step, the dearest first</h2>
      <div class="across" tabIndex={0} role="region" aria-label="what each step used">
        <table>
          <thead><tr><th scope="col">step</th>{OF_STEPS.map(([member, name]) => <th scope="col" key={member}>{name}</th>)}<th scope="col">tokens in</th><th scope="col">tokens out</th></tr></thead>
          <tbody>
            {all.map(([step, amounts]) => (
              <tr key={step}>
                <th scope="row"><Line text={step} /></th>
                {OF_STEPS.map(([member]) => <td class="amount" key={member}>{isNone(amounts[member]) ? "–" : shown(member, amounts[member])}</td>)}
                <td class="amount">{amounts.tokens_in || "–"}</td><td class="amount">{amounts.tokens_out || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
