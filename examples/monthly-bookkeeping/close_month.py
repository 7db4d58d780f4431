"""`close_month.py MONTH NET`: adds the month to `books/closed.csv`, once, whoever runs it how often."""

import sys
from pathlib import Path

import envoi

CLOSED = Path("books/closed.csv")


def main(month, net):
    with envoi.step("close") as step:
        lines = CLOSED.read_text(encoding="utf-8").splitlines() if CLOSED.exists() else ["month,net"]
        known = dict(line.split(",") for line in lines[1:])
        if known.get(month, net) != net:
            step.fail(f"{month} was closed with {known[month]}, not {net}", code="CLOSED_OTHERWISE")
            return
        if month not in known:
            CLOSED.write_text("\n".join([*lines, f"{month},{net}"]) + "\n", encoding="utf-8")
        step.text(f"{month} is closed with {net}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
