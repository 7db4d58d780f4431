/**
 * A question, for the person who has to decide: the question, the changes, the earlier answers, the way of each choice, the
 * answer.
 *
 * Nothing is shown as done before the server confirms it. Typed text stays until it is recorded, also when the page is closed.
 */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import { BOUNDS, raised } from "../model/bounds.js";
import { duration, moment, plural, since, size, until } from "../model/words.js";
import { Form, fieldsOf, read, refusedFields, type Values } from "../parts/form.js";
import { MarkedWords } from "../parts/rendered.js";
import { NextTry, Shown, State, Trouble, now, titled } from "../parts/status.js";
import { Line, Words, plain } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { Pending, useSettled } from "../state/pending.js";
import { at } from "../state/router.js";
import type { Answer, AttachmentRef, QuestionDetail, Questions } from "../wire/api.js";
import { offlineSince } from "../wire/live.js";
import { Offline, Refused, ask, freshKey, json, patiently } from "../wire/request.js";
import { who } from "../wire/session.js";
import { Conflicts, Editor, conflictsIn, hasMarker, withEndsOf, type Edits } from "./conflicts.js";
import { dollars } from "./cost.js";
import { Changes, useBefore } from "./since.js";

/** The names of choices on a button. */
const NAMES: Readonly<Record<string, string>> = {
  approve: "Approve",
  deny: "Deny",
  respond: "Answer",
  proceed: "Go on",
  again: "Once more",
  ours: "Keep what is there",
  theirs: "Take theirs",
  edit: "Use edited files",
  stop: "Stop",
  rerun: "Run it again",
  fail: "Count it as failed",
  raise: "Raise the limit",
};

const KINDS: Readonly<Record<string, string>> = {
  ask: "The flow asks",
  agent: "Another agent asks",
  review: "A step needs a review",
  blocked: "A loop cannot get further",
  exhausted: "A loop has had its last round",
  stuck: "The rounds reach no goal",
  limit: "A limit is used up",
  throttled: "An account is at its limit",
  conflict: "Items of a step have changed the same lines",
  in_doubt: "It is not known how an attempt ended",
};

/** The name of a choice. */
export const nameOf = (choice: string): string => NAMES[choice] ?? choice;

export const about = (word: string): string => KINDS[word] ?? "A question";

export function QuestionScreen({ id }: { id: string }): JSX.Element {
  const run = useRef<string>("");
  const loaded = useLoaded<QuestionDetail>(
    async (signal) => {
      const found = await json<QuestionDetail>(`questions/${encodeURIComponent(id)}`, { signal });
      run.current = found.run;
      return found;
    },
    [id],
    (change) => change.run === run.current && change.question,
  );
  if (loaded.error instanceof Refused && loaded.error.status === 404) {
    return <section class="page"><h1>No such question</h1><p>It is not there, or it is not yours. <a href="#/inbox">All questions</a></p></section>;
  }
  return <section class="page question"><Shown of={loaded} title="Question">{(question) => <Question key={question.question} question={question} again={loaded.again} />}</Shown></section>;
}

function Question({ question, again }: { question: QuestionDetail; again: () => void }): JSX.Element {
  // The answer is for the question that was read first; if it changes, the page shows that, and the person looks anew.
  const [shown, setShown] = useState(question);
  const [recorded, setRecorded] = useState<QuestionDetail>();
  // An answer that came after another one, or too late.
  const [late, setLate] = useState<Refused>();
  const isOther = shown.subject !== question.subject && question.state === "open";
  const before = useBefore(shown);
  // The answers come when all above them is there: nothing may move under a finger.
  const [isSettled, begin] = useSettled(before.value !== undefined || before.error !== undefined);
  useEffect(() => {
    if (!isOther) setShown(question);
  }, [question]);
  const isOpen = shown.state === "open";
  titled(`${isOpen ? "Question" : shown.state} · ${shown.title ?? shown.flow}`);
  return (
    <Pending.Provider value={begin}>
      <Head question={shown} />
      {/* A flow writes its question in Markdown; others write plain text. */}
      {shown.about === "ask" ? <MarkedWords text={shown.text} from={`${about(shown.about)} · step ${shown.step}`} /> : <Words text={shown.text} from={`${about(shown.about)} · step ${shown.step}`} />}
      {isOther && (
        <div class="trouble" role="alert">
          <p>What this question is about has changed while you were reading.</p>
          <button onClick={() => setShown(question)}>Show it as it is now</button>
        </div>
      )}
      <Evidence question={shown} />
      <Changes key={`${shown.question} ${shown.subject}`} question={shown} loaded={before} name={nameOf} />
      <LastHandoff question={shown} />
      {isOpen && isSettled && recorded === undefined && shown.given === null && <ToAnswer />}
      {late !== undefined && !isOpen && shown.state !== "changed" && <div class="trouble" role="alert"><p>Your answer was not recorded: <Line text={late.detail} />.</p></div>}
      {recorded !== undefined || shown.given !== null || !isOpen ? <Closed question={recorded ?? shown} /> : isSettled && <AnswerForm question={shown} isOther={isOther} again={again} late={setLate} done={setRecorded} />}
    </Pending.Provider>
  );
}

