"""Restore, apply, export and gc while the disk fails: one system call of the command fails at a time, at its n-th call.

Whatever the command says then, afterwards, with a disk that is well: the same command does all of it, an undo brings back what stood there
before, and `envoi doctor` finds nothing wrong. So no content was lost, and nothing half done counts as done.

The calls are made to fail by strace (`inject`), in all threads and children of the command. `faults.py [--all] [SEED]`: without `--all` two
calls of each kind are tried for each command, chosen by the seed.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ENVOI = os.environ["ENVOI"]
EACH = 2
"""Calls of a kind that are tried for each command, without `--all`."""

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


class Place:
    """A project, and a copy of it to begin each try with."""

    def __init__(self, root: Path, workspace: str) -> None:
        self.root, self.frozen = root / "now", root / "frozen"
        self.project = self.root / "project"
        self.project.mkdir(parents=True)
        (self.project / "flow.yaml").write_text(FLOW.replace("WORKSPACE", workspace))
        (self.project / "own").write_text("the user's\n")
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ENVOI")},
            "XDG_STATE_HOME": str(self.root / "state"), "HOME": str(self.root), "TMPDIR": str(self.root),
        }

    def freeze(self) -> None:
        subprocess.run(["cp", "-a", self.root, self.frozen], check=True)

    def thaw(self) -> None:
        shutil.rmtree(self.root)
        subprocess.run(["cp", "-a", self.frozen, self.root], check=True)

    def run(self, *args: str, before: tuple[str, ...] = ()) -> Done:
        return subprocess.run(
            [*before, ENVOI, *args], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        )

    def well(self, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode == 0, f"envoi {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
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
        wanted = {"start": {"flow.yaml", "own"}, "end": set(after)}.get(state)
        if wanted is not None:
            found = set(place.files(into))
            assert found == wanted, f"{state}: {found ^ wanted}"


def difference(one: Files, other: Files) -> str:
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    return "; ".join(f"{name}: {str(one.get(name))[:60]}, not {str(other.get(name))[:60]}" for name in names[:5])


RESTORE = ("restore", "--at", "before:second", "--here")
APPLY = ("apply",)
EXPORT = ("export", "--output", "run.envoi")
COLLECT = ("gc",)

COMMANDS = {
    "restore": (RESTORE, "{}", ("--keep-files",), changes(RESTORE, ("restore", "--undo"))),
    "apply": (APPLY, "{ isolate: tree }", (), changes(APPLY, ("apply", "--undo"))),
    "export": (EXPORT, "{}", ("--keep-files",), exports),
    "gc": (COLLECT, "{ isolate: tree }", (), collects),
}
"""A command, the workspace of its flow, options of the run, and what must hold afterwards."""


def main() -> int:
    everything = "--all" in sys.argv[1:]
    rest = [word for word in sys.argv[1:] if word != "--all"]
    seed = int(rest[0]) if rest else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    failed = 0
    for name, (args, workspace, options, judge) in COMMANDS.items():
        with tempfile.TemporaryDirectory(prefix="envoi-faults-") as folder:
            place = Place(Path(folder), workspace)
            began = place.files()
            place.well("run", "flow.yaml", *options)
            if name == "gc":
                # An older run, whose tree and files a collection takes away.
                place.well("run", "flow.yaml", *options)
            before = place.files()
            place.freeze()
            place.well(*args)
            after = place.files()
            if name == "gc":
                before, after = began, {**began, "a": "", "large": "", "deep": "", "new": "", "new/c": ""}
            said: dict[int, int] = {}
            chosen = tries(place, args, everything, chance)
            for call, number in chosen:
                done = fail(place, args, call, number)
                said[done.returncode] = said.get(done.returncode, 0) + 1
                try:
                    judge(place, call, done, before, after)
                    place.well("doctor")
                except AssertionError as error:
                    failed += 1
                    print(f"FAILED {name}: {call} number {number} ({CALLS[call]}), exit {done.returncode}: {error}\n{done.stderr[-600:]}", flush=True)
            exits = ", ".join(f"{count} with exit {code}" for code, count in sorted(said.items()))
            print(f"{name}: {len(chosen)} calls failed, one at a time: {exits}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
