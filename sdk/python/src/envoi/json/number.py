"""Numbers that remember how they were written, and questions about their value that no rounding can spoil."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, NamedTuple, Optional, Tuple, Union

MAX_COUNT = 2**53 - 1
"""The largest integer a contract reads: the last one that every JSON reader holds exactly."""

LONGEST_INT = 4000
"""Integers with more digits are kept as text only: turning them into a Python `int` costs more than it is worth."""

_CHUNK = 600  # digits; below the smallest limit that an interpreter may set on int <-> str


class Int(int):
    """An integer whose text is not the one Python would write, such as `-0`."""

    token: str

    def __new__(cls, token: str) -> "Int":
        self = super().__new__(cls, int(token))
        self.token = token
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Int, (self.token,))

    def __copy__(self) -> "Int":
        return self

    def __deepcopy__(self, memo: Any) -> "Int":
        return self


class Float(float):
    """A number whose text is not the one Python would write: `1.00`, `1e400`, more digits than a float holds.

    It counts as the nearest float (`1e400` as infinity); `token` is what was read and what is written.
    """

    token: str

    def __new__(cls, token: str) -> "Float":
        self = super().__new__(cls, token)
        self.token = token
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Float, (self.token,))

    def __copy__(self) -> "Float":
        return self

    def __deepcopy__(self, memo: Any) -> "Float":
        return self


def read_token(token: str) -> Union[int, float]:
    """The value of a token that is known to be one."""
    digits = token.lstrip("-")
    if not digits.isdigit():
        plain_float = float(token)
        return plain_float if repr(plain_float) == token else Float(token)
    if token == "-0":
        return Int(token)
    return int_of(token) if len(digits) <= LONGEST_INT else Float(token)


def int_of(token: str) -> int:
    """The integer; in pieces where an interpreter limits the length of what `int` reads."""
    if len(token) <= _CHUNK:
        return int(token)
    value = 0
    digits = token.lstrip("-")
    for start in range(0, len(digits), _CHUNK):
        piece = digits[start : start + _CHUNK]
        value = value * 10 ** len(piece) + int(piece)
    return -value if token.startswith("-") else value


def token_of(number: Any) -> Optional[str]:
    """How a number is written; None if JSON has no such number (`nan`, infinities) or it is no number."""
    if isinstance(number, (Int, Float)):
        return number.token
    if isinstance(number, bool):
        return None
    if isinstance(number, int):
        return _int_text(int(number))
    if isinstance(number, float):
        return float.__repr__(number) if math.isfinite(number) else None
    if isinstance(number, Decimal):
        return str(number) if number.is_finite() else None
    return None


def _int_text(value: int) -> str:
    if abs(value) < 10**_CHUNK:
        return int.__repr__(value)
    pieces = []
    rest = abs(value)
    while rest >= 10**_CHUNK:
        rest, piece = divmod(rest, 10**_CHUNK)
        pieces.append(f"{piece:0{_CHUNK}d}")
    pieces.append(str(rest))
    return ("-" if value < 0 else "") + "".join(reversed(pieces))


class Normal(NamedTuple):
    """A value in normal form: `digits × 10^exponent`, `digits` without zeros at either end; zero has none."""

    negative: bool
    digits: str
    exponent: int


def normal(token: str) -> Normal:
    """The exact value of a token."""
    mantissa, _, power = token.replace("E", "e").partition("e")
    negative = mantissa.startswith("-")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).rstrip("0")
    exponent = _exponent(power) - len(fraction) + len(whole) + len(fraction) - len(digits)
    digits = digits.lstrip("0")
    return Normal(negative, digits, exponent) if digits else Normal(False, "", 0)


def _exponent(power: str) -> int:
    """The exponent's value; what no machine could count up to is cut to what none reaches either."""
    sign = -1 if power.startswith("-") else 1
    digits = power.lstrip("+-").lstrip("0")
    return sign * (int(digits or "0") if len(digits) < 19 else 10**18)


def as_count(number: Any) -> Optional[int]:
    """The value if it is an integer from 0 to 2^53 - 1, however it is written: `4096.0` is 4096. Else None."""
    if type(number) is int:
        return number if 0 <= number <= MAX_COUNT else None
    token = token_of(number)
    if token is None:
        return None
    negative, digits, exponent = normal(token)
    if not digits:
        return 0
    if negative or exponent < 0 or len(digits) + exponent > 16:
        return None
    value = int(digits) * 10**exponent
    return value if value <= MAX_COUNT else None


def is_fraction_of_one(number: Any) -> bool:
    """Whether it is a number from 0 to 1."""
    token = token_of(number)
    if token is None:
        return False
    negative, digits, exponent = normal(token)
    if not digits:
        return True
    point = len(digits) + exponent
    return not negative and (point <= 0 or (point == 1 and digits == "1"))
