"""An agent of A2A 1.0 that says the secrets in every spelling wherever it may say a word. Its last message chooses what it does."""
import http.server, json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forms

token, key, bearer = os.environ["MY_TOKEN"], open("key.txt", newline="").read()[:-1], os.environ["BEARER"]
spellings = forms.forms(token, 1) + forms.forms(key, 2) + forms.forms(bearer, 3)
everything = "\n".join("[%s]" % form for form in sum(spellings, []))
tasks = {}


def said(name):
    parts = [{"text": everything}, {"data": {"known": [token, key, bearer], key: everything}}]
    metadata = {"urn:envoi:a2a:question": {"id": token + name, "subject": key}} if name == "asks" else {key: token}
    return {"messageId": key + name, "role": "ROLE_AGENT", "parts": parts, "metadata": metadata}


def task(number, state):
    artifacts = [{"artifactId": token, "name": token, "parts": [{"text": "clean", "filename": key + ".txt"}, {"data": {"a": 1}}]}]
    status = {"state": "TASK_STATE_" + state, "message": said("asks" if state == "INPUT_REQUIRED" else "says"), "timestamp": "2026-11-22T00:00:00Z " + token}
    return {"id": "task-%d" % number, "contextId": token, "status": status, "history": [said("earlier")],
            "artifacts": artifacts if state == "COMPLETED" else []}


def send(message):
    text = json.dumps(message["parts"])
    if "reply" in text:
        return {"message": said("replies")}
    number = int(message["taskId"][5:]) if "taskId" in message else len(tasks) + 1
    tasks[number] = "COMPLETED" if "taskId" in message else "FAILED" if "fail" in text else "INPUT_REQUIRED"
    return {"task": task(number, tasks[number])}


class Agent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = "http://127.0.0.1:%d/rpc" % self.server.server_port
        self.tell({"name": key, "description": token, "capabilities": {}, "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]})

    def do_POST(self):
        assert self.headers["Authorization"] == "Bearer " + bearer
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params = call["method"], call["params"]
        if method == "SendMessage":
            self.tell({"jsonrpc": "2.0", "id": 1, "result": send(params["message"])})
        elif method == "GetTask":
            self.tell({"jsonrpc": "2.0", "id": 1, "result": task(int(params["id"][5:]), tasks[int(params["id"][5:])])})
        else:
            self.tell({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "no: " + everything, "data": everything}})

    def tell(self, answer):
        body = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Agent)
with open("port.tmp", "w") as port:
    port.write(str(server.server_port))
os.rename("port.tmp", "port")
server.serve_forever()
