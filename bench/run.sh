#!/usr/bin/env bash
# Measures Envoi and prints one table, times beside a raw measurement of the same minute. Times of steps, of pauses and of processes are
# medians of five rounds or more, with the least and the greatest; memory, bytes, fsyncs, filters and large stores are measured once. The table
# is also written as JSON, to `figures.json` in the target folder. Then prints how one long run grows, and what a step costs in counts (of the
# debug build, if there is one). Takes a quarter of an hour.
#
# TMPDIR names the disk that is measured. Works from any folder; builds for release into the usual target folder. What was
# measured is removed at the end, never between: ext4 is slow for seconds after thousands of files were removed.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}

cargo build --locked --quiet --release -p envoi-bench -p envoi
bench=$target/release/envoi-bench
export ENVOI=$target/release/envoi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

rows() {
    echo "| what | Envoi | raw, same minute | figure | spread | target |"
    echo "|---|---|---|---|---|---|"
    "$bench" alone
    # As many steps a run everywhere: its begin and its end cost too.
    "$bench" many 200 10
    "$bench" many 1000 10
    "$bench" many 10000 10
    BENCH=$bench bench/engine-fsyncs.sh
    "$bench" asked
    "$bench" memory 1000
    "$bench" spawn
    "$bench" start
    "$bench" bytes
    "$bench" files 5000
    "$bench" filters
    "$bench" killed 10000
    "$bench" finished 100000
    "$bench" shown 100000
}

rows | tee "$TMPDIR/table.md"
python3 - "$TMPDIR/table.md" >"$target/figures.json" <<'END'
import json, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
names = ["what", "envoi", "raw", "figure", "spread", "target"]
print(json.dumps([dict(zip(names, row)) for row in rows[2:]], indent=2, ensure_ascii=False))
END

echo
echo "One run that goes round a loop:"
echo
for visits in 1000 10000 100000; do
    "$bench" grow "$visits"
    echo
done
echo
BENCH=$bench bench/counts.sh
