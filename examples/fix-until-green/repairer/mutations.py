"""Proposes small edits of one source file, as a programmer would make them: one token, nothing else on the line.

Each edit replaces bytes on one line, found by the positions of the syntax tree, so that formatting and comments stay as
they are. An edit is proposed only if the file still parses afterwards and means something else.
"""

import ast
import re
from dataclasses import dataclass

# Cheap and likely first: what people get wrong most often is a boundary or the choice between two like things.
BOUNDARY, CHOICE, OPERATOR, NUMBER, SHIFT = range(5)

_COMPARE = {
    ast.Lt: ("<", ["<=", ">"]),
    ast.LtE: ("<=", ["<", ">="]),
    ast.Gt: (">", [">=", "<"]),
    ast.GtE: (">=", [">", "<="]),
    ast.Eq: ("==", ["!="]),
    ast.NotEq: ("!=", ["=="]),
    ast.In: ("in", ["not in"]),
    ast.Is: ("is", ["is not"]),
}
_ARITHMETIC = {
    ast.Add: ("+", ["-"]),
    ast.Sub: ("-", ["+"]),
    ast.Mult: ("*", ["//"]),
    ast.FloorDiv: ("//", ["*", "%"]),
    ast.Div: ("/", ["//", "*"]),
    ast.Mod: ("%", ["//"]),
}
_LOGIC = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes `start` to `end` of the file by `new`.

    `line` counts from 1, `column` in bytes from 0; `kind` orders what to try first.
    """

    file: str
    line: int
    column: int
    kind: int
    start: int
    end: int
    old: str
    new: str
    what: str

    def apply(self, source):
        return source[: self.start] + self.new.encode() + source[self.end :]

    @property
    def label(self):
        """Names the edit itself, whatever the rest of the program looks like."""
        return f"{self.file}:{self.line}:{self.column}: {self.old!r} -> {self.new!r}"


def propose(file, source):
    """All edits of `source` (bytes), ordered by line."""
    tree = ast.parse(source)
    before = ast.dump(tree)
    found = _Proposer(file, source, tree).edits
    return sorted({edit for edit in found if _changes(edit, source, before)})


def _changes(edit, source, before):
    try:
        return ast.dump(ast.parse(edit.apply(source))) != before
    except (SyntaxError, ValueError):
        return False


class _Proposer(ast.NodeVisitor):
    """Walks the tree once; one method for each kind of node that it knows how to change."""

    def __init__(self, file, source, tree):
        self.edits = []
        self._file = file
        self._source = source
        self._starts = _line_starts(source)
        self._siblings = _sibling_functions(tree)
        self.visit(tree)

    def visit_JoinedStr(self, node):
        """Positions inside f-strings cannot be relied on before Python 3.12: nothing is proposed there."""

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:]):
            if type(operator) in _COMPARE:
                old, news = _COMPARE[type(operator)]
                for place, new in enumerate(news):
                    kind = OPERATOR if place else BOUNDARY
                    self._between(left, right, old, new, kind, f"comparison `{old}` became `{new}`")
        if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Is, ast.IsNot)):
            self._shift(node.comparators[0])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in _ARITHMETIC:
            old, news = _ARITHMETIC[type(node.op)]
            for new in news:
                self._between(node.left, node.right, old, new, OPERATOR, f"operator `{old}` became `{new}`")
            if isinstance(node.op, (ast.Add, ast.Sub)) and _is_integer(node.right) and node.right.value == 1:
                self._drop(node, old)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        if len(node.values) == 2:
            old, new = _LOGIC[type(node.op)]
            self._between(*node.values, old, new, CHOICE, f"`{old}` became `{new}`")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            start = self._offset(node.lineno, node.col_offset)
            word = re.match(rb"not\s*", self._source[start:])
            self._add(node.lineno, start, start + word.end(), "", OPERATOR, "`not` was taken out")
        self.generic_visit(node)

    def visit_Call(self, node):
        name = node.func
        if isinstance(name, (ast.Name, ast.Attribute)):
            self._other_function(name)
        if isinstance(name, ast.Name) and name.id == "range":
            for argument in node.args[:2]:
                self._shift(argument)
        self.generic_visit(node)

    def visit_Slice(self, node):
        for bound in (node.lower, node.upper):
            if bound is not None:
                self._shift(bound)
        self.generic_visit(node)

    def visit_Constant(self, node):
        if _is_integer(node):
            for value in _near(node.value):
                old = self._text(node)
                new = _like(old, value)
                self._replace(node, new, NUMBER, f"number `{old}` became `{new}`")

    def _other_function(self, name):
        """`min` for `max`, and functions that stand side by side: imported together, or defined together alike."""
        old = name.id if isinstance(name, ast.Name) else name.attr
        others = [_TWINS[old]] if old in _TWINS else []
        if isinstance(name, ast.Name):
            others += self._siblings.get(old, [])
        end = self._offset(name.end_lineno, name.end_col_offset)
        for new in others:
            what = f"call of `{old}` became a call of `{new}`"
            self._add(name.end_lineno, end - len(old.encode()), end, new, CHOICE, what)

    def _shift(self, node):
        """A bound one further, or one less far; numbers are shifted as numbers."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            old = self._text(node)
            for new in (f"{old} + 1", f"{old} - 1"):
                self._replace(node, new, SHIFT, f"bound `{old}` became `{new}`")

    def _drop(self, node, operator):
        """`x - 1` becomes `x`: the operator goes too, and the space before it."""
        start, end = self._end(node.left), self._end(node.right)
        gap = re.search(rb"\s*" + re.escape(operator.encode()), self._source[start:end])
        if gap is not None:
            self._add(node.lineno, start + gap.start(), end, "", BOUNDARY, f"`{operator} 1` was taken out")

    def _between(self, left, right, old, new, kind, what):
        start = self._end(left)
        end = self._offset(right.lineno, right.col_offset)
        gap = re.search(_token(old), self._source[start:end])
        if gap is not None:
            line = left.end_lineno + self._source[start : start + gap.start()].count(b"\n")
            self._add(line, start + gap.start(), start + gap.end(), new, kind, what)

    def _replace(self, node, new, kind, what):
        self._add(node.lineno, self._offset(node.lineno, node.col_offset), self._end(node), new, kind, what)

    def _add(self, line, start, end, new, kind, what):
        old = self._source[start:end].decode()
        if "\n" not in old:
            column = start - self._starts[line - 1]
            self.edits.append(Edit(self._file, line, column, kind, start, end, old, new, what))

    def _text(self, node):
        return self._source[self._offset(node.lineno, node.col_offset) : self._end(node)].decode()

    def _end(self, node):
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line, column):
        return self._starts[line - 1] + column


