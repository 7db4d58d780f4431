"""Breaks documents. Each way says whether what comes out can be one still; most cannot.

Some break a value before it is spelled, so that all around it stays right; the others break the text.
"""

from spelling import Chance, Number, Object, Raw, spell

NO_COUNTS = tuple(map(Number, ("-1", "1.5", "9007199254740992", "9007199254740992.0", "1e16", "-1e-400", "1e400", "1e-1", "9007199254740990.5", "1" * 30)))
NO_TIMES = (
    "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00+24:00", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+01:00Z", "2026-01-01T00:00:00+0100", "2026-00-01T00:00:00Z",
    "٢026-01-01T00:00:00Z", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n", "2026-01-01T00:00:00+00:60", "2026-01-01_00:00:00Z", "today",
)  # fmt: skip
WRONG = (
    None, True, "", "text", [], [None], ["a", 1], Object(), Object([("a", 1)]), *NO_COUNTS, *NO_TIMES[:4],
    "COMPLETED ", "Pending", "dance", "K", "/x", "../x", "a//b", "C:/x", "a\\b", "f/", "high",
)  # fmt: skip
TOKENS = (
    "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "1.", ".5", "-", "-.5", "1e", "1e+", "0x10", "1_000", "1.e5", "00", "--1", "1e5.0", "٣", "1d", "truex",
    "tru", "True", "None", "undefined", "nul", "'a'", "NULL",
)  # fmt: skip
STRINGS = (
    b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\ud800"', b'"\\udc00\\ud800"', b'"\\udc00\\udc00"', b'"\\udbff\\udbff"', b'"\\ud83d x"', b'"\\ud83d\\n"', b'"\\u12"', b'"\\u12g4"', b'"\\x41"', b'"\\a"',
    b'"\n"', b'"\t"', b'"\x00"', b'"\x1f"', b'"open', b'"\\', b'"\\"', b'"\\u', b'"\\ud83d\\u"', b'"\\ud83d\\u00"', b'"\\U0041"', b'"\\ud83d\\ude0"',
)  # fmt: skip
BYTES = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xf8\x88\x80\x80\x80", b"\xc1\xbf")
BEHIND = (b" {}", b"null", b",", b"]", b"}", b"\x00", b"\xc2\xa0", b"\xef\xbb\xbf", b"// x", b"1", b"\x0b", b"\x0c")
BEFORE = (b"\xef\xbb\xbf", b"\xc2\xa0", b"\x0b", b"\x0c", b"/**/", b"\x00", b",", b")]}',\n", b"\xff\xfe")
PIECES = (
    ",", ":", '"', "{", "}", "[", "]", "\\", "\\u", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "0", "-", ".", "e", "E+", "tru", "null", "\n", "\r\n", "\x01",
    "é", "𝕏", '"a":1,', '"a":1,"a":2,', "\ufeff", "\xa0", "1e9", "00", "[[", "]]",
)  # fmt: skip


def places(value: object) -> list:
    """Every container with each of its keys."""
    found = []
    if isinstance(value, (Object, list)):
        for index, element in enumerate(value):
            found.append((value, index))
            found += places(element[1] if isinstance(value, Object) else element)
    return found


def put(container: list, index: int, new: object) -> None:
    container[index] = (container[index][0], new) if isinstance(container, Object) else new


def wrong_member(value: Object, chance: Chance) -> None:
    """A member of the document, or of what stands in it, gets a value that may be none for it."""
    near = [(value, index) for index in range(len(value))]
    container, index = chance.of(places(value) if chance.once(3) else near)
    old = container[index][1] if isinstance(container, Object) else container[index]
    like = NO_COUNTS if isinstance(old, Number) else NO_TIMES if isinstance(old, str) and old[4:5] == "-" else WRONG
    put(container, index, chance.of(WRONG if chance.once(3) else like))


def missing_member(value: Object, chance: Chance) -> None:
    value.pop(chance.below(len(value)))


def odd_name(value: Object, chance: Chance) -> None:
    """A member that the contract may not know, or that it knows and that says something else."""
    value.insert(chance.below(len(value) + 1), (chance.of(("x", "Ok", "text ", "")), chance.of(WRONG)))


def second_member(value: Object, chance: Chance) -> None:
    """A name twice, the second time in another spelling, maybe."""
    objects = [each for each in everything(value) if isinstance(each, Object) and each]
    of = chance.of(objects)
    again = (chance.of(of)[0], chance.of((None, "x", Number("1"))))
    of.insert(chance.below(len(of) + 1), again)


def everything(value: object) -> list:
    """A value and all that stands in it."""
    if isinstance(value, Object):
        return [value, *(each for _, member in value for each in everything(member))]
    return [value, *(each for element in value for each in everything(element))] if isinstance(value, list) else [value]


def too_deep(value: Object, chance: Chance) -> None:
    nested: object = chance.of((None, [], Object()))
    for _ in range(127 + chance.below(3)):
        nested = [nested] if chance.once(2) else Object([("a", nested)])
    value.insert(chance.below(len(value) + 1), ("deep", nested))


def bad_token(value: Object, chance: Chance) -> None:
    put(*chance.of(places(value)), Number(chance.of(TOKENS)))


def bad_string(value: Object, chance: Chance) -> None:
    put(*chance.of(places(value)), Raw(chance.of(STRINGS)))


def bad_name(value: Object, chance: Chance) -> None:
    objects = [each for each in everything(value) if isinstance(each, Object) and each]
    of = chance.of(objects)
    index = chance.below(len(of))
    of[index] = (Raw(chance.of((*STRINGS, b"a", b"'a'", b"1", b"null", b""))), of[index][1])


def bad_bytes(value: Object, chance: Chance) -> None:
    put(*chance.of(places(value)), Raw(b'"a' + chance.of(BYTES) + chance.of((b"", b"b\n")) + b'"'))


def trailing_comma(text: bytes, chance: Chance) -> bytes:
    return text.rstrip()[:-1] + b"," + text.rstrip()[-1:]


def cut(text: bytes, chance: Chance) -> bytes:
    """The beginning of a document; not in the middle of a scalar, which is another story."""
    whole = text.decode().rstrip()
    return whole[: chance.below(len(whole))].encode()


def something_behind(text: bytes, chance: Chance) -> bytes:
    return text + chance.of(BEHIND)


def something_before(text: bytes, chance: Chance) -> bytes:
    return chance.of(BEFORE) + text


def scattered(text: bytes, chance: Chance) -> bytes:
    """Pieces of JSON put here and there, over what stood there."""
    broken = text.decode()
    for _ in range(1 + chance.below(3)):
        at = chance.below(len(broken) + 1)
        broken = broken[:at] + chance.of(PIECES) + broken[at + chance.below(3) :]
    return broken.encode()


IN_VALUES = {each.__name__: each for each in (wrong_member, missing_member, odd_name, second_member, too_deep, bad_token, bad_string, bad_name, bad_bytes)}
IN_TEXT = {each.__name__: each for each in (trailing_comma, cut, something_behind, something_before, scattered)}
MAY_BE_ONE_STILL = {"wrong_member", "missing_member", "odd_name", "scattered"}


def broken(value: Object, chance: Chance) -> tuple:
    """How it was broken, and the text. `value` is changed."""
    how = chance.of(("wrong_member", "wrong_member", "wrong_member", *IN_VALUES, *IN_TEXT))
    if how in IN_VALUES:
        IN_VALUES[how](value, chance)
        return how, spell(value, chance, chance.once(2))
    return how, IN_TEXT[how](spell(value, chance, chance.once(2)), chance)
