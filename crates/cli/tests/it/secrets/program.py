#!/usr/bin/env python3
"""An agent program that says the secrets in every spelling wherever it may say a word. Its name says which program it is, `do: WORD` in its prompt what it does."""
import json, os, re, subprocess, sys, time
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
import forms

kind = os.path.basename(__file__)
token, key = os.environ["TOKEN"], os.environ["KEY"]
known = [token, key] + [os.environ[name] for name in ("ANTHROPIC_API_KEY",) if name in os.environ]
spellings = [forms.forms(secret, number + 1) for number, secret in enumerate(known)]
prompt = sys.stdin.read()
words = re.findall(r"do: (\w+)", prompt)
# Of the many encodings some, and others for another program and another word.
turn = (len(kind) + sum(map(len, words[-1:]))) % 8
everything = "\n".join("[%s]" % form for plain, encoded in spellings for form in plain + encoded[turn::8])
# What a person is shown of a call has a bound.
some = "\n".join([token, key] + [form for pair in spellings for form in pair[0][1:16:5]])
data = {"first": token, "all": known + spellings[0][0][1::4], "document": everything, token: {key: json.dumps(known)}}


def say(event):
    """One event. Programs escape as they like."""
    line = json.dumps(event, ensure_ascii=len(token) % 2 == 0)
    print(line.replace("/", "\\/") if len(key) % 2 else line, flush=True)


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def hang():
    open(os.path.join(ROOT, "hung"), "w").write("x")
    while True:
        time.sleep(60)


def tools():
    return {"command": everything, key: token}


def claude(what):
    session = option("--session-id") or option("--resume") or "0b9de5a6-3c4e-4f7a-8d21-6a1f0c2b3d4e"
    asks = "--settings" in sys.argv
    model = {"id": token, "model": key, "usage": {"input_tokens": 7, key: token}}
    say({"type": "system", "subtype": "init", "session_id": session, "model": everything, "claude_code_version": "2.1.330" if asks else key, token: key})
    if asks:
        return deferred(session)
    say({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "error": everything, "error_status": 529})
    say({"type": "system", "subtype": "permission_denied", "tool_name": key, "message": everything})
    say({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "rateLimitType": everything}})
    say({"type": "assistant", "session_id": session, "uuid": token, "message": dict(model, content=[{"type": "text", "text": everything}, {"type": "tool_use", "id": token, "name": key, "input": tools()}])})
    say({"type": "user", "message": {"content": [{"type": "tool_result", "is_error": True, "content": everything, "tool_use_id": token}]}})
    say({"type": token, key: everything})
    if what == "hang":
        hang()
    if what == "crash":
        sys.exit(7)
    end = {"type": "result", "subtype": "success", "session_id": session, "is_error": what == "fail", "result": everything, "errors": [everything], "stop_reason": key,
           "terminal_reason": everything, "total_cost_usd": token, "usage": {"input_tokens": everything, "output_tokens": {key: token}}, "num_turns": 1, "structured_output": data,
           "permission_denials": [{"tool_name": key, "tool_input": tools(), "tool_use_id": token}]}
    say(dict(end, api_error_status=529) if what == "fail" else end)


def deferred(session):
    settings = json.loads(option("--settings"))
    found = re.search(r'"command":\s*("(?:[^"\\]|\\.)*")', json.dumps(settings))
    call = {"tool_name": "Bash", "tool_input": {"command": some, key: token}, "tool_use_id": token}
    decides = dict(call) if not prompt.strip() else dict(call, prompt_id="p")
    for nth in (1, 2):
        done = subprocess.run(json.loads(found.group(1)), shell=True, input=json.dumps(dict(decides, tool_use_id=token * nth)), capture_output=True, text=True)
        print(done.stdout, done.stderr, file=sys.stderr)
        if nth == 1:
            decision = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"]
        if decision == "allow":
            break
    end = {"type": "result", "subtype": "success", "session_id": session, "is_error": False, "result": everything, "usage": {"input_tokens": 7, "output_tokens": 7}, "permission_denials": []}
    if decision == "defer":
        end.update(stop_reason="tool_deferred", terminal_reason="tool_deferred", deferred_tool_use={"id": token, "name": "Bash", "input": call["tool_input"]})
    say(end)


def codex(what):
    say({"type": "thread.started", "thread_id": "01a20652-7423-7802-bbb7-0dd00d025238"})
    say({"type": "turn.started"})
    say({"type": "error", "message": everything})
    say({"type": "item.started", "item": {"type": "command_execution", "command": everything}})
    say({"type": "item.completed", "item": {"type": key, "status": "declined", "command": everything}})
    say({"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": everything}]}})
    say({"type": "item.completed", "item": {"type": "agent_message", "text": json.dumps(data) if what == "data" else everything}})
    print("codex_core::tools::router: error=exec rejected by user approval settings: " + everything, file=sys.stderr)
    if what == "hang":
        hang()
    if what == "crash":
        sys.exit(7)
    say({"type": "turn.failed", "error": {"message": "Overloaded: " + everything}} if what == "fail" else
        {"type": "turn.completed", "usage": {"input_tokens": everything, "output_tokens": {key: token}}})


def gemini(what):
    say({"type": "init", "session_id": "01a20652-7423-7802-bbb7-0dd00d025239", "model": everything})
    say({"type": "tool_use", "tool_name": "write_file", "tool_id": token, "parameters": {"command": everything}})
    say({"type": "tool_result", "tool_id": token, "status": "error", "error": {"type": "policy_violation", "message": everything}})
    say({"type": "error", "message": everything})
    text = json.dumps(data) if what == "data" else everything
    # A model gives its text in pieces, and no piece has all of a secret.
    for at in range(0, len(text), 5):
        say({"type": "message", "role": "assistant", "delta": True, "content": text[at:at + 5]})
    if what == "hang":
        hang()
    if what == "crash":
        sys.exit(7)
    stats = {"input_tokens": everything, "output_tokens": {key: token}}
    say({"type": "result", "status": "error", "error": {"type": key, "message": everything}, "stats": stats} if what == "fail" else {"type": "result", "status": "success", "stats": stats})


def opencode(what):
    about = {"sessionID": "ses_01a206527423", token: key}
    say(dict(about, type="step_start", part={}))
    say(dict(about, type="tool_use", part={"tool": key, "state": {"status": "error", "input": tools(), "error": "rejected permission: " + everything}}))
    say(dict(about, type="text", part={"text": json.dumps(data) if what == "data" else everything}))
    if what == "hang":
        hang()
    if what == "crash":
        sys.exit(7)
    if what == "fail":
        say(dict(about, type="error", error={"name": key, "data": {"message": everything, "statusCode": 503}}))
    say(dict(about, type="step_finish", part={"reason": "tool-calls" if what == "fail" else "stop", "cost": token, "tokens": {"input": everything, "output": {key: token}}}))


sys.stderr.write(everything + "\n")
print(everything, flush=True)
{"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}[kind](words[-1] if words else "reply")
