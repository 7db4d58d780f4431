"""Python values as JSON values: a deep copy that refuses what JSON cannot express."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

from .number import token_of
from .read import MAX_DEPTH, JsonError, escape_segment


def plain(value: Any, pointer: str = "", depth: int = 0) -> Any:
    """A copy made of `dict`, `list`, `str`, `bool`, `None` and numbers only; tuples become lists, enums their values.

    Raises JsonError with the place of what is none of these.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value, pointer, depth)
    if isinstance(value, str):
        return _whole(value, pointer)
    if isinstance(value, (int, float, Decimal)):
        if token_of(value) is None:
            raise JsonError(pointer, None, "a number that JSON can express", f"`{value}`")
        return value
    if isinstance(value, (dict, list, tuple)) and depth == MAX_DEPTH:
        raise JsonError(pointer, None, "at most 127 levels of nesting", "a level more")
    if isinstance(value, dict):
        return {
            _name(name, pointer): plain(member, f"{pointer}/{escape_segment(str(name))}", depth + 1)
            for name, member in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(element, f"{pointer}/{index}", depth + 1) for index, element in enumerate(value)]
    raise JsonError(pointer, None, "a value that JSON can express", f"a Python `{type(value).__name__}`")


def _name(name: Any, pointer: str) -> str:
    if not isinstance(name, str):
        raise JsonError(pointer, None, "member names that are strings", f"a Python `{type(name).__name__}`")
    return _whole(name, pointer)


def _whole(text: str, pointer: str) -> str:
    """The text, if it is one: half a surrogate pair has no bytes."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise JsonError(pointer, None, "text", "half a surrogate pair") from None
    return text
