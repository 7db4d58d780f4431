"""Random secrets, and the spellings of a secret that programs write."""
import base64, json, random, urllib.parse

HARD = "/<&+\"\\é😀 \n\r\t%=-_'`$uxF5{}[]:,.;|~"
EASY = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def secret(seed):
    """From 8 to 400 bytes; every fourth one a short one that can stand in a file's name."""
    rng = random.Random(seed)
    letters = HARD.replace("/", "") if seed % 4 == 0 else HARD
    most = 24 if seed % 4 == 0 else rng.choice([30, 120, 400])
    length, text = rng.randint(7, most), rng.choice(EASY)
    while len(text) < length:
        text += rng.choice(letters if rng.random() < 0.4 else EASY)
    while len(text.encode()) > 399:
        text = text[:-1]
    return text + rng.choice(EASY)


def inner(document):
    return document[1:-1]


def mixed(text, rng):
    """Each character by a way of its own."""
    out = ""
    for char in text:
        units = memoryview(char.encode("utf-16-le")).cast("H")
        ways = [char] * 3 + ["".join("\\u%04x" % unit for unit in units), "".join("\\u%04X" % unit for unit in units)]
        ways += [urllib.parse.quote(char, safe=""), inner(json.dumps(char)), "".join("%%%02x" % byte for byte in char.encode())]
        ways += ["\\/"] if char == "/" else []
        out += rng.choice(ways)
    return out


def seldom(text):
    """As fewer programs write it: Python's quote, and JSON that escapes more signs than it must."""
    document = inner(json.dumps(text, ensure_ascii=False))
    return [urllib.parse.quote(text), "".join("\\u%04X" % ord(char) if char in "+'=&<>" else char for char in document)]


def seldom_in_base64(text):
    befores = ("", "a", "bc", "{\"t\":\"")
    return [base64.b64encode((before + content + "z").encode()).decode() for before in befores for content in seldom(text)]


def forms(text, seed=0):
    rng = random.Random(seed)
    ascii, wide = inner(json.dumps(text)), inner(json.dumps(text, ensure_ascii=False))
    go = wide.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    units = memoryview(text.encode("utf-16-le")).cast("H")
    plain = [
        text, ascii, wide, go, ascii.replace("/", "\\/"), wide.replace("/", "\\/"),
        "".join("\\u%04x" % unit for unit in units), "".join("\\u%04X" % unit for unit in units),
        urllib.parse.quote(text, safe=""), urllib.parse.quote(text), urllib.parse.quote_plus(text),
        "".join("%%%02x" % byte for byte in text.encode()), inner(repr(text)), repr(text.encode())[2:-1],
        mixed(text, rng), mixed(text, rng),
        inner(json.dumps(ascii)), urllib.parse.quote(ascii, safe=""), urllib.parse.quote(urllib.parse.quote(text, safe="")),
    ]
    encoded = []
    for before in ("", "a", "bc", "{\"t\":\""):
        for after in ("", "z"):
            for content in (text, ascii, wide.replace("/", "\\/")):
                content = (before + content + after).encode()
                letters = base64.b64encode(content).decode()
                encoded += [letters, base64.urlsafe_b64encode(content).decode().rstrip("="), base64.encodebytes(content).decode()]
                encoded += [letters.replace("/", "\\/"), urllib.parse.quote(letters, safe="")]
    return plain, encoded


def traces(text, seed=0):
    """What is left of a form in any file. Of base64 the letters that the secret alone decides."""
    plain, _ = forms(text, seed)
    found = set(plain) | {inner(json.dumps(form)) for form in plain} | {inner(json.dumps(form, ensure_ascii=False)) for form in plain}
    for spelling in {text, inner(json.dumps(text)), inner(json.dumps(text, ensure_ascii=False)).replace("/", "\\/"), *seldom(text)}:
        for before in range(3):
            letters = base64.b64encode(b"#" * before + spelling.encode()).decode().rstrip("=")
            core = letters[{0: 0, 1: 2, 2: 3}[before]:-1]
            for shape in (core, core.replace("+", "-").replace("/", "_"), core.replace("/", "\\/"), urllib.parse.quote(core, safe="")):
                # In lines, too: what stands in the middle of one.
                found |= {shape} | {core[at:at + 24] for at in range(0, max(len(core) - 24, 1), 20) if len(core) >= 24}
    return {trace.encode() for trace in found}
