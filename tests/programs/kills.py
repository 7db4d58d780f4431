"""Kills of `check.sh --kills N`: an engine, a supervisor, the process that reads an agent program, the program or its tool, at random moments of a run whose agent calls its
models through the bridge. After each the run goes on by itself or is resumed, and then these hold:

- calls that the stub was paid for are calls of the run's ledger; only a call that a killed engine had announced may not have been made
- a session that had begun goes on
- no process is left
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from story import LONGEST_S, PROTOCOLS, Story, quoted, stub

VICTIMS = ("engine", "supervisor", "reader", "program", "tool")
# How long a run may take with all that is tried again in it.
PATIENCE_S = 240


def processes(mark):
    """Processes that have this in their environment: the kind of each, and its id."""
    found = []
    for place in pathlib.Path("/proc").iterdir():
        if not place.name.isdigit() or int(place.name) == os.getpid():
            continue
        try:
            if mark not in (place / "environ").read_bytes():
                continue
            words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        name = pathlib.Path(words[0]).name
        kind = ("ended" if not words[0] else "supervisor" if "__attempt" in words[1:3] else "reader" if "__agent" in words[1:3] else
                "program" if name in ("claude", "codex") else "tool" if name == "sleep" else name)
        found.append((kind, int(place.name)))
    return found


class Kill(Story):
    def __init__(self, envoi, kind, binary, port, number, seed):
        super().__init__(envoi, kind, binary, port)
        self.random = random.Random(f"{seed} {kind} {number}")
        self.run_name = f"{kind}-kill-{number}--work"
        home, tools = self.place / "home", self.place / "tools"
        tools.mkdir()
        (tools / kind).symlink_to(binary)
        version = "/v1" if kind == "claude" else ""
        (self.place / ".envoi/config.yaml").write_text(
            f'models:\n  providers:\n    stub: {{ url: "http://127.0.0.1:{port}/{self.run_name}{version}", protocol: {PROTOCOLS[kind]} }}\n'
            f"  offer:\n    stub: {{ provider: stub }}\n")
        variable = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}[kind]
        variables = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home), variable: str(home), "KILLED_IN": str(self.place)}
        env = "".join(f"  {name}: {quoted(value)}\n" for name, value in variables.items())
        args = 'args: ["--disable", plugins], ' if kind == "codex" else ""
        (self.place / "flow.yaml").write_text(
            f"flow: killed\nenv:\n{env}steps:\n  - id: work\n    agent: {{ use: {kind}, bridge: true, model: stub, {args}may: run, prompt: Work. }}\n"
            f"    on_in_doubt: continue\n    retry: {{ attempts: 5, backoff: 10ms..10ms }}\n    idle: {LONGEST_S}s\n    timeout: {PATIENCE_S}s\n")
        self.mark = f"KILLED_IN={self.place}".encode()
        self.address = "127.0.0.1:0"

    def serve(self):
        # Supervisors have the environment of the engine that started them.
        self.server = subprocess.Popen([self.envoi, "serve", "--listen", self.address], cwd=self.place, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, env={**os.environ, "KILLED_IN": str(self.place)})
        said = self.server.stdout.readline()
        assert said.startswith("listening on"), said
        # Attempts that are live know this address.
        self.address = said.split("//")[1].strip()

    def kill(self, victim, after_s):
        """Kills it once it is there, and that time has passed."""
        time.sleep(after_s)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if victim == "engine":
                self.server.kill()
                self.server.communicate()
                return True
            found = [pid for kind, pid in processes(self.mark) if kind == victim]
            for pid in found[:1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    pass
            if self.is_over():
                return False
            time.sleep(0.01)
        return False

    def is_over(self):
        rows = self.json("runs")
        return bool(rows) and rows[0]["status"] not in ("running", "created")

    def tell(self):
        victim = self.random.choice(VICTIMS)
        after_s = self.random.uniform(0.0, 4.0)
        began = time.monotonic()
        self.serve()
        try:
            self.call("run", "--detach", "flow.yaml")
            was_killed = self.kill(victim, after_s)
            if self.server.poll() is not None:
                self.serve()
            while not self.is_over():
                assert time.monotonic() < began + PATIENCE_S, f"{victim} after {after_s:.2f} s: {self.json('runs')}\n{self.call('logs')}"
                time.sleep(0.1)
            self.look(f"{victim} after {after_s:.2f} s")
        finally:
            self.server.terminate()
            self.server.communicate()
        return victim if was_killed else "nothing"

    def look(self, what):
        run = self.json("runs")[0]["run"]
        shown = self.json("show", run)
        events = [json.loads(line) for line in self.call("show", run, "--events").splitlines()]
        events = [event.get("event", event) for event in events]
        story = f"{what}\n{self.call('logs', run)}\n{self.call('why', run)}"
        assert shown["status"] == "succeeded", f"{shown['status']} {story}"
        paid, counted = stub.Stub.calls.get(self.run_name, 0), shown["used"]["llm_calls"]
        broken = sum(event["type"] == "model_call_ended" and event["outcome"] == "broken_off" for event in events)
        assert paid <= counted <= paid + broken, f"{paid} calls were paid, {counted} counted, {broken} of them broken off: {story}"
        calls = [event["command"]["agent"] for event in events if event["type"] == "attempt_started"]
        sessions = [event["session"]["id"] for event in events if event["type"] == "attempt_settled" and event.get("session")]
        # A session begins with its first call: what was killed before that has none to keep.
        for before, call in zip(calls, calls[1:]):
            assert call.get("resumes", False) or not before.get("resumes", False), f"{calls} {story}"
        lost = self.call("logs", run).count("is not there any more")
        assert lost == 0 or paid <= 5 + lost, f"a session is lost: {story}"
        assert len(set(sessions)) <= 1 + lost, f"{sessions} {story}"
        until = time.monotonic() + LONGEST_S
        while left := [found for found in processes(self.mark) if found[0] != "ended" and found[1] != self.server.pid]:
            assert time.monotonic() < until, f"{left} are left: {story}"
            time.sleep(0.05)
