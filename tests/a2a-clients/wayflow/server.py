"""WayFlow's A2AServer with a flow that asks once more before it says what it has heard: `server.py PORT`."""

import sys

from wayflowcore.agentserver.server import A2AServer
from wayflowcore.flow import Flow
from wayflowcore.steps import InputMessageStep, OutputMessageStep

ANSWER = InputMessageStep.USER_PROVIDED_INPUT
port = int(sys.argv[1])
flow = Flow.from_steps(
    [
        # The first message of a task is the answer to it.
        InputMessageStep("What is it about?", output_mapping={ANSWER: "topic"}),
        InputMessageStep("Which colour?", output_mapping={ANSWER: "colour"}),
        OutputMessageStep("{{ topic }} in {{ colour }}"),
    ],
    name="colours",
)
server = A2AServer()
server.serve_agent(flow, url=f"http://127.0.0.1:{port}")
server.run(host="127.0.0.1", port=port)
