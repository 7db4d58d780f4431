/**
 * How long to wait before a request is repeated, and when to stop.
 *
 * Knows nothing of requests: the caller gives the error, and gets it thrown when it lasts too long.
 */

import type { Clock, Signal } from "./platform.js";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** Pauses that double, together at most so long since the server was last there. */
export class Patience {
  private readonly lastsMs: number;
  private readonly clock: Clock;
  private readonly signal: Signal | undefined;
  private since: number;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(lastsMs: number, clock: Clock, signal: Signal | undefined) {
    this.lastsMs = lastsMs;
    this.clock = clock;
    this.signal = signal;
    this.since = clock.now();
  }

  /** Waits, at least as long as the server has requested. Throws `trouble` if that is longer than there is patience. */
  async wait(trouble: Error, atLeastMs = 0): Promise<void> {
    const pauseMs = Math.max(atLeastMs, this.next());
    if (this.clock.now() + pauseMs > this.since + this.lastsMs) throw trouble;
    await this.clock.sleep(pauseMs, this.signal);
  }

  /** Waits, however long it lasts already. */
  async rest(): Promise<void> {
    await this.clock.sleep(this.next(), this.signal);
  }

  /** The server is there: patience begins anew, pauses stay as long as they are. */
  answered(): void {
    this.since = this.clock.now();
  }

  /** Something came of it: all begins anew. */
  moved(): void {
    this.answered();
    this.pauseMs = FIRST_PAUSE_MS;
  }

  private next(): number {
    const pauseMs = this.pauseMs;
    this.pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    // Many clients that lose one server are not to come back in step.
    return pauseMs * (0.5 + Math.random() / 2);
  }
}
