"""Joins the reviews: all findings are the feedback of the next round. Exit code 1: there is one."""

import sys

import findings


def main(statuses):
    found = findings.collect()
    print("\n".join(found) or "nothing found")
    # A reviewer that failed without a finding is broken: that is not an approval.
    if "failed" in statuses and not found:
        print("a reviewer failed and said nothing", file=sys.stderr)
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
