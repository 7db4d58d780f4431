"""The refusal that every reader and writer of the contracts gives: a code, a place, what to do."""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar, Union

from . import json
from .vocabulary import ADVICE

T = TypeVar("T")

ENVELOPE_INVALID = "ENVELOPE_INVALID"
HANDOFF_INVALID = "HANDOFF_INVALID"
ROUTING_INVALID = "ROUTING_INVALID"
ROUTING_SIGNAL_INVALID = "ROUTING_SIGNAL_INVALID"
SKILL_REPORT_INVALID = "SKILL_REPORT_INVALID"
INVALID_USER_ENVELOPE = "INVALID_USER_ENVELOPE"

_SHOWN = 60
"""How many scalars of a found value a message shows."""


class ContractError(ValueError):
    """A value that a contract refuses.

    `code` is for programs. `pointer` is the JSON Pointer of the value, or of the object that lacks a member; `line` and
    `column` are there when the text is known.
    """

    def __init__(self, code: str, pointer: str, expected: str, found: str, hint: str = "") -> None:
        super().__init__(code, pointer, expected, found, hint)
        self.code = code
        self.pointer = pointer
        self.expected = expected
        self.found = found
        self.hint = hint or ADVICE.get(code, "")
        self.line: Optional[int] = None
        self.column: Optional[int] = None

    @classmethod
    def of_json(cls, code: str, error: json.JsonError) -> "ContractError":
        """The refusal of what is no JSON at all."""
        refusal = cls(code, error.pointer, error.expected, error.found)
        refusal.line, refusal.column = error.line, error.column
        if error.line is not None:
            refusal.hint = "the input is one JSON document in UTF-8 with each member name once"
        return refusal

    def under(self, code: str, prefix: str) -> "ContractError":
        """The same, seen from the document in which the refused one stands at `prefix`."""
        hint = "" if self.hint == ADVICE.get(self.code) else self.hint
        return ContractError(code, prefix + self.pointer, self.expected, self.found, hint)

    def located(self, text: str) -> "ContractError":
        """The same with line and column, if they can be found in the text."""
        place = json.locate(text, self.pointer)
        if place is not None:
            self.line, self.column = place
        return self

    @property
    def without_code(self) -> str:
        """The message for where the code already stands beside it."""
        pointer = f" at `{self.pointer}`" if self.pointer else ""
        place = "" if self.line is None else f" (line {self.line}, column {self.column})"
        hint = f"; {self.hint}" if self.hint else ""
        return f"expected {self.expected}, found {self.found}{pointer}{place}{hint}"

    @property
    def reason(self) -> str:
        """The whole message."""
        return str(self)

    def __str__(self) -> str:
        pointer = f" at `{self.pointer}`" if self.pointer else ""
        place = "" if self.line is None else f" (line {self.line}, column {self.column})"
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.code}{pointer}{place}: expected {self.expected}, found {self.found}{hint}"


def read_document(document: Union[bytes, str], code: str, read: Callable[[Any], T]) -> T:
    """Reads a document with `read`; a refusal gets its place in the text."""
    try:
        value = json.loads(document)
    except json.JsonError as error:
        raise ContractError.of_json(code, error) from None
    try:
        return read(value)
    except ContractError as refusal:
        text = document if isinstance(document, str) else document.decode("utf-8")
        raise refusal.located(text) from None


def describe(value: Any) -> str:
    """A value, short enough for a message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    try:
        return shorten(json.dumps(value, compact=True), _SHOWN)
    except json.JsonError as error:
        return error.found


def shorten(text: str, limit: int = _SHOWN) -> str:
    """The text in backticks, cut after `limit` scalars."""
    return f"`{text[:limit]}…`" if len(text) > limit else f"`{text}`"
