// A real server on a store of its own, and a real browser that opens its page.
//
// A page fails its test if it prints anything on its console, breaks its policy, sends a request to another host, or has an
// accessibility violation that axe finds.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

const ENVOI = process.env.ENVOI ?? "";
const CHROMIUM = process.env.CHROMIUM ?? "";
const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** A screen of a phone. */
export const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
/** A screen of 1280 points that shows everything four times as large (WCAG 1.4.10). */
export const NARROW = { viewport: { width: 320, height: 256 } };
export const DESK = { viewport: { width: 1280, height: 800 } };

/** The stages whose server runs. */
const open = new Set();

export class Stage {
  static async open({ config, args = [] } = {}) {
    const stage = new Stage();
    stage.args = args;
    open.add(stage);
    stage.folder = mkdtempSync(join(tmpdir(), "envoi-page-"));
    if (config !== undefined) stage.envoi("init", "--template", "hello");
    await stage.serve("127.0.0.1:0");
    return stage;
  }

  get env() {
    return { ...process.env, USER: "tester", ENVOI_HOME: join(this.folder, ".envoi"), ENVOI_SERVER: "" };
  }

  async serve(address) {
    this.child = spawn(ENVOI, ["--json", "serve", "--listen", address, ...(this.args ?? [])], { cwd: this.folder, env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    let line = "";
    for await (const piece of this.child.stdout) {
      line += piece;
      if (line.includes("\n")) break;
    }
    const said = JSON.parse(line);
    this.url = said.listening;
    this.token ??= said.token;
  }

  /** Ends the server as if the machine had lost power. */
  async kill() {
    const over = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await over;
  }

  async restart() {
    await this.serve(this.url.replace("http://", ""));
  }

  envoi(...args) {
    const done = spawnSync(ENVOI, args, { cwd: this.folder, env: this.env, encoding: "utf8" });
    return { status: done.status, out: done.stdout, err: done.stderr };
  }

  write(path, text) {
    writeFileSync(join(this.folder, path), text);
  }

  read(path) {
    return readFileSync(join(this.folder, path), "utf8");
  }

  link(...args) {
    const { status, out, err } = this.envoi("page", ...args);
    assert.equal(status, 0, err);
    return out.trim();
  }

  async ask(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "content-type": typeof body === "string" ? "application/yaml" : "application/json" }) };
    const response = await fetch(`${this.url}/v1/${path}`, { method, headers, ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }) });
    const text = await response.text();
    assert(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Registers a flow and starts a run of it. */
  async run(flow, inputs = {}) {
    const { digest } = await this.ask("POST", "flows", flow);
    return (await this.ask("POST", "runs", { flow: digest, inputs, workspace: "shared" })).run;
  }

  /** The open question of a run, once there is one. */
  async question(run) {
    return eventually("a question", async () => (await this.ask("GET", `questions?run=${run}`)).questions[0]);
  }

  /** The events of one type among the first ones of a run. */
  async events(run, type) {
    return (await this.ask("GET", `runs/${run}/events?limit=200`)).events.filter(({ event }) => event.type === type);
  }

  /** The answers that a run has recorded. */
  async answers(run) {
    return this.events(run, "interrupt_answered");
  }

  async until(run, status) {
    let row;
    const got = async () => {
      row = await this.ask("GET", `runs/${run}`);
      return row.status === status ? row : undefined;
    };
    return eventually(`${run} is ${status}`, got).catch(async (error) => {
      const { events } = await this.ask("GET", `runs/${run}/events?limit=200`);
      const last = events.slice(-12).map(({ event }) => JSON.stringify(event));
      const { stdout } = spawnSync("ps", ["-eo", "pid,ppid,stat,etimes,wchan:24,args"], { encoding: "utf8" });
      const processes = stdout.split("\n").filter((line) => /envoi|sh -e/.test(line) && !/chromium/.test(line));
      throw new Error([`${error.message}: ${JSON.stringify(row)}`, ...last, ...processes].join("\n"));
    });
  }

  /** Compares with a text that is kept; GOLDEN=write makes it anew. */
  golden(name, text) {
    const file = new URL(`golden/${name}`, import.meta.url);
    if (process.env.GOLDEN === "write") writeFileSync(file, `${text}\n`);
    assert.equal(`${text}\n`, readFileSync(file, "utf8"), `test/golden/${name}`);
  }

  async close() {
    open.delete(this);
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill();
    await eventually(`${this.folder} is removed`, () => removed(this.folder));
  }
}

