#!/usr/bin/env bash
# Installs one package of apt-get, where that may be done (root). Exit code 1: it cannot be done from here.
# A new machine may be at its own updates: their lock is waited for, and a list or a package that cannot be had is asked for again.
set -euo pipefail
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then exit 1; fi
export DEBIAN_FRONTEND=noninteractive
options=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5)
for pause in 5 10 20 40 0; do
    if apt-get "${options[@]}" update && apt-get "${options[@]}" install -y --no-install-recommends "$1" >/dev/null; then exit 0; fi
    echo "install.sh: $1 cannot be installed yet" >&2
    sleep "$pause"
done
exit 1
