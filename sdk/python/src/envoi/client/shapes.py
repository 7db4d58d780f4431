"""What the server's answers look like: dictionaries with these members.

Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Amount = Union["Most", str]

Most = Union[int, Dict[str, Any]]


class Amounts(TypedDict):
    agent_hops: int
    """Attempts."""
    cost_usd: str
    """Dollars."""
    iterations: int
    """Times that loops went back."""
    llm_calls: int
    """Calls of models."""
    rounds: int
    """Rounds."""
    tokens_in: int
    """Tokens that models were given."""
    tokens_out: int
    """Tokens that models gave."""
    unknown_calls: int
    """Attempts and calls of models of which it is not known how many calls they made: `llm_calls` is the least."""
    unknown_costs: int
    """Those of which it is not known what they cost: `cost_usd` is the least."""
    unknown_tokens: int
    """Those of which it is not known how many tokens they used: `tokens_in` and `tokens_out` are the least."""
    waiting_ms: int
    """Time of waiting for closed accounts, of the run itself: it is not shared with forks, and steps have none."""
    wall_time_ms: int
    """Time of work."""


class ArtifactVersion(TypedDict):
    digest: Optional[str]
    """The digest of its content; null if it was deleted."""
    path: str
    """Relative to the workspace."""
    size_bytes: Optional[int]
    """Its size; null if it was deleted."""
    visit: str
    """The visit that left it."""


class Artifacts(TypedDict):
    artifacts: List[ArtifactVersion]
    """The versions, sorted by their paths; those of one path in the order in which they were handed over."""
    next: Optional[str]
    """The `cursor` of the next page; null on the last."""
    total: int
    """How many there are on all pages."""


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


class CachedFrom(TypedDict):
    attempt: str
    """The attempt, such as `build.1.1`."""
    run: str
    """Its run, which may be gone."""


class ChangedFile(TypedDict):
    after_digest: Optional[str]
    """The digest of its content when the question was raised, or of the last one that the run, or the visit, has left; null if it was deleted."""
    before_digest: Optional[str]
    """The digest of its content before the run, or before the visit that was asked about; null if there was none, or if that is not known."""
    created: bool
    """Whether the run made it."""
    path: str
    """Its path in the workspace."""
    size_bytes: Optional[int]
    """The size of that content; null if it was deleted, or if the server does not say."""


class ChangedFiles(TypedDict):
    files: List[ChangedFile]
    """The files; at most 1,000."""
    total: int
    """How many there are."""


class ChatModels(TypedDict):
    data: List[Dict[str, Any]]
    """The models."""
    object: Literal["list"]
    """What this is."""


class ChatRefusal(TypedDict):
    error: Dict[str, Any]
    """Why."""


class ComparedFile(TypedDict):
    added: int
    """Lines that came. 0 for a file that is no text."""
    after: Optional[FileState]
    """What stands there; null if nothing does."""
    before: Optional[FileState]
    """What stood there; null if nothing did."""
    by: List[str]
    """The attempts that changed it, in their order. `edited between A and B`: it changed between these two attempts, not by an attempt. `set back for A`: Envoi set it back before that attempt. `restored after A`: a restore that came after it set it back."""
    lines: Optional[str]
    """The lines that differ, with three around them, as text for people; null unless `lines` was asked for. Characters that would steer a terminal are escaped, and long lines are cut: it is no patch."""
    path: str
    """Relative to the workspace. Bytes that are no UTF-8 are replaced."""
    removed: int
    """Lines that went."""


class ComparedStep(TypedDict):
    change: Literal["kept", "changed", "new", "gone"]
    """How it differs."""
    differs_in: List[str]
    """Where it differs: keys of the step or of the flow, and flows that it runs with their steps."""
    from_here: Literal["stays", "runs", "runs_again", "does_not_run"]
    """What the run does with it from here on."""
    status: Optional[Literal["succeeded", "failed", "skipped"]]
    """What its last visit came to; null if there was none."""
    step: str
    """The step."""


class Comparison(TypedDict):
    again_from: Optional[str]
    """The step from which on finished steps run again; null if none does."""
    corrected_digest: str
    """The digest of the corrected flow."""
    flow_digest: str
    """The digest of the flow that it is pinned to."""
    goes_on_at: Optional[str]
    """Where the run goes on, in listed order; null in a graph, or if that step is gone."""
    is_same: bool
    """Whether there is nothing to correct: the run is pinned to this flow, and no step is to run again."""
    limits: List[str]
    """The limits that differ, each as `name: before -> after`."""
    notes: List[str]
    """What else follows, each in a sentence: approvals given in advance that are void."""
    refusals: List[str]
    """Why the corrected flow cannot take over, each in a sentence; empty: it can."""
    run: str
    """The run."""
    steps: List[ComparedStep]
    """The steps of both flows: those of the corrected one in its order, then those that are gone."""
    subject: str
    """What is sent as `seen` to agree to this; it is another one when anything of this is."""
    waits: bool
    """Whether an attempt is running: the corrected flow takes over when it has settled."""


class Differences(TypedDict):
    files: List[ComparedFile]
    """The files, sorted by their paths."""
    next: Optional[str]
    """The `cursor` of the next page; null on the last."""
    outside: Optional[str]
    """With `outside`, a sentence about the files that the run has changed in its tree, but not in its workspace; null if there are none."""
    total: int
    """How many there are on all pages."""


class ErrorPage(TypedDict):
    code: str
    """The code."""
    page: str
    """The page, in Markdown."""


class _Event(TypedDict):
    at: str
    """When it was decided."""
    event: Dict[str, Any]
    """What happened."""
    seq: int
    """Its place in the run, from 0."""


class Event(_Event, total=False):
    stored: str
    """The event as the journal has it, if the request wants that."""


class Events(TypedDict):
    events: List[Event]
    """The events."""
    next: Optional[int]
    """The `after` of the next page; null on the last."""


class FileState(TypedDict):
    digest: Optional[str]
    """The digest of its content, or of the target of a link; null if it is not kept."""
    kind: Literal["file", "link", "empty_folder", "left_out"]
    """Its kind."""
    mode: str
    """The permission bits in octal digits, such as `644`."""
    size_bytes: int
    """Its size."""


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


class FlowInput(TypedDict):
    default: Any
    """Its value if none is given; null if it has none."""
    input: str
    """Its name."""
    required: bool
    """Whether a run has to be given it."""
    schema: Dict[str, Any]
    """The JSON Schema of its value."""


class FlowPlan(TypedDict):
    attempts: Most
    """Attempts of all steps."""
    cost_usd: Optional[str]
    """Dollars that reports may tell of."""
    elapsed_ms: Optional[Most]
    """Time from the start to the end, if every attempt has a slot and every question an answer at once."""
    file: str
    """The file, as it was named."""
    flow: str
    """Its id."""
    iterations: Most
    """Times that loops go back."""
    limits: List[PlannedLimit]
    """The limits that lower the worst case."""
    llm_calls: Optional[Most]
    """Calls of models that reports may tell of."""
    loops: List[PlannedLoop]
    """What sends the run back."""
    most_attempts: Optional[MostAttempts]
    """What to lower for fewer attempts; null if nothing in the file can be lowered."""
    most_time: Optional[MostTime]
    """What to lower for less time; null if nothing in the file can be lowered."""
    notes: List[str]
    """What has to be known to read the figures."""
    rounds: Optional[int]
    """Rounds of its goals; null if it has none."""
    steps: List[PlannedStep]
    """Its steps, and after them those of the flows that it runs."""
    visits: Most
    """Visits of all steps."""
    waits_ms: Most
    """Time of waiting before further tries, added up."""
    wall_time_ms: Optional[Most]
    """Time in which attempts run, added up."""


class FlowShape(TypedDict):
    digest: str
    """Its digest."""
    flow: str
    """Its id."""
    flows: Dict[str, Any]
    """The steps of the flows that it names, directly or not, by their ids."""
    graph: bool
    """Whether `needs` says what follows what, and not the order of the steps."""
    inputs: List[FlowInput]
    """Its inputs, in the order of the file."""
    rounds: Optional[Rounds]
    """What is repeated until all goals are reached; null if it has no goals."""
    steps: List[StepShape]
    """Its steps, in the order of the file."""
    title: Optional[str]
    """For people; null if it has none."""


class Flows(TypedDict):
    flows: List[Flow]
    """The flows."""


class Forbidden(TypedDict):
    error: Literal["Forbidden"]
    """`Forbidden`."""


class Forked(TypedDict):
    activity: Optional[Literal["working", "stopped", "set_aside"]]
    """Whether an engine, or a step under its supervisor, works on the run now; null if it has ended."""
    activity_since: Optional[str]
    """Since when."""
    actor: str
    """Who started it."""
    events: int
    """How many events it has."""
    files_half_set_back: bool
    """Whether a change of its files, by `envoi restore` or `envoi apply`, was begun and is not done."""
    flow: str
    """The id of its flow."""
    flow_digest: str
    """The digest of the flow that it is pinned to."""
    forked_from: Optional[str]
    """The run that it was forked from; null if it is no fork."""
    head: Optional[str]
    """The head of the chain over its events, as `export` has it; null unless it is over, and in a list of runs."""
    in_doubt: bool
    """Whether an attempt is in doubt, so that a person has to decide."""
    live_attempts: int
    """Attempts that were started and have not ended."""
    notes: List[str]
    """What should be known besides, such as files that differ from what they were at the step."""
    open_questions: int
    """Questions that wait for a person."""
    part: Optional[Dict[str, Any]]
    """The part of its flow that it does; null if it does all of it."""
    reason: Optional[str]
    """Why it ended, in a sentence; null while it goes on."""
    root: Optional[str]
    """The first run of its family; null if it is no fork."""
    run: str
    """Its id."""
    set_aside: Optional[Dict[str, Any]]
    """Why it is set aside; null if it is not."""
    stands: Literal["set_aside", "stopped", "running_without_an_engine", "waiting_for_account", "running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """How it stands, in one word, with what works on it now and what it waits for."""
    started_at: str
    """When its first event was decided."""
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """Where it stands."""
    step: Optional[str]
    """The step it is in, or was in when it ended."""
    step_works: bool
    """Whether a step of it goes on under its supervisor without an engine; who resumes it waits for that step."""
    tenant: str
    """Whose run it is."""
    terminal_reason: Optional[str]
    """Why it ended, as a word of contract 3; null while it goes on."""
    updated_at: str
    """When its newest event was decided."""
    waits_for: Optional[Dict[str, Any]]
    """The account of an agent program that a step of it waits for, the one that is tried first; null if it waits for none."""
    workspace: str
    """The folder in which its commands run."""


class Given(TypedDict):
    at: str
    """When."""
    attachments: List[Dict[str, Any]]
    """References to its files (contract 5)."""
    by: str
    """Who."""
    channel: str
    """The way it came in, such as `cli` or `rest`."""
    choice: str
    """The choice."""
    data: Any
    """The form that was filled in."""
    event: Optional[int]
    """Its event in the journal of the run; null if the server does not say."""
    text: str
    """In words."""


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


class InnerFlow(TypedDict):
    file: Optional[str]
    """Which of the flow's files it is; null if that is not known."""
    graph: bool
    """Whether `needs` says what follows what."""
    rounds: Optional[Rounds]
    """What is repeated until all goals are reached; null if it has no goals."""
    steps: List[StepShape]
    """Its steps."""
    title: Optional[str]
    """For people; null if it has none."""


