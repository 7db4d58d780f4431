"""The stories of `check.sh`: runs whose steps ask the model that llama.cpp serves, and what the server counted meanwhile."""
import contextlib
import decimal
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import loopback  # noqa: E402
import model  # noqa: E402

# For whatever does not happen: no test waits so long for what does.
PATIENCE_S = 240
PRICE = decimal.Decimal(1)
# The exit code of a command whose run has a step in doubt.
IN_DOUBT = 5
JUDGED = {"type": "object", "required": ["status", "score", "sure", "why"], "additionalProperties": False, "properties": {
    "status": {"enum": ["VERIFIED", "UNVERIFIED"]}, "score": {"type": "integer", "minimum": 0, "maximum": 9}, "sure": {"type": "boolean"},
    "why": {"type": "string", "maxLength": 12}}}


class Server:
    """llama.cpp with a model. What it counts is its own."""

    def __init__(self, place):
        self.process = subprocess.Popen([sys.executable, "-B", HERE / "server.py", place, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), f"llama.cpp does not start: {self.process.communicate()[1]}"
        # What it logs is not kept, and does not hold it up.
        self.log = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE_S) as reply:
            return reply.read().decode()

    def counted(self):
        """Tokens that it was given (those that it had kept from before among them), and those that it has answered."""
        figures = dict(re.findall(r"^llamacpp:(\w+) (\d+)", self.get("/metrics"), re.MULTILINE))
        return int(figures["prompt_tokens_total"]) + int(figures["prompt_tokens_cached_total"]), int(figures["tokens_predicted_total"])

    def is_answering(self):
        slot = json.loads(self.get("/slots"))[0]
        return slot["is_processing"] and slot["next_token"][0]["n_decoded"] > 20

    def kill(self):
        self.process.kill()
        self.process.communicate()
        self.log.wait()


