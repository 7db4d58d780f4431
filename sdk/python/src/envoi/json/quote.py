"""A string as JSON writes it."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def quote(text: str) -> str:
    """The text in quotes, escaping only what JSON demands."""
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def _escaped(special: "re.Match[str]") -> str:
    scalar = special.group()
    return _SHORT.get(scalar) or f"\\u{ord(scalar):04x}"