/** On small screens, while the answers are out of sight: the way to them, in reach of a thumb. */
function ToAnswer(): JSX.Element | null {
  const [isSeen, setSeen] = useState(true);
  useEffect(() => {
    const form = document.getElementById("answer");
    if (form === null) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? true));
    observer.observe(form);
    return () => observer.disconnect();
  }, []);
  const go = (): void => {
    const form = document.getElementById("answer");
    form?.scrollIntoView();
    form?.focus({ preventScroll: true });
  };
  return isSeen ? null : <p class="to-answer"><button class="main" onClick={go}>To the answer ↓</button></p>;
}

function Head({ question }: { question: QuestionDetail }): JSX.Element {
  return (
    <header class="head">
      <h1><Line text={question.title ?? question.flow} /></h1>
      <p class="facts">
        <State of={question.state === "open" ? "waiting" : question.state} />
        {question.state === "open" && <span>waits {since(question.raised_at, now.value)}</span>}
        {question.state === "open" && question.expires_at !== null && <span>lapses in {until(question.expires_at, now.value)}</span>}
        <span>started by <Line text={question.started_by} /></span>
        <a href={at("r", question.run)}>the run</a>
      </p>
    </header>
  );
}

const said = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

/** The evidence, in the order of interest, with words for people. A member without words keeps its name. */
const EVIDENCE: Readonly<Record<string, [label: string, shown?: (value: unknown) => string]>> = {
  why: ["why"],
  ran_ms: ["it ran for", (value) => duration(Number(value))],
  processes_ended: ["processes of it that were ended", (value) => String(value)],
  output_tail: ["the end of its output"],
  verification: ["its verification"],
  verification_said: ["what the verification wrote to stderr"],
  verification_evidence: ["what is known of the verification"],
  bound: ["the limit", (value) => BOUNDS[String(value)]?.[1].replace("More ", "") ?? String(value)],
};

function Evidence({ question }: { question: QuestionDetail }): JSX.Element | null {
  const { evidence } = question;
  if (typeof evidence !== "object" || evidence === null) return null;
  const order = Object.keys(EVIDENCE);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const conflicts = conflictsIn(evidence);
  const isShown = (name: string): boolean => conflicts.length === 0 || !["conflicts", "in_conflict", "edit"].includes(name);
  const known = Object.entries(evidence).filter(([name, value]) => isShown(name) && !["", "null", "[]", "0", "{}"].includes(said(value))).sort(([a], [b]) => place(a) - place(b));
  if (known.length === 0 && conflicts.length === 0) return null;
  return (
    <>
      {conflicts.length > 0 && <Conflicts run={question.run} conflicts={conflicts} />}
      {known.length > 0 && <h2>What is known</h2>}
      <dl class="evidence">
        {known.map(([name, value]) => {
          const [label = name.replaceAll("_", " "), shown = said] = EVIDENCE[name] ?? [];
          return <div key={name}><dt>{label}</dt><dd class="text" tabIndex={shown(value).length > 200 ? 0 : undefined}>{plain(shown(value).slice(0, 20_000))}</dd></div>;
        })}
      </dl>
    </>
  );
}

