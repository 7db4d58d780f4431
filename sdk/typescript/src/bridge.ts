/**
 * A call of a model through the server that runs this command, for Node: counted, charged to the run and bounded.
 *
 * A call is made once: it is not repeated, because the provider may charge for the first call.
 */

import type { Environment } from "./attempt.js";
import type { Signal } from "./client/platform.js";
import { JsonNumber } from "./json/number.js";
import { parseJson } from "./json/read.js";
import { asString, member, toJson, type JsonValue } from "./json/value.js";
import { compact } from "./json/write.js";
import { attachmentToJson, readAttachment, type AttachmentRef } from "./user-envelope/attachment.js";

/** A request to a model. */
export interface ModelRequest {
  /** The message. */
  user: string;
  /** Default: the server's default model. */
  model?: string;
  system?: string;
  /** At most 20. */
  attachments?: readonly AttachmentRef[];
  /** Whether `user` is a user envelope; exactly true or false. */
  userEnvelope?: boolean;
}

/** How the request is made. */
export interface BridgeOptions {
  /** Default: those of the process. */
  environment?: Environment;
  /** Ends the call. */
  signal?: Signal;
}

/** What a call used, as far as the provider reports it; null: not known. `cost_usd` is decimal text. */
export interface ModelUse {
  tokens_in: number | null;
  tokens_out: number | null;
  cost_usd: string | null;
}

/** What a model answered. */
export interface ModelAnswer {
  text: string;
  model: string;
  usage: ModelUse;
}

/** This command is not run by a server that offers models. */
export class NoBridgeError extends Error {
  override readonly name = "NoBridgeError";

  constructor() {
    super("no models here: ENVOI_BRIDGE_URL and ENVOI_BRIDGE_TOKEN are set by a server that offers some");
  }
}

/** A call that was refused or failed. */
export class BridgeError extends Error {
  override readonly name = "BridgeError";
  /** That of HTTP; 0 where no answer came. */
  readonly status: number;
  /** Envoi's, such as `BUDGET_EXHAUSTED` or `UNKNOWN_MODEL_ID`; empty where there is none. */
  readonly code: string;
  /** The answer; null where it was no JSON. */
  readonly body: JsonValue;
  /** False where another call would not help, or would be paid for twice. */
  readonly mayRetry: boolean;

  constructor(message: string, parts: { status: number; code?: string; body?: JsonValue; mayRetry?: boolean }) {
    const { status, code = "", body = null, mayRetry = false } = parts;
    super(status === 0 ? message : `${code === "" ? `HTTP ${status}` : code}: ${message}`);
    this.status = status;
    this.code = code;
    this.body = body;
    this.mayRetry = mayRetry;
  }
}

/**
 * Sends a request to a model, and returns its answer.
 *
 * @throws NoBridgeError without a bridge; BridgeError for a refusal or a failure; TypeError if `userEnvelope` is anything but
 * true or false
 */
export async function callModel(request: ModelRequest, options: BridgeOptions = {}): Promise<ModelAnswer> {
  const { user, model, system, attachments = [], userEnvelope = false } = request;
  if (typeof userEnvelope !== "boolean") throw new TypeError("userEnvelope: expected true or false");
  const environment = options.environment ?? process.env;
  const [url, token] = [environment["ENVOI_BRIDGE_URL"], environment["ENVOI_BRIDGE_TOKEN"]];
  if (!url || !token) throw new NoBridgeError();
  const body = compact(
    toJson({
      user,
      model,
      system,
      user_envelope: userEnvelope ? true : undefined,
      attachments: attachments.length === 0 ? undefined : attachments.map((each) => attachmentToJson(readAttachment(each))),
    }),
  );
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const { signal } = options;
  const { response, document } = await sent(url, { method: "POST", headers, body, redirect: "error", signal }, signal);
  if (response.status !== 200) throw refusal(response, document);
  return answer(document);
}

async function sent(url: string, init: unknown, signal: Signal | undefined): Promise<{ response: Response; document: JsonValue }> {
  try {
    const response = await fetch(url, init);
    return { response, document: parsed(await response.text()) };
  } catch (error) {
    if (signal?.aborted) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new BridgeError(`the bridge did not answer: ${cause instanceof Error ? cause.message : String(cause)}`, { status: 0 });
  }
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function refusal(response: Response, body: JsonValue): BridgeError {
  const nested = member(body, "error") ?? null;
  const code = asString(member(body, "code")) ?? asString(member(nested, "code")) ?? "";
  const words = [member(body, "reason"), member(body, "detail"), member(nested, "message"), nested];
  const message = words.map((each) => asString(each)).find((each) => each !== undefined) ?? `the bridge answered ${response.status}`;
  const mayRetry = response.headers.get("x-should-retry") !== "false" && [429, 503].includes(response.status);
  return new BridgeError(message, { status: response.status, code, body, mayRetry });
}

function answer(body: JsonValue): ModelAnswer {
  const text = asString(member(body, "text"));
  if (text === undefined) throw new BridgeError("the bridge answered without a text", { status: 200, body });
  const usage = member(body, "usage") ?? null;
  const count = (name: string): number | null => {
    const value = member(usage, name);
    return value instanceof JsonNumber ? (value.toSafeInteger() ?? null) : null;
  };
  const cost = member(usage, "cost_usd") ?? null;
  return {
    text,
    model: asString(member(body, "model")) ?? "",
    usage: {
      tokens_in: count("tokens_in"),
      tokens_out: count("tokens_out"),
      cost_usd: cost === null ? null : (asString(cost) ?? compact(cost)),
    },
  };
}
