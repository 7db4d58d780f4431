/** The worst case of a run of a flow: in a line beside the start, and step by step. */

import type { JSX } from "preact";

import { duration } from "../model/words.js";
import { useLoaded } from "../state/load.js";
import type { FlowPlan, Most, PlannedStep } from "../wire/api.js";
import { json } from "../wire/request.js";
import { Shown } from "./status.js";
import { Line } from "./untrusted.js";

const most = (value: Most): string => (typeof value === "number" ? String(value) : `more than ${value.more_than}`);
const time = (value: Most | null): string => (value === null ? "not bounded" : typeof value === "number" ? duration(value) : "more than can be counted");

function usePlan(flow: string): ReturnType<typeof useLoaded<FlowPlan>> {
  return useLoaded<FlowPlan>((signal) => json(`flows/${encodeURIComponent(flow)}/plan`, { signal }), [flow], () => false);
}

/** The worst case of a run of the flow, by the names of the ledger; undefined if it is not known. */
export function useWorstCase(flow: string): Readonly<Record<string, string>> | undefined {
  const plan = usePlan(flow).value;
  if (plan === undefined) return undefined;
  return {
    cost_usd: plan.cost_usd === null ? "not bounded" : `$${plan.cost_usd}`,
    agent_hops: most(plan.attempts),
    llm_calls: plan.llm_calls === null ? "not bounded" : most(plan.llm_calls),
    iterations: most(plan.iterations),
    rounds: plan.rounds === null ? "–" : String(plan.rounds),
    wall_time_ms: time(plan.wall_time_ms),
  };
}

/** For who starts a run: what it may cost at most. */
export function PlanInShort({ flow }: { flow: string }): JSX.Element {
  return (
    <Shown of={usePlan(flow)}>
      {(plan) => (
        <p class="note plan-short">
          {`At most ${most(plan.attempts)} attempts`}, {plan.elapsed_ms === null && plan.wall_time_ms === null ? "time not bounded" : `${time(plan.elapsed_ms ?? plan.wall_time_ms)} of work`},{" "}
          {plan.cost_usd === null ? "cost not bounded" : `$${plan.cost_usd}`}. <a href={`#/flows/${encodeURIComponent(flow)}`}>Step by step</a>
        </p>
      )}
    </Shown>
  );
}

function itemsOf({ items }: PlannedStep): string {
  if (items === null) return "";
  return items.known ? String(items.most) : `${items.most}?`;
}

export function PlanView({ flow }: { flow: string }): JSX.Element {
  return (
    <Shown of={usePlan(flow)}>
      {(plan) => {
        const hasItems = plan.steps.some(({ items }) => items !== null);
        const dominant = plan.most_attempts;
        return (
          <>
            <p>
              {`At most ${most(plan.attempts)} attempts`}, {most(plan.iterations)} loop-backs; time of work {time(plan.wall_time_ms)}
              {plan.elapsed_ms !== null && plan.elapsed_ms !== plan.wall_time_ms && <>, from start to end {time(plan.elapsed_ms)}</>}; model calls {plan.llm_calls === null ? "not bounded" : most(plan.llm_calls)}; cost{" "}
              {plan.cost_usd === null ? "not bounded" : `$${plan.cost_usd}`}. People answer when they answer.
            </p>
            {dominant !== null && (
              <p>
                Most attempts are because of <code>{dominant.key}</code>{dominant.step !== null && <> of <Line text={dominant.step} /></>}
                {dominant.line !== null && <> (<Line text={`${dominant.file ?? ""}:${dominant.line}`} />)</>}, which is {dominant.now}: one less saves {most(dominant.one_less_saves)}.
              </p>
            )}
            {plan.limits.map(({ limit }) => <p class="note" key={limit}>Lowered by <code>{`limits.${limit}`}</code>.</p>)}
            <div class="across" tabIndex={0} role="region" aria-label="worst case of each step">
              <table>
                <thead><tr><th scope="col">step</th><th scope="col">visits</th>{hasItems && <th scope="col">items</th>}<th scope="col">attempts</th><th scope="col">time limit</th><th scope="col">time</th></tr></thead>
                <tbody>
                  {plan.steps.map((step) => (
                    <tr key={`${step.flow}/${step.step}`}>
                      <th scope="row"><Line text={step.flow === plan.flow ? step.step : `${step.flow}/${step.step}`} /></th>
                      <td class="amount">{most(step.visits)}</td>
                      {hasItems && <td class="amount">{itemsOf(step)}</td>}
                      {step.asks ? <td colSpan={3}>asks a person</td> : step.inner_flow !== null ? <td colSpan={3}>runs <Line text={step.inner_flow} /></td> : (
                        <><td class="amount">{most(step.attempts)}</td><td class="amount">{step.timeout_ms === null ? "none" : duration(step.timeout_ms)}</td><td class="amount">{time(step.wall_time_ms)}</td></>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {plan.notes.map((note) => <p class="note" key={note}><Line text={note} /></p>)}
          </>
        );
      }}
    </Shown>
  );
}
