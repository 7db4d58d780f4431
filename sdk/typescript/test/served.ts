/** A real server in a folder of its own, and servers that are not what they should be. */

import assert from "node:assert/strict";
import { spawn, spawnSync, type Child } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, type Clock, type Signal } from "envoi/client";

export const ENVOI = process.env["ENVOI"];
export const NEEDS_SERVER = { skip: ENVOI === undefined ? "ENVOI does not name the binary" : false };

export const APPROVAL = `
flow: publish
inputs:
  title: { type: string, default: Notes }
steps:
  - id: draft
    run: echo draft >> did.txt; echo words
  - id: approve
    ask: Publish it?
  - id: publish
    run: cat "$ENVOI_ANSWER_FILES"/* >> did.txt
`;

/** `envoi serve` in a folder; one that was killed can be there again, at the same address. */
export class Served {
  readonly folder = mkdtempSync(join(tmpdir(), "envoi-served-"));
  url = "";
  /** The token of the first start. */
  first = "";
  private child: Child | undefined;

  static async start(): Promise<Served> {
    const served = new Served();
    await served.begin("127.0.0.1:0");
    return served;
  }

  private get env(): Record<string, string | undefined> {
    return { ...process.env, ENVOI_HOME: join(this.folder, ".envoi") };
  }

  private async begin(address: string): Promise<void> {
    const stdio = ["ignore", "pipe", "ignore"] as const;
    this.child = spawn(ENVOI ?? "", ["--json", "serve", "--listen", address], { cwd: this.folder, env: this.env, stdio });
    let line = "";
    for await (const piece of this.child.stdout) {
      line += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(piece);
      if (line.includes("\n")) break;
    }
    const said = JSON.parse(line) as { listening: string; token?: string };
    this.url = said.listening;
    this.first ||= said.token ?? "";
  }

  async restart(): Promise<void> {
    await this.begin(this.url.replace("http://", ""));
  }

  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    this.child = undefined;
    const gone = new Promise<void>((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  async end(): Promise<void> {
    await this.kill();
    try {
      rmSync(this.folder, { recursive: true, force: true });
    } catch (error) {
      // A step outlives the server that was killed, and may still write.
      if ((error as { code?: unknown }).code !== "ENOTEMPTY") throw error;
    }
  }

  /** A new token, as `envoi token create` makes it. */
  token(...args: string[]): string {
    const made = spawnSync(ENVOI ?? "", ["token", "create", ...args], { cwd: this.folder, env: this.env, encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
    return made.stdout.trim();
  }

  /** What the steps have left. */
  did(): string[] {
    const path = join(this.folder, "did.txt");
    return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  }

  write(name: string, text: string): string {
    writeFileSync(join(this.folder, name), text);
    return join(this.folder, name);
  }
}

/** Runs a test with a server and a client of it that may do all. */
export async function withServer(run: (client: Client, served: Served) => Promise<void>): Promise<void> {
  const served = await Served.start();
  try {
    await run(new Client(served.url, served.first), served);
  } finally {
    await served.end();
  }
}

/** A proxy that drops the first answer and forwards all others. */
export class Dropping {
  readonly requests: string[] = [];
  dropped = false;
  private readonly server;

  constructor(server: string) {
    this.server = createServer((request, response) => {
      void (async () => {
        const body: Uint8Array[] = [];
        for await (const piece of request) body.push(piece);
        const sent = new Blob(body);
        const key = request.headers["idempotency-key"];
        this.requests.push(`${request.method} ${request.url} ${key ?? ""}`);
        const headers = { authorization: request.headers["authorization"], ...(key === undefined ? {} : { "idempotency-key": key }) };
        const answer = await fetch(`${server}${request.url}`, { method: request.method, headers, ...(sent.size > 0 ? { body: sent } : {}) });
        const reader = answer.body?.getReader();
        const whole: Uint8Array[] = [];
        for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) whole.push(next.value);
        if (!this.dropped) {
          this.dropped = true;
          request.socket.destroy();
          return;
        }
        response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
        response.end(new Uint8Array(await new Blob(whole).arrayBuffer()));
      })();
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** A clock that advances only in `sleep`, with a hook for each sleep. */
export class Hands implements Clock {
  readonly slept: number[] = [];
  private readonly meanwhile: () => void | Promise<void>;

  constructor(meanwhile: () => void | Promise<void> = () => undefined) {
    this.meanwhile = meanwhile;
  }

  now(): number {
    return this.slept.reduce((sum, each) => sum + each, 0);
  }

  async sleep(milliseconds: number, signal?: Signal): Promise<void> {
    if (signal?.aborted) throw signal.reason;
    this.slept.push(milliseconds);
    await this.meanwhile();
  }
}

/** All that a generator gives. */
export async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of given) found.push(each);
  return found;
}
