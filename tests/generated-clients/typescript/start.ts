// Starts a flow with inputs and reads what came of it, with the types that openapi-typescript makes of spec/openapi.json.
// Called with the server's address and a token.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

function check(holds: boolean, what: unknown): void {
  if (!holds) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

const [baseUrl = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

// What has a default in the flow or here is left out.
const start: components["schemas"]["Start"] = {
  flow: "greet",
  inputs: { name: "Ada", times: 3 },
  user_id: "u-7",
  metadata: { team: "press" },
};
const started = await client.POST("/v1/runs", { body: start });
const run = started.data?.run;
if (run === undefined) throw new Error(JSON.stringify(started.error));
const path = { run };

// The stream ends with the run.
await client.GET("/v1/runs/{run}/stream", { params: { path }, parseAs: "text" });
const ended = await client.GET("/v1/runs/{run}", { params: { path } });
check(ended.data?.status === "succeeded", ended);
const envelope = await client.GET("/v1/runs/{run}/envelope", { params: { path } });
check(envelope.data?.user_id === "u-7" && envelope.data.metadata?.["team"] === "press", envelope);
const handoff = await client.GET("/v1/runs/{run}/handoffs/{handoff}", { params: { path: { ...path, handoff: "say" } } });
check(handoff.data?.summary === "Ada 3" && handoff.data.routing_signal.decision === "advance", handoff);
const events = await client.GET("/v1/runs/{run}/events", { params: { path, query: { limit: 1 } } });
check(events.data?.events[0]?.event.type === "run_started", events);
const content = await client.POST("/v1/artifacts", {
  body: "minutes",
  bodySerializer: (body) => body,
  headers: { "Content-Type": "text/plain" },
});
check(content.data?.size === 7, content);
console.log("generated-clients: the TypeScript client got what it came for");
