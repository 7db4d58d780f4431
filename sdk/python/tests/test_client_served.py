"""The client against the real server: from start to answer, over kills and lost answers, with tokens that may not."""

import hashlib
from contextlib import closing
from pathlib import Path

from envoi import json
from envoi.client import ApiError, Client, DigestMismatch, File, Unreachable
from tests.served import APPROVAL, Dropping, Hands, Scripted, WithServer

CERTIFICATES = Path(__file__).resolve().parents[3] / "crates" / "cli" / "tests" / "it" / "remote"
"""One for `localhost` and 127.0.0.1, and the authority that has signed it."""

WAITING = """
flow: slow
steps:
  - id: first
    run: echo first >> did.txt
  - id: last
    run: while [ ! -e go ]; do sleep 0.02; done
"""


NASTY = """
flow: nasty
steps:
  - id: first
    run: while [ ! -e go ]; do sleep 0.02; done; rm -rf "$ENVOI_RUN_BASE/nasty"; touch "$ENVOI_RUN_BASE/nasty"
  - id: last
    run: echo last >> did.txt
"""
"""Its first step puts a file where its hand-offs belong."""


class ARun(WithServer):
    def test_it_is_started_followed_answered_with_files_and_ends(self) -> None:
        flow = self.client.register_flow(APPROVAL)
        self.assertEqual([each["digest"] for each in self.client.list_flows()], [flow["digest"]])
        self.assertEqual(self.client.get_flow("publish"), APPROVAL)
        run = self.client.start_run(
            "publish",
            {"title": "Notes"},
            user_id="u-7",
            session_id="s-7",
            metadata={"team": "press"},
            raw_input="Publish it.",
        )["run"]
        waiting = self.client.wait_until(run)
        self.assertEqual((waiting["status"], waiting["open_questions"]), ("waiting", 1))
        (row,) = self.client.list_questions(run=run)
        question = self.client.get_question(row["question"])
        self.assertEqual((question["text"], question["choices"]), ("Publish it?", ["approve", "deny"]))

        edits = self.folder / "edits.txt"
        edits.write_text("edited\n", encoding="utf-8")
        answered = self.client.answer_question(
            question["question"], "approve", "Fine.", files=[edits, b"more\n"], seen=question["subject"]
        )
        self.assertEqual((answered["state"], answered["answered_by"]), ("answered", "first"))
        self.assertEqual(self.client.wait_until(run, "succeeded")["terminal_reason"], "completed")
        self.assertEqual(sorted(self.did()), ["draft", "edited", "more"])

        events = list(self.client.follow_run(run))
        self.assertEqual(events, list(self.client.list_events(run)))
        self.assertEqual([event["seq"] for event in events], list(range(len(events))))
        self.assertEqual(list(self.client.follow_run(run, after=2)), events[3:])
        self.assertEqual(list(self.client.follow_run(run, after=events[-1]["seq"])), [])
        answer = next(event["event"] for event in events if event["event"]["type"] == "interrupt_answered")
        self.assertEqual([each.get("filename") for each in answer["attachments"]], ["edits.txt", None])
        self.assertTrue(self.client.explain_run(run))

        self.assertEqual([row["step"] for row in self.client.list_handoffs(run)][0], "draft")
        steps = self.client.list_steps(run)
        found = [(row["place"], row["state"], row["summary"]) for row in steps["steps"]]
        self.assertEqual(found[0], ("draft.1", "succeeded", "words"))
        self.assertEqual(self.client.list_steps(run, after=steps["newest"])["steps"], [])
        shape = self.client.get_run_shape(run)
        self.assertEqual((shape["steps"][0]["step"], shape), ("draft", self.client.get_flow_shape(shape["digest"])))
        self.assertEqual(self.client.get_run_ledger(run)["used"]["agent_hops"], len(self.client.list_logs(run)))
        plan = self.client.get_flow_plan(shape["digest"])
        self.assertEqual([step["step"] for step in plan["steps"]], [step["step"] for step in shape["steps"]])
        files = self.client.list_changed_files(run)
        self.assertEqual(files["total"], len(files["files"]))
        self.assertTrue(self.client.compare_run(run)["is_same"])
        newest = list(self.client.list_questions(closed=True, newest=True))
        self.assertEqual([each["question"] for each in newest], [question["question"]])
        change = next(self.client.follow_tenant(after="0"))
        self.assertEqual((change.run, change.newest, change.question), (run, events[-1]["seq"], True))
        self.assertEqual([row["run"] for row in self.client.list_runs(q="PUBLISH", since=answered["raised_at"][:10] + "T00:00:00Z", root=run)], [run])
        self.assertEqual(self.client.count_runs(root=run), {"succeeded": 1})
        page = self.client.explain_code("RUN_NOT_FOUND")
        self.assertEqual((page["code"], page["page"].splitlines()[0]), ("RUN_NOT_FOUND", "# RUN_NOT_FOUND"))
        [(row, so_far)] = self.client.list_runs_so_far(flow="publish")
        assert so_far is not None
        self.assertEqual((row["run"], so_far["run"], so_far["steps_done"], so_far["steps"]), (run, run, len(shape["steps"]), len(shape["steps"])))
        self.assertEqual((so_far["agent_hops"], so_far["cost_usd"], so_far["next_try_at"]), (self.client.get_run_ledger(run)["own_used"]["agent_hops"], "0.00", None))
        handoff = self.client.get_handoff(run, "draft")
        self.assertEqual((handoff.step_id, handoff.summary), ("draft", "words"))
        envelope = self.client.get_envelope(run)
        self.assertEqual(envelope.terminal_reason, "completed")
        requester = (envelope.user_id, envelope.session_id, envelope.metadata["team"], envelope.raw_input)
        self.assertEqual(requester, ("u-7", "s-7", "press", "Publish it."))
        attempt = self.client.list_logs(run)[0]
        self.assertEqual((attempt["attempt"], attempt["stdout_bytes"]), ("draft.1.1", 6))
        read = lambda **part: self.client.get_log(run, "draft.1.1", **part)
        self.assertEqual((read(), read(start=2), read(start=1, end=3)), (b"words\n", b"rds\n", b"or"))
        self.assertEqual((read(start=6), self.client.get_log(run, "draft.1.1", "stderr")), (b"", b""))

    def test_what_is_asked_of_a_run_that_is_over_is_refused(self) -> None:
        self.client.register_flow(WAITING)
        run = self.client.start_run("slow")["run"]
        self.client.cancel_run(run)
        self.assertEqual(self.client.wait_until(run, "succeeded")["status"], "cancelled")
        self.assertEqual(self.client.cancel_run(run)["status"], "cancelled")
        (self.folder / "go").touch()
        self.client.resume_run(run, reason="again")
        self.assertEqual(self.client.wait_until(run)["status"], "succeeded")
        with self.assertRaises(ApiError) as refused:
            self.client.cancel_run(run)
        self.assertEqual((refused.exception.status, refused.exception.code), (409, "RUN_OVER"))

    def test_it_is_told_whether_anything_works_on_it_or_why_not(self) -> None:
        self.client.register_flow(NASTY)
        run = self.client.start_run("nasty")["run"]
        row = self.client.get_run(run)
        self.assertEqual((row["status"], row["activity"], row["set_aside"]), ("running", "working", None))
        (self.folder / "go").touch()
        row = self.client.wait_until(run)
        self.assertEqual((row["status"], row["activity"]), ("running", "set_aside"))
        assert row["set_aside"] is not None
        self.assertEqual(row["set_aside"]["code"], "RUN_FILES_FAILED")
        self.assertEqual(row["set_aside"]["since"], row["activity_since"])
        with self.assertRaises(ApiError) as refused:
            self.client.resume_run(run)
        self.assertEqual((refused.exception.status, refused.exception.code), (409, "RUN_SET_ASIDE"))
        (self.folder / ".envoi" / "runs" / run / "nasty").unlink()
        self.client.resume_run(run)
        row = self.client.wait_until(run)
        self.assertEqual((row["status"], row["activity"], row["set_aside"]), ("succeeded", None, None))
        self.assertEqual(self.did(), ["last"])

    def test_it_is_forked_and_given_more_than_its_limits(self) -> None:
        files = {
            "main.yaml": "flow: outer\nlimits: { agent_hops: 1 }\nsteps:\n  - id: a\n    run: echo a\n  - id: b\n    flow: parts/inner.yaml\n",
            "parts/inner.yaml": "flow: inner\nsteps:\n  - id: c\n    run: echo c\n",
        }
        self.client.register_flow("main.yaml", files)
        self.assertEqual(self.client.get_flow("outer", file="parts/inner.yaml"), files["parts/inner.yaml"])
        run = self.client.start_run("outer")["run"]
        self.assertEqual(self.client.wait_until(run)["status"], "exhausted")
        self.client.raise_run(run, {"agent_hops": 5}, "it is worth it")
        self.assertEqual(self.client.wait_until(run)["status"], "succeeded")
        self.assertEqual({row["handoff"] for row in self.client.list_handoffs(run)}, {"a.1", "b.1", "b.2", "b.2.c.1"})
        self.assertEqual(self.client.get_handoff(run, "b.2.c.1").summary, "c")
        fork = self.client.fork_run(run, "b", "once more", idempotency_key="once")
        self.assertEqual(self.client.fork_run(run, "b", "once more", idempotency_key="once")["run"], fork["run"])
        self.assertIsInstance(fork["notes"], list)
        events = list(self.client.follow_run(fork["run"]))
        self.assertIn("run_forked", [event["event"]["type"] for event in events])

    def test_its_flow_is_corrected_as_it_was_compared(self) -> None:
        flow = "flow: fix\nsteps:\n  - id: make\n    run: echo made >> did.txt\n  - id: use\n    run: {}\n"
        self.client.register_flow(flow.format("ehco used"))
        run = self.client.start_run("fix")["run"]
        self.assertEqual(self.client.wait_until(run)["status"], "failed")
        files = {"fix.yaml": flow.format("echo used >> did.txt")}
        compared = self.client.compare_run(run, "fix.yaml", files=files)
        self.assertEqual([step["change"] for step in compared["steps"]], ["kept", "changed"])
        self.assertEqual([step["from_here"] for step in compared["steps"]], ["stays", "runs_again"])
        with self.assertRaises(ApiError) as refused:
            self.client.correct_run(run, "fix.yaml", "make", seen=compared["subject"], files=files)
        self.assertEqual((refused.exception.status, refused.exception.code), (409, "COMPARISON_CHANGED"))
        for _ in range(2):
            self.client.correct_run(
                run, "fix.yaml", reason="a typo", seen=compared["subject"], files=files, idempotency_key="once"
            )
        self.assertEqual(self.client.wait_until(run)["status"], "succeeded")
        self.assertEqual(self.did(), ["made", "used"])
        digest = self.client.register_flow(flow.format("echo other >> did.txt"))["digest"]
        fork = self.client.fork_run(run, "use", flow=digest)
        self.assertEqual(self.client.wait_until(fork["run"])["flow_digest"], digest)
        self.assertEqual(self.did(), ["made", "used", "other"])

    def test_a_part_is_run_with_what_another_run_has_left(self) -> None:
        flow = """
flow: parts
steps:
  - id: make
    run: echo made >> did.txt; echo words
  - id: use
    run: echo ${{ steps.make.text }} >> did.txt
"""
        self.client.register_flow(flow)
        whole = self.client.start_run("parts")["run"]
        self.assertEqual(self.client.wait_until(whole)["status"], "succeeded")
        part = self.client.start_run("parts", part={"only": ["use"], "with": whole})["run"]
        self.assertEqual(self.client.wait_until(part)["status"], "succeeded")
        self.assertEqual(self.did(), ["made", "words", "words"])

    def test_a_wait_has_an_end(self) -> None:
        self.client.register_flow(WAITING)
        run = self.client.start_run("slow")["run"]
        with self.assertRaises(TimeoutError):
            self.client.wait_until(run, timeout=0)
        (self.folder / "go").touch()
        self.assertEqual(self.client.wait_until(run, timeout=60)["status"], "succeeded")

    def test_pages_are_read_as_one_goes_through_them(self) -> None:
        self.client.register_flow("flow: tick\nsteps:\n  - id: ask\n    ask: Go on?\n")
        runs = [self.client.start_run("tick", workspace="shared")["run"] for _ in range(101)]
        self.assertEqual([row["run"] for row in self.client.list_runs(flow="tick")], runs[::-1])
        for run in runs:
            self.client.wait_until(run, "waiting")
        self.assertEqual({row["run"] for row in self.client.list_questions()}, set(runs))
        self.assertEqual(next(iter(self.client.list_runs(status="waiting")))["run"], runs[-1])

    def test_numbers_of_any_size_survive(self) -> None:
        self.client.register_flow("flow: n\ninputs: { price: { type: number } }\nsteps:\n  - id: a\n    run: 'true'\n")
        price = "1.00000000000000000000000000000000001"
        run = self.client.start_run("n", json.loads(f'{{"price":{price}}}'))["run"]
        inputs = next(self.client.list_events(run))["event"]["inputs"]
        self.assertEqual(json.dumps(inputs, compact=True), f'{{"price":{price}}}')