class Store:
    """A store whose models are those of a server, one in each protocol that it speaks."""

    def __init__(self, envoi):
        self.envoi = envoi
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="envoi-llama-"))
        (self.place / ".envoi").mkdir()

    def use(self, server):
        models = {name: {"provider": name, "name": "random", "price": {"in": "1", "out": "1"}} for name in ("chat", "responses", "messages")}
        providers = {name: {"url": f"{server.url}/v1", "protocol": name} for name in models}
        (self.place / ".envoi/config.yaml").write_text(json.dumps({"models": {"providers": providers, "offer": models}}))

    def flow(self, **step):
        # JSON is YAML.
        (self.place / "flow.yaml").write_text(json.dumps({"flow": "asks", "steps": [{"id": "ask", **step}]}))

    def call(self, *arguments, expected=0):
        done = subprocess.run([self.envoi, *arguments], cwd=self.place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        assert expected in (None, done.returncode), f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def json(self, *arguments):
        return json.loads(self.call("--json", *arguments))

    def shown(self):
        return self.json("show", self.json("runs")[0]["run"])

    def events(self):
        events = [json.loads(line) for line in self.call("show", self.json("runs")[0]["run"], "--events").splitlines()]
        return [event.get("event", event) for event in events]

    def handed(self, member):
        envelope = json.loads(self.call("show", self.json("runs")[0]["run"], "--envelope"))
        return envelope["outputs"]["ask"][member]

    def run(self, expected=0):
        return self.call("run", "flow.yaml", expected=expected)


def used_as_counted(store, server, before, calls):
    """The ledger of the last run has so many calls, and the tokens that the server has counted since."""
    used, counted = store.shown()["used"], server.counted()
    given, answered = (now - then for now, then in zip(counted, before))
    assert (used["llm_calls"], used["tokens_in"], used["tokens_out"]) == (calls, given, answered), f"{used}, and the server counted {given}, {answered}"
    cost = (given + answered) * PRICE / 1_000_000
    assert decimal.Decimal(used["cost_usd"]) == cost, f"{used}, and not {cost}"
    return f"{calls} calls, {given} tokens in, {answered} out, as the server counted them"


def fits(data):
    return (set(data) == {"status", "score", "sure", "why"} and data["status"] in ("VERIFIED", "UNVERIFIED") and type(data["score"]) is int
            and 0 <= data["score"] <= 9 and type(data["sure"]) is bool and len(data["why"]) <= 12)


def data_fits_its_schema(store, server):
    before = server.counted()
    items = list(range(8))
    store.flow(for_each=items, max_parallel=2, model={"use": "chat", "system": "Judge.", "prompt": "Is ${{ item }} good?", "repair": 0}, outputs=JUDGED)
    store.run()
    data = store.handed("data")
    assert len(data) == len(items) and all(map(fits, data)), data
    return f"{len(data)} answers fit the schema at once; " + used_as_counted(store, server, before, len(items))


def number_is_checked_here_too(store, server):
    """The grammar of a number knows no bounds: what passes it and not the schema is no data."""
    store.flow(for_each=list(range(16)), max_parallel=2, continue_on_error=True, outputs={
        "type": "object", "required": ["score"], "additionalProperties": False, "properties": {"score": {"type": "number", "minimum": 0, "maximum": 100}}},
        model={"use": "chat", "prompt": "Count ${{ item }}.", "max_tokens": 400, "repair": 0})
    store.run(expected=None)
    settled = [event for event in store.events() if event["type"] == "attempt_settled"]
    codes = [event["error"]["code"] for event in settled if not event["ok"]]
    scores = [event["data"]["score"] for event in settled if event["ok"]]
    assert len(codes) + len(scores) == 16 and set(codes) <= {"AGENT_SCHEMA"} and all(0 <= score <= 100 for score in scores), settled
    return f"of 16 numbers {len(codes)} are out of their bounds, and are no data"


def text_goes_as_far_as_its_most_tokens(store, server):
    """In each protocol the same words, as nothing is left to chance; with fewer tokens they are cut, and that is no success."""
    said = set()
    for protocol in ("chat", "responses", "messages"):
        before = server.counted()
        store.flow(model={"use": protocol, "prompt": "Say hello.", "temperature": 0, "max_tokens": 2000})
        store.run()
        used_as_counted(store, server, before, 1)
        said.add(store.handed("summary"))
    assert len(said) == 1 and len(said.pop()) > 20, said
    for protocol in ("chat", "messages"):
        before = server.counted()
        store.flow(model={"use": protocol, "prompt": "Say hello.", "temperature": 0, "max_tokens": 5})
        failed = store.run(expected=1)
        assert "AGENT_TOO_LONG" in failed, failed
        counted = used_as_counted(store, server, before, 1)
    return f"the same words over three protocols; those that are cut at 5 tokens are a failure: {counted}"


def prompt_has_at_most_the_tokens_of_the_context(store, server):
    (store.place / "long.txt").write_text("long " * (model.CONTEXT // 4))
    store.flow(model={"use": "chat", "prompt": "Read it.", "files": ["long.txt"]})
    failed = store.run(expected=1)
    assert "AGENT_TOO_LONG" in failed and "exceeds the available context size" in failed, failed
    used = store.shown()["used"]
    assert not used["llm_calls"] and not used["tokens_in"], used
    return "a prompt that is longer than the context is refused and costs nothing"


def data_is_checked_whatever_the_server_holds_to(store, server):
    before = server.counted()
    # `not` is no part of the grammar.
    store.flow(outputs={"type": "object", "required": ["grade"], "additionalProperties": False, "properties": {
        "grade": {"enum": ["A", "B"], "not": {"enum": ["A", "B"]}}}}, model={"use": "chat", "prompt": "Which?", "repair": 1})
    failed = store.run(expected=1)
    assert "AGENT_SCHEMA" in failed and "asked again 1 time" in failed, failed
    counted = used_as_counted(store, server, before, 2)
    # Its other two paths take no schema.
    for protocol in ("responses", "messages"):
        store.flow(outputs=JUDGED, model={"use": protocol, "prompt": "Say hello.", "temperature": 0, "max_tokens": 2000, "repair": 0})
        failed = store.run(expected=1)
        assert "AGENT_SCHEMA" in failed, failed
    return f"data that the server lets pass is refused: {counted}"


def call_of_a_killed_server_is_in_doubt(store, server, endless):
    store.use(endless)
    store.flow(model={"use": "chat", "prompt": "Say hello.", "temperature": 0})
    engine = subprocess.Popen([store.envoi, "run", "flow.yaml"], cwd=store.place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + PATIENCE_S
    while not endless.is_answering():
        if engine.poll() is not None or time.monotonic() >= until:
            engine.kill()
            raise AssertionError(f"it does not answer: {engine.communicate()[0]}")
        time.sleep(0.02)
    endless.kill()
    said, _ = engine.communicate(timeout=PATIENCE_S)
    assert engine.returncode == IN_DOUBT, f"exit {engine.returncode}: {said}"
    run = store.json("runs")[0]["run"]
    used = store.shown()["used"]
    assert used["llm_calls"] == 1 and not used["tokens_out"], used
    before = server.counted()
    store.use(server)
    store.call("resume", run, expected=IN_DOUBT)
    assert server.counted() == before, "nothing is called before a person has decided"
    store.call("resume", run, "--in-doubt", "rerun")
    used, counted = store.shown()["used"], server.counted()
    assert used["llm_calls"] == 2 and (used["tokens_in"], used["tokens_out"]) == tuple(now - then for now, then in zip(counted, before)), (used, counted)
    return "a call whose server was killed while it answered is in doubt, and is made again when a person says so"


STORIES = (data_fits_its_schema, number_is_checked_here_too, text_goes_as_far_as_its_most_tokens, prompt_has_at_most_the_tokens_of_the_context,
           data_is_checked_whatever_the_server_holds_to)


def main():
    envoi = pathlib.Path(sys.argv[1]).resolve()
    loopback.leave_if_possible()
    with contextlib.ExitStack() as cleared:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="envoi-llama-models-"))
        cleared.callback(shutil.rmtree, folder, ignore_errors=True)
        model.write(folder / "random.gguf", model.ENDS)
        model.write(folder / "endless.gguf", model.NEVER)
        server = Server(folder / "random.gguf")
        cleared.callback(server.kill)
        endless = Server(folder / "endless.gguf")
        cleared.callback(endless.kill)

        def tell(story, *further):
            store = Store(envoi)
            cleared.callback(shutil.rmtree, store.place, ignore_errors=True)
            store.use(server)
            began = time.monotonic()
            print(f"llama.cpp: {story(store, server, *further)}; {time.monotonic() - began:.1f} s", flush=True)
        for story in STORIES:
            tell(story)
        tell(call_of_a_killed_server_is_in_doubt, endless)


if __name__ == "__main__":
    main()
