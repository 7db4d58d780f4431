#!/usr/bin/env bash
# Stories with a real node of Restate on the loopback: the objects of crate `cluster`, an endpoint that answers the node, and a worker in
# the test. The node and the endpoint are killed in the midst of runs. Other stories type the commands, and kill those.
#
#   tests/restate/check.sh [NAME]           only the stories whose names have this in them
#
# The server is installed from npm, in this version, into a folder that is kept: $ENVOI_PROGRAMS, or envoi/programs in the cache of the
# user. It is the binary of the platform; no script of the package is run. What cannot be installed is a failure.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
cache=${ENVOI_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/envoi/programs}
RESTATE=1.7.12
case $(uname -sm) in
    "Linux x86_64") platform=linux-x64 ;;
    "Linux aarch64") platform=linux-arm64 ;;
    *) echo "tests/restate/check.sh: the server is pinned for Linux on x86-64 and arm64 alone" >&2; exit 1 ;;
esac
package=@restatedev/restate-server-$platform
folder=$cache/restate-$platform-$RESTATE
if [ ! -e "$folder/whole" ]; then
    command -v npm >/dev/null || { echo "tests/restate/check.sh: npm is missing; install it and call again" >&2; exit 1; }
    rm -rf "$folder" && mkdir -p "$folder"
    npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$folder" "$package@$RESTATE"
    touch "$folder/whole"
fi
RESTATE_SERVER=$folder/node_modules/$package/bin/restate-server
export RESTATE_SERVER
# The stories of the commands start the binary.
ENVOI=${ENVOI:-$PWD/target/debug/envoi}
export ENVOI
if [ ! -x "$ENVOI" ]; then echo "tests/restate/check.sh: $ENVOI is missing; \`cargo build --workspace --bins --tests\` makes it" >&2; exit 1; fi
# As a part of the workspace: what was built for its tests is not built again with other features.
exec cargo test --locked --quiet --workspace --features envoi-restate/node --test node -- "$@"
