/** Why a run went the way it did: the rule that decided, what it goes by, the rules that did not decide. */

import type { ComponentChildren, JSX } from "preact";

import { Line } from "./untrusted.js";

type Members = Readonly<Record<string, unknown>>;

const members = (value: unknown): Members => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {});
const text = (value: unknown): string => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));

/** The signal of a visit, in a line. */
export function signalled(signal: unknown): string {
  const { decision, reason, confidence } = members(signal);
  return `${text(decision)}${confidence === undefined ? "" : ` (${text(confidence)})`}: ${text(reason)}`;
}

/** The rules, in the order in which they are tried. */
export function Rules({ audit, children }: { audit: unknown; children?: ComponentChildren }): JSX.Element | null {
  if (typeof audit === "string") return <p class="note"><Line text={audit} /></p>;
  const { row, fired_because: because, passed_over: passed } = members(audit);
  if (row === undefined) return null;
  const others = Object.entries(members(passed)).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  return (
    <dl class="rules">
      <div class="fired"><dt>rule {text(row)}</dt><dd><b>decided:</b> <Line text={text(because)} /></dd></div>
      {others.map(([name, why]) => <div key={name}><dt>rule {name}</dt><dd>not: <Line text={text(why)} /></dd></div>)}
      {children}
    </dl>
  );
}
