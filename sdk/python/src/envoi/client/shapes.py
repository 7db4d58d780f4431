"""What the server's answers look like: dictionaries with these members.

Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict


class BridgeAnswer(TypedDict):
    model: str
    """Which model it was."""
    text: str
    """What the model says."""
    usage: Dict[str, Any]
    """What the call used."""


class _BridgeRefusal(TypedDict):
    error: str
    """The refusal as a word."""


class BridgeRefusal(_BridgeRefusal, total=False):
    code: str
    """The error code."""
    detail: str
    """What exactly is wrong."""
    issues: List[Dict[str, Any]]
    """Each mistake at its place."""
    reason: str
    """Why a file cannot be read."""


class ChatModels(TypedDict):
    data: List[Dict[str, Any]]
    """The models."""
    object: Literal["list"]
    """What this is."""


class ChatRefusal(TypedDict):
    error: Dict[str, Any]
    """Why."""


class _Event(TypedDict):
    at: str
    """When it was decided."""
    event: Dict[str, Any]
    """What happened."""
    seq: int
    """Its place in the run, from 0."""


class Event(_Event, total=False):
    stored: str
    """The event as the journal has it, if that was asked for."""


class Events(TypedDict):
    events: List[Event]
    """The events."""
    next: Optional[int]
    """The `after` of the next page; null on the last."""


class Flow(TypedDict):
    digest: str
    """Its digest."""
    files: List[str]
    """Its own file first, then those that it names."""
    flow: str
    """Its id."""
    language: int
    """The version of the flow language."""
    registered_at: str
    """When it was registered."""
    registered_by: str
    """By whom."""


class Flows(TypedDict):
    flows: List[Flow]
    """The flows."""


class Forbidden(TypedDict):
    error: Literal["Forbidden"]
    """`Forbidden`."""


class Forked(TypedDict):
    activity: Optional[Literal["working", "stopped", "set_aside"]]
    """Whether anything works on the run now; null if it has ended."""
    activity_since: Optional[str]
    """Since when."""
    actor: str
    """Who started it."""
    events: int
    """How many events it has."""
    flow: str
    """The id of its flow."""
    flow_digest: str
    """The digest of the flow that it is pinned to."""
    forked_from: Optional[str]
    """The run that it was forked from; null if it is no fork."""
    in_doubt: bool
    """Whether an attempt is in doubt, so that a person has to decide."""
    live_attempts: int
    """Attempts that were started and have not ended."""
    notes: List[str]
    """What should be known besides, such as files that differ from what they were at the step."""
    open_questions: int
    """Questions that wait for a person."""
    reason: Optional[str]
    """Why it ended, in a sentence; null while it goes on."""
    root: Optional[str]
    """The first run of its family; null if it is no fork."""
    run: str
    """Its id."""
    set_aside: Optional[Dict[str, Any]]
    """Why it is set aside; null if it is not."""
    started_at: str
    """When its first event was decided."""
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """Where it stands."""
    step: Optional[str]
    """The step it is in, or was in when it ended."""
    tenant: str
    """Whose run it is."""
    terminal_reason: Optional[str]
    """Why it ended, as a word of contract 3; null while it goes on."""
    updated_at: str
    """When its newest event was decided."""
    workspace: str
    """The folder in which its commands run."""


class HandoffRow(TypedDict):
    at: str
    """When it was written."""
    flow: str
    """The flow that the step belongs to."""
    handoff: str
    """Its name, by which it is got: `[scope.]step.visit`."""
    scope: str
    """The inner flows and the item in which the visit stands; empty at the top."""
    seq: int
    """The event that holds it."""
    status: Literal["succeeded", "failed", "skipped"]
    """What the visit came to."""
    step: str
    """The step."""
    summary: str
    """The first 200 characters of its summary."""
    visit: int
    """Which visit of the step, from 1."""


class Handoffs(TypedDict):
    handoffs: List[HandoffRow]
    """The hand-offs."""


class Health(TypedDict):
    status: Literal["ok"]
    """`ok`."""


class Log(TypedDict):
    attempt: str
    """The attempt: `[scope.]step.visit.attempt`."""
    seq: int
    """The event that started it."""
    stderr_bytes: int
    """Bytes on stderr."""
    stdout_bytes: int
    """Bytes on stdout."""


class Logs(TypedDict):
    logs: List[Log]
    """The attempts."""
    next: Optional[int]
    """The `after` of the next page; null on the last."""


class _PinnedFlow(TypedDict):
    digest: str
    """Its digest."""
    language: int
    """The version of the flow language."""
    name: str
    """The name of its file."""
    parts: Dict[str, Any]
    """Texts of the flows that it names, by their paths."""
    text: str
    """Its text."""


class PinnedFlow(_PinnedFlow, total=False):
    earlier: List[PinnedFlow]
    """The flows that it corrects, if the run has been corrected."""


class Question(TypedDict):
    about: str
    """Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit` or `in_doubt`."""
    answer: Optional[str]
    """The choice that closed it; null if there was none."""
    answered_by: Optional[str]
    """Who made it."""
    closed_at: Optional[str]
    """When it was closed; null while it is open."""
    expires_at: Optional[str]
    """When it lapses; null: never."""
    kind: str
    """The kind of question, as a word of contract 3."""
    question: str
    """Its id."""
    raised_at: str
    """When it was raised."""
    run: str
    """The run that asks."""
    scope: str
    """The inner flows and the item in which its visit stands; empty at the top."""
    state: Literal["open", "lapsed", "answered", "expired", "changed", "cancelled"]
    """What has become of it."""
    step: str
    """The step that is concerned."""
    text: str
    """The question."""
    visit: int
    """Which visit of the step, from 1."""


class QuestionDetail(TypedDict):
    about: str
    """Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit` or `in_doubt`."""
    answer: Optional[str]
    """The choice that closed it; null if there was none."""
    answered_by: Optional[str]
    """Who made it."""
    choices: List[str]
    """The choices that it takes, the most usual first; empty if it is closed."""
    closed_at: Optional[str]
    """When it was closed; null while it is open."""
    evidence: Any
    """What one needs to know to answer."""
    expires_at: Optional[str]
    """When it lapses; null: never."""
    kind: str
    """The kind of question, as a word of contract 3."""
    question: str
    """Its id."""
    raised_at: str
    """When it was raised."""
    run: str
    """The run that asks."""
    schema: Any
    """The form that it wants as `data`; null if it wants none."""
    scope: str
    """The inner flows and the item in which its visit stands; empty at the top."""
    state: Literal["open", "lapsed", "answered", "expired", "changed", "cancelled"]
    """What has become of it."""
    step: str
    """The step that is concerned."""
    subject: Optional[str]
    """The digest of what is shown; send it back as `seen`."""
    text: str
    """The question."""
    visit: int
    """Which visit of the step, from 1."""
    votes: List[Dict[str, Any]]
    """Approvals so far, where several people have to approve."""


class Questions(TypedDict):
    last_event_id: str
    """A stream from here on misses nothing that is not in the list."""
    next: Optional[str]
    """The `cursor` of the next page; null on the last."""
    questions: List[Question]
    """The questions."""


class Refused(TypedDict):
    error: Any
    """Why, in words or as an object."""


class Run(TypedDict):
    activity: Optional[Literal["working", "stopped", "set_aside"]]
    """Whether anything works on the run now; null if it has ended."""
    activity_since: Optional[str]
    """Since when."""
    actor: str
    """Who started it."""
    events: int
    """How many events it has."""
    flow: str
    """The id of its flow."""
    flow_digest: str
    """The digest of the flow that it is pinned to."""
    forked_from: Optional[str]
    """The run that it was forked from; null if it is no fork."""
    in_doubt: bool
    """Whether an attempt is in doubt, so that a person has to decide."""
    live_attempts: int
    """Attempts that were started and have not ended."""
    open_questions: int
    """Questions that wait for a person."""
    reason: Optional[str]
    """Why it ended, in a sentence; null while it goes on."""
    root: Optional[str]
    """The first run of its family; null if it is no fork."""
    run: str
    """Its id."""
    set_aside: Optional[Dict[str, Any]]
    """Why it is set aside; null if it is not."""
    started_at: str
    """When its first event was decided."""
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """Where it stands."""
    step: Optional[str]
    """The step it is in, or was in when it ended."""
    tenant: str
    """Whose run it is."""
    terminal_reason: Optional[str]
    """Why it ended, as a word of contract 3; null while it goes on."""
    updated_at: str
    """When its newest event was decided."""
    workspace: str
    """The folder in which its commands run."""


class Runs(TypedDict):
    next: Optional[str]
    """The `cursor` of the next page; null on the last."""
    runs: List[Run]
    """The runs."""


class Token(TypedDict):
    name: str
    """Its name, which stands with everything that is done with it."""
    scopes: List[Literal["read", "answer", "run", "admin"]]
    """What it allows."""
    tenant: str
    """Whose it is."""
