"""Kills of `check.sh --kills N`: an engine, a supervisor, the process that reads an agent program, the program, its tool, or all of them at once, at
random moments of a run. Every second run calls its models through the bridge, if the program can; the others call them themselves. After each kill the run goes on by
itself, or another engine takes it up, and then these hold:

- through the bridge, calls that the stub was paid for are calls of the run's ledger; only a call that a killed engine had announced may not have
  been made. Without it, what is not in the ledger is of attempts that say that their use is not known
- a session in which the model had answered goes on: no run has two of them
- no process is left
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from story import LONGEST_S, PROTOCOLS, Story, quoted, step, stub

VICTIMS = ("engine", "supervisor", "reader", "program", "tool", "all")
# How long a run may take with all that is tried again in it.
PATIENCE_S = 240
# Calls of its model that a run without a kill makes.
CALLS = stub.CALLS_OF_WORK + 1
# From one of them to the next it takes about this time.
BETWEEN_S = 0.8


def processes(mark):
    """Processes that have this in their environment: the kind of each, and its id."""
    found = []
    for place in pathlib.Path("/proc").iterdir():
        if not place.name.isdigit() or int(place.name) == os.getpid():
            continue
        try:
            if mark not in (place / "environ").read_bytes():
                continue
            # A supervisor has written another command over that of the process it comes from.
            words = (place / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
        except OSError:
            continue
        name = pathlib.Path(words[0]).name if words else ""
        kind = ("ended" if not words else "supervisor" if "__attempt" in words[1:3] else "reader" if "__agent" in words[1:3] else
                "zygote" if "__zygote" in words[1:3] else "program" if name in ("claude", "codex", "node", "opencode") else "tool" if name == "sleep" else name)
        found.append((kind, int(place.name)))
    return found


def parent(pid):
    try:
        # After the name, which stands in brackets and may have any byte in it: the state, then the parent.
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def through(bridge):
    return "through the bridge" if bridge else "without it"


class Kill(Story):
    def __init__(self, envoi, kind, binary, port, number, seed):
        super().__init__(envoi, kind, binary, port)
        self.random = random.Random(f"{seed} {kind} {number}")
        self.what = f"{kind}, round {number}, seed {seed}"
        self.bridge = number % 2 == 0 and kind in PROTOCOLS
        self.run_name = f"{kind}-kill-{number}--work"
        self.home, tools = self.place / "home", self.place / "tools"
        tools.mkdir()
        (tools / kind).symlink_to(binary)
        base = f"http://127.0.0.1:{port}/{self.run_name}"
        version = "/v1" if kind == "claude" else ""
        (self.place / ".envoi/config.yaml").write_text("" if kind not in PROTOCOLS else
            f'models:\n  providers:\n    stub: {{ url: "{base}{version}", protocol: {PROTOCOLS[kind]} }}\n'
            f"  offer:\n    stub: {{ provider: stub }}\n")
        args, variables = step(kind, base, self.home)
        if self.bridge:
            args, variables = (["--disable", "plugins"] if kind == "codex" else []), {}
            if kind != "opencode":
                variables = {{"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}[kind]: str(self.home)}
        variables |= {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(self.home), "KILLED_IN": str(self.place)}
        env = "".join(f"  {name}: {quoted(value)}\n" for name, value in variables.items())
        args = ", ".join(quoted(argument) for argument in args)
        calls = "bridge: true, model: stub, " if self.bridge else ""
        (self.place / "flow.yaml").write_text(
            f"flow: killed\nenv:\n{env}steps:\n  - id: work\n    agent: {{ use: {kind}, {calls}args: [{args}], may: run, prompt: Work. }}\n"
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

    def end_engine(self):
        self.server.kill()
        self.server.communicate()

    def kill(self, victim, after_calls, after_s):
        """Kills it once it is there, so many calls have been made, and that time has passed."""
        until = time.monotonic() + PATIENCE_S
        while stub.Stub.calls.get(self.run_name, 0) < after_calls and not self.is_over():
            assert time.monotonic() < until, f"{self.kind}: no {after_calls} calls\n{self.call('logs')}"
            time.sleep(0.02)
        time.sleep(after_s)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if victim == "engine":
                self.end_engine()
                return True
            found = [(kind, pid) for kind, pid in processes(self.mark) if kind != "ended"]
            if victim == "all":
                # As when the machine goes down.
                if not any(kind == "program" for kind, _ in found) and not self.is_over():
                    continue
                for _, pid in found:
                    self.send_kill(pid)
                self.server.communicate()
                return True
            for kind, pid in found:
                if kind == victim and self.send_kill(pid):
                    return True
            if self.is_over():
                return False
            time.sleep(0.01)
        return False

    @staticmethod
    def send_kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            return False

    def is_over(self):
        rows = self.json("runs")
        return bool(rows) and rows[0]["status"] not in ("running", "created")

    def tell(self):
        """What was killed, and what the run came to."""
        victim = self.random.choice(VICTIMS)
        after_calls = self.random.randrange(CALLS + 1)
        after_s = self.random.uniform(0.0, BETWEEN_S)
        what = f"{self.kind} {through(self.bridge)}: {victim} after {after_calls} calls and {after_s:.2f} s"
        began = time.monotonic()
        self.serve()
        try:
            self.call("run", "--detach", "flow.yaml")
            was_killed = self.kill(victim, after_calls, after_s)
            if self.server.poll() is not None:
                self.serve()
            while not self.is_over():
                assert time.monotonic() < began + PATIENCE_S, f"{what}: {self.json('runs')}\n{self.call('logs')}"
                time.sleep(0.1)
            return {"runs": 1, victim if was_killed else "nothing": 1, **self.look(what)}
        finally:
            self.server.terminate()
            self.server.communicate()

    def left(self):
        """Processes but for the engine and the one that its supervisors come from, which ends with it."""
        found = [(kind, pid) for kind, pid in processes(self.mark) if kind != "ended" and pid != self.server.pid]
        return [(kind, pid) for kind, pid in found if kind != "zygote" or parent(pid) != self.server.pid]

    def look(self, what):
        run = self.json("runs")[0]["run"]
        until = time.monotonic() + LONGEST_S
        while left := self.left():
            assert time.monotonic() < until, f"{left} are left: {what}\n{self.call('logs', run)}"
            time.sleep(0.05)
        shown = self.json("show", run)
        events = [json.loads(line) for line in self.call("show", run, "--events").splitlines()]
        events = [event.get("event", event) for event in events]
        logs = self.call("logs", run)
        story = f"{what}\n{logs}\n{self.call('why', run)}"
        assert shown["status"] == "succeeded", f"{shown['status']} {story}"
        settled = [event for event in events if event["type"] == "attempt_settled"]
        paid, counted = stub.Stub.calls.get(self.run_name, 0), shown["used"]["llm_calls"] or 0
        if self.bridge:
            broken = sum(event["type"] == "model_call_ended" and event["outcome"] == "broken_off" for event in events)
            assert paid <= counted <= paid + broken, f"{paid} calls were paid, {counted} counted, {broken} of them broken off: {story}"
        else:
            known = [self.is_known(event) for event in settled]
            assert counted <= paid, f"{paid} calls were paid, and {counted} counted: {story}"
            assert counted == paid or not all(known), f"{paid} calls were paid, {counted} counted, and nothing is said to be unknown: {story}"
        # Each attempt goes on with the session that it is known by.
        answered, begun = self.sessions()
        calls = [event["command"]["agent"] for event in events if event["type"] == "attempt_started"]
        used = {event["session"]["id"] for event in settled if event.get("session")}
        assert len(answered) == 1 and answered <= used, f"the model has answered in {answered}, and {used} were used: {story}"
        kept = [call for call in calls if call.get("resumes", False) and call.get("session") in answered]
        return {"attempts": len(calls), "paid": paid, "counted": counted, "unknown": abs(paid - counted), "went on": bool(kept),
                "anew": max(len(begun) - 1, logs.count("is not there any more"))}

    @staticmethod
    def is_known(settled):
        """Whether the journal says that it knows all that the attempt has used."""
        metrics = settled.get("metrics") or {}
        return "in_doubt" not in settled["outcome"] and all(metrics.get(name) is not None for name in ("llm_calls", "tokens_out"))

    def sessions(self):
        """Sessions that the program has kept in its folder: those in which the model has answered, and all of them."""
        if self.kind == "opencode":
            return self.sessions_in_database()
        kept = {"claude": "projects/*/*.jsonl", "codex": "sessions/**/rollout-*.jsonl", "gemini": ".gemini/tmp/*/chats/session-*.jsonl"}
        files = list(self.home.glob(kept[self.kind]))
        answers = {"claude": ('"type":"assistant"',), "codex": ('"type":"function_call"', '"role":"assistant"'), "gemini": ('"type":"gemini"',)}[self.kind]
        # A rollout is named after its time, then after its session. A file of Gemini begins with the session.
        names = {place: place.stem[-36:] if self.kind != "gemini" else json.loads(place.read_text().split("\n", 1)[0])["sessionId"] for place in files}
        return {names[place] for place in files if any(answer in place.read_text(errors="replace") for answer in answers)}, set(names.values())


    def sessions_in_database(self):
        """The same of `opencode`. It names its session with the first answer: what was asked after that was asked in a session that is known."""
        found = list(self.home.glob(".local/share/opencode/opencode.db"))
        if not found:
            return set(), set()
        with contextlib.closing(sqlite3.connect(found[0])) as database:
            begun = {name for name, in database.execute("select id from session")}
            asked = database.execute("select session_id, count(*) from message where json_extract(data, '$.role') = 'assistant' group by 1").fetchall()
        return {name for name, count in asked if count > 1}, begun


COLUMNS = ("runs", *VICTIMS, "nothing", "attempts", "paid", "counted", "unknown", "went on", "anew")


def kill_once(kill, table, broken):
    row = table.setdefault((kill.kind, kill.bridge), dict.fromkeys(COLUMNS, 0))
    try:
        for column, count in kill.tell().items():
            row[column] += count
    except (AssertionError, subprocess.SubprocessError, OSError) as failure:
        broken.append(f"{kill.what}: {failure!r}")
        print(broken[-1].replace("\\n", "\n"), flush=True)
    finally:
        for _, pid in processes(kill.mark):
            kill.send_kill(pid)
        shutil.rmtree(kill.place, ignore_errors=True)


def killed(envoi, binaries, rounds, seed, port):
    """The kills, as many with each program; then a table of them, also of those before an interruption. What breaks a promise is told at once, and is a
    failure at the end."""
    # A program that is killed does not wait for its answer.
    stub.Server.handle_error = lambda *_: None
    table, broken = {}, []
    number = 0
    try:
        for number in range(rounds):
            for kind, binary in binaries.items():
                kill_once(Kill(envoi, kind, binary, port, number, seed), table, broken)
    except KeyboardInterrupt:
        broken.append(f"interrupted in round {number} of {rounds}, seed {seed}")
        print(broken[-1], flush=True)
    print("| program | " + " | ".join(COLUMNS) + " |", flush=True)
    print("|---" * (len(COLUMNS) + 1) + "|")
    for (kind, bridge), row in sorted(table.items(), reverse=True):
        print(f"| `{kind}`, {through(bridge)} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    assert not broken, f"{len(broken)} of {rounds * len(binaries)} runs have broken a promise, or it was interrupted"
