"""The story of `check.sh`: the real programs as steps of a run, with a stub in the place of their providers."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "crates/preset/tests/programs"), str(HERE.parent)]
RESETS_AT = int(time.time()) + 2 * 3600
os.environ["STUB_RESET_AT"] = str(RESETS_AT)
import loopback  # noqa: E402
import stub  # noqa: E402  the time of its limits is read when it is loaded

LONGEST_S = 300
# The exit code of a command whose run waits for a person.
WAITING = 3


def quoted(text):
    return json.dumps(text)


def step(kind, base, home):
    """What the flow says of the program, and the variables that point it to the stub."""
    if kind == "claude":
        variables = {"ANTHROPIC_BASE_URL": base, "CLAUDE_CODE_OAUTH_TOKEN": "stub", "CLAUDE_CONFIG_DIR": str(home),
                     "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_API_KEY": ""}
        return [], variables
    if kind == "gemini":
        # With another address than its own it reads from its settings how it signs in.
        settings = home / ".gemini/settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}))
        return ["-m", "stub-model"], {"GOOGLE_GEMINI_BASE_URL": base, "GEMINI_API_KEY": "stub"}
    if kind == "opencode":
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": base, "apiKey": "{env:STUB_KEY}"},
                    "models": {"stub-model": {"cost": {"input": 1, "output": 2}}}}
        return ["-m", "stub/stub-model"], {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"stub": provider}}), "STUB_KEY": "stub"}
    provider = (f'model_providers.stub={{name="stub",base_url="{base}",env_key="STUB_KEY",wire_api="responses",'
                "request_max_retries=1,stream_max_retries=1}")
    arguments = ["-m", "stub-model", "--disable", "plugins", "-c", "model_provider=stub", "-c", provider]
    return arguments, {"CODEX_HOME": str(home), "STUB_KEY": "stub"}


ACCOUNT = "stub"
# What a store has as a file, and masks.
KEYS = ("CLAUDE_CODE_OAUTH_TOKEN", "STUB_KEY", "GEMINI_API_KEY")
# Of the others nothing says when a limit is over.
STATE_RESETS = ("claude", "codex")


def config(kind, binary, base, home):
    """The account with which the steps work: the program, and its variables."""
    _, variables = step(kind, base, home)
    variables["HOME"] = str(home)
    env = "".join(f"      {name}: {quoted(value)}\n" for name, value in variables.items() if name not in KEYS)
    secrets = "".join(f"      {name}: {{ file: {name} }}\n" for name in variables if name in KEYS)
    return (f"accounts:\n  {ACCOUNT}:\n    use: {kind}\n    program: {quoted(str(binary))}\n    env:\n{env}    secrets:\n{secrets}",
            {name: "key-of-the-account" for name in variables if name in KEYS})


def flow(kind, base, home):
    arguments, _ = step(kind, base, home)
    args = ", ".join(quoted(argument) for argument in arguments)
    agent = f"use: {kind}, account: {ACCOUNT}, session: work, may: run, args: [{args}]"
    return (f"flow: story\nsteps:\n"
            f"  - id: hello\n    agent: {{ {agent}, prompt: Say hello. }}\n    idle: {LONGEST_S}s\n    timeout: {LONGEST_S}s\n"
            f"  - id: again\n    agent: {{ {agent}, prompt: Say it again. }}\n    idle: {LONGEST_S}s\n    timeout: {LONGEST_S}s\n")


class Story:
    def __init__(self, envoi, kind, binary, port):
        self.envoi, self.kind = envoi, kind
        self.place = pathlib.Path(tempfile.mkdtemp(prefix=f"envoi-{kind}-"))
        home = self.place / "home"
        home.mkdir()
        self.run_name = f"{kind}--limit-once"
        base = f"http://127.0.0.1:{port}/{self.run_name}"
        (self.place / "flow.yaml").write_text(flow(kind, base, home))
        store = self.place / ".envoi"
        store.mkdir()
        text, keys = config(kind, binary, base, home)
        (store / "config.yaml").write_text(text)
        for name, value in keys.items():
            (store / name).write_text(value)

    def call(self, *arguments, expected=0):
        done = subprocess.run([self.envoi, *arguments], cwd=self.place, capture_output=True, text=True, timeout=4 * LONGEST_S)
        assert done.returncode == expected, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.call("--json", *arguments))

    def wait_for_limit(self, engine):
        until = time.monotonic() + 2 * LONGEST_S
        while time.monotonic() < until:
            assert engine.poll() is None, f"the run is over: {engine.communicate()}"
            rows = self.json("runs") if (self.place / ".envoi/envoi.db").is_file() else []
            if rows and rows[0]["waits_for"]:
                return rows[0]
            time.sleep(0.1)
        raise AssertionError(f"it does not wait: {self.json('runs')}\n{self.call('logs')}")

    def tell(self):
        began = time.monotonic()
        engine = subprocess.Popen([self.envoi, "run", "flow.yaml"], cwd=self.place, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        row = self.wait_for_limit(engine)
        # It is killed while it waits: the time is in the journal.
        engine.kill()
        engine.communicate()
        wait = row["waits_for"]
        stated = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(RESETS_AT))
        if self.kind not in STATE_RESETS:
            stated = None
        resets_at = wait["resets_at"]
        assert wait["account"] == f"{self.kind}/{ACCOUNT}", wait
        assert resets_at is None if stated is None else (resets_at or "").startswith(stated), f"{wait}, and not {stated}"
        assert stub.Stub.calls == {**stub.Stub.calls, self.run_name: 1}, "one call was refused, and none made after it"
        run = row["run"]
        assert self.json("show", run)["used"]["agent_hops"] == 0, "a refused attempt uses up nothing"
        self.call("resume", run, "--now")
        shown = self.json("show", run)
        assert shown["status"] == "succeeded", shown
        events = [json.loads(line) for line in self.call("show", run, "--events").splitlines()]
        started = [event for event in events if event["event"]["type"] == "attempt_started"] if "event" in events[0] else [
            {"event": event} for event in events if event["type"] == "attempt_started"]
        calls = [event["event"]["command"]["agent"] for event in started]
        sessions = {call.get("session") for call in calls[1 if self.kind in STATE_RESETS else 2:]}
        assert len(calls) == 3 and len(sessions) == 1 and None not in sessions, calls
        # A session of `gemini` that has come to no answer cannot be resumed.
        begins_anew = self.kind == "gemini"
        assert ("is not there any more: a new one begins" in self.call("logs", run)) == begins_anew, self.call("logs", run)
        assert [call.get("resumes", False) for call in calls] == [False, True, True], calls
        assert stub.Stub.calls[self.run_name] == 3, stub.Stub.calls
        assert "Hello from the stub." in self.call("logs", run)
        print(f"{self.kind}: refused, waited for {f'until {stated}' if stated else 'by tries'}, resumed twice; {time.monotonic() - began:.1f} s", flush=True)


class Patient(Story):
    """A limit of hours, for which the program waits by itself and says nothing more: when `idle` ends it, it is at that limit, and the step waits."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.run_name = f"{kind}-patient--long-once"
        for place in (self.place / ".envoi/config.yaml", self.place / "flow.yaml"):
            text = place.read_text().replace(f"{kind}--limit-once", self.run_name)
            # Of the first step only, and longer than a start takes on a slow machine: its silence counts from its start.
            place.write_text(text.replace(f"idle: {LONGEST_S}s", "idle: 30s", 1))

    def tell(self):
        began = time.monotonic()
        engine = subprocess.Popen([self.envoi, "run", "flow.yaml"], cwd=self.place, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        row = self.wait_for_limit(engine)
        engine.kill()
        engine.communicate()
        run, wait = row["run"], row["waits_for"]
        assert (wait["account"], wait["resets_at"]) == (f"{self.kind}/{ACCOUNT}", None), wait
        assert self.json("show", run)["used"]["agent_hops"] == 0, "a refused attempt uses up nothing"
        assert "last status: 429" in self.call("why", run), self.call("why", run)
        self.call("resume", run, "--now")
        assert self.json("show", run)["status"] == "succeeded", self.call("logs", run)
        assert stub.Stub.calls[self.run_name] == 3, stub.Stub.calls
        print(f"{self.kind}: waited for a limit by itself, was ended, and the step waited in its place; {time.monotonic() - began:.1f} s", flush=True)


class Continued(Story):
    """A step goes on with the session of the one before, and what each has used is known. (After a refusal for a while the program tries
    again by itself.)"""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.run_name = f"{kind}-continued--hello"
        config = self.place / ".envoi/config.yaml"
        config.write_text(config.read_text().replace(f"{kind}--limit-once", self.run_name))

    def tell(self):
        began = time.monotonic()
        self.call("run", "flow.yaml")
        run = self.json("runs")[0]["run"]
        used = self.json("show", run)["used"]
        assert (used["llm_calls"], stub.Stub.calls[self.run_name]) == (2, 2), (used, stub.Stub.calls)
        assert float(used["cost_usd"]) == 0.0002, used
        heard = json.dumps(stub.Stub.latest[self.run_name])
        assert "Say hello." in heard and "Say it again." in heard, heard[-3000:]
        print(f"{self.kind}: two steps in one session, two calls, both counted; {time.monotonic() - began:.1f} s", flush=True)


class Denied(Story):
    """A tool that the step does not allow: the program reports success. The step has failed, unless `denials` allows so many refused calls."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.run_name = f"{kind}-refused--denied"
        config = self.place / ".envoi/config.yaml"
        config.write_text(config.read_text().replace(f"{kind}--limit-once", self.run_name))
        arguments, _ = step(kind, "", self.place / "home")
        args = ", ".join(quoted(argument) for argument in arguments)
        self.text = (f"flow: refused\nsteps:\n  - id: edit\n    agent: {{ use: {kind}, account: {ACCOUNT}, may: edit, args: [{args}], prompt: Edit it. }}\n"
                     f"    idle: {LONGEST_S}s\n    timeout: {LONGEST_S}s\n")

    def tell(self):
        began = time.monotonic()
        (self.place / "flow.yaml").write_text(self.text)
        self.call("run", "flow.yaml", expected=1)
        failed = self.call("show", self.json("runs")[0]["run"])
        assert "AGENT_DENIED: a tool was refused: Bash" in " ".join(failed.split()), failed
        (self.place / "flow.yaml").write_text(f"{self.text}    denials: 1\n")
        self.call("run", "flow.yaml")
        shown = self.call("show", self.json("runs")[0]["run"])
        assert "1 call of a tool was refused (`denials` allows 1): Bash" in " ".join(shown.split()), shown
        assert not (self.place / "denied.txt").exists(), "the call was not made"
        print(f"{self.kind}: a refused call is a failure, and with `denials: 1` a success with a warning; {time.monotonic() - began:.1f} s", flush=True)


# In the place of Git; the program itself calls it, too.
GIT = """#!/bin/sh
[ "$1" = push ] || exit 1
echo "$*" >> "$PUSHES"
case "$*" in *slow*) echo $$ > "$PUSHES.pid"; exec tail -f /dev/null ;; esac
"""


class Questions(Story):
    """Calls that a person decides, with the real program: two in one turn, a refusal, a question of the agent's own, a changed call, and
    a call during which the program and the engine are killed."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.run_name = f"{kind}--asks"
        home, tools = self.place / "home", self.place / "tools"
        self.pushes = self.place / "pushes"
        tools.mkdir()
        (tools / "git").write_text(GIT)
        (tools / "git").chmod(0o755)
        _, variables = step(kind, f"http://127.0.0.1:{port}/{self.run_name}", home)
        variables |= {"PATH": f"{tools}:{binary.parent}:{os.environ['PATH']}", "HOME": str(home), "PUSHES": str(self.pushes)}
        env = "".join(f"  {name}: {quoted(value)}\n" for name, value in variables.items())
        (self.place / "flow.yaml").write_text(
            f"flow: questions\nenv:\n{env}steps:\n  - id: work\n    agent:\n      use: {kind}\n      prompt: Push it.\n      may: run\n"
            f"      ask: ['Bash(git push *)', AskUserQuestion]\n    retry: {{ attempts: 2, backoff: 1ms..1ms }}\n"
            f"    idle: {LONGEST_S}s\n    timeout: {LONGEST_S}s\n")

    def pushed(self):
        return self.pushes.read_text().splitlines() if self.pushes.exists() else []

    def question(self):
        questions = self.json("inbox")
        assert len(questions) == 1, f"{questions}\n{self.call('logs')}"
        return questions[0]["question"], questions[0]["text"]

    def decide(self, *arguments):
        done = subprocess.run([self.envoi, *arguments], cwd=self.place, capture_output=True, text=True, timeout=2 * LONGEST_S)
        assert done.returncode in (0, WAITING), f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"

    def program_of(self, pid):
        """The agent program above a process of its tool."""
        while pid > 1:
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == self.kind:
                return pid
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        raise AssertionError("the agent program is not above its tool")

    def tell(self):
        began = time.monotonic()
        self.call("run", "flow.yaml", expected=WAITING)
        one, shown = self.question()
        assert "git push one" in shown and self.pushed() == [], (shown, self.pushed())
        self.decide("approve", one)
        assert self.pushed() == ["push one"], self.pushed()
        two, shown = self.question()
        assert "git push two" in shown, shown
        self.decide("deny", two, "--reason", "not on a Friday")
        assert self.pushed() == ["push one"], self.pushed()
        assert "not on a Friday" in json.dumps(stub.Stub.heard[2]), "the agent is told the reason"
        own, shown = self.question()
        assert "Which database?" in shown and "SQLite" in shown, shown
        self.decide("answer", own, "--text", "SQLite")
        assert '\\"Which database?\\"=\\"SQLite\\"' in json.dumps(stub.Stub.heard[3]), stub.Stub.heard[3][-1]
        three, _ = self.question()
        self.decide("approve", three, "--field", "command=git push --dry-run three")
        assert self.pushed() == ["push one", "push --dry-run three"], self.pushed()
        slow, _ = self.question()
        engine = subprocess.Popen([self.envoi, "approve", slow], cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pid = self.place / "pushes.pid"
        until = time.monotonic() + LONGEST_S
        while not (pid.exists() and pid.read_text().strip()):
            assert time.monotonic() < until and engine.poll() is None, engine.communicate()
            time.sleep(0.05)
        os.kill(self.program_of(int(pid.read_text())), signal.SIGKILL)
        engine.kill()
        engine.communicate()
        run = self.json("runs")[0]["run"]
        self.decide("resume", run)
        assert self.pushed().count("push slow") == 1, "one answer allows one call"
        again, shown = self.question()
        assert again != slow and "git push slow" in shown, shown
        self.call("deny", again)
        assert self.json("show", run)["status"] == "succeeded"
        assert self.pushed() == ["push one", "push --dry-run three", "push slow"], self.pushed()
        assert "It is not known whether it took effect" in json.dumps(stub.Stub.heard[5:]), "the agent is told what is unknown"
        print(f"{self.kind}: six questions, one kill, each call made as it was decided; {time.monotonic() - began:.1f} s", flush=True)


class Forked(Story):
    """A fork of the run: its session begins with what the session had come to where the run is cut, and with nothing that came after."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.run_name = f"{kind}-forked--hello"
        config = self.place / ".envoi/config.yaml"
        config.write_text(config.read_text().replace(f"{kind}--limit-once", self.run_name))
        with (self.place / "flow.yaml").open("a") as flow:
            flow.write("  - id: judge\n    run: test -e good\n")

    def tell(self):
        began = time.monotonic()
        self.call("run", "flow.yaml", expected=1)
        run = self.json("runs")[0]["run"]
        cost = float(self.json("show", run)["used"]["cost_usd"])
        (self.place / "good").touch()
        self.call("fork", run, "--from", "again")
        forked = self.json("runs")[0]["run"]
        heard = json.dumps(stub.Stub.latest[self.run_name])
        assert (heard.count("Say hello."), heard.count("Say it again.")) == (1, 1), heard[-3000:]
        own = float(self.json("show", forked)["own_used"]["cost_usd"])
        assert forked != run and abs(own - cost / 2) < 1e-9, (own, cost)
        print(f"{self.kind}: a fork goes on from the cut; {time.monotonic() - began:.1f} s", flush=True)


class Expired(Questions):
    """Nobody answers in time: the agent is refused each call, is told so, and goes on."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        flow = (self.place / "flow.yaml").read_text().replace(f"{kind}--asks", f"{kind}-expires--asks")
        ask = "ask: ['Bash(git push *)', AskUserQuestion]"
        assert ask in flow
        (self.place / "flow.yaml").write_text(flow.replace(ask, f"{ask}\n      expires_in: 1s\n      on_expire: deny"))

    def tell(self):
        began = time.monotonic()
        stub.Stub.heard.clear()
        server = start_server(self.envoi, self.place)
        try:
            self.call("run", "--detach", "flow.yaml")
            until = time.monotonic() + 3 * LONGEST_S
            while self.json("runs")[0]["status"] in ("created", "running", "waiting"):
                assert time.monotonic() < until, f"{self.json('runs')}\n{self.call('logs')}"
                time.sleep(0.1)
        finally:
            server.terminate()
            server.communicate()
        run = self.json("runs")[0]["run"]
        assert self.json("show", run)["status"] == "succeeded", self.call("logs")
        expired = self.call("show", run, "--events").count('"interrupt_expired"')
        assert (expired, self.pushed()) == (5, []), (expired, self.pushed())
        print(f"{self.kind}: five questions that nobody answered, no call made; {time.monotonic() - began:.1f} s", flush=True)


class Pruned(Questions):
    """The answer comes after weeks, when the program has removed its old transcripts: a new session begins, it is said, and no call is made that nobody
    decided."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        flow = self.place / "flow.yaml"
        flow.write_text(flow.read_text().replace(f"{kind}--asks", f"{kind}-pruned--asks"))

    def tell(self):
        began = time.monotonic()
        self.call("run", "flow.yaml", expected=WAITING)
        one, shown = self.question()
        assert "git push one" in shown, shown
        transcripts = list((self.place / "home").glob("projects/*/*.jsonl"))
        assert transcripts, "the session is there"
        for transcript in transcripts:
            transcript.unlink()
        self.decide("approve", one)
        run = self.json("runs")[0]["run"]
        logs = self.call("logs", run)
        assert "is not there any more: a new one begins" in logs, logs
        two, shown = self.question()
        assert two != one and "git push two" in shown and self.pushed() == [], (shown, self.pushed())
        self.decide("approve", two)
        assert self.pushed() == ["push two"], self.pushed()
        self.call("cancel", run)
        print(f"{self.kind}: an answer to a session that is gone begins a new one, which asks again; {time.monotonic() - began:.1f} s", flush=True)


def start_server(envoi, place):
    server = subprocess.Popen([envoi, "serve", "--listen", "127.0.0.1:0"], cwd=place, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    said = server.stdout.readline()
    assert said.startswith("listening on"), said
    return server


# They try again without a word when they are refused a call, and `idle` ends them.
SILENT = ("opencode", )
SILENT_S = 40
PROTOCOLS = {"claude": "messages", "codex": "responses", "opencode": "chat"}


class Bridged(Story):
    """The program calls its models through the bridge of a server, which stops it exactly at its budget and at the limit of the run, and
    knows when a limit of the provider is over."""

    def __init__(self, envoi, kind, binary, port):
        super().__init__(envoi, kind, binary, port)
        self.endless = f"{kind}-bridged--turns"
        # The other programs give up at a limit.
        self.limited = f"{kind}-bridged--limit{'' if kind in SILENT else '-once'}"
        home, tools = self.place / "home", self.place / "tools"
        tools.mkdir()
        (tools / kind).symlink_to(binary)
        version = "/v1" if kind == "claude" else ""
        providers = "".join(
            f'    {name}: {{ url: "http://127.0.0.1:{port}/{run}{version}", protocol: {PROTOCOLS[kind]} }}\n'
            for name, run in (("endless", self.endless), ("limited", self.limited)))
        (self.place / ".envoi/config.yaml").write_text(
            f"models:\n  providers:\n{providers}  offer:\n"
            f'    endless: {{ provider: endless, name: stub-model, price: {{ in: "1", out: "1" }} }}\n'
            f'    limited: {{ provider: limited, name: stub-model }}\n')
        variable = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "opencode": "XDG_DATA_HOME"}[kind]
        variables = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home), variable: str(home)}
        env = "".join(f"  {name}: {quoted(value)}\n" for name, value in variables.items())
        args = 'args: ["--disable", plugins], ' if kind == "codex" else ""
        idle_s = SILENT_S if kind in SILENT else LONGEST_S
        bounds = f"idle: {idle_s}s\n    timeout: {idle_s + LONGEST_S}s\n"

        def agent(model):
            return f"agent: {{ use: {kind}, bridge: true, model: {model}, {args}may: run, prompt: Go on. }}\n    {bounds}"
        (self.place / "flow.yaml").write_text(
            f"flow: bridged\nenv:\n{env}limits: {{ llm_calls: 5, on_reached: ask }}\nsteps:\n"
            f"  - id: budget\n    {agent('endless')}    budget: {{ llm_calls: 3 }}\n    continue_on_error: true\n"
            f"  - id: limits\n    {agent('endless')}")
        (self.place / "limited.yaml").write_text(f"flow: limited\nenv:\n{env}steps:\n  - id: wait\n    {agent('limited')}")

    def tell(self):
        began = time.monotonic()
        server = start_server(self.envoi, self.place)
        try:
            self.tell_with_server(began)
        finally:
            server.terminate()
            server.communicate()

    def tell_with_server(self, began):
        self.call("run", "flow.yaml", expected=WAITING)
        run = self.json("runs")[0]["run"]
        shown = self.json("show", run)
        assert "llm_calls 5 of 5 is used up" in json.dumps(self.json("inbox")), self.json("inbox")
        assert stub.Stub.calls[self.endless] == shown["used"]["llm_calls"] == 5, (stub.Stub.calls, shown["used"])
        assert (shown["by_step"]["budget"]["llm_calls"], shown["by_step"]["limits"]["llm_calls"]) == (3, 2), shown["by_step"]
        assert "AGENT_BUDGET" in self.call("why", run), self.call("why", run)
        given = 120 if self.kind == "claude" else 100
        used = shown["used"]
        assert (used["tokens_in"], used["tokens_out"]) == (5 * given, 50), used
        assert used["cost_usd"] == f"{5 * (given + 10) / 1_000_000:f}".rstrip("0"), used
        self.call("raise", run, "--llm-calls", "2", expected=WAITING)
        used = self.json("show", run)["used"]
        assert stub.Stub.calls[self.endless] == used["llm_calls"] == 7, (stub.Stub.calls, used)
        self.call("cancel", run)
        # The provider's limit: the program does not say until when.
        engine = subprocess.Popen([self.envoi, "run", "limited.yaml"], cwd=self.place, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        row = self.wait_for_limit(engine)
        wait = row["waits_for"]
        assert wait["account"] == "model limited of flow limited" and wait["resets_at"], wait
        if self.kind in SILENT:
            stub.OPENAI_ERRORS.pop("limit")
        self.call("resume", row["run"], "--now")
        engine.communicate()
        shown = self.json("show", row["run"])
        assert shown["status"] == "succeeded" and shown["used"]["agent_hops"] == 1, shown
        assert stub.Stub.calls[self.limited] == shown["used"]["llm_calls"], (stub.Stub.calls, shown["used"])
        assert self.kind in SILENT or shown["used"]["llm_calls"] == 2, shown["used"]
        print(f"{self.kind}: through the bridge stopped after 3, 2 and 2 calls, a limit waited for until {wait['resets_at']}; "
              f"{time.monotonic() - began:.1f} s", flush=True)


def run_examples(envoi, binaries, port):
    """The examples with agents, with the real programs and what stands in for their models."""
    import examples
    for told in examples.ALL:
        for tries_left in reversed(range(examples.MOST_TRIES)):
            example = told(envoi, binaries, port)
            try:
                example.tell()
                break
            except examples.NotSeen:
                if tries_left == 0:
                    raise
            finally:
                shutil.rmtree(example.place, ignore_errors=True)


# What each program can do.
TOLD = {"claude": (Story, Bridged, Forked, Questions, Expired, Pruned, Denied), "codex": (Story, Patient, Bridged), "gemini": (Story, ), "opencode": (Continued, Bridged)}


def main():
    envoi, folder, *wanted = sys.argv[1:]
    modules = pathlib.Path(folder) / "node_modules"
    places = {"claude": "@anthropic-ai/claude-code-*/claude", "codex": "@openai/codex/vendor/*/bin/codex",
              "gemini": "@google/gemini-cli/bundle/gemini.js", "opencode": "opencode-*/bin/opencode"}
    binaries = {kind: binary for kind, place in places.items() for binary in modules.glob(place)}
    missing = [name for name in wanted if name in places and name not in binaries]
    assert binaries and not missing, f"not installed in {folder}: {missing or 'any program'}"
    loopback.leave_if_possible()
    _, port = stub.start()
    if wanted[:1] == ["--kills"]:
        import kills
        rounds, seed = int(wanted[1]), wanted[2] if len(wanted) > 2 else str(time.time_ns())
        named = wanted[3:] or ["claude", "codex"]
        return kills.killed(envoi, {kind: binaries[kind] for kind in named}, rounds, seed, port)
    for kind, binary in binaries.items():
        if not wanted or kind in wanted:
            for told in TOLD[kind]:
                story = told(envoi, kind, binary, port)
                try:
                    story.tell()
                finally:
                    shutil.rmtree(story.place, ignore_errors=True)
    if not wanted or "examples" in wanted:
        run_examples(envoi, binaries, port)


if __name__ == "__main__":
    main()
