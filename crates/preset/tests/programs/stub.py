#!/usr/bin/env python3
"""A stub of four model protocols on the loopback: Anthropic Messages, OpenAI Responses, OpenAI chat completions and Gemini's generateContent. Each has streams too.

The first part of a request's path names the scenario, after any text and `--`, so one stub serves many runs at once and counts the
calls of each (`GET /calls`): `ANTHROPIC_BASE_URL=http://127.0.0.1:PORT/one--tool`. Where `STUB_LOG` names a file, each call is a line of JSON
in it. `stub.py` prints its port and serves until it is ended.
"""
import http.server
import json
import os
import sys
import threading
import time

RESET_AT = int(os.environ.get("STUB_RESET_AT", "1795369512"))
LIMIT_HEADERS = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": str(RESET_AT),
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-5h-status": "rejected",
    "anthropic-ratelimit-unified-5h-reset": str(RESET_AT),
    "anthropic-ratelimit-unified-5h-utilization": "1",
    "anthropic-ratelimit-unified-7d-status": "allowed",
    "anthropic-ratelimit-unified-7d-reset": str(RESET_AT + 86400),
    "anthropic-ratelimit-unified-7d-utilization": "0.4",
    "anthropic-ratelimit-unified-overage-status": "rejected",
    "retry-after": "7200",
}
CODEX_LIMIT_HEADERS = {
    "x-codex-primary-used-percent": "100",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": str(RESET_AT),
}

# Scenario: (status, body, headers). Anything else answers.
ANTHROPIC_ERRORS = {
    "unauthorized": (401, ("authentication_error", "invalid x-api-key"), {}),
    "forbidden": (403, ("permission_error", "not allowed"), {}),
    "no-model": (404, ("not_found_error", "model: nothing"), {}),
    "credit": (400, ("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), {}),
    "too-long": (400, ("invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"), {}),
    "limit": (429, ("rate_limit_error", "This request would exceed your account's rate limit."), LIMIT_HEADERS),
    "busy": (429, ("rate_limit_error", "Too many requests"), {"retry-after": "1"}),
    "long": (429, ("rate_limit_error", "Too many requests"), {"retry-after": "7200"}),
    "overloaded": (529, ("overloaded_error", "Overloaded"), {}),
    "failing": (500, ("api_error", "Internal server error"), {}),
}
OPENAI_ERRORS = {
    "unauthorized": (401, {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}, {}),
    "forbidden": (403, {"message": "not allowed", "type": "permission_error"}, {}),
    "no-model": (404, {"message": "The model `nothing` does not exist", "type": "invalid_request_error", "code": "model_not_found"}, {}),
    "credit": (429, {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}, {}),
    "too-long": (400, {"message": "Your input exceeds the context window of this model.", "type": "invalid_request_error", "code": "context_length_exceeded"}, {}),
    "limit": (429, {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus", "resets_at": RESET_AT}, CODEX_LIMIT_HEADERS),
    "busy": (429, {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}, {"retry-after": "1"}),
    "long": (429, {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}, {"retry-after": "7200"}),
    "soon": (429, {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}, {"retry-after": "18"}),
    "overloaded": (503, {"message": "Overloaded", "type": "server_error"}, {}),
    "failing": (500, {"message": "The server had an error while processing your request.", "type": "server_error"}, {}),
}

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
GEMINI_ERRORS = {
    "unauthorized": (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", []),
    "forbidden": (403, "PERMISSION_DENIED", "Permission denied.", []),
    "no-model": (404, "NOT_FOUND", "models/nothing is not found for API version v1beta.", []),
    "credit": (400, "FAILED_PRECONDITION", "Billing is not enabled for this project.", []),
    "too-long": (400, "INVALID_ARGUMENT", "The input token count (3000000) exceeds the maximum number of tokens allowed (1048576).", []),
    "limit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [
        {"@type": QUOTA_FAILURE, "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaMetric": "requests"}]},
        {"@type": RETRY_INFO, "retryDelay": "7200s"}]),
    "busy": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", [{"@type": RETRY_INFO, "retryDelay": "1s"}]),
    "long": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", [{"@type": RETRY_INFO, "retryDelay": "7200s"}]),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded.", []),
    "failing": (500, "INTERNAL", "An internal error has occurred.", []),
}


