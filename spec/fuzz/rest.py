"""Schemathesis against a running server: rest.py --envoi BINARY --schemathesis PROGRAM [EXAMPLES [SEED]].

A server of its own is started in a folder of its own, with a run that waits, its question, a hand-off, a log and content.
Every operation of spec/openapi.json is then asked in two passes: with whatever fits the document or almost does, and with
paths that lead to these things. Five checks: no answer is a server error; each has a status, a content type and a body that
the document declares for it; and what does not fit the document is refused. `default` is taken out of the document first,
because it would let every status pass.

Models are those of a provider within this program, which answers every call and refuses none: what a provider refuses comes
through `completeChat` with the provider's status, and would say nothing of the server.

The streams are left out: one ends when its run does, the others never, and a reader of a whole body would wait for that.
Tests of the binary read them (crates/cli/tests/it/serve/streams.rs and steps.rs).

Some operations can only be done with what another one has answered: a session with its two halves, a correction with what
was shown of it; or with a model of their own protocol. This program does them once itself.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The server counts by tenant, and none is known yet when a session begins.
NOT_COUNTED = ["createSession"]
STREAMS = ["followRun", "followQuestions", "followTenant"]
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
]
# All others that this version has. They are named, because what the command line chooses no operation can leave out.
OTHER_CHECKS = [
    "response_headers_conformance",
    "positive_data_acceptance",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
    "object_level_authorization",
]
FLOW = """
flow: publish
limits: { agent_hops: 100 }
steps:
  - id: draft
    run: echo words; echo words > notes.md
    artifacts: [notes.md]
  - id: approve
    ask: 'Publish it?'
  - id: publish
    run: 'true'
"""
APART = """
flow: apart
workspace: { folder: work, isolate: tree }
steps:
  - { id: a, run: echo words > made.txt }
