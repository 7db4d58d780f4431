#!/bin/sh
# Commands that change files, on a disk that fails: see faults.py. Arguments are passed on. Needs strace.
set -eu
cd "$(dirname -- "$0")/../.."
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$PWD/target}/debug/envoi}
export ENVOI
exec python3 -B tests/faults/faults.py "$@"