function LastHandoff({ question: { last_handoff: last } }: { question: QuestionDetail }): JSX.Element | null {
  if (last === null) return null;
  const verdict = last.verified === null ? "" : last.verified ? ", verified by a critic" : ", not verified by a critic";
  return (
    <>
      <h2>What was said last</h2>
      <p class="facts"><State of={last.status} /> <span>step <Line text={last.handoff} />{verdict}</span></p>
      {last.error !== null && <Words text={last.error} from="why it failed" />}
      {last.summary.trim() !== "" && <Words text={last.summary} from={`in the words of ${last.handoff}`} />}
    </>
  );
}

/** Its cost so far, and the number of unknown costs. */
const Used = ({ question: { used, limits } }: { question: QuestionDetail }): JSX.Element => <span class="note">used {dollars(used.cost_usd, limits.cost_usd, used.unknown_costs)} · {plural(used.agent_hops, "attempt")}</span>;

function Closed({ question }: { question: QuestionDetail }): JSX.Element {
  const { given } = question;
  if (question.state === "open") {
    const { votes } = question;
    return (
      <div class="recorded" role="status">
        <p>Recorded. {`${plural(votes.length, "person", "people")} of ${question.quorum} approved; the question stays open for the others.`}</p>
        <p><a href="#/inbox">Other questions</a></p>
      </div>
    );
  }
  return (
    <div class="recorded" role="status">
      <p>
        <State of={question.state} />{" "}
        {given === null ? (
          <>This question is closed{question.closed_at !== null && ` since ${moment(question.closed_at)}`}.</>
        ) : (
          <><b>{nameOf(given.choice)}</b>, by <Line text={given.by} /> at {moment(given.at)} ({given.channel}){given.event !== null && <>: recorded, <a href={`${at("r", question.run, "events")}?event=${given.event}`}>event {given.event}</a></>}.</>
        )}
      </p>
      {given !== null && given.text !== "" && <Words text={given.text} from={`in the words of ${given.by}`} />}
      {question.state === "changed" && <Replaced question={question} />}
      <p><a href="#/inbox">Other questions</a> · <a href={at("r", question.run)}>The run</a></p>
    </div>
  );
}

/** Its subject has changed, and it was raised again. Typed text goes with it, the choice does not. */
function Replaced({ question }: { question: QuestionDetail }): JSX.Element {
  const loaded = useLoaded<Questions>((signal) => json(`questions?run=${encodeURIComponent(question.run)}`, { signal }), [question.run], (change) => change.run === question.run && change.question);
  const found = loaded.value?.questions.find((each) => each.step === question.step && each.scope === question.scope);
  useEffect(() => {
    const words = kept(question.question).words;
    if (found === undefined || words === undefined || kept(found.question).words !== undefined) return;
    sessionStorage.setItem(draftOf(found.question), JSON.stringify({ words }));
  }, [found?.question]);
  return (
    <>
      <p>What you looked at has changed since it was asked. Nothing was approved.</p>
      {found !== undefined && <p><a class="button" href={at("q", found.question)}>Look at it as it is now</a></p>}
    </>
  );
}

interface Draft {
  choice: string;
  words: string;
  amount: string;
  values: Values;
  /** The files in conflict as they were written, if they were. */
  edits?: Edits | undefined;
}

/** A draft for each person: the next user of this tab does not see it. */
const draftOf = (id: string): string => `envoi:draft:${who.value?.name ?? ""}:${id}`;

function kept(id: string): Partial<Draft> {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(draftOf(id)) ?? "{}");
    return typeof found === "object" && found !== null ? (found as Partial<Draft>) : {};
  } catch {
    return {};
  }
}

/** Characters of a draft that are kept. */
const MOST_KEPT = 1_000_000;

/** Choices that take the form. */
const TAKES_FORM = new Set(["approve", "respond"]);

