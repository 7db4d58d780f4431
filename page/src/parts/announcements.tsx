/**
 * Changes that happen by themselves, for people who do not see them: one sentence at a time, at most one in five seconds (WCAG
 * 4.1.3). It can be switched off on the help screen (WCAG 2.2.2).
 */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { settings } from "../state/settings.js";
import type { Run, StepRow } from "../wire/api.js";
import { named } from "./untrusted.js";

const EVERY_MS = 5_000;

const announcement = signal("");
let queue: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function next(): void {
  timer = undefined;
  const [first, ...more] = queue;
  if (first === undefined) return;
  queue = [];
  announcement.value = more.length === 0 ? first : `${first} And ${more.length} more ${more.length === 1 ? "change" : "changes"}.`;
  timer = setTimeout(next, EVERY_MS);
}

/** Announces a sentence as soon as it may. Later ones are counted meanwhile. */
export function announce(sentence: string): void {
  if (!settings.value.announces) return;
  queue.push(named(sentence));
  if (timer === undefined) next();
}

/** Announces the changes of a run since the last look: its state, its questions, its failures. */
export function useRunAnnouncements(run: Run, rows: ReadonlyMap<string, StepRow>, isWhole: boolean): void {
  const last = useRef<{ run: string; state: string; announced: ReadonlySet<string> } | undefined>(undefined);
  useEffect(() => {
    if (!isWhole) return;
    const announced = new Map([...rows.values()].flatMap((row) => (row.question !== null ? [[`asks ${row.place}`, `${row.place} asks.`]] : row.state === "failed" && row.items === null ? [[`failed ${row.place}`, `${row.place} has failed.`]] : []) as [string, string][]));
    const state = `${run.stands.replaceAll("_", " ")}${run.in_doubt ? " (in doubt)" : ""}`;
    const before = last.current;
    last.current = { run: run.run, state, announced: new Set(announced.keys()) };
    if (before?.run !== run.run) return;
    if (state !== before.state) announce(`The run of ${run.flow} is now: ${state}.`);
    for (const [key, sentence] of announced) if (!before.announced.has(key)) announce(sentence);
  }, [run, rows, isWhole]);
}

export const Announcements = (): JSX.Element => <p class="hidden" id="aloud" role="status" aria-live="polite">{announcement.value}</p>;
