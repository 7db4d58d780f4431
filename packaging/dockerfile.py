"""Checks what can be known of the Dockerfile without Docker: dockerfile.py ROOT.

What it copies is in the checkout and in no rule of .dockerignore, or is made by the stage that it names; the compiler is the one that
Cargo.toml asks for; the binary runs where it was built, because both stages have one Debian.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys


def instructions(text):
    """Yield (word, rest) of each instruction, with its continued lines."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word.upper(), rest.strip()


def is_left_out(path, rules):
    """Whether .dockerignore leaves out a file, or a folder that it lies in."""
    parts = path.split("/")
    above = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    plain = [rule for rule in rules if not rule.startswith("**/")]
    anywhere = [rule[3:] for rule in rules if rule.startswith("**/")]
    return any(fnmatch.fnmatch(name, rule) for name in above for rule in plain) or any(
        fnmatch.fnmatch(part, rule) for part in parts for rule in anywhere
    )


def mistakes(root):
    """Yield a sentence for each mistake."""
    text = (root / "packaging/Dockerfile").read_text("utf-8")
    ignored = (root / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line.strip() for line in ignored if line.strip() and not line.startswith("#")]
    tracked = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True, text=True)
    files = [path for path in tracked.stdout.split("\0") if path]
    yield from (f".dockerignore leaves out {path}" for path in files if is_left_out(path, rules))
    stages, bases, current = {}, [], ""
    for word, rest in instructions(text):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            bases.append(base)
            stages[name] = ""
            current = name
        elif word == "RUN":
            stages[current] += rest + "\n"
        elif word in ("COPY", "ADD"):
            words = rest.split()
            source = [part[len("--from=") :] for part in words if part.startswith("--from=")]
            paths = [part for part in words if not part.startswith("--")][:-1]
            for path in paths:
                if not source and not (root / path).exists():
                    yield f"COPY {path}: it is not in the checkout"
                elif source and source[0] not in stages:
                    yield f"COPY {path}: there is no stage {source[0]}"
                elif source and path.removeprefix("/src/") not in stages[source[0]]:
                    yield f"COPY {path}: nothing in stage {source[0]} makes it"
    wanted = re.search(r'^rust-version = "(.*)"', (root / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[1]
    if not bases[0].startswith(f"rust:{wanted}-"):
        yield f"FROM {bases[0]}: Cargo.toml asks for Rust {wanted}"
    release = bases[0].rpartition("-")[2]
    if bases[-1] != f"debian:{release}-slim":
        yield f"FROM {bases[-1]}: the binary is built on Debian {release}"


if __name__ == "__main__":
    found = list(mistakes(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "the Dockerfile fits the checkout")
    sys.exit(bool(found))
