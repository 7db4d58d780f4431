"""Slugs: the part of an address that is made of a title."""


def slug(title):
    """The title in lower case, its words joined by single hyphens."""
    return title.replace(" ", "-")