function AnswerForm({ question, isOther, again, late, done }: { question: QuestionDetail; isOther: boolean; again: () => void; late: (refused: Refused) => void; done: (answered: QuestionDetail) => void }): JSX.Element {
  const id = question.question;
  const fields = useMemo(() => fieldsOf(question.schema, question.fields), [question.schema]);
  const isFree = question.schema !== null && fields === undefined;
  const first = useMemo(() => kept(id), [id]);
  const only = question.choices.length === 1 ? (question.choices[0] ?? "") : "";
  const [draft, setDraft] = useState<Draft>(() => ({
    choice: first.choice !== undefined && question.choices.includes(first.choice) ? first.choice : only,
    words: first.words ?? "",
    amount: first.amount ?? "",
    values: { ...Object.fromEntries((fields ?? []).map((field) => [field.name, field.initial])), ...first.values },
    edits: first.edits,
  }));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [error, setError] = useState<Refused | Offline>();
  const [busy, setBusy] = useState(false);
  const [waitsUntil, setWaits] = useState<number>();
  // A key for each body: a request that is sent again, because no answer came, is done once.
  const once = useRef<[body: string, key: string]>(["", ""]);
  // Browsers keep some 5 MB for a tab. Files that are larger than that are not kept; the rest is. It is kept at once: after a frame the
  // tab may be gone.
  useLayoutEffect(() => {
    const text = JSON.stringify(draft);
    sessionStorage.setItem(draftOf(id), text.length <= MOST_KEPT ? text : JSON.stringify({ ...draft, edits: undefined }));
  }, [draft]);
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  const bound = typeof question.evidence === "object" && question.evidence !== null ? String((question.evidence as Record<string, unknown>)["bound"] ?? "") : "";
  const lead = (choice: string): string => question.leads?.find((each) => each.choice === choice)?.leads_to ?? "";
  const isImpossible = (choice: string): boolean => lead(choice).startsWith("not possible");
  const hasForm = TAKES_FORM.has(draft.choice) && question.schema !== null;
  const [files, setFiles] = useState<readonly Uploaded[]>([]);
  const [uploading, setUploading] = useState("");

  const send = async (): Promise<void> => {
    if (busy || uploading !== "" || draft.choice === "" || isOther) return;
    const body: Answer = { choice: draft.choice as NonNullable<Answer["choice"]> };
    const found: Record<string, string> = {};
    if (draft.words.trim() !== "") body.text = draft.words;
    if (question.subject !== null) body.seen = question.subject;
    if (files.length > 0) body.attachments = files.map(({ reference }) => reference);
    if (hasForm && fields !== undefined) {
      const result = read(fields, draft.values);
      if ("wrong" in result) Object.assign(found, result.wrong);
      else body.data = result.data;
    } else if (hasForm && isFree) {
      try {
        body.data = JSON.parse(draft.values[""] ?? "");
      } catch {
        found[""] = "This is not JSON.";
      }
    }
    if (draft.choice === "respond" && question.schema === null && draft.words.trim() === "") found["words"] = "The answer is missing.";
    if (draft.choice === "raise") {
      const [amount, mistake] = raised(bound, draft.amount);
      if (mistake !== undefined) found["amount"] = mistake;
      else body.raise = amount;
    }
    if (draft.choice === "edit") {
      if (draft.edits === undefined) found["words"] = "Nothing was edited yet: the files still have both versions.";
      for (const [path, text] of Object.entries(draft.edits ?? {})) if (hasMarker(text)) found[path] = "A marker is left: a line that begins with <<<<<<< or >>>>>>>.";
    }
    setWrong(found);
    if (Object.keys(found).length > 0) return toFirst(found);
    setBusy(true);
    setError(undefined);
    try {
      if (draft.choice === "edit") {
        const edited = await sent(draft.edits ?? {}, question, setWaits);
        body.data = { files: edited.files };
        body.attachments = [...(body.attachments ?? []), ...edited.attachments];
      }
      const text = JSON.stringify(body);
      if (once.current[0] !== text) once.current = [text, freshKey()];
      const answered = await patiently(() => json<QuestionDetail>(`questions/${encodeURIComponent(id)}/answer`, { method: "POST", body, once: once.current[1] }), setWaits);
      sessionStorage.removeItem(draftOf(id));
      done(answered);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Offline)) throw error;
      setError(error);
      if (!(error instanceof Refused)) return;
      if (error.status === 409) late(error), again();
      const refused = refusedFields(error, { ...(hasForm ? draft.values : {}), words: draft.words });
      if (refused === undefined) return;
      setWrong(refused);
      // Fields are off while it is sent.
      setTimeout(() => toFirst(refused));
    } finally {
      setBusy(false);
    }
  };
  const toFirst = (found: Record<string, string>): void => {
    const [bad = ""] = Object.keys(found);
    const edited = Object.keys(draft.edits ?? {}).indexOf(bad);
    document.getElementById(bad === "words" || bad === "amount" ? bad : draft.choice === "edit" && edited >= 0 ? `edit-${edited}` : `field-${bad}`)?.focus();
  };

  const key = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.preventDefault(), void send();
  };
  const isOff = busy || offlineSince.value !== undefined || question.barred !== null;
  return (
    <form class="answer" id="answer" tabIndex={-1} onKeyDown={key} onSubmit={(event) => (event.preventDefault(), void send())} noValidate>
      <h2>Your answer</h2>
      {question.barred !== null && <p class="trouble" role="status">You cannot answer: <Line text={question.barred} />.</p>}
      {question.quorum > 1 && <p class="note">{`${question.quorum} people have to approve. So far: `}<Line text={question.votes.length === 0 ? "nobody" : question.votes.map((vote) => vote.by).join(", ")} />.</p>}
      <fieldset class="choices">
        <legend class="hidden">Decision</legend>
        {question.choices.map((choice) => (
          <label key={choice} class={`choice ${draft.choice === choice ? "chosen" : ""}`}>
            <input type="radio" name="choice" value={choice} checked={draft.choice === choice} disabled={isOff || isImpossible(choice)} onChange={() => change({ choice })} />
            <b>{nameOf(choice)}</b>
            <span class="leads"><Line text={lead(choice)} /></span>
          </label>
        ))}
      </fieldset>
      {question.silence !== null && <p class="note">No answer: <Line text={question.silence} />.</p>}
      {hasForm && fields !== undefined && (
        <Form fields={fields} values={draft.values} wrong={wrong} disabled={busy} change={(name, value) => change({ values: { ...draft.values, [name]: value } })} />
      )}
      {hasForm && isFree && (
        <div class="field">
          <label for="field-">The form, as JSON</label>
          <textarea id="field-" class="code" rows={5} value={draft.values[""] ?? ""} disabled={busy} onInput={(event) => change({ values: { "": event.currentTarget.value } })} />
          {wrong[""] !== undefined && <p class="wrong"><Line text={wrong[""]} /></p>}
        </div>
      )}
      {draft.choice === "edit" && <Editor run={question.run} question={id} conflicts={conflictsIn(question.evidence)} edits={draft.edits} wrong={wrong} disabled={busy} change={(edits) => change({ edits })} />}
      {draft.choice === "raise" && (
        <div class="field">
          <label for="amount">{BOUNDS[bound]?.[1] ?? "By how much"}</label>
          <input id="amount" type="text" inputMode="decimal" value={draft.amount} disabled={busy} autocomplete="off" aria-describedby={wrong["amount"] && "amount-wrong"} onInput={(event) => change({ amount: event.currentTarget.value })} />
          {wrong["amount"] !== undefined && <p class="wrong" id="amount-wrong">{wrong["amount"]}</p>}
        </div>
      )}
      {draft.choice !== "" && (
        <div class="field">
          <label for="words">In words{draft.choice === "respond" && question.schema === null ? "" : <span class="note"> (may be left out)</span>}</label>
          <textarea id="words" rows={3} value={draft.words} disabled={busy} aria-describedby={wrong["words"] && "words-wrong"} onInput={(event) => change({ words: event.currentTarget.value })} />
          {wrong["words"] !== undefined && <p class="wrong" id="words-wrong">{wrong["words"]}</p>}
        </div>
      )}
      {draft.choice !== "" && draft.choice !== "raise" && <Attachments files={files} change={setFiles} uploading={uploading} setUploading={setUploading} disabled={busy} />}
      {error !== undefined && <NotRecorded error={error} isAtField={Object.keys(wrong).length > 0} />}
      <NextTry comes at={waitsUntil}>The server is busy, and nothing is recorded so far. Your answer is sent again by itself.</NextTry>
      <p class="send">
        <button class="main" type="submit" disabled={isOff || uploading !== "" || draft.choice === "" || isOther}>
          {busy ? "Sending …" : draft.choice === "" ? "Choose first" : `Send: ${nameOf(draft.choice)}`}
        </button>
        <Used question={question} />
      </p>
    </form>
  );
}

