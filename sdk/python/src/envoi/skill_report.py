"""Whether a skill worked, whatever its exit code is (contract 4): the report that it leaves, and the verdict over it.

    >>> from envoi import judge
    >>> report = '{"ok": false, "generatedAt": "2026-02-20T05:30:00Z", "skillName": "triage"}'
    >>> judge(exit=0, report_text=report).error.code
    'SKILL_REPORTED_FAILURE'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import json, moment
from .ascii import SPACE
from .atomic import write_whole
from .errors import SKILL_REPORT_INVALID, ContractError, describe, read_document, shorten
from .fields import ABSENT, Fields, with_unknown

_REPORTED_FAILURE = "SKILL_REPORTED_FAILURE"

_STDERR = 2000
"""How many characters of the end of stderr an error shows."""


@dataclass(frozen=True)
class SkillError:
    """Why something counts as failed: `code` for programs, `message` for people."""

    code: str
    message: str

    @classmethod
    def read(cls, error: Any) -> "SkillError":
        """The error of a report; what is not `{code, message}` keeps its words under the code `SKILL_ERROR`."""
        members = error if isinstance(error, dict) else {}
        code, message = members.get("code"), members.get("message")
        if not isinstance(message, str):
            message = error if isinstance(error, str) else json.dumps(error, compact=True)
        return cls(code if isinstance(code, str) and code else "SKILL_ERROR", message)

    def to_dict(self) -> Dict[str, Any]:
        """`{code, message}`."""
        return {"code": self.code, "message": self.message}


@dataclass
class SkillReport:
    """The report of a skill about its own run. `data` and `error` that are absent (`ABSENT`) differ from null."""

    ok: bool
    generated_at: str
    skill_name: str
    data: Any = None
    metrics: Optional[Dict[str, Any]] = None
    error: Any = ABSENT
    unknown: Dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SkillReport":
        """Reads a report. Raises ContractError `SKILL_REPORT_INVALID` unless `ok` is a boolean and `generatedAt` and
        `skillName` are strings.
        """
        fields = Fields(data, SKILL_REPORT_INVALID)
        ok = fields.take("ok")
        if ok is ABSENT:
            raise fields.missing("ok")
        if not isinstance(ok, bool):
            raise fields.wrong("ok", "true or false", ok)
        return cls(
            ok=ok,
            generated_at=fields.required_text("generatedAt"),
            skill_name=fields.required_text("skillName"),
            data=fields.take("data"),
            # Of another shape it is kept among the unknown members.
            metrics=fields.object("metrics") if isinstance(data.get("metrics"), dict) else None,
            error=fields.take("error"),
            unknown=fields.rest(),
        )

    @classmethod
    def from_json(cls, document: Union[bytes, str]) -> "SkillReport":
        """Reads a report from text. Raises ContractError `SKILL_REPORT_INVALID` with line and column."""
        report: SkillReport = read_document(document, SKILL_REPORT_INVALID, cls.from_dict)
        return report

    def to_dict(self) -> Dict[str, Any]:
        """The report, members in the order of the contract.

        Raises JsonError for a value that JSON cannot express, ContractError `SKILL_REPORT_INVALID` for an invalid report.
        """
        optional = {
            "data": self.data,
            "metrics": ABSENT if self.metrics is None else self.metrics,
            "error": self.error.to_dict() if isinstance(self.error, SkillError) else self.error,
        }
        known: Dict[str, Any] = {
            "ok": self.ok,
            "generatedAt": self.generated_at,
            "skillName": self.skill_name,
            **{name: json.plain(value, f"/{name}", 1) for name, value in optional.items() if value is not ABSENT},
        }
        written = with_unknown(known, self.unknown)
        # Only a valid report is written.
        SkillReport.from_dict(written)
        return written

    def to_json(self, *, compact: bool = False) -> str:
        """The report as text: indented with a newline at its end, or on one line without."""
        return json.dumps(self.to_dict(), compact=compact)

    @property
    def stated_error(self) -> Optional[SkillError]:
        """The failure that the report states, whatever its shape; null is none."""
        if self.error is ABSENT or self.error is None:
            return None
        return self.error if isinstance(self.error, SkillError) else SkillError.read(self.error)

    @property
    def judged(self) -> Optional[SkillError]:
        """The failure that the engine sees in the report of a command that exited 0; None: it worked.

        A stated error wins over `ok: true`.
        """
        return self.stated_error or (None if self.ok else SkillError(_REPORTED_FAILURE, "Skill reported ok:false"))


@dataclass(frozen=True)
class Verdict:
    """Whether an execution worked, and the `error` if not. `report` is there whenever the report is valid.

    `filled` names the members that an assigned report lacked and that were filled.
    """

    ok: bool
    error: Optional[SkillError]
    report: Optional[SkillReport]
    filled: Tuple[str, ...] = ()


def judge(
    *,
    exit: Optional[int] = None,
    signal: Optional[int] = None,
    timed_out: bool = False,
    cancelled: bool = False,
    stderr: str = "",
    report_text: Union[bytes, str, None] = None,
    report_unreadable: Optional[str] = None,
    assigned: bool = False,
    declared: bool = False,
    skill: Optional[str] = None,
    fill_skill_name: str = "",
    fill_generated_at: str = "",
) -> Verdict:
    """Judges one execution: time limit and cancellation first, then exit and signal, then the report.

    `assigned`: the report stands at the path that the engine set (`$ENVOI_REPORT`). Then an invalid file is a failure, and missing
    members are filled. `report_unreadable` names what stands there if it is no file, such as `a folder`. `declared`: a report is
    required. `skill`: the required `skillName` (None: any).
    """
    fill = {"generatedAt": fill_generated_at, "skillName": fill_skill_name if skill is None else skill}
    report, filled, refusal = _found(report_text, report_unreadable, assigned, skill, fill)
    if refusal is not None and not (assigned or declared):
        refusal = None
    failure = _execution_failure(exit, signal, timed_out, cancelled, stderr, report)
    if failure is not None and refusal is not None:
        failure = SkillError(failure.code, f"{failure.message} (its report is invalid too: {refusal})")
    elif failure is None and refusal is not None:
        failure = SkillError(SKILL_REPORT_INVALID, refusal)
    elif failure is None and report is not None:
        failure = report.judged
    elif failure is None and declared:
        failure = SkillError("SKILL_REPORT_MISSING", "the skill left no report")
    return Verdict(failure is None, failure, report, filled)


def _found(
    text: Union[bytes, str, None],
    unreadable: Optional[str],
    assigned: bool,
    skill: Optional[str],
    fill: Mapping[str, str],
) -> Tuple[Optional[SkillReport], Tuple[str, ...], Optional[str]]:
    """The report, the names of the members that were filled, and why what was left is none."""
    if unreadable is not None:
        return None, (), f"expected a report that can be read, found {unreadable}"
    if text is None:
        return None, (), None
    filled: List[str] = []

    def read(value: Any) -> SkillReport:
        if assigned and isinstance(value, dict):
            value, missing = _filled(value, fill, strict=skill is not None)
            filled.extend(missing)
        return SkillReport.from_dict(value)

    try:
        report: SkillReport = read_document(text, SKILL_REPORT_INVALID, read)
    except ContractError as refusal:
        return None, (), refusal.without_code
    if skill is not None and report.skill_name != skill:
        expected = f"expected the `skillName` `{skill}` that the step declares"
        return None, (), f"{expected}, found {shorten(report.skill_name)}"
    return report, tuple(filled), None


def _filled(value: Dict[str, Any], fill: Mapping[str, str], *, strict: bool) -> Tuple[Dict[str, Any], List[str]]:
    """The report with what it lacks. The verdict does not depend on name and time, so they are filled if they are missing or not a
    string. But if the step declares its skill (`strict`), only a missing name is filled: another value is the report of another skill.
    """
    members, filled = dict(value), []
    for name, text in fill.items():
        found = members.get(name, ABSENT)
        if found is ABSENT or (not isinstance(found, str) and not (strict and name == "skillName")):
            members[name] = text
            filled.append(name)
    if "data" not in members:
        members["data"] = None
        filled.append("data")
    return members, filled


def _execution_failure(
    exit: Optional[int],
    signal: Optional[int],
    timed_out: bool,
    cancelled: bool,
    stderr: str,
    report: Optional[SkillReport],
) -> Optional[SkillError]:
    """The failure of the execution itself, whatever its report states."""
    if timed_out:
        return SkillError("TOOL_TIMEOUT", "the timeout ended it")
    if cancelled:
        return SkillError("TOOL_CANCELLED", "it was cancelled")
    if exit == 0 and signal is None:
        return None
    stated = None if report is None else report.stated_error
    return stated or SkillError("TOOL_EXIT_NON_ZERO", _exit_message(exit, signal, stderr))


def _exit_message(exit: Optional[int], signal: Optional[int], stderr: str) -> str:
    """The end of stderr; the exit code or signal if stderr is blank."""
    written = stderr.strip(SPACE)
    if written:
        return written[-_STDERR:]
    if signal is not None:
        return f"signal {signal}"
    return "no exit code" if exit is None else f"exit code {exit}"


_COUNTS = ("llm_calls", "tokens_in", "tokens_out")
"""Members of `metrics` that the engine adds up."""

_COUNT = "an integer from 0 to 2^53 - 1"

_COST = "US dollars from 0 to 18 billion: a number, or a decimal string"

_MOST_DOLLARS = Decimal(2**64 - 1) / 10**9
"""The largest cost that the engine holds."""


def check_metrics(metrics: Mapping[str, Any]) -> None:
    """Raises ContractError `SKILL_REPORT_INVALID` for a figure that the engine would not count. None: it is not known."""
    for name in _COUNTS:
        if metrics.get(name) is not None and json.as_count(metrics[name]) is None:
            raise ContractError(SKILL_REPORT_INVALID, f"/metrics/{name}", _COUNT, describe(metrics[name]))
    cost = metrics.get("cost_usd")
    if cost is not None and not _is_cost(cost):
        raise ContractError(SKILL_REPORT_INVALID, "/metrics/cost_usd", _COST, describe(cost))


def _is_cost(cost: Any) -> bool:
    if isinstance(cost, str):
        return re.fullmatch("[0-9]+([.][0-9]+)?", cost) is not None and Decimal(cost) <= _MOST_DOLLARS
    token = json.token_of(cost)
    if token is None:
        return False
    negative, digits, exponent = json.normal(token)
    return not digits or (not negative and len(digits) + exponent <= 11 and Decimal(token) <= _MOST_DOLLARS)


def write_skill_report(
    output_path: Union[str, "PathLike[str]"],
    skill_name: str,
    data: Any,
    *,
    ok: Optional[bool] = None,
    metrics: Optional[Mapping[str, Any]] = None,
    error: Union[SkillError, Mapping[str, Any], str, None] = None,
    generated_at: Optional[str] = None,
    quiet: bool = False,
) -> SkillReport:
    """Writes a report where the engine looks for it, makes its folder, and prints one line (unless `quiet`).

    By default `ok` is true if there is no `error`. With `ok=False` and no `error`, the error is the one that the
    engine would give it. The printed line states the engine's verdict: an `error` beside `ok=True` is a failure. The file
    appears as a whole or not at all.

    Raises JsonError if `data`, `metrics` or `error` cannot be written as JSON, ContractError `SKILL_REPORT_INVALID` if it would
    not be a valid report or the engine would not count a figure in `metrics` (`{"cost_usd": -1}`), OSError if the file cannot be
    written; nothing is written then.
    """
    if metrics is not None and not isinstance(metrics, Mapping):
        raise ContractError(SKILL_REPORT_INVALID, "/metrics", "an object", describe(metrics))
    if metrics is not None:
        check_metrics(metrics)
    if isinstance(error, str):
        error = SkillError.read(error)
    if ok is False and error is None:
        error = SkillError(_REPORTED_FAILURE, "Skill reported ok:false")
    report = SkillReport(
        ok=error is None if ok is None else ok,
        generated_at=moment.now() if generated_at is None else generated_at,
        skill_name=skill_name,
        data=data,
        metrics=None if metrics is None else dict(metrics),
        error=ABSENT if error is None else error,
    )
    content = report.to_json().encode("utf-8")
    if len(content) > json.MAX_BYTES:
        raise ContractError(SKILL_REPORT_INVALID, "", "a document of at most 16 MiB", f"{len(content)} bytes")
    path = Path(output_path)
    write_whole(path, content)
    if not quiet:
        failure = report.judged
        judged = "ok" if failure is None else f"failed ({failure.code}: {failure.message})"
        print(f"{skill_name}: {judged}, report written to {path}")
    return report


def read_skill_report(path: Union[str, "PathLike[str]"]) -> Optional[SkillReport]:
    """The report in a file; None if there is no file, or if it is no report."""
    try:
        return SkillReport.from_json(Path(path).read_bytes())
    except (FileNotFoundError, ContractError):
        return None
