/**
 * Runs `page.ts` in a browser, as a page with TLS's rights and as one without. Run by `check.sh` with the path of a Chromium, after
 * the build; prints what it did. The browser can reach loopback only, whatever it requests by itself.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const VECTORS = fileURLToPath(new URL("../../../spec/vectors/", import.meta.url));

/** After that much the browser hangs. */
const PATIENCE_MS = 300_000;

const IMPORTS = { "envoi/pure": "/dist/index.js", "envoi/client": "/dist/client.js", "envoi/conformance": "/dist/conformance/run.js" };

const HTML = `<!doctype html><meta charset="utf-8">
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<script src="/vectors.js"></script><script type="module" src="/build/page.js"></script>`;

/** What stands at each address that the page asks for; undefined for nothing. */
function content(path: string): [kind: string, body: string | Uint8Array] | undefined {
  if (path === "/") return ["text/html", HTML];
  if (path === "/vectors.js") return ["text/javascript", `globalThis.vectors = ${JSON.stringify(vectors())};`];
  if (path === "/v1/health") return ["application/json", '{"status":"ok"}'];
  if (path.startsWith("/v1/artifacts/")) return ["application/octet-stream", "a"];
  const isModule = /^\/(?:dist|build)\/[a-z0-9/-]+\.js$/.test(path);
  return isModule ? ["text/javascript", readFileSync(join(PACKAGE, path))] : undefined;
}

function vectors(): Record<string, string> {
  const names = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(VECTORS, name), "utf8")]));
}

/** Gets the results of the page. */
let finish: (results: string) => void = () => undefined;

async function takeResults(body: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let results = "";
  for await (const piece of body) results += decoder.decode(piece, { stream: true });
  finish(results);
}

const server = createServer((request, response) => {
  if (request.method === "POST") void takeResults(request);
  const [kind, body] = content(decodeURIComponent(request.url)) ?? ["", ""];
  response.writeHead(kind === "" ? 404 : 200, { "content-type": kind });
  response.end(typeof body === "string" ? new TextEncoder().encode(body) : body);
});

/** The results of the page at `address`. */
async function resultsOf(browser: string, address: string): Promise<string[]> {
  const profile = mkdtempSync(join(tmpdir(), "envoi-browser-"));
  const quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"];
  const machine = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${profile}`];
  const names = ["--host-resolver-rules=MAP page.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-features=HttpsUpgrades"];
  // An unused debugging port keeps it from ending before the page does.
  const args = ["--headless", "--remote-debugging-port=0", ...quiet, ...machine, ...names, address];
  const child = spawn(browser, args, { cwd: profile, env: { ...process.env, HOME: profile }, stdio: ["ignore", "ignore", "ignore"] });
  const ended = new Promise<void>((resolve) => child.once("exit", resolve));
  let timer: unknown;
  try {
    return await new Promise<string[]>((resolve) => {
      finish = (text) => resolve(text.split("\n"));
      timer = setTimeout(() => resolve([`no results within ${PATIENCE_MS / 1000} seconds`]), PATIENCE_MS);
      void ended.then(() => resolve(["the browser ended before it gave results"]));
    });
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
    await ended;
    try {
      rmSync(profile, { recursive: true, force: true });
    } catch (error) {
      // What the browser has started may end after it.
      if ((error as { code?: unknown }).code !== "ENOTEMPTY") throw error;
    }
  }
}

const browser = process.argv[2] ?? assert.fail("which browser?");
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
try {
  const { port } = server.address();
  const cases = Object.values(vectors()).flatMap((text) => JSON.parse(text) as unknown[]);
  for (const [host, secure] of [["127.0.0.1", true], ["page.test", false]] as const) {
    assert.deepEqual(await resultsOf(browser, `http://${host}:${port}/`), [
      `vectors: ${cases.length} passed, 0 failed`,
      "json: true, TypeError",
      "refused: a JavaScript `Set`; a JavaScript `Promise`: an `await` is missing; a JavaScript `HTMLBodyElement`",
      "envelope: env_hex, true, advance",
      "client: ok, a",
      `secure context: ${secure}, subtle: ${secure}`,
      "done",
    ]);
  }
  process.stdout.write(`browser: ${cases.length} vectors, JSON and the client, in pages with and without TLS's rights\n`);
} finally {
  server.close();
  server.closeAllConnections();
}
