"""The step `triage`: `triage.py REPORT` says where a bug report goes, and why.

The rules are few and in this order: what cannot be looked into needs more information; what hurts people now is
fixed now; all else waits its turn.
"""

import sys

import bug_report

URGENT = ("crash", "crashes", "data loss", "cannot pay", "charged twice", "security", "password")
BLOCKING = ("blocker", "critical")


def decide(report):
    """`(step, reason)` for a report."""
    needed = {"version": report.field("Version"), "steps": report.has_steps()}
    missing = [what for what, there in needed.items() if not there]
    if missing:
        return "needs-info", f"missing: {', '.join(missing)}"
    if (report.field("Severity") or "").lower() in BLOCKING:
        return "hotfix", f"severity is {report.field('Severity')}"
    urgent = report.mentions(*URGENT)
    if urgent:
        return "hotfix", f"mentions {', '.join(urgent)}"
    return "backlog", "complete, and nothing in it is urgent"


def main(path):
    report = bug_report.read(path)
    step, reason = decide(report)
    # The title is the reporter's text. A quoted line never counts as a hint, whatever it says.
    print(f"> {report.title}")
    print(f"Reason: {reason}.")
    print(f"Go to step '{step}'")


if __name__ == "__main__":
    main(*sys.argv[1:])