# In the scenario `drips` an answer comes in pieces, each after this time.
DRIP_S = 3
PIECES = 5


# Calls of the scenario `work` in which the model wants a tool. The next one ends the turn.
CALLS_OF_WORK = 4


def command_of(scenario):
    """The command that the model asks for, of the scenarios with a tool."""
    patch = "*** Begin Patch\n*** Add File: denied.txt\n+hello\n*** End Patch"
    return {"work": "sleep 0.4", "tool": "echo made > out.txt", "denied": "python3 -c 'open(\"denied.txt\", \"w\")'", "escalates": "touch outside.txt",
            "patches": f"apply_patch <<'END'\n{patch}\nEND\n", "few-turns": "true", "slow": "tail -f /dev/null",
            # `begun` is a pipe: who reads it learns when the command has begun.
            "begins": "echo > begun; tail -f /dev/null"}.get(scenario)


def turn_of_asks(number):
    """What the model of the scenario `asks` does in its turns: calls that a person is to decide, and a question of its own."""
    def push(*names):
        return [("Bash", {"command": f"git push {name}", "description": "send"}) for name in names]
    question = {"question": "Which database?", "header": "Database", "multiSelect": False, "options": [
        {"label": "SQLite", "description": "small"}, {"label": "Postgres", "description": "large"}]}
    # After the sixth call the program is killed. The seventh answers to what is left of it, the eighth to the prompt.
    turns = {1: push("one", "two"), 2: push("two"), 3: [("AskUserQuestion", {"questions": [question]})], 4: push("three"),
             5: push("slow"), 7: push("slow")}
    return turns.get(number)


# What stands in for a model in further scenarios: from the last prompt of a conversation, and the results of the commands since, to one turn,
# `{"run": COMMAND}` or `{"say": TEXT}`. It knows nothing but the conversation, so one may serve many at once.
MODELS = {}


def text_of(content):
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return "\n".join(part.get("text", "") for part in parts if part.get("type") in ("text", "input_text", "output_text"))


def heard_in_messages(request):
    """The last prompt of a conversation in Anthropic messages, and the results of the tools since."""
    results = []
    for message in reversed(request.get("messages", [])):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        found = [text_of(part.get("content")) for part in parts if part.get("type") == "tool_result"]
        if not found:
            return text_of(content), results
        results = found + results
    return "", results


def heard_in_responses(request):
    """The last prompt of a conversation in OpenAI responses, and the results of the tools since."""
    results = []
    for item in reversed(request.get("input", [])):
        if item.get("type") == "function_call_output":
            output = item.get("output")
            results.insert(0, output if isinstance(output, str) else text_of(output))
        elif item.get("type", "message") == "message" and item.get("role") == "user":
            return text_of(item.get("content")), results
    return "", results


