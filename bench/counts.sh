#!/usr/bin/env bash
# Counts what a step costs, and compares the counts with bench/counts.txt. The same program has the same counts on a busy machine
# and on a quiet one, so a count that is off is a change of the program. Works from any folder; needs strace.
#
#   bench/counts.sh            a table; exit 1 if a count is off by more than the tolerance
#   bench/counts.sh --accept   the same, and writes the counts that it found
#
# $BENCH and $ENVOI are the programs; without them, those that cargo has built for debugging. Both builds make the same calls. Each
# count is the difference between a longer and a shorter run, by the step: the start of the program and of the run are not in it.
#
# Rows of `with-artifacts` are by the file, not by the step. Rows of `first-run` are of a whole run of one step and of the store that it makes.
#
# Counted are the calls that work on files, and programs and threads that are started. Not counted, because their number depends on
# the machine, on the user or on other load: memory, locks between threads, waiting, reads of pipes, the loading of programs,
# what is read below /proc and /sys, and the files of who is at work in which folder: a run also takes away those that killed ones have left.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
accepted=$PWD/bench/counts.txt
programs=${CARGO_TARGET_DIR:-$PWD/target}/debug
BENCH=$(realpath -- "${BENCH:-$programs/envoi-bench}")
ENVOI=$(realpath -- "${ENVOI:-$programs/envoi}")
tolerance_percent=8
# Of counts that are small: what a step does once more, or once less, is off.
tolerance_least=0.5

command -v strace >/dev/null || {
    echo "counts.sh: strace is missing; install it and call again" >&2
    exit 2
}
# Some files name their folder: its name is always as long.
place=$(mktemp -d /tmp/envoi-counts.XXXXXXXX)
trap 'rm -rf -- "$place"' EXIT
export TMPDIR=$place