def _line_starts(source):
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _token(operator):
    """`<` must not be found in `<=`, nor `in` within a word."""
    text = re.escape(operator.encode())
    return rb"\b" + text + rb"\b" if operator.isalpha() else rb"(?<![<>=!*/])" + text + rb"(?![<>=*/])"


def _is_integer(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


def _near(value):
    """One more, one less, and one digit more or less: the slips of a hand that types a number."""
    yield value + 1
    if value > 0:
        yield value - 1
        yield value * 10
    if value >= 10 and value % 10 == 0:
        yield value // 10


def _like(old, value):
    """Writes `value` in the manner of `old`: `5_00` groups cents, `10_000` groups thousands."""
    if re.fullmatch(r"\d+_\d\d", old):
        return f"{value // 100}_{value % 100:02d}"
    return f"{value:_}" if "_" in old else str(value)


def _sibling_functions(tree):
    """Map a function's name to those that could stand in its place."""
    groups = [
        [alias.asname or alias.name for alias in node.names if (alias.asname or alias.name).islower()]
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    ]
    by_arity = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            by_arity.setdefault(len(node.args.args), []).append(node.name)
    siblings = {}
    for group in [*groups, *by_arity.values()]:
        for name in group:
            siblings.setdefault(name, []).extend(other for other in group if other != name)
    return siblings
