#!/usr/bin/env bash
# Every check and test of this repository; CI runs this and nothing else. Works from any folder.
#
#   check.sh            all checks
#   check.sh --heavy    all checks, then the random tests with another seed, the kernel's with twenty times as many cases, 100,000 artifacts
#                       of one step, one of 5 GiB, a model in llama.cpp, each scenario of the transcripts with the
#                       real agent programs, further agent programs (Gemini CLI, opencode), and kills of agent programs and of all around
#                       them at random moments; each system call of the commands that change files fails once, and work that masks, sets
#                       aside, repairs or adopts is killed at each
#
# Needs Rust, a C compiler, git, Node 20 with npm, python3 with venv, curl, strip, strace, ssh-keygen, zstd and a Chromium. venv and what
# follows it are installed where that is possible (root, apt-get).
# What is missing otherwise is a failure that says what to install: nothing is left out. Ends with how long each step took.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
target=${CARGO_TARGET_DIR:-$PWD/target}
ENVOI=$target/debug/envoi
export ENVOI
# Nothing is built twice there, and what the compiler keeps for the next time is a third of the folder.
if [ -n "${CI:-}" ]; then export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}; fi

heavy=false
case "$#:${1:-}" in
    0:) ;;
    1:--heavy) heavy=true ;;
    *) echo "check.sh: unknown argument; usage: check.sh [--heavy]" >&2; exit 2 ;;
esac

# Say what is done, do it, keep how long it took.
step() {
    local name=$1 began=$SECONDS
    shift
    echo
    echo "== $name"
    "$@"
    printf '%5d s  %s\n' $((SECONDS - began)) "$name" >>"$target/times"
}

# Two lanes of steps, side by side: these steps wait for processes as much as they work. What the second lane prints comes when both are over.
# Steps that use one folder, such as that of the TypeScript library, are in one lane. A lane ends with its first failure.
lanes() {
    local first second failed=0
    "$1" &
    first=$!
    "$2" >"$target/second-lane.log" 2>&1 &
    second=$!
    wait "$first" || { echo "check.sh: the first lane failed, at its last step above" >&2; failed=1; }
    wait "$second" || failed=2
    cat "$target/second-lane.log"
    if ((failed == 2)); then echo "check.sh: the second lane failed, at the last step" >&2; fi
    return "$failed"
}

# What only apt-get has: some tests count system calls, and one page runs in a browser.
install() {
    tests/install.sh "$1" || {
        echo "check.sh: $1 is missing and cannot be installed from here; install it and call again" >&2
        return 1
    }
}

# A command of this name may only say that another package is needed.
has_browser() {
    local name
    for name in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
        if "$name" --version >/dev/null 2>&1; then return; fi
    done
    return 1
}

# What the target folder and all that the checks install there take after a whole run, in GiB.
ROOM=12

# A full disk after half an hour says nothing of the checks.
has_room() {
    local there=0 free
    mkdir -p "$target"
    there=$(du -sm "$target" | cut -f1)
    free=$(df -Pm "$target" | awk 'NR == 2 { print $4 }')
    if ((there + free < ROOM * 1024)); then
        echo "check.sh: $target needs up to $ROOM GiB; $((free / 1024)) GiB are free there. Make room, or set CARGO_TARGET_DIR" >&2
        return 1
    fi
}

# Before the work of minutes: what is missing is a failure, nothing is left out.
tools() {
    local name
    has_room
    for name in cargo cc git python3 node npm; do
        command -v "$name" >/dev/null || { echo "check.sh: $name is missing; install it and call again" >&2; return 1; }
    done
    command -v strace >/dev/null || install strace
    command -v ssh-keygen >/dev/null || install openssh-client
    command -v zstd >/dev/null || install zstd
    command -v curl >/dev/null || install curl
    command -v strip >/dev/null || install binutils
    python3 -c 'import venv, ensurepip' 2>/dev/null || install python3-venv
    has_browser || install chromium
}

# Contract is built without std by `cargo test` below; nobody takes the line away unseen.
contract_stands_alone() {
    grep -q '^#!\[no_std\]' crates/contract/src/lib.rs
    cargo check --locked --quiet -p envoi-contract --no-default-features
}

