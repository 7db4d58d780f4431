"""Builds the wheels and the source archive of this package (PEP 517, PEP 660), from the standard library alone.

A pure package needs a zip file with three more files in it. So building needs no download, and the same sources give the
same bytes.
"""

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file knows


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; its file name."""
    files = {str(file.relative_to(ROOT / "src").as_posix()): file.read_bytes() for file in sources()}
    return write_wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes a wheel that leads to the sources where they are (PEP 660); its file name."""
    return write_wheel(wheel_directory, {"__editable__.envoi.pth": f"{ROOT / 'src'}\n".encode()})


def write_wheel(wheel_directory, files):
    """Writes a wheel of these files, with what every wheel has; its file name."""
    project = read_project()
    stem = f"{project['name']}-{project['version']}"
    files[f"{stem}.dist-info/METADATA"] = metadata(project).encode()
    files[f"{stem}.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: pure_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files.update({f"{stem}.dist-info/licenses/{file.name}": file.read_bytes() for file in licences()})
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items()]
    record.append(f"{stem}.dist-info/RECORD,,")
    files[f"{stem}.dist-info/RECORD"] = "".join(f"{line}\n" for line in record).encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the source archive; its file name."""
    project = read_project()
    stem = f"{project['name']}-{project['version']}"
    own = [ROOT / "pyproject.toml", ROOT / "README.md", Path(__file__).resolve()]
    contents = {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in [*own, *sources()]}
    contents.update({file.name: file.read_bytes() for file in licences()})
    contents["PKG-INFO"] = metadata(project).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in contents.items():
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    Path(sdist_directory, f"{stem}.tar.gz").write_bytes(gzip.compress(archive.getvalue(), mtime=0))
    return f"{stem}.tar.gz"


def sources():
    """The files of the package, in one order."""
    package = ROOT / "src" / "envoi"
    return sorted(file for file in package.rglob("*") if file.suffix == ".py" or file.name == "py.typed")


def licences():
    """The texts of both licences. They stand in this folder, so that a copy of it builds wherever it is."""
    return [ROOT / name for name in LICENCES]


def read_project():
    """The members of `[project]` that are strings; Python 3.10 has no reader for more."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project]\n")[2].partition("\n[")[0]
    return dict(re.findall(r'^([a-z-]+) = "(.*)"$', section, re.MULTILINE))


def metadata(project):
    """What an index and an installer read."""
    readme = (ROOT / project["readme"]).read_text(encoding="utf-8")
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {project['name']}\n"
        f"Version: {project['version']}\n"
        f"Summary: {project['description']}\n"
        "License: Apache-2.0 OR MIT\n"
        + "".join(f"License-File: {name}\n" for name in LICENCES)
        + f"Requires-Python: {project['requires-python']}\n"
        "Classifier: Typing :: Typed\n"
        "Description-Content-Type: text/markdown\n"
        f"\n{readme}"
    )


def digest(content):
    """A SHA-256 as a wheel's record has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
