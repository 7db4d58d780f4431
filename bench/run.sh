#!/usr/bin/env bash
# Measures Envoi and prints one table, each figure beside a raw measurement of the same minute. Takes some minutes.
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

echo "| what | Envoi | raw, same minute | figure | target |"
echo "|---|---|---|---|---|"
"$bench" alone
"$bench" many 200 20
"$bench" many 1000 10
BENCH=$bench bench/engine-fsyncs.sh
"$bench" asked
"$bench" memory 1000
"$bench" spawn
"$bench" start
"$bench" bytes
"$bench" filters