/** Sends the files of `edit`: what becomes of each by its digest, and the references. */
async function sent(edits: Edits, { run, evidence }: QuestionDetail, setWaits: (at: number | undefined) => void): Promise<{ files: Record<string, string | null>; attachments: AttachmentRef[] }> {
  const files: Record<string, string | null> = {};
  const attachments: AttachmentRef[] = [];
  for (const [path, text] of Object.entries(edits)) {
    files[path] = null;
    if (text === null) continue;
    const bytes = new Blob([await withEndsOf(run, conflictsIn(evidence), path, text)]);
    const response = await patiently(() => ask("artifacts", { method: "POST", raw: bytes, headers: { "content-type": "text/plain" } }), setWaits);
    const reference = (await response.json()) as { digest: string } & AttachmentRef;
    if (!Object.values(files).includes(reference.digest)) attachments.push({ ...reference, filename: path.split("/").at(-1) || "file" });
    files[path] = reference.digest;
  }
  return { files, attachments };
}

/** The refusal of a file, and the file. */
interface NotTaken {
  file: File;
  error: Refused | Offline;
}

interface Uploaded {
  name: string;
  bytes: number;
  reference: AttachmentRef;
}

interface Attaching {
  files: readonly Uploaded[];
  change: (to: (before: readonly Uploaded[]) => readonly Uploaded[]) => void;
  /** The name of the file that is sent; empty if none is. */
  uploading: string;
  setUploading: (name: string) => void;
  disabled: boolean;
}

