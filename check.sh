#!/bin/sh
# Every check and test of this repository; CI runs this and nothing else. Works from any folder.
set -eu
cd "$(dirname -- "$0")"

step() {
    echo "== $*" >&2
    "$@"
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --quiet -- -D warnings
step cargo xtask tidy
step cargo test --workspace --quiet
step cargo build --bin envoi --quiet
ENVOI=${CARGO_TARGET_DIR:-$PWD/target}/debug/envoi
export ENVOI
step "$ENVOI" conformance spec/vectors/routing.json spec/vectors/handoff.json spec/vectors/skill-report.json
step examples/check.sh
echo "All checks passed." >&2
