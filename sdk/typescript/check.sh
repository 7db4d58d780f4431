#!/bin/sh
# Every check of this package: install the compiler, build, test, pack, use the packed file, run a page. Works from any folder.
#
# $ENVOI names the binary to compare with; without it, the one that cargo has built, if there is one. $CHROMIUM names the browser.
set -eu
cd "$(dirname -- "$0")"
if [ -z "${ENVOI:-}" ]; then
    built=${CARGO_TARGET_DIR:-$PWD/../../target}/debug/envoi
    [ ! -x "$built" ] || ENVOI=$built
fi
[ -z "${ENVOI:-}" ] || export ENVOI

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
install_chromium() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return 1; fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
}

npm ci --silent
npm run --silent build
npm test --silent
node build/packed.js
if browser=$(find_chromium) || { install_chromium && browser=$(find_chromium); }; then
    node build/browser.js "$browser"
else
    echo "sdk/typescript/check.sh: no page was run: Chromium is missing and cannot be installed from here" >&2
fi
