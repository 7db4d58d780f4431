"""Value added tax. Rates are in basis points: 1900 is 19 per cent.

Shops may round the tax of each line, or only the total of each rate. Both are lawful; the sums can
differ by some cents, so an invoice has to stay with one.
"""

from .money import round_down, round_half_up

BASIS_POINTS = 10_000

RATES = {"standard": 1900, "reduced": 700, "exempt": 0}


def rate_of(tax_class):
    try:
        return RATES[tax_class]
    except KeyError:
        raise ValueError(f"unknown tax class {tax_class!r}") from None


def tax_on(net_cents, tax_class):
    """Tax on a net amount, to the nearest cent; half a cent goes up."""
    return round_down(net_cents * rate_of(tax_class), BASIS_POINTS)


def tax_in(gross_cents, tax_class):
    """Tax contained in a gross amount, to the nearest cent; half a cent goes up."""
    rate = rate_of(tax_class)
    return round_half_up(gross_cents * rate, BASIS_POINTS + rate)


def tax_per_line(amounts):
    """Tax by class of ``(tax_class, net_cents)`` pairs, each pair rounded for itself."""
    taxes = {}
    for tax_class, net_cents in amounts:
        taxes[tax_class] = taxes.get(tax_class, 0) + tax_on(net_cents, tax_class)
    return taxes


def tax_per_total(amounts):
    """Tax by class of ``(tax_class, net_cents)`` pairs, rounded once a class."""
    nets = {}
    for tax_class, net_cents in amounts:
        nets[tax_class] = nets.get(tax_class, 0) + net_cents
    return {tax_class: tax_on(net, tax_class) for tax_class, net in nets.items()}
