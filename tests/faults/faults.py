"""Restore, apply, the merge of items, export and gc while the disk fails: one system call of the command fails at a time, at its n-th call.

Whatever the command says then, afterwards, with a disk that is well: the same command does all of it, an undo brings back what stood there
before, and `envoi doctor` finds nothing wrong. So no content was lost, and nothing half done counts as done. In a git repository nothing
below `.git` is another byte than before.

The calls are made to fail by strace (`inject`), in all threads and children of the command. `faults.py [--all] [SEED]`: without `--all` two
calls of each kind are tried for each command, chosen by the seed. `faults.py SEED NAME…` tries only the entries of these names.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ENVOI = os.environ["ENVOI"]
EACH = 2
"""Calls of a kind that are tried for each command, without `--all`."""

LONG_S = 300

Done = subprocess.CompletedProcess[str]
Files = dict[str, str]
"""Paths, with what they are."""

FULL, BROKEN = "ENOSPC", "EIO"
CALLS = {
    "write": FULL, "pwrite64": FULL, "copy_file_range": FULL, "ftruncate": BROKEN, "fsync": BROKEN, "fdatasync": BROKEN, "syncfs": BROKEN,
    "rename": BROKEN, "renameat": BROKEN, "renameat2": BROKEN, "link": BROKEN, "linkat": BROKEN, "symlink": BROKEN, "symlinkat": BROKEN,
    "unlink": BROKEN, "unlinkat": BROKEN, "mkdir": FULL, "mkdirat": FULL, "rmdir": BROKEN, "fchmod": BROKEN,
}
"""What is made to fail, and with which error."""

FLOW = """flow: edits
workspace: WORKSPACE
steps:
  - id: first
    run: |
      mkdir -p deep/er
      printf 'one\\n' > a; head -c 70000 /dev/zero | tr '\\0' x > large
      printf 'two\\n' > deep/er/b; ln -s a link; printf 'gone\\n' > gone
  - id: second
    run: |
      printf 'changed\\n' > a; rm gone link; rm -r deep; printf 'file\\n' > deep
      mkdir new; printf 'new\\n' > new/c; chmod +x a; head -c 80000 /dev/zero | tr '\\0' y > large
"""
ITEMS = """flow: items
workspace: WORKSPACE
steps:
  - id: fix
    for_each: [0, 1, 2, 3]
    isolate: true
    on_in_doubt: rerun
    files: restore
    run: |
      i=$ENVOI_ITEM
      mkdir -p own-$i/deep; echo item $i > own-$i/deep/file; head -c 70000 /dev/zero | tr '\\0' $i > large-$i
      sed -i "s/^line $i$/& by $i/" lines
      case $i in 1|2) sed -i "s/^shared.*/& by $i/" lines;; esac
      if test $i = 0; then rm own; mkdir own; echo in > own/in; fi
