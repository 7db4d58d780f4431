"""The strict reader. It knows at each moment where it stands, so that a refusal can point there."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple, Union

from .number import read_token
from .quote import quote

MAX_BYTES = 16 * 1024 * 1024
"""The largest document that is read."""

MAX_DEPTH = 127
"""How many arrays and objects may stand inside one another."""

_FEW_MEMBERS = 16
"""An object with more members than this reports equal names at its end, where a syntax error has come first."""

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_GOES_ON = re.compile(r"[0-9A-Za-z.+-]")
_HEX = re.compile(r"\\u([0-9A-Fa-f]{4})")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


class Position(NamedTuple):
    """A place in a text, from 1; the column counts Unicode scalars."""

    line: int
    column: int

    @staticmethod
    def of(text: str, offset: int) -> "Position":
        """The place of the scalar `offset`."""
        line_start = text.rfind("\n", 0, offset) + 1
        return Position(text.count("\n", 0, offset) + 1, offset - line_start + 1)


class JsonError(ValueError):
    """What was read is not one strict JSON document, or a value cannot be written as one."""

    def __init__(self, pointer: str, position: Optional[Position], expected: str, found: str) -> None:
        place = "" if position is None else f"line {position.line}, column {position.column}"
        where = f"{place}{', ' if place and pointer else ''}{f'at `{pointer}`' if pointer else ''}"
        super().__init__(f"{where}{': ' if where else ''}expected {expected}, found {found}")
        self.pointer = pointer
        self.line = None if position is None else position.line
        self.column = None if position is None else position.column
        self.expected = expected
        self.found = found


def loads(document: Union[bytes, bytearray, str]) -> Any:
    """Reads one whole document.

    Raises JsonError with the place: not UTF-8, not JSON, a member name twice, more than 16 MiB, more than 127 levels.
    """
    reader = Reader(_text_of(document))
    reader.skip_space()
    value = reader.value()
    reader.skip_space()
    if reader.at < len(reader.text):
        reader.fail("the end of the document")
    return value


def is_number(text: str) -> bool:
    """Whether the whole text is one number token."""
    return _NUMBER.fullmatch(text) is not None


def escape_segment(name: str) -> str:
    """A member name as a part of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _text_of(document: Union[bytes, bytearray, str]) -> str:
    size = len(document) if not isinstance(document, str) else _size_of(document)
    if size > MAX_BYTES:
        raise JsonError("", Position(1, 1), "a document of at most 16 MiB", f"{size} bytes")
    text = document if isinstance(document, str) else _decoded(bytes(document))
    if text.startswith("\ufeff"):
        raise JsonError("", Position(1, 1), "JSON without a byte order mark", "a byte order mark")
    return text


