#!/bin/sh
# Every check of the web page: types, the committed files against the sources, the tests in a browser. Works from any folder.
#
# Needs Node 20, npm, the binary that cargo has built (or $ENVOI), and a Chromium (or $CHROMIUM), which it installs where it may (root,
# apt-get). What is missing is a failure: nothing is left out. With $SHOTS, a folder, pictures of the screens are put there.
set -eu
cd "$(dirname -- "$0")"

fail() {
    echo "page/check.sh: $*" >&2
    exit 1
}

if [ -z "${ENVOI:-}" ]; then
    ENVOI=${CARGO_TARGET_DIR:-$PWD/../target}/debug/envoi
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

CHROMIUM=$(find_chromium) || { ../tests/install.sh chromium && CHROMIUM=$(find_chromium); } ||
    fail "Chromium is missing and cannot be installed from here: apt-get install chromium, or name a browser as \$CHROMIUM"
export CHROMIUM

npm ci --silent --ignore-scripts
npm run --silent types

# What is in the binary is what the sources make, byte for byte.
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
node build.js "$built"
for file in index.html app.js app.css icon.svg; do
    cmp "$built/$file" "../crates/server/page/$file" || fail "$file is not what the sources make: npm run build, then commit"
done
bytes=$(cat "$built"/* | gzip -9 | wc -c)
[ "$bytes" -le 102400 ] || fail "the page has $bytes bytes, compressed; at most 102400"
echo "the page: $bytes bytes, compressed"

npm test --silent
