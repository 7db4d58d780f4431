"""What the server's answers look like: dictionaries with these members.

Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict


class BridgeAnswer(TypedDict):
    model: str
    text: str
    usage: Dict[str, Any]


class _BridgeRefusal(TypedDict):
    error: str


class BridgeRefusal(_BridgeRefusal, total=False):
    code: str
    detail: str
    issues: List[Dict[str, Any]]
    reason: str


class ChatModels(TypedDict):
    data: List[Dict[str, Any]]
    object: Literal["list"]


class ChatRefusal(TypedDict):
    error: Dict[str, Any]


class Event(TypedDict):
    at: int
    event: Dict[str, Any]
    seq: int


class Events(TypedDict):
    events: List[Event]
    next: Optional[int]
    """The `after` of the next page; null on the last."""


class Flow(TypedDict):
    digest: str
    files: List[str]
    """Its own first, then those that it names."""
    flow: str
    language: int
    registered_at: str
    registered_by: str


class Flows(TypedDict):
    flows: List[Flow]


class Forbidden(TypedDict):
    error: Literal["Forbidden"]


class Forked(TypedDict):
    activity: Literal["working", "stopped", "set_aside"]
    """Whether anything works on the run now; null for one that is over."""
    activity_since: Optional[str]
    actor: str
    events: int
    flow: str
    flow_digest: str
    forked_from: Optional[str]
    in_doubt: bool
    live_attempts: int
    notes: List[str]
    """What should be known besides, such as files that lie otherwise than at the cut."""
    open_questions: int
    reason: Optional[str]
    root: Optional[str]
    run: str
    set_aside: Optional[Dict[str, Any]]
    started_at: str
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    step: Optional[str]
    tenant: str
    terminal_reason: Optional[str]
    updated_at: str
    workspace: str


class HandoffRow(TypedDict):
    at: str
    flow: str
    handoff: str
    """By this it is got: `[scope.]step.visit`."""
    scope: str
    seq: int
    status: Literal["succeeded", "failed", "skipped"]
    step: str
    summary: str
    visit: int


class Handoffs(TypedDict):
    handoffs: List[HandoffRow]


class Health(TypedDict):
    status: Literal["ok"]


class Log(TypedDict):
    attempt: str
    seq: int
    stderr_bytes: int
    stdout_bytes: int


class Logs(TypedDict):
    logs: List[Log]
    next: Optional[int]
    """The `after` of the next page; null on the last."""


class PinnedFlow(TypedDict):
    digest: str
    language: int
    name: str
    parts: Dict[str, Any]
    """Texts of the flows that it names, by their paths."""
    text: str


class _Question(TypedDict):
    about: str
    expires_at: Optional[str]
    kind: str
    question: str
    raised_at: str
    run: str
    scope: str
    state: Literal["open", "lapsed", "answered", "expired", "changed", "cancelled"]
    step: str
    text: str
    visit: int


class Question(_Question, total=False):
    answer: Optional[str]
    answered_by: Optional[str]
    approved_by: List[str]
    choices: List[str]
    """What an open one takes, the most usual first."""
    closed_at: Optional[str]
    evidence: Any
    schema: Any
    """The form that it wants as `data`, or null."""
    subject: Optional[str]
    """Digest of what is shown; send it back as `seen`."""


class Questions(TypedDict):
    last_event_id: str
    """A stream from here on misses nothing that is not in the list."""
    next: Optional[str]
    """The `cursor` of the next page."""
    questions: List[Question]


class Refused(TypedDict):
    error: Any


class Run(TypedDict):
    activity: Literal["working", "stopped", "set_aside"]
    """Whether anything works on the run now; null for one that is over."""
    activity_since: Optional[str]
    actor: str
    events: int
    flow: str
    flow_digest: str
    forked_from: Optional[str]
    in_doubt: bool
    live_attempts: int
    open_questions: int
    reason: Optional[str]
    root: Optional[str]
    run: str
    set_aside: Optional[Dict[str, Any]]
    started_at: str
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    step: Optional[str]
    tenant: str
    terminal_reason: Optional[str]
    updated_at: str
    workspace: str


class Runs(TypedDict):
    next: Optional[str]
    """The `cursor` of the next page."""
    runs: List[Run]


class Token(TypedDict):
    name: str
    scopes: List[Literal["read", "answer", "run", "admin"]]
    tenant: str
