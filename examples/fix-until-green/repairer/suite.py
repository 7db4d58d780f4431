"""Runs a package's tests in a process of their own, and says how each of them went.

A candidate may loop, eat memory or break the import of everything: the process is bounded in CPU time and memory
(not in wall time, which would make the result depend on how busy the machine is), and a run that does not end by
itself counts as one in which no test passed.
"""

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CPU_SECONDS = 20
MEMORY_BYTES = 2 * 1024**3
WALL_SECONDS = 300  # a last resort: a candidate that sleeps
_RUNNER = Path(__file__).with_name("suite_runner.py")


@dataclass(frozen=True)
class Result:
    """`passed` and `failed` are names of tests; `lines` maps a test to the `(file, line)` pairs that it ran."""

    passed: frozenset
    failed: frozenset
    lines: dict

    @property
    def total(self):
        return len(self.passed) + len(self.failed)


NOTHING_PASSED = Result(frozenset(), frozenset(), {})


def run(package, trace=False):
    """Run `package`/tests with the package's parent as the top level."""
    command = [sys.executable, "-B", str(_RUNNER), str(Path(package).resolve()), "trace" if trace else "plain"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WALL_SECONDS,
            preexec_fn=_limit,
        )
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return NOTHING_PASSED
    return Result(
        frozenset(answer["passed"]),
        frozenset(answer["failed"]),
        {test: {(file, line) for file, line in lines} for test, lines in answer["lines"].items()},
    )


def _limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
