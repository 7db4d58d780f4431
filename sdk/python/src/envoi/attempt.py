"""A command that Envoi runs: what it is given in `ENVOI_*`, and what it leaves behind.

    import envoi

    with envoi.step() as step:
        step.text(f"Read {step.handoff.summary!r}")
        step.data = {"items": 3}
        step.metrics["llm_calls"] = 1

On the way out a skill report is written, `ok: false` if there was an exception, which goes on its way. Without Envoi the
same command runs too: its text goes to stdout and its report nowhere.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type

from . import json
from .atomic import write_whole
from .envelope import Envelope
from .errors import ContractError
from .failure import SKILL_ERROR, explained, sayable, words
from .handoff import HandoffEnvelope
from .skill_report import SkillError, SkillReport, check_metrics, write_skill_report
from .step_answer import Answer

_MARK = "--- stderr\n"


@dataclass(frozen=True)
class Feedback:
    """The feedback of a loop's critic: its text, and the end of its stderr."""

    text: str
    stderr: str

    @classmethod
    def read(cls, content: str) -> "Feedback":
        """Takes the file apart at the first line `--- stderr`."""
        before, mark, after = ("\n" + content).partition("\n" + _MARK)
        return cls(before[1:] + ("\n" if mark and before[1:] else ""), after)