class Stub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    calls = {}
    # The messages of each call of the scenario `asks`.
    heard = []
    # The last request of each run.
    latest = {}
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(200, {"calls": Stub.calls} if self.path == "/calls" else {"data": [], "models": []})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        _, run, *rest = self.path.split("?")[0].split("/")
        scenario = run.split("--")[-1]
        place = "/".join(rest)
        if place.endswith("count_tokens"):
            return self.reply(200, {"input_tokens": 10})
        # A provider takes a while: a process may be killed in the midst of a call.
        if scenario == "work":
            time.sleep(0.2)
        with Stub.lock:
            Stub.calls[run] = Stub.calls.get(run, 0) + 1
            number = Stub.calls[run]
            Stub.latest[run] = request
        self.scenario, self.number = scenario, number
        with Stub.lock:
            if os.environ.get("STUB_LOG"):
                with open(os.environ["STUB_LOG"], "a") as log:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    print(json.dumps({"path": self.path, "headers": headers, "body": request}), file=log)
        if place.endswith("messages"):
            return self.anthropic(scenario, number, request)
        if place.endswith("responses"):
            return self.openai(scenario, number, request)
        if place.endswith("chat/completions"):
            return self.chat(scenario, number, request)
        if place.endswith("countTokens"):
            return self.reply(200, {"totalTokens": 10})
        if "GenerateContent" in place or "generateContent" in place:
            return self.gemini(scenario, number, request, place)
        self.reply(404, {"error": {"message": "no such path"}})

    def reply(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def whole(self, scenario, number, body):
        """A reply that is no stream."""
        ids = {"request-id": f"req_{number}", "x-request-id": f"req_{number}"}
        if scenario == "malformed":
            body = {"odd": True}
        if scenario == "cut" or (scenario == "cut-once" and number == 1):
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id": ')
            self.close_connection = True
            return
        self.reply(200, body, ids)

    @staticmethod
    def answer(scenario, number):
        """What a model says to a request without tools."""
        if scenario == "repair" and number == 1:
            return '{"verdict": "perhaps"}'
        return '{"verdict": "good", "score": 7}' if scenario in ("data", "repair") else "Hello from the stub."

    def chat(self, scenario, number, request):
        failure = OPENAI_ERRORS.get(scenario)
        if scenario.endswith("-once") and number == 1:
            failure = OPENAI_ERRORS.get(scenario.removesuffix("-once"))
        if scenario == "newer" and "max_tokens" in request:
            failure = (400, {"message": "`max_tokens` is not known; say `max_completion_tokens`.", "type": "invalid_request_error", "code": "unsupported_parameter"}, {})
        if failure:
            status, error, headers = failure
            return self.reply(status, {"error": error}, {"x-request-id": f"req_{number}", **headers})
        if scenario == "silent":
            return time.sleep(3600)
        if request.get("stream"):
            return self.chat_stream(scenario, number, request)
        message = {"role": "assistant", "content": self.answer(scenario, number)}
        reason = {"length": "length", "filter": "content_filter"}.get(scenario, "stop")
        usage = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens": 10, "total_tokens": 110}
        self.whole(scenario, number, {"id": f"chat_{number}", "object": "chat.completion", "model": request.get("model"),
                                      "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage})

    def chat_stream(self, scenario, number, request):
        last = request.get("messages", [{}])[-1]
        answered = last.get("role") == "tool"
        tools = {tool.get("function", {}).get("name") for tool in request.get("tools", [])}
        delta = {"role": "assistant", "content": "STATUS: VERIFIED\nDone." if answered else self.answer(scenario, number)}
        command = command_of(scenario)
        if scenario == "work":
            answered = number > CALLS_OF_WORK
        if scenario == "few-turns":
            answered = number > 3
        if scenario == "turns":
            command, answered = "true", False
        reason = {"length": "length", "filter": "content_filter"}.get(scenario, "stop")
        # A tool that is not offered is called all the same: the program refuses it. A request without tools is for a title.
        if command and tools and not answered:
            given = json.dumps({"command": command, "description": "work"})
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": {"name": "bash", "arguments": given}}
            delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        usage = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens": 10, "total_tokens": 110}
        base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": request.get("model")}
        chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                  {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}]
        data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.stream_at_once(data.encode())

    def stream(self, events):
        if self.is_spoilt():
            events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            return self.stream_at_once(events.encode())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            if self.scenario == "drips":
                time.sleep(DRIP_S)
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def is_spoilt(self):
        return self.scenario in ("cut", "malformed") or (self.scenario == "cut-once" and self.number == 1)

    def stream_at_once(self, data):
        """A stream in one piece. One that is cut off says how long it would have been."""
        sent = data
        if self.is_spoilt():
            sent = data[:len(data) // 2] if self.scenario != "malformed" else b'data: {"odd": true}\n\n'
            data = data if self.scenario != "malformed" else sent
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        pieces = PIECES if self.scenario == "drips" else 1
        size = -(-len(sent) // pieces)
        for piece in range(pieces):
            if pieces > 1:
                time.sleep(DRIP_S)
            self.wfile.write(sent[piece * size:(piece + 1) * size])
            self.wfile.flush()
        self.close_connection = self.close_connection or sent is not data

    def anthropic(self, scenario, number, request):
        failure = ANTHROPIC_ERRORS.get(scenario)
        if scenario.endswith("-once") and number == 1:
            failure = ANTHROPIC_ERRORS.get(scenario.removesuffix("-once"))
        if failure:
            status, (kind, message), headers = failure
            return self.reply(status, {"type": "error", "error": {"type": kind, "message": message}}, {"request-id": f"req_{number}", **headers})
        if scenario == "silent":
            return time.sleep(3600)
        last = request.get("messages", [{}])[-1].get("content", "")
        answered = isinstance(last, list) and any(part.get("type") == "tool_result" for part in last)
        if scenario == "work":
            answered = number > CALLS_OF_WORK
        tools = {tool.get("name") for tool in request.get("tools", [])}
        block = {"type": "text", "text": "STATUS: VERIFIED\nDone." if answered else "Hello from the stub."}
        command = command_of(scenario)
        if "StructuredOutput" in tools and scenario == "data" and not answered:
            block = self.tool(number, "StructuredOutput", {"verdict": "good", "score": 7})
        elif command and "Bash" in tools and (not answered or scenario == "turns"):
            block = self.tool(number, "Bash", {"command": command, "description": "make a file"})
        elif scenario == "turns" and "Bash" in tools:
            block = self.tool(number, "Bash", {"command": "true", "description": "nothing"})
        if not request.get("stream"):
            block = {"type": "text", "text": self.answer(scenario, number)}
            usage = {"input_tokens": 70, "output_tokens": 10, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
            reason = {"length": "max_tokens", "filter": "refusal"}.get(scenario, "end_turn")
            return self.whole(scenario, number, {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": [block],
                                                 "stop_reason": reason, "usage": usage})
        if scenario in MODELS:
            turn = MODELS[scenario](*heard_in_messages(request))
            block = (self.tool(number, "Bash", {"command": turn["run"], "description": "work"}) if "run" in turn
                     else {"type": "text", "text": turn["say"]})
        blocks = [block]
        if scenario == "asks":
            calls = turn_of_asks(number) or []
            blocks = [{**self.tool(number, name, given), "id": f"toolu_{number}_{place}"}
                      for place, (name, given) in enumerate(calls)] or [{"type": "text", "text": "Done."}]
            with Stub.lock:
                Stub.heard.append(request.get("messages", []))
        end = {"length": "max_tokens", "filter": "refusal"}.get(scenario, "end_turn")
        self.stream(self.message_events(number, request.get("model"), blocks, end))

    @staticmethod
    def tool(number, name, given):
        return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}

    @staticmethod
    def message_events(number, model, blocks, end="end_turn"):
        is_tool = any(block["type"] == "tool_use" for block in blocks)
        usage = {"input_tokens": 100, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        for index, block in enumerate(blocks):
            calls = block["type"] == "tool_use"
            start = {**block, "input": {}} if calls else {**block, "text": ""}
            delta = ({"type": "input_json_delta", "partial_json": json.dumps(block["input"])} if calls
                     else {"type": "text_delta", "text": block["text"]})
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if is_tool else end, "stop_sequence": None},
               "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}

    def openai(self, scenario, number, request):
        failure = OPENAI_ERRORS.get(scenario)
        if scenario.endswith("-once") and number == 1:
            failure = OPENAI_ERRORS.get(scenario.removesuffix("-once"))
        if failure:
            status, error, headers = failure
            return self.reply(status, {"error": error}, {"x-request-id": f"req_{number}", **headers})
        if scenario == "silent":
            return time.sleep(3600)
        answered = request.get("input", [{}])[-1].get("type") == "function_call_output"
        if scenario == "work":
            answered = number > CALLS_OF_WORK
        text = "STATUS: VERIFIED\nDone." if answered else "Hello from the stub."
        if scenario == "data":
            text = '{"verdict": "good", "score": 7}'
        item = {"type": "message", "role": "assistant", "id": f"item_{number}",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        command = command_of(scenario)
        names = {tool.get("name") for tool in request.get("tools", [])}
        if scenario in MODELS:
            turn = MODELS[scenario](*heard_in_responses(request))
            command, answered = turn.get("run"), "say" in turn
            item["content"][0]["text"] = turn.get("say", "")
        if scenario == "turns":
            command, answered = "true", False
        if command and not answered:
            given = {"cmd": command} if "exec_command" in names else {"command": ["sh", "-c", command]}
            if scenario == "escalates":
                given |= {"sandbox_permissions": "require_escalated", "justification": "It writes."}
            item = {"type": "function_call", "id": f"item_{number}", "call_id": f"call_{number}",
                    "name": "exec_command" if "exec_command" in names else "shell", "arguments": json.dumps(given)}
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}
        done = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        if not request.get("stream"):
            item["content"] = [{"type": "output_text", "text": self.answer(scenario, number), "annotations": []}]
            if scenario in ("length", "filter"):
                reason = "max_output_tokens" if scenario == "length" else "content_filter"
                done.update(status="incomplete", incomplete_details={"reason": reason})
            return self.whole(scenario, number, done)
        last = {"type": "response.completed", "response": done}
        if scenario in ("length", "filter"):
            reason = "max_output_tokens" if scenario == "length" else "content_filter"
            done.update(status="incomplete", incomplete_details={"reason": reason})
            last["type"] = "response.incomplete"
        self.stream([
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            last,
        ])

    def gemini(self, scenario, number, request, place):
        failure = GEMINI_ERRORS.get(scenario)
        if scenario.endswith("-once") and number == 1:
            failure = GEMINI_ERRORS.get(scenario.removesuffix("-once"))
        if failure:
            status, kind, message, details = failure
            return self.reply(status, {"error": {"code": status, "message": message, "status": kind, "details": details}})
        if scenario == "silent":
            return time.sleep(3600)
        last = request.get("contents", [{}])[-1].get("parts", [])
        answered = any("functionResponse" in part for part in last)
        if scenario == "work":
            answered = number > CALLS_OF_WORK
        names = {function.get("name") for tool in request.get("tools", []) for function in tool.get("functionDeclarations", [])}
        text = "STATUS: VERIFIED\nDone." if answered else "Hello from the stub."
        if scenario == "data":
            text = '{"verdict": "good", "score": 7}'
        part = {"text": text}
        command = command_of(scenario)
        if scenario == "turns":
            command, answered = "true", False
        # A tool that is not offered is called all the same: the program refuses it.
        if command and not answered and names:
            part = {"functionCall": {"name": "run_shell_command", "args": {"command": command, "description": "work"}}}
        usage = {"promptTokenCount": 100, "cachedContentTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 110}
        end = {"length": "MAX_TOKENS", "filter": "SAFETY"}.get(scenario, "STOP")
        body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": end, "index": 0}],
                "usageMetadata": usage, "modelVersion": "stub-model", "responseId": f"resp_{number}"}
        if "streamGenerateContent" not in place:
            return self.reply(200, body)
        self.stream_at_once(f"data: {json.dumps(body)}\r\n\r\n".encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def start():
    """A server that answers in a thread of its own; its port."""
    server = Server(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


if __name__ == "__main__":
    print(start()[1], flush=True)
    sys.stdin.read()
