"""Why a command failed, as text that is valid in a report, for any exception.

Nothing here raises. Half a surrogate pair, as `os.fsdecode` makes of a file name that is no UTF-8, becomes `?`.
"""

from __future__ import annotations

from typing import Optional

from .skill_report import SkillError

SKILL_ERROR = "SKILL_ERROR"
"""Code of a failure without one of its own."""

SKILL_EXCEPTION = "SKILL_EXCEPTION"
"""Code of a report when an exception without a code of its own ended the command."""

SKILL_EXIT = "SKILL_EXIT"
"""Code of a report when the command left with an exit code other than 0."""


def explained(error: BaseException) -> Optional[SkillError]:
    """An exception as the error of a report; leaving with exit code 0 is none."""
    if isinstance(error, SystemExit):
        return _explained_exit(error.code)
    kind = type(error).__name__
    message = words(error)
    return SkillError(_code(error) or SKILL_EXCEPTION, f"{kind}: {message}" if message not in ("", kind) else kind)


def sayable(error: object) -> SkillError:
    """What a command gave as its error, as it can be written."""
    if not isinstance(error, SkillError):
        return SkillError(SKILL_ERROR, words(error))
    return SkillError(words(error.code) if error.code else SKILL_ERROR, words(error.message))


def words(value: object) -> str:
    """Any value as text that has bytes; the name of its type, if it has no such text."""
    try:
        return str(value).encode("utf-8", errors="replace").decode("utf-8")
    except Exception:
        return type(value).__name__


def _code(error: BaseException) -> Optional[str]:
    """A code of its own, which is in capitals."""
    try:
        code = getattr(error, "code", None)
    except Exception:
        return None
    return code if isinstance(code, str) and code.isupper() else None


def _explained_exit(code: object) -> Optional[SkillError]:
    if code is None or (isinstance(code, int) and code == 0):
        return None
    return SkillError(SKILL_EXIT, f"exit code {int(code)}" if isinstance(code, int) else words(code))
