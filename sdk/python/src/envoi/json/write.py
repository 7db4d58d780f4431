"""The writer: two-space indentation or one line, no escape that JSON does not demand."""

from __future__ import annotations

from typing import Any, List

from .number import token_of
from .plain import plain
from .quote import quote


def dumps(value: Any, *, compact: bool = False) -> str:
    """The value as text: indented and ending with one newline, or on one line without one.

    Raises JsonError for what JSON cannot express: `nan`, half a surrogate pair, a name that is no string, an object of another
    type, more than 127 levels.
    """
    out: List[str] = []
    if compact:
        _compact(plain(value), out)
    else:
        _pretty(plain(value), "\n", out)
        out.append("\n")
    return "".join(out)


def _compact(value: Any, out: List[str]) -> None:
    if isinstance(value, dict):
        mark = "{"
        for name, member in value.items():
            out.append(f"{mark}{quote(name)}:")
            _compact(member, out)
            mark = ","
        out.append("}" if value else "{}")
    elif isinstance(value, list):
        mark = "["
        for element in value:
            out.append(mark)
            _compact(element, out)
            mark = ","
        out.append("]" if value else "[]")
    else:
        out.append(_scalar(value))


def _pretty(value: Any, margin: str, out: List[str]) -> None:
    inner = margin + "  "
    if isinstance(value, dict) and value:
        mark = "{"
        for name, member in value.items():
            out.append(f"{mark}{inner}{quote(name)}: ")
            _pretty(member, inner, out)
            mark = ","
        out.append(margin + "}")
    elif isinstance(value, list) and value:
        mark = "["
        for element in value:
            out.append(mark + inner)
            _pretty(element, inner, out)
            mark = ","
        out.append(margin + "]")
    else:
        _compact(value, out)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    token = token_of(value)
    assert token is not None  # `plain` has refused what has none
    return token
