"""A call of a model through the server, against a stand-in that answers as the server does."""

import http.server
import threading
import unittest
from typing import Any, Dict, List, Optional, Tuple

import envoi

ANSWER = '{"text":"Done.","model":"small","usage":{"tokens_in":3,"tokens_out":4,"cost_usd":"0.0001"}}'


class ABridge(unittest.TestCase):
    def bridge(self, status: int, body: str, headers: Optional[Dict[str, str]] = None) -> Dict[str, str]:
        """The variables of a command beside a bridge that answers like this; what came is in `self.came`."""
        self.came: List[Tuple[str, Optional[str]]] = []
        came = self.came

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                came.append((content.decode("utf-8"), self.headers["Authorization"]))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body.encode())), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode("utf-8"))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return {"ENVOI_BRIDGE_URL": f"http://127.0.0.1:{server.server_port}/api/llm-bridge", "ENVOI_BRIDGE_TOKEN": "t0k"}

    def test_a_model_is_asked_once_with_the_attempts_token(self) -> None:
        environ = self.bridge(200, ANSWER)
        answer = envoi.call_model("Sum up.", model="small", system="Be brief.", environ=environ)
        self.assertEqual((answer.text, answer.model), ("Done.", "small"))
        self.assertEqual(answer.usage, envoi.ModelUse(3, 4, "0.0001"))
        self.assertEqual(self.came, [('{"user":"Sum up.","model":"small","system":"Be brief."}', "Bearer t0k")])

    def test_a_refusal_has_its_code_and_says_whether_another_call_may_help(self) -> None:
        for status, body, headers, code, may_retry in (
            (403, '{"error":"Forbidden"}', {}, "", False),
            (400, '{"error":"invalid_user_envelope","code":"INVALID_USER_ENVELOPE","reason":"no"}', {}, "INVALID_USER_ENVELOPE", False),
            (429, '{"error":"used up","code":"BUDGET_EXHAUSTED"}', {"x-should-retry": "false"}, "BUDGET_EXHAUSTED", False),
            (503, '{"error":"stops","code":"ENGINE_STOPPING"}', {}, "ENGINE_STOPPING", True),
            (302, "", {"Location": "http://127.0.0.1:9/"}, "", False),
            (200, "no JSON", {}, "", False),
        ):
            environ = self.bridge(status, body, headers)
            with self.assertRaises(envoi.BridgeError, msg=body) as caught:
                envoi.call_model("x", environ=environ)
            self.assertEqual((caught.exception.code, caught.exception.may_retry), (code, may_retry), body)
            self.assertEqual(len(self.came), 1, "a call is not repeated")

    def test_without_a_bridge_nothing_is_asked_and_only_true_is_an_opt_in(self) -> None:
        with self.assertRaises(envoi.NoBridgeError):
            envoi.call_model("x", environ={})
        with self.assertRaises(TypeError):
            envoi.call_model("x", user_envelope="false", environ={})  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
