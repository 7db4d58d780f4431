/** The subject of a question: the changes since the same step asked before, which its reader saw last; or since the run began. */

import { useState } from "preact/hooks";
import type { JSX } from "preact";

import { changedSince } from "../model/changed.js";
import { moment } from "../model/words.js";
import { Files } from "../parts/files.js";
import { Line, Words } from "../parts/untrusted.js";
import { useLoaded, type Loaded } from "../state/load.js";
import type { QuestionDetail, Questions } from "../wire/api.js";
import { json } from "../wire/request.js";

/** So many closed questions of a run are looked through. */
const MOST = 200;

async function askedBefore(question: QuestionDetail, signal: AbortSignal): Promise<QuestionDetail | null> {
  const { questions } = await json<Questions>(`questions?run=${encodeURIComponent(question.run)}&closed=true&newest=true&limit=${MOST}`, { signal });
  const found = questions.find((each) => each.step === question.step && each.scope === question.scope && Date.parse(each.raised_at) < Date.parse(question.raised_at));
  return found === undefined ? null : json<QuestionDetail>(`questions/${encodeURIComponent(found.question)}`, { signal });
}

/** The newest question that the same step has put before; null if it has put none. */
export const useBefore = (question: QuestionDetail): Loaded<QuestionDetail | null> => useLoaded((signal) => askedBefore(question, signal), [question.question], () => false);

export function Changes({ question, loaded, name }: { question: QuestionDetail; loaded: Loaded<QuestionDetail | null>; name: (choice: string) => string }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const before = loaded.value ?? null;
  if (loaded.value === undefined && loaded.error === undefined) return <p class="note" role="status">Asking the server …</p>;
  const isSince = before !== null && !isWhole;
  const files = isSince ? changedSince(before.files, question.files) : question.files;
  return (
    <>
      {before !== null && <Before question={before} name={name} />}
      {before !== null || question.files.length > 0 ? <h2>What changed{isSince ? " since then" : ""}</h2> : <p class="note">The run has changed no file so far.</p>}
      {before !== null && (
        <p class="facts" role="group" aria-label="since when">
          <button class={`small ${isSince ? "chosen" : ""}`} aria-pressed={isSince} onClick={() => setWhole(false)}>since it was asked before</button>
          <button class={`small ${isSince ? "" : "chosen"}`} aria-pressed={!isSince} onClick={() => setWhole(true)}>since the run began</button>
        </p>
      )}
      {files.length > 0 ? <Files key={String(isSince)} run={question.run} files={files} /> : before !== null && <p class="note">{isSince ? "No file has changed since then." : "The run has changed no file so far."}</p>}
    </>
  );
}

/** The answer of that time. */
function Before({ question: { raised_at, state, given }, name }: { question: QuestionDetail; name: (choice: string) => string }): JSX.Element {
  return (
    <>
      <p class="note">
        It was asked before, {moment(raised_at)}: {given !== null ? <><b>{name(given.choice)}</b>, by <Line text={given.by} /></> : state === "changed" ? "the subject of the question changed, and nothing was answered" : "it was closed without an answer"}.
      </p>
      {given !== null && given.text !== "" && <Words text={given.text} from={`in the words of ${given.by}`} />}
    </>
  );
}