# From the lines of strace to `name count`. With marks, only what lies between them counts.
system_calls() {
    awk -v marks="$2" '
        /envoi-bench-begins/ { between = 1; next }
        /envoi-bench-ends/ { between = 0; next }
        marks && !between { next }
        /execve/ && / = 0$/ { programs++ }
        # A call that another thread has interrupted has two lines; what it returned stands in the second one.
        / resumed>/ || /\+\+\+/ || /---/ { next }
        { name = $2; sub(/\(.*/, "", name) }
        name == "clone3" { threads++ }
        /[<"]\/tmp\/\.envoi-[0-9]/ { next }
        /"\/(proc|sys|dev|etc|usr|lib)/ || /<\/(proc|sys|dev|etc|usr|lib)/ || /\.so[.0-9]*[">]/ { next }
        name ~ /^(open|openat|openat2)$/ { opens++; files++ }
        name ~ /^(rename|renameat|renameat2|link|linkat|unlink|unlinkat|mkdir|mkdirat|symlinkat)$/ { names++; files++ }
        name ~ /^(pread64|pwrite64|ftruncate|flock|statx|fchmod)$/ { files++ }
        name ~ /^(fsync|fdatasync|syncfs)$/ { files++; if (/envoi\.db/) journal++; else others++ }
        name == "pwrite64" && /envoi\.db-wal/ && /, 4096, / { pages++ }
        END {
            printf "journal-syncs %d\nother-syncs %d\npages %d\n", journal, others, pages
            printf "opens %d\nnames %d\nfile-calls %d\n", opens, names, files
            printf "programs %d\nthreads %d\n", programs, threads
        }' "$1"
}

# The files of a store but for the database, which grows by whole pages. A file with two names counts twice, and its bytes once.
left_behind() {
    find "$1" -type f ! -name 'envoi.db*' ! -name engine.lock -printf '%i %s\n' |
        awk '{ files++; if (!seen[$1]++) bytes += $2 } END { printf "files %d\nbytes %d\n", files, bytes }'
}

# One run of so many steps that settle at once.
no_op() {
    local store
    store=$(strace -f -y -qq -o "$place/trace" "$BENCH" store 1 "$1")
    system_calls "$place/trace" 1
    left_behind "$store"
}

# One run of so many steps with the command `true`, by the whole program.
with_command() {
    local folder=$place/command-$1 step
    mkdir "$folder"
    {
        echo "flow: counted"
        echo "steps:"
        for ((step = 100; step < 100 + $1; step++)); do
            echo "  - { id: s$step, run: [\"true\"] }"
        done
    } >"$folder/flow.yaml"
    # The same environment everywhere: it is handed on to each command.
    if ! (cd "$folder" && env -i HOME="$place" PATH=/usr/bin:/bin \
        strace -f -y -qq -o "$place/trace" "$ENVOI" run flow.yaml --home .envoi) >"$place/said" 2>&1; then
        cat "$place/said" >&2
        echo "counts.sh: the run did not succeed" >&2
        exit 2
    fi
    system_calls "$place/trace" 0
    left_behind "$folder/.envoi"
}

# One run of a step that leaves so many small files, more than a hand-off lists.
with_artifacts() {
    local folder=$place/artifacts-$1
    mkdir -p "$folder"
    cat >"$folder/flow.yaml" <<EOF
flow: counted
steps:
  - id: make
    run: 'mkdir out && seq -f "out/%05.0f" $1 | while read -r name; do echo "\$name" >"\$name"; done'
    artifacts: ["out/*"]
EOF
    if ! (cd "$folder" && env -i HOME="$place" PATH=/usr/bin:/bin \
        strace -f -y -qq -o "$place/trace" "$ENVOI" run flow.yaml --home .envoi) >"$place/said" 2>&1; then
        cat "$place/said" >&2
        echo "counts.sh: the run did not succeed" >&2
        exit 2
    fi
    system_calls "$place/trace" 0
    left_behind "$folder/.envoi"
}

# `name count` a step: how much more $3 steps have than $2.
a_step() {
    local what=$1 few=$2 many=$3
    "$what" "$few" >"$place/few"
    "$what" "$many" >"$place/many"
    awk -v what="${what//_/-}" -v steps="$((many - few))" '
        NR == FNR { few[$1] = $2; next }
        { printf "%s.%s %.2f\n", what, $1, ($2 - few[$1]) / steps }' "$place/few" "$place/many"
}

measure() {
    rm -rf -- "$place"/command-* "$place"/artifacts-*
    a_step no_op 20 60
    a_step with_command 2 12
    a_step with_artifacts 1200 2200
    rm -rf -- "$place/command-1"
    with_command 1 | awk '/syncs / { printf "first-run.%s %.2f\n", $1, $2 }'
}

# The table; fails if a count is off.
compare() {
    awk -v percent="$tolerance_percent" -v least="$tolerance_least" '
        BEGIN { printf "%-28s %10s %10s\n", "a step", "count", "accepted" }
        FILENAME == ARGV[1] { accepted[$1] = $2; known[$1] = 1; next }
        {
            allowed = accepted[$1] * percent / 100
            if (allowed < least) allowed = least
            differs = $2 - accepted[$1]
            if (differs < 0) differs = -differs
            note = ""
            if (!known[$1]) { note = "new"; off = 1 } else if (differs > allowed) { note = "off"; off = 1 }
            printf "%-28s %10s %10s %s\n", $1, $2, known[$1] ? accepted[$1] : "-", note
            delete known[$1]
        }
        END {
            for (name in known) { printf "%-28s %10s %10s gone\n", name, "-", accepted[name]; off = 1 }
            exit off
        }' "$accepted" "$place/found"
}

measure >"$place/found"
off=0
compare || off=1

if [ "${1:-}" = --accept ]; then
    cp "$place/found" "$accepted"
elif [ "$off" = 1 ]; then
    echo "a count is off by more than $tolerance_percent %, and $tolerance_least a step: find out why; then bench/counts.sh --accept, with the reason in the commit" >&2
    exit 1
fi
