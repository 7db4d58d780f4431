"""Work that is killed at any moment: a masking, a run that is set aside or taken up, a moved project, `envoi repair` and `envoi store adopt`.

A process of the work is killed (SIGKILL) as it is about to make a system call, at its n-th one. Whatever it had done by then, the next command
finds the store right: nothing is lost, nothing is done twice, no secret is there in the clear, and `envoi doctor` finds nothing wrong.

The kills are made by strace (`inject`), in any thread or child of the work, supervisors too. `kills.py [--all] [SEED]`: without `--all` one
call of each kind is tried for each work, chosen by the seed.
"""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ENVOI = os.environ["ENVOI"]
CALLS = ("write", "pwrite64", "ftruncate", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat")
"""What makes or ends something that lasts."""

SECRET = "hunter22-hunter22"
LONG_S = 300

ASKS = """flow: asks
steps:
  - { id: draft, run: 'echo draft >> did; echo words > made.txt', artifacts: [made.txt] }
  - { id: release, ask: 'Release it?' }
  - { id: publish, run: 'echo publish >> did' }
"""
LEAKS = """flow: leaks
secrets: { TOKEN: { env: MY_TOKEN } }
steps:
  - id: leak
    artifacts: [made.txt]
    run: |
      echo "says $TOKEN"; echo "and $TOKEN" >&2; echo words > made.txt
      for name in one two three; do echo "$TOKEN" > "$ENVOI_RUN_BASE/attempts/$ENVOI_ATTEMPT/$name"; done
      mkdir -p "$ENVOI_RUN_BASE/mine"; echo "$TOKEN" > "$ENVOI_RUN_BASE/mine/note"
      printf '{"ok": true, "summary": "%s"}' "$TOKEN" > "$ENVOI_REPORT"
      touch waits; while [ ! -e go ]; do sleep 0.02; done
      echo leak >> did
"""

Done = subprocess.CompletedProcess[str]


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
    """Projects in a folder, and a copy of all to begin each try with. Commands are about the project `at`."""

    def __init__(self, root: Path) -> None:
        self.root, self.frozen, self.at = root / "now", root / "frozen", "project"
        (self.root / "project").mkdir(parents=True)
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ENVOI")},
            "XDG_STATE_HOME": str(self.root / "state"), "HOME": str(self.root), "TMPDIR": str(self.root), "MY_TOKEN": SECRET,
        }
        self.run_id = ""

    @property
    def project(self) -> Path:
        return self.root / self.at

    @property
    def store(self) -> Path:
        return self.project / ".envoi"

    def freeze(self) -> None:
        subprocess.run(["cp", "-a", self.root, self.frozen], check=True)

    def thaw(self) -> None:
        remove(self.root)
        subprocess.run(["cp", "-a", self.frozen, self.root], check=True)

    def run(self, *args: str, before: tuple[str, ...] = ()) -> Done:
        return subprocess.run(
            [*before, ENVOI, *args], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
        )

    def expect(self, code: int, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode == code, f"envoi {' '.join(args)}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
        return done.stdout

    def runs(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.expect(0, "--json", "runs")) if (self.store / "envoi.db").exists() else []
        return found

    def did(self) -> list[str]:
        path = self.project / "did"
        return path.read_text().split() if path.exists() else []

    def below(self, folder: Path) -> dict[str, bytes]:
        """Files with what is in them, but for those that SQLite makes to read."""
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(("-shm", "-wal")))
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def holds_no_secret(self) -> None:
        for path in sorted(self.store.rglob("*")):
            if path.is_file() and not path.is_symlink():
                assert SECRET.encode() not in path.read_bytes(), f"{path.relative_to(self.store)} holds the secret"


def asked(place: Place) -> None:
    """A run that waits for an answer."""
    (place.project / "flow.yaml").write_text(ASKS)
    place.expect(3, "run", "flow.yaml")
    place.run_id = str(place.runs()[0]["run"])


def goes_on(place: Place) -> None:
    """The run that waited is answered, and ends; each step is done once."""
    place.expect(0, "approve", place.run_id)
    assert place.did() == ["draft", "publish"], place.did()
    place.expect(0, "doctor")


