#!/bin/sh
# Runs the tests of each example, then each example itself, on a copy, to the end that its README promises.
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Works from any folder.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$here/../target}/debug/envoi}
export ENVOI

scratch=$(mktemp -d)
# A step that outlives what started it may still write: what cannot be removed is no fault of the check.
trap 'rm -rf "$scratch" || true' EXIT INT TERM

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

for example in fix-until-green branch retry-soft-failure python-skill review-and-publish fan-out-review sub-flow goals \
    mail-triage monthly-bookkeeping; do
    echo "-- tests of $example" >&2
    (cd "$here/$example" && python3 -B -m unittest discover -s tests_of_the_example -t .)
done

echo "-- fix-until-green" >&2
"$here/fix-until-green/demo.sh" </dev/null

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

# Call envoi with the arguments after $1, which is the exit code that it has to have.
ends_with() {
    expected=$1 code=0
    shift
    "$ENVOI" "$@" </dev/null || code=$?
    [ "$code" = "$expected" ] || fail "envoi $* ended with $code, not $expected"
}

echo "-- review-and-publish: sent back, then approved with a form and a file" >&2
fresh review-and-publish approved
ends_with 3 run flow.yaml
ends_with 3 answer --choice again --text "drop export"
if grep -q export notes/1.4.0.md; then fail "the reviewer was not heard"; fi
printf 'a plan\n' >plan.txt
ends_with 2 approve --field channel=fax
ends_with 0 approve --field channel=mail --file plan.txt --note "Looks good."
[ "$(cat published/mail/plan.txt)" = "a plan" ] || fail "the attachment is not published"
[ "$(cat notes/reserved.txt)" = 1.4.0 ] || fail "the version is not reserved"

echo "-- review-and-publish: denied, and undone" >&2
fresh review-and-publish denied
ends_with 3 run flow.yaml
ends_with 1 deny --reason "Not this week."
[ ! -e notes/1.4.0.md ] && [ ! -s notes/reserved.txt ] && [ ! -e published ] || fail "the denial is not undone"

# The lines of file $1 have to be the words after it.
has_lines() {
    file=$1 expected=$(shift && printf '%s\n' "$@")
    [ "$(cat "$file")" = "$expected" ] || fail "$file has: $(cat "$file")"
}

echo "-- fan-out-review: found from three sides, and revised" >&2
fresh fan-out-review once
ends_with 0 run flow.yaml
grep -q literal_eval merged/config.py || fail "security was not heard"
grep -q 'total + price' merged/totals.py || fail "behaviour was not heard"
if grep -q "$(printf '\t')" merged/prices.py; then fail "style was not heard"; fi

echo "-- sub-flow: fails inside, and goes on inside" >&2
fresh sub-flow once
ends_with 1 run flow.yaml
[ ! -e published.txt ] || fail "an incomplete release is published"
echo "a license" >licenses/windows.txt
ends_with 0 resume "$("$ENVOI" runs --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["run"])')"
has_lines log/windows.txt compile check check pack
has_lines log/mac.txt compile check pack
has_lines published.txt out/program-2.0.0-linux.txt out/program-2.0.0-mac.txt out/program-2.0.0-windows.txt

echo "-- goals: four rounds for three chapters" >&2
fresh goals once
ends_with 0 run flow.yaml
has_lines rounds.txt "1: start" "2: -" "3: repair" "4: care"
[ "$(grep -c About handbook.txt)" = 9 ] || fail "the handbook is not complete: $(cat handbook.txt)"

echo "-- python-skill" >&2
fresh python-skill once
"$ENVOI" run flow.yaml --input "sdk=$here/../sdk/python/src"
[ "$(wc -m < NOTES.md)" -le 260 ] || fail "the notes are too long: $(wc -m < NOTES.md) characters"

echo "-- mail-triage" >&2
fresh mail-triage once
ends_with 0 run flow.yaml --input "sdk=$here/../sdk/python/src"
[ "$(grep -c '^Message-ID: ' sorted/*.mbox | tr '\n' ' ')" = "sorted/billing.mbox:2 sorted/personal.mbox:1 sorted/spam.mbox:2 sorted/work.mbox:1 " ] ||
    fail "the mails are sorted otherwise: $(grep -c '^Message-ID: ' sorted/*.mbox)"
[ "$(grep -c '^- \[ \] ' to-pay.md)" = 2 ] || fail "to-pay.md has: $(cat to-pay.md)"
: >empty.mbox
ends_with 1 run flow.yaml --input mailbox=empty.mbox --input "sdk=$here/../sdk/python/src"
"$ENVOI" show | grep -q EMPTY_MAILBOX || fail "an empty mailbox is not what failed"

echo "-- monthly-bookkeeping: looked at, and closed once" >&2
fresh monthly-bookkeeping once
ends_with 3 run flow.yaml --input "sdk=$here/../sdk/python/src"
grep -q '| \*\*net\*\* | \*\*506.20\*\* |' books/2026-10.md || fail "the sums are wrong: $(cat books/2026-10.md)"
ends_with 0 approve --note "As expected."
ends_with 3 run flow.yaml --input "sdk=$here/../sdk/python/src"
ends_with 0 approve
has_lines books/closed.csv "month,net" "2026-10,506.20"
echo "2026-10-15,bank,sales,12.5,typo" >>ledger.csv
ends_with 1 run flow.yaml --input "sdk=$here/../sdk/python/src"
"$ENVOI" show | grep -q 'line 10: `12.5` is no amount' || fail "the line with the mistake is not named: $("$ENVOI" show)"

echo "-- the hand-offs of all these runs"
demo=$(ls -dt "${CARGO_TARGET_DIR:-$here/../target}"/demo/fix-until-green.* | head -n 1)
python3 -B "$here/handoffs.py" "$scratch" "$demo"
