#!/bin/sh
# Repairs a copy of the shop until its tests pass: builds Envoi, runs flow.yaml to its end, says where to look.
#
# Works from any folder and can be run again: each run has a fresh folder under the build's target folder. The exit code is
# the run's. Set ENVOI to use another binary; nothing is built then.
set -eu

example=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$example/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

if [ -z "${ENVOI:-}" ]; then
    echo "Building envoi (the first time takes some minutes) ..." >&2
    (cd "$root" && cargo build --quiet --bin envoi --target-dir "$target")
    ENVOI=$target/debug/envoi
fi
case $ENVOI in
    /*) ;;
    */*) ENVOI=$(pwd)/$ENVOI ;;
esac

mkdir -p "$target/demo"
work=$(mktemp -d "$target/demo/fix-until-green.XXXXXX")
work=$(CDPATH='' cd -- "$work" && pwd)
for part in flow.yaml repair.py report.py repairer shop; do
    cp -R "$example/$part" "$work/"
done

cd "$work"
code=0
# At a terminal a person decides whether to keep the repair. Without a terminal the question is approved in advance.
yes_to="--yes-to keep"
if [ -t 0 ] && [ -t 2 ]; then
    yes_to=
fi
# shellcheck disable=SC2086 # no words where there is a person
ENVOI_HOME=$work/.envoi "$ENVOI" run flow.yaml $yes_to || code=$?

# What differs is the repair: the exit code of diff is no news here.
diff -ru -x __pycache__ "$example/shop" shop >repair.diff || true

case $code in
    0) status="succeeded" ;;
    1) status="failed" ;;
    3) status="waiting for a person" ;;
    4) status="exhausted: a bound was reached before the tests passed" ;;
    5) status="in doubt" ;;
    7) status="stopped, not finished; 'envoi resume' goes on" ;;
    130) status="cancelled" ;;
    *) status="not run (see above)" ;;
esac

echo
echo "Status: $status (exit $code)"
if [ -s repair.diff ]; then
    echo
    sed -nE -e 's|^--- .*/(shop/[^[:space:]]*).*|  \1|p;t' -e '/^[+]{3} /d' -e 's|^([-+])|    \1|p' repair.diff
fi
echo
[ ! -f report.html ] || echo "The report:   $work/report.html"
echo "The changes:  $work/repair.diff"
echo
echo "Look further:"
echo "  cd $work"
echo "  $ENVOI runs                 # the id of the run"
echo "  $ENVOI show RUN             # its steps, visit by visit"
echo "  $ENVOI logs RUN             # what they wrote"
echo "  $ENVOI why RUN              # why it went where it went"
exit $code