def damaged(place: Place) -> None:
    asked(place)
    for path in place.store.glob("runs/*/asks/**/*.json"):
        path.unlink()
        path.write_text("{}")
    database = sqlite3.connect(place.store / "envoi.db")
    database.executescript("DELETE FROM handoffs; UPDATE runs SET live_attempts = 7;")
    database.close()


def repaired(place: Place, _done: Done) -> None:
    place.expect(0, "repair")
    assert "everything was as it should be" in place.expect(0, "repair")
    handoff = json.loads(place.expect(0, "--json", "show", place.run_id))
    assert handoff["status"] == "waiting", handoff
    goes_on(place)


def copied(place: Place) -> None:
    asked(place)
    subprocess.run(["cp", "-a", place.root / "project", place.root / "copy"], check=True)
    place.at = "copy"


def adopted(place: Place, done: Done) -> None:
    original = place.below(place.root / "project")
    if "a copy of" in place.run("doctor").stdout:
        assert done.returncode != 0, "it says that it is adopted"
        place.expect(6, "approve", place.run_id)
        place.expect(0, "store", "adopt")
    goes_on(place)
    assert place.below(place.root / "project") == original, "the original is as it was"


def blocked(place: Place) -> None:
    """A file stands where the hand-offs of the run belong."""
    asked(place)
    folder = place.store / "runs" / place.run_id / "asks"
    folder.rename(place.project / "kept")
    folder.write_text("in the way")


def set_aside(place: Place, _done: Done) -> None:
    place.expect(8, "resume", place.run_id)
    row = place.runs()[0]
    assert row["activity"] == "set_aside" and row["status"] == "waiting", row
    cleared(place)
    taken_up(place, _done)


def cleared(place: Place) -> None:
    """Nothing is in the way any more."""
    folder = place.store / "runs" / place.run_id / "asks"
    folder.unlink()
    (place.project / "kept").rename(folder)


def still_aside(place: Place) -> None:
    """A run is set aside, and need not be."""
    blocked(place)
    place.expect(8, "resume", place.run_id)
    cleared(place)


def taken_up(place: Place, _done: Done) -> None:
    place.expect(3, "resume", place.run_id)
    goes_on(place)


def moved(place: Place) -> None:
    """The project lies elsewhere, and no command has been there."""
    asked(place)
    place.project.rename(place.root / "elsewhere")
    place.at = "elsewhere"


def waits(place: Place) -> None:
    (place.project / "flow.yaml").write_text(LEAKS)


