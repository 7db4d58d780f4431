import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import build
import publish


class Build(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def test_the_report_says_where_the_archive_is(self):
        build.compile_("mac", "1.0")
        with mock.patch.dict(os.environ, {"ENVOI_REPORT": "report.json"}):
            build.pack("mac", "1.0")
        archive = json.loads(Path("report.json").read_text())["data"]["archive"]
        self.assertEqual(Path(archive).read_text(), "mac 1.0\n")
        self.assertEqual(publish.listed([archive]), f"{archive}\n")

    def test_without_a_license_nothing_is_checked(self):
        with self.assertRaises(SystemExit):
            build.check("windows", "1.0")
        Path("licenses").mkdir()
        Path("licenses/windows.txt").write_text("a license\n")
        build.check("windows", "1.0")

    def test_an_archive_that_is_not_there_is_not_published(self):
        with self.assertRaises(SystemExit):
            publish.listed(["out/none.txt"])


if __name__ == "__main__":
    unittest.main()
