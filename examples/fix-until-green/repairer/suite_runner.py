"""The process in which the tests run: `suite_runner.py PACKAGE trace|plain`, the result as JSON on stdout."""

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path


class Recorder(unittest.TestResult):
    """Notes how each test ended and, if asked to trace, the lines of the package that it ran."""

    def __init__(self, package, trace):
        super().__init__()
        self._package = str(package) + "/"
        self._tests = str(package / "tests") + "/"
        self._trace = trace
        self.ended = {}
        self.lines = {}
        self._current = set()

    def startTest(self, test):
        super().startTest(test)
        self.ended[test.id()] = True
        if self._trace:
            self._current = self.lines[test.id()] = set()
            sys.settrace(self._enter)

    def stopTest(self, test):
        sys.settrace(None)
        super().stopTest(test)

    def addFailure(self, test, err):
        self.ended[test.id()] = False

    def addError(self, test, err):
        self.ended[test.id()] = False  # also a test that could not be loaded, or a setUpClass

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.ended[test.id()] = False

    def addUnexpectedSuccess(self, test):
        self.ended[test.id()] = False

    def addSkip(self, test, reason):
        self.ended.pop(test.id(), None)  # neither passed nor failed

    def _enter(self, frame, event, argument):
        file = frame.f_code.co_filename
        if file.startswith(self._package) and not file.startswith(self._tests):
            self._current.add((file[len(self._package) :], frame.f_lineno))
            return self._line
        return None

    def _line(self, frame, event, argument):
        if event == "line":
            self._current.add((frame.f_code.co_filename[len(self._package) :], frame.f_lineno))
        return self._line


def main(package, mode):
    package = Path(package)
    sys.path[0] = str(package.parent)  # was the folder of this file, whose names must not hide the package's
    recorder = Recorder(package, trace=mode == "trace")
    with contextlib.redirect_stdout(io.StringIO()):
        loader = unittest.TestLoader()
        tests = loader.discover(str(package / "tests"), top_level_dir=str(package.parent))
        tests.run(recorder)
    answer = {
        "passed": sorted(test for test, passed in recorder.ended.items() if passed),
        "failed": sorted(test for test, passed in recorder.ended.items() if not passed),
        "lines": {test: sorted(lines) for test, lines in recorder.lines.items()},
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
