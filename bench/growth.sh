#!/usr/bin/env bash
# Counts how what one run costs grows with its visits and with the runs beside it: instructions of the whole process, which hardly depend
# on other load, and bytes and files. Works from any folder; needs valgrind.
#
#   bench/growth.sh                      one run of 1,000 and of 10,000 visits; 100 and 1,000 runs of three steps
#   bench/growth.sh VISITS RUNS          one run of so many visits, and so many runs
#
# $BENCH is the program; without it, the one that is built for release here. Each count is the difference between the whole and its
# first half: the start of the program is not in it, and a count that grows is what costs more the longer it lasts.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

command -v valgrind >/dev/null || {
    echo "growth.sh: valgrind is missing; install it and call again" >&2
    exit 2
}
if [ -z "${BENCH:-}" ]; then
    cargo build --locked --quiet --release -p envoi-bench
    BENCH=${CARGO_TARGET_DIR:-$PWD/target}/release/envoi-bench
fi
BENCH=$(realpath -- "$BENCH")
place=$(mktemp -d)
trap 'rm -rf -- "$place"' EXIT

# `instructions files bytes` of a call of the program, in a place of its own.
costs() {
    export TMPDIR=$place/store
    mkdir "$TMPDIR"
    local instructions
    instructions=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$BENCH" "$@" 2>&1 | sed -n 's/.*Collected : *//p')
    find "$TMPDIR" -type f ! -name '*.db-*' -printf '%s\n' |
        awk -v instructions="$instructions" '{ files++; bytes += $1 } END { print instructions, files, bytes }'
    rm -rf -- "$TMPDIR"
}

# The costs of each of what lies between the first half and the whole.
each() {
    local name=$1 many=$2 steps=$3 few
    shift 3
    few=$((many / 2))
    { costs "${@//MANY/$few}"; costs "${@//MANY/$many}"; } |
        awk -v name="$name" -v many="$many" -v each="$(((many - few) * steps))" '
            NR == 1 { instructions = $1; files = $2; bytes = $3; next }
            { printf "| %s | %d | %.0f | %.2f | %.0f |\n", name, many, ($1 - instructions) / each, ($2 - files) / each, ($3 - bytes) / each }'
}

echo "| what | how many | instructions each | files | bytes |"
echo "|---|---|---|---|---|"
for visits in ${1:-1000 10000}; do
    each "a visit of one run" "$visits" 1 grow MANY
done
for runs in ${2:-100 1000}; do
    each "a step, three a run" "$runs" 3 store MANY 3
done
