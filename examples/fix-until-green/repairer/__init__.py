"""A small program repairer that searches: no model, no network, nothing but the standard library.

`feedback` reads what the critic said, `suite` runs the tests, `suspicion` ranks lines, `mutations` proposes
edits, `notebook` is all that lasts between two visits, `visit` ties them together.
"""
