"""The client without a server of ours: what it asks for, when it asks again, how it reads a stream."""

import io
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, Optional

import envoi
from envoi.client import ApiError, Client, File, Unreachable
from envoi.client.stream import Lines
from tests.served import Hands, Scripted

DOCUMENT = Path(__file__).resolve().parents[3] / "spec" / "openapi.json"

REF = envoi.AttachmentRef("art_1", "rep_1", "sha256:" + "0" * 64, "text/plain", envoi.OriginKind.UPLOAD)

CALLS: Dict[str, Any] = {
    "answerQuestion": lambda ask: ask(
        "int_1", "raise", "words", data={"a": 1}, attachments=[REF], seen="sha256:0", more={"llm_calls": 1},
        user_envelope=True, resume=False,
    ),
    "cancelRun": lambda ask: ask("run_1"),
    "compareRun": lambda ask: ask("run_1", "main.yaml", "draft", files={"main.yaml": "flow: f\n"}, fork=True),
    "correctRun": lambda ask: ask(
        "run_1", "main.yaml", "draft", "why", seen="sha256:0", files={"main.yaml": "flow: f\n"}
    ),
    "explainRun": lambda ask: ask("run_1"),
    "followQuestions": lambda ask: ask(after="run_1:3"),
    "followTenant": lambda ask: ask(after="run_1:3"),
    "followRun": lambda ask: ask("run_1", after=3),
    "forkRun": lambda ask: ask(
        "run_1", "draft", "why", flow="main.yaml", files={"main.yaml": "flow: f\n"}, workspace="copy", yes_to=["a"]
    ),
    "getArtifact": lambda ask: ask("sha256:0"),
    "getEnvelope": lambda ask: ask("run_1"),
    "getFlowPlan": lambda ask: ask("publish"),
    "getFlowShape": lambda ask: ask("publish"),
    "getFlow": lambda ask: ask("publish", file="inner.yaml"),
    "getHandoff": lambda ask: ask("run_1", "0.draft", visit=2),
    "getHealth": lambda ask: ask(),
    "getLog": lambda ask: ask("run_1", "each/1.draft.1.1", "stderr", start=1, end=2),
    "getMetrics": lambda ask: ask(),
    "getOpenApi": lambda ask: ask(),
    "exportRun": lambda ask: ask("run_1", without_files=True),
    "explainCode": lambda ask: ask("RUN_NOT_FOUND"),
    "getPatch": lambda ask: ask("run_1"),
    "getQuestion": lambda ask: ask("int_1"),
    "getReadiness": lambda ask: ask(),
    "getRun": lambda ask: ask("run_1"),
    "getRunContent": lambda ask: ask("run_1", "sha256:0"),
    "getRunLedger": lambda ask: ask("run_1"),
    "getRunShape": lambda ask: ask("run_1"),
    "getRunFlow": lambda ask: ask("run_1"),
    "getToken": lambda ask: ask(),
    "listArtifacts": lambda ask: ask("run_1", all=True),
    "listDifferences": lambda ask: ask("run_1", states="start..end", path="src", lines=True, authors=True),
    "listChangedFiles": lambda ask: ask("run_1", place="draft.1"),
    "listEvents": lambda ask: ask("run_1", after=3),
    "listFlows": lambda ask: ask(),
    "listHandoffs": lambda ask: ask("run_1"),
    "listLogs": lambda ask: ask("run_1"),
    "listQuestions": lambda ask: ask(run="run_1", closed=True, newest=True),
    "listSteps": lambda ask: ask("run_1", after=3),
    "listRuns": lambda ask: ask(status="waiting", stands="waiting", in_doubt=True, flow="publish", q="a", since="2026-01-01T00:00:00Z", root="run_1"),
    "raiseRun": lambda ask: ask("run_1", {"llm_calls": 1}, "why"),
    "registerFlow": lambda ask: ask("main.yaml", {"main.yaml": "flow: f\n"}),
    "resumeRun": lambda ask: ask("run_1", "rerun", "why", now=True),
    "startRun": lambda ask: ask(
        "publish",
        {"a": 1},
        workspace="copy",
        yes_to=["a"],
        user_id="u",
        session_id="s",
        metadata={"k": "v"},
        raw_input="asked",
        part={"only": ["a"], "with": "run_1"},
        no_cache=True,
    ),
    "uploadArtifact": lambda ask: ask(b"words", mime="text/plain"),
}
"""Each operation, called with all arguments of its method."""

