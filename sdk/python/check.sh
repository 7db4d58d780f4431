#!/bin/sh
# Every check of the Python library. Works from any folder; needs python3 (3.10 or later) with pip and setuptools, no network.
#
# With $ENVOI (the binary), what this library writes is compared with what the binary writes, byte by byte.
set -eu
cd "$(dirname -- "$0")"
PYTHON=${PYTHON:-python3}
PYTHONPATH=$PWD/src
export PYTHONPATH

"$PYTHON" -B -W error -c 'import envoi'
"$PYTHON" -B -m envoi.conformance ../../spec/vectors/*.json
"$PYTHON" -B -m unittest discover -t . -s tests "$@"
if "$PYTHON" -m mypy --version >/dev/null 2>&1; then
    "$PYTHON" -m mypy
fi
