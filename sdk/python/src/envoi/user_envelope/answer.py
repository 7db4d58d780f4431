"""The text of an answer: that a person submits."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from ..ascii import SPACE, is_blank
from ..envelope import InterruptKind


class BlankAnswerError(ValueError):
    """The answer to a question is blank. The question stays open."""

    def __init__(self) -> None:
        super().__init__("a question needs an answer that is not blank")


def answer_text(values: Any, kind: InterruptKind = InterruptKind.CONFIRMATION) -> str:
    """The text to send: `userResponse` as it is, else `approvalNote` trimmed, else the words for an approval or a denial.

    Blank texts, values that are no strings, and `values` that is no object are passed over. Raises BlankAnswerError if `kind` is a
    clarification and no words are submitted.
    """
    values = values if isinstance(values, Mapping) else {}
    response = _words(values, "userResponse")
    if response is not None:
        return response
    note = _words(values, "approvalNote")
    if note is not None:
        return note.strip(SPACE)
    if InterruptKind(kind) is InterruptKind.CLARIFICATION:
        raise BlankAnswerError
    return "[Denied by operator]" if values.get("approved") is False else "[Approved by operator]"


def _words(values: Mapping[str, Any], name: str) -> Optional[str]:
    text = values.get(name)
    return text if isinstance(text, str) and not is_blank(text) else None
