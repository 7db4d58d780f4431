#!/bin/sh
# Every check of this package: install the compiler, build, test, pack, use the packed file, run a page. Works from any folder.
#
# Needs Node 20, npm, the binary that cargo has built (or $ENVOI), and a Chromium (or $CHROMIUM), which it installs where it may (root,
# apt-get). What is missing is a failure: nothing is left out.
set -eu
cd "$(dirname -- "$0")"

fail() {
    echo "sdk/typescript/check.sh: $*" >&2
    exit 1
}

if [ -z "${ENVOI:-}" ]; then
    ENVOI=${CARGO_TARGET_DIR:-$PWD/../../target}/debug/envoi
fi
[ -x "$ENVOI" ] || fail "the binary is missing: cargo build --bin envoi, or name one as \$ENVOI"
export ENVOI

find_chromium() {
    for name in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
        # Some packages of that name only say that another one is needed.
        if "$name" --version >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# Where it may (root, apt-get). Not of a pinned version: apt has one, which is today's.
# Before the work of minutes.
browser=$(find_chromium) || { ../../tests/install.sh chromium && browser=$(find_chromium); } ||
    fail "Chromium is missing and cannot be installed from here: apt-get install chromium, or name a browser as \$CHROMIUM"

npm ci --silent
npm run --silent build
npm test --silent
node build/packed.js
node build/browser.js "$browser"