def _size_of(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise JsonError("", Position.of(text, error.start), "UTF-8 text", "half a surrogate pair") from None


def _decoded(document: bytes) -> str:
    try:
        return document.decode("utf-8")
    except UnicodeDecodeError as error:
        before = document[: error.start].decode("utf-8")
        found = f"the byte 0x{document[error.start]:02X}"
        raise JsonError("", Position.of(before, len(before)), "UTF-8 text", found) from None


class Reader:
    """A cursor over a document."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._path: List[Union[str, int]] = []

    def fail(self, expected: str, found: Optional[str] = None, at: Optional[int] = None) -> NoReturn:
        """Refuses what stands here."""
        offset = self.at if at is None else at
        pointer = "".join(f"/{escape_segment(str(segment))}" for segment in self._path)
        found = _glimpse(self.text, offset) if found is None else found
        raise JsonError(pointer, Position.of(self.text, offset), expected, found)

    def skip_space(self) -> None:
        """Moves past JSON's own white space."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def peek(self) -> str:
        """The scalar here; empty at the end."""
        return self.text[self.at : self.at + 1]

    def eat(self, mark: str) -> bool:
        """Moves past `mark` if it stands here."""
        there = self.peek() == mark
        self.at += there
        return there

    def value(self) -> Any:
        """Reads the value that begins here."""
        first = self.peek()
        if first == '"':
            return self.string()
        if first == "{":
            return self.object()
        if first == "[":
            return self._array()
        if first in _WORDS:
            return self._word(*_WORDS[first])
        if first and first in "-0123456789":
            return self._number()
        return self.fail("a value")

    def _word(self, word: str, value: Optional[bool]) -> Optional[bool]:
        end = self.at + len(word)
        following = self.text[end : end + 1]
        if not self.text.startswith(word, self.at) or (following.isascii() and following.isalnum()):
            self.fail("a value")
        self.at = end
        return value

    def _number(self) -> Union[int, float]:
        token = _NUMBER.match(self.text, self.at)
        if token is None or _GOES_ON.match(self.text, token.end()):
            self.fail("a number")
        self.at = token.end()
        return read_token(token.group())

    def _enter(self) -> None:
        if len(self._path) == MAX_DEPTH:
            self.fail("at most 127 levels of nesting", "a level more")
        self.at += 1
        self.skip_space()

    def _array(self) -> List[Any]:
        self._enter()
        elements: List[Any] = []
        if self.eat("]"):
            return elements
        while True:
            self.skip_space()
            self._path.append(len(elements))
            elements.append(self.value())
            self._path.pop()
            self.skip_space()
            if self.eat("]"):
                return elements
            if not self.eat(","):
                self.fail("`,` or `]`")

    def object(self) -> Dict[str, Any]:
        """Reads an object; its opening brace stands here."""
        self._enter()
        members: Dict[str, Any] = {}
        second: Optional[Tuple[str, int]] = None
        if self.eat("}"):
            return members
        while True:
            self.skip_space()
            start = self.at
            name = self.name()
            if second is None and name in members:
                second = name, start
                if len(members) < _FEW_MEMBERS:
                    break
            self._path.append(name)
            members[name] = self.value()
            self._path.pop()
            self.skip_space()
            if self.eat("}"):
                break
            if not self.eat(","):
                self.fail("`,` or `}`")
        if second is None:
            return members
        name, start = second
        self._path.append(name)
        return self.fail("each member name once", f"a second member {_glimpse(quote(name), 0)}", start)

    def name(self) -> str:
        """Reads a member's name and its colon, up to the value."""
        if self.peek() != '"':
            self.fail("a member name in quotes")
        name = self.string()
        self.skip_space()
        if not self.eat(":"):
            self.fail("`:`")
        self.skip_space()
        return name

    def string(self) -> str:
        """Reads a string; its opening quote stands here."""
        self.at += 1
        pieces: List[str] = []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            assert plain is not None  # it also matches nothing
            pieces.append(plain.group())
            self.at = plain.end()
            if self.eat('"'):
                return "".join(pieces)
            if self.peek() != "\\":
                self.fail("the rest of a string (control characters are escaped)")
            pieces.append(self._escape())

    def _escape(self) -> str:
        mark = self.text[self.at + 1 : self.at + 2]
        if mark == "u":
            return self._unicode_escape()
        if mark not in _ESCAPES:
            self.fail("an escape that JSON knows")
        self.at += 2
        return _ESCAPES[mark]

    def _unicode_escape(self) -> str:
        first = self._code_unit(self.at)
        if first is None:
            self.fail("four hexadecimal digits")
        if not 0xD800 <= first < 0xE000:
            self.at += 6
            return chr(first)
        second = self._code_unit(self.at + 6)
        if first >= 0xDC00 or second is None or not 0xDC00 <= second < 0xE000:
            self.fail("a whole surrogate pair")
        self.at += 12
        return chr(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))

    def _code_unit(self, at: int) -> Optional[int]:
        digits = _HEX.match(self.text, at)
        return int(digits.group(1), 16) if digits else None


def _glimpse(text: str, offset: int) -> str:
    """What stands there, short enough for a message."""
    if offset >= len(text):
        return "the end of the text"
    line = text[offset : offset + 25].partition("\n")[0].rstrip("\r")
    return f"`{line}`" if len(line) <= 24 else f"`{line[:24]}…`"


def locate(text: str, pointer: str) -> Optional[Position]:
    """The place of the value that `pointer` names; None if the text is not readable up to there, or has none."""
    reader = Reader(text)
    reader.skip_space()
    try:
        for segment in pointer.split("/")[1:]:
            if not _descend(reader, segment.replace("~1", "/").replace("~0", "~")):
                return None
    except JsonError:
        return None
    return Position.of(text, reader.at)


def _descend(reader: Reader, segment: str) -> bool:
    """Moves from the beginning of a container to the beginning of a value in it."""
    if reader.eat("{"):
        reader.skip_space()
        while reader.name() != segment:
            if not _skip_value(reader):
                return False
        return True
    if not reader.eat("[") or not segment.isdigit():
        return False
    reader.skip_space()
    return all(_skip_value(reader) for _ in range(int(segment))) and reader.peek() != "]"


def _skip_value(reader: Reader) -> bool:
    reader.value()
    reader.skip_space()
    there_is_more = reader.eat(",")
    reader.skip_space()
    return there_is_more
