/** Two attempts, two rounds, or a fork and where it comes from: what differs in what they wrote. */

import type { JSX } from "preact";

import { diff, type Change } from "../model/diff.js";
import { filesBetween } from "../model/pairs.js";
import { plural, size } from "../model/words.js";
import { Differences, Files } from "../parts/files.js";
import { Shown } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { place, setQuery } from "../state/router.js";
import type { ChangedFile, ChangedFiles, StepRow } from "../wire/api.js";
import { tail, type Stream } from "../wire/log.js";
import { Refused, json } from "../wire/request.js";

interface Other {
  label: string;
  run: string;
  place: string;
  attempt: number;
}

/** An attempt as an address names it. */
function inAddress(own: string, name: string): Other | undefined {
  const [, run = own, place, attempt] = /^(?:([^/]+)\/)?(.+)\.(\d+)$/.exec(name) ?? [];
  return place === undefined ? undefined : { label: place, run, place, attempt: Number(attempt) };
}

/**
 * Attempts that are about the same: of this visit, of other visits of the step, of the run that this one was forked from; and the one that the address names, if it
 * is one of the same step.
 */
function others(run: string, row: StepRow, rows: ReadonlyMap<string, StepRow>, forkedFrom: string | null, attempt: number, named: Other | undefined): Other[] {
  const own: Other[] = Array.from({ length: row.attempts }, (_, nth) => nth + 1)
    .filter((nth) => nth !== attempt)
    .map((nth) => ({ label: `attempt ${nth} of this visit`, run, place: row.place, attempt: nth }));
  const visits = [...rows.values()]
    .filter((other) => other.step === row.step && other.scope === row.scope && other.item === row.item && other.place !== row.place && other.attempts > 0)
    .map((other) => ({ label: `visit ${other.visit}`, run, place: other.place, attempt: other.attempts }));
  const isOfRoot = named !== undefined && named.run === forkedFrom && named.place === row.place;
  const root = forkedFrom === null ? [] : [{ label: "the run that it was forked from", run: forkedFrom, place: row.place, attempt: isOfRoot ? named.attempt : attempt }];
  const all = [...own, ...visits, ...root];
  // In an inner flow that runs again, the same step has another place.
  const far = named?.run === run ? rows.get(named.place) : undefined;
  const isFar = far !== undefined && far.step === row.step && far.attempts >= (named?.attempt ?? 0) && !all.some((each) => each.run === run && each.place === far.place) && far.place !== row.place;
  return named !== undefined && isFar ? [...all, named] : all;
}

/** How an address names an attempt to compare with: of this run, or of another one. */
export const nameInAddress = (own: string, run: string, attempt: string): string => (run === own ? attempt : `${run}/${attempt}`);

interface Props {
  run: string;
  row: StepRow;
  rows: ReadonlyMap<string, StepRow>;
  forkedFrom: string | null;
  attempt: number;
  stream: Stream;
}

export function Compare({ run, row, rows, forkedFrom, attempt, stream }: Props): JSX.Element | null {
  // The choice is in the address, so that others see the same.
  const chosen = place.value.query.get("compare") ?? "";
  const all = others(run, row, rows, forkedFrom, attempt, inAddress(run, chosen));
  const nameOf = (other: Other): string => nameInAddress(run, other.run, `${other.place}.${other.attempt}`);
  const other = all.find((each) => nameOf(each) === chosen);
  if (all.length === 0) return null;
  return (
    <>
      <p class="facts">
        <label>compare with <select value={other === undefined ? "" : chosen} onChange={(event) => setQuery("compare", event.currentTarget.value)}>
          <option value="">nothing</option>
          {all.map((each) => <option key={nameOf(each)} value={nameOf(each)}>{each.label}</option>)}
        </select></label>
        {other === undefined && chosen !== "" && <span class="warn" role="status">The link compares with <Line text={chosen} />, which is not there.</span>}
      </p>
      {other !== undefined && <Differing other={other} own={{ label: "", run, place: row.place, attempt }} stream={stream} />}
    </>
  );
}

/** The differences; null: one of them is missing; undefined: too many. */
type Found = { handoff: Change[] | undefined | null; output: Change[] | undefined | null; isCut: boolean; files: [before: readonly ChangedFile[], after: readonly ChangedFile[]] | undefined };

/** So much of the end of each output is compared. */
const MOST_BYTES = 1024 * 1024;

