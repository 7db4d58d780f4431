"""When a result is what was expected."""

from __future__ import annotations

from typing import Any, Dict

from .. import json


def same(expected: Any, got: Any) -> bool:
    """Objects by member, numbers by their text where both are integers and by value otherwise, all else as it is."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return len(expected) == len(got) and all(
            name in got and (same(value, got[name]) or (name == "error" and _same_error(value, got[name])))
            for name, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(same, expected, got))
    expected_token, got_token = json.token_of(expected), json.token_of(got)
    if expected_token is None or got_token is None:
        return type(expected) is type(got) and bool(expected == got)
    if set(expected_token + got_token) <= set("-0123456789"):
        return expected_token == got_token
    return json.normal(expected_token) == json.normal(got_token)


def has_all(expected: Any, got: Dict[str, Any]) -> bool:
    """Whether `got` has each expected member."""
    return all(name in got and same(value, got[name]) for name, value in expected.items())


def _same_error(expected: Any, got: Any) -> bool:
    """An expected error whose message is null matches any message."""
    if not isinstance(expected, dict) or not isinstance(got, dict):
        return False
    is_open = expected.get("message", "") is None and isinstance(got.get("message"), str)
    return is_open and expected.get("code") == got.get("code")
