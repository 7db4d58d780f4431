/**
 * What changes by itself, for people who do not see it: one sentence at a time, at most one in five seconds (WCAG 4.1.3). It can be
 * switched off on the help screen (WCAG 2.2.2).
 */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { settings } from "../state/settings.js";
import type { Run, StepRow } from "../wire/api.js";
import { named } from "./untrusted.js";

const EVERY_MS = 5_000;

const said = signal("");
let waiting: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function next(): void {
  timer = undefined;
  const [first, ...more] = waiting;
  if (first === undefined) return;
  waiting = [];
  said.value = more.length === 0 ? first : `${first} And ${more.length} more ${more.length === 1 ? "change" : "changes"}.`;
  timer = setTimeout(next, EVERY_MS);
}

/** Says a sentence as soon as it may. What comes meanwhile is counted. */
export function say(sentence: string): void {
  if (!settings.value.aloud) return;
  waiting.push(named(sentence));
  if (timer === undefined) next();
}

/** Says of a run what has changed since the last look: its state, what asks, what has failed. */
export function useRunAloud(run: Run, rows: ReadonlyMap<string, StepRow>, isWhole: boolean): void {
  const last = useRef<{ run: string; state: string; told: ReadonlySet<string> } | undefined>(undefined);
  useEffect(() => {
    if (!isWhole) return;
    const told = new Map([...rows.values()].flatMap((row) => (row.question !== null ? [[`asks ${row.place}`, `${row.place} asks.`]] : row.state === "failed" && row.items === null ? [[`failed ${row.place}`, `${row.place} has failed.`]] : []) as [string, string][]));
    const state = `${run.stands.replaceAll("_", " ")}${run.in_doubt ? " (in doubt)" : ""}`;
    const before = last.current;
    last.current = { run: run.run, state, told: new Set(told.keys()) };
    if (before?.run !== run.run) return;
    if (state !== before.state) say(`The run of ${run.flow} is now: ${state}.`);
    for (const [key, sentence] of told) if (!before.told.has(key)) say(sentence);
  }, [run, rows, isWhole]);
}

export const Aloud = (): JSX.Element => <p class="hidden" id="aloud" role="status" aria-live="polite">{said.value}</p>;
