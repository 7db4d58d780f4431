#!/bin/sh
# Carries generated documents through Rust, Python and TypeScript, twice, and compares every byte: chain.sh [COUNT [SEED]].
#
# Builds what it needs. COUNT is 10000 unless given; the same SEED gives the same documents. See chain.py.
set -eu
cd "$(dirname -- "$0")/../.."
cargo build --locked --quiet --workspace --example passage
if [ ! -d sdk/typescript/node_modules ]; then
    (cd sdk/typescript && npm ci --silent)
fi
(cd sdk/typescript && npm run --silent build)
PYTHONPATH=$PWD/sdk/python/src
export PYTHONPATH
exec "${PYTHON:-python3}" -B spec/fuzz/chain.py --rust "${CARGO_TARGET_DIR:-$PWD/target}/debug/examples/passage" "$@"
