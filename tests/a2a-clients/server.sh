#!/bin/sh
# The server that the clients talk to: `server.sh start`, `server.sh crash` (kill -9, and up again on the same port), `server.sh stop`.
#
# $ENVOI is the binary, $STAGE a folder of its own. After a start, $STAGE/url and $STAGE/token say where it is and who may ask.
set -eu

fail() {
    echo "server.sh: $*" >&2
    [ ! -f "$STAGE/said" ] || cat "$STAGE/said" "$STAGE/stderr" >&2
    exit 1
}

# Start at address $1, and wait for the line that says where it listens.
start() {
    cd "$STAGE"
    : >said
    "$ENVOI" --json serve --listen "$1" >said 2>>stderr </dev/null &
    echo $! >pid
    until grep -q listening said; do
        kill -0 "$(cat pid)" 2>/dev/null || fail "the server has ended"
        sleep 0.05
    done
}

member() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$STAGE/said" "$1"
}

case $1 in
start)
    mkdir -p "$STAGE/.envoi"
    start 127.0.0.1:0
    member listening >"$STAGE/url"
    member token >"$STAGE/token"
    ;;
crash)
    kill -9 "$(cat "$STAGE/pid")"
    while kill -0 "$(cat "$STAGE/pid")" 2>/dev/null; do sleep 0.05; done
    url=$(cat "$STAGE/url")
    start "${url#*://}"
    ;;
stop)
    [ ! -f "$STAGE/pid" ] || kill "$(cat "$STAGE/pid")" 2>/dev/null || true
    ;;
*)
    fail "start, crash or stop?"
    ;;
esac
