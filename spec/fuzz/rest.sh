#!/bin/sh
# Asks a running server what its OpenAPI document says can be asked, and much that cannot: rest.sh [EXAMPLES [SEED]].
#
# Builds the binary unless $ENVOI names one. Schemathesis, as pinned in requirements.txt, is put into target/ at the first
# call and whenever that file changes. The same SEED asks the same. See rest.py.
set -eu
cd "$(dirname -- "$0")/../.."
TARGET=${CARGO_TARGET_DIR:-$PWD/target}
if [ -z "${ENVOI:-}" ]; then
    cargo build --locked --quiet --bin envoi
    ENVOI=$TARGET/debug/envoi
fi
VENV=$TARGET/schemathesis
if ! cmp -s spec/fuzz/requirements.txt "$VENV/requirements.txt"; then
    rm -rf "$VENV"
    "${PYTHON:-python3}" -m venv "$VENV"
    "$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps -r spec/fuzz/requirements.txt
    cp spec/fuzz/requirements.txt "$VENV/requirements.txt"
fi
exec "$VENV/bin/python" -B spec/fuzz/rest.py --envoi "$ENVOI" --schemathesis "$VENV/bin/schemathesis" "$@"
