#!/bin/sh
# Every check of this package: install the compiler, build, test, pack, use the packed file. Works from any folder.
#
# $ENVOI names the binary to compare with; without it, the one that cargo has built, if there is one.
set -eu
cd "$(dirname -- "$0")"
if [ -z "${ENVOI:-}" ]; then
    built=${CARGO_TARGET_DIR:-$PWD/../../target}/debug/envoi
    [ ! -x "$built" ] || ENVOI=$built
fi
[ -z "${ENVOI:-}" ] || export ENVOI

npm ci --silent
npm run --silent build
npm test --silent
node build/packed.js
