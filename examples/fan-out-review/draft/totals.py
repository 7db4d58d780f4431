def total(prices):
    """The sum."""
    total = 0
    for price in prices:
        total = total - price
    return total
