#!/usr/bin/env bash
# Installs each package in an empty place and uses it there: packaging/check.sh [PACKAGES].
#
# Without PACKAGES they are built from $ENVOI, or from the debug binary that cargo has built. Nothing is fetched but npm's pinned compiler.
set -euo pipefail
here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname -- "$here")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" || true' EXIT

if [ $# -ge 1 ]; then
    packages=$(cd "$1" && pwd)
else
    packages=$scratch/packages
    "$here/build.sh" "$packages" "${ENVOI:-${CARGO_TARGET_DIR:-$root/target}/debug/envoi}"
fi
# Packages that are given to others name the commit that they were built from.
is_for_others=$(($# >= 1))
(cd "$packages" && sha256sum --quiet -c SHA256SUMS)

# Run a flow with the command at $1, with nothing of this machine's environment.
use() {
    local place
    place=$(mktemp -d -p "$scratch")
    printf 'flow: first\nsteps:\n  - id: hello\n    run: echo hello from a package\n' >"$place/flow.yaml"
    (cd "$place" && env -i HOME="$place" PATH=/usr/bin:/bin "$1" --version && env -i HOME="$place" PATH=/usr/bin:/bin "$1" run flow.yaml)
    # All of it before the look: a `grep -q` that has found it would break the pipe of who still writes.
    (cd "$place" && env -i HOME="$place" PATH=/usr/bin:/bin "$1" logs) >"$place/logs"
    grep -q 'hello from a package' "$place/logs"
}

echo "-- wheel"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$packages"/*.whl
use "$scratch/venv/bin/envoi"
version=$("$scratch/venv/bin/envoi" --version)
if ((is_for_others)) && [[ ! $version =~ \([0-9a-f]{7,}\ of\ [0-9-]{10}\)$ ]]; then
    echo "packaging/check.sh: these packages name no clean commit that they were built from: $version" >&2
    exit 1
fi
(cd "$scratch" && "$scratch/venv/bin/python" -I -c 'import envoi; print(envoi.__file__)') | grep -q "^$scratch/venv/"

echo "-- the first hour, with the wheel"
"$root/docs/first-hour.sh" "$packages"/*.whl >"$scratch/first-hour.md"
python3 -B "$root/docs/first_hour.py" "$scratch/first-hour.md"

echo "-- npm"
mkdir "$scratch/npm"
(cd "$scratch/npm" && printf '{"private": true, "type": "module"}' >package.json && npm install --silent --offline --no-audit --no-fund "$packages"/*.tgz)
use "$scratch/npm/node_modules/.bin/envoi"
npm install --silent --offline --no-audit --no-fund --global --prefix "$scratch/npm-global" "$packages"/*.tgz
use "$scratch/npm-global/bin/envoi"
(cd "$scratch/npm" && node -e 'import("envoi").then((envoi) => { if (!envoi.judge({ exit: 0 }).ok) process.exit(1); })')

echo "-- deb"
# Below an empty folder, which has no libc6 of its own: that of the machine is used.
mkdir "$scratch/deb"
dpkg --root="$scratch/deb" --force-not-root --force-depends --log=/dev/null --install "$packages"/*.deb >"$scratch/deb.log" 2>&1 || { cat "$scratch/deb.log" >&2; exit 1; }
state=$(dpkg --root="$scratch/deb" --status envoi)
case $state in *"Status: install ok installed"*) ;; *) echo "packaging/check.sh: the .deb is not installed: $state" >&2; exit 1 ;; esac
dpkg-deb --field "$packages"/*.deb Package Version Depends
use "$scratch/deb/usr/bin/envoi"
for file in usr/share/man/man1/envoi.1.gz usr/share/man/man1/envoi-run.1.gz usr/share/bash-completion/completions/envoi \
    usr/share/zsh/vendor-completions/_envoi usr/share/fish/vendor_completions.d/envoi.fish lib/systemd/system/envoi.service; do
    [ -s "$scratch/deb/$file" ] || { echo "packaging/check.sh: $file is missing in the .deb" >&2; exit 1; }
done
# shellcheck disable=SC2016
bash --norc -c '. "$1"; COMP_WORDS=(envoi resu) COMP_CWORD=1; _envoi envoi resu envoi; [ "${COMPREPLY[*]}" = resume ]' - \
    "$scratch/deb/usr/share/bash-completion/completions/envoi"
# The unit names the installed command, and a manual page that is not installed here.
if command -v systemd-analyze >/dev/null; then
    sed -e "s|^ExecStart=/usr/bin|ExecStart=$scratch/deb/usr/bin|" -e '/^Documentation=/d' "$scratch/deb/lib/systemd/system/envoi.service" >"$scratch/envoi.service"
    systemd-analyze verify "$scratch/envoi.service"
else
    echo "systemd-analyze is missing: the unit is not checked"
fi
zcat "$scratch/deb/usr/share/man/man1/envoi-run.1.gz" >"$scratch/envoi-run.1"
grep -q '^\.TH' "$scratch/envoi-run.1"

echo "-- Dockerfile"
python3 -B "$here/dockerfile.py" "$root"
echo "all packages work"
