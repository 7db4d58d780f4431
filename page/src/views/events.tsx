/** Every event of a run, as the journal has it: for those who want to see what the other screens are made of. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";

import { clock, moment } from "../model/words.js";
import { Shown } from "../parts/status.js";
import { Line, Words } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { place } from "../state/router.js";
import type { Event, Events } from "../wire/api.js";
import { json } from "../wire/request.js";

const PAGE = 200;

/** Events before the one of the address that are shown too; and how far back it may lie. */
const BEFORE = 20;
const MOST_BACK = 5_000;

/** Events from `first` to `last`, both with it. */
export async function eventsOf(run: string, first: number, last: number, signal: AbortSignal): Promise<Event[]> {
  const all: Event[] = [];
  for (let after: number | null = first - 1; after !== null && after < last; ) {
    const page: Events = await json(`runs/${encodeURIComponent(run)}/events?limit=${PAGE}${after < 0 ? "" : `&after=${after}`}`, { signal });
    all.push(...page.events.filter(({ seq }) => seq <= last));
    after = page.next;
  }
  return all;
}

type Members = Readonly<Record<string, unknown>>;

/** The subject of an event: an attempt, or a visit as commands name it. */
export function aboutOf(event: Members): string {
  if (typeof event["attempt"] === "string") return event["attempt"];
  const visit = event["visit"];
  if (typeof visit !== "object" || visit === null) return "";
  const { scope, step, visit: count } = visit as Members;
  return [scope, step, count].filter((part) => typeof part === "string" || typeof part === "number").filter((part) => part !== "").join(".");
}

export function EventRow({ event: { seq, at, event }, isWanted = false }: { event: Event; isWanted?: boolean }): JSX.Element {
  const [open, setOpen] = useState(isWanted);
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isWanted) element.current?.scrollIntoView({ block: "center" });
  }, []);
  const { type, ...members } = event as { type: string } & Members;
  return (
    <li>
      <details ref={element} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary><span class="seq">{seq}</span> <span class="note">{clock(Date.parse(at))}</span> <b>{type.replaceAll("_", " ")}</b> <Line text={aboutOf(members)} /></summary>
        {open && <Words text={JSON.stringify(members, null, 2)} from={`event ${seq}, ${moment(at)}`} />}
      </details>
    </li>
  );
}

export function EventsView({ run, newest }: { run: string; newest: number }): JSX.Element {
  const [end] = useState(newest);
  const [wanted] = useState(Number(place.value.query.get("event") ?? NaN));
  const [count, setCount] = useState(Number.isInteger(wanted) ? Math.min(MOST_BACK, Math.max(PAGE, end + 1 - wanted + BEFORE)) : PAGE);
  const from = Math.max(0, end + 1 - count);
  const loaded = useLoaded<Event[]>(
    async (signal, before = []) => [...before, ...(await eventsOf(run, (before.at(-1)?.seq ?? from - 1) + 1, Number.MAX_SAFE_INTEGER, signal))],
    [run, from],
    (change) => change.run === run,
  );
  return (
    <section aria-label="events">
      <Shown of={loaded}>
        {(events) => (
          <>
            {from > 0 && <p><button onClick={() => setCount(count * 4)}>Show earlier ones</button> <span class="note">{`from event ${from} on`}</span></p>}
            <ol class="events">{events.map((event) => <EventRow key={event.seq} event={event} isWanted={event.seq === wanted} />)}</ol>
          </>
        )}
      </Shown>
    </section>
  );
}
