"""The operations of the server, one method each, named as in `spec/openapi.json`; `list_runs_so_far` is `listRuns` with `so_far`, and
`count_runs` with `counts`.

What they have in common is elsewhere: repeated requests (`caller`), streams (`stream`), bytes (`content`), the wire (`wire`).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast
from uuid import uuid4

from .. import json
from ..envelope import Envelope
from ..handoff import HandoffEnvelope
from ..user_envelope import AttachmentRef
from .caller import Caller
from .content import Bytes, Content, File, files_of
from .errors import DigestMismatch
from .questions import Change, QuestionEvent, QuestionList
from .shapes import (
    ArtifactVersion,
    ChangedFiles,
    ComparedFile,
    Comparison,
    ErrorPage,
    Event,
    Flow,
    FlowPlan,
    FlowShape,
    Forked,
    HandoffRow,
    Health,
    Log,
    PinnedFlow,
    QuestionDetail,
    Questions,
    Run,
    RunLedger,
    Runs,
    RunSoFar,
    Steps,
    Token,
)
from .stream import Follower
from .wire import Reply, Request, Server, path_of

MAX_FILES = 20
"""Most files of an answer (contract 5)."""

PAGE = 100
"""Rows of one request."""


class Client:
    """One server, as the bearer of one token. Threads may share it: each request has its own connection.

    `timeout` is how many seconds a server may send nothing (16 minutes at least where it works on the files of a run), `patience` how many seconds requests are repeated: if there is
    no answer, or the server defers the request (429, 503 and `Retry-After`). A request that may have been done is sent again
    only if that changes nothing: it reads or cancels, its content is known by digest, or it has an `Idempotency-Key`. `ca` names a file
    of certificates to trust in place of the system's.

    Every method raises ApiError for what the server refuses and Unreachable when no answer came.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        ca: "Union[str, os.PathLike[str], None]" = None,
        timeout: float = 30.0,
        patience: float = 10.0,
    ) -> None:
        self._caller = Caller(Server(url, token, None if ca is None else os.fspath(ca), timeout), patience)

    # Flows

    def register_flow(
        self, flow: "Union[str, bytes, os.PathLike[str]]", files: Optional[Mapping[str, str]] = None
    ) -> Flow:
        """Lets a flow be started: its YAML, or the path of it. It becomes the newest of its id.

        A flow that names others comes with them: `files` has the text of each by its path, and `flow` is one of these paths.
        """
        if files is None:
            content = Content(flow.encode("utf-8") if isinstance(flow, str) else flow, "application/yaml")
        else:
            content = _json({"flow": flow, "files": dict(files)})
        request = Request("POST", path_of("flows"), content=content)
        return cast(Flow, self._caller.ask(request, 200, 201).object())

    def list_flows(self) -> List[Flow]:
        """The flows that may be started, newest first."""
        return cast(List[Flow], self._get("flows").object()["flows"])

    def get_flow(self, flow: str, *, file: Optional[str] = None) -> str:
        """The text of a flow, by its digest or its id; of one of its files, where it came with others."""
        return self._get("flows", flow, file=file).body.decode("utf-8")

    def get_flow_shape(self, flow: str) -> FlowShape:
        """The inputs and the steps of a flow, by its digest or its id, and what leads where."""
        return cast(FlowShape, self._get("flows", flow, "shape").object())

    def get_flow_plan(self, flow: str) -> FlowPlan:
        """The worst case of a flow, by its digest or its id: what a run of it may come to at most."""
        return cast(FlowPlan, self._get("flows", flow, "plan").object())

    # Runs

    def start_run(
        self,
        flow: str,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        workspace: Optional[str] = None,
        yes_to: Sequence[str] = (),
        user_id: Optional[str] = None,
        session_id: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        raw_input: Optional[str] = None,
        part: Optional[Mapping[str, Any]] = None,
        no_cache: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Starts a run of a registered flow, by its digest or its id.

        `part` does a part of the flow: `{"only": ["publish"], "with": run}`, or `from`, `until` and `skip`.

        With `no_cache`, all its commands are run, also those whose results are in the cache.

        `user_id`, `session_id`, `metadata` and `raw_input` name the origin of the run; they stand in its envelope.

        It is started once, however often the request is repeated. Give a key of your own to be sure of that over several
        processes: the run of the first call is returned.
        """
        body = {
            "flow": flow,
            "inputs": inputs or None,
            "workspace": workspace,
            "yes_to": list(yes_to) or None,
            "user_id": user_id,
            "session_id": session_id,
            "metadata": metadata or None,
            "raw_input": raw_input,
            "part": dict(part) if part else None,
            "no_cache": no_cache or None,
        }
        return cast(Run, self._post(body, idempotency_key, "runs"))

    def list_runs(
        self,
        *,
        status: Optional[str] = None,
        stands: Optional[str] = None,
        in_doubt: bool = False,
        flow: Optional[str] = None,
        q: Optional[str] = None,
        since: Optional[str] = None,
        root: Optional[str] = None,
    ) -> Iterator[Run]:
        """Runs, newest first; pages are read as one goes through them.

        `status` is a word of `Run.status`, `stands` one of `Run.stands`; `q` a text in the id, flow, step, starter or reason; `since` a time (RFC 3339); `root` a run, for its forks.
        """
        query = {"status": status, "stands": stands, "in_doubt": in_doubt or None, "flow": flow, "q": q, "since": since, "root": root}
        for page in self._run_pages(query):
            yield from page["runs"]

    def list_runs_so_far(
        self,
        *,
        status: Optional[str] = None,
        stands: Optional[str] = None,
        in_doubt: bool = False,
        flow: Optional[str] = None,
        q: Optional[str] = None,
        since: Optional[str] = None,
        root: Optional[str] = None,
    ) -> Iterator[Tuple[Run, Optional[RunSoFar]]]:
        """Runs as `list_runs` has them, each with what it has done and used so far.

        That is `None` for a run with so many events that this page could not read them; ask again for it.
        """
        query = {"status": status, "stands": stands, "in_doubt": in_doubt or None, "flow": flow, "q": q, "since": since, "root": root, "so_far": "true"}
        for page in self._run_pages(query):
            so_far = {each["run"]: each for each in page["so_far"]}
            yield from ((run, so_far.get(run["run"])) for run in page["runs"])

    def count_runs(
        self,
        *,
        flow: Optional[str] = None,
        q: Optional[str] = None,
        since: Optional[str] = None,
        root: Optional[str] = None,
    ) -> Dict[str, int]:
        """How many runs there are in which status; the filters are those of `list_runs`. A status that none is in is left out."""
        query = {"flow": flow, "q": q, "since": since, "root": root, "counts": "true"}
        return cast(Dict[str, int], self._get("runs", **query, limit=1).object()["counts"])

    def _run_pages(self, query: Mapping[str, Union[str, bool, None]]) -> Iterator[Runs]:
        cursor = None
        while True:
            page = cast(Runs, self._get("runs", **query, limit=PAGE, cursor=cursor).object())
            yield page
            cursor = page["next"]
            if cursor is None:
                return

    def get_run(self, run: str) -> Run:
        """One run."""
        return cast(Run, self._get("runs", run).object())

    def get_envelope(self, run: str) -> Envelope:
        """The state of the pipeline, true at the last commit. Raises ContractError as `Envelope.from_json` does."""
        return Envelope.from_json(self._get("runs", run, "envelope").body)

    def get_run_flow(self, run: str) -> PinnedFlow:
        """The flow that a run is pinned to, with the texts of those that it names."""
        return cast(PinnedFlow, self._get("runs", run, "flow").object())

    def get_run_shape(self, run: str) -> FlowShape:
        """The steps of the flow that a run is pinned to, and what leads where."""
        return cast(FlowShape, self._get("runs", run, "shape").object())

    def list_steps(self, run: str, *, after: Optional[int] = None) -> Steps:
        """The visits of its steps, a row each; with `after`, the `newest` of an earlier answer, those that have changed since
        and those that are not over. All pages are in the answer."""
        whole = self._get("runs", run, "steps", after=after).object()
        while whole["next"] is not None:
            page = self._get("runs", run, "steps", after=whole["next"]).object()
            known = {row["place"] for row in page["steps"]}
            rows = [row for row in whole["steps"] if row["place"] not in known]
            whole = {**page, "steps": rows + page["steps"]}
        return cast(Steps, whole)

    def list_changed_files(self, run: str, *, place: Optional[str] = None) -> ChangedFiles:
        """The files that a run has changed so far: what each was before it, and what it was last. With the `place` of a step,
        only what that visit and its parts have changed, beside what was there before it."""
        return cast(ChangedFiles, self._get("runs", run, "files", place=place).object())

    def list_differences(
        self,
        run: str,
        *,
        states: Optional[str] = None,
        path: Optional[str] = None,
        lines: bool = False,
        authors: bool = False,
    ) -> Iterator[ComparedFile]:
        """What differs between two states of a run's files, `A..B`; from its start to its last snapshot by default.

        `path` is a file or a folder. With `lines`, each row has the lines that differ; with `authors`, the attempts that changed
        it. Pages are read as one goes through them.
        """
        query = {"states": states, "path": path, "lines": _flag(lines), "authors": _flag(authors)}
        for page in self._cursor_pages(query, "runs", run, "diff", is_long=True):
            yield from page["files"]

    def get_patch(self, run: str) -> bytes:
        """What a run has changed, as a patch for `git apply`. Its first lines name what it lacks. Empty if nothing was changed."""
        return self._get_long("runs", run, "patch").body

    def list_artifacts(self, run: str, *, all: bool = False) -> Iterator[ArtifactVersion]:
        """The artifacts of a run by their paths: the newest version of each, or with `all` every one.

        `get_run_content` has what is in them.
        """
        for page in self._cursor_pages({"all": _flag(all)}, "runs", run, "artifacts"):
            yield from page["artifacts"]

    def export_run(self, run: str, *, without_files: bool = False) -> bytes:
        """A run as one file, which `envoi verify` checks and `envoi import` takes.

        It needs the scope `admin`; `without_files` leaves the snapshots out.
        """
        return self._get_long("runs", run, "bundle", without_files=_flag(without_files)).body

    def _cursor_pages(
        self, query: Mapping[str, Optional[str]], *path: str, is_long: bool = False
    ) -> Iterator[Any]:
        cursor = None
        get = self._get_long if is_long else self._get
        while True:
            page = get(*path, **query, limit=PAGE, cursor=cursor).object()
            yield page
            cursor = page["next"]
            if cursor is None:
                return

    def get_run_ledger(self, run: str) -> RunLedger:
        """What a run has used of what it may use."""
        return cast(RunLedger, self._get("runs", run, "ledger").object())

    def list_events(self, run: str, *, after: Optional[int] = None) -> Iterator[Event]:
        """What has happened so far, after the event with this `seq` or from the first on."""
        return cast(Iterator[Event], self._paged(run, "events", "events", after))

    def explain_run(self, run: str) -> List[Event]:
        """The events that decided which way the run went."""
        return cast(List[Event], list(self._paged(run, "why", "events")))

    def _paged(self, run: str, what: str, rows: str, after: Optional[int] = None) -> Iterator[Any]:
        while True:
            page = self._get("runs", run, what, after=after, limit=PAGE).object()
            yield from page[rows]
            after = page["next"]
            if after is None:
                return

    def list_handoffs(self, run: str) -> List[HandoffRow]:
        """The hand-offs at a glance, in order."""
        return cast(List[HandoffRow], self._get("runs", run, "handoffs").object()["handoffs"])

    def get_handoff(self, run: str, handoff: str, *, visit: Optional[int] = None) -> HandoffEnvelope:
        """A hand-off by its name in the list, such as `draft.1`; without a visit, the newest of the step."""
        return HandoffEnvelope.from_json(self._get("runs", run, "handoffs", handoff, visit=visit).body)

    def list_logs(self, run: str) -> List[Log]:
        """The attempts that were started, and how much they have written."""
        return cast(List[Log], list(self._paged(run, "logs", "logs")))

    def get_log(
        self, run: str, attempt: str, stream: str = "stdout", *, start: int = 0, end: Optional[int] = None
    ) -> bytes:
        """What an attempt has written, from byte `start` to before `end`; empty if that is not there (yet)."""
        if start < 0 or (end is not None and end <= start):
            raise ValueError("a range begins at 0 or later and is not empty")
        is_part = start > 0 or end is not None
        headers = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if is_part else {}
        request = Request("GET", path_of("runs", run, "logs", attempt, stream), headers=headers)
        reply = self._caller.ask(request, *((200, 206, 416) if is_part else (200,)))
        if reply.status == 416:
            return b""
        return reply.body if reply.status == 206 else reply.body[start:end]

    def cancel_run(self, run: str) -> Run:
        """Ends a run; what is running is ended first. One that is cancelled already stays so."""
        return cast(Run, self._caller.ask(Request("POST", path_of("runs", run, "cancel")), 202).object())

    def resume_run(
        self,
        run: str,
        choice: Optional[str] = None,
        reason: Optional[str] = None,
        *,
        now: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Lets a run go on that has stopped, or decides what is in doubt.

        With `now`, steps whose account is closed by a limit are tried before its reset; also of a run that failed at it.
        """
        body = {"choice": choice, "reason": reason, "now": now}
        return cast(Run, self._post(body, idempotency_key, "runs", run, "resume"))

    def follow_run(self, run: str, after: Optional[int] = None, *, patience: float = 300.0) -> Iterator[Event]:
        """What happens, as it happens, after the event with this `seq` or from the first on; ends when the run is over.

        Goes on where it was when the connection breaks or the server is restarted: each event once, in order. If
        there is no answer for `patience` seconds it raises Unreachable; begin again with the last `seq` that you have seen.
        """
        return self._events(self._follower(run, after, patience))

    def wait_until(
        self, run: str, *statuses: str, timeout: Optional[float] = None, patience: float = 300.0
    ) -> Run:
        """The run once it has one of these statuses; without any, once it is not `running`. A run that is over or set aside is
        returned whatever its status: its row has `set_aside`, and nothing goes on with it until it is resumed. Raises
        TimeoutError after so many seconds."""
        deadline = None if timeout is None else self._caller.clock.now() + timeout
        row = self.get_run(run)
        if _is_reached(row, statuses):
            return row
        follower = self._follower(run, row["events"] - 1 if row["events"] else None, patience)
        follower.deadline = deadline
        # That a run is set aside is no event: each sign of life of the server is reason to look.
        for _ in follower.signs():
            row = self.get_run(run)
            if _is_reached(row, statuses):
                return row
        return self.get_run(run)

    def raise_run(
        self,
        run: str,
        more: Mapping[str, Any],
        reason: Optional[str] = None,
        *,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Gives a run more than its limits: `{"llm_calls": 5}`, `{"cost_usd": "1.00"}`."""
        body = {"more": dict(more), "reason": reason}
        return cast(Run, self._post(body, idempotency_key, "runs", run, "raise"))

    def fork_run(
        self,
        run: str,
        step: Optional[str] = None,
        reason: Optional[str] = None,
        *,
        flow: Optional[str] = None,
        files: Optional[Mapping[str, str]] = None,
        workspace: Optional[str] = None,
        yes_to: Sequence[str] = (),
        idempotency_key: Optional[str] = None,
    ) -> Forked:
        """Starts a run with the history of this one up to a step; without one, up to the step that stopped it.

        With `flow` it goes on from there under a corrected flow, named or brought as in `correct_run`.
        """
        body = {
            "from": step,
            "flow": flow,
            "files": None if files is None else dict(files),
            "reason": reason,
            "workspace": workspace,
            "yes_to": list(yes_to) or None,
        }
        return cast(Forked, self._post(body, idempotency_key, "runs", run, "fork"))

    def compare_run(
        self,
        run: str,
        flow: Optional[str] = None,
        step: Optional[str] = None,
        *,
        files: Optional[Mapping[str, str]] = None,
        fork: bool = False,
    ) -> Comparison:
        """What it would mean for a run to go on, as it is or with its flow corrected; changes nothing.

        `flow` is the digest of a registered flow, or its id for the newest; without one, the flow of the run. With `files`,
        the texts of flows by their paths, it is the path of one that is not registered; that needs the scope `admin`. Finished steps from `step` on
        run again; without one, none does. With `fork`, `notes` and `refusals` are those of a fork from that step.
        """
        body = {
            "flow": flow,
            "files": None if files is None else dict(files),
            "from": step,
            "fork": fork or None,
        }
        content = _json({name: value for name, value in body.items() if value is not None})
        request = Request("POST", path_of("runs", run, "compare"), content=content, is_long=True)
        return cast(Comparison, self._caller.ask(request, 200).object())

    def correct_run(
        self,
        run: str,
        flow: str,
        step: Optional[str] = None,
        reason: Optional[str] = None,
        *,
        seen: str,
        files: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Lets a run go on under a corrected flow, once, however often the request is repeated.

        `flow`, `step` and `files` as in `compare_run`. `seen` is the `subject` of that comparison: if the correction means
        something else by then, it is refused (COMPARISON_CHANGED) and nothing has changed.
        """
        body = {
            "flow": flow,
            "files": None if files is None else dict(files),
            "from": step,
            "seen": seen,
            "reason": reason,
        }
        return cast(Run, self._post(body, idempotency_key, "runs", run, "correct"))

    # Questions

    def list_questions(
        self, *, run: Optional[str] = None, closed: bool = False, newest: bool = False
    ) -> QuestionList:
        """The questions that wait for a person, oldest first or `newest` first; with `closed`, also those that do not wait any
        more."""
        place = path_of("questions")

        def page(cursor: Optional[str]) -> Questions:
            query = {"run": run, "closed": closed or None, "newest": newest or None, "limit": PAGE, "cursor": cursor}
            return cast(Questions, self._caller.ask(Request("GET", place, query), 200).object())

        return QuestionList(page)

    def get_question(self, question: str) -> QuestionDetail:
        """All that one needs to answer."""
        return cast(QuestionDetail, self._get("questions", question).object())

    def answer_question(
        self,
        question: str,
        choice: Optional[str] = None,
        text: Optional[str] = None,
        *,
        data: Any = None,
        files: Iterable[Union[Bytes, File]] = (),
        attachments: Iterable[AttachmentRef] = (),
        seen: Optional[str] = None,
        more: Optional[Mapping[str, Any]] = None,
        user_envelope: bool = False,
        resume: bool = True,
        idempotency_key: Optional[str] = None,
    ) -> QuestionDetail:
        """Answers a question, once, however often the request is repeated.

        `files` (bytes, paths, open binary files, `File`) are brought first; together with `attachments`, which are there
        already, at most 20.
        `seen` is the `subject` of the question: if something else is to be approved by then, the answer is refused.
        `more` goes with the choice `raise`. With `user_envelope` the text is one (contract 5), with attachments of its own.
        Without `resume` the answer is only recorded.
        """
        given, references = files_of(files), list(attachments)
        if len(given) + len(references) > MAX_FILES:
            raise ValueError(f"an answer has at most {MAX_FILES} files")
        references = [*(self.upload_artifact(each) for each in given), *references]
        body = {
            "choice": choice,
            "text": text,
            "data": data,
            "attachments": [each.to_dict() for each in references] or None,
            "seen": seen,
            "raise": None if more is None else dict(more),
            "user_envelope": user_envelope or None,
            "resume": None if resume else False,
        }
        return cast(QuestionDetail, self._post(body, idempotency_key, "questions", question, "answer"))

    def follow_questions(self, after: Optional[str] = None, *, patience: float = 300.0) -> Iterator[QuestionEvent]:
        """What happens to questions, from now on or after the event with this id; ends only with an exception.

        `list_questions().last_event_id` is the place at which a list was true; `"0"` is before everything.
        """
        if after is None:
            # A place to come back to, should the connection break before the first event.
            after = cast(str, self._get("questions", limit=1).object()["last_event_id"])
        follower = Follower(self._caller, path_of("questions", "stream"), after, patience)
        return (QuestionEvent.of(event.id, json.loads(event.data)) for event in follower.events())

    def follow_tenant(self, after: Optional[str] = None, *, patience: float = 300.0) -> Iterator[Change]:
        """Which runs change, as they change, from now on or after the change with this id; ends only with an exception.

        Each says what has changed, not how: ask for the run, its steps or its questions then.
        """
        if after is None:
            after = cast(str, self._get("questions", limit=1).object()["last_event_id"])
        follower = Follower(self._caller, path_of("stream"), after, patience)
        return (Change.of(event.id, json.loads(event.data)) for event in follower.events())

    # Content

    def upload_artifact(
        self, content: Union[Bytes, File], *, filename: Optional[str] = None, mime: Optional[str] = None
    ) -> AttachmentRef:
        """Brings content: bytes, the path of a file, an open binary file, which is sent as it is read.

        What comes back can be an attachment of an answer. The name is that of the path, the media type that of the name,
        unless they are given.
        """
        file = File.of(content)
        file = File.of(File(file.content, filename or file.filename, mime or (None if filename else file.mime)))
        request = Request("POST", path_of("artifacts"), content=Content(file.content, file.mime or ""))
        reference = AttachmentRef.from_dict(self._caller.ask(request, 200, 201).object())
        return replace(reference, filename=file.filename) if file.filename else reference

    def get_artifact(self, digest: str) -> bytes:
        """Content by its digest. Raises DigestMismatch for content with another digest."""
        return self._content(digest, "artifacts", digest)

    def get_run_content(self, run: str, digest: str) -> bytes:
        """What an event of a run names by its digest: a text, a report, a file as it was. Raises as `get_artifact` does."""
        return self._content(digest, "runs", run, "contents", digest)

    def _content(self, digest: str, *path: str) -> bytes:
        content = self._get(*path).body
        found = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if found != digest:
            raise DigestMismatch(digest, found)
        return content

    # The server

    def get_token(self) -> Token:
        """The caller: the name, the tenant and the scopes of the token."""
        return cast(Token, self._get("token").object())

    def explain_code(self, code: str) -> ErrorPage:
        """What an error code of the server or of a run means, and what to do, in Markdown."""
        return cast(ErrorPage, self._get("errors", code).object())

    def get_health(self) -> Health:
        """Whether the process answers."""
        return cast(Health, self._get("health").object())

    def get_readiness(self) -> Health:
        """Whether the engine takes requests and the store can be read."""
        return cast(Health, self._get("ready").object())

    def get_metrics(self) -> str:
        """Figures of the tenant, as Prometheus reads them."""
        return self._get("metrics").body.decode("utf-8")

    def get_open_api(self) -> Dict[str, Any]:
        """The description of the API."""
        return cast(Dict[str, Any], self._get("openapi.json").object())

    def _get(self, *segments: str, **query: Union[str, int, bool, None]) -> Reply:
        return self._caller.ask(Request("GET", path_of(*segments), query), 200)

    def _get_long(self, *segments: str, **query: Union[str, int, bool, None]) -> Reply:
        return self._caller.ask(Request("GET", path_of(*segments), query, is_long=True), 200)

    def _post(self, body: Mapping[str, Any], key: Optional[str], *segments: str) -> Any:
        """Sends the members that are not None, under a key that stays the same when they are sent again."""
        members = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": uuid4().hex if key is None else key}
        request = Request("POST", path_of(*segments), {}, headers, _json(members))
        return self._caller.ask(request, 200, 201, 202).object()

    def _follower(self, run: str, after: Optional[int], patience: float) -> Follower:
        last_id = None if after is None else str(after)
        return Follower(self._caller, path_of("runs", run, "stream"), last_id, patience)

    def _events(self, follower: Follower) -> Iterator[Event]:
        return (cast(Event, json.loads(event.data)) for event in follower.events())


def _flag(flag: bool) -> Optional[str]:
    return "true" if flag else None


def _json(value: Any) -> Content:
    return Content(json.dumps(value, compact=True).encode("utf-8"), "application/json")


def _is_reached(row: Run, statuses: Sequence[str]) -> bool:
    is_at_rest = row["status"] not in ("running", "waiting") or row["set_aside"] is not None
    return is_at_rest or (row["status"] in statuses if statuses else row["status"] != "running")
