#!/bin/sh
# How many times does the journal reach the disk for each step? Counts fsync and fdatasync on envoi.db* with strace, from
# the first `attempt_started` to `run_ended` of 100 trivial steps. Target: at most 1.1 a step. Usage: bench/fsyncs.sh [ENVOI]
set -eu
envoi=${1:-${ENVOI:-$(dirname -- "$0")/../target/debug/envoi}}
envoi=$(realpath -- "$envoi")
steps=100

if ! command -v strace >/dev/null 2>&1; then
    echo "fsyncs: skipped: there is no strace here (apt-get install -y strace)" >&2
    exit 0
fi
place=$(mktemp -d)
trap 'rm -rf -- "$place" || true' EXIT
cd "$place"
if ! strace -o /dev/null true 2>/dev/null; then
    echo "fsyncs: skipped: strace may not trace here" >&2
    exit 0
fi

{
    echo "flow: trivial"
    echo "steps:"
    i=1
    while [ "$i" -le "$steps" ]; do
        echo "  - { id: s$i, run: [\"true\"] }"
        i=$((i + 1))
    done
} >flow.yaml

# Supervisors and commands are followed too: nothing but the engine may touch the journal.
strace -f -y -o trace -e trace=fsync,fdatasync,sync_file_range,msync,openat -- \
    "$envoi" --home store run flow.yaml >/dev/null 2>&1

# The folder of the first attempt is opened only after the commit that holds its `attempt_started`.
awk -v steps="$steps" '
    /\/attempts\/s1\.1\.1\// { begun = 1 }
    /f(data)?sync\(/ && /\/envoi\.db/ { total++; if (begun) counted++; else before++ }
    /(sync_file_range|msync)\(/ && /\/envoi\.db/ { other++ }
    END {
        # That first commit belongs to the count: it is the last of those before.
        if (before > 0) counted++
        rate = counted / steps
        printf "%d fsyncs of envoi.db* for %d steps: %.2f a step (%d in all, with opening and closing the store)\n", \
            counted, steps, rate, total
        if (!begun) { print "no step was seen to start" > "/dev/stderr"; exit 1 }
        if (other > 0) { print other " other syncs of envoi.db*" > "/dev/stderr"; exit 1 }
        exit rate > 1.1
    }
' trace