async function handoffOf({ run, place }: Other, signal: AbortSignal): Promise<string> {
  const { summary = "", error } = await json<{ summary?: string; error?: string | null }>(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(place)}`, { signal });
  return error == null ? summary : `${summary}\n${error}`;
}

/** The changes of a visit; none, if the run has no such visit. */
async function filesOf({ run, place }: Other, signal: AbortSignal): Promise<readonly ChangedFile[]> {
  try {
    return (await json<ChangedFiles>(`runs/${encodeURIComponent(run)}/files?place=${encodeURIComponent(place)}`, { signal })).files;
  } catch (error) {
    if (error instanceof Refused && (error.status === 400 || error.status === 404)) return [];
    throw error;
  }
}

async function between(get: (of: Other) => Promise<string>, before: Other, after: Other): Promise<Change[] | undefined | null> {
  try {
    const [a, b] = await Promise.all([get(before), get(after)]);
    return diff(a, b);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

function Differing({ other, own, stream }: { other: Other; own: Other; stream: Stream }): JSX.Element {
  const loaded = useLoaded<Found>(
    async (signal) => {
      let isCut = false;
      const written = async (of: Other): Promise<string> => {
        const { text, from } = await tail(of.run, `${of.place}.${of.attempt}`, stream, signal, MOST_BYTES);
        isCut ||= from > 0;
        // The first line of a part is a part of a line.
        return from > 0 ? text.slice(text.indexOf("\n") + 1) : text;
      };
      // Attempts of one visit have one hand-off, and change the same files.
      const isVisit = other.place !== own.place || other.run !== own.run;
      const [handoff, output, before, after] = await Promise.all([
        isVisit ? between((of) => handoffOf(of, signal), other, own) : [],
        between(written, other, own),
        isVisit ? filesOf(other, signal) : [],
        isVisit ? filesOf(own, signal) : [],
      ]);
      return { handoff, output, isCut, files: isVisit ? [before, after] : undefined };
    },
    [JSON.stringify([other, own]), stream],
    () => false,
  );
  const shown = (what: string, changes: Change[] | undefined | null): JSX.Element | null => {
    if (changes === null) return <p class="note">{`There is no ${what} there.`}</p>;
    if (changes === undefined) return <p class="note">{`Too much differs in ${what} to be compared.`}</p>;
    const count = changes.filter(({ kind }) => kind === "added" || kind === "removed").length;
    return count === 0 ? <p class="note">{`No difference in ${what}.`}</p> : <><p class="note">{`${what}: ${plural(count, "line differs", "lines differ")}`}</p><Differences changes={changes} /></>;
  };
  return (
    <section aria-label={`compared with ${other.label}`}>
      <Shown of={loaded}>{({ handoff, output, isCut, files }) => (
        <>
          {(handoff === null || handoff === undefined || handoff.length > 0) && shown("hand-off", handoff)}
          {shown(isCut ? `the last ${size(MOST_BYTES)} of ${stream}` : stream, output)}
          {files !== undefined && <DifferingFiles run={own.run} other={other} before={files[0]} after={files[1]} />}
          {isCut && <p class="warn">{`What stands before the last ${size(MOST_BYTES)} of an output is not compared.`}</p>}
        </>
      )}</Shown>
    </section>
  );
}

/** The files that both have changed, each beside what the other one made of it; and those that one of them left alone. */
function DifferingFiles({ run, other, before, after }: { run: string; other: Other; before: readonly ChangedFile[]; after: readonly ChangedFile[] }): JSX.Element | null {
  if (before.length + after.length === 0) return null;
  const { differing, same, onlyBefore, onlyAfter } = filesBetween(before, after);
  const named = (paths: readonly string[]): JSX.Element[] => paths.map((path, nth) => <span key={path}>{nth > 0 && ", "}<Line text={path} /></span>);
  return (
    <section aria-label="files of both">
      {differing.length > 0 ? <><p class="note">{`${plural(differing.length, "file differs", "files differ")}, each against what ${other.label} made of it:`}</p><Files run={run} before={other.run} files={differing} /></> : <p class="note">{`No difference in the ${plural(same.length, "file")} that both have changed.`}</p>}
      {differing.length > 0 && same.length > 0 && <p class="note">The same in both: {named(same)}</p>}
      {onlyBefore.length > 0 && <p class="note">Changed by {other.label} alone: {named(onlyBefore)}</p>}
      {onlyAfter.length > 0 && <p class="note">Changed by this visit alone: {named(onlyAfter)}</p>}
    </section>
  );
}