"""
"""Items that change files apart, and 1 and 2 the same line: the run asks about item 2."""

LINES = "".join(f"line {number}\n\n\n" for number in range(4)) + "shared\n"


def remove(folder: Path) -> None:
    """A process that a failed command has left may still write there."""
    last = time.monotonic() + LONG_S
    while True:
        try:
            return shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > last:
                raise
        time.sleep(0.02)


class Place:
    """A project, and a copy of it to begin each try with."""

    def __init__(self, root: Path, flow: str, workspace: str) -> None:
        self.root, self.frozen = root / "now", root / "frozen"
        self.project = self.root / "project"
        self.project.mkdir(parents=True)
        (self.project / "flow.yaml").write_text(flow.replace("WORKSPACE", workspace))
        (self.project / "own").write_text("the user's\n")
        (self.project / "lines").write_text(LINES)
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ENVOI")},
            "XDG_STATE_HOME": str(self.root / "state"), "HOME": str(self.root), "TMPDIR": str(self.root),
        }

    def begin_git(self) -> None:
        """A repository with a commit, a stash, and a change that is staged."""
        def git(*args: str) -> None:
            identity = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
            subprocess.run(["git", *identity, *args], cwd=self.project, env=self.env, check=True)
        git("init", "-q")
        git("add", "own", "lines")
        git("commit", "-qm", "first")
        (self.project / "own").write_text("stashed\n")
        git("stash", "-q")
        (self.project / "staged").write_text("staged\n")
        git("add", "staged")

    def below_git(self) -> dict[str, bytes]:
        """Each file of the repository: `HEAD`, the index, the stash, references, logs, objects, and locks if there are any."""
        top = self.project / ".git"
        return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}

    def freeze(self) -> None:
        subprocess.run(["cp", "-a", self.root, self.frozen], check=True)

    def thaw(self) -> None:
        remove(self.root)
        subprocess.run(["cp", "-a", self.frozen, self.root], check=True)

    def run(self, *args: str, before: tuple[str, ...] = ()) -> Done:
        return subprocess.run(
            [*before, ENVOI, *args], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
        )

    def run_id(self) -> str:
        return str(json.loads(self.well("--json", "runs"))[0]["run"])

    def status(self) -> str:
        return str(json.loads(self.well("--json", "runs"))[0]["status"])

    def is_done(self) -> bool:
        """It has succeeded, and its files are written."""
        row = json.loads(self.well("--json", "runs"))[0]
        return row["status"] == "succeeded" and not row.get("set_aside")

    def tree(self) -> Path:
        """Where the newest run works."""
        return self.root / "state" / "envoi" / "trees" / self.run_id()

    def well(self, *args: str, code: int = 0) -> str:
        done = self.run(*args)
        assert done.returncode == code, f"envoi {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def files(self, folder: Path | None = None) -> Files:
        """All paths below the project but the store, with what they are."""
        top = folder or self.project
        found = {}
        for path in sorted(top.rglob("*")):
            name = str(path.relative_to(top))
            if name.split("/")[0] in (".envoi", ".git"):
                continue
            if path.is_symlink():
                found[name] = "link " + os.readlink(path)
            elif path.is_dir():
                found[name] = "folder"
            else:
                found[name] = f"{path.stat().st_mode & 0o111:o} {path.read_bytes()!r}"
        return found


Judge = Callable[[Place, str, Done, Files, Files], None]


def counts(place: Place, args: tuple[str, ...]) -> dict[str, int]:
    """How often a thread of the command makes each call, at most."""
    log = place.root.parent / "calls"
    names = ",".join("?" + name for name in CALLS)
    done = place.run(*args, before=("strace", "-f", "-qq", "-o", str(log), "-e", f"trace={names}"))
    assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stderr}"
    seen: dict[tuple[str, str], int] = {}
    for line in log.read_text(errors="replace").splitlines():
        if (found := re.match(r"(\d+)\s+(\w+)\(", line)) and found[2] in CALLS:
            seen[found[1], found[2]] = seen.get((found[1], found[2]), 0) + 1
    most: dict[str, int] = {}
    for (_, name), count in seen.items():
        most[name] = max(most.get(name, 0), count)
    return most


def tries(place: Place, args: tuple[str, ...], everything: bool, chance: random.Random) -> list[tuple[str, int]]:
    place.thaw()
    chosen = []
    for name, count in sorted(counts(place, args).items()):
        numbers = range(1, count + 1)
        kept = numbers if everything else sorted(chance.sample(numbers, min(EACH, count)))
        chosen += [(name, number) for number in kept]
    return chosen


def fail(place: Place, args: tuple[str, ...], name: str, number: int) -> Done:
    place.thaw()
    inject = f"inject={name}:error={CALLS[name]}:when={number}"
    log = str(place.root.parent / "calls")
    return place.run(*args, before=("strace", "-f", "-qq", "-o", log, "-e", f"trace={name}", "-e", inject))


def changes(args: tuple[str, ...], undo: tuple[str, ...]) -> Judge:
    """A command that changes the user's files is done or not, and can be done again and undone."""

    def judge(place: Place, call: str, done: Done, before: Files, after: Files) -> None:
        now = place.files()
        if done.returncode == 0:
            assert now == after, f"it says that all is done: {difference(now, after)}"
        for name, what in now.items():
            assert what in (before.get(name), after.get(name)), f"{name} is neither as before nor as wanted: {what[:80]}"
        place.well(*args)
        assert (now := place.files()) == after, difference(now, after)
        place.well(*undo)
        assert (now := place.files()) == before, difference(now, before)

    return judge


def exports(place: Place, call: str, done: Done, before: Files, after: Files) -> None:
    bundle = place.project / "run.envoi"
    # It may have failed after the bundle was whole, but never leaves half of one.
    if done.returncode == 0 or bundle.exists():
        place.well("verify", str(bundle))
    # A name that the disk does not take away stays.
    left = [name for name in place.files() if name not in before and not (name.startswith(".new-") and call.startswith("unlink"))]
    assert not [name for name in left if name != "run.envoi"], f"it leaves {left}"
    bundle.unlink(missing_ok=True)
    place.well(*EXPORT)
    place.well("verify", str(bundle))


def collects(place: Place, call: str, done: Done, before: Files, after: Files) -> None:
    assert (now := place.files()) == before, difference(now, before)
    place.well(*COLLECT)
    for state in ("start", "before:second", "end"):
        into = place.root / state.replace(":", "-")
        place.well("restore", "--at", state, "--into", str(into))
        wanted = {"start": {"flow.yaml", "own", "lines"}, "end": set(after)}.get(state)
        if wanted is not None:
            found = set(place.files(into))
            assert found == wanted, f"{state}: {found ^ wanted}"


def difference(one: Files, other: Files) -> str:
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    return "; ".join(f"{name}: {str(one.get(name))[:60]}, not {str(other.get(name))[:60]}" for name in names[:5])


