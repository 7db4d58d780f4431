#!/usr/bin/env bash
# Makes a store as a build leaves it, for tests of later builds: make.sh BINARY OUT.tar.gz
set -eu
binary=$1 out=$2
root=/tmp/envoi-kept
rm -rf $root; mkdir -p $root/project/site $root/sockets
cd $root/project
e() { env -i PATH=/usr/bin:/bin HOME=/tmp/envoi-kept USER=ada XDG_RUNTIME_DIR=$root/sockets "$binary" "$@"; }
cat > finished.yaml <<'Y'
flow: finished
inputs: { word: { type: string, default: hello } }
steps:
  - id: write
    run: "mkdir -p out && echo ${{ inputs.word }} > out/word.txt && head -c 40000 /dev/zero > out/large.bin && echo written"
    artifacts: ["out/**"]
  - id: each
    for_each: [one, two]
    run: "echo $ENVOI_ATTEMPT"
  - id: check
    run: "if [ -e seen ]; then echo 'Status: VERIFIED'; else touch seen; echo 'Status: UNVERIFIED'; fi"
    routing: { kind: microloop, loop_to: write, success_values: [VERIFIED], max_iterations: 3 }
Y
cat > asks.yaml <<'Y'
flow: asks
steps:
  - id: draft
    run: "echo draft > draft.txt; echo drafted"
    artifacts: [draft.txt]
  - id: release
    ask: "Release it?"
  - id: publish
    run: "cp draft.txt published.txt; echo published"
    artifacts: [published.txt]
Y
cat > fails.yaml <<'Y'
flow: fails
steps:
  - id: broken
    run: "echo trying >> tries.txt; [ -e mended ] || exit 3"
  - id: after
    run: "echo mended"
Y
cat > killed.yaml <<'Y'
flow: killed
steps:
  - id: before
    run: "echo before >> killed.ledger"
  - id: long
    run: "echo $ENVOI_ATTEMPT >> killed.ledger; [ -e go ] || sleep 1000"
  - id: after
    run: "echo after >> killed.ledger"
Y
# A flow whose folder of hand-offs and whose copied workspace have the same name.
cat > workspace.yaml <<'Y'
flow: workspace
workspace: site
steps:
  - id: build
    run: "echo page > page.html; echo built"
    artifacts: [page.html]
  - id: look
    ask: "Is it right?"
  - id: done
    run: "cat page.html"
Y
e run finished.yaml
e run asks.yaml || [ $? = 3 ]
e run fails.yaml || [ $? = 1 ]
e run workspace.yaml || [ $? = 3 ]
e run --copy workspace.yaml || [ $? = 3 ]
e run killed.yaml & engine=$!
until [ -s killed.ledger ] && grep -q long killed.ledger; do sleep 0.05; done
until ls .envoi/runs/*/attempts/long.1.1/started.json >/dev/null 2>&1; do sleep 0.05; done
kill -9 "$(head -1 .envoi/engine.lock)"; wait $engine 2>/dev/null || true
supervisor=$(python3 -c "import json,glob;print(json.load(open(glob.glob('.envoi/runs/*/attempts/long.1.1/started.json')[0]))['supervisor_pid'])")
kill -9 $supervisor
sleep 0.3
for pid in $(grep -lsz HOME=/tmp/envoi-kept /proc/[0-9]*/environ | cut -d/ -f3); do kill -9 $pid || true; done
e runs
python3 - <<'P'
import sqlite3
c=sqlite3.connect('.envoi/envoi.db'); c.execute('PRAGMA wal_checkpoint(TRUNCATE)'); c.close()
P
rm -f .envoi/envoi.db-shm .envoi/envoi.db-wal
: > .envoi/engine.lock
cd ..
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-11-22 -cf - project | gzip -9n > "$out"
ls -la "$out"
# A store that is still there makes every unpacked one a copy.
rm -rf $root