class AServerThatIsKilled(WithServer):
    def test_each_event_is_told_once_and_in_order(self) -> None:
        self.client.register_flow(WAITING)
        run = self.client.start_run("slow")["run"]
        restarts = []

        def meanwhile() -> None:
            # The server starts after the client's first failure.
            if not restarts:
                self.restart()
                (self.folder / "go").touch()
                restarts.append(self.served.url)

        self.client._caller.clock = Hands(meanwhile)
        received = []
        with closing(self.client.follow_run(run)) as events:  # type: ignore[type-var]
            for event in events:
                received.append(event)
                if event["event"].get("attempt") == "last.1.1" and event["event"]["type"] == "attempt_started":
                    self.served.kill()
        self.assertEqual(len(restarts), 1)
        self.assertEqual(received[-1]["event"]["type"], "run_ended")
        self.assertEqual(received, list(self.client.list_events(run)))
        self.assertEqual([event["seq"] for event in received], list(range(len(received))))

    def test_a_run_that_no_engine_goes_on_with_is_stopped(self) -> None:
        self.client.register_flow(APPROVAL)
        run = self.client.start_run("publish")["run"]
        self.assertEqual(self.client.wait_until(run)["activity"], "working")
        (question,) = (row["question"] for row in self.client.list_questions(run=run))
        self.served.kill()
        self.restart()
        row = self.client.get_run(run)
        self.assertEqual((row["status"], row["activity"]), ("waiting", "stopped"))
        self.assertGreaterEqual(str(row["activity_since"]), row["started_at"])
        self.client.answer_question(question, "approve")
        self.assertIsNone(self.client.wait_until(run, "succeeded")["activity"])

    def test_questions_are_told_once_too_also_without_one_before_the_kill(self) -> None:
        self.client.register_flow(APPROVAL)
        self.client._caller.clock = Hands(self.restart)
        events = self.client.follow_questions()
        self.served.kill()
        other = Client(self.served.url, self.token)
        other._caller.clock = Hands(self.restart)
        run = other.start_run("publish")["run"]
        put = next(events)
        self.assertEqual((put.run, put.event["event"]["type"]), (run, "interrupt_raised"))
        question = put.event["event"]["interrupt"]
        self.served.kill()
        self.restart()
        self.client.answer_question(question, "deny")
        closed = next(events)
        self.assertEqual(closed.event["event"]["type"], "interrupt_answered")
        again = self.client.follow_questions(after=put.id)
        self.assertEqual(next(again), closed)
        from_the_first = self.client.follow_questions(after="0")
        self.assertEqual([next(from_the_first), next(from_the_first)], [put, closed])

    def test_nobody_is_unreachable(self) -> None:
        self.served.kill()
        clock = self.client._caller.clock = Hands()
        with self.assertRaises(Unreachable):
            self.client.get_health()
        self.assertTrue(5 < sum(clock.slept) <= 10, clock.slept)
        with self.assertRaises(Unreachable):
            next(self.client.follow_run("run_1", patience=60))
        self.assertTrue(55 < sum(clock.slept) <= 70, clock.slept)
        self.restart()


