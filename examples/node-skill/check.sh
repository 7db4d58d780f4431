#!/bin/sh
# Runs the example to both of its ends. Needs Node 20 and the built package (`npm ci && npm run build` in sdk/typescript).
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Works from any folder.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$here/../../target}/debug/envoi}

scratch=$(mktemp -d)
# A step that outlives what started it may still write: what cannot be removed is no fault of the check.
trap 'rm -rf "$scratch" || true' EXIT INT TERM
mkdir -p "$scratch/examples" "$scratch/sdk/typescript"
cp -R "$here" "$scratch/examples/node-skill"
cp -R "$here/../../sdk/typescript/dist" "$here/../../sdk/typescript/package.json" "$scratch/sdk/typescript/"
cd "$scratch/examples/node-skill"
export ENVOI_HOME="$PWD/.envoi"

fail() {
    echo "node-skill: $*" >&2
    exit 1
}

"$ENVOI" run flow.yaml >good.txt 2>&1 || fail "the run failed: $(cat good.txt)"
"$ENVOI" show --handoff note | grep -q '"links succeeded: 4 links are good' || fail "the note is not what it should be"

echo 'See [the end](the-end.md).' >>docs/guide.md
if "$ENVOI" run flow.yaml >bad.txt 2>&1; then
    fail "a broken link was not noticed"
fi
"$ENVOI" show | grep -q 'BROKEN_LINK.*guide.md to the-end.md' || fail "the failure does not say why: $("$ENVOI" show)"
# Of all these runs.
python3 -B "$here/../handoffs.py" "$scratch"
echo "node-skill: both ends reached" >&2
