/** The use of a run and its limits, and the use of each step. Unknown amounts are named, not added up. */

import type { JSX } from "preact";

import { every, type Node } from "../model/tree.js";
import { nano, ofNano, usedBy, type Used } from "../model/used.js";
import { duration, plural } from "../model/words.js";
import { useWorstCase } from "../parts/plan.js";
import { Line } from "../parts/untrusted.js";
import type { Amounts, ModelAmounts, RunLedger } from "../wire/api.js";

/** The bounds, in the order in which they are shown. */
const ROWS: readonly [member: keyof Amounts & keyof RunLedger["limits"], name: string][] = [
  ["cost_usd", "dollars"],
  ["agent_hops", "attempts"],
  ["llm_calls", "model calls"],
  ["iterations", "loop-backs"],
  ["rounds", "rounds of goals"],
  ["wall_time_ms", "time of work"],
  ["waiting_ms", "waiting for accounts"],
];

/** The amounts that exist for a step. */
const OF_STEPS = ROWS.filter(([member]) => member !== "waiting_ms");

const shown = (member: keyof Amounts, value: string | number): string => (member === "cost_usd" ? `$${value}` : member === "wall_time_ms" || member === "waiting_ms" ? duration(Number(value)) : String(value));

/** The dollars that are known to be used, and how many amounts are not. */
export function dollars(used: string, limit: string | null, unknown: number): string {
  return `${unknown > 0 ? "≥ " : ""}$${used}${limit === null ? "" : ` of $${limit}`}${unknown > 0 ? ` · ${unknown} unknown` : ""}`;
}

export const unknownIn = (ledger: RunLedger): number => ledger.used.unknown_costs;

/** Before an amount of which a part is not known. */
function least(amounts: Amounts, member: keyof Amounts): string {
  const unknown = { cost_usd: amounts.unknown_costs, llm_calls: amounts.unknown_calls, tokens_in: amounts.unknown_tokens, tokens_out: amounts.unknown_tokens };
  return member in unknown && unknown[member as keyof typeof unknown] > 0 ? "≥ " : "";
}

const tokens = (amounts: Amounts): string => `${least(amounts, "tokens_in")}${amounts.tokens_in} in, ${least(amounts, "tokens_out")}${amounts.tokens_out} out`;

/** Nothing, of numbers and of dollars. */
const isNone = (value: string | number): boolean => Number(value) === 0;

export function Cost({ ledger, flow, nodes }: { ledger: RunLedger; flow: string; nodes: readonly Node[] }): JSX.Element {
  // A flow that is not registered has no plan at the server.
  const worst = useWorstCase(flow);
  const { used, own_used: own, reserved, raised, limits } = ledger;
  const rows = ROWS.filter(([member]) => member !== "waiting_ms" || used.waiting_ms > 0 || limits.waiting_ms !== null);
  const isFamily = ROWS.some(([member]) => String(used[member]) !== String(own[member]));
  const of = (count: number) => plural(count, "attempt or call", "attempts and calls");
  const unknown = [
    used.unknown_costs > 0 && `the cost of ${of(used.unknown_costs)}`,
    used.unknown_calls > 0 && `how many calls ${of(used.unknown_calls)} made`,
    used.unknown_tokens > 0 && `the tokens of ${of(used.unknown_tokens)}`,
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
                  <td class="amount">{least(used, member)}{shown(member, used[member])}</td>
                  {isFamily && <td class="amount">{least(own, member)}{shown(member, own[member])}</td>}
                  <td class="amount">{isNone(reserved[member]) ? "–" : shown(member, reserved[member])}</td>
                  <td class="amount">{limit === null ? "none" : shown(member, limit)}{!isNone(raised[member]) && <span class="note"> raised by {shown(member, raised[member])}</span>}</td>
                  {worst !== undefined && <td class="amount">{worst[member] ?? "–"}</td>}
                </tr>
              );
            })}
            <tr><th scope="row">tokens</th><td class="amount">{tokens(used)}</td>{isFamily && <td class="amount">{tokens(own)}</td>}<td class="amount">–</td><td class="amount">none</td>{worst !== undefined && <td class="amount">–</td>}</tr>
          </tbody>
        </table>
      </div>
      {isFamily && <p class="note">Runs that were forked from each other share their limits.</p>}
      <Models ledger={ledger} />
      <Rounds nodes={nodes} isAtLeast={unknown.length > 0 || ledger.by_model.some((each) => each.unknown_costs > 0)} />
      <Steps ledger={ledger} />
    </>
  );
}