"""
COUNTER = re.compile(r'envoi_http_requests_total\{operation="(\w+)",status="(\d+)"\} (\d+)')
# What a person might wait for at most, on a busy machine.
LONG_S = 60


class Provider(http.server.BaseHTTPRequestHandler):
    """Whoever answers for the models."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}], "usage": usage}
        if self.path.endswith(("/responses", "/messages")):
            whole = {"usage": {"input_tokens": 3, "output_tokens": 2}}
        elif self.path.endswith("/count_tokens"):
            whole = {"input_tokens": 3}
        if asked.get("stream"):
            kind, body = "text/event-stream", f"data: {json.dumps(whole)}\n\ndata: [DONE]\n\n"
        else:
            kind, body = "application/json", json.dumps(whole)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def provider():
    """The provider at work, until the program ends; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


class Server:
    """The binary at work in a folder of its own."""

    def __init__(self, binary, folder):
        store = folder / ".envoi"
        store.mkdir()
        (folder / "work").mkdir()
        address = provider()
        # So many requests come from nobody else.
        (store / "config.yaml").write_text(
            "server: { limits: { starts: 1000000 } }\n"
            "models:\n"
            "  default: small\n"
            "  providers:\n"
            f'    own: {{ url: "{address}" }}\n'
            f'    wide: {{ url: "{address}", protocol: responses }}\n'
            f'    wise: {{ url: "{address}", protocol: messages }}\n'
            "  offer: { small: { provider: own }, wide: { provider: wide }, wise: { provider: wise } }\n"
        )
        command = [binary, "--json", "serve", "--listen", "127.0.0.1:0"]
        self.log = open(folder / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            # Trees of runs are made there.
            env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        said = json.loads(self.process.stdout.readline())
        self.url, self.token = said["listening"], said["token"]

    def ask(self, path, body=None, kind="application/json"):
        """What an operation answers, as JSON."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        data = None if body is None else body.encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=LONG_S) as answer:
            return json.load(answer)

    def answered(self):
        """How often each operation came to each status, as the server counts them."""
        request = urllib.request.Request(self.url + "/v1/metrics", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=LONG_S) as answer:
            lines = answer.read().decode().splitlines()
        found = {}
        for line in lines:
            if counted := COUNTER.fullmatch(line):
                found.setdefault(counted[1], {})[int(counted[2])] = int(counted[3])
        return found

    def stop(self):
        """Ends it as an operator would; what went wrong, if anything did."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=LONG_S)
        self.log.seek(0)
        said = self.log.read()
        self.log.close()
        ours = [line for line in said.splitlines() if "panicked" in line or "STORE_FAILED" in line]
        return ours + ([] if code == 0 else [f"the server ended with {code}"])


def furnish(server):
    """Makes something of each kind; what stands for the parameters of paths, and for those of some operations alone."""
    server.ask("/v1/flows", FLOW, "application/yaml")
    start = json.dumps({"flow": "publish", "workspace": "copy"})
    run, ending, ended = (server.ask("/v1/runs", start)["run"] for _ in range(3))
    question, _, _ = (waited(server, of) for of in (run, ending, ended))
    server.ask(f"/v1/runs/{ended}/cancel", "")
    digest = server.ask("/v1/artifacts", "minutes", "text/plain")["digest"]
    there = {
        "flow": "publish",
        "run": run,
        "question": question,
        "digest": digest,
        "handoff": "draft.1",
        "attempt": "draft.1.1",
        "stream": "stdout",
        "code": "RUN_NOT_FOUND",
    }
    # One that works in a tree of its own keeps its files.
    server.ask("/v1/flows", APART, "application/yaml")
    kept = server.ask("/v1/runs", json.dumps({"flow": "apart"}))["run"]
    ended_by_itself(server, kept)
    notes = server.ask(f"/v1/runs/{run}/handoffs/draft")["file_changes"]["files"][0]["digest"]
    # What ends one leaves the others, and a run can be forked when it is over.
    return there, {
        "cancelRun": {"run": ending},
        "forkRun": {"run": ended},
        "getRunContent": {"run": run, "digest": notes},
        "listDifferences": {"run": kept},
        "getPatch": {"run": kept},
    }


def ended_by_itself(server, run):
    until = time.monotonic() + LONG_S
    while server.ask(f"/v1/runs/{run}")["status"] != "succeeded":
        if time.monotonic() > until:
            sys.exit("rest.py: the run does not end")
        time.sleep(0.05)


def waited(server, run):
    """The question of a run, once it is put."""
    until = time.monotonic() + LONG_S
    while not (asked := server.ask(f"/v1/questions?run={run}")["questions"]):
        if time.monotonic() > until:
            sys.exit("rest.py: the run asks nothing")
        time.sleep(0.05)
    return asked[0]["question"]


def do_in_turn(server):
    """What needs the answer of another operation, or a model: a session begins and ends, a flow is corrected as was shown."""
    begin = urllib.request.Request(
        server.url + "/v1/sessions",
        data=json.dumps({"token": server.token}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(begin, timeout=LONG_S) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        key = json.load(answer)["key"]
    end = urllib.request.Request(
        server.url + "/v1/sessions/end", data=b"", headers={"Cookie": cookie, "X-Envoi-Page": key}
    )
    urllib.request.urlopen(end, timeout=LONG_S).close()

    run = server.ask("/v1/runs", json.dumps({"flow": "publish", "workspace": "copy"}))["run"]
    waited(server, run)
    body = {"flow": "flow.yaml", "files": {"flow.yaml": FLOW.replace("Publish it?", "Publish it now?")}}
    shown = server.ask(f"/v1/runs/{run}/compare", json.dumps(body))
    server.ask(f"/v1/runs/{run}/correct", json.dumps(body | {"seen": shown["subject"]}))

    talk = {"model": "wise", "max_tokens": 8, "messages": [{"role": "user", "content": "Well?"}]}
    server.ask("/api/llm-bridge/responses", json.dumps({"model": "wide", "input": "Well?"}))
    server.ask("/api/llm-bridge/v1/messages", json.dumps(talk))
    server.ask("/api/llm-bridge/v1/messages/count_tokens", json.dumps(talk))


def settings(parameters, of_operations):
    """The configuration by which these stand in paths."""
    def lines(of):
        return "".join(f'"path.{name}" = {json.dumps(value)}\n' for name, value in of.items())

    checks = [f"{name}.enabled = true\n" for name in CHECKS] + [f"{name}.enabled = false\n" for name in OTHER_CHECKS]
    text = "[checks]\n" + "".join(checks) + "\n[parameters]\n" + lines(parameters)
    for operation in sorted(of_operations):
        text += f'\n[[operations]]\ninclude-operation-id = "{operation}"\n'
        text += "[operations.parameters]\n" + lines(of_operations[operation])
    return text


def strict(document):
    """The document without what would let everything pass."""
    for methods in document["paths"].values():
        for operation in methods.values():
            del operation["responses"]["default"]
    return document


def unseen(answered, operations):
    """What was not tried, although it looks as if it had been: an operation that was never done, or a server error."""
    total = sum(sum(statuses.values()) for statuses in answered.values())
    print(f"-- {total} requests; of each operation so many of each status")
    for operation, statuses in sorted(answered.items()):
        told = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        print(f"   {operation:16} {told}")
    wrong = [f"{name} came to {status}" for name, seen in answered.items() for status in seen if status >= 500]
    done = {name for name, seen in answered.items() if any(status < 300 for status in seen)}
    return wrong + [f"{name} was never done" for name in sorted(operations - done)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--envoi", required=True)
    parser.add_argument("--schemathesis", required=True)
    parser.add_argument("examples", nargs="?", default="15")
    parser.add_argument("seed", nargs="?", default="7007")
    options = parser.parse_args()
    # A step outlives the server that is killed, and may still write.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        document = json.loads((ROOT / "spec/openapi.json").read_text(encoding="utf-8"))
        known = {op["operationId"] for methods in document["paths"].values() for op in methods.values()}
        if not known.issuperset(STREAMS):
            sys.exit("rest.py: a stream that is left out is no operation any more")
        (folder / "openapi.json").write_text(json.dumps(strict(document)))
        server = Server(options.envoi, folder)
        wrong = []
        try:
            for title, there in [("anything", ({}, {})), ("what is there", furnish(server))]:
                print(f"-- {title}", flush=True)
                (folder / "schemathesis.toml").write_text(settings(*there))
                command = [options.schemathesis, "--config-file", folder / "schemathesis.toml", "run"]
                command += [folder / "openapi.json", "--url", server.url, "--no-color", "--warnings", "off"]
                command += ["--header", f"Authorization: Bearer {server.token}"]
                command += ["--phases", "examples,coverage,fuzzing"]
                command += ["--max-examples", options.examples, "--seed", options.seed, "--no-shrink"]
                command += ["--generation-database", "none", "--request-timeout", str(LONG_S)]
                command += [part for stream in STREAMS for part in ("--exclude-operation-id", stream)]
                done = subprocess.run(command, cwd=folder, check=False)
                if done.returncode != 0:
                    wrong.append(f"schemathesis ended with {done.returncode}")
            do_in_turn(server)
            wrong += unseen(server.answered(), known.difference(STREAMS, NOT_COUNTED))
        finally:
            wrong += server.stop()
    for line in wrong:
        print(f"rest.py: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
