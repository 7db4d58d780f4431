#!/usr/bin/env bash
# The tests of what is sent to a collector, by a binary with the feature `otel`. Last of all checks: it builds a second
# tree of dependencies, because the feature turns on other parts of shared ones.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
cargo test --locked --quiet -p envoi --features otel --test it -- otel::
