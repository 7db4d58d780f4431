"""A task from its first message to its end, with the Python SDK of A2A; the server is killed while the task waits.

Called with one of the ways below. $URL and $TOKEN say whom to ask, $CRASH is the command that kills the server and starts it again.
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import uuid

import httpx
from a2a.client import ClientCallContext, ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

ENVELOPE = "urn:envoi:a2a:user-envelope:v1"
BINDINGS = {"1.0-jsonrpc": "JSONRPC", "1.0-rest": "HTTP+JSON", "0.3-jsonrpc": "JSONRPC"}
URL = os.environ["URL"]


def check(what, found, expected):
    if found != expected:
        sys.exit(f"python {WAY}: {what}: {found!r}, not {expected!r}")
    print(f"python {WAY}: {what}", flush=True)


def state(status):
    return TaskState.Name(status.state).removeprefix("TASK_STATE_")


def texts(message):
    return "".join(part.text for part in message.parts)


def talk(task):
    return [("<" if said.role == Role.ROLE_USER else ">") + texts(said) for said in task.history]


def artifacts(task):
    """Content by name; where one was written again, as it is last."""
    return {made.artifact_id: content(made) for made in task.artifacts}


def content(made):
    """The value of its data part, as a JSON file has one; else its text."""
    values = [MessageToDict(part)["data"] for part in made.parts if part.HasField("data")]
    return values[0] if values else texts(made)


def said(text, **more):
    parts = [Part(text=text)]
    return SendMessageRequest(message=Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts, **more))


async def refused(what, error, call):
    try:
        await call
    except error as refusal:
        check(f"{what} is refused: {refusal}", True, True)
    else:
        check(f"{what} is refused", "it is not", error)


class Peer:
    """Two clients for one agent: one takes streams, one does not."""

    def __init__(self, http, card):
        config = {"httpx_client": http, "supported_protocol_bindings": [BINDINGS[WAY]]}
        self.streaming = ClientFactory(ClientConfig(**config)).create(card)
        self.plain = ClientFactory(ClientConfig(streaming=False, **config)).create(card)

    async def stream(self, request):
        return [event async for event in self.streaming.send_message(request)]

    async def send(self, request, context=None):
        (answer,) = [event async for event in self.plain.send_message(request, context=context)]
        return answer.task

    async def get(self, task):
        return await self.plain.get_task(GetTaskRequest(id=task))

    async def follow(self, task, begun):
        """What a subscription tells, to its end; `begun` is set with the first of it."""
        events = []
        async for event in self.streaming.subscribe(SubscribeToTaskRequest(id=task)):
            events.append(event)
            begun.set()
        return events


async def card_of(http):
    """The agent's card; for 0.3 only the members that a client of 0.3 knows."""
    raw = (await http.get(f"{URL}/.well-known/agent-card.json")).json()
    if WAY.startswith("0.3"):
        del raw["supportedInterfaces"]
    return parse_agent_card(raw)


async def main():
    # A session of its own for the card: it needs no token.
    async with httpx.AsyncClient() as stranger:
        card = await card_of(stranger)
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        peer = Peer(http, card)
        extended = await peer.plain.get_extended_agent_card(GetExtendedAgentCardRequest())
        check("the extended card names the flow", [skill.id for skill in extended.skills], ["review"])

        context = str(uuid.uuid4())
        events = await peer.stream(said(f"hello from {context}", context_id=context))
        check("a stream begins with the task", events[0].WhichOneof("payload"), "task")
        task = events[0].task.id
        check("it is in the context that the client made", events[0].task.context_id, context)
        check("the stream has the artifact", f"hello from {context}" in
              [texts(e.artifact_update.artifact) for e in events] + list(artifacts(events[0].task).values()), True)
        check("it ends where a person is asked", state(events[-1].status_update.status), "INPUT_REQUIRED")
        question = events[-1].status_update.status.message
        check("the question is its message", texts(question), "What shall be published?")

        before = await peer.get(task)
        subprocess.run(shlex.split(os.environ["CRASH"]), check=True)
        after = await peer.get(task)
        check("killed with -9 and started again, the task is the same", MessageToDict(after), MessageToDict(before))

        minutes = f"minutes of {task}".encode()
        uploaded = await http.post(f"{URL}/v1/artifacts", content=minutes,
                                   headers={"Content-Type": "text/plain"})
        reference = {**uploaded.raise_for_status().json(), "filename": "minutes.txt"}
        opted = {"task_id": task, "context_id": context, "metadata": {ENVELOPE: {"user_envelope": True}}}
        extension = ClientCallContext(
            service_parameters=ServiceParametersFactory.create([with_a2a_extensions([ENVELOPE])])
        )
        broken = json.dumps({"text": "fine", "files": [reference]})
        await refused("a wrong envelope", InvalidParamsError, peer.send(said(broken, **opted), extension))
        check("and the task waits on", state((await peer.get(task)).status), "INPUT_REQUIRED")

        begun = asyncio.Event()
        follower = asyncio.create_task(peer.follow(task, begun))
        await begun.wait()
        envelope = json.dumps({"text": "fine", "attachments": [reference]})
        done = await peer.send(said(envelope, **opted), extension)
        check("an answer with an envelope and a file completes the task", state(done.status), "COMPLETED")
        check("the next step read the file", artifacts(done)["published.txt"].encode(), minutes)
        check("and the text, without its envelope", artifacts(done)["answer.json"]["text"], "fine")
        check("the last message is the result", texts(done.status.message), "published")
        check("the history is all that was said", talk(done), [
            f"<hello from {context}", ">What shall be published?", f"<{envelope}", ">published"])
        check("it is what can be got", MessageToDict(await peer.get(task)), MessageToDict(done))
        followed = await follower
        check("who followed was told first how it stands", state(followed[0].task.status), "INPUT_REQUIRED")
        check("then of the file", minutes.decode() in [texts(e.artifact_update.artifact) for e in followed], True)
        check("and last of the end", state(followed[-1].status_update.status), "COMPLETED")

        second = await peer.send(said("to be cancelled", context_id=context))
        check("another task waits", state(second.status), "INPUT_REQUIRED")
        if WAY.startswith("1.0"):
            listed = await peer.plain.list_tasks(ListTasksRequest(context_id=context))
            check("both are listed, the last first", [(t.id, state(t.status)) for t in listed.tasks],
                  [(second.id, "INPUT_REQUIRED"), (task, "COMPLETED")])
            waiting = ListTasksRequest(context_id=context, status=TaskState.TASK_STATE_INPUT_REQUIRED)
            check("or one of them", [t.id for t in (await peer.plain.list_tasks(waiting)).tasks], [second.id])
        cancelled = await peer.plain.cancel_task(CancelTaskRequest(id=second.id))
        check("it is cancelled", state(cancelled.status), "CANCELED")
        again = peer.plain.cancel_task(CancelTaskRequest(id=task))
        await refused("to cancel what is over", TaskNotCancelableError, again)
        await refused("an unknown task", TaskNotFoundError, peer.get("nothing"))


WAY = sys.argv[1]
asyncio.run(main())
