/** The questions that wait for a person, oldest first; or those that are closed. */

import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { plainLine } from "../model/markdown.js";
import { head, moment, plural, since, until } from "../model/words.js";
import { announce } from "../parts/announcements.js";
import { Shown, State, now, titled } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at } from "../state/router.js";
import type { Question, QuestionDetail, Questions } from "../wire/api.js";
import { json } from "../wire/request.js";
import { about, nameOf } from "./question.js";

/** The question, in a line. */
const firstLine = ({ about, text }: Question): string => (about === "ask" ? plainLine(head(text)) : head(text));

/** Most questions that are shown at once. */
const MOST = 200;

export function InboxScreen({ closed }: { closed: boolean }): JSX.Element {
  const loaded = useLoaded<Questions>((signal) => json(`questions?limit=${MOST}${closed ? "&closed=true&newest=true" : ""}`, { signal }), [closed], (change) => change.question);
  const { value } = loaded;
  const known = useRef<ReadonlySet<string> | undefined>(undefined);
  useEffect(() => {
    if (value === undefined || closed) return void (known.current = undefined);
    const before = known.current;
    known.current = new Set(value.questions.map((each) => each.question));
    // Without the question itself: texts of flows are shown in frames of their own.
    if (before !== undefined && value.questions.some((each) => !before.has(each.question))) announce(`There is a new question. ${plural(value.questions.length, "question waits", "questions wait")} for an answer.`);
  }, [value, closed]);
  const open = value?.questions.filter(({ state }) => state === "open" || state === "lapsed") ?? [];
  if (!closed) titled(open.length > 0 ? `(${open.length}${value?.next == null ? "" : "+"})` : "Questions");
  else titled("Closed questions");
  return (
    <section class="page">
      <h1>{closed ? "Closed questions" : "Questions"}</h1>
      <p class="facts">
        <a href="#/inbox" aria-current={closed ? undefined : "page"}>open</a>
        <a href="#/inbox?closed" aria-current={closed ? "page" : undefined}>closed</a>
      </p>
      <Shown of={loaded}>{(page) => <List page={page} closed={closed} />}</Shown>
    </section>
  );
}

function List({ page, closed }: { page: Questions; closed: boolean }): JSX.Element {
  const isOpen = ({ state }: Question): boolean => state === "open" || state === "lapsed";
  const all = closed ? page.questions.filter((each) => !isOpen(each)) : page.questions;
  const [doubts, others] = [all.filter((each) => each.about === "in_doubt"), all.filter((each) => each.about !== "in_doubt")];
  if (all.length === 0) return closed ? <p class="empty">No question has been closed.</p> : <Empty />;
  return (
    <>
      <ul class="cards">{others.map((question) => <Card key={question.question} question={question} />)}</ul>
      {doubts.length > 0 && (
        <>
          <h2>In doubt</h2>
          <p class="note">It is not known how these attempts ended. A person has to check them and decide.</p>
          <ul class="cards">{doubts.map((question) => <Card key={question.question} question={question} />)}</ul>
        </>
      )}
      {page.next !== null && <p class="note">{`These are the ${closed ? "newest" : "oldest"} ${MOST}. There are more.`}</p>}
    </>
  );
}

/** Nothing waits; that something did is good to know. */
function Empty(): JSX.Element {
  const loaded = useLoaded<Questions>((signal) => json("questions?limit=1&closed=true&newest=true", { signal }), [], (change) => change.question);
  const last = loaded.value?.questions[0];
  return (
    <div class="empty">
      <p>Nothing waits for you.</p>
      {last !== undefined && last.closed_at !== null && (
        <p>The last question was closed {moment(last.closed_at)}{last.answered_by !== null && <> by <Line text={last.answered_by} /></>}: <a href={at("q", last.question)}><Line text={firstLine(last)} /></a></p>
      )}
    </div>
  );
}

/** Whether an element has come near the part of the page that is seen. */
function useSeen(): [element: RefObject<HTMLLIElement | null>, isSeen: boolean] {
  const element = useRef<HTMLLIElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null || isSeen) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true), { rootMargin: "200px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [element, isSeen];
}

/** The subject of a question, the changes and the cost are loaded once its card is seen. */
function Card({ question }: { question: Question }): JSX.Element {
  const isOpen = question.state === "open";
  const [element, isSeen] = useSeen();
  const loaded = useLoaded<QuestionDetail | undefined>(async (signal) => (isSeen ? json<QuestionDetail>(`questions/${encodeURIComponent(question.question)}`, { signal }) : undefined), [question.question, isSeen], (change) => isSeen && change.run === question.run && change.question);
  const detail = loaded.value;
  const given = detail?.given ?? null;
  const isPlain = question.about === "ask";
  return (
    <li ref={element}>
      <a class="card" href={at("q", question.question)}>
        {detail !== undefined && <span class="note"><Line text={detail.title ?? detail.flow} /></span>}
        <b class="first"><Line text={firstLine(question)} /></b>
        <span class="facts">
          {!isOpen && <State of={question.state} />}
          {question.answer !== null && <span>{nameOf(question.answer)}{question.answered_by !== null && <> by <Line text={question.answered_by} /></>}{given !== null && ` (${given.channel})`}</span>}
          {isOpen ? <span>waits {since(question.raised_at, now.value)}</span> : question.closed_at !== null && <span>{moment(question.closed_at)}</span>}
          {isOpen && question.expires_at !== null && <span class="warn">lapses in {until(question.expires_at, now.value)}</span>}
          {!isPlain && <span>{about(question.about)}</span>}
          <span>step <Line text={question.step} /></span>
          {detail !== undefined && detail.files.length > 0 && <span>{plural(detail.files.length, "file")} changed</span>}
          {detail !== undefined && detail.used.cost_usd !== "0.00" && <span>used ${detail.used.cost_usd}</span>}
          {detail?.barred != null && <span>not for you</span>}
        </span>
        {given !== null && given.text.trim() !== "" && <span class="said">“<Line text={head(given.text)} />”</span>}
      </a>
    </li>
  );
}
