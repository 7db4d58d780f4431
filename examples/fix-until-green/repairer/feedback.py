"""What the critic said, read from the text that `unittest` writes.

Only the names of failing tests and the places in tracebacks are taken from it. The text may be cut at its beginning
(a critic can say more than fits), so what is missing here is not thereby green.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_FAILURE = re.compile(r"^(?:FAIL|ERROR): (\S+) \(([\w.]+)\)", re.MULTILINE)
_FRAME = re.compile(r'^\s+File "([^"]+)", line (\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Feedback:
    """Failing tests in the order of the text, and the lines of the package that stood in tracebacks."""

    failing: tuple
    frames: frozenset


def read(path, package):
    """The feedback at `path`, or None if there is none yet (no loop has gone back so far)."""
    if not path or not Path(path).is_file():
        return None
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        return None
    return parse(text, package)


def parse(text, package):
    names = (_full_name(*match.groups()) for match in _FAILURE.finditer(text))
    frames = (_place(*match.groups(), package) for match in _FRAME.finditer(text))
    return Feedback(tuple(dict.fromkeys(names)), frozenset(filter(None, frames)))


def _full_name(name, where):
    """Python 3.11 repeats the name of the method in the brackets, older ones do not."""
    return where if where.endswith("." + name) else f"{where}.{name}"


def _place(file, line, package):
    """`(file relative to the package, line)`, or None for a frame outside of it."""
    try:
        return Path(file).resolve().relative_to(Path(package).resolve()).as_posix(), int(line)
    except ValueError:
        return None
