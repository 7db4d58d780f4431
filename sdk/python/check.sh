#!/bin/sh
# Every check of the Python library. Works from any folder; needs python3 (3.10 or later) with pip, venv and setuptools.
#
# The type checker, as pinned in check-requirements.txt, is put into target/ at the first call and whenever that file changes;
# else no network is needed. What this library writes is compared with what the binary writes, byte by byte: $ENVOI, or the one that
# cargo has built. Without one the check fails.
set -eu
cd "$(dirname -- "$0")"
if [ -z "${ENVOI:-}" ]; then
    ENVOI=${CARGO_TARGET_DIR:-$PWD/../../target}/debug/envoi
fi
if [ ! -x "$ENVOI" ]; then
    echo "sdk/python/check.sh: the binary is missing: cargo build --bin envoi, or name one as \$ENVOI" >&2
    exit 1
fi
export ENVOI
PYTHON=${PYTHON:-python3}
MYPY=${CARGO_TARGET_DIR:-$PWD/../../target}/mypy
if ! cmp -s check-requirements.txt "$MYPY/installed.txt"; then
    rm -rf "$MYPY"
    "$PYTHON" -m venv "$MYPY"
    "$MYPY/bin/pip" install --quiet --disable-pip-version-check --no-deps -r check-requirements.txt
    cp check-requirements.txt "$MYPY/installed.txt"
fi
PYTHONPATH=$PWD/src
export PYTHONPATH

"$PYTHON" -B -W error -c 'import envoi'
"$MYPY/bin/python" -m mypy --cache-dir "$MYPY/cache"
"$PYTHON" -B -m envoi.conformance ../../spec/vectors/*.json
"$PYTHON" -B -m unittest discover -t . -s tests "$@"
