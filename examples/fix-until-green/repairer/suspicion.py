"""Ranks lines by how much the tests speak against them.

Ochiai's measure: with `ef` failing and `ep` passing tests that ran a line, out of `f` failing ones, its suspicion
is `ef / sqrt(f * (ef + ep))`. A package can have several defects at once, so each ranking looks at one failing test
and the passing ones: what other failing tests run says little about this one.
"""

import ast
from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Suspect:
    """A line, how suspicious it is (0 to 1), and how many passing tests run it too."""

    score: float
    passing: int


def order_of_tests(result, first):
    """Failing tests in the order to look at them: those the critic named first, then the ones that run fewest lines."""
    return sorted(result.failed, key=lambda test: (test not in first, len(result.lines.get(test, ())), test))


def rank(result, test, frames, sources):
    """Map `(file, line)` to a `Suspect`, for the lines that the failing `test` ran or that its lines refer to."""
    ran = result.lines.get(test, set())
    passing = {}
    for name in result.passed:
        for place in result.lines.get(name, ()):
            passing[place] = passing.get(place, 0) + 1
    suspects = {place: _suspect(place, passing.get(place, 0), frames) for place in ran}
    for file, source in sources.items():
        _spread_over_statements(file, ast.parse(source), suspects)
    _blame_constants(sources, suspects)
    return suspects


def _suspect(place, passing, frames):
    score = 1 / sqrt(1 + passing)
    return Suspect(1.0 if place in frames else score, passing)


def _spread_over_statements(file, tree, suspects):
    """A statement of several lines is as suspicious as its worst line, a function's head as its worst body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            _spread(file, range(first, node.body[0].lineno), range(first, node.end_lineno + 1), suspects)
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            lines = range(node.lineno, node.end_lineno + 1)
            _spread(file, lines, lines, suspects)


def _spread(file, to, lines, suspects):
    worst = _worst(suspects, ((file, line) for line in lines))
    if worst is not None:
        for line in to:
            suspects.setdefault((file, line), worst)


def _blame_constants(sources, suspects):
    """Constants of a module are computed before any test runs; they are as suspicious as the lines that use them."""
    uses = {}
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if name and isinstance(getattr(node, "ctx", None), ast.Load):
                uses.setdefault(name, []).append((file, node.lineno))
    for file, source in sources.items():
        for name, lines in _constants(ast.parse(source)):
            worst = _worst(suspects, uses.get(name, ()))
            if worst is not None:
                for line in lines:
                    suspects.setdefault((file, line), worst)


def _constants(tree):
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(target, ast.Name):
                yield target.id, range(node.lineno, node.end_lineno + 1)


def _worst(suspects, places):
    found = [suspects[place] for place in places if place in suspects]
    return max(found, key=lambda suspect: suspect.score, default=None)
