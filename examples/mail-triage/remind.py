"""`remind.py REPORT`: writes `to-pay.md`, a line for each mail that wants money."""

import sys
from pathlib import Path

import envoi


def main(report):
    with envoi.step("remind") as step:
        bills = [item for item in envoi.read_skill_report(report).data["items"] if item["category"] == "billing"]
        lines = [f"- [ ] {item['subject']} ({item['from']})\n" for item in bills]
        Path("to-pay.md").write_text("# To pay\n\n" + "".join(lines), encoding="utf-8")
        step.text(f"{len(bills)} to pay.")


if __name__ == "__main__":
    main(*sys.argv[1:])
