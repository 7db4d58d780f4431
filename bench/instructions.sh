#!/usr/bin/env bash
# Counts the instructions of the contracts' hot paths and compares them with bench/instructions.txt: unlike time, the count
# hardly depends on what else the machine does. Works from any folder; needs valgrind (apt-get install valgrind).
#
#   bench/instructions.sh            a table; exit 1 if a count is more than 3 % off
#   bench/instructions.sh --accept   the same, and writes the counts that it found
#
# Valgrind has no SHA instructions: the resolver's digest of its input weighs more here than on a real processor.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
accepted=bench/instructions.txt
tolerance_percent=3

if ! command -v valgrind >/dev/null; then
    echo "instructions.sh: valgrind is missing; install it and call again" >&2
    exit 2
fi
cargo build --release --locked --quiet -p envoi-contract --example instructions
program=${CARGO_TARGET_DIR:-target}/release/examples/instructions

# The instructions of a process that does the work so many times.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : *//p'
}

# The instructions of doing the work once: what ten more times cost, so that starting does not count.
once() {
    local few many
    few=$(instructions "$1" 5)
    many=$(instructions "$1" 15)
    echo $(((many - few) / 10))
}

found=$(mktemp)
trap 'rm -f "$found"' EXIT
off=0
printf '%-32s %12s %12s %9s\n' work instructions accepted change
for work in $("$program"); do
    now=$(once "$work")
    before=$(awk -v work="$work" '$1 == work { print $2 }' "$accepted" 2>/dev/null || true)
    echo "$work $now" >>"$found"
    change=new
    if [ -n "$before" ]; then
        change=$(awk -v now="$now" -v before="$before" 'BEGIN { printf "%+.1f %%", 100 * (now - before) / before }')
        awk -v now="$now" -v before="$before" -v most="$tolerance_percent" \
            'BEGIN { off = 100 * (now - before) / before; exit off > most || off < -most }' || off=1
    fi
    printf '%-32s %12d %12s %9s\n' "$work" "$now" "${before:--}" "$change"
done

if [ "${1:-}" = --accept ]; then
    cp "$found" "$accepted"
    chmod 644 "$accepted"
elif [ "$off" = 1 ]; then
    echo "more than $tolerance_percent % off: find out why; then bench/instructions.sh --accept" >&2
    exit 1
fi
