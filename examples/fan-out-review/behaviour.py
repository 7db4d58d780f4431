"""Reviews what the change does: it is run on an order whose total is known."""

import subprocess
import sys

import findings

ORDER = "import totals; print(totals.total([3, 4, 5]))"
EXPECTED = "12"


def review(said):
    return [] if said == EXPECTED else [f"totals.py:5: the total is {said}, not {EXPECTED}"]


if __name__ == "__main__":
    run = subprocess.run([sys.executable, "-B", "-c", ORDER], cwd="change", capture_output=True, text=True, check=True)
    findings.leave("behaviour", review(run.stdout.strip()))
