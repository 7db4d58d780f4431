"""One visit: read the feedback, try candidates up to a budget, keep the first that helps and breaks nothing."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import feedback, mutations, suite, suspicion
from .notebook import Notebook

BUDGET = 16  # candidates a visit: small, so that the loop stays in the hands of the engine
CONTEXT = 3  # lines kept above and below a change, for the report


@dataclass(frozen=True)
class Candidate:
    """An edit, the digest of the program that it makes, and why it is worth a try."""

    edit: mutations.Edit
    program: str
    test: str
    suspect: suspicion.Suspect


def repair(package, environ=os.environ, budget=BUDGET):
    """Make one visit and return what to say about it. At most one change is kept."""
    package = Path(package)
    notebook = Notebook(package)
    who = {"run": environ.get("ENVOI_RUN_ID", ""), "visit": int(environ.get("ENVOI_VISIT", "0"))}
    done = _change_of(notebook, environ.get("ENVOI_KEY"))
    if done is not None:
        return f"This visit has made its change already: {_describe(done)}."
    said = feedback.read(environ.get("ENVOI_FEEDBACK"), package)
    if said is None:
        return "No feedback yet: nothing was changed. The critic speaks first."
    before = suite.run(package, trace=True)
    if before.total == 0:
        return "No test could be run: nothing was changed."
    if not before.failed:
        return f"All {before.total} tests pass: nothing to repair."
    return _search(package, notebook, said, before, {**who, "key": environ.get("ENVOI_KEY", "")}, budget)


def _search(package, notebook, said, before, who, budget):
    sources = read_sources(package)
    tried = 0
    with notebook.scratch() as scratch:
        copy = Path(scratch) / package.resolve().name
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for candidate in candidates(sources, said, before, notebook):
            if tried == budget:
                return _nothing_kept(before, tried)
            tried += 1
            after = _judge(candidate.edit, sources, copy)
            if not before.passed < after.passed:
                notebook.note_tried(candidate.program, candidate.edit.label, _reject(before, after), who)
            else:
                change = _change(candidate, sources, before, after, tried, who)
                notebook.make(change, candidate.edit.apply(sources[candidate.edit.file]))
                return _kept(change)
    return _exhausted(before, tried)


def candidates(sources, said, before, notebook):
    """What to try next, best first: the most suspicious lines of one failing test, then of the next one.

    Programs that were judged before are left out, in this visit or any other.
    """
    edits = [edit for file, source in sources.items() for edit in mutations.propose(file, source)]
    seen = set()
    for test in suspicion.order_of_tests(before, said.failing):
        suspects = suspicion.rank(before, test, said.frames, sources)
        near = [edit for edit in edits if (edit.file, edit.line) in suspects]
        near.sort(key=lambda edit: _urgency(edit, suspects[edit.file, edit.line], notebook))
        for edit in near:
            program = digest({**sources, edit.file: edit.apply(sources[edit.file])})
            if program not in seen and not notebook.was_tried(program):
                seen.add(program)
                yield Candidate(edit, program, test, suspects[edit.file, edit.line])


def _urgency(edit, suspect, notebook):
    return notebook.was_rejected_elsewhere(edit), -suspect.score, edit.kind, edit


def _judge(edit, sources, copy):
    """Run the tests on a scratch copy with the edit, and take the edit back."""
    target = copy / edit.file
    target.write_bytes(edit.apply(sources[edit.file]))
    try:
        return suite.run(copy)
    finally:
        target.write_bytes(sources[edit.file])


def _reject(before, after):
    broken = len(before.passed - after.passed)
    return f"breaks {broken}" if broken else "changes nothing"


def read_sources(package):
    """The package's files by their path in it, without its tests: those are the judge, not the judged."""
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] != "tests"
    }


def digest(sources):
    """Names a whole program."""
    total = hashlib.sha256()
    for file, source in sorted(sources.items()):
        total.update(f"{file}\0{len(source)}\0".encode() + source)
    return total.hexdigest()


def _change(candidate, sources, before, after, tried, who):
    edit = candidate.edit
    lines = sources[edit.file].decode().splitlines()
    new_lines = edit.apply(sources[edit.file]).decode().splitlines()
    place = edit.line - 1
    return {
        "id": candidate.program,
        **who,
        "file": edit.file,
        "line": edit.line,
        "before": lines[place],
        "after": new_lines[place],
        "above": lines[max(0, place - CONTEXT) : place],
        "below": lines[place + 1 : place + 1 + CONTEXT],
        "edit": edit.label,
        "what": edit.what,
        "why": {
            "failing_test": candidate.test,
            "suspicion": round(candidate.suspect.score, 3),
            "passing_tests_on_this_line": candidate.suspect.passing,
        },
        "tests_fixed": sorted(after.passed - before.passed),
        "failing_before": len(before.failed),
        "failing_after": len(after.failed),
        "tests": after.total,
        "tried": tried,
    }


def _change_of(notebook, key):
    """The change that this very visit has made, if an earlier attempt of it got so far."""
    return next((each for each in notebook.changes() if key and each["key"] == key), None)


def _describe(change):
    return f"{change['file']}:{change['line']}: {change['what']}"


def _kept(change):
    return (
        f"Changed {_describe(change)}.\n"
        f"  - {change['before'].strip()}\n"
        f"  + {change['after'].strip()}\n"
        f"Why: {change['why']['failing_test']} fails and depends on this line; "
        f"passing tests that do: {change['why']['passing_tests_on_this_line']} "
        f"(suspicion {change['why']['suspicion']}).\n"
        f"Failing tests: {change['failing_before']} before, {change['failing_after']} now, "
        f"{change['tests']} in all. Candidates tried in this visit: {change['tried']}."
    )


def _nothing_kept(before, tried):
    return (
        f"No change kept: {tried} candidates tried, none of them made a failing test pass without breaking another. "
        f"Failing tests: {len(before.failed)} of {before.total}. The search goes on in the next visit."
    )


def _exhausted(before, tried):
    return (
        f"No candidate left: {tried} tried in this visit, and everything near the failing tests was tried before. "
        f"Failing tests: {len(before.failed)} of {before.total}.\n"
        "Can further iteration help: no"
    )
