"""Writes a wheel with the binary and the Python library: wheel.py BINARY PLATFORM OUT.

The library is what sdk/python/build_backend makes. The binary goes to the folder of scripts, so that `pip` puts it on the path.
The same input gives the same bytes.
"""

import base64
import hashlib
import pathlib
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "sdk" / "python" / "build_backend"))

import pure_wheel  # noqa: E402

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip file knows."""


def main():
    binary, platform, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        pure = zipfile.ZipFile(pathlib.Path(scratch, pure_wheel.build_wheel(scratch)))
        stem = pure.filename.rsplit("/", 1)[-1].removesuffix("-py3-none-any.whl")
        files = {name: pure.read(name) for name in pure.namelist() if not name.endswith(".dist-info/RECORD")}
    script = f"{stem}.data/scripts/envoi"
    files[script] = binary.read_bytes()
    tag = f"py3-none-{platform}"
    wheel = f"Wheel-Version: 1.0\nGenerator: envoi\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{stem}.dist-info/WHEEL"] = wheel.encode()
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
    with zipfile.ZipFile(out / f"{stem}-{tag}.whl", "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if name == script else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def digest(content):
    """A SHA-256 as a wheel's record has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