class LastHandoff(TypedDict):
    error: Optional[str]
    """Why it failed; null if it did not."""
    handoff: str
    """Its name, such as `draft.1`."""
    status: Literal["succeeded", "failed", "skipped"]
    """What it came to."""
    summary: str
    """Its summary."""
    verified: Optional[bool]
    """Whether a critic has verified it; null if none has judged it."""


class Lead(TypedDict):
    choice: str
    """The choice."""
    leads_to: str
    """What it leads to, in words."""


class Limits(TypedDict):
    agent_hops: Optional[int]
    """Attempts."""
    cost_usd: Optional[str]
    """Dollars."""
    iterations: Optional[int]
    """Times that loops go back."""
    llm_calls: Optional[int]
    """Calls of models."""
    rounds: Optional[int]
    """Rounds."""
    waiting_ms: Optional[int]
    """Time of waiting for closed accounts."""
    wall_time_ms: Optional[int]
    """Time of work."""


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


class MessagesRefusal(TypedDict):
    error: Dict[str, Any]
    """Why."""
    type: Literal["error"]
    """What this is."""


class ModelAmounts(TypedDict):
    cost_usd: str
    """What its calls have cost, in US dollars."""
    llm_calls: int
    """Calls that have begun."""
    model: str
    """The model, as the configuration names it."""
    provider: Optional[str]
    """Who offers it, as the configuration names it; null for the calls of steps that ask a model."""
    tokens_in: int
    """Tokens that it was given."""
    tokens_out: int
    """Tokens that it gave."""
    unknown_costs: int
    """Calls that are over and whose cost is not known: `cost_usd` has nothing for them."""
    unknown_tokens: int
    """Calls that are over and whose tokens are not known: the sums have nothing, or a part, for them."""


