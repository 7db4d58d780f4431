"""The labelled text of the seeds: `Label: value` on lines, `name=value` pairs, `[a, b]` lists.

Only turns text into the JSON form; that form is checked in one place, however it was given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

from . import json
from .ascii import SPACE, is_blank, same
from .errors import ContractError, shorten

_HINT = "give a JSON object, or lines of the form `Label: value`"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NAME = re.compile(r"[A-Za-z0-9_]+")


def is_json(text: str) -> bool:
    """Whether an input is meant as JSON: it begins with a bracket."""
    return text.lstrip(SPACE)[:1] in ("{", "[")


def text_of(document: Union[bytes, str], code: str) -> str:
    """The text of an input in either form, within the limits of both."""
    if isinstance(document, bytes):
        size = len(document)
        try:
            text = document.decode("utf-8")
        except UnicodeDecodeError as error:
            before = document[: error.start].decode("utf-8")
            found = f"the byte 0x{document[error.start]:02X}"
            raise _refusal(code, before, len(before), "UTF-8 text", found) from None
    else:
        text = document
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise _refusal(code, text, error.start, "UTF-8 text", "half a surrogate pair") from None
    if size > json.MAX_BYTES:
        raise ContractError(code, "", "an input of at most 16 MiB", f"{size} bytes")
    return text


def _refusal(code: str, text: str, offset: int, expected: str, found: str) -> ContractError:
    refusal = ContractError(code, "", expected, found, _HINT)
    refusal.line, refusal.column = json.Position.of(text, offset)
    return refusal


@dataclass
class _Entry:
    label: str
    value: str
    goes_on: bool
    """Whether lines without a label belong to it."""


@dataclass(frozen=True)
class Labels:
    """Which labels a text may have; `free_text` are those whose value may go on over the following lines."""

    code: str
    names: Tuple[str, ...]
    free_text: Tuple[str, ...]

    def read(self, text: str) -> Dict[str, str]:
        """The values by label, unquoted, in the order of the text."""
        if is_blank(text):
            raise _refusal(self.code, text, 0, "a JSON object or labelled text", "nothing")
        entries: List[_Entry] = []
        lines = [(line.start(), line.group()) for line in _LINE.finditer(text)]
        at = 0
        while at < len(lines):
            start, line = lines[at]
            at += 1
            label, value = self._labelled(line)
            if label is not None:
                if any(entry.label == label for entry in entries):
                    raise _refusal(self.code, text, start, "each label once", f"a second `{label}`")
                rest = value.lstrip(SPACE)
                if rest.startswith('"'):
                    value, at = _quoted(rest[1:], lines, at)
                    entries.append(_Entry(label, value, False))
                else:
                    entries.append(_Entry(label, value.strip(SPACE), label in self.free_text))
            elif entries and entries[-1].goes_on:
                entries[-1].value += "\n" + line.rstrip("\r\n")
            elif not is_blank(line):
                expected = f"one of the labels {', '.join(self.names)}"
                raise _refusal(self.code, text, start, expected, shorten(line.strip(SPACE), 40))
        return {each.label: each.value.rstrip(SPACE) if each.goes_on else each.value for each in entries}

    def _labelled(self, line: str) -> Tuple[Optional[str], str]:
        label, _, value = line.partition(":")
        known = [name for name in self.names if same(name, label.strip(SPACE))]
        return (known[0], value) if known and ":" in line else (None, line)


def _quoted(text: str, lines: List[Tuple[int, str]], at: int) -> Tuple[str, int]:
    """A value up to the quote that ends a line, this one or a later one; unclosed, all the rest. And the next line."""
    pieces = [text]
    while not pieces[-1].rstrip(SPACE).endswith('"'):
        if at == len(lines):
            return "".join(pieces).rstrip(SPACE), at
        pieces.append(lines[at][1])
        at += 1
    return _unescaped("".join(pieces).rstrip(SPACE)[:-1]), at


def _unescaped(inner: str) -> str:
    """The text itself, unless it has escapes and is a JSON string."""
    if "\\" not in inner:
        return inner
    try:
        return str(json.loads(f'"{inner}"'))
    except json.JsonError:
        return inner


def pairs(text: str) -> Dict[str, str]:
    """`name=value, name=value`; pieces without a `=`, as in `[a, b]`, belong to the value before."""
    read: List[Tuple[str, str]] = []
    for piece in text.split(","):
        if is_blank(piece):
            continue
        name, equals, value = piece.partition("=")
        if equals and _NAME.fullmatch(name.strip(SPACE)):
            read.append((name.strip(SPACE), value.strip(SPACE)))
        elif read:
            name, value = read[-1]
            read[-1] = (name, f"{value},{piece.rstrip(SPACE)}")
        else:
            read.append((piece.strip(SPACE), ""))
    return dict(read)


def items(text: str) -> List[str]:
    """`a, b` or `[a, b]`, quotes optional."""
    text = text.strip(SPACE)
    if text.startswith("[") and text[1:].endswith("]"):
        text = text[1:-1]
    unquoted = (_unquoted(item.strip(SPACE)) for item in text.split(","))
    return [item for item in unquoted if item]


def scalar(text: str) -> Any:
    """A number, a truth value or null if it reads as one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    return json.loads(text) if json.is_number(text) else word(text)


def word(text: str) -> Optional[str]:
    """The text, or null where it says so or says nothing."""
    return None if text in ("", "null") else _unquoted(text)


def _unquoted(text: str) -> str:
    for quote in "\"'":
        if text.startswith(quote) and text[1:].endswith(quote):
            return text[1:-1]
    return text
