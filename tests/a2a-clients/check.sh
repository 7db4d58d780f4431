#!/bin/sh
# Drives `envoi serve` with the A2A clients that others use: the SDKs of Python and JavaScript, each in every version and
# binding of the protocol that it speaks. Works from any folder; needs python3 (3.10 or later) with venv, Node 20 with npm, and,
# the first time, their registries.
#
# $ENVOI is the binary to use; without it, the one that cargo has built. With --heavy, also WayFlow (wayflow.sh).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
ENVOI=${ENVOI:-$target/debug/envoi}
export ENVOI

scratch=$(mktemp -d)
STAGE=$scratch/stage
export STAGE
trap '"$here/server.sh" stop; rm -rf "$scratch" || true' EXIT
trap 'exit 1' INT TERM

# Exactly what requirements.txt says, in an environment that is made anew when that changes.
venv=$target/a2a-clients/python
if ! cmp -s "$here/python/requirements.txt" "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/python/requirements.txt"
    cp "$here/python/requirements.txt" "$venv/installed.txt"
fi
(cd "$here/javascript" && npm ci --silent)

"$here/server.sh" start
URL=$(cat "$STAGE/url")
TOKEN=$(cat "$STAGE/token")
CRASH="'$here/server.sh' crash"
export URL TOKEN CRASH
python3 - "$here/flow.yaml" <<'END'
import os, sys, urllib.request
headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
flow = open(sys.argv[1], "rb").read()
urllib.request.urlopen(urllib.request.Request(os.environ["URL"] + "/v1/flows", flow, headers)).read()
END

for way in 1.0-jsonrpc 1.0-rest 0.3-jsonrpc; do
    "$venv/bin/python" -B "$here/python/client.py" "$way"
    node "$here/javascript/client.mjs" "$way"
done
node "$here/javascript/older.mjs"

if [ "${1:-}" = --heavy ]; then
    "$here/wayflow.sh"
fi
echo "a2a-clients: every client got what it came for" >&2