/** Files that come with the answer. Each is at the server before the answer is sent. */
function Attachments({ files, change, uploading, setUploading, disabled }: Attaching): JSX.Element {
  const [refused, setRefused] = useState<readonly NotTaken[]>([]);
  const [waitsUntil, setWaits] = useState<number>();
  const add = async (chosen: FileList | null): Promise<void> => {
    setRefused([]);
    for (const file of chosen ?? []) {
      setUploading(file.name);
      try {
        const headers = { "content-type": file.type || "application/octet-stream" };
        const response = await patiently(() => ask("artifacts", { method: "POST", raw: file, headers }), setWaits);
        const reference = { ...((await response.json()) as object), filename: file.name };
        change((before) => [...before, { name: file.name, bytes: file.size, reference }]);
      } catch (error) {
        if (!(error instanceof Refused || error instanceof Offline)) throw error;
        setRefused((before) => [...before, { file, error }]);
      } finally {
        setUploading("");
      }
    }
  };
  return (
    <div class="field">
      <label for="attached">Files<span class="note"> (may be left out)</span></label>
      {files.length > 0 && (
        <ul class="plain">
          {files.map((file, nth) => <li key={nth}><Line text={file.name} /> <span class="note">{size(file.bytes)}</span> <button type="button" class="link" disabled={disabled} onClick={() => change((before) => before.filter((each) => each !== file))}>remove</button></li>)}
        </ul>
      )}
      <input id="attached" type="file" multiple disabled={disabled || uploading !== ""} aria-invalid={refused.length === 0 ? undefined : "true"} aria-describedby={refused.length === 0 ? undefined : "attached-wrong"} onChange={(event) => void add(event.currentTarget.files).finally(() => (event.target as HTMLInputElement).value = "")} />
      {uploading !== "" && <p class="note" role="status">Sending <Line text={uploading} /> …</p>}
      <NextTry comes at={waitsUntil}>The server is busy. The file is sent again by itself.</NextTry>
      {refused.length > 0 && (
        <div id="attached-wrong" role="alert">
          {refused.map((each, nth) => <p key={nth} class="wrong"><Line text={each.file.name} /> ({size(each.file.size)}) was not taken. <Line text={notTaken(each)} /></p>)}
        </div>
      )}
    </div>
  );
}

function notTaken({ error }: NotTaken): string {
  if (error instanceof Offline) return "There is no answer from the server; choose the file again.";
  return error.status === 413 ? `It is too large for the server: ${error.detail}.` : error.detail;
}

function NotRecorded({ error, isAtField }: { error: Refused | Offline; isAtField: boolean }): JSX.Element {
  if (error instanceof Offline) {
    return <div class="trouble" role="alert"><p>There is no answer from the server. It is not known whether yours was recorded. Send it again: it counts once.</p></div>;
  }
  if (error.code === "SUBJECT_CHANGED") {
    return <div class="trouble" role="alert"><p>Not recorded: what you looked at has changed since. Look at it again, then send your answer.</p></div>;
  }
  if (isAtField) return <div class="trouble" role="alert"><p>Your answer was not recorded. What is wrong stands at its field; what you typed is still here.</p></div>;
  return <Trouble error={error}><p>Your answer was not recorded. What you typed is still here.</p></Trouble>;
}