def merges(place: Place, call: str, done: Done, before: Files, after: Files) -> None:
    """The merge ends with the same files in the tree of the run, whatever had come of it; the user's folder is as it was."""
    own = place.files()
    assert own == before, difference(own, before)
    for words in MOST_RESUMES:
        if place.is_done():
            break
        place.run("resume", place.run_id(), *(words if place.status() == "waiting" else ()))
    assert place.is_done(), f"the run is {place.status()}: {place.run('why', place.run_id()).stdout[-600:]}"
    now = place.files(place.tree())
    assert now == after, difference(now, after)
    place.well("gc")
    items = place.tree().with_name(place.tree().name + ".items")
    if left := list(items.iterdir()) if items.exists() else []:
        # Its removal failed. It is named until a person drops it.
        assert "the tree of an item is left" in place.well("gc"), left
        place.well("gc", "--drop", place.run_id())
        assert not items.exists(), left
    own = place.files()
    assert own == before, difference(own, before)


MOST_RESUMES = (("--review", "theirs"), ("--in-doubt", "rerun"), ("--review", "theirs"), ("--in-doubt", "rerun"))
"""What is answered, if something is asked. A merge that failed because of the disk is tried again by `resume`, which may ask about its conflicts
anew. The call fails in each process that comes to it, so that all tries of a supervisor may be in doubt."""

RESTORE = ("restore", "--at", "before:second", "--here")
APPLY = ("apply",)
EXPORT = ("export", "--output", "run.envoi")
COLLECT = ("gc",)
MERGE = ("resume", "RUN", "--review", "theirs")
"""`RUN` stands for the newest run."""

TREE = "{ isolate: tree }"


@dataclass
class Entry:
    """A command that is tried, and what must hold afterwards."""

    args: tuple[str, ...]
    judge: Judge
    flow: str = FLOW
    workspace: str = TREE
    options: tuple[str, ...] = ()
    """Of the run that comes before."""
    code: int = 0
    """Of that run: 3 if it asks."""
    in_git: bool = False


UNDO_RESTORE, UNDO_APPLY = ("restore", "--undo"), ("apply", "--undo")

COMMANDS = {
    "restore": Entry(RESTORE, changes(RESTORE, UNDO_RESTORE), workspace="{}", options=("--keep-files",)),
    "restore in git": Entry(RESTORE, changes(RESTORE, UNDO_RESTORE), workspace="{}", options=("--keep-files",), in_git=True),
    "apply": Entry(APPLY, changes(APPLY, UNDO_APPLY)),
    "apply in git": Entry(APPLY, changes(APPLY, UNDO_APPLY), in_git=True),
    "merge": Entry(MERGE, merges, flow=ITEMS, code=3),
    "merge in git": Entry(MERGE, merges, flow=ITEMS, code=3, in_git=True),
    "export": Entry(EXPORT, exports, workspace="{}", options=("--keep-files",)),
    "gc": Entry(COLLECT, collects),
}


def main() -> int:
    everything = "--all" in sys.argv[1:]
    rest = [word for word in sys.argv[1:] if word != "--all"]
    seed = int(rest[0]) if rest else random.SystemRandom().randrange(1 << 32)
    # The names of some entries: only those are tried.
    names = rest[1:] or list(COMMANDS)
    print(f"seed {seed}", flush=True)
    failed = sum(try_out(name, COMMANDS[name], everything, random.Random(f"{seed} {name}")) for name in names)
    return 1 if failed else 0


def try_out(name: str, entry: Entry, everything: bool, chance: random.Random) -> int:
    """How often something did not hold."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="envoi-faults-", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder), entry.flow, entry.workspace)
        if entry.in_git:
            place.begin_git()
        began = place.files()
        place.well("run", "flow.yaml", *entry.options, code=entry.code)
        if name == "gc":
            # An older run, whose tree and files a collection takes away.
            place.well("run", "flow.yaml", *entry.options)
        args = tuple(place.run_id() if word == "RUN" else word for word in entry.args)
        before = place.files()
        place.freeze()
        # A worktree of the run is known to the repository: its branch, and where it is.
        of_git = place.below_git() if entry.in_git and entry.judge is not merges else {}
        place.well(*args)
        after = place.files()
        if name == "gc":
            before, after = began, {**began, "a": "", "large": "", "deep": "", "new": "", "new/c": ""}
        if entry.judge is merges:
            after = place.files(place.tree())
        said: dict[int, int] = {}
        chosen = tries(place, args, everything, chance)
        for call, number in chosen:
            done = fail(place, args, call, number)
            said[done.returncode] = said.get(done.returncode, 0) + 1
            try:
                assert not of_git or of_git == place.below_git(), "something below `.git` is another"
                entry.judge(place, call, done, before, after)
                assert not of_git or of_git == place.below_git(), "something below `.git` is another, at the end"
                place.well("doctor")
            except AssertionError as error:
                failed += 1
                print(f"FAILED {name}: {call} number {number} ({CALLS[call]}), exit {done.returncode}: {error}\n{done.stderr[-600:]}", flush=True)
        exits = ", ".join(f"{count} with exit {code}" for code, count in sorted(said.items()))
        print(f"{name}: {len(chosen)} calls failed, one at a time: {exits}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
