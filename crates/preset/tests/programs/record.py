#!/usr/bin/env python3
"""Records the golden transcripts from the real programs against the stub.

    npm install --ignore-scripts --prefix FOLDER @anthropic-ai/claude-code-linux-x64@2.1.330 @openai/codex@0.169.0-linux-x64 \
        @google/gemini-cli@0.61.0 opencode-linux-x64@1.18.33
    ./record.py FOLDER [--into FOLDER] [--program PROGRAM] [NAME ...]

Only the programs that are in the folder are recorded, or the one of them that is named, into the transcripts that are kept, or below the folder that `--into` names. A transcript is what a program wrote on its standard
output, below a line with its exit code, one that says so if it did not end by itself, and lines with what it wrote to its standard error. It is shortened: lists that only fill a line,
and what differs from run to run, are left out.

Of another version of Claude Code than the last one that was tried, some are recorded, into a folder of its own:

    npm install --ignore-scripts --prefix FOLDER @anthropic-ai/claude-code-linux-x64@2.1.197
"""
import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# What a provider states is to come, whenever this is called. The stub reads it when it is loaded.
os.environ.setdefault("STUB_RESET_AT", str(int(time.time()) + 2 * 3600))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "tests"))
import loopback  # noqa: E402
import stub  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SESSION = "0b9de5a6-3c4e-4f7a-8d21-6a1f0c2b3d4e"
UNKNOWN = "0b9de5a6-0000-4000-8000-000000000000"
SCHEMA = {"type": "object", "required": ["verdict", "score"], "additionalProperties": False,
          "properties": {"verdict": {"type": "string"}, "score": {"type": "integer"}}}
# Members that only fill a line.
FILLING = {"tools", "slash_commands", "terminal_slash_commands", "agents", "skills", "plugins", "mcp_servers", "memory_paths",
           "subagent_stats", "fast_mode_state", "fast_mode_disabled_reason", "output_style", "uuid", "timestamp", "diagnostics"}
CLAUDE = ["-p", "--output-format", "stream-json", "--verbose"]
RUN = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
CODEX = ["exec", "--json", "--skip-git-repo-check", "-m", "stub-model", "-c", "analytics.enabled=false", "--disable", "plugins"]

