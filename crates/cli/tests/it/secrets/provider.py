"""A provider of models, of three protocols, that says the secrets in every spelling wherever it may say a word. The name of the model chooses what it does."""
import http.server, json, os, sys, time, urllib.parse
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forms

token, key, bearer = os.environ["MY_TOKEN"], open("key.txt", newline="").read()[:-1], os.environ["BEARER"]
spellings = forms.forms(token, 1) + forms.forms(key, 2) + forms.forms(bearer, 3)
# Of the many encodings some.
everything = "\n".join("[%s]" % form for plain, encoded in zip(spellings[::2], spellings[1::2]) for form in plain + encoded[len(token) % 8::8])
data = {"first": token, "all": [token, key, bearer] + spellings[0][1::4], "document": everything, token: {key: json.dumps([token, key])}}
usage = {name: everything for name in ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens")}


def reply(protocol, text, refuses):
    if protocol == "messages":
        reason = "refusal" if refuses else "end_turn"
        return {"id": token, "type": "message", "content": [{"type": "text", "text": text}], "stop_reason": reason, "usage": usage, key: everything}
    if protocol == "responses":
        part = {"type": "refusal", "refusal": everything} if refuses else {"type": "output_text", "text": text}
        return {"id": token, "status": "completed", "output": [{"type": "message", "status": "completed", "content": [part]}], "usage": usage, key: everything}
    message = {"role": "assistant", "content": text, "refusal": everything if refuses else None}
    return {"id": token, "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, key: everything}


class Provider(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = asked["model"]
        with open("asked", "a") as log:
            print(json.dumps([self.path, asked]), file=log)
        protocol = "messages" if self.path.endswith("messages") else "responses" if self.path.endswith("responses") else "chat"
        if what == "silent":
            open("silent", "w").write("x")
            time.sleep(600)
        error = {"error": {"code": token, "type": key, "message": "Overloaded: " + everything}, "type": "error", key: everything}
        if what == "fails":
            return self.tell(400, error)
        if what == "states":
            return self.tell(200, error)
        if what == "plain":
            return self.tell(503, everything)
        if what == "odd":
            return self.tell(200, {key: everything})
        text = json.dumps(data, ensure_ascii=False) if what in ("data", "misfits") else everything
        self.tell(200, reply(protocol, text, what == "refuses"), what == "cut")

    def tell(self, status, answer, cut=False):
        body = (answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)).encode()
        self.send_response(status, urllib.parse.quote(token))
        for name in ("request-id", "x-request-id"):
            if not self.path.startswith("/bare"):
                self.send_header(name, urllib.parse.quote(token, safe=""))
        self.send_header("Content-Length", str(len(body) + (1 if cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
with open("port.tmp", "w") as port:
    port.write(str(server.server_port))
os.rename("port.tmp", "port")
server.serve_forever()
