"""A small shop's pricing: from a cart to an invoice, in whole cents."""
