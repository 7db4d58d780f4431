"""The examples with agents, run with the real programs against the stub and watched in a terminal: the end that each README promises."""
import fcntl
import importlib.util
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from story import HERE, LONGEST_S, WAITING, stub

EXAMPLES = HERE.parents[1] / "examples"
HANDOFFS = EXAMPLES / "handoffs.py"


# What a program does is shown while it does it. Here that may be over before the next picture of the view.
MOST_TRIES = 6


class NotSeen(AssertionError):
    """Something was in none of the pictures of one run."""


def sees(shown, *all_words):
    for words in all_words:
        if words not in shown:
            raise NotSeen(f"{words}\n{shown}")


class Example:
    """A copy of an example, in which the programs of `PATH` call the stub."""

    name = ""

    def __init__(self, envoi, binaries, port):
        self.envoi, self.began = envoi, time.monotonic()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix=f"envoi-{self.name}-"))
        self.work, tools, home = self.place / "work", self.place / "tools", self.place / "home"
        shutil.copytree(EXAMPLES / self.name, self.work)
        model = importlib.util.spec_from_file_location(f"model_of_{self.name}", EXAMPLES / self.name / "model.py")
        module = importlib.util.module_from_spec(model)
        model.loader.exec_module(module)
        stub.MODELS[self.name] = module.turn
        base = f"http://127.0.0.1:{port}/{{}}--{self.name}"
        provider = (f'model_providers.stub={{name="stub",base_url="{base.format("codex")}",env_key="STUB_KEY",wire_api="responses"}}')
        tools.mkdir()
        home.mkdir()
        # In the place of a login.
        for kind, lines in {
            "claude": (f"export ANTHROPIC_BASE_URL='{base.format('claude')}' CLAUDE_CODE_OAUTH_TOKEN=stub CLAUDE_CONFIG_DIR='{home}'\n"
                       f"exec '{binaries['claude']}' \"$@\"\n"),
            "codex": (f"export CODEX_HOME='{home}' STUB_KEY=stub\n"
                      f"exec '{binaries['codex']}' --disable plugins -c model=stub-model -c model_provider=stub -c '{provider}' \"$@\"\n"),
        }.items():
            (tools / kind).write_text(f"#!/bin/sh\n{lines}")
            (tools / kind).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home)}
        for name in ("ENVOI_HOME", "XDG_STATE_HOME"):
            self.environment.pop(name, None)

    def watched(self, *arguments, expected=0):
        """The same in a terminal: all that its live view has shown, without what moves and colours it."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        command = subprocess.Popen([self.envoi, *arguments], cwd=self.work, env={**self.environment, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                                   stdout=end, stderr=end)
        os.close(end)
        pieces = []

        def read():
            try:
                while piece := os.read(terminal, 65536):
                    pieces.append(piece)
            except OSError:
                # Nobody writes to the terminal any more.
                pass
        reader = threading.Thread(target=read)
        reader.start()
        code = command.wait(timeout=4 * LONGEST_S)
        reader.join()
        os.close(terminal)
        shown = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[78])", "", b"".join(pieces).decode(errors="replace"))
        assert code == expected, f"{self.name}: {arguments}: exit {code}\n{shown}"
        return shown

    def call(self, *arguments, expected=0):
        done = subprocess.run([self.envoi, *arguments], cwd=self.work, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=4 * LONGEST_S)
        if done.returncode != expected:
            logs = subprocess.run([self.envoi, "logs"], cwd=self.work, env=self.environment, capture_output=True, text=True)
            raise AssertionError(f"{self.name}: {arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}\n{logs.stdout}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.call("--json", *arguments))

    def visits(self, step):
        run = self.json("runs")[0]["run"]
        return [handoff for handoff in self.json("show", run)["handoffs"] if handoff["step"] == step]

    def done(self, what):
        subprocess.run([sys.executable, "-B", HANDOFFS, self.work / ".envoi"], check=True)
        print(f"example {self.name}: {what}; {time.monotonic() - self.began:.1f} s", flush=True)


class AgentLoop(Example):
    name = "agent-loop"

    def tell(self):
        shown = self.watched("run", "flow.yaml")
        # The tool that works, what has been used so far, the round, the end.
        sees(shown, "> Bash cat > slugs/__init__.py", "2 calls, 260 tokens, $0.000604", "loop 2 of 5", "agent-loop  succeeded")
        assert len(self.visits("fix")) == 2 and len(self.visits("test")) == 2, self.visits("fix")
        repaired = self.work / "slugs/__init__.py"
        assert "findall" not in repaired.read_text(), "it works in a tree of its own"
        self.call("apply")
        assert "findall" in repaired.read_text()
        self.done("green in the second round")


class Overnight(Example):
    name = "overnight"

    def tell(self):
        git = dict(cwd=self.work, env={**self.environment, "GIT_CONFIG_GLOBAL": os.devnull}, check=True, capture_output=True, text=True)
        subprocess.run(["./packages.sh"], **git)
        shown = self.watched("run", "flow.yaml", expected=WAITING)
        sees(shown, "git -C packages/alpha push origin HEAD:main", "2 calls, 260 tokens", "0 of 3 items, 3 running", "overnight  waiting",
             "answer: envoi approve int_")
        questions = self.json("inbox")
        assert len(questions) == 3, questions
        named = {name: question["question"] for question in questions for name in ("alpha", "beta", "gamma")
                 if f"packages/{name} push" in question["text"]}
        assert len(named) == 3, questions
        self.call("approve", named["alpha"], expected=WAITING)
        self.call("deny", named["beta"], "--reason", "not this week", expected=WAITING)
        self.call("approve", named["gamma"])
        api = {name: subprocess.run(["git", "--git-dir", f"remotes/{name}.git", "show", "main:api"], **git).stdout.strip()
               for name in named}
        assert api == {"alpha": "2", "beta": "1", "gamma": "2"}, api
        assert "It is not pushed." in self.call("logs"), "the agent is told the reason"
        self.done("three questions in the morning, two pushes")


class OtherMake(Example):
    name = "other-make"

    def tell(self):
        shown = self.watched("run", "flow.yaml")
        sees(shown, "> Bash cat > median.py", "cat median.py", "loop 2 of 4", "other-make  succeeded", "at least 4 model calls")
        assert len(self.visits("write")) == 2 and len(self.visits("review")) == 2, self.visits("review")
        assert not (self.work / "median.py").exists(), "it works in a tree of its own"
        self.call("apply")
        assert "% 2" in (self.work / "median.py").read_text()
        self.done("the reviewer was right, and then content")


ALL = (AgentLoop, Overnight, OtherMake)
