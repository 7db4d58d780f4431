#!/bin/sh
# `model:` steps against the server of llama.cpp, with a small model of random weights that is made here (model.py). The server counts for
# itself what it was asked and what it answered. All of it has the loopback alone, where the machine lets its user have a network of its own.
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Works from any folder; needs python3 (3.10 or later) with venv and,
# the first time, PyPI: everything is installed in the versions of requirements.txt into a folder that is kept, envoi/llama in the cache of the user.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
envoi=${ENVOI:-${CARGO_TARGET_DIR:-$here/../../target}/debug/envoi}
[ -x "$envoi" ] || { echo "tests/llama/check.sh: $envoi is missing; build it: cargo build --bin envoi" >&2; exit 1; }

venv=${XDG_CACHE_HOME:-$HOME/.cache}/envoi/llama
if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    # The packages of the platform are whole: nothing is built.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/installed.txt"
fi
exec "$venv/bin/python" -B "$here/story.py" "$envoi"