# All tests. What failed is said once more at the end, where nobody has to look for it.
tests() {
    local log=$target/tests.log
    if cargo test --locked --workspace --no-fail-fast 2>&1 | tee "$log"; then return; fi
    echo
    echo "== failed tests"
    grep -E -A 6 "^test .* \.\.\. FAILED$|panicked at|^error: test failed" "$log" | grep -vE "^ +[0-9]+: |^ +at |\.\.\. ok$" | head -n 200
    return 1
}

typescript_examples() {
    examples/node-skill/check.sh
    examples/git-watcher/check.sh
}

# The seed is printed; the same seed tries the same cases.
random_tests() {
    PROPTEST_RNG_SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    export PROPTEST_RNG_SEED
    echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
    ENVOI_SOAK=20 cargo test --locked -p envoi-kernel --test it properties::
    cargo test --locked --no-fail-fast -p envoi-contract -p envoi-flow -p envoi-step
    ENVOI_SIM_SEEDS=1000 cargo test --locked -p envoi-sim --test seeds a_night
    # Collections beside a working engine, for some ten minutes.
    ENVOI_HEAVY=1 cargo test --locked -p envoi --test it while_a_collection_goes_on_in_a_loop
}

first_lane() {
    step "conformance" "$ENVOI" conformance spec/vectors/*.json
    step "examples" examples/check.sh
    step "commands of the documents" python3 -B docs/check.py
    step "web page" page/check.sh
    step "operations by their document" spec/fuzz/rest.sh
    step "clients of A2A" tests/a2a-clients/check.sh
    step "real agent programs" tests/programs/check.sh
}

second_lane() {
    step "python library" sdk/python/check.sh
    step "packages" packaging/check.sh
    step "typescript library" sdk/typescript/check.sh
    step "documents through three languages" spec/fuzz/chain.sh 1000
    step "examples of the typescript library" typescript_examples
    step "generated clients" tests/generated-clients/check.sh
    step "a node of Restate" tests/restate/check.sh
    step "files on a failing disk, work that is killed" tests/faults/check.sh
}

mkdir -p "$target"
: >"$target/times"
step "tools" tools
step "format" cargo fmt --all --check
step "clippy" cargo clippy --workspace --all-targets --features envoi-restate/node --locked --quiet -- -D warnings
step "contract without std" contract_stands_alone
# Some tests start the binary: it is there before them. Without the tests it would be built of other crates than with them, and all
# twice: what the tests need turns on features of crates that the binary has too.
step "build" cargo build --locked --quiet --workspace --bins --tests --examples
step "tidy" "$target/debug/xtask" tidy
step "tests" tests
step "counts of a step" bench/counts.sh
lanes first_lane second_lane
step "spans for a collector" crates/cli/otel.sh
if "$heavy"; then step "random tests" random_tests; fi
if "$heavy"; then step "100,000 artifacts" env ENVOI_MANY_FILES=100000 cargo test --locked -p envoi --test it large::the_steps; fi
if "$heavy"; then step "an artifact of 5 GiB" env ENVOI_SPARSE_MIB=5120 cargo test --locked -p envoi --test it large::a_sparse; fi
if "$heavy"; then step "a model in llama.cpp" tests/llama/check.sh; fi
if "$heavy"; then step "agent programs in each scenario" tests/programs/matrix.sh claude codex gemini opencode; fi
if "$heavy"; then step "further agent programs" tests/programs/check.sh gemini opencode; fi
if "$heavy"; then step "files on a failing disk, work that is killed, each call" tests/faults/check.sh --all; fi
if "$heavy"; then step "500 kills of a restore" env ENVOI_KILLS=500 cargo test --locked -p envoi-tree --test tree kills::; fi
if "$heavy"; then step "kills of agent programs" tests/programs/check.sh --kills 100; fi
for name in gemini opencode; do
    if "$heavy"; then step "kills of $name" tests/programs/check.sh --kills 20 "$(date +%s)" "$name"; fi
done

echo
echo "== figures"
cat "$target/times"
echo "$(printf '%5d s' "$SECONDS")  all checks passed"
