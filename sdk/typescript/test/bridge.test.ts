/** A call of a model through the server, against a stand-in that answers as the server does. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { BridgeError, NoBridgeError, callModel, type Environment } from "envoi";

/** Runs `use` beside a bridge that answers like this; the bodies and headers that came are returned. */
async function bridge(
  answer: { status: number; body: string; headers?: Record<string, string> },
  use: (environment: Environment) => Promise<void>,
): Promise<{ body: string; token: string | undefined }[]> {
  const came: { body: string; token: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(piece);
    came.push({ body, token: request.headers["authorization"] });
    response.writeHead(answer.status, { "Content-Type": "application/json", Connection: "close", ...answer.headers });
    response.end(new TextEncoder().encode(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  try {
    await use({ ENVOI_BRIDGE_URL: `http://127.0.0.1:${port}/api/llm-bridge`, ENVOI_BRIDGE_TOKEN: "t0k" });
  } finally {
    server.close();
  }
  return came;
}

const ANSWER = '{"text":"Done.","model":"small","usage":{"tokens_in":3,"tokens_out":4,"cost_usd":"0.0001"}}';

test("a model is asked once, with the attempt's token", async () => {
  const came = await bridge({ status: 200, body: ANSWER }, async (environment) => {
    const answer = await callModel({ user: "Sum up.", model: "small", system: "Be brief." }, { environment });
    assert.deepEqual(answer, { text: "Done.", model: "small", usage: { tokens_in: 3, tokens_out: 4, cost_usd: "0.0001" } });
  });
  assert.deepEqual(came, [{ body: '{"user":"Sum up.","model":"small","system":"Be brief."}', token: "Bearer t0k" }]);
});

test("a refusal has its code, and says whether another call may help", async () => {
  const rows = [
    { status: 403, body: '{"error":"Forbidden"}', code: "", mayRetry: false },
    { status: 400, body: '{"error":"invalid_user_envelope","code":"INVALID_USER_ENVELOPE","reason":"no"}', code: "INVALID_USER_ENVELOPE", mayRetry: false },
    { status: 429, body: '{"error":"used up","code":"BUDGET_EXHAUSTED"}', headers: { "x-should-retry": "false" }, code: "BUDGET_EXHAUSTED", mayRetry: false },
    { status: 503, body: '{"error":"stops","code":"ENGINE_STOPPING"}', code: "ENGINE_STOPPING", mayRetry: true },
    { status: 302, body: "", headers: { Location: "http://127.0.0.1:9/" }, code: "", mayRetry: false },
    { status: 200, body: "no JSON", code: "", mayRetry: false },
  ];
  for (const { code, mayRetry, ...answer } of rows) {
    const came = await bridge(answer as { status: number; body: string }, async (environment) => {
      await assert.rejects(callModel({ user: "x" }, { environment }), (error) => {
        assert(error instanceof BridgeError, String(error));
        assert.deepEqual([error.code, error.mayRetry], [code, mayRetry], answer.body);
        return true;
      });
    });
    assert.equal(came.length, 1, "a call is not repeated");
  }
});

test("without a bridge nothing is asked, and only true is an opt-in", async () => {
  await assert.rejects(callModel({ user: "x" }, { environment: {} }), (error) => error instanceof NoBridgeError);
  await assert.rejects(callModel({ user: "x", userEnvelope: "false" as unknown as boolean }, { environment: {} }), (error) => error instanceof TypeError);
});