BRIDGE = "asked for by the clients of OpenAI's protocol, with a token of its own (docs/bridge.md)"

PAGE = "asked for by the web page of the server; programs have tokens (docs/server.md)"

LEFT_OUT: Dict[str, str] = {
    "callModel": BRIDGE,
    "completeChat": BRIDGE,
    "countMessageTokens": BRIDGE,
    "createMessage": BRIDGE,
    "createResponse": BRIDGE,
    "createSession": PAGE,
    "endSession": PAGE,
    "listModels": BRIDGE,
}
"""Operations without a method, and why."""


class Asked(Exception):
    """The request that a method makes; there is no answer."""


class Recorder:
    def open(self, request: Any, timeout: Any = None) -> Any:
        raise Asked(request)


def request_of(operation: str) -> Any:
    client = Client("http://127.0.0.1:1", "t")
    client._caller.server = Recorder()  # type: ignore[assignment]
    method = getattr(client, re.sub(r"(?=[A-Z])", "_", operation).lower())
    try:
        for _ in CALLS[operation](method):
            pass
    except Asked as asked:
        return asked.args[0]
    raise AssertionError(f"{operation} asks for nothing")


def resolved(document: Any, value: Any) -> Any:
    """What a `$ref` names, or the value itself."""
    for part in value.get("$ref", "").split("/")[1:]:
        document = document[part]
    return document if "$ref" in value else value


class TheOperations(unittest.TestCase):
    document = envoi.json.loads(DOCUMENT.read_bytes())

    def operations(self) -> Dict[str, Any]:
        found = {}
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                found[operation["operationId"]] = (method.upper(), path, operation)
        return found

    def test_each_has_a_method_or_a_reason(self) -> None:
        operations = set(self.operations())
        self.assertEqual(operations - set(CALLS) - set(LEFT_OUT), set(), "operations without a method")
        self.assertEqual(set(CALLS) - operations, set(), "methods without an operation")

    def test_each_method_asks_for_what_the_document_describes(self) -> None:
        for name, (method, path, operation) in self.operations().items():
            if name in LEFT_OUT:
                continue
            with self.subTest(name):
                request = request_of(name)
                target, _, query = request.target.partition("?")
                self.assertEqual(request.method, method)
                self.assertRegex(target, f"^{re.sub(r'{[^}]*}', '[^/]+', path)}$")
                parameters = [resolved(self.document, each) for each in operation["parameters"]]
                known = {(each["in"], each["name"].lower()) for each in parameters}
                for parameter in filter(None, query.split("&")):
                    self.assertIn(("query", parameter.partition("=")[0]), known)
                for header in request.headers:
                    if header != "Accept":
                        self.assertIn(("header", header.lower()), known)
                self.body_is_described(request, resolved(self.document, operation.get("requestBody", {})))

    def body_is_described(self, request: Any, body: Any) -> None:
        if not body:
            self.assertIsNone(request.content)
            return
        kinds = body["content"]
        if "application/octet-stream" in kinds:
            return
        media = kinds[request.content.mime]
        if request.content.mime == "application/json":
            with request.content.opened() as (sent, _):
                members = envoi.json.loads(sent)
            self.assertEqual(set(members), set(resolved(self.document, media["schema"])["properties"]))


