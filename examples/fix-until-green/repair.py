"""The step `repair`: `repair.py PACKAGE` makes one visit of the repairer and says what it did.

Feedback comes from `$ENVOI_FEEDBACK`; what lasts between visits is in `.repair/` beside the package. The exit code
says whether the visit was made, not whether the package is repaired: that is for the critic to say. The visit can
be killed at any time and run again.
"""

import sys

from repairer.visit import repair


def main(arguments):
    if len(arguments) != 1:
        print("usage: repair.py PACKAGE", file=sys.stderr)
        return 2
    print(repair(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
