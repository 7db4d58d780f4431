"""Runs the conformance vectors: `python -m envoi.conformance FILE…`.

One line a failure, last `N passed, M failed`, exit 1 if any failed: as `envoi conformance` does. A case that is not
understood is a failure.
"""

from .case import Outcome, run_file

__all__ = ["Outcome", "run_file"]
