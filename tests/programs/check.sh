#!/usr/bin/env bash
# Stories with each real agent program (Claude Code, Codex) against the stub of their providers on the loopback: an attempt that a limit
# refuses, the wait that the program's own files and events state, another try in the same session, a step that goes on with the session.
# Then calls through the bridge: a budget, a limit of the run and one of the provider, each exact. With Claude Code also calls of tools that a
# person decides, a kill in the midst of one, and calls that are refused. At last the examples with agents.
#
#   tests/programs/check.sh [NAME ...]           NAME: claude, codex, examples (these three if none is named), gemini, opencode
#   tests/programs/check.sh --kills N [SEED [NAME ...]]     N kills at random moments with Claude Code and Codex each, or with those; gemini and opencode are named alone (kills.py)
#
# The programs are installed from npm, in these versions, into a folder that is kept: $ENVOI_PROGRAMS, or envoi/programs in the cache of
# the user. No account is needed. What cannot be installed is a failure. What follows has the loopback alone, where the machine lets its user have a
# network of its own.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")"
envoi=${ENVOI:-$(cd ../.. && pwd)/target/debug/envoi}
source ./pinned.sh
[ -x "$envoi" ] || { echo "tests/programs/check.sh: $envoi is missing; build it: cargo build --bin envoi" >&2; exit 1; }

light=()
if [ "${1:-}" = --kills ]; then
    case ${4:-} in
        gemini | opencode)
            program "$4"
            exec python3 -B story.py "$envoi" "$folder" "$@"
            ;;
    esac
fi
for name in "$@"; do
    case $name in
        gemini | opencode)
            program "$name"
            python3 -B story.py "$envoi" "$folder" "$name"
            ;;
        *) light+=("$name") ;;
    esac
done
if [ $# -gt 0 ] && [ ${#light[@]} = 0 ]; then exit; fi
program claude
exec python3 -B story.py "$envoi" "$folder" "${light[@]}"
