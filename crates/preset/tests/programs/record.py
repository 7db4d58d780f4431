#!/usr/bin/env python3
"""Records the golden transcripts from the real programs against the stub.

    npm install --ignore-scripts --prefix FOLDER @anthropic-ai/claude-code-linux-x64@2.1.330 @openai/codex@0.169.0-linux-x64 \
        @google/gemini-cli@0.61.0 opencode-linux-x64@1.18.33
    ./record.py FOLDER [NAME ...]

Only the programs that are in the folder are recorded. A transcript is what a program wrote on its standard output, below a line with its exit code and lines with what it wrote to its
standard error. It is shortened: lists that only fill a line, and what differs from run to run, are left out.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

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
    "ended": ("slow", RUN, {}),
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
    "ended": ("slow", ["-c", 'sandbox_mode="danger-full-access"'], {}),
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
    "ended": ("slow", GEMINI_RUN, {}),
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
    "ended": ("slow", NEW, {}),
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
# How long the end of a program is waited for. One that does not end by itself has tried again several times in that time, and is ended.
LONGEST_S = 60
# Where each is in the folder, and what is recorded of it.
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code-*/claude", CLAUDE_RUNS),
    "codex": ("@openai/codex/vendor/*/bin/codex", CODEX_RUNS),
    "gemini": ("@google/gemini-cli/bundle/gemini.js", GEMINI_RUNS),
    "opencode": ("opencode-*/bin/opencode", OPENCODE_RUNS),
}


def run(program, arguments, folder, variables, ends):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC"}
    env |= {name: value for name, value in variables.items() if value is not None}
    prompt = folder / "prompt"
    prompt.write_text("Say hello.\n")
    work = folder / "work"
    work.mkdir(exist_ok=True)
    with prompt.open() as stdin:
        process = subprocess.Popen([program, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=env, cwd=work, start_new_session=True)
    lines = b""
    if ends:
        # The tool runs when its call has been written.
        for line in process.stdout:
            lines += line
            if any(event in line for event in (b'"tool_use"', b"command_execution", b'"step_start"')):
                process.send_signal(signal.SIGTERM)
                break
    try:
        out, err = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        print("it does not end:", end=" ")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
    return process.returncode, (lines + out).decode(), err.decode()


def smaller(value):
    if isinstance(value, dict):
        return {name: smaller(member) for name, member in value.items() if name not in FILLING}
    return [smaller(member) for member in value] if isinstance(value, list) else value


def transcript(code, out, err, folder):
    text = [f"# exit {code}"]
    # Where a program dumps an object or its stack, the lines are indented.
    text += [f"# stderr {line}" for line in err.splitlines() if line.strip() and not line.startswith((" ", "}"))]
    text += [json.dumps(smaller(json.loads(line)), ensure_ascii=False, separators=(",", ":")) for line in out.splitlines()]
    return "\n".join(text).replace(str(folder), "FOLDER") + "\n"


def record(kind, name, program, port, folder, thread):
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
    code, out, err = run(program, arguments, folder, {**own, **variables}, name == "ended")
    # Only what the programs say of themselves is kept of a port.
    text = transcript(code, out, err, folder).replace(f"127.0.0.1:{port}", "127.0.0.1:1")
    place = HERE.parent / "transcripts" / kind / f"{name}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    calls = stub.Stub.calls.get(f"{kind}-{name}--{scenario}", 0)
    print(f"{kind} {name}: exit {code}, {calls} calls, {len(text)} bytes", flush=True)
    found = re.search(r'"(?:thread_id|sessionID)":"([^"]+)"', out)
    return found.group(1) if found else thread


def main():
    folder, *wanted = sys.argv[1:]
    loopback.leave_if_possible()
    _, port = stub.start()
    for kind, (place, runs) in PROGRAMS.items():
        program = next((pathlib.Path(folder) / "node_modules").glob(place), None)
        if not program:
            continue
        home = pathlib.Path(tempfile.mkdtemp(prefix="transcripts-", dir=folder))
        thread = None
        try:
            for name in runs:
                if not wanted or name in wanted or f"{kind}/{name}" in wanted or name == "hello":
                    thread = record(kind, name, program, port, home, thread)
        finally:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
