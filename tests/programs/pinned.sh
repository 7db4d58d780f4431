# The versions of the agent programs that the checks here use, and how they come into the cache folder: $ENVOI_PROGRAMS, or envoi/programs in the
# cache of the user. Read by check.sh and matrix.sh.
cache=${ENVOI_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/envoi/programs}
CLAUDE=2.1.330
# The first version that was tried.
FIRST_CLAUDE=2.1.197
CODEX=0.169.0
GEMINI=0.61.0
OPENCODE=1.18.33
case $(uname -sm) in
    "Linux x86_64") platform=linux-x64 ;;
    "Linux aarch64") platform=linux-arm64 ;;
    *) echo "tests/programs: the programs are pinned for Linux on x86-64 and arm64 alone" >&2; exit 1 ;;
esac

# Install these packages into a folder of the cache, unless they are there whole. No script of them is run.
installed() {
    local folder=$cache/$1
    shift
    [ ! -e "$folder/whole" ] || return 0
    command -v npm >/dev/null || { echo "tests/programs: npm is missing; install it and call again" >&2; return 1; }
    rm -rf "$folder" && mkdir -p "$folder"
    npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$folder" "$@"
    touch "$folder/whole"
}

# Install a program, and name its folder in `folder`. The packages of a platform have the binaries, and no other Node is needed.
program() {
    case $1 in
        claude | codex)
            folder=$cache/$platform-$CLAUDE-$CODEX
            installed "$platform-$CLAUDE-$CODEX" "@anthropic-ai/claude-code-$platform@$CLAUDE" "@openai/codex@$CODEX-$platform"
            ;;
        first-claude)
            folder=$cache/claude-$platform-$FIRST_CLAUDE
            installed "claude-$platform-$FIRST_CLAUDE" "@anthropic-ai/claude-code-$platform@$FIRST_CLAUDE"
            ;;
        gemini)
            folder=$cache/gemini-$GEMINI
            installed "gemini-$GEMINI" "@google/gemini-cli@$GEMINI"
            ;;
        opencode)
            folder=$cache/opencode-$platform-$OPENCODE
            installed "opencode-$platform-$OPENCODE" "opencode-$platform@$OPENCODE"
            ;;
        *) echo "tests/programs: no program $1; there are claude, codex, gemini and opencode" >&2; return 2 ;;
    esac
}