class AnAnswerThatIsLost(WithServer):
    def test_a_run_is_started_once(self) -> None:
        self.client.register_flow(APPROVAL)
        proxy = Dropping(self.served.address)
        self.addCleanup(proxy.close)
        run = Client(proxy.url, self.token).start_run("publish")["run"]
        first, second = proxy.requests
        self.assertEqual(first, second)
        self.assertEqual([row["run"] for row in self.client.list_runs()], [run])

    def test_a_question_is_answered_once(self) -> None:
        self.client.register_flow(APPROVAL)
        run = self.client.start_run("publish")["run"]
        self.client.wait_until(run)
        (row,) = self.client.list_questions()
        proxy = Dropping(self.served.address)
        self.addCleanup(proxy.close)
        answered = Client(proxy.url, self.token).answer_question(row["question"], "deny")
        self.assertEqual((answered["state"], len(proxy.requests)), ("answered", 2))

    def test_a_resumption_whose_answer_is_lost_is_done_once(self) -> None:
        self.client.register_flow(WAITING)
        run = self.client.start_run("slow")["run"]
        proxy = Dropping(self.served.address)
        self.addCleanup(proxy.close)
        other = Client(proxy.url, self.token)
        other.cancel_run(run)
        self.assertEqual((len(proxy.requests), self.client.wait_until(run)["status"]), (2, "cancelled"))
        (self.folder / "go").touch()
        proxy.dropped.clear()
        other.resume_run(run)
        self.assertEqual((len(proxy.requests), self.client.wait_until(run)["status"]), (4, "succeeded"))


