#!/usr/bin/env bash
# Each scenario of the transcripts (`crates/preset/tests/programs/record.py`) with the real agent programs against the stub of their providers:
# what they write today is recorded below the target folder, and the tests of the transcripts have to find in it what they find in the transcripts
# that are kept: the same class of failure, the same exit code, the same figures. What differs from run to run, such as an id, is no matter.
#
#   tests/programs/matrix.sh [NAME ...]          NAME: claude, codex (these two if none is named), gemini, opencode
#
# The programs are installed from npm, in pinned versions, into a folder that is kept (pinned.sh). Of Claude Code also the first version that was
# tried takes part. No account is needed, and nothing outside of the machine is asked once they are there, where the machine lets its user have a
# network of its own. Takes about a quarter of an hour for all four: some programs try again for minutes before they give up.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
source ./pinned.sh
into=${CARGO_TARGET_DIR:-$root/target}/matrix
rm -rf "$into"
if [ $# = 0 ]; then set -- claude codex; fi
for name in "$@"; do
    program "$name"
    python3 -B "$root/crates/preset/tests/programs/record.py" "$folder" --program "$name" --into "$into"
    if [ "$name" = claude ]; then
        program first-claude
        python3 -B "$root/crates/preset/tests/programs/record.py" "$folder" --into "$into"
    fi
done
cd "$root"
ENVOI_TRANSCRIPTS=$into cargo test --locked -p envoi-preset --test transcripts
