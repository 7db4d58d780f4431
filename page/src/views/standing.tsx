/** The activity of a run, or its wait, in sentences: the first thing that a person wants to know of it. */

import type { JSX } from "preact";

import { firstFailure } from "../model/failure.js";
import { moment, plural, since, until, when } from "../model/words.js";
import { State, now } from "../parts/status.js";
import { Line, Words } from "../parts/untrusted.js";
import { at } from "../state/router.js";
import type { Run, RunSoFar, StepRow } from "../wire/api.js";
import { Code } from "./code.js";

/** The account that it waits for, in the words of the terminal. */
export function waitsFor({ waits_for: wait }: Run): string | undefined {
  if (wait === null) return undefined;
  return wait.resets_at === null ? `waiting for ${wait.account}, next try ${when(wait.next_try)}` : `waiting for ${wait.account} until ${moment(wait.resets_at)}`;
}

/** Its state, as in the terminal: the server's word, and since or until when; further facts follow it. */
export function standsIn(run: Run): string {
  const ago = run.activity_since === null ? "" : ` ${since(run.activity_since, now.value)} ago`;
  const word = { set_aside: `set aside${ago}`, stopped: `stopped${ago}`, waiting_for_account: waitsFor(run) }[run.stands as string] ?? run.stands.replaceAll("_", " ");
  return `${word}${run.in_doubt ? " (in doubt)" : ""}${run.files_half_set_back ? " (files half set back)" : ""}`;
}

/** Whether it goes on by itself only with the next try of a step: its sign shows that, its word is that of the terminal. */
const isRetried = (run: Run, soFar: Pick<RunSoFar, "next_try_at"> | undefined): boolean => soFar?.next_try_at != null && run.live_attempts === 0 && run.stands === "running";

/** The state of a run, in the sign of what a person has to know first. */
export function RunState({ run, soFar }: { run: Run; soFar: Pick<RunSoFar, "next_try_at"> | undefined }): JSX.Element {
  const isBlocked = ["set_aside", "stopped", "running_without_an_engine"].includes(run.stands);
  const sign = run.in_doubt && !isBlocked ? "in_doubt" : isRetried(run, soFar) ? "held" : run.stands;
  const words = standsIn(run);
  return <State of={sign} words={words === run.stands ? undefined : words} />;
}

/** The same of a run whose rows are there: both screens say one thing. */
export const nextTryIn = (rows: ReadonlyMap<string, StepRow>): Pick<RunSoFar, "next_try_at"> => ({ next_try_at: [...rows.values()].find((row) => row.next_try_at !== null)?.next_try_at ?? null });

/** Nothing starts in it until a person resumes it. */
export const needsResume = (run: Run): boolean => run.set_aside !== null || run.stands === "stopped" || run.stands === "running_without_an_engine";

/** For the list of runs: the reason of its end, or its activity. */
export function inShort(run: Run, soFar?: RunSoFar): string {
  const at = run.step === null ? "" : `at ${run.step}`;
  if (run.set_aside !== null) return `${run.set_aside.code}: ${run.set_aside.reason}`;
  const waits = run.stands === "waiting_for_account" ? undefined : waitsFor(run);
  return run.reason ?? [at, waits ?? (isRetried(run, soFar) ? `next try ${when(soFar?.next_try_at ?? "")}` : "")].filter((each) => each !== "").join(", ");
}

/** Rows of one kind that are named one by one. */
const MOST = 4;

interface Props {
  run: Run;
  rows: ReadonlyMap<string, StepRow>;
  /** Whether these are all of its rows. */
  isWhole: boolean;
}

export function Standing({ run, rows, isWhole }: Props): JSX.Element {
  const all = [...rows.values()];
  const failed = run.status === "failed" || run.status === "exhausted" ? firstFailure(rows, isWhole) : undefined;
  const asks = all.filter((row) => row.question !== null);
  const retries = run.waits_for === null ? all.filter((row) => row.next_try_at !== null) : [];
  const running = all.filter((row) => row.state === "running" && row.attempts > 0);
  const wait = waitsFor(run);
  return (
    <div class="standing">
      {run.set_aside !== null && (
        <div class="trouble">
          <p>Set aside, so that other runs are not held up: <Line text={run.set_aside.reason} /></p>
          {run.set_aside.evidence !== "" && run.set_aside.evidence !== run.set_aside.reason && <p class="note"><Line text={run.set_aside.evidence} /></p>}
          <p class="note">Correct the cause, then choose “Go on …”. What the code means: <Code code={run.set_aside.code} /></p>
        </div>
      )}
      {run.reason !== null && <Words text={run.reason} from={`it ended: ${run.terminal_reason ?? run.status}`} />}
      {failed !== undefined && (
        <p>
          The first failure: <a href={at("r", run.run, "at", failed.place)}><Line text={failed.place} /></a> <Line text={failed.summary} />{" "}
          <a class="button small" href={at("r", run.run, "why")}>why</a>
        </p>
      )}
      {run.stands === "stopped" && <p class="warn">Nothing works on it. “Go on …” takes it up.</p>}
      {run.stands === "running_without_an_engine" && <p class="warn">No engine goes on with it, and its step still works: its end is not lost. “Go on …” waits for the step and goes on.</p>}
      {run.files_half_set_back && <p class="warn">Its files may be half set back, unless somebody is at it now. <code>envoi show {run.run}</code> says what completes it.</p>}
      {asks.length > 0 && (
        <ul class="plain">
          {asks.slice(0, MOST).map((row) => <li key={row.place}><a class="button" href={at("q", row.question ?? "")}>{row.state === "in_doubt" ? "Decide" : "Answer"}: <Line text={row.place} /></a></li>)}
          {asks.length > MOST && <li><a href="#/inbox">{plural(asks.length, "question")}</a></li>}
        </ul>
      )}
      {wait !== undefined && run.waits_for !== null && (
        <p class="warn">
          It is <Line text={wait} />{run.waits_for.resets_at !== null && <> (in {until(run.waits_for.resets_at, now.value)})</>}. The account is at its limit; the next try begins by itself {when(run.waits_for.next_try)}, and
          no process waits meanwhile.
        </p>
      )}
      {retries.slice(0, MOST).map((row) => (
        <p key={row.place} class="warn">
          <a href={at("r", run.run, "at", row.place)}><Line text={row.place} /></a> is tried again {when(row.next_try_at ?? "")}, in {until(row.next_try_at ?? "", now.value)}. Attempt {row.attempts}: <Line text={row.summary} />
        </p>
      ))}
      {retries.length > MOST && <p class="warn">{plural(retries.length - MOST, "more step")} will be tried again.</p>}
      {running.length > 0 && (
        <p>
          Now: {running.slice(0, MOST).map((row, nth) => <span key={row.place}>{nth > 0 && ", "}<a href={at("r", run.run, "at", row.place)}><Line text={row.place} /></a> for {since(row.started_at, now.value)}</span>)}
          {running.length > MOST && ` and ${running.length - MOST} more`}
        </p>
      )}
    </div>
  );
}