class MostAttempts(TypedDict):
    file: Optional[str]
    """The file; null if the key does not stand in it."""
    flow: str
    """The flow in whose file it stands."""
    key: str
    """Its key, from the step or from the top of the file."""
    known: bool
    """Whether the file says so; otherwise it is the most that any list may have."""
    line: Optional[int]
    """The line, from 1."""
    now: int
    """What it is now."""
    one_less_saves: Most
    """The attempts that one less saves."""
    path: List[str]
    """The steps that are repeated because of it."""
    spent_there: Most
    """The attempts of the steps in `path`."""
    step: Optional[str]
    """The step; null if it is the flow's."""


class MostTime(TypedDict):
    file: Optional[str]
    """The file; null if the key does not stand in it."""
    flow: str
    """The flow in whose file it stands."""
    key: str
    """Its key, from the step or from the top of the file."""
    known: bool
    """Whether the file says so; otherwise it is the most that any list may have."""
    line: Optional[int]
    """The line, from 1."""
    now: int
    """What it is now."""
    one_less_saves_ms: Most
    """The time that one less saves."""
    path: List[str]
    """The steps that are repeated because of it."""
    spent_there_ms: Most
    """The time of the steps in `path`."""
    step: Optional[str]
    """The step; null if it is the flow's."""


