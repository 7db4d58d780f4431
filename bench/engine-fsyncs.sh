#!/usr/bin/env bash
# Counts the fsyncs on `envoi.db*` of no-op steps, alone and at 200 runs at once, and of questions to a person, with strace.
# Prints rows of the table.
#
# $BENCH is the program; without it, the one that cargo has built for release. Counted is what lies between the begin of
# the first run and the end of the last; of a pause, from the settlement to the question that is shown; of a resume, from the
# answer to the announcement of the next attempt.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
BENCH=${BENCH:-${CARGO_TARGET_DIR:-$PWD/target}/release/envoi-bench}

command -v strace >/dev/null || {
    echo "engine-fsyncs.sh: strace is needed" >&2
    exit 1
}
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

count() {
    local runs=$1 steps=$2 target=$3
    strace -f -y -qq -e trace=fsync,fdatasync,statx,newfstatat,stat -o "$trace" "$BENCH" fsyncs "$runs" "$steps"
    awk -v runs="$runs" -v steps="$steps" -v target="$target" '
        /envoi-bench-begins/ { counts = 1 }
        /envoi-bench-ends/ { counts = 0 }
        counts && /(fsync|fdatasync)\(/ && /envoi\.db/ { journal++ }
        counts && /(fsync|fdatasync)\(/ && !/envoi\.db/ { others++ }
        END {
            all = runs * steps
            printf "| fsyncs a step, %d at once | %d for %d steps | %d elsewhere | %.3f | | %s |\n", \
                runs, journal, all, others, journal / all, target
        }' "$trace"
}

count 1 100 "<= 1.1"
count 200 20 "<= 0.1"

count_asked() {
    local runs=$1
    strace -f -y -qq -e trace=fsync,fdatasync,statx,newfstatat,stat -o "$trace" "$BENCH" asked-fsyncs "$runs"
    awk -v runs="$runs" '
        /envoi-bench-pauses/ { part = "pause" }
        /envoi-bench-resumes/ { part = "resume" }
        /envoi-bench-ends/ { part = "" }
        part && /(fsync|fdatasync)\(/ && /envoi\.db/ { journal[part]++ }
        part && /(fsync|fdatasync)\(/ && !/envoi\.db/ { others[part]++ }
        END {
            for (i = split("pause resume", parts, " "); i > 0; i--)
                rows = sprintf("| fsyncs a %s | %d for %d | %d elsewhere | %.3f | | 1 |\n", parts[i], \
                    journal[parts[i]], runs, others[parts[i]], journal[parts[i]] / runs) rows
            printf "%s", rows
        }' "$trace"
}

count_asked 100
