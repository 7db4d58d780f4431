// Flows that several tests and the pictures of docs/page.md have in common.

import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** A loop of three rounds, an inner flow, 40 items of which three fail, a question that is never reached. It needs `build.yaml`. */
export const RELEASE = `
flow: release
title: Release notes
limits: { agent_hops: 60, cost_usd: 5 }
inputs:
  version: { type: string, default: "0.9" }
steps:
  - id: prepare
    run: echo "Prepared 3 files"
  - id: draft
    run: |
      n=$(cat .n 2>/dev/null || echo 0); n=$((n+1)); echo $n > .n
      printf '# Notes of 0.9\\n\\n- Pages open **faster**.\\n- Dates agree with the tags (draft %s).\\n' $n > notes.md
      echo "Draft $n"
    artifacts: [notes.md]
  - id: critic
    run: |
      if [ $(cat .n) -lt 3 ]; then echo 'Two dates are wrong. Status: NEEDS_WORK'; else echo 'Dates agree with the tags. Status: VERIFIED'; fi
    routing: { kind: microloop, loop_to: draft, max_iterations: 4, success_values: [VERIFIED] }
  - id: build
    flow: build.yaml
  - id: check
    for_each: \${{ range(40) | list }}
    run: |
      echo "page \${{ item }}"
      case \${{ item }} in 7|23|38) printf '\\033[31merror\\033[0m: link to /old/%s is broken\\n' \${{ item }} >&2; exit 2;; esac
  - id: ok
    ask: 'Publish the notes of 0.9?'
  - id: send
    run: echo sent
`;

/** It fails, and is tried again after hours. */
export const LATER = `
flow: nightly
title: Nightly mirror
steps:
  - id: fetch
    run: 'echo "mirror.example.org answered 503: maintenance until 04:00" >&2; exit 75'
    retry: { attempts: 5, backoff: 2h..8h }
  - id: report
    run: echo done
`;

/** Its hand-offs cannot be written. */
export const NASTY = `
flow: nasty
steps:
  - id: first
    run: 'rm -rf "$ENVOI_RUN_BASE/nasty"; touch "$ENVOI_RUN_BASE/nasty"; echo first'
  - id: second
    run: echo second
`;

/** A claude whose account is at its limit for three hours, with the output of the real program. */
export function throttled(stage) {
  const transcript = readFileSync(new URL("../../crates/preset/tests/transcripts/claude/limit.jsonl", import.meta.url), "utf8");
  const resets = String(Math.floor(Date.now() / 1000) + 3 * 3600);
  const hour = new Date(resets * 1000).toLocaleTimeString("en-US", { hour: "numeric", minute: "2-digit", timeZone: "UTC" }).toLowerCase().replace(" ", "");
  const lines = transcript.split("\n").filter((line) => line !== "" && !line.startsWith("# ")).map((line) => line.replaceAll(/"resetsAt":\d*/g, `"resetsAt":${resets}`).replaceAll(/resets \d+:\d+[ap]m/g, `resets ${hour}`));
  mkdirSync(join(stage.folder, "bin"), { recursive: true });
  stage.write("lines.jsonl", `${lines.join("\n")}\n`);
  stage.write("bin/claude", `#!/bin/sh\nid=$(echo "$*" | sed -n 's/.*\\(--session-id\\|resume\\) \\([^ ]*\\).*/\\2/p')\ncat > /dev/null\nsed 's/"session_id":"[^"]*"/"session_id":"'"$id"'"/' ${stage.folder}/lines.jsonl\nexit 1\n`);
  chmodSync(join(stage.folder, "bin/claude"), 0o755);
  return `flow: fixes\ntitle: Fix the tests\nenv: { PATH: '${stage.folder}/bin:/usr/bin:/bin' }\nsteps:\n  - id: fix\n    agent: { use: claude, prompt: 'Make the tests pass.', may: run }\n  - id: report\n    run: echo done\n`;
}

/** Notes that a model writes and another one judges, twice; a program of the step reports what it used, too. The price of `large` is not known. */
export const WRITES = `
flow: notes
title: Notes, written and judged
limits: { cost_usd: 5 }
steps:
  - id: gather
    run: |
      printf '{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"cost_usd":0.08,"llm_calls":3,"tokens_in":9100,"tokens_out":700}}' > $ENVOI_REPORT
  - id: write
    model: { use: small, prompt: 'Write the notes of 0.9.' }
  - id: judge
    model: { use: large, prompt: 'Are these notes right?' }
    routing: { kind: microloop, loop_to: write, max_iterations: 4, success_values: [VERIFIED] }
`;

/** A provider of models: its answer depends on the model, and on the number of requests to it. Its store offers them as `small` and
 * `large`. */
export async function models(stage) {
  const asked = { writer: 0, judge: 0 };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const { model } = JSON.parse(body);
      asked[model] += 1;
      const content = model === "writer" ? `Draft ${asked.writer}.` : asked.judge < 3 ? "Two dates are wrong. Status: NEEDS_WORK" : "Dates agree with the tags. Status: VERIFIED";
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "c", object: "chat.completion", model, choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }], usage: { prompt_tokens: 4_000 * asked[model], completion_tokens: 900, total_tokens: 4_000 * asked[model] + 900 } }));
    });
  });
  await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
  stage.write(".envoi/config.yaml", `models:\n  providers: { lab: { url: 'http://127.0.0.1:${server.address().port}/v1' } }\n  offer:\n    small: { provider: lab, name: writer, price: { in: '3', out: '15' } }\n    large: { provider: lab, name: judge }\n`);
  return server;
}
