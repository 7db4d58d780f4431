/**
 * The pure part and the client as a page uses them: run in a browser by `browser.ts`, which gets the results at the end. `vectors` are the
 * texts of the vector files, and the page's own server has a `/v1/health` and an artifact.
 */

import { Envelope, JsonError, JsonNumber, createEnvelope, formatCompact, formatJson, parseJson, resolveRouting, toJson } from "envoi/pure";
import { Client } from "envoi/client";
import { runVectors } from "envoi/conformance";

declare const vectors: Readonly<Record<string, string>>;
declare const location: { readonly origin: string };
declare const isSecureContext: boolean;
declare const document: { readonly body: object };

const results: string[] = [];

function tell(line: string): void {
  results.push(line);
}

/** The name of what is thrown. */
function thrown(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof JsonError ? error.found : (error as Error).name;
  }
  return "nothing";
}

async function look(): Promise<void> {
  const outcomes = Object.values(vectors).flatMap((text) => runVectors(text));
  const passed = outcomes.filter((each) => each.passed).length;
  tell(`vectors: ${passed} passed, ${outcomes.length - passed} failed`);

  const text = '{"b":1.00,"10":123456789012345678901234567890}';
  tell(`json: ${formatCompact(parseJson(text)) === text}, ${thrown(() => JSON.stringify(new JsonNumber("0.7")))}`);
  tell(`refused: ${[new Set(), Promise.resolve(1), document.body].map((value) => thrown(() => toJson(value))).join("; ")}`);

  const envelope = createEnvelope({ raw_input: "a", user_id: "u", session_id: "s", metadata: { n: 1 } });
  const same = formatJson(Envelope.decode(formatJson(envelope))) === formatJson(envelope);
  tell(`envelope: ${envelope.envelope_id.replace(/[0-9a-f]{32}$/, "hex")}, ${same}, ${resolveRouting({ handoff_text: "x" }).decision}`);

  const client = new Client(location.origin, "evt_token");
  const artifact = await client.getArtifact("sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
  tell(`client: ${(await client.getHealth()).status}, ${new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(artifact)}`);
  tell(`secure context: ${isSecureContext}, subtle: ${crypto.subtle !== undefined}`);
}

await look().then(() => tell("done"), (error: unknown) => tell(`stopped: ${String(error)}`));
await fetch("/results", { method: "POST", body: results.join("\n") });
