#!/bin/sh
# Commands that change files, on a disk that fails, and work that is killed: see faults.py and kills.py. Arguments are passed on. Needs strace.
set -eu
cd "$(dirname -- "$0")/../.."
ENVOI=${ENVOI:-${CARGO_TARGET_DIR:-$PWD/target}/debug/envoi}
export ENVOI
python3 -B tests/faults/faults.py "$@"
exec python3 -B tests/faults/kills.py "$@"