class Step:
    """One attempt of a step, seen from its command. Made by `step()`."""

    def __init__(self, skill_name: Optional[str], environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lines: List[str] = []
        self.run_id: str = environ.get("ENVOI_RUN_ID", "")
        self.flow: str = environ.get("ENVOI_FLOW", "")
        self.id: str = environ.get("ENVOI_STEP", "")
        self.visit: int = _number(environ, "ENVOI_VISIT", 1)
        """Which visit of the step this is, from 1."""
        self.attempt: str = environ.get("ENVOI_ATTEMPT", "")
        self.iteration: int = _number(environ, "ENVOI_ITERATION", 0)
        """How often the loop has gone back so far."""
        self.key: str = environ.get("ENVOI_KEY", "")
        """The same for all attempts of a visit: what must be done once is done under this key."""
        self.skill_name: str = skill_name or self.id or Path(sys.argv[0] or "python").stem
        self.data: Any = None
        """The payload of the report."""
        self.metrics: Dict[str, Any] = {}
        """Diagnostics; the engine understands `llm_calls`, `tokens_in`, `tokens_out`, `cost_usd`."""
        self.error: Optional[SkillError] = None
        """Why it did not work, if it did not."""
        self.report: Optional[SkillReport] = None
        """What was written on the way out."""

    @cached_property
    def run_base(self) -> Optional[Path]:
        """The run's folder, to which the paths of artifacts are relative."""
        return self._path("ENVOI_RUN_BASE")

    @cached_property
    def handoff(self) -> Optional[HandoffEnvelope]:
        """The last hand-off; None in the first step. Raises ContractError `HANDOFF_INVALID`."""
        content = self._content("ENVOI_HANDOFF")
        return None if content is None else HandoffEnvelope.from_json(content)

    @cached_property
    def feedback(self) -> Optional[Feedback]:
        """The critic's feedback, in a loop that has gone back."""
        content = self._content("ENVOI_FEEDBACK")
        return None if content is None else Feedback.read(content.decode("utf-8", errors="replace"))

    @cached_property
    def answer(self) -> Optional[Answer]:
        """The last answer of a person; a file that is no `.json` is its text. Raises as `Answer.read`."""
        path, content = self._path("ENVOI_ANSWER"), self._content("ENVOI_ANSWER")
        if path is None or content is None:
            return None
        folder = self._path("ENVOI_ANSWER_FILES")
        return Answer.read(content, folder) if path.suffix == ".json" else Answer(content.decode("utf-8"))

    @cached_property
    def envelope(self) -> Optional[Envelope]:
        """The state of the run, for a step with `envelope: true`. Raises ContractError `ENVELOPE_INVALID`."""
        content = self._content("ENVOI_ENVELOPE")
        return None if content is None else Envelope.from_json(content)

    def text(self, *parts: Any) -> None:
        """Adds a line to the step's text, which routing reads and the next step sees. Once used, stdout is no part of it."""
        self._lines.append(" ".join(str(part) for part in parts))

    def fail(self, message: str, code: str = SKILL_ERROR) -> None:
        """Marks the attempt as failed, and goes on: the report will have `ok: false`, the exit code stays 0."""
        self.error = SkillError(code, message)

    def __enter__(self) -> "Step":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        failure = None if error is None else explained(error)
        self.error = failure or self.error
        try:
            self._leave()
        except Exception as refusal:
            if failure is None:
                raise
            # The exception that is raised already is more important than an incomplete report.
            print(f"not in the report: {words(refusal)}", file=sys.stderr)

    def _leave(self) -> None:
        try:
            self._leave_text()
        except Exception as lost:
            self.error = self.error or explained(lost)
            raise
        finally:
            # The report states what was used even if the text cannot be written.
            self._leave_report()

    def _leave_text(self) -> None:
        """The text goes as a whole to where the engine looks for it; without one, to stdout."""
        if not self._lines:
            return
        text = "".join(f"{line}\n" for line in self._lines)
        path = self._path("ENVOI_OUTPUT")
        if path is None:
            print(text, end="")
        else:
            write_whole(path, text.encode("utf-8", errors="replace"))

    def _leave_report(self) -> None:
        """Writes the report, without the parts that JSON cannot express. Raises JsonError or ContractError afterwards if there are any."""
        path = self._path("ENVOI_REPORT")
        if path is None:
            return
        refusal: Optional[ValueError] = None
        for data, metrics in self._payloads():
            try:
                self.report = write_skill_report(
                    path,
                    words(self.skill_name),
                    data,
                    metrics=metrics or None,
                    error=None if self.error is None else sayable(self.error).to_dict(),
                    quiet=True,
                )
                break
            except (json.JsonError, ContractError) as unsayable:
                refusal = refusal or unsayable
                self.error = self.error or SkillError("SKILL_REPORT_INVALID", f"data or metrics: {unsayable}")
        if refusal is not None:
            raise refusal

    def _payloads(self) -> Iterator[Tuple[Any, Any]]:
        """Data and metrics as they are, then less and less of them. Limits are held by the metrics: they go last."""
        yield self.data, self.metrics
        given = self.metrics if isinstance(self.metrics, Mapping) else {}
        metrics = {name: value for name, value in given.items() if _is_member({name: value})}
        yield self.data, metrics
        yield None, metrics
        yield None, None

    def _path(self, variable: str) -> Optional[Path]:
        value = self._environ.get(variable)
        return Path(value) if value else None

    def _content(self, variable: str) -> Optional[bytes]:
        path = self._path(variable)
        return None if path is None else path.read_bytes()


def step(skill_name: Optional[str] = None, *, environ: Optional[Mapping[str, str]] = None) -> Step:
    """What Envoi gave to this command; used with `with`, it leaves text and report on the way out.

    `skill_name` stands in the report; without one it is the step's id.
    """
    return Step(skill_name, os.environ if environ is None else environ)


def write_data(data: Any, *, environ: Optional[Mapping[str, str]] = None) -> bool:
    """Hands over `data` as the step's data, at `$ENVOI_DATA`, as a whole or not at all; later steps read it as `steps.ID.data`.

    It needs no report. Data in two places is a failure of the step: not in a step whose report has data, nor with `data: json`.
    Returns whether Envoi runs this command; without Envoi nothing is written. Raises JsonError for what JSON cannot express.
    """
    path = (os.environ if environ is None else environ).get("ENVOI_DATA")
    text = json.dumps(data)
    if not path:
        return False
    write_whole(Path(path), text.encode("utf-8"))
    return True


def _is_member(metric: Any) -> bool:
    """Whether JSON can express it at its place in a report, and the engine counts it if it is one of its figures."""
    try:
        json.plain(metric, "/metrics", 1)
        check_metrics(metric)
    except (json.JsonError, ContractError):
        return False
    return True


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    value = environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else default