class TheModule(unittest.TestCase):
    def test_work_on_the_files_of_a_run_is_waited_for_longer_than_a_server_takes_for_it(self) -> None:
        class Seen(Exception):
            pass

        client = Client("http://127.0.0.1:1", "t", timeout=1.0)
        server = client._caller.server
        silences = []

        def opened(request: Any, timeout: Optional[float] = None) -> Any:
            silences.append(server.silence(request))
            raise Seen

        server.open = opened  # type: ignore[method-assign]
        for call in (
            lambda: client.get_patch("run_1"),
            lambda: client.export_run("run_1"),
            lambda: list(client.list_differences("run_1")),
            lambda: client.compare_run("run_1"),
        ):
            with self.assertRaises(Seen):
                call()
        self.assertTrue(all(silence > 15 * 60 for silence in silences), silences)
        with self.assertRaises(Seen):
            client.get_run("run_1")
        self.assertEqual(silences[-1], 1.0)

    def test_a_command_that_needs_no_network_does_not_load_it(self) -> None:
        program = "import sys, envoi; sys.exit(str({'envoi.client', 'http.client', 'ssl'} & set(sys.modules) or ''))"
        run = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)
        self.assertEqual(run.stderr.strip(), "")


class WithAnswers(unittest.TestCase):
    """A test with a server that gives the answers of a list, and a client whose time does not pass."""

    def server(self, *answers: tuple) -> Scripted:
        server = Scripted(*answers)
        self.addCleanup(server.close)
        return server

    def client(self, server: Scripted, **options: Any) -> Client:
        client = Client(server.url, "t", **options)
        client._caller.clock = Hands()
        return client

    def slept(self, client: Client) -> list:
        clock = client._caller.clock
        assert isinstance(clock, Hands)
        return clock.slept

    BUSY = (503, {"Content-Type": "application/problem+json", "Retry-After": "3"}, b'{"code":"ENGINE_STOPPING","detail":"d","hint":null}')
    MANY = (429, {"Content-Type": "application/problem+json", "Retry-After": "4"}, b'{"code":"TOO_MANY_STARTS","detail":"d","hint":null}')
    OK = (200, {"Content-Type": "application/json"}, b'{"status":"ok","run":"run_1"}')