class ATokenThatMayNot(WithServer):
    def test_a_wrong_one_is_refused_with_what_to_do(self) -> None:
        stranger = Client(self.served.url, "evt_wrong")
        for ask in (stranger.get_health, lambda: next(stranger.follow_run("run_1")), lambda: stranger.upload_artifact(b"x" * 2**21)):
            with self.assertRaises(ApiError) as refused:
                ask()
            error = refused.exception
            self.assertEqual((error.status, error.code, error.title), (401, "TOKEN_NEEDED", "Token needed"))
            self.assertIn("envoi token create", error.hint or "")
            self.assertTrue(str(error).startswith("TOKEN_NEEDED: a token that is good is needed; "), str(error))

    def test_one_that_is_good_for_too_little_is_refused(self) -> None:
        reader = Client(self.served.url, self.served.token("reader", "--scope", "read"))
        with self.assertRaises(ApiError) as refused:
            reader.start_run("publish")
        self.assertEqual((refused.exception.status, refused.exception.code), (403, "SCOPE_TOO_SMALL"))

    def test_a_run_of_another_tenant_is_not_found(self) -> None:
        self.client.register_flow(WAITING)
        run = self.client.start_run("slow")["run"]
        stranger = Client(self.served.url, self.served.token("ann", "--scope", "admin", "--tenant", "north"))
        asks = (stranger.get_run, stranger.get_envelope, stranger.cancel_run, lambda run: next(stranger.follow_run(run)))
        for ask in asks:
            with self.assertRaises(ApiError) as refused:
                ask(run)
            self.assertEqual((refused.exception.status, refused.exception.code), (404, "RUN_NOT_FOUND"))
        self.assertEqual(list(stranger.list_runs()), [])
        (self.folder / "go").touch()
        self.client.wait_until(run)


