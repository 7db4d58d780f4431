"""What lasts between two visits, in `.repair/` beside the package.

`tried.json`     every program that was judged, by the digest of its sources, so that none is judged twice
`changes.jsonl`  every change that was kept, one a line
`pending.json`   the change that is being made: written before the package is touched, so that a visit that was
                 killed in between is completed by the next one

Each file is written whole beside its place and renamed: it is the old one or the new one, never half of one.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path


class Notebook:
    def __init__(self, package):
        self._package = Path(package)
        self.folder = self._package.resolve().parent / ".repair"
        self.folder.mkdir(exist_ok=True)
        for left_over in self.folder.glob("scratch-*"):  # of a visit that was killed
            shutil.rmtree(left_over, ignore_errors=True)
        self._tried = _read_json(self.folder / "tried.json", {})
        self._complete_pending()

    def was_tried(self, program):
        return program in self._tried

    def was_rejected_elsewhere(self, edit):
        """Whether the same edit did not help in an earlier state of the package: try others first."""
        return any(entry["edit"] == edit.label for entry in self._tried.values())

    def note_tried(self, program, label, verdict, who):
        self._tried[program] = {"edit": label, "verdict": verdict, **who}
        write(self.folder / "tried.json", json.dumps(self._tried, indent=1))

    def changes(self):
        return read_lines(self.folder / "changes.jsonl")

    def scratch(self):
        """A folder for a copy of the package; gone at the end, or at the next visit."""
        return tempfile.TemporaryDirectory(prefix="scratch-", dir=self.folder)

    def make(self, change, source):
        """Write `source` to the file of `change` and note the change; survives being killed anywhere.

        That its program was tried is noted last: noted first, a kill in between would lose the repair for ever.
        """
        pending = {"change": change, "digest": hashlib.sha256(source).hexdigest()}
        write(self.folder / "pending.json", json.dumps(pending))
        write(self._package / change["file"], source)
        self._complete_pending()

    def _complete_pending(self):
        path = self.folder / "pending.json"
        pending = _read_json(path, None)
        if pending is None:
            return
        change = pending["change"]
        written = hashlib.sha256((self._package / change["file"]).read_bytes()).hexdigest()
        changes = self.changes()
        if written == pending["digest"]:
            if change["id"] not in [each["id"] for each in changes]:
                lines = [json.dumps(each) + "\n" for each in [*changes, change]]
                write(self.folder / "changes.jsonl", "".join(lines))
            who = {name: change[name] for name in ("run", "visit", "key")}
            self.note_tried(change["id"], change["edit"], "kept", who)
        path.unlink()


def read_lines(path):
    """The objects of a file with one JSON document a line; nothing if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, content):
    """Replace a file as a whole, keeping its mode. Durable once this returns."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, temporary)
    os.replace(temporary, path)


def _read_json(path, default):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default
