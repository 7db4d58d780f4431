#!/bin/sh
# Runs the public kit of A2A's tests (a2aproject/a2a-tck, branch 1.0-dev) against this server: `spec/tck/run.sh KIT_FOLDER`.
#
# $PYTHON is the Python that has the kit's dependencies (python3), $ENVOI the binary, as it is shipped; without it, the one that
# cargo builds. The server has one flow, flow.yaml beside this file. It prints how many tests of each level went how, by
# binding; reports and logs stay in the folder $REPORTS, if that is set.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
kit=$(CDPATH='' cd -- "$1" && pwd)
PYTHON=${PYTHON:-python3}
if [ -z "${ENVOI:-}" ]; then
    (cd "$here/../.." && cargo build --locked --quiet --bin envoi)
    ENVOI=${CARGO_TARGET_DIR:-$here/../../target}/debug/envoi
fi
export ENVOI

# The kit's tests that hold a server to something else than 1.0.1:
# - a response of HTTP+JSON is to be `application/json`; in 1.0.1 it is `application/a2a+json`
# - a part of a media type that the card does not name is to be accepted; in 1.0.1 it is refused (ContentTypeNotSupported)
# And one that wants something of the agent that no flow does:
# - a message without a task as the answer; in 1.0.1 an agent may choose between the two, and a run is always a task
deselected="
core_operations/test_artifacts.py::TestMessageResponse
core_operations/test_transport_behavior.py::TestRestFormat::test_response_content_type
core_operations/test_requirements.py::test_must_requirement[CORE-SEND-003-
"

scratch=$(mktemp -d)
STAGE=$scratch/stage
export STAGE
REPORTS=${REPORTS:-$scratch}
mkdir -p "$REPORTS"
REPORTS=$(CDPATH='' cd -- "$REPORTS" && pwd)
server=$here/../../tests/a2a-clients/server.sh
trap '"$server" stop; rm -rf "$scratch" || true' EXIT
trap 'exit 1' INT TERM

mkdir -p "$STAGE/.envoi"
cp "$here/config.yaml" "$STAGE/.envoi/config.yaml"
"$server" start
ENVOI_URL=$(cat "$STAGE/url")
ENVOI_TOKEN=$(cat "$STAGE/token")
PYTHONPATH=$here
PYTHONDONTWRITEBYTECODE=1
export ENVOI_URL ENVOI_TOKEN PYTHONPATH PYTHONDONTWRITEBYTECODE
curl -sfS -o "$scratch/registered" -H "Authorization: Bearer $ENVOI_TOKEN" --data-binary "@$here/flow.yaml" "$ENVOI_URL/v1/flows"

set -- -p envoi_bearer --webhook-host=127.0.0.1
for name in $deselected; do
    set -- "$@" "--deselect=tests/compatibility/$name"
done
cd "$kit"
worst=0
for level in must should may; do
    "$PYTHON" run_tck.py --sut-host "$ENVOI_URL" --level "$level" -- "$@" --junitxml="$REPORTS/$level.xml" >"$REPORTS/$level.log" 2>&1 ||
        { grep -E '^(FAILED|ERROR)|Error' "$REPORTS/$level.log" || tail -n 30 "$REPORTS/$level.log"; } | cut -c1-400 >&2
    "$PYTHON" "$here/count.py" "$level" "$REPORTS/$level.xml" || worst=1
done
exit "$worst"
