"""The step `prices`: `prices.py CURRENCY RATE` writes the price list in that currency."""

import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

IN_EUR = {"Green tea": "4.95", "Mug": "8.40", "Teapot": "39.90"}


def price_list(currency, rate):
    cent = Decimal("0.01")
    rows = [(name, (Decimal(price) * Decimal(rate)).quantize(cent, ROUND_HALF_UP)) for name, price in IN_EUR.items()]
    return "".join(f"{name:<12}{price:>8} {currency}\n" for name, price in rows)


def main(currency, rate):
    path = Path(f"prices.{currency}.txt")
    path.write_text(price_list(currency, rate), encoding="utf-8")
    print(f"Wrote {path} at {rate} {currency} for 1 EUR.")


if __name__ == "__main__":
    main(*sys.argv[1:])
