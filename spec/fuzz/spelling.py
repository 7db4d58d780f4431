"""Values as JSON text, spelled in every way that JSON allows. Uses no JSON library, so that none can agree with itself.

A value is None, True, False, a `str`, a `Number`, a `list`, or an `Object`: members in order, which may be twice there.
"""

import random


class Number(str):
    """A number as its token, right or wrong."""


class Object(list):
    """Members as pairs of name and value."""


class Raw(bytes):
    """What is written as it is, JSON or not."""


class Chance:
    """Chance with a seed. Only `random()` is asked: Python promises its sequence for every version."""

    def __init__(self, seed: object) -> None:
        self._source = random.Random(str(seed))

    def below(self, limit: int) -> int:
        return int(self._source.random() * limit)

    def once(self, times: int) -> bool:
        """True once in `times`."""
        return self.below(times) == 0

    def of(self, choices):
        return choices[self.below(len(choices))]

    def some(self, most: int, make) -> list:
        return [make() for _ in range(self.below(most + 1))]

    def shuffled(self, values: list) -> list:
        left, mixed = list(values), []
        while left:
            mixed.append(left.pop(self.below(len(left))))
        return mixed


def spell(value: object, chance: Chance, spaced: bool = True) -> bytes:
    """The value as JSON in UTF-8."""
    out: list = []
    _spell(value, chance, (lambda: _space(chance)) if spaced else (lambda: b""), out)
    return b"".join(out)


def _space(chance: Chance) -> bytes:
    return chance.of((b"", b"", b"", b"", b" ", b"\n", b"\t", b"\r\n", b"  "))


def _spell(value: object, chance: Chance, space, out: list) -> None:
    out.append(space())
    if isinstance(value, Raw):
        out.append(value)
    elif isinstance(value, Number):
        out.append(value.encode())
    elif isinstance(value, str):
        out.append(spell_text(value, chance))
    elif isinstance(value, Object):
        out.append(b"{")
        for index, (name, member) in enumerate(value):
            out += [b"," if index else b"", space(), name if isinstance(name, Raw) else spell_text(name, chance), space(), b":"]
            _spell(member, chance, space, out)
        out += [space(), b"}"]
    elif isinstance(value, list):
        out.append(b"[")
        for index, element in enumerate(value):
            out.append(b"," if index else b"")
            _spell(element, chance, space, out)
        out += [space(), b"]"]
    else:
        out.append({None: b"null", True: b"true", False: b"false"}[value])
    out.append(space())


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def spell_text(text: str, chance: Chance) -> bytes:
    """A string: what must be escaped is, what may be is now and then, as a pair of surrogates where it needs one."""
    out = ['"']
    for scalar in text:
        must = scalar < " " or scalar in '"\\'
        if must and scalar in SHORT and not chance.once(4):
            out.append(SHORT[scalar])
        elif must or chance.once(12):
            out.append(_escaped(scalar, chance))
        else:
            out.append("\\/" if scalar == "/" and chance.once(4) else scalar)
    return "".join([*out, '"']).encode()


def _escaped(scalar: str, chance: Chance) -> str:
    units = scalar.encode("utf-16-be")
    digits = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    return "".join(f"\\u{each.upper() if chance.once(2) else each}" for each in digits)
