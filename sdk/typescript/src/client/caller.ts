/** Requests that are answered: sent again where that is safe and helps, refused as the server refuses them. */

import { Unreachable } from "./errors.js";
import { Patience } from "./patience.js";
import type { Clock } from "./platform.js";
import { Lost, type Reply, type Request, type Server } from "./wire.js";

/** The server has no time. It may have done the request all the same: each one is idempotent. */
const PASSING: readonly number[] = [429, 502, 503, 504];

/** Sends requests to one server, with so much patience. */
export class Caller {
  readonly server: Server;
  readonly clock: Clock;
  private readonly patienceMs: number;

  constructor(server: Server, patienceMs: number, clock: Clock) {
    this.server = server;
    this.patienceMs = patienceMs;
    this.clock = clock;
  }

  /** The answer to a request. @throws ApiError for another status than those expected, Unreachable for none */
  async ask(request: Request, ...expected: readonly number[]): Promise<Reply> {
    const patience = new Patience(this.patienceMs, this.clock, request.signal);
    for (;;) {
      try {
        const reply = await (await this.server.open(request)).reply();
        if (expected.includes(reply.status)) return reply;
        if (!isPassing(reply.status)) throw reply.error();
        await patience.wait(reply.error(), reply.retryAfterMs);
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        await patience.wait(new Unreachable(error.cause));
      }
    }
  }
}

/** Whether the same request may fare better later. */
export function isPassing(status: number): boolean {
  return PASSING.includes(status);
}
