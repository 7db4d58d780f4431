"""The command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List

from ..errors import ContractError
from . import run_file

BAD_INPUT = 2


def main(arguments: List[str]) -> int:
    """Runs the files; the exit code."""
    if not arguments or any(argument in ("-h", "--help") for argument in arguments):
        print("usage: python -m envoi.conformance FILE…", file=sys.stderr)
        return BAD_INPUT
    passed = failed = 0
    for name in arguments:
        try:
            outcomes = run_file(Path(name).read_bytes())
        except (OSError, ContractError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return BAD_INPUT
        for outcome in outcomes:
            passed += outcome.passed
            failed += not outcome.passed
            if not outcome.passed:
                print(f"{name}: {outcome.name}: expected {outcome.expected}, got {outcome.got}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
