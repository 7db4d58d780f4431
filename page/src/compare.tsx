/** Two attempts, two rounds, or a fork and where it comes from: what differs in what they wrote. */

import { useState } from "preact/hooks";
import type { JSX } from "preact";

import type { StepRow } from "./api.js";
import { diff, type Change } from "./diff.js";
import { Differences } from "./files.js";
import { useLoaded } from "./load.js";
import { tail, type Stream } from "./log.js";
import { Shown } from "./parts.js";
import { plural, size } from "./words.js";
import { Refused, json } from "./wire.js";

interface Other {
  label: string;
  run: string;
  place: string;
  attempt: number;
}

/** Attempts that are about the same: of this visit, of other visits of the step, of the run that this one was forked from. */
function others(run: string, row: StepRow, rows: ReadonlyMap<string, StepRow>, forkedFrom: string | null, attempt: number): Other[] {
  const own: Other[] = Array.from({ length: row.attempts }, (_, nth) => nth + 1)
    .filter((nth) => nth !== attempt)
    .map((nth) => ({ label: `attempt ${nth} of this visit`, run, place: row.place, attempt: nth }));
  const visits = [...rows.values()]
    .filter((other) => other.step === row.step && other.scope === row.scope && other.item === row.item && other.place !== row.place && other.attempts > 0)
    .map((other) => ({ label: `visit ${other.visit}`, run, place: other.place, attempt: other.attempts }));
  const root = forkedFrom === null ? [] : [{ label: "the run that it was forked from", run: forkedFrom, place: row.place, attempt }];
  return [...own, ...visits, ...root];
}

interface Props {
  run: string;
  row: StepRow;
  rows: ReadonlyMap<string, StepRow>;
  forkedFrom: string | null;
  attempt: number;
  stream: Stream;
}

export function Compare({ run, row, rows, forkedFrom, attempt, stream }: Props): JSX.Element | null {
  const [chosen, setChosen] = useState("");
  const all = others(run, row, rows, forkedFrom, attempt);
  const nameOf = (other: Other): string => `${other.run} ${other.place}.${other.attempt}`;
  const other = all.find((each) => nameOf(each) === chosen);
  if (all.length === 0) return null;
  return (
    <>
      <p class="facts">
        <label>compare with <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value="">nothing</option>
          {all.map((each) => <option key={nameOf(each)} value={nameOf(each)}>{each.label}</option>)}
        </select></label>
      </p>
      {other !== undefined && <Differing other={other} own={{ label: "", run, place: row.place, attempt }} stream={stream} />}
    </>
  );
}

/** What differs; null: one of them is not there; undefined: too much differs. */
type Found = { handoff: Change[] | undefined | null; output: Change[] | undefined | null; isCut: boolean };

/** So much of the end of each output is compared. */
const MOST_BYTES = 1024 * 1024;

async function handoffOf({ run, place }: Other, signal: AbortSignal): Promise<string> {
  const { summary = "", error } = await json<{ summary?: string; error?: string | null }>(`runs/${encodeURIComponent(run)}/handoffs/${encodeURIComponent(place)}`, { signal });
  return error == null ? summary : `${summary}\n${error}`;
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
      const [handoff, output] = await Promise.all([
        other.place === own.place && other.run === own.run ? [] : between((of) => handoffOf(of, signal), other, own),
        between(written, other, own),
      ]);
      return { handoff, output, isCut };
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
      <Shown of={loaded}>{({ handoff, output, isCut }) => (
        <>
          {(handoff === null || handoff === undefined || handoff.length > 0) && shown("hand-off", handoff)}
          {shown(isCut ? `the last ${size(MOST_BYTES)} of ${stream}` : stream, output)}
          {isCut && <p class="warn">{`What stands before the last ${size(MOST_BYTES)} of an output is not compared.`}</p>}
        </>
      )}</Shown>
    </section>
  );
}
