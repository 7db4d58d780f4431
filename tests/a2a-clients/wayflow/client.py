"""A conversation of WayFlow's A2AAgent with a task that waits; the server is killed between the question and the answer.

$URL and $TOKEN say whom to ask, $CRASH is the command that kills the server and starts it again.
"""

import json
import os
import shlex
import subprocess
import sys
import urllib.request

from wayflowcore.a2a.a2aagent import A2AAgent, A2AConnectionConfig, A2ASessionParameters

URL = os.environ["URL"]
BEARER = {"Authorization": f"Bearer {os.environ['TOKEN']}"}


def check(what, found, expected):
    if found != expected:
        sys.exit(f"wayflow: {what}: {found!r}, not {expected!r}")
    print(f"wayflow: {what}", flush=True)


def rest(path):
    with urllib.request.urlopen(urllib.request.Request(URL + path, headers=BEARER)) as answer:
        return json.load(answer)


def runs():
    return {run["run"]: run["status"] for run in rest("/v1/runs")["runs"]}


before = runs()
agent = A2AAgent(
    agent_url=f"{URL}/a2a",
    connection_config=A2AConnectionConfig(headers=BEARER, verify=False),
    session_parameters=A2ASessionParameters(timeout=60, poll_interval=0.2, max_retries=50),
)
talk = agent.start_conversation()
talk.append_user_message("hello from WayFlow")
talk.execute()
check("it hears the question", talk.get_last_message().content, "What shall be published?")
started = [run for run in runs() if run not in before]
check("one run was started", len(started), 1)

subprocess.run(shlex.split(os.environ["CRASH"]), check=True)
check("killed with -9 and started again, the run waits", runs()[started[0]], "waiting")
talk.append_user_message("the answer of WayFlow")
talk.execute()
check("it hears the result", talk.get_last_message().content, "published")
check("its answer has ended the run that it began", runs()[started[0]], "succeeded")
check("and has started no other", len(runs()), len(before) + 1)