class Content(WithServer):
    def test_it_comes_back_as_it_was_and_is_known_by_its_digest(self) -> None:
        content = bytes(range(256)) * 4096
        path = self.folder / "notes.bin.json"
        path.write_bytes(content)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        reference = self.client.upload_artifact(path)
        self.assertEqual((reference.digest, reference.size), (digest, len(content)))
        self.assertEqual((reference.filename, reference.mime), ("notes.bin.json", "application/json"))
        with path.open("rb") as file:
            file.seek(len(content) - 4)
            part = self.client.upload_artifact(file)
        self.assertEqual((part.size, part.mime, part.filename), (4, "application/octet-stream", None))
        named = self.client.upload_artifact(File(b"new", "a.txt"))
        self.assertEqual((named.filename, named.mime), ("a.txt", "text/plain"))
        self.assertEqual(self.client.get_artifact(digest), content)
        with self.assertRaises(ApiError) as refused:
            self.client.get_artifact("sha256:" + "0" * 64)
        self.assertEqual(refused.exception.status, 404)

    def test_content_that_is_not_what_was_asked_for_is_not_given_out(self) -> None:
        server = Scripted((200, {"ETag": '"sha256:x"'}, b"something else"))
        self.addCleanup(server.close)
        asked = "sha256:" + "0" * 64
        with self.assertRaises(DigestMismatch) as refused:
            Client(server.url, "t").get_artifact(asked)
        found = hashlib.sha256(b"something else").hexdigest()
        self.assertEqual((refused.exception.digest, refused.exception.found), (asked, f"sha256:{found}"))

    def test_an_answer_with_too_many_files_is_refused_before_any_is_brought(self) -> None:
        with self.assertRaises(ValueError):
            self.client.answer_question("int_1", "approve", files=[b"x"] * 21)
        with self.assertRaises(FileNotFoundError):
            self.client.upload_artifact(self.folder / "nothing.txt")


