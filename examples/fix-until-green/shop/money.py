"""Money is an integer number of cents. Every rounding of the shop happens in this file."""

import re

_AMOUNT = re.compile(r"(-?)(\d+)(?:\.(\d{2}))?")


def parse(text):
    """Read ``"12.50"`` or ``"12"`` as cents."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an amount of money: {text!r}")
    sign, whole, cents = match.groups()
    value = int(whole) * 100 + int(cents or 0)
    return -value if sign else value


def show(cents, currency="EUR"):
    """Write cents as ``"12.50 EUR"``."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d} {currency}"


def round_down(numerator, denominator):
    """The largest integer that is not above the fraction."""
    return numerator // denominator


def round_half_up(numerator, denominator):
    """The integer nearest to the fraction; a half goes up."""
    return (2 * numerator + denominator) // (2 * denominator)


def split(total, weights):
    """Split ``total`` in proportion to ``weights``; the parts add up to ``total`` exactly.

    Each part is rounded down first. The cents left over go, one each, to the parts that lost
    most by that, earlier parts first.
    """
    whole = sum(weights)
    if whole <= 0:
        raise ValueError("the weights must add up to more than zero")
    parts = [round_down(total * weight, whole) for weight in weights]
    lost = [total * weight % whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda place: (-lost[place], place))
    left_over = total - sum(parts)
    for rank in range(left_over):
        parts[order[rank]] += 1
    return parts