# What a program gets when the command of its tool has begun.
SIGNALS = {"ended": signal.SIGTERM, "interrupted": signal.SIGINT, "hung-up": signal.SIGHUP, "killed": signal.SIGKILL}
# Name: (scenario of the stub, arguments, variables). `resume` and `taken` go on from what `hello` left.
CLAUDE_RUNS = {
    "hello": ("hello", ["--session-id", SESSION], {}),
    "resume": ("hello", ["--resume", SESSION], {}),
    "taken": ("hello", ["--session-id", SESSION], {}),
    "lost": ("hello", ["--resume", UNKNOWN], {}),
    "tool": ("tool", RUN, {}),
    "denied": ("denied", ["--permission-mode", "acceptEdits"], {}),
    "data": ("data", ["--json-schema", json.dumps(SCHEMA)], {}),
    "no-data": ("hello", ["--json-schema", json.dumps(SCHEMA)], {}),
    "limit": ("limit", [], {"ANTHROPIC_AUTH_TOKEN": None, "CLAUDE_CODE_OAUTH_TOKEN": "stub"}),
    "busy": ("busy", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    "busy-once": ("busy-once", [], {}),
    "long": ("long", [], {}),
    "drips": ("drips", [], {}),
    "overloaded": ("overloaded", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    "unauthorized": ("unauthorized", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    "forbidden": ("forbidden", [], {}),
    "no-model": ("no-model", [], {}),
    "credit": ("credit", [], {}),
    "too-long": ("too-long", [], {}),
    "turns": ("turns", [*RUN, "--max-turns", "1"], {}),
    "no-login": ("hello", [], {"ANTHROPIC_AUTH_TOKEN": None}),
    "no-network": (None, [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    **{name: ("begins", RUN, {}) for name in SIGNALS},
    "failing": ("failing", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    # The bound is tested after a call, and one costs more.
    "budget": ("turns", [*RUN, "--max-budget-usd", "0.0001"], {}),
    "cut-once": ("cut-once", [], {}),
    "malformed": ("malformed", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    "silent": ("silent", [], {"CLAUDE_CODE_MAX_RETRIES": "1"}),
    "length": ("length", [], {}),
    "filter": ("filter", [], {}),
}
CODEX_RUNS = {
    "hello": ("hello", [], {}),
    "resume": ("hello", ["resume", "THREAD"], {}),
    "lost": ("hello", ["resume", UNKNOWN], {}),
    "tool": ("tool", ["-c", 'sandbox_mode="danger-full-access"'], {}),
    # A call that asks to leave the sandbox is refused, and so is a patch. What the sandbox stops is a command that fails, as any other.
    "denied": ("escalates", ["-c", 'sandbox_mode="read-only"'], {}),
    "denied-patch": ("patches", ["-c", 'sandbox_mode="read-only"'], {}),
    "stopped": ("denied", ["-c", 'sandbox_mode="read-only"'], {}),
    "data": ("data", ["--output-schema", "SCHEMA"], {}),
    "limit": ("limit", [], {}),
    "busy": ("busy", [], {}),
    "long": ("long", [], {}),
    "drips": ("drips", [], {}),
    "overloaded": ("overloaded", [], {}),
    "unauthorized": ("unauthorized", [], {}),
    "no-model": ("no-model", [], {}),
    "credit": ("credit", [], {}),
    "too-long": ("too-long", [], {}),
    "no-login": ("hello", [], {"STUB_KEY": None}),
    **{name: ("begins", ["-c", 'sandbox_mode="danger-full-access"'], {}) for name in SIGNALS},
    "failing": ("failing", [], {}),
    "no-data": ("hello", ["--output-schema", "SCHEMA"], {}),
    "busy-once": ("busy-once", [], {}),
    "forbidden": ("forbidden", [], {}),
    "no-network": (None, [], {}),
    "cut-once": ("cut-once", [], {}),
    "malformed": ("malformed", [], {}),
    "silent": ("silent", [], {}),
    "length": ("length", [], {}),
    "filter": ("filter", [], {}),
}
# `FEW` stands for a setting with which it gives up sooner, `TURNS` for one that bounds the turns of a session.
GEMINI = ["-o", "stream-json", "--skip-trust", "-m", "stub-model"]
GEMINI_EDIT = ["--approval-mode", "auto_edit"]
GEMINI_RUN = [*GEMINI_EDIT, "--allowed-tools", "run_shell_command"]
GEMINI_RUNS = {
    "hello": ("hello", ["--session-id", SESSION], {}),
    "resume": ("hello", ["-r", SESSION], {}),
    "taken": ("hello", ["--session-id", SESSION], {}),
    "lost": ("hello", ["-r", UNKNOWN], {}),
    "tool": ("tool", GEMINI_RUN, {}),
    "denied": ("denied", GEMINI_EDIT, {}),
    "data": ("data", [], {}),
    "no-data": ("hello", [], {}),
    "limit": ("limit", [], {}),
    "busy": ("busy", [], {"FEW": "2"}),
    "long": ("long", [], {"FEW": "2"}),
    "drips": ("drips", [], {}),
    "busy-once": ("busy-once", [], {}),
    "overloaded": ("overloaded", [], {"FEW": "2"}),
    "unauthorized": ("unauthorized", [], {}),
    "forbidden": ("forbidden", [], {}),
    "no-model": ("no-model", [], {}),
    "credit": ("credit", [], {}),
    "too-long": ("too-long", [], {}),
    "turns": ("turns", GEMINI_RUN, {"TURNS": "1"}),
    "no-login": ("hello", [], {"GEMINI_API_KEY": None}),
    "no-network": (None, [], {"FEW": "2"}),
    **{name: ("begins", GEMINI_RUN, {}) for name in SIGNALS},
    "failing": ("failing", [], {"FEW": "2"}),
    "cut-once": ("cut-once", [], {"FEW": "2"}),
    "malformed": ("malformed", [], {"FEW": "2"}),
    "silent": ("silent", [], {"FEW": "2"}),
    "length": ("length", [], {"FEW": "2"}),
    "filter": ("filter", [], {"FEW": "2"}),
}
OPENCODE = ["run", "--format", "json", "-m", "stub/stub-model"]
NEW = ["--title", "envoi"]
OPENCODE_EDIT = {"OPENCODE_PERMISSION": json.dumps({"bash": "deny", "webfetch": "deny", "websearch": "deny"})}
OPENCODE_RUNS = {
    "hello": ("hello", NEW, {}),
    "resume": ("hello", ["-s", "THREAD"], {}),
    "lost": ("hello", ["-s", "ses_000000000000000000000000"], {}),
    "tool": ("tool", NEW, {}),
    "denied": ("denied", NEW, OPENCODE_EDIT),
    # A rule of the user's own: the run ends with the refusal.
    "denied-by-rule": ("denied", NEW, {"OPENCODE_PERMISSION": json.dumps({"bash": "ask"})}),
    "data": ("data", NEW, {}),
    "no-data": ("hello", NEW, {}),
    "busy": ("busy", NEW, {}),
    "long": ("long", NEW, {}),
    "drips": ("drips", NEW, {}),
    "busy-once": ("busy-once", NEW, {}),
    "unauthorized": ("unauthorized", NEW, {}),
    "forbidden": ("forbidden", NEW, {}),
    "no-model": ("no-model", NEW, {}),
    "too-long": ("too-long", NEW, {}),
    # `STEPS` stands for a setting that tells the model after so many calls to come to an end. This one calls a tool all the same.
    "turns": ("few-turns", NEW, {"STEPS": "1"}),
    "no-login": ("hello", NEW, {"OPENCODE_CONFIG_CONTENT": None}),
    **{name: ("begins", NEW, {}) for name in SIGNALS},
    "failing": ("failing", NEW, {}),
    "limit": ("limit", NEW, {}),
    "credit": ("credit", NEW, {}),
    "overloaded": ("overloaded", NEW, {}),
    "no-network": (None, NEW, {}),
    "cut-once": ("cut-once", NEW, {}),
    "malformed": ("malformed", NEW, {}),
    "silent": ("silent", NEW, {}),
    "length": ("length", NEW, {}),
    "filter": ("filter", NEW, {}),
}
# What is recorded of another version of Claude Code.
OF_OTHER_VERSIONS = ("hello", "resume", "tool", "data", "limit", "budget")
CLAUDE_VERSION = "2.1.330"
# What does not end by itself.
WITHOUT_END = {
    "claude": {"silent"},
    "codex": {"long", "no-network", "silent"},
    "gemini": set(),
    "opencode": {"long", "silent"},
}
# How long the end of such a program is waited for: it has tried again several times in that time, and is ended.
ENDLESS_S = 60
# The same of all others, also on a machine that has more to do.
LONGEST_S = 400
PR_SET_CHILD_SUBREAPER = 36
# Where each is in the folder, and what is recorded of it.
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code-*/claude", CLAUDE_RUNS),
    "codex": ("@openai/codex/vendor/*/bin/codex", CODEX_RUNS),
    "gemini": ("@google/gemini-cli/bundle/gemini.js", GEMINI_RUNS),
    "opencode": ("opencode-*/bin/opencode", OPENCODE_RUNS),
}


def descendants():
    """All processes that this one has started, and theirs."""
    children = {}
    for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = place.read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(parent), []).append(int(place.parent.name))
    found = [os.getpid()]
    for process in found:
        found += children.get(process, [])
    return found[1:]


def end_what_is_left():
    """What a program has left behind: its tools are in sessions of their own."""
    while left := descendants():
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            pass


# What a program writes of a call of a tool: opencode, which writes it when the call is over, before it.
OF_A_CALL = (b'"tool_use"', b"command_execution", b'"step_start"')


def read_events(pipe, written, told):
    """Reads what the program writes, and tells when it has written of a call."""
    for line in pipe:
        written["out"] += line
        if any(event in line for event in OF_A_CALL):
            told.set()
    told.set()


def send(process, number, begun, told):
    """Sends the signal as soon as the command of the tool has begun, and the program has written of it."""
    with begun.open() as said:
        said.read(1)
    told.wait()
    process.send_signal(number)


def run(program, arguments, folder, variables, number, longest):
    """What it wrote, its exit code, and whether it ended by itself, or by the signal of this number."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC"}
    env |= {name: value for name, value in variables.items() if value is not None}
    prompt = folder / "prompt"
    prompt.write_text("Say hello.\n")
    work = folder / "work"
    work.mkdir(exist_ok=True)
    begun = work / "begun"
    begun.unlink(missing_ok=True)
    if number:
        os.mkfifo(begun)
    with prompt.open() as stdin:
        process = subprocess.Popen([program, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=env, cwd=work, start_new_session=True)
    written, told = {"out": b""}, threading.Event()
    readers = [threading.Thread(target=read_events, args=(process.stdout, written, told)),
               threading.Thread(target=lambda: written.update(err=process.stderr.read()))]
    for reader in readers:
        reader.start()
    if number:
        threading.Thread(target=send, args=(process, number, begun, told), daemon=True).start()
    ends = True
    try:
        process.wait(timeout=longest)
    except subprocess.TimeoutExpired:
        ends = False
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=longest)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    end_what_is_left()
    for reader in readers:
        reader.join()
    return process.returncode, written["out"].decode(), written["err"].decode(), ends


def smaller(value):
    if isinstance(value, dict):
        return {name: smaller(member) for name, member in value.items() if name not in FILLING}
    return [smaller(member) for member in value] if isinstance(value, list) else value


def transcript(code, out, err, folder, ends):
    text = [f"# exit {code}"]
    if not ends:
        text.append("# no end")
    # Where a program dumps an object or its stack, the lines are indented.
    text += [f"# stderr {line}" for line in err.splitlines() if line.strip() and not line.startswith((" ", "}"))]
    text += [json.dumps(smaller(json.loads(line)), ensure_ascii=False, separators=(",", ":")) for line in out.splitlines()]
    return "\n".join(text).replace(str(folder), "FOLDER") + "\n"


def record(kind, name, program, port, folder, thread, into):
    scenario, arguments, variables = PROGRAMS[kind][1][name]
    base = f"http://127.0.0.1:{port}/{kind}-{name}--{scenario}" if scenario else "http://127.0.0.1:9/none"
    if kind == "claude":
        arguments = CLAUDE + arguments
        own = {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_AUTH_TOKEN": "stub", "CLAUDE_CONFIG_DIR": str(folder / "claude"),
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    elif kind == "gemini":
        arguments = GEMINI + arguments
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
        variables = dict(variables)
        if few := variables.pop("FEW", None):
            settings["general"] = {"maxAttempts": int(few)}
        if turns := variables.pop("TURNS", None):
            settings["model"] = {"maxSessionTurns": int(turns)}
        place = folder / ".gemini/settings.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(settings))
        own = {"GOOGLE_GEMINI_BASE_URL": base, "GEMINI_API_KEY": "stub", "GEMINI_CLI_NO_RELAUNCH": "true", "TMPDIR": str(folder)}
    elif kind == "opencode":
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": base, "apiKey": "stub"},
                    "models": {"stub-model": {"cost": {"input": 1, "output": 2}}}}
        variables = dict(variables)
        settings = {"provider": {"stub": provider}}
        if steps := variables.pop("STEPS", None):
            settings["agent"] = {"build": {"steps": int(steps)}}
        own = {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_AUTOUPDATE": "1",
               "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        arguments = OPENCODE + [thread if argument == "THREAD" else argument for argument in arguments]
    else:
        schema = folder / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        (folder / "codex").mkdir(exist_ok=True)
        provider = (f'model_providers.stub={{name="stub",base_url="{base}",env_key="STUB_KEY",wire_api="responses",'
                    "request_max_retries=1,stream_max_retries=1}")
        places = {"SCHEMA": str(schema), "THREAD": thread}
        arguments = [places.get(argument, argument) for argument in arguments]
        arguments = [*CODEX, "-c", "model_provider=stub", "-c", provider, *arguments, "-"]
        own = {"CODEX_HOME": str(folder / "codex"), "STUB_KEY": "stub"}
    longest = ENDLESS_S if name in WITHOUT_END[kind] else LONGEST_S
    code, out, err, ends = run(program, arguments, folder, {**own, **variables}, SIGNALS.get(name), longest)
    # Only what the programs say of themselves is kept of a port.
    text = transcript(code, out, err, folder, ends).replace(f"127.0.0.1:{port}", "127.0.0.1:1")
    place = into / f"{name}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    calls = stub.Stub.calls.get(f"{kind}-{name}--{scenario}", 0)
    print(f"{kind} {name}: exit {code}{'' if ends else ', no end'}, {calls} calls, {len(text)} bytes", flush=True)
    found = re.search(r'"(?:thread_id|sessionID)":"([^"]+)"', out)
    return found.group(1) if found else thread


def version_of(program):
    """The version that the package of the program states."""
    manifest = next(parent / "package.json" for parent in pathlib.Path(program).parents if (parent / "package.json").is_file())
    return json.loads(manifest.read_text())["version"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path, default=HERE.parent / "transcripts")
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_intermixed_args()
    wanted = set(asked.names)
    # What a program leaves behind becomes a child of this process, where it is found and ended.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    loopback.leave_if_possible()
    _, port = stub.start()
    programs = {kind: next((asked.folder / "node_modules").glob(place), None) for kind, (place, _) in PROGRAMS.items()}
    if not any(programs.values()):
        sys.exit(f"record.py: {asked.folder} has none of {', '.join(PROGRAMS)}: install one into it with npm")
    for kind, (_, runs) in PROGRAMS.items():
        program = programs[kind]
        if not program or asked.program not in (None, kind):
            continue
        into = asked.into / kind
        if kind == "claude" and (version := version_of(program)) != CLAUDE_VERSION:
            into, runs = into / version, OF_OTHER_VERSIONS
        home = pathlib.Path(tempfile.mkdtemp(prefix="transcripts-", dir=asked.folder))
        thread = None
        try:
            for name in runs:
                if not wanted or name in wanted or f"{kind}/{name}" in wanted or name == "hello":
                    thread = record(kind, name, str(program.resolve()), port, home, thread, into)
        finally:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
