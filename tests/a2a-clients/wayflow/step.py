"""WayFlow's A2AServer as the agent of a step; our server is killed between the question and the answer.

$URL and $TOKEN say whom to ask, $CRASH is the command that kills the server and starts it again.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

URL = os.environ["URL"]
BEARER = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
LONG_S = 120


def check(what, found, expected):
    if found != expected:
        sys.exit(f"wayflow, as a step: {what}: {found!r}, not {expected!r}")
    print(f"wayflow, as a step: {what}", flush=True)


def rest(path, body=None, kind="application/json"):
    request = urllib.request.Request(URL + path, data=body, headers={**BEARER, "Content-Type": kind})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def until(what, look):
    """What `look` finds; it is asked again until it finds something."""
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    sys.exit(f"wayflow, as a step: {what} did not come in {LONG_S} s")


def is_up(port):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/.well-known/agent-card.json").close()
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


def drive(port):
    until("the agent", lambda: is_up(port))
    step = {"id": "colour", "a2a": {"url": f"http://127.0.0.1:{port}", "message": "a house"}, "timeout": "2m"}
    # JSON is YAML.
    rest("/v1/flows", json.dumps({"flow": "asks-wayflow", "steps": [step]}).encode(), "application/yaml")
    run = rest("/v1/runs", json.dumps({"flow": "asks-wayflow"}).encode())["run"]

    def mine():
        return [asked for asked in rest("/v1/questions")["questions"] if asked["run"] == run]

    (asked,) = until("the question", mine)
    check("its question is one of the run", asked["text"], "Which colour?")
    subprocess.run(shlex.split(os.environ["CRASH"]), check=True)
    check("killed with -9 and started again, it is still there", [now["question"] for now in mine()],
          [asked["question"]])
    rest(f"/v1/questions/{asked['question']}/answer", json.dumps({"text": "blue"}).encode())
    until("the end", lambda: rest(f"/v1/runs/{run}")["status"] not in ("running", "waiting"))
    check("the run succeeds", rest(f"/v1/runs/{run}")["status"], "succeeded")
    handoff = json.dumps(rest(f"/v1/runs/{run}/handoffs"))
    check("with what the agent has made of both messages", "a house in blue" in handoff, True)


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
program = os.path.join(os.path.dirname(__file__), "server.py")
agent = subprocess.Popen([sys.executable, "-B", program, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    drive(port)
finally:
    agent.kill()
    agent.wait()
