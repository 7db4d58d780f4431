/**
 * Streams of events (SSE), followed over broken connections and restarted servers.
 *
 * The place in a stream is the id of the last event that was handed out, and nothing else.
 */

import { MAX_BYTES } from "../json/source.js";
import { isPassing, type Caller } from "./caller.js";
import { ApiError, Unreachable } from "./errors.js";
import { Patience } from "./patience.js";
import type { Signal } from "./platform.js";
import { Lost, type Exchange } from "./wire.js";

/** After so long without data a stream is opened anew. By default servers send a heartbeat every 15 seconds. */
const SILENCE_MS = 60_000;

/** One event of a stream. */
export interface SseEvent {
  id: string;
  data: string;
}

/** Pieces of a stream as events. What has not ended with an empty line is none. */
export class Lines {
  private readonly decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  private rest = "";
  private seen = 0;
  private id = "";
  private data: string[] = [];

  /** The events that are whole now. @throws ApiError for one that is larger than any document may be */
  feed(piece: Uint8Array): SseEvent[] {
    const text = this.rest + this.decoder.decode(piece, { stream: true });
    const events: SseEvent[] = [];
    const end = /\r\n|\n|\r(?=[^])/g;
    end.lastIndex = this.seen;
    let start = 0;
    for (let found = end.exec(text); found !== null; found = end.exec(text)) {
      this.take(text.slice(start, found.index), events);
      start = end.lastIndex;
    }
    this.rest = text.slice(start);
    // A carriage return at the very end may be half a line's end.
    this.seen = Math.max(this.rest.length - 1, 0);
    if (this.data.reduce((size, line) => size + line.length, this.rest.length) > MAX_BYTES) {
      throw new ApiError({ status: 200, code: "", detail: "an event of more than 16 MiB" });
    }
    return events;
  }

  private take(line: string, events: SseEvent[]): void {
    if (line === "") {
      if (this.data.length > 0) events.push({ id: this.id, data: this.data.join("\n") });
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line.charAt(colon + 1) === " " ? colon + 2 : colon + 1);
    if (name === "data") this.data.push(value);
    else if (name === "id" && !value.includes("\0")) this.id = value;
  }
}

/** How a stream is followed. */
export interface Following {
  /** The last event that was seen; those after it follow. */
  lastId: string | undefined;
  /** How long the server may be unreachable. */
  patienceMs: number;
  signal: Signal | undefined;
}

/** Each event of a stream once, in order, wherever the connection breaks. @throws ApiError, Unreachable; the signal's reason */
export async function* follow(caller: Caller, path: string, following: Following): AsyncGenerator<SseEvent, void, undefined> {
  for await (const event of signs(caller, path, following)) if (event !== undefined) yield event;
}

/** As {@link follow}, and undefined for each sign of life that is no event. */
export async function* signs(caller: Caller, path: string, following: Following): AsyncGenerator<SseEvent | undefined, void, undefined> {
  const { signal } = following;
  const patience = new Patience(following.patienceMs, caller.clock, signal);
  let { lastId } = following;
  for (;;) {
    const exchange = await open(caller, path, { lastId, signal }, patience);
    if (exchange === undefined) return;
    let moved = false;
    try {
      for await (const event of read(exchange)) {
        if (event === undefined) {
          yield undefined;
          continue;
        }
        // A server may send it again; the caller gets it once.
        if (event.id === lastId) continue;
        moved = true;
        lastId = event.id;
        patience.moved();
        yield event;
      }
    } finally {
      await exchange.close();
    }
    // A server that is going closes its streams at once until it is gone.
    if (!moved) await patience.rest();
  }
}

/** An open stream; undefined if there is nothing more to come. */
async function open(
  caller: Caller,
  path: string,
  { lastId, signal }: Pick<Following, "lastId" | "signal">,
  patience: Patience,
): Promise<Exchange | undefined> {
  const place: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
  const headers = { accept: "text/event-stream", ...place };
  for (;;) {
    try {
      const exchange = await caller.server.open({ method: "GET", path, headers, signal }, SILENCE_MS);
      if (exchange.status === 200 && exchange.header("content-type").startsWith("text/event-stream")) {
        patience.answered();
        return exchange;
      }
      const reply = await exchange.reply();
      if (reply.status === 204) return undefined;
      if (!isPassing(reply.status)) throw reply.error();
      await patience.wait(reply.error(), reply.retryAfterMs);
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      await patience.wait(new Unreachable(error.cause));
    }
  }
}

/** The events of one connection, up to where it ends or breaks; undefined for a piece with none. */
async function* read(exchange: Exchange): AsyncGenerator<SseEvent | undefined, void, undefined> {
  const lines = new Lines();
  try {
    for (let piece = await exchange.piece(); piece !== undefined; piece = await exchange.piece()) {
      const events = lines.feed(piece);
      yield* events.length > 0 ? events : [undefined];
    }
  } catch (error) {
    if (!(error instanceof Lost)) throw error;
  }
}
