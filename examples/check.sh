#!/bin/sh
# Runs the tests of each example, then each example itself, on a copy, to the end that its README promises.
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Works from any folder.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$here/../target}/debug/envoi}
export ENVOI

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

fail() {
    echo "examples: $*" >&2
    exit 1
}

# Copy example $1 into a fresh folder with a store of its own, and go there.
fresh() {
    cp -R "$here/$1" "$scratch/$1-$2"
    cd "$scratch/$1-$2"
    export ENVOI_HOME="$PWD/.envoi"
}

for example in fix-until-green branch retry-soft-failure python-skill; do
    echo "-- tests of $example" >&2
    (cd "$here/$example" && python3 -B -m unittest discover -s tests_of_the_example -t .)
done

echo "-- fix-until-green" >&2
"$here/fix-until-green/demo.sh"

for way in checkout-crash:hotfix typo:backlog vague:needs-info; do
    report=${way%:*} pile=${way#*:}
    echo "-- branch: $report goes to $pile" >&2
    fresh branch "$report"
    "$ENVOI" run flow.yaml --input "report=reports/$report.txt"
    [ -f "desk/$pile/$report.md" ] || fail "$report is not on the pile $pile"
    [ "$(cat desk/journal.txt)" = "$report: $pile" ] || fail "the journal says: $(cat desk/journal.txt)"
done

echo "-- retry-soft-failure" >&2
fresh retry-soft-failure once
"$ENVOI" run flow.yaml
[ "$(cat .upstream/asked)" = 3 ] || fail "the service was asked $(cat .upstream/asked) times, not 3"
grep -q '4.65 CHF' prices.CHF.txt || fail "the price list is wrong: $(cat prices.CHF.txt)"

echo "-- python-skill" >&2
fresh python-skill once
"$ENVOI" run flow.yaml --input "sdk=$here/../sdk/python/src"
[ "$(wc -m < NOTES.md)" -le 260 ] || fail "the notes are too long: $(wc -m < NOTES.md) characters"
