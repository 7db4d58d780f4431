#!/bin/sh
# Compiles the example and runs it: everything is new, nothing is new, one commit is new, no repository. Needs git, Node 20 and the
# built package (`npm ci && npm run build` in sdk/typescript).
#
# $ENVOI is the binary to use; without it, the one that cargo has built. Works from any folder.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$here/../../target}/debug/envoi}
library=$here/../../sdk/typescript

scratch=$(mktemp -d)
# A step that outlives what started it may still write: what cannot be removed is no fault of the check.
trap 'rm -rf "$scratch" || true' EXIT INT TERM
mkdir -p "$scratch/examples" "$scratch/sdk/typescript"
cp -R "$here" "$scratch/examples/git-watcher"
cp -R "$library/dist" "$library/types" "$library/package.json" "$scratch/sdk/typescript/"
cd "$scratch/examples/git-watcher"
rm -rf dist repository
"$library/node_modules/.bin/tsc" -p .
./make-repository.sh repository
export ENVOI_HOME="$PWD/.envoi"

fail() {
    echo "git-watcher: $*" >&2
    exit 1
}

# Run the flow with the arguments; what it said is in said.txt.
run() {
    "$ENVOI" run flow.yaml "$@" >said.txt 2>&1 </dev/null
}

run || fail "the run failed: $(cat said.txt)"
[ "$(grep -c '^- ' news.md)" = 2 ] || fail "two commits are new: $(cat news.md)"
run --input "since=$(cat .seen)" || fail "the run failed: $(cat said.txt)"
"$ENVOI" show --handoff tell | grep -q '"status": "skipped"' || fail "nothing is new, and was told"

echo "- roses" >>repository/README.md
git -C repository -c user.name=Sam -c user.email=sam@example.org commit --quiet --all --message "Plant roses"
echo "not yet" >"repository/a new bed.md"
run --input "since=$(cat .seen)" || fail "the run failed: $(cat said.txt)"
[ "$(tail -n 1 news.md | cut -d ' ' -f 3-)" = "Plant roses (Sam)" ] || fail "the news are: $(cat news.md)"
[ "$(cat .seen)" = "$(git -C repository rev-parse HEAD)" ] || fail "what was seen is not kept"
"$ENVOI" show --handoff look | grep -q '1 new commits, 1 files not committed' || fail "a file that is not committed was not seen"

if run --input repository=src; then fail "a folder that is no repository was not noticed"; fi
"$ENVOI" show | grep -q 'NOT_READABLE' || fail "the failure does not say why: $("$ENVOI" show)"
# Of all these runs.
python3 -B "$here/../handoffs.py" "$scratch"
echo "git-watcher: all four ends reached" >&2
