"""The skill `monthly-bookkeeping LEDGER MONTH`: what came in and went out in a month, by category.

Amounts are decimals and stay decimals: 0.1 and 0.2 make 0.3. A ledger with a mistake is a failure that names the line, because a sum
of half a ledger is worse than none.
"""

import csv
import re
import sys
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path

import envoi

COLUMNS = ["date", "account", "category", "amount", "note"]
AMOUNT = re.compile(r"-?\d+\.\d\d")


def main(ledger, month):
    with envoi.step("monthly-bookkeeping") as step:
        try:
            rows = [row for row in transactions(ledger) if row["date"].startswith(f"{month}-")]
        except (OSError, ValueError) as error:
            step.fail(str(error), code="LEDGER_INVALID")
            return
        totals = defaultdict(Decimal)
        for row in rows:
            totals[row["category"]] += Decimal(row["amount"])
        income = sum((amount for amount in totals.values() if amount > 0), Decimal("0.00"))
        expenses = sum((amount for amount in totals.values() if amount < 0), Decimal("0.00"))
        by_category = {name: str(totals[name]) for name in sorted(totals)}
        net = str(income + expenses)
        step.data = {"month": month, "income": str(income), "expenses": str(expenses), "net": net, "categories": by_category}
        step.metrics["transactions"] = len(rows)
        if not rows:
            step.fail(f"there is no transaction in {month}", code="EMPTY_MONTH")
            return
        page = Path(f"books/{month}.md")
        page.parent.mkdir(exist_ok=True)
        page.write_text(written(step.data), encoding="utf-8")
        step.text(f"{month}: {income} in, {expenses} out, {net} net, {len(rows)} transactions.")


def transactions(ledger):
    """The rows of the ledger, each of them checked."""
    with open(ledger, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames != COLUMNS:
            raise ValueError(f"{ledger}: the columns are {rows.fieldnames}, not {COLUMNS}")
        for row in rows:
            place = f"{ledger}, line {rows.line_num}"
            if None in row or None in row.values():
                raise ValueError(f"{place}: not {len(COLUMNS)} values")
            try:
                date.fromisoformat(row["date"])
            except ValueError:
                raise ValueError(f"{place}: `{row['date']}` is no date") from None
            if not AMOUNT.fullmatch(row["amount"]):
                raise ValueError(f"{place}: `{row['amount']}` is no amount such as -12.50")
            yield row


def written(data):
    """The page of a month."""
    lines = "".join(f"| {name} | {amount} |\n" for name, amount in data["categories"].items())
    sums = "".join(f"| **{name}** | **{data[name]}** |\n" for name in ("income", "expenses", "net"))
    return f"# {data['month']}\n\n| category | amount |\n|---|---:|\n{lines}{sums}"


if __name__ == "__main__":
    main(*sys.argv[1:])
