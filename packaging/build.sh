#!/usr/bin/env bash
# Builds all packages from this checkout: packaging/build.sh [OUT [BINARY]]. See README.md.
#
# OUT is target/packages unless given. Without BINARY a release is built first.
set -euo pipefail
here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname -- "$here")
target=${CARGO_TARGET_DIR:-$root/target}

fail() {
    echo "packaging/build.sh: $*" >&2
    exit 1
}

for tool in strip objdump dpkg-deb python3 npm gzip; do
    command -v "$tool" >/dev/null || fail "$tool is missing; install it and call again"
done

# One version for all.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
grep -q "^version = \"$version\"$" "$root/sdk/python/pyproject.toml" || fail "sdk/python/pyproject.toml has another version than Cargo.toml ($version)"
grep -q "\"version\": \"$version\"" "$root/sdk/typescript/package.json" || fail "sdk/typescript/package.json has another version than Cargo.toml ($version)"

mkdir -p "${1:-$target/packages}"
out=$(cd "${1:-$target/packages}" && pwd)
if [ $# -ge 2 ]; then
    built=$2
else
    ENVOI_BUILT_FROM="$(git -C "$root" describe --always --dirty) of $(git -C "$root" log -1 --format=%cs)"
    export ENVOI_BUILT_FROM
    (cd "$root" && cargo build --locked --release --bin envoi)
    built=$target/release/envoi
fi
[ -x "$built" ] || fail "there is no binary at $built"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
strip -o "$stage/envoi" "$built"
chmod 755 "$stage/envoi"
machine=$(uname -m)
# The newest symbol version that it needs is the oldest glibc that it runs with.
glibc=$(objdump -T "$stage/envoi" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
echo "envoi $version for $machine: $(stat -c %s "$stage/envoi") bytes, glibc $glibc or newer"

# pip: the library, and the command in the folder of scripts.
python3 -B "$here/wheel.py" "$stage/envoi" "manylinux_${glibc//./_}_$machine" "$out"

# npm: the library, and the command in its folder.
case $machine in
    x86_64) node_cpu=x64 debian=amd64 ;;
    aarch64) node_cpu=arm64 debian=arm64 ;;
    *) fail "no package for $machine: add it to this script" ;;
esac
cp -R "$root/sdk/typescript" "$stage/npm"
rm -rf "$stage/npm/node_modules" "$stage/npm/build" "$stage/npm/dist"
mkdir "$stage/npm/bin"
cp "$stage/envoi" "$stage/npm/bin/envoi"
python3 -B - "$stage/npm/package.json" "$node_cpu" <<'PYTHON'
import json, sys
path, cpu = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    package = json.load(file)
del package["private"]
package["bin"]["envoi"] = "bin/envoi"
package["files"].append("bin")
package |= {"os": ["linux"], "cpu": [cpu], "libc": ["glibc"]}
with open(path, "w", encoding="utf-8") as file:
    json.dump(package, file, indent=2)
PYTHON
(cd "$stage/npm" && npm ci --silent && npm pack --silent --pack-destination "$out" >/dev/null)

# Debian: the command, manual pages, completions, the unit.
deb=$stage/deb
mkdir -p "$deb/DEBIAN" "$deb/usr/bin" "$deb/usr/share/doc/envoi" "$deb/lib/systemd/system" "$deb/usr/share/bash-completion/completions" \
    "$deb/usr/share/zsh/vendor-completions" "$deb/usr/share/fish/vendor_completions.d"
cp "$stage/envoi" "$deb/usr/bin/envoi"
"$stage/envoi" manual "$deb/usr/share/man/man1"
gzip -9 -n "$deb/usr/share/man/man1/"*.1
"$stage/envoi" completions bash >"$deb/usr/share/bash-completion/completions/envoi"
"$stage/envoi" completions zsh >"$deb/usr/share/zsh/vendor-completions/_envoi"
"$stage/envoi" completions fish >"$deb/usr/share/fish/vendor_completions.d/envoi.fish"
cp "$here/envoi.service" "$deb/lib/systemd/system/"
cat "$root/LICENSE-MIT" "$root/LICENSE-APACHE" >"$deb/usr/share/doc/envoi/copyright"
gzip -9 -n -c "$root/CHANGELOG.md" >"$deb/usr/share/doc/envoi/changelog.gz"
find "$deb" -type d -exec chmod 755 {} +
find "$deb" -type f -not -path "$deb/usr/bin/*" -exec chmod 644 {} +
cat >"$deb/DEBIAN/control" <<END
Package: envoi
Version: $version
Architecture: $debian
Maintainer: The maintainers of Envoi <maintainers@localhost>
Depends: libc6 (>= $glibc), libgcc-s1
Section: devel
Priority: optional
Installed-Size: $(du -sk "$deb/usr" | cut -f1)
Description: runs pipelines of agents, scripts and people
 Envoi runs pipelines of commands, agents and people, and never loses or
 repeats an acknowledged step. One binary, and a journal in SQLite.
END
dpkg-deb --root-owner-group --build "$deb" "$out/envoi_${version}_$debian.deb" >/dev/null

cd "$out"
sha256sum ./*.whl ./*.tgz ./*.deb >SHA256SUMS
ls -l "$out"