class NewSession(TypedDict):
    key: str
    """The half that the page sends as `X-Envoi-Page`. It is shown once."""
    name: str
    """Its name, which stands with everything that is done with it."""
    scopes: List[Literal["read", "answer", "run", "admin"]]
    """What it allows."""
    tenant: str
    """Whose it is."""


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


class PlannedItems(TypedDict):
    known: bool
    """Whether the files say so; otherwise it is the most that any list may have."""
    most: int
    """At most."""


PlannedLimit = TypedDict("PlannedLimit", {
    "limit": 'str',
    "with": 'Amount',
    "without": 'Amount',
})


class PlannedLoop(TypedDict):
    back_to: str
    """The earliest step that it goes back to."""
    by_people: bool
    """Whether it goes back only where a person decides so."""
    by_rounds: bool
    """Whether it is the rounds of the flow's goals."""
    each_entry: int
    """How often it goes back each time that it is entered."""
    entries: Most
    """How often it is entered."""
    flow: str
    """The flow that it is in."""
    returns: Most
    """How often it goes back in the run."""
    step: str
    """The step that closes it."""


class PlannedStep(TypedDict):
    asks: bool
    """Whether it asks a person and makes no attempt."""
    attempts: Most
    """Its attempts."""
    attempts_each: Most
    """Attempts of a visit, or of an item."""
    doubt_each: int
    """How many of those are because an attempt was in doubt."""
    flow: str
    """The flow that it is a step of."""
    inner_flow: Optional[str]
    """The flow that it runs; null if it runs none."""
    items: Optional[PlannedItems]
    """Items of a visit; null if it is done for no list."""
    step: str
    """Its id."""
    timeout_ms: Optional[int]
    """The time limit of an attempt; null if it has none."""
    visits: Most
    """Its visits."""
    wall_time_ms: Optional[Most]
    """Time of all its attempts; null if it is not bounded."""


class Question(TypedDict):
    about: str
    """Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit`, `throttled`, `conflict` or `in_doubt`."""
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
    """Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit`, `throttled`, `conflict` or `in_doubt`."""
    answer: Optional[str]
    """The choice that closed it; null if there was none."""
    answered_by: Optional[str]
    """Who made it."""
    barred: Optional[str]
    """The reason why the caller may not answer, as a sentence; null if the caller may, or if the question is closed."""
    choices: List[str]
    """The choices that it takes, the most usual first; empty if it is closed."""
    closed_at: Optional[str]
    """When it was closed; null while it is open."""
    evidence: Any
    """What one needs to know to answer."""
    expires_at: Optional[str]
    """When it lapses; null: never."""
    fields: List[str]
    """The names of its fields, in the order of the flow file; members of `schema` have none."""
    files: List[ChangedFile]
    """Files that the run had changed when it put the question."""
    flow: str
    """The id of the flow."""
    given: Optional[Given]
    """The answer; null if there is none."""
    kind: str
    """The kind of question, as a word of contract 3."""
    last_handoff: Optional[LastHandoff]
    """The last hand-off before the question; null if there is none."""
    leads: Optional[List[Lead]]
    """What each choice leads to; null if the question is closed."""
    limits: Limits
    """The limits of the run; null is unlimited."""
    question: str
    """Its id."""
    quorum: int
    """How many different people have to approve."""
    raised_at: str
    """When it was raised."""
    run: str
    """The run that asks."""
    schema: Any
    """The form that it wants as `data`; null if it wants none."""
    scope: str
    """The inner flows and the item in which its visit stands; empty at the top."""
    silence: Optional[str]
    """What happens if no answer comes; null if the question does not lapse or is closed."""
    started_by: str
    """Who started the run."""
    state: Literal["open", "lapsed", "answered", "expired", "changed", "cancelled"]
    """What has become of it."""
    step: str
    """The step that is concerned."""
    subject: Optional[str]
    """The digest of what is shown; send it back as `seen`."""
    text: str
    """The question."""
    title: Optional[str]
    """The title of the flow; null if it has none."""
    used: Amounts
    """What the run and its family have used."""
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


