#!/bin/sh
# WayFlow's agent of another system (A2AAgent, which speaks 0.3) drives the server; then its server is the agent of a step.
# Called by `check.sh --heavy`, which has started the server; heavy to install (88 packages).
#
# $WAYFLOW is a Python that has `wayflowcore[a2a]` already; without it, an environment is made.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
if [ -z "${WAYFLOW:-}" ]; then
    venv=$target/a2a-clients/wayflow
    WAYFLOW=$venv/bin/python
    if ! cmp -s "$here/wayflow/requirements.txt" "$venv/installed.txt"; then
        rm -rf "$venv"
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/wayflow/requirements.txt"
        cp "$here/wayflow/requirements.txt" "$venv/installed.txt"
    fi
fi
"$WAYFLOW" -B "$here/wayflow/client.py"
"$WAYFLOW" -B "$here/wayflow/step.py"
