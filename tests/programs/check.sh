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
cache=${ENVOI_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/envoi/programs}
CLAUDE=2.1.330
CODEX=0.169.0
GEMINI=0.61.0
OPENCODE=1.18.33
case $(uname -sm) in
    "Linux x86_64") platform=linux-x64 ;;
    "Linux aarch64") platform=linux-arm64 ;;
    *) echo "tests/programs/check.sh: the programs are pinned for Linux on x86-64 and arm64 alone" >&2; exit 1 ;;
esac
[ -x "$envoi" ] || { echo "tests/programs/check.sh: $envoi is missing; build it: cargo build --bin envoi" >&2; exit 1; }

# Install these packages into a folder of the cache, unless they are there whole. No script of them is run.
installed() {
    local folder=$cache/$1
    shift
    [ ! -e "$folder/whole" ] || return 0
    command -v npm >/dev/null || { echo "tests/programs/check.sh: npm is missing; install it and call again" >&2; return 1; }
    rm -rf "$folder" && mkdir -p "$folder"
    npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$folder" "$@"
    touch "$folder/whole"
}

light=()
if [ "${1:-}" = --kills ]; then
    case ${4:-} in
        gemini)
            installed "gemini-$GEMINI" "@google/gemini-cli@$GEMINI"
            exec python3 -B story.py "$envoi" "$cache/gemini-$GEMINI" "$@"
            ;;
        opencode)
            installed "opencode-$platform-$OPENCODE" "opencode-$platform@$OPENCODE"
            exec python3 -B story.py "$envoi" "$cache/opencode-$platform-$OPENCODE" "$@"
            ;;
    esac
fi
for name in "$@"; do
    case $name in
        gemini)
            installed "gemini-$GEMINI" "@google/gemini-cli@$GEMINI"
            python3 -B story.py "$envoi" "$cache/gemini-$GEMINI" gemini
            ;;
        opencode)
            installed "opencode-$platform-$OPENCODE" "opencode-$platform@$OPENCODE"
            python3 -B story.py "$envoi" "$cache/opencode-$platform-$OPENCODE" opencode
            ;;
        *) light+=("$name") ;;
    esac
done
if [ $# -gt 0 ] && [ ${#light[@]} = 0 ]; then exit; fi
# The packages of the platform have the binaries, and no other Node is needed.
installed "$platform-$CLAUDE-$CODEX" "@anthropic-ai/claude-code-$platform@$CLAUDE" "@openai/codex@$CODEX-$platform"
exec python3 -B story.py "$envoi" "$cache/$platform-$CLAUDE-$CODEX" "${light[@]}"
