"""Bytes that are sent: from memory, from a file, from a stream; again, where they can be read again."""

from __future__ import annotations

import io
import mimetypes
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Iterable, Iterator, List, Optional, Tuple, Union

OCTETS = "application/octet-stream"

Bytes = Union[bytes, "os.PathLike[str]", BinaryIO]
"""What can be sent: bytes, the path of a file, an open binary file. A file is read as it is sent."""


@dataclass(frozen=True)
class File:
    """Bytes with a name and a media type. Without them: those of the path, if it is one."""

    content: Bytes
    filename: Optional[str] = None
    mime: Optional[str] = None

    @classmethod
    def of(cls, file: "Union[File, Bytes]") -> "File":
        """The same, with a name if there is one and always with a type. Raises TypeError for what cannot be sent."""
        given = file if isinstance(file, File) else cls(file)
        _check(given.content)
        name = given.filename
        if name is None and isinstance(given.content, os.PathLike):
            name = Path(given.content).name
        mime = given.mime or (mimetypes.guess_type(name)[0] if name else None) or OCTETS
        return cls(given.content, name, mime)


def files_of(files: "Iterable[Union[File, Bytes]]") -> List[File]:
    """Each of them as `File.of` has it. Raises TypeError for what cannot be sent, and for one in place of a list."""
    if isinstance(files, (str, bytes, os.PathLike, File)) or hasattr(files, "read"):
        raise TypeError("`files` is a list of files, also if it is one: `files=[…]`")
    return [File.of(file) for file in files]


class Content:
    """The body of one request, however often that is sent."""

    def __init__(self, source: Bytes, mime: str) -> None:
        _check(source)
        self._source = source
        self.mime = mime
        self._start = source.tell() if _is_seekable(source) else None  # type: ignore[union-attr]

    @property
    def can_be_repeated(self) -> bool:
        """Whether the bytes are still there after they were sent."""
        return isinstance(self._source, (bytes, os.PathLike)) or self._start is not None

    @contextmanager
    def opened(self) -> Iterator[Tuple[Union[bytes, BinaryIO], Optional[int]]]:
        """The bytes from the first one on, and how many there are, if that is known."""
        source = self._source
        if isinstance(source, bytes):
            yield source, len(source)
        elif isinstance(source, os.PathLike):
            with open(source, "rb") as file:
                yield file, os.fstat(file.fileno()).st_size
        elif self._start is None:
            yield source, None
        else:
            end = source.seek(0, os.SEEK_END)
            source.seek(self._start)
            yield source, end - self._start


def _is_seekable(source: Bytes) -> bool:
    if isinstance(source, (bytes, os.PathLike)):
        return False
    return hasattr(source, "seekable") and source.seekable()


def _check(source: Any) -> None:
    """Refuses what would be sent as something else, or not at all."""
    if isinstance(source, (bytes, os.PathLike)):
        return
    if isinstance(source, str):
        found = "a `str`: `Path(…)` for the file of that name, `.encode()` for the text itself"
    elif not hasattr(source, "read"):
        found = f"a `{type(source).__name__}`"
    elif _is_text(source):
        found = "a file that is open as text: open it with mode `rb`"
    elif hasattr(source, "readable") and not source.readable():
        found = "a file that is open for writing: open it with mode `rb`"
    else:
        return
    raise TypeError(f"a file is bytes, a path or an open binary file, not {found}")


def _is_text(source: Any) -> bool:
    """Whether it is open as text; also one that is wrapped, such as a temporary file, has an encoding."""
    return isinstance(source, io.TextIOBase) or isinstance(getattr(source, "encoding", None), str)