/** The part of the limit that is used, for the eye: the cell beside it has the text. */
const Share = ({ of, most }: { of: number; most: number }): JSX.Element => <td class="share"><span aria-hidden="true" style={{ width: `${most === 0 ? 0 : Math.max(of > 0 ? 2 : 0, (of / most) * 100)}%` }} /></td>;

const most = (all: readonly number[]): number => all.reduce((found, each) => Math.max(found, each), 0);

const counted = (count: number, isAtLeast: boolean): string => (isAtLeast ? `≥ ${count}` : count === 0 ? "–" : String(count));

function Models({ ledger: { by_model: models, own_used: own } }: { ledger: RunLedger }): JSX.Element | null {
  const total = (of: (each: ModelAmounts) => number): number => models.reduce((sum, each) => sum + of(each), 0);
  const rest = {
    llm_calls: own.llm_calls - total(({ llm_calls }) => llm_calls),
    cost: nano(own.cost_usd) - models.reduce((sum, each) => sum + nano(each.cost_usd), 0n),
    tokens_in: own.tokens_in - total((each) => each.tokens_in),
    tokens_out: own.tokens_out - total((each) => each.tokens_out),
  };
  const hasRest = rest.llm_calls > 0 || rest.cost > 0n || rest.tokens_in > 0 || rest.tokens_out > 0;
  if (models.length === 0 && !hasRest) return null;
  const byCost = models.some((each) => nano(each.cost_usd) > 0n) || rest.cost > 0n;
  const weight = (each: ModelAmounts): number => (byCost ? Number(each.cost_usd) : each.tokens_in + each.tokens_out);
  const restWeight = byCost ? Number(rest.cost) / 1e9 : rest.tokens_in + rest.tokens_out;
  const all = [...models].sort((a, b) => weight(b) - weight(a) || b.llm_calls - a.llm_calls);
  const top = most([...all.map(weight), restWeight]);
  return (
    <>
      <h2>By model, the dearest first</h2>
      <div class="across" tabIndex={0} role="region" aria-label="what each model was used for">
        <table>
          <thead><tr><th scope="col">model</th><th scope="col">dollars</th><td class="share" /><th scope="col">calls</th><th scope="col">tokens in</th><th scope="col">tokens out</th><th scope="col">not known</th></tr></thead>
          <tbody>
            {all.map((each) => (
              <tr key={`${each.provider} ${each.model}`}>
                <th scope="row"><Line text={each.model} />{each.provider !== null && <span class="note"> of <Line text={each.provider} />, through the bridge</span>}</th>
                <td class="amount">{each.unknown_costs > 0 && "≥ "}${each.cost_usd}</td>
                <Share of={weight(each)} most={top} />
                <td class="amount">{each.llm_calls}</td>
                <td class="amount">{counted(each.tokens_in, each.unknown_tokens > 0)}</td><td class="amount">{counted(each.tokens_out, each.unknown_tokens > 0)}</td>
                <td>{[each.unknown_costs > 0 && `the cost of ${plural(each.unknown_costs, "call")}`, each.unknown_tokens > 0 && `the tokens of ${plural(each.unknown_tokens, "call")}`].filter(Boolean).join(", ") || "–"}</td>
              </tr>
            ))}
            {hasRest && (
              <tr>
                <th scope="row">as programs reported</th>
                <td class="amount">${ofNano(rest.cost)}</td>
                <Share of={restWeight} most={top} />
                <td class="amount">{counted(Math.max(0, rest.llm_calls), false)}</td><td class="amount">{counted(Math.max(0, rest.tokens_in), false)}</td><td class="amount">{counted(Math.max(0, rest.tokens_out), false)}</td>
                <td>which models</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Each loop with its rounds, in their order. */
function Rounds({ nodes, isAtLeast }: { nodes: readonly Node[]; isAtLeast: boolean }): JSX.Element | null {
  const loops = every(nodes).filter((node) => node.group?.kind === "loop");
  if (loops.length === 0) return null;
  return (
    <>
      <h2>By round of a loop</h2>
      {loops.map((loop) => {
        const rounds = loop.parts.map((part, nth) => ({ name: part.group === undefined ? `visit ${part.row?.visit ?? nth + 1}` : part.name, ...usedBy(part), words: part.group?.words ?? part.row?.summary ?? "" }));
        const byCost = rounds.some(({ cost }) => cost > 0n);
        const weight = (each: Used): number => (byCost ? Number(each.cost) : each.workMs);
        const top = most(rounds.map(weight));
        return (
          <div key={loop.place} class="across" tabIndex={0} role="region" aria-label={`what each round of ${loop.name} used`}>
            <table>
              <caption><Line text={loop.name} /></caption>
              <thead><tr><th scope="col">round</th><th scope="col">dollars</th><td class="share" /><th scope="col">attempts</th><th scope="col">time of work</th><th scope="col">sent back because</th></tr></thead>
              <tbody>
                {rounds.map((each) => (
                  <tr key={each.name}>
                    <th scope="row">{each.name}</th>
                    <td class="amount">{isAtLeast && "≥ "}${ofNano(each.cost)}</td>
                    <Share of={weight(each)} most={top} />
                    <td class="amount">{each.attempts || "–"}</td>
                    <td class="amount">{each.workMs === 0 ? "–" : duration(each.workMs)}</td>
                    <td class="words-of"><Line text={each.words} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      })}
      {isAtLeast && <p class="note">In which of these rounds the unknown amounts arose is not counted: each amount is the least.</p>}
    </>
  );
}

/** The use of a step; a dash for nothing. */
const amount = (amounts: Amounts, member: keyof Amounts): string => (isNone(amounts[member]) && least(amounts, member) === "" ? "–" : least(amounts, member) + shown(member, amounts[member]));

function Steps({ ledger }: { ledger: RunLedger }): JSX.Element | null {
  const all = Object.entries(ledger.by_step as Record<string, Amounts>).sort(([, a], [, b]) => Number(b.cost_usd) - Number(a.cost_usd) || b.wall_time_ms - a.wall_time_ms);
  if (all.length === 0) return null;
  const weight = (amounts: Amounts): number => (all.some(([, each]) => Number(each.cost_usd) > 0) ? Number(amounts.cost_usd) : amounts.wall_time_ms);
  const top = most(all.map(([, amounts]) => weight(amounts)));
  return (
    <>
      <h2>By step, the dearest first</h2>
      <div class="across" tabIndex={0} role="region" aria-label="what each step used">
        <table>
          <thead><tr><th scope="col">step</th><td class="share" />{OF_STEPS.map(([member, name]) => <th scope="col" key={member}>{name}</th>)}<th scope="col">tokens in</th><th scope="col">tokens out</th></tr></thead>
          <tbody>
            {all.map(([step, amounts]) => (
              <tr key={step}>
                <th scope="row"><Line text={step} /></th>
                <Share of={weight(amounts)} most={top} />
                {OF_STEPS.map(([member]) => <td class="amount" key={member}>{amount(amounts, member)}</td>)}
                <td class="amount">{amount(amounts, "tokens_in")}</td><td class="amount">{amount(amounts, "tokens_out")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