def begun(place: Place) -> tuple[subprocess.Popen[bytes], int]:
    """A step has written secrets everywhere and waits; its engine, and its supervisor."""
    engine = subprocess.Popen(
        [ENVOI, "run", "flow.yaml"], cwd=place.project, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until("the step waits", lambda: (place.project / "waits").exists())
    place.run_id = str(place.runs()[0]["run"])
    started = json.loads((place.store / "runs" / place.run_id / "attempts/leak.1.1/started.json").read_text())
    return engine, started["supervisor_pid"]


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < end, f"it does not come about that {what}"
        time.sleep(0.01)


def lost(place: Place) -> None:
    """All around the step are killed."""
    waits(place)
    engine, supervisor = begun(place)
    engine.kill()
    engine.wait()
    os.kill(supervisor, signal.SIGKILL)
    (place.project / "go").touch()
    until("the step ends", lambda: not any(is_of(process, place.run_id) for process in Path("/proc").iterdir()))
    (place.project / "did").unlink(missing_ok=True)


def is_of(process: Path, run: str) -> bool:
    """Whether a process belongs to a step of the run."""
    try:
        return process.name.isdigit() and f"ENVOI_RUN_ID={run}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def masked_later(place: Place, _done: Done) -> None:
    place.expect(5, "resume", place.run_id)
    place.holds_no_secret()
    place.expect(0, "resume", place.run_id, "--in-doubt", "rerun")
    assert place.did() == ["leak"], place.did()
    place.holds_no_secret()
    place.expect(0, "doctor")


def masked_by_its_supervisor(place: Place, _done: Done) -> None:
    done = place.run("resume", place.run_id)
    place.holds_no_secret()
    if done.returncode == 5:
        done = place.run("resume", place.run_id, "--in-doubt", "rerun")
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert place.did() in (["leak"], ["leak", "leak"]), place.did()
    place.holds_no_secret()
    place.expect(0, "doctor")


def command(*args: str) -> Callable[[Place, str, tuple[str, ...]], Done]:
    """A command, traced with all that it starts. RUN stands for the run."""

    def work(place: Place, names: str, inject: tuple[str, ...]) -> Done:
        strace = ("strace", "-f", "-qq", "-o", str(place.root.parent / "calls"), "-e", f"trace={names}", *inject)
        return place.run(*(place.run_id if arg == "RUN" else arg for arg in args), before=strace)

    return work


def supervisor_at_the_end(place: Place, names: str, inject: tuple[str, ...]) -> Done:
    """The supervisor alone is traced, from when its command is about to end."""
    engine, supervisor = begun(place)
    strace = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", str(place.root.parent / "calls"), "-p", str(supervisor), "-e", f"trace={names}", *inject],
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    threads = Path(f"/proc/{supervisor}/task")

    def is_traced() -> bool:
        try:
            stated = [(each / "status").read_text() for each in threads.iterdir()]
        except OSError:
            # A thread has ended meanwhile.
            return False
        return stated != [] and all("TracerPid:\t0\n" not in each for each in stated)

    until("it is traced", is_traced)
    (place.project / "go").touch()
    code = engine.wait(timeout=LONG_S)
    strace.wait(timeout=LONG_S)
    return Done([], code, "", "")


@dataclass
class Work:
    prepare: Callable[[Place], None]
    do: Callable[[Place, str, tuple[str, ...]], Done]
    """With these calls traced, and this done to them."""
    code: int
    """Its exit code, if it is not killed."""
    judge: Callable[[Place, Done], None]
    """What must hold afterwards."""


WORKS = {
    "repair": Work(damaged, command("repair"), 0, repaired),
    "adopt": Work(copied, command("store", "adopt"), 0, adopted),
    "set aside": Work(blocked, command("resume", "RUN"), 8, set_aside),
    "take up": Work(still_aside, command("resume", "RUN"), 3, taken_up),
    "move": Work(moved, command("resume", "RUN"), 3, taken_up),
    "mask what was lost": Work(lost, command("resume", "RUN"), 5, masked_later),
    "mask at the end": Work(waits, supervisor_at_the_end, 0, masked_by_its_supervisor),
}


def moments(place: Place, work: Work, everything: bool, chance: random.Random) -> list[tuple[str, int]]:
    """Calls of the work, by their kind and number. A thread that makes fewer of them is not killed."""
    place.thaw()
    done = work.do(place, ",".join("?" + name for name in CALLS), ())
    assert done.returncode == work.code, f"{done.returncode}\n{done.stdout}{done.stderr}"
    seen: dict[tuple[str, str], int] = {}
    for line in (place.root.parent / "calls").read_text(errors="replace").splitlines():
        if (found := re.match(r"(\d+)\s+(\w+)\(", line)) and found[2] in CALLS:
            seen[found[1], found[2]] = seen.get((found[1], found[2]), 0) + 1
    chosen = []
    for name in CALLS:
        most = max((count for (_, made), count in seen.items() if made == name), default=0)
        numbers = range(1, most + 1)
        kept = numbers if everything else sorted(chance.sample(numbers, min(1, most)))
        chosen += [(name, number) for number in kept]
    return chosen


def main() -> int:
    everything = "--all" in sys.argv[1:]
    rest = [word for word in sys.argv[1:] if word != "--all"]
    seed = int(rest[0]) if rest else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    failed = 0
    for name, work in WORKS.items():
        with tempfile.TemporaryDirectory(prefix="envoi-kills-", ignore_cleanup_errors=True) as folder:
            place = Place(Path(folder))
            work.prepare(place)
            place.freeze()
            chosen = moments(place, work, everything, chance)
            cut = 0
            for call, number in chosen:
                place.thaw()
                done = work.do(place, call, ("-e", f"inject={call}:signal=SIGKILL:when={number}"))
                cut += done.returncode != work.code
                try:
                    work.judge(place, done)
                except AssertionError as error:
                    failed += 1
                    print(f"FAILED {name}: killed at {call} number {number}, exit {done.returncode}: {error}\n{done.stderr[-600:]}", flush=True)
            print(f"{name}: {len(chosen)} moments, {cut} times it did not come to its end", flush=True)
            if not cut:
                failed += 1
                print(f"FAILED {name}: it was never killed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
