"""Starts a flow with inputs and reads what came of it, with the client that openapi-python-client makes of spec/openapi.json.

Called with the server's address and a token.
"""

import io
import sys

from envoi_client import AuthenticatedClient
from envoi_client.api.default import follow_run, get_envelope, get_handoff, get_run, start_run, upload_artifact
from envoi_client.models import Attachment, Envelope, Handoff, Run, Start, StartInputs, StartMetadata
from envoi_client.types import File

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)

# What has a default in the flow or here is left out.
start = Start(
    flow="greet",
    inputs=StartInputs.from_dict({"name": "Ada", "times": 3}),
    user_id="u-7",
    metadata=StartMetadata.from_dict({"team": "press"}),
)
started = start_run.sync(client=client, body=start)
assert isinstance(started, Run), started
# The stream ends with the run.
follow_run.sync_detailed(started.run, client=client)
ended = get_run.sync(started.run, client=client)
assert isinstance(ended, Run) and ended.status.value == "succeeded", ended
envelope = get_envelope.sync(started.run, client=client)
assert isinstance(envelope, Envelope) and envelope.user_id == "u-7", envelope
handoff = get_handoff.sync(started.run, "say", client=client)
assert isinstance(handoff, Handoff) and handoff.summary == "Ada 3", handoff
content = upload_artifact.sync(client=client, body=File(payload=io.BytesIO(b"minutes")))
assert isinstance(content, Attachment) and content.size == 7, content
print("generated-clients: the Python client got what it came for")
