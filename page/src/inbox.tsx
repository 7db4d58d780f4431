/** The questions that wait for a person, oldest first; or those that are closed. */

import type { JSX } from "preact";

import type { Question, Questions } from "./api.js";
import { Line } from "./foreign.js";
import { useLoaded } from "./load.js";
import { Shown, State, now, titled } from "./parts.js";
import { about } from "./question.js";
import { at } from "./router.js";
import { head, moment, since, until } from "./words.js";
import { json } from "./wire.js";

/** Most questions that are shown at once. */
const MOST = 200;

export function InboxScreen({ closed }: { closed: boolean }): JSX.Element {
  const loaded = useLoaded<Questions>((signal) => json(`questions?limit=${MOST}${closed ? "&closed=true" : ""}`, { signal }), [closed], (change) => change.question);
  const { value } = loaded;
  const open = value?.questions.filter(({ state }) => state === "open" || state === "lapsed") ?? [];
  if (!closed) titled(value === undefined ? "Questions" : open.length > 0 ? `(${open.length}${value.next === null ? "" : "+"}) Questions` : "Questions");
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
  const all = closed ? page.questions.filter((each) => !isOpen(each)).reverse() : page.questions;
  const [doubts, others] = [all.filter((each) => each.about === "in_doubt"), all.filter((each) => each.about !== "in_doubt")];
  if (all.length === 0) return <p class="empty">{closed ? "No question has been closed." : "Nothing waits for you."}</p>;
  return (
    <>
      <ul class="cards">{others.map((question) => <Card key={question.question} question={question} />)}</ul>
      {doubts.length > 0 && (
        <>
          <h2>In doubt</h2>
          <p class="note">It is not known how these attempts ended. Somebody has to look, and decide.</p>
          <ul class="cards">{doubts.map((question) => <Card key={question.question} question={question} />)}</ul>
        </>
      )}
      {page.next !== null && <p class="note">{`These are the oldest ${MOST}. There are more.`}</p>}
    </>
  );
}

function Card({ question }: { question: Question }): JSX.Element {
  const isOpen = question.state === "open";
  return (
    <li>
      <a class="card" href={at("q", question.question)}>
        <b class="first"><Line text={head(question.text)} /></b>
        <span class="facts">
          {!isOpen && <State of={question.state} />}
          <span>{about(question.about)} · <Line text={question.step} /></span>
          {isOpen ? <span>waits {since(question.raised_at, now.value)}</span> : question.closed_at !== null && <span>{moment(question.closed_at)}</span>}
          {isOpen && question.expires_at !== null && <span>lapses in {until(question.expires_at, now.value)}</span>}
          {question.answer !== null && <span>{question.answer}{question.answered_by !== null && <> by <Line text={question.answered_by} /></>}</span>}
        </span>
      </a>
    </li>
  );
}
