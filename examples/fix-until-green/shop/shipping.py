"""What it costs to send a parcel."""

FREE_FROM_CENTS = 5_00

# (up to and including so many grams, price in cents)
BRACKETS = (
    (500, 2_90),
    (2_000, 4_90),
    (10_000, 7_90),
    (31_500, 15_90),
)

HOME = "DE"
NEIGHBOURS = ("AT", "BE", "CH", "CZ", "DK", "FR", "LU", "NL", "PL")
NEIGHBOUR_SURCHARGE_CENTS = 4_00


class CannotShip(ValueError):
    """There is no parcel for this weight, or no way to this country."""


def parcel_price(weight_grams):
    """The price of the smallest parcel that holds the weight."""
    for up_to_grams, price_cents in BRACKETS:
        if weight_grams <= up_to_grams:
            return price_cents
    raise CannotShip(f"{weight_grams} g is too heavy for one parcel")


def shipping_price(weight_grams, goods_cents, country=HOME):
    """Shipping for goods of this weight and value.

    At home, orders from `FREE_FROM_CENTS` on are free. Neighbours always pay the parcel and a
    surcharge. What weighs nothing (a voucher, say) is not sent at all.
    """
    if weight_grams == 0:
        return 0
    if country == HOME:
        return 0 if goods_cents >= FREE_FROM_CENTS else parcel_price(weight_grams)
    if country in NEIGHBOURS:
        return parcel_price(weight_grams) + NEIGHBOUR_SURCHARGE_CENTS
    raise CannotShip(f"we do not ship to {country}")
