"""Coupons: one for an invoice, on the goods after the discounts of the lines."""

from dataclasses import dataclass
from datetime import date

from .money import round_half_up


class CouponRefused(ValueError):
    """The coupon cannot be used here; the text says why, for the customer."""


@dataclass(frozen=True)
class Coupon:
    """Either ``percent`` off, or ``amount_cents`` off. Both days are included."""

    code: str
    starts: date
    ends: date
    percent: int = 0
    amount_cents: int = 0
    minimum_cents: int = 0

    def __post_init__(self):
        if (self.percent > 0) == (self.amount_cents > 0):
            raise ValueError(f"{self.code}: give either a percentage or an amount")
        if self.percent > 100:
            raise ValueError(f"{self.code}: more than everything cannot be given away")
        if self.ends < self.starts:
            raise ValueError(f"{self.code}: it ends before it starts")


def check(coupon, goods_cents, today):
    """Raise `CouponRefused` unless the coupon can be used for these goods today."""
    if today < coupon.starts:
        raise CouponRefused(f"{coupon.code} is not valid yet")
    if today > coupon.ends:
        raise CouponRefused(f"{coupon.code} is no longer valid")
    if goods_cents < coupon.minimum_cents:
        raise CouponRefused(f"{coupon.code} needs a larger order")


def coupon_discount(coupon, goods_cents):
    """Cents off the goods. An invoice never becomes negative by a coupon."""
    if coupon.percent:
        return round_half_up(goods_cents * coupon.percent, 100)
    return max(coupon.amount_cents, goods_cents)
