#!/usr/bin/env bash
# Makes a store as the build with 18 migrations leaves it, for tests of later builds: make-18.sh BINARY TRANSCRIPTS OUT.tar.gz
# TRANSCRIPTS is crates/preset/tests/transcripts. Needs curl, python3 and tar.
set -eu
binary=$1 transcripts=$2 out=$3
root=/tmp/envoi-kept-18
rm -rf $root; mkdir -p $root/project/bin $root/sockets
cp "$transcripts"/claude/{hello,limit}.jsonl $root/project/bin
cd $root/project
e() { env -i PATH=/usr/bin:/bin HOME=$root USER=ada XDG_RUNTIME_DIR=$root/sockets "$binary" "$@"; }
# A program that writes what the real one wrote: the first time that its account is used up, then a success.
cat > bin/claude <<'P'
#!/bin/sh
here=${0%/*}
id=$(echo "$*" | sed -n 's/.*\(--session-id\|--resume\) \([^ ]*\).*/\2/p')
cat > /dev/null
name=limit
[ ! -e "$here/open" ] || name=hello
sed -n 's/^# stderr //p' "$here/$name.jsonl" >&2
grep -v '^# ' "$here/$name.jsonl" | sed 's/"session_id":"[^"]*"/"session_id":"'"$id"'"/'
exit "$(sed -n 's/^# exit //p' "$here/$name.jsonl")"
P
chmod +x bin/claude
cat > agent.yaml <<'Y'
flow: agent
env: { PATH: "bin:/usr/bin:/bin" }
steps:
  - id: write
    agent: { use: claude, prompt: Say hello., may: edit }
  - id: after
    run: echo written
Y
cat > files.yaml <<'Y'
flow: files
workspace: { keep: true }
steps:
  - id: make
    run: "mkdir -p made; date +%N > made/a.txt; echo b > made/b.txt"
    artifacts: [made/a.txt]
  - id: count
    cache: { inputs: [made/b.txt] }
    run: "wc -l made/b.txt"
  - id: change
    run: "rm made/b.txt; echo c > made/c.txt"
  - id: look
    ask: "Are the files right?"
Y
cat > together.yaml <<'Y'
flow: together
notify: "http://127.0.0.1:9/hook"
steps:
  - id: left
    needs: []
    run: "echo left"
  - id: right
    needs: []
    for_each: [one, two]
    run: "echo $ENVOI_ATTEMPT"
  - id: approve
    needs: [left, right]
    ask: { message: "Both?", quorum: 2 }
  - id: done
    needs: [approve]
    run: "echo together >> together.txt"
Y
cat > wrong.yaml <<'Y'
flow: wrong
steps:
  - id: first
    run: "echo first >> wrong.txt"
  - id: typo
    run: "cta wrong.txt"
Y
sed 's/cta/cat/' wrong.yaml > right.yaml
e run wrong.yaml || [ $? = 1 ]
e resume --flow right.yaml --yes
e fork --from typo
# It waits for its account as long as an engine is there.
e --json run agent.yaml > waits & engine=$!
until grep -q timer_set waits; do sleep 0.05; done
kill -INT "$(head -1 .envoi/engine.lock)"; wait $engine || true
rm waits
e run files.yaml || [ $? = 3 ]
e run together.yaml || [ $? = 3 ]
question=$(e --json inbox | python3 -c 'import json,sys;print([q["question"] for q in json.load(sys.stdin) if q["step"]=="approve"][0])')
e approve "$question" || [ $? = 3 ]
printf 'server: { a2a: { push: { allow: [127.0.0.1] } } }\n' > .envoi/config.yaml
e token create ci --scope run --scope answer --scope admin > token
e --json serve --listen 127.0.0.1:0 > listening 2> serve.log & server=$!
until [ -s listening ]; do sleep 0.05; done
url=$(python3 -c 'import json;print(json.loads(open("listening").readline())["listening"])')
ask() { curl -sS --fail-with-body -H "Authorization: Bearer $(tail -1 token)" -H "Content-Type: application/json" "$@"; }
python3 - > body <<'P'
import json
print(json.dumps({"flow": "served.yaml", "files": {"served.yaml": "flow: served\ninputs: { who: { type: string } }\nsteps:\n  - { id: greet, run: [echo, '${{ inputs.who }}'] }\n  - { id: ask, ask: 'Send it?' }\n  - { id: send, run: echo sent }\n"}}))
P
ask "$url/v1/flows" -d @body > registered
digest=$(python3 -c 'import json;print(json.load(open("registered"))["digest"])')
ask "$url/v1/runs" -H "Idempotency-Key: kept" -d "{\"flow\": \"$digest\", \"inputs\": {\"who\": \"ada\"}, \"workspace\": \"copy\"}" > started
python3 - "$digest" > message <<'P'
import json, sys
message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": {"who": "bea"}}], "metadata": {"urn:envoi:a2a:flow": "served", "urn:envoi:a2a:workspace": "copy"}}
push = {"url": "https://127.0.0.1:9/push", "token": "kept"}
configuration = {"returnImmediately": True, "taskPushNotificationConfig": push}
print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message, "configuration": configuration}}))
P
ask "$url/a2a" -H "A2A-Version: 1.0" -d @message > task || true
until [ "$(e --json inbox | python3 -c 'import json,sys;print(len(json.load(sys.stdin)))')" -ge 3 ]; do sleep 0.1; done
kill -TERM $server; wait $server || true
e runs
cat registered started task
rm -f body message listening serve.log
python3 - <<'P'
import sqlite3
c=sqlite3.connect('.envoi/envoi.db'); c.execute('PRAGMA wal_checkpoint(TRUNCATE)')
for (t,) in c.execute("select name from sqlite_master where type='table'").fetchall():
    print(t, c.execute(f'select count(*) from "{t}"').fetchone()[0])
c.close()
P
rm -f .envoi/envoi.db-shm .envoi/envoi.db-wal
: > .envoi/engine.lock
cd ..
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-11-30 -cf - project | gzip -9n > "$out"
ls -la "$out"
# A store that is still there makes every unpacked one a copy.
rm -rf $root