/**
 * Removes a folder, if nothing is written into it meanwhile: supervisors that a killed server has left still write their ends.
 * (`maxRetries` does not help: it tries to remove the same folder again, and not the files that are new in it.)
 */
function removed(folder) {
  try {
    rmSync(folder, { recursive: true, force: true });
    return true;
  } catch (error) {
    if (error.code !== "ENOTEMPTY") throw error;
    return false;
  }
}

/** Nothing is said about how fast a machine is: so long nothing takes that comes at all. While a test is written, PATIENCE may be shorter. */
const PATIENCE_MS = Number(process.env.PATIENCE ?? 180_000);

/** The result of `get`, once it has one. */
export async function eventually(what, get) {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
    const found = await get();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  throw new Error(`waited in vain for ${what}`);
}

let browser;

export async function launched() {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"] });
  return browser;
}

export async function ended() {
  for (const stage of [...open]) await stage.close();
  await browser?.close();
  browser = undefined;
}

/** A browser of one person. */
export class Person {
  static async at(stage, screen = DESK, more = {}) {
    const person = new Person();
    person.stage = stage;
    person.wrong = [];
    /** The messages that the console may have: failures of the network are the browser's own messages. */
    person.allowed = [];
    person.asked = [];
    person.open = 0;
    person.context = await (await launched()).newContext({ ...screen, ...more });
    // While the page is worked on: its files from a folder, in place of those of the binary.
    if (process.env.PAGE) {
      for (const name of ["app.js", "app.css"]) await person.context.route(new RegExp(`/${name}`), (route) => route.fulfill({ path: join(process.env.PAGE, name) }));
    }
    return person;
  }

  async tab(address) {
    const page = await this.context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => this.allowed.some((allowed) => allowed.test(message.text())) || this.wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => this.wrong.push(`error: ${error.stack}`));
    page.on("request", (request) => {
      this.asked.push(request.url());
      this.open += 1;
      if (!request.url().startsWith(this.stage.url) && !request.url().startsWith("blob:")) this.wrong.push(`another host: ${request.url()}`);
    });
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, () => (this.open -= 1));
    if (address !== undefined) await page.goto(address);
    return page;
  }

  /** Waits until a page that reads no stream sends no requests any more: planned requests come within a round, because timers of a page end
   * in turn. */
  async quiet(page) {
    for (let before = -1; before !== this.asked.length || this.open > 0; ) {
      before = this.asked.length;
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
    }
  }

  /** Nothing that axe finds, light and dark. */
  async accessible(page) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(AXE);
      // An element that is scrolled halfway under the head would be a small target.
      const top = await page.evaluate(() => [scrollY, scrollTo(0, 0)][0]);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }));
      const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n  ")}`);
      await page.evaluate((top) => scrollTo(0, top), top);
      assert.deepEqual(told, [], colorScheme);
    }
    await page.emulateMedia({ colorScheme: null });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, "no sideways scrolling");
  }

  async shot(page, name) {
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
  }

  /** The credentials for the server: halves of the session that is open, and the first token. */
  async rights() {
    const kept = this.context.pages().map((page) => page.evaluate(() => Object.values(localStorage)).catch(() => []));
    return [this.stage.token, ...(await this.context.cookies()).map(({ value }) => value), ...(await Promise.all(kept)).flat()];
  }

  async done() {
    // Addresses end up in logs. The part after `#` is not sent.
    const asked = this.asked.map((url) => decodeURIComponent(url.split("#")[0]));
    for (const right of await this.rights()) assert(!asked.some((url) => url.includes(right)), "no address opens anything");
    await this.context.close();
    assert.deepEqual(this.wrong, []);
  }
}