class AskingAgain(WithAnswers):
    def test_the_server_says_how_long_to_wait(self) -> None:
        server = self.server(self.BUSY, self.MANY, self.OK)
        client = self.client(server)
        self.assertEqual(client.get_health()["status"], "ok")
        self.assertEqual(self.slept(client), [3.0, 4.0])

    def test_patience_is_bounded_also_when_the_server_asks_for_more(self) -> None:
        client = self.client(self.server(self.BUSY, self.MANY), patience=5)
        with self.assertRaises(ApiError) as refused:
            client.get_health()
        self.assertEqual((refused.exception.code, refused.exception.retry_after), ("TOO_MANY_STARTS", 4.0))
        self.assertEqual(self.slept(client), [3.0])

    def test_a_start_keeps_its_key(self) -> None:
        server = self.server(self.BUSY, self.MANY, self.OK, self.OK)
        client = self.client(server)
        client.start_run("f")
        client.start_run("f", idempotency_key="mine")
        keys = [headers["idempotency-key"] for headers in server.headers]
        self.assertEqual(len(set(keys[:3])), 1)
        self.assertEqual(keys[3], "mine")
        self.assertEqual(set(server.bodies), {b'{"flow":"f"}'})

    def test_a_resumption_that_may_be_done_already_is_asked_again_with_its_key(self) -> None:
        short = (200, {"Content-Length": "100"}, b'{"status":')
        server = self.server(self.MANY, short, self.BUSY, self.OK)
        self.assertEqual(self.client(server).resume_run("run_1", now=True)["run"], "run_1")
        self.assertEqual(len({headers["idempotency-key"] for headers in server.headers}), 1)
        self.assertEqual(server.bodies, [b'{"now":true}'] * 4)

    def test_a_stream_of_bytes_is_sent_once_and_a_file_from_where_it_was(self) -> None:
        class Once(io.BytesIO):
            def seekable(self) -> bool:
                return False

        server = self.server(self.MANY)
        with self.assertRaises(ApiError):
            self.client(server).upload_artifact(Once(b"once"))
        self.assertEqual((server.bodies, server.headers[0].get("content-length")), ([b"once"], None))
        reference = envoi.json.dumps(REF.to_dict(), compact=True).encode()
        server = self.server(self.BUSY, (201, {}, reference))
        file = io.BytesIO(b"not this, this")
        file.seek(10)
        self.assertEqual(self.client(server).upload_artifact(file, filename="a.txt").filename, "a.txt")
        self.assertEqual(server.bodies, [b"this", b"this"])

    def test_what_is_no_file_is_refused_before_anything_is_sent(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "u.txt")
        path.write_text("aéb", encoding="utf-8")
        text = "a file that is open as text: open it with mode `rb`"
        with path.open(encoding="utf-8") as opened, tempfile.NamedTemporaryFile("w") as wrapped, path.open("ab") as written:
            for wrong, kind in (
                ("x.txt", "a `str`: `Path(…)` for the file of that name, `.encode()` for the text itself"),
                (opened, text),
                (wrapped, text),
                (io.StringIO("x"), text),
                (written, "a file that is open for writing: open it with mode `rb`"),
                (bytearray(b"x"), "a `bytearray`"),
                (None, "a `NoneType`"),
            ):
                # No server listens there: each request raises Unreachable.
                client = Client("http://127.0.0.1:1", "t", patience=0)
                for call in (
                    lambda: client.upload_artifact(wrong),
                    lambda: client.upload_artifact(File(wrong, "a.txt")),
                    lambda: client.answer_question("int_1", "approve", files=[b"right", wrong]),
                    lambda: client.answer_question("int_1", "approve", files=iter([b"right", File(wrong)])),
                ):
                    with self.assertRaises(TypeError) as refused:
                        call()
                    self.assertEqual(str(refused.exception), f"a file is bytes, a path or an open binary file, not {kind}")

    def test_a_flow_that_is_open_as_text_is_refused_too(self) -> None:
        with self.assertRaises(TypeError):
            Client("http://127.0.0.1:1", "t", patience=0).register_flow(io.StringIO("flow: f\n"))

    def test_one_file_is_no_list_of_files(self) -> None:
        client = Client("http://127.0.0.1:1", "t", patience=0)
        for wrong in ("x.txt", b"words", Path("x.txt"), io.BytesIO(b"a\nb"), File(b"words")):
            with self.assertRaises(TypeError) as refused:
                client.answer_question("int_1", "approve", files=wrong)
            self.assertEqual(str(refused.exception), "`files` is a list of files, also if it is one: `files=[…]`")

    def test_a_reader_without_a_place_to_come_back_to_is_sent_once(self) -> None:
        class Reader:
            left = [b"wo", b"rds", b""]

            def read(self, size: int) -> bytes:
                return self.left.pop(0)

        server = self.server((201, {}, envoi.json.dumps(REF.to_dict(), compact=True).encode()))
        self.client(server).upload_artifact(Reader())
        self.assertEqual(server.bodies, [b"words"])

    def test_what_is_not_envoi_s_is_told_as_that(self) -> None:
        rows = ((404, {"Content-Type": "text/html"}, b"<p>"), (302, {"Location": "http://127.0.0.1:9/"}, b""), (200, {}, b"<p>"), (200, {}, b"[]"))
        for answer in (*rows, (400, {"Content-Type": "application/problem+json"}, b"{")):
            with self.subTest(answer), self.assertRaises(ApiError) as refused:
                self.client(self.server(answer)).get_run("run_1")
            self.assertEqual((refused.exception.status, refused.exception.code), (answer[0], ""))

    def test_an_answer_that_breaks_off_is_none(self) -> None:
        short = (200, {"Content-Length": "100"}, b'{"status":')
        self.assertEqual(self.client(self.server(short, self.OK)).get_health()["status"], "ok")

    def test_events_are_read_page_by_page(self) -> None:
        def page(next: Optional[int], *seqs: int) -> Any:
            return (200, {}, envoi.json.dumps({"events": [{"seq": seq} for seq in seqs], "next": next}).encode())

        # A page may be short although there are more.
        server = self.server(page(4, 3, 4), page(None, 5))
        self.assertEqual([event["seq"] for event in self.client(server).list_events("run_1", after=2)], [3, 4, 5])
        self.assertEqual([request.partition("?")[2] for request in server.requests], ["after=2&limit=100", "after=4&limit=100"])
        server = self.server(page(7, 1), page(None, 8))
        self.assertEqual([event["seq"] for event in self.client(server).explain_run("run_1")], [1, 8])

    def test_runs_come_with_what_they_have_done_so_far_page_by_page_and_some_without(self) -> None:
        kind = {"Content-Type": "application/json"}
        pages = [
            (200, kind, b'{"runs":[{"run":"run_3"},{"run":"run_2"}],"next":"run_2","so_far":[{"run":"run_2","steps_done":1}]}'),
            (200, kind, b'{"runs":[{"run":"run_1"}],"next":null,"so_far":[{"run":"run_1","steps_done":2}]}'),
        ]
        server = self.server(*pages)
        found = [(run["run"], so_far and so_far["steps_done"]) for run, so_far in self.client(server).list_runs_so_far(flow="f")]
        self.assertEqual(found, [("run_3", None), ("run_2", 1), ("run_1", 2)])
        self.assertEqual([request.partition("?")[2] for request in server.requests], ["flow=f&so_far=true&limit=100", "flow=f&so_far=true&limit=100&cursor=run_2"])

    def test_runs_are_counted_by_their_status(self) -> None:
        kind = {"Content-Type": "application/json"}
        server = self.server((200, kind, b'{"runs":[],"next":null,"so_far":[],"counts":{"failed":3,"succeeded":12}}'))
        self.assertEqual(self.client(server).count_runs(flow="f"), {"failed": 3, "succeeded": 12})
        self.assertEqual([request.partition("?")[2] for request in server.requests], ["flow=f&counts=true&limit=1"])

    def test_a_server_that_says_nothing_is_given_up(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", "t", timeout=0.01, patience=0.2)
            client._caller.clock = Hands()
            with self.assertRaises(Unreachable) as lost:
                client.get_health()
        self.assertEqual(str(lost.exception), "no answer came: timed out")

    def test_numbers_of_any_size_are_read_as_they_are_written(self) -> None:
        text = b'{"question":"int_1","evidence":{"net":1.00,"id":123456789012345678901234567890,"far":1e400}}'
        question = self.client(self.server((200, {}, text))).get_question("int_1")
        self.assertEqual(envoi.json.dumps(question, compact=True).encode(), text)

    def test_an_address_or_a_path_that_leads_elsewhere_is_refused(self) -> None:
        for url in ("127.0.0.1:7007", "ftp://h", "http://", "http://a:b@h", "http://h?q"):
            with self.assertRaises(ValueError):
                Client(url, "t")
        for token in ("", "a\r\nb", "é"):
            with self.assertRaises(ValueError):
                Client("http://h", token)
        client = Client("http://h", "t")
        for run in ("", ".", ".."):
            with self.assertRaises(ValueError):
                client.get_run(run)

    def test_a_server_may_stand_below_a_path(self) -> None:
        server = self.server(self.OK)
        Client(f"{server.url}/tools/envoi/", "t").get_run("a/b?c")
        self.assertEqual(server.requests, ["GET /tools/envoi/v1/runs/a%2Fb%3Fc"])
        self.assertEqual(server.headers[0]["authorization"], "Bearer t")


class AStream(WithAnswers):
    OPEN = {"Content-Type": "text/event-stream", "Content-Length": None}
    OVER = (204, {}, b"")

    @staticmethod
    def sent(*seqs: int) -> bytes:
        return b"".join(b'id: %d\nevent: x\ndata: {"seq":%d,"at":1,"event":{"type":"x"}}\n\n' % (seq, seq) for seq in seqs)

    def test_it_is_read_whatever_its_pieces_are(self) -> None:
        text = b"\xef\xbb\xbf: hi\r\nid: 1\r\ndata: a\r\n\r\n:\n\nid:2\ndata: {\ndata:  b}\nretry: 1\n\nevent: x\n\nid: 3\rdata\r\rdata: cut"
        expected = [("1", "a"), ("2", "{\n b}"), ("3", "")]
        for size in range(1, len(text) + 1):
            lines = Lines()
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            self.assertEqual([event for piece in pieces for event in lines.feed(piece)], expected, size)

    def test_it_goes_on_after_the_last_whole_event(self) -> None:
        cut = self.sent(2)[:-1]
        server = self.server((200, self.OPEN, self.sent(0, 1) + cut), self.BUSY, (200, self.OPEN, self.sent(1, 2, 3)), self.OVER)
        client = self.client(server)
        self.assertEqual([event["seq"] for event in client.follow_run("run_1")], [0, 1, 2, 3])
        self.assertEqual([headers.get("last-event-id") for headers in server.headers], [None, "1", "1", "3"])
        self.assertEqual(self.slept(client), [3.0])

    def test_one_of_questions_has_a_place_to_come_back_to_before_its_first_event(self) -> None:
        listed = (200, {}, b'{"last_event_id":"run_1:5","next":null,"questions":[]}')
        event = b'id: run_1:6\ndata: {"run":"run_1","record":{"seq":6,"at":1,"event":{"type":"x"}}}\n\n'
        server = self.server(listed, (200, self.OPEN, b":\n\n"), (200, self.OPEN, event))
        first = next(self.client(server).follow_questions())
        self.assertEqual((first.id, first.run, first.event["seq"]), ("run_1:6", "run_1", 6))
        self.assertEqual([headers.get("last-event-id") for headers in server.headers], [None, "run_1:5", "run_1:5"])

    def test_one_that_ends_at_once_is_not_opened_in_haste(self) -> None:
        server = self.server(*[(200, self.OPEN, b":\n\n")] * 9, self.OVER)
        client = self.client(server)
        self.assertEqual(list(client.follow_run("run_1", patience=1)), [])
        slept = self.slept(client)
        self.assertEqual(len(slept), 9)
        self.assertTrue(0.05 <= slept[0] <= 0.1 and 2.5 <= slept[-1] <= 5, slept)

    def test_whoever_waits_for_a_run_is_told_that_it_was_set_aside(self) -> None:
        def row(set_aside: str) -> tuple:
            return (200, {}, b'{"status":"running","events":3,"set_aside":%s}' % set_aside.encode())

        # It is no event: the sign of life of the server is the reason to look.
        server = self.server(row("null"), (200, self.OPEN, b":\n\n"), row('{"code":"RUN_UNREADABLE"}'))
        found = self.client(server).wait_until("run_1", "succeeded")
        self.assertEqual(found["set_aside"], {"code": "RUN_UNREADABLE"})
        self.assertEqual(server.requests, ["GET /v1/runs/run_1", "GET /v1/runs/run_1/stream", "GET /v1/runs/run_1"])
        self.assertEqual(server.headers[1]["last-event-id"], "2")

    def test_what_is_refused_or_no_stream_ends_it(self) -> None:
        gone = (404, {"Content-Type": "application/problem+json"}, b'{"code":"RUN_NOT_FOUND","detail":"d","hint":null}')
        for answer, code in ((gone, "RUN_NOT_FOUND"), ((200, {"Content-Type": "text/html"}, b"<p>"), "")):
            with self.assertRaises(ApiError) as refused:
                list(self.client(self.server(answer)).follow_run("run_1"))
            self.assertEqual(refused.exception.code, code)

    def test_an_event_without_end_is_refused(self) -> None:
        lines = Lines()
        with self.assertRaises(ApiError):
            for _ in range(300):
                lines.feed(b"data: " + b"x" * 65536)


if __name__ == "__main__":
    unittest.main()