class Rounds(TypedDict):
    first_step: str
    """The first step of a round."""
    last_step: str
    """The last step of a round."""
    max_rounds: int
    """The most rounds."""


class Run(TypedDict):
    activity: Optional[Literal["working", "stopped", "set_aside"]]
    """Whether an engine, or a step under its supervisor, works on the run now; null if it has ended."""
    activity_since: Optional[str]
    """Since when."""
    actor: str
    """Who started it."""
    events: int
    """How many events it has."""
    files_half_set_back: bool
    """Whether a change of its files, by `envoi restore` or `envoi apply`, was begun and is not done."""
    flow: str
    """The id of its flow."""
    flow_digest: str
    """The digest of the flow that it is pinned to."""
    forked_from: Optional[str]
    """The run that it was forked from; null if it is no fork."""
    head: Optional[str]
    """The head of the chain over its events, as `export` has it; null unless it is over, and in a list of runs."""
    in_doubt: bool
    """Whether an attempt is in doubt, so that a person has to decide."""
    live_attempts: int
    """Attempts that were started and have not ended."""
    open_questions: int
    """Questions that wait for a person."""
    part: Optional[Dict[str, Any]]
    """The part of its flow that it does; null if it does all of it."""
    reason: Optional[str]
    """Why it ended, in a sentence; null while it goes on."""
    root: Optional[str]
    """The first run of its family; null if it is no fork."""
    run: str
    """Its id."""
    set_aside: Optional[Dict[str, Any]]
    """Why it is set aside; null if it is not."""
    stands: Literal["set_aside", "stopped", "running_without_an_engine", "waiting_for_account", "running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """How it stands, in one word, with what works on it now and what it waits for."""
    started_at: str
    """When its first event was decided."""
    status: Literal["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]
    """Where it stands."""
    step: Optional[str]
    """The step it is in, or was in when it ended."""
    step_works: bool
    """Whether a step of it goes on under its supervisor without an engine; who resumes it waits for that step."""
    tenant: str
    """Whose run it is."""
    terminal_reason: Optional[str]
    """Why it ended, as a word of contract 3; null while it goes on."""
    updated_at: str
    """When its newest event was decided."""
    waits_for: Optional[Dict[str, Any]]
    """The account of an agent program that a step of it waits for, the one that is tried first; null if it waits for none."""
    workspace: str
    """The folder in which its commands run."""


class RunLedger(TypedDict):
    attempts_in_doubt: int
    """Attempts in doubt: `used` has their whole budget, or nothing if they had none."""
    by_model: List[ModelAmounts]
    """What it has used itself of each model: by steps that ask a model, and through the bridge. What other programs report names no model."""
    by_step: Dict[str, Any]
    """What each step has used."""
    limits: Limits
    """Its limits; null is unlimited."""
    own_used: Amounts
    """What of that it has used itself."""
    raised: Amounts
    """By how much the limits were raised."""
    reserved: Amounts
    """What is set aside for live attempts."""
    run: str
    """Its id."""
    unknown_costs: int
    """Calls of models whose cost is not known: `used` has nothing for them."""
    used: Amounts
    """What it and its family have used."""


class RunSoFar(TypedDict):
    agent_hops: int
    """Attempts that it has used itself."""
    cost_usd: str
    """Dollars that it has used itself, without the other runs of its family."""
    next_try_at: Optional[str]
    """When the first of its steps that wait for their next try is tried again; null if none waits for that."""
    run: str
    """Its id."""
    steps: int
    """Steps of its own flow."""
    steps_done: int
    """Steps of its own flow that are over and have not failed, each counted once."""
    unknown_costs: int
    """Calls of models and attempts whose cost is not known."""


class Runs(TypedDict):
    counts: Optional[Dict[str, Any]]
    """How many runs there are in which status, those of other pages too, whatever `status` says; null if `counts` did not ask for it."""
    next: Optional[str]
    """The `cursor` of the next page; null on the last."""
    runs: List[Run]
    """The runs."""
    so_far: List[RunSoFar]
    """What these runs have done and used, if `so_far` asked for it; without those that are too long to be read with this page."""


class _StepRow(TypedDict):
    attempts: int
    """Attempts so far. 0: it has none of its own."""
    cached_from: Optional[CachedFrom]
    """Whose result it has, if that came from the cache of steps: its command was not started. Null otherwise."""
    cost_usd: Optional[str]
    """What its attempts have cost; null if none has reported a cost."""
    ended_at: Optional[str]
    """When its hand-off was written; null before."""
    first_seq: int
    """The event with which it began."""
    item: Optional[int]
    """Which item, from 0; null if it is none."""
    items: Optional[int]
    """How many items it has; null if it is not done for a list."""
    leads_to: Optional[str]
    """Where it leads, such as `advance` or `loop`; `exhausted` if its loop has had its last round without success. Null before its end."""
    next_try_at: Optional[str]
    """When its next attempt begins, if it waits for that."""
    part_of: Optional[str]
    """The place of what it is part of: the visit that it is an item of, or the one that runs its flow. Null at the top."""
    place: str
    """Where it is, such as `build.2.compile.1` or `0.check.1`: as hand-offs and commands name it."""
    question: Optional[str]
    """The open question about it."""
    scope: str
    """The inner flows and the item in which it stands; empty at the top."""
    seq: int
    """The newest event that changed the row."""
    started_at: str
    """When its first event was decided."""
    state: Literal["running", "left", "ready", "retries", "asks", "in_doubt", "open", "succeeded", "failed", "skipped"]
    """Where it stands."""
    step: str
    """Its step."""
    summary: str
    """What it came to or why it failed, in a line. Of an open one with items: how far it has come."""
    took_ms: Optional[int]
    """The time of its last attempt; of a whole, from its beginning to its end. Null before its end."""
    value: Optional[str]
    """The value of the item, in a line; null if it is none."""
    visit: int
    """Which visit of the step, from 1."""


class StepRow(_StepRow, total=False):
    waits: List[StepWait]
    """When nothing worked on it: stretches of a second or more, in their order. Of very many, the longest."""


class StepShape(TypedDict):
    branches: List[str]
    """Steps that its text may choose."""
    condition: Optional[str]
    """The condition without which it is skipped; null if there is none."""
    continue_on_error: bool
    """Whether the run goes on when it has failed."""
    for_each: bool
    """Whether it is done once for each value of a list."""
    join: str
    """How many of them have to be done: `all`, `any`, `settled` or a number."""
    kind: Literal["run", "ask", "flow", "a2a", "agent", "model"]
    """What it does."""
    line: Optional[int]
    """The line of its flow's text on which it begins, from 1; null if that is not known."""
    loop_to: Optional[str]
    """The step to which it goes back if it sends the run back; null if it does not loop."""
    max_iterations: Optional[int]
    """How often that may be; null if it does not loop."""
    needs: List[str]
    """The steps that it waits for, if `needs` says what follows what."""
    next: Optional[str]
    """Where it leads in place of the next step: the id of a step, or `end`; null for the next one."""
    runs_flow: Optional[str]
    """The flow that it runs; null if it runs none."""
    skill: Optional[str]
    """The skill whose report it leaves; null if it needs none."""
    step: str
    """Its id."""
    tries: int
    """Most tries of a visit, from 1."""


StepWait = TypedDict("StepWait", {
    "from": 'str',
    "reason": 'Literal["next_try", "account", "person"]',
    "until": 'Optional[str]',
})


class Steps(TypedDict):
    newest: int
    """The newest event that the rows take account of: the `after` with which to ask for changes later."""
    next: Optional[int]
    """The `after` of the next page; null on the last."""
    steps: List[StepRow]
    """The rows."""


class Token(TypedDict):
    name: str
    """Its name, which stands with everything that is done with it."""
    scopes: List[Literal["read", "answer", "run", "admin"]]
    """What it allows."""
    tenant: str
    """Whose it is."""