class TheServer(WithServer):
    def test_it_says_how_it_is(self) -> None:
        self.assertEqual((self.client.get_health(), self.client.get_readiness()), ({"status": "ok"},) * 2)
        self.assertIn("envoi_runs_unfinished", self.client.get_metrics())
        self.assertEqual(self.client.get_open_api()["openapi"], "3.1.0")


class TheCertificate(WithServer):
    def setUp(self) -> None:
        super().setUp()
        self.served.kill()
        store = self.folder / ".envoi"
        for name in ("certificate.pem", "key.pem"):
            (store / name).write_bytes((CERTIFICATES / name).read_bytes())
        config = "server: { tls: { certificate: certificate.pem, key: key.pem } }\n"
        (store / "config.yaml").write_text(config, encoding="utf-8")
        self.restart()

    def test_it_is_checked_against_the_authorities_that_are_named(self) -> None:
        self.assertTrue(self.served.url.startswith("https://"), self.served.url)
        authority = CERTIFICATES / "authority.pem"
        for ca in (authority, str(authority)):
            self.assertEqual(Client(self.served.url, self.token, ca=ca).get_health(), {"status": "ok"})
        for wrong in (CERTIFICATES.parent / "serve" / "certificate.pem", None):
            client = Client(self.served.url, self.token, ca=wrong, patience=0)
            with self.assertRaisesRegex(Unreachable, "certificate verify failed"):
                client.get_health()
