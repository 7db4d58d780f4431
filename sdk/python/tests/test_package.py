"""The wheel: built without the network from a copy outside the repository, installed from the file, and the README's examples run
with it."""

import ast
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Mapping

import envoi
from tests.served import ENVOI, Served

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
VECTORS = ROOT.parent.parent / "spec" / "vectors"


def examples(*, served: bool) -> str:
    """The Python blocks of the README, as one program; those that need a server only where there is one."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    fence = r"```python(?: server)?\n(.*?)```" if served else r"```python\n(.*?)```"
    return "\n".join(re.findall(fence, readme, re.DOTALL))


class TheNames(unittest.TestCase):
    def test_what_a_package_takes_from_its_modules_it_exports(self) -> None:
        # Strict type checkers refuse the import of anything else.
        for file in (ROOT / "src").rglob("__init__.py"):
            imports = [each for each in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(each, ast.ImportFrom)]
            taken = {each.asname or each.name for one in imports if one.level for each in one.names}
            package = import_module(".".join(file.parent.relative_to(ROOT / "src").parts))
            self.assertEqual(taken - set(package.__all__ if taken else ()), set(), package.__name__)


class TheWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.copy = Path(shutil.copytree(ROOT, cls.folder / "a copy é", ignore=shutil.ignore_patterns("tests", "__pycache__")))
        cls.run_command([*PIP, "wheel", "--no-deps", "--no-index", "--wheel-dir", cls.folder, cls.copy])
        (cls.wheel,) = cls.folder.glob("envoi-*.whl")
        venv.create(cls.folder / "venv", with_pip=False)
        cls.python = cls.folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        cls.run_command([*PIP, "--python", cls.python, "install", "--no-deps", "--no-index", cls.wheel])

    @classmethod
    def run_command(cls, command: list, more: Mapping[str, str] = {}) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(cls.folder), "PYTHONDONTWRITEBYTECODE": "1", **more}
        run = subprocess.run(
            list(map(str, command)), cwd=cls.folder, env=environment, capture_output=True, text=True, encoding="utf-8"
        )
        if run.returncode != 0:
            raise AssertionError(f"{command}: {run.stdout}{run.stderr}")
        return run

    def test_the_wheel_is_pure_and_typed_and_has_every_module(self) -> None:
        names = set(zipfile.ZipFile(self.wheel).namelist())
        modules = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("*.py")}
        self.assertLessEqual(modules | {"envoi/py.typed"}, names)
        self.assertTrue(self.wheel.name.endswith("-py3-none-any.whl"), self.wheel.name)
        licences = {name.rpartition("/")[2]: zipfile.ZipFile(self.wheel).read(name) for name in names if "/licenses/" in name}
        for package in (ROOT, ROOT.parent / "typescript"):
            for name in ("LICENSE-APACHE", "LICENSE-MIT"):
                self.assertEqual((package / name).read_bytes(), (ROOT.parent.parent / name).read_bytes(), f"{package}: {name}")
                self.assertEqual(licences[name], (package / name).read_bytes())
        metadata = next(name for name in names if name.endswith("/METADATA"))
        self.assertNotIn("Requires-Dist", zipfile.ZipFile(self.wheel).read(metadata).decode())

    def test_the_same_sources_give_the_same_wheel(self) -> None:
        again = self.folder / "again"
        self.run_command([*PIP, "wheel", "--no-deps", "--no-index", "--wheel-dir", again, ROOT])
        self.assertEqual((again / self.wheel.name).read_bytes(), self.wheel.read_bytes())

    def test_the_source_archive_gives_the_same_wheel(self) -> None:
        again = self.folder / "from-archive"
        make = "import sys; sys.path.insert(0, sys.argv[1]); import pure_wheel; print(pure_wheel.build_sdist(sys.argv[2]))"
        made = self.run_command([self.python, "-c", make, self.copy / "build_backend", self.folder])
        archive = self.folder / made.stdout.strip()
        self.run_command([*PIP, "wheel", "--no-deps", "--no-index", "--wheel-dir", again, archive])
        self.assertEqual((again / self.wheel.name).read_bytes(), self.wheel.read_bytes())

    def test_it_can_be_installed_to_be_worked_on(self) -> None:
        copy = Path(shutil.copytree(self.copy, self.folder / "to be worked on é"))
        venv.create(self.folder / "editable", with_pip=False)
        python = self.folder / "editable" / self.python.relative_to(self.folder / "venv")
        self.run_command([*PIP, "--python", python, "install", "--no-deps", "--no-index", "-e", copy])
        (copy / "src" / "envoi" / "added.py").write_text("", encoding="utf-8")
        show = "import envoi.added, importlib.metadata as m; print(envoi.__file__, m.version('envoi'))"
        run = self.run_command([python, "-X", "utf8", "-c", show])
        self.assertEqual(run.stdout.strip(), f"{copy / 'src' / 'envoi' / '__init__.py'} {envoi.__version__}")
        self.run_command([*PIP, "--python", python, "uninstall", "--yes", "envoi"])
        self.assertEqual(list((self.folder / "editable").rglob("*envoi*")), [])

    def test_the_examples_of_the_readme_run_as_installed(self) -> None:
        self.run_examples(served=False)

    @unittest.skipUnless(ENVOI, "ENVOI does not name the binary")
    def test_the_examples_of_the_client_run_as_installed(self) -> None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            served = Served(Path(folder))
            try:
                self.run_examples(served=True, ENVOI_URL=served.url, ENVOI_TOKEN=str(served.first))
            finally:
                served.kill()

    def run_examples(self, *, served: bool, **environment: str) -> None:
        program = self.folder / "readme.py"
        program.write_text(examples(served=served), encoding="utf-8")
        run = self.run_command([self.python, "-W", "error", program], environment)
        self.assertIn("mail-triage: ok", run.stdout)

    def test_the_installed_package_passes_the_vectors(self) -> None:
        run = self.run_command([self.python, "-m", "envoi.conformance", *sorted(VECTORS.glob("*.json"))])
        self.assertRegex(run.stdout, r"\A[1-9]\d* passed, 0 failed\n\Z")


if __name__ == "__main__":
    unittest.main()
