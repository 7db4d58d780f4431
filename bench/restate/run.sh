#!/usr/bin/env bash
# Envoi and Restate in turns, in the same minutes, on one machine: steps a second of runs of ten no-op steps, with 1, 200 and 1,000 runs in flight.
# Built only by hand; needs cargo, npm, curl, python3 and the network. Works from any folder.
#
#   bench/restate/run.sh [ROUNDS]      rounds of each, 5 without a number; builds both for release
#
# $RESTATE_SERVER is the program of the server; without it, it is installed from npm. Its data and Envoi's stores lie in new folders below
# TMPDIR, on the same disk. See README.md for what is compared.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
rounds=${1:-5}
envoi=${CARGO_TARGET_DIR:-$PWD/target}/release/envoi-bench
restate=${CARGO_TARGET_DIR:-$PWD/bench/restate/target}/release/restate-bench
place=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf -- "$place"
}
trap finish EXIT

[ -n "${BUILT:-}" ] || {
    cargo build --release --locked --quiet --package envoi-bench
    cargo build --release --quiet --manifest-path bench/restate/Cargo.toml
}
if [ -z "${RESTATE_SERVER:-}" ]; then
    npm install --silent --no-save --prefix "$place/npm" "@restatedev/restate-server@1.7.12"
    # The program itself: what npm calls is a script that starts it.
    RESTATE_SERVER=$(echo "$place"/npm/node_modules/@restatedev/restate-server-*/bin/restate-server)
fi

# Free ports, as the system chooses them.
read -r admin ingress node < <(python3 - <<'PORTS'
import socket
sockets = [socket.socket() for _ in range(3)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PORTS
)
# Everything is as the server comes, but for addresses, so that it is reached from this machine alone.
RESTATE_ADMIN__BIND_ADDRESS=127.0.0.1:$admin RESTATE_INGRESS__BIND_ADDRESS=127.0.0.1:$ingress \
    RESTATE_BIND_ADDRESS=127.0.0.1:$node RESTATE_ADVERTISED_ADDRESS=http://127.0.0.1:$node RESTATE_LOG_FILTER=error \
    RESTATE_DISABLE_TELEMETRY=true \
    "$RESTATE_SERVER" --base-dir "$place/data" >"$place/log" 2>&1 &
server=$!
for _ in $(seq 600); do
    if curl --silent --fail --output /dev/null "http://127.0.0.1:$admin/health"; then break; fi
    kill -0 "$server" || {
        cat "$place/log" >&2
        exit 1
    }
    sleep 0.1
done

# `what rate`, a line for each measurement.
for _ in $(seq "$rounds"); do
    for runs in 1 200 1000; do
        all=$((runs == 1 ? 50 : 2000))
        mkdir -p "$place/envoi"
        echo "raw-$runs $(TMPDIR=$place/envoi "$envoi" commits)"
        echo "envoi-$runs $(TMPDIR=$place/envoi "$envoi" steady "$runs" "$all")"
        echo "restate-$runs $("$restate" "127.0.0.1:$admin" "127.0.0.1:$ingress" "$runs" "$((all / runs))")"
        echo "raw-$runs $(TMPDIR=$place/envoi "$envoi" commits)"
    done
done >"$place/rates"
echo "memory $(awk '/VmRSS/ { print $2 / 1024 }' "/proc/$server/status")" >>"$place/rates"

python3 - "$place/rates" <<'TABLE'
import collections, statistics, sys
rates = collections.defaultdict(list)
for line in open(sys.argv[1], encoding="utf-8"):
    name, rate = line.split()
    rates[name].append(float(rate))
middle = lambda name: f"{statistics.median(rates[name]):.0f} ({min(rates[name]):.0f} to {max(rates[name]):.0f})"
print("| runs in flight | Envoi, steps/s | Restate, steps/s | raw commits/s | Envoi to Restate, by round | target |")
print("|---|---|---|---|---|---|")
for runs in (1, 200, 1000):
    ratios = [ours / theirs for ours, theirs in zip(rates[f"envoi-{runs}"], rates[f"restate-{runs}"])]
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"| {runs} | {middle(f'envoi-{runs}')} | {middle(f'restate-{runs}')} | {middle(f'raw-{runs}')} | {ratio} | {'' if runs == 1 else '>= 1.1'} |")
print(f"\nResident memory of Restate's server at the end: {rates['memory'][0]:.0f} MiB.")
TABLE
