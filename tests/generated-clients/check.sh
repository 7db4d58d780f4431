#!/bin/sh
# Makes a client of spec/openapi.json with the generators that others use, checks its types, and drives a server with it. Works
# from any folder; needs python3 (3.10 or later) with venv, Node 20 with npm, and, the first time, their registries.
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Everything is made below target/.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
ENVOI=${ENVOI:-$target/debug/envoi}
export ENVOI
document=$here/../../spec/openapi.json
server=$here/../a2a-clients/server.sh

scratch=$(mktemp -d)
STAGE=$scratch/stage
export STAGE
trap '"$server" stop; rm -rf "$scratch" || true' EXIT
trap 'exit 1' INT TERM

# A generator that leaves something out says so, and goes on: that is a failure here, but for the two texts that are no JSON.
generate_python() {
    "$venv/bin/openapi-python-client" generate --meta none --path "$document" --output-path "$made/envoi_client" --overwrite >"$scratch/said" 2>&1 ||
        { cat "$scratch/said" >&2; return 1; }
    if grep -E 'Endpoint will not be generated|has resulted in the removal' "$scratch/said" >&2; then
        cat "$scratch/said" >&2
        return 1
    fi
}

# Exactly what requirements.txt says, in an environment that is made anew when that changes.
made=$target/generated-clients/python
venv=$made/venv
mkdir -p "$made"
if ! cmp -s "$here/python/requirements.txt" "$venv/installed.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/python/requirements.txt"
    cp "$here/python/requirements.txt" "$venv/installed.txt"
fi
rm -rf "$made/envoi_client"
generate_python
cp "$here/python/start.py" "$made/start.py"
# What is generated has its own mistakes in types; how it is used here is what counts.
(cd "$made" && "$venv/bin/mypy" --strict --no-error-summary --follow-imports=silent --cache-dir "$made/mypy" start.py)

node=$target/generated-clients/typescript
mkdir -p "$node"
if ! cmp -s "$here/typescript/package-lock.json" "$node/installed.json"; then
    cp "$here/typescript/package.json" "$here/typescript/package-lock.json" "$here/typescript/.npmrc" "$node"
    (cd "$node" && npm ci --silent)
    cp "$here/typescript/package-lock.json" "$node/installed.json"
fi
cp "$here/typescript/tsconfig.json" "$here/typescript/start.ts" "$node"
(cd "$node" && node_modules/.bin/openapi-typescript "$document" -o api.ts >"$scratch/said" 2>&1) || { cat "$scratch/said" >&2; exit 1; }
(cd "$node" && node_modules/.bin/tsc)

"$server" start
url=$(cat "$STAGE/url")
token=$(cat "$STAGE/token")
curl -sfS -o "$scratch/registered" -H "Authorization: Bearer $token" --data-binary "@$here/flow.yaml" "$url/v1/flows"
(cd "$made" && "$venv/bin/python" -B start.py "$url" "$token")
node "$node/build/start.js" "$url" "$token"
