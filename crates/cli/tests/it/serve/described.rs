//! The document and the server agree: every operation is requested until each status that is declared has come, no other
//! comes, and every body has the shape that is declared for it.

use super::{
    APPROVAL,
    client::{Client, Reply, Served, token},
    fair::begun_upload,
    lab::{Lab, Say},
};
use crate::stage::{Stage, text, wait_until};
use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeSet};

/// Asks by the name of an operation, and keeps what came.
struct Asker {
    document: Value,
    seen: RefCell<BTreeSet<(String, String)>>,
}

impl Asker {
    /// The method, the path with these parameters in it, and the responses of an operation.
    fn operation(&self, id: &str, params: &[&str]) -> (String, String, &Value) {
        let mut all = self.document["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        });
        let (path, method, operation) = all.find(|(_, _, found)| found["operationId"] == id).unwrap();
        let mut params = params.iter();
        let parts =
            path.split('/').map(|part| if part.starts_with('{') { params.next().unwrap() } else { part });
        (method.to_uppercase(), parts.collect::<Vec<_>>().join("/"), &operation["responses"])
    }

    fn ask(&self, client: &Client, id: &str, params: &[&str], how: &How) -> Reply {
        let (method, path, responses) = self.operation(id, params);
        let reply = client.call(&method, &format!("{path}{}", how.query), how.headers, how.body);
        self.check(id, responses, &reply);
        reply
    }

    /// The status is declared, and the body is as declared.
    fn check(&self, id: &str, responses: &Value, reply: &Reply) {
        let status = reply.status.to_string();
        let declared = responses.get(&status);
        let declared = declared.unwrap_or_else(|| panic!("{id} came to {status}: {}", reply.text()));
        self.seen.borrow_mut().insert((id.to_owned(), status));
        let Some(content) = declared["content"].as_object() else {
            assert!(reply.body.is_empty(), "{id}: {}", reply.text());
            return;
        };
        let (kind, media) = content.iter().next().unwrap();
        assert_eq!(reply.header("content-type"), *kind, "{id}");
        let Some(schema) = media.get("schema").filter(|_| kind.ends_with("json")) else { return };
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> =
            validator.iter_errors(&reply.json()).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{id}: {wrong:?}: {}", reply.text());
    }

    /// The declared responses that have not come.
    fn missing(&self) -> Vec<(String, String)> {
        let mut declared = BTreeSet::new();
        for methods in self.document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let id = text(&operation["operationId"]);
                let statuses = operation["responses"].as_object().unwrap().keys();
                declared.extend(
                    statuses.filter(|status| *status != "default").map(|status| (id.clone(), status.clone())),
                );
            }
        }
        declared.difference(&self.seen.borrow()).cloned().collect()
    }
}

/// The parts of a request beside the path.
#[derive(Default)]
struct How<'a> {
    query: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
}

fn plain() -> How<'static> {
    How::default()
}

fn query(query: &str) -> How<'_> {
    How { query, ..How::default() }
}

fn body(body: &str) -> How<'_> {
    How { body: body.as_bytes(), ..How::default() }
}

fn headers<'a>(headers: &'a [(&'a str, &'a str)]) -> How<'a> {
    How { headers, ..How::default() }
}

/// A step in a folder of its own, so that runs can be beside each other.
const WAITS: &str = "
flow: waits
inputs: { file: { type: string, default: go } }
steps:
  - id: a
    run: while [ ! -e ${{ inputs.file }} ]; do sleep 0.02; done
";

const NO_RUN: &str = "run_00000000000000000000000000";
const NO_QUESTION: &str = "int_00000000000000000000000000";

#[test]
fn every_operation_gives_every_status_that_is_declared_and_no_other() {
    let stage = Stage::new();
    let lab = Lab::open();
    let limits = "server: { limits: { body: 4000, artifact: 20000, streams: 2, starts: 12, incoming: 2, request: 10m } }\n";
    stage.write(".envoi/config.yaml", format!("{limits}{}", lab.config()));
    stage.write(".envoi/lab.key", "sk-lab-7");
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    let reader = served.client(&token(&stage, &["reader"]));
    let nobody = Client::new(&served.url, None);
    let asker = Asker { document: admin.json("/v1/openapi.json"), seen: RefCell::default() };
    let ask = |id: &str, params: &[&str], how: How<'_>| asker.ask(&admin, id, params, &how);
    let large = "x".repeat(30_000);

    for id in ["getHealth", "getReadiness", "getMetrics", "getOpenApi"] {
        ask(id, &[], plain());
    }
    assert_eq!(
        asker.ask(&reader, "getMetrics", &[], &plain()).status,
        200,
        "whoever may look may see figures"
    );
    let asker_is = asker.ask(&reader, "getToken", &[], &plain()).json();
    assert_eq!(asker_is, json!({"name": "reader", "tenant": "local", "scopes": ["read"]}));

    // The meaning of the codes of refusals.
    let page = ask("explainCode", &["RUN_NOT_FOUND"], plain()).json();
    assert!(text(&page["page"]).starts_with("# RUN_NOT_FOUND\n"), "{page}");
    assert_eq!(ask("explainCode", &["run_not_found"], plain()).status, 404, "a code is written as it is");

    // Sessions of the web page.
    for (sent, status) in [("{}", 400), (r#"{"code": "0"}"#, 401), (&large, 413)] {
        assert_eq!(asker.ask(&nobody, "createSession", &[], &body(sent)).status, status);
    }
    let sent = json!({"token": served.first}).to_string();
    let begun = asker.ask(&nobody, "createSession", &[], &body(&sent));
    let (cookie, half) = (begun.header("set-cookie"), text(&begun.json()["key"]));
    let halves = [("cookie", cookie.split(';').next().unwrap()), ("x-envoi-page", half.as_str())];
    assert_eq!(asker.ask(&nobody, "endSession", &[], &headers(&halves)).status, 204);
    ask("endSession", &[], plain());

    // Flows.
    for status in [201, 200] {
        assert_eq!(ask("registerFlow", &[], body(APPROVAL)).status, status);
    }
    ask("registerFlow", &[], body(WAITS));
    assert_eq!(ask("registerFlow", &[], body("flow: f\nsteps: 7\n")).json()["code"], "FLOW_INVALID");
    ask("registerFlow", &[], body(&large));
    assert_eq!(ask("listFlows", &[], plain()).json()["flows"].as_array().unwrap().len(), 2);
    assert_eq!(ask("getFlow", &["publish"], plain()).text(), APPROVAL);
    ask("getFlow", &["nothing"], plain());
    assert_eq!(ask("getFlowShape", &["publish"], plain()).json()["steps"][1]["kind"], "ask");
    ask("getFlowShape", &["nothing"], plain());
    assert_eq!(ask("getFlowPlan", &["publish"], plain()).json()["steps"][1]["asks"], true);
    ask("getFlowPlan", &["nothing"], plain());
    assert_eq!(ask("getFlow", &["publish"], query("?file=other.yaml")).status, 404);
    let several = How { headers: &[("content-type", "application/json")], ..body("{}") };
    assert_eq!(ask("registerFlow", &[], several).status, 400);

    // Runs, started.
    let key = [("idempotency-key", "k")];
    let with_key = |body: &'static str| How { headers: &key, body: body.as_bytes(), query: "" };
    let started = ask("startRun", &[], with_key(r#"{"flow": "publish"}"#));
    assert_eq!(started.status, 201);
    let run = text(&started.json()["run"]);
    assert_eq!(ask("startRun", &[], with_key(r#"{"flow": "publish"}"#)).json()["run"], json!(run));
    assert_eq!(ask("startRun", &[], with_key(r#"{"flow": "waits"}"#)).json()["code"], "KEY_REUSED");
    for (wrong, code) in [
        ("{", "REQUEST_INVALID"),
        ("[]", "REQUEST_INVALID"),
        ("{}", "REQUEST_INVALID"),
        (r#"{"flow": 1}"#, "REQUEST_INVALID"),
        (r#"{"flow": "publish", "flow": "waits"}"#, "REQUEST_INVALID"),
        (r#"{"flow": "publish", "force": true}"#, "REQUEST_INVALID"),
        (r#"{"flow": "publish", "inputs": []}"#, "REQUEST_INVALID"),
        (r#"{"flow": "publish", "workspace": "mine"}"#, "REQUEST_INVALID"),
        (r#"{"flow": "publish", "yes_to": "approve"}"#, "REQUEST_INVALID"),
        (r#"{"flow": "nothing"}"#, "FLOW_NOT_FOUND"),
        (r#"{"flow": "publish", "inputs": {"x": 1}}"#, "INPUT_INVALID"),
    ] {
        assert_eq!(ask("startRun", &[], body(wrong)).json()["code"], code, "{wrong}");
    }
    let tab = How { headers: &[("idempotency-key", "a\tb")], ..body(r#"{"flow": "publish"}"#) };
    assert_eq!(ask("startRun", &[], tab).status, 400);
    ask("startRun", &[], How { headers: &[("idempotency-key", "")], ..body(r#"{"flow": "publish"}"#) });
    ask("startRun", &[], body(&large));
    let question = admin.question(&run);
    let live = text(&ask("startRun", &[], body(r#"{"flow": "waits", "workspace": "shared"}"#)).json()["run"]);
    let busy = ask("startRun", &[], body(r#"{"flow": "waits"}"#));
    assert_eq!((busy.status, busy.json()["code"].as_str()), (409, Some("WORKSPACE_BUSY")));
    assert!(!busy.text().contains(&live), "{}", busy.text());
    let eager = served.client(&token(&stage, &["eager", "--scope", "run"]));
    let start = || asker.ask(&eager, "startRun", &[], &body(r#"{"flow": "publish", "workspace": "shared"}"#));
    wait_until("the limit", || start().status == 429);
    assert_ne!(start().header("retry-after"), "");

    // Runs, looked at.
    for (id, params) in [
        ("getRun", [].as_slice()),
        ("getRunFlow", &[]),
        ("getRunShape", &[]),
        ("getRunLedger", &[]),
        ("listChangedFiles", &[]),
        ("listSteps", &[]),
        ("getEnvelope", &[]),
        ("listEvents", &[]),
        ("listHandoffs", &[]),
        ("getHandoff", &["draft"]),
        ("listLogs", &[]),
        ("getLog", &["draft.1.1", "stdout"]),
        ("explainRun", &[]),
    ] {
        for which in [run.as_str(), NO_RUN, "..", "run_"] {
            let all: Vec<&str> = [which].into_iter().chain(params.iter().copied()).collect();
            let reply = ask(id, &all, plain());
            assert_eq!(reply.status, if which == run { 200 } else { 404 }, "{id} {which}: {}", reply.text());
        }
    }
    assert_eq!(ask("listChangedFiles", &[&run], query("?place=nothing.1")).status, 400);
    ask("listRuns", &[], plain());
    let page = ask("listRuns", &[], query("?limit=1&status=waiting&flow=publish")).json();
    let next = text(&page["next"]);
    assert_eq!(
        ask("listRuns", &[], query("?limit=1&stands=waiting&in_doubt=false")).json()["runs"],
        page["runs"]
    );
    let older = ask("listRuns", &[], query(&format!("?cursor={next}"))).json();
    assert!(older["runs"].as_array().unwrap().iter().all(|row| row["run"] != page["runs"][0]["run"]));
    for wrong in [
        "?limit=0",
        "?stauts=failed",
        "?limit=1&limit=2",
        "?limit=201",
        "?limit=x",
        "?cursor=x",
        &format!("?cursor={NO_RUN}"),
        "?status=good",
        "?stands=good",
        "?in_doubt=maybe",
        "?since=today",
    ] {
        assert_eq!(ask("listRuns", &[], query(wrong)).status, 400, "{wrong}");
    }
    let events = ask("listEvents", &[&run], query("?after=0&limit=2")).json();
    assert_eq!([&events["events"][0]["seq"], &events["events"][1]["seq"]], [1, 2]);
    for wrong in ["?limit=0", "?limit=2001"] {
        assert_eq!(ask("listSteps", &[&run], query(wrong)).status, 400, "{wrong}");
    }
    for id in ["listEvents", "explainRun", "listLogs", "listSteps"] {
        ask(id, &[&run], query("?after=-1"));
        // The bound that the document states.
        assert_eq!(ask(id, &[&run], query("?after=9007199254740991")).status, 200, "{id}");
        assert_eq!(ask(id, &[&run], query("?after=9007199254740992")).status, 400, "{id}");
    }
    ask("getHandoff", &[&run, "draft"], query("?visit=x"));
    assert_eq!(ask("getHandoff", &[&run, "draft"], query("?visit=2")).status, 404);
    assert_eq!(ask("getLog", &[&run, "draft.1.1", "lock"], plain()).status, 404);
    assert_eq!(ask("getLog", &[&run, "..%2F..%2Fx.1.1", "stdout"], plain()).status, 404);

    // Questions.
    let listed = ask("listQuestions", &[], query("?closed=true&limit=1")).json();
    let more = format!("?closed=true&cursor={}", text(&listed["next"]));
    assert_ne!(ask("listQuestions", &[], query(&more)).json()["questions"][0], listed["questions"][0]);
    let newest = ask("listQuestions", &[], query("?closed=true&newest=true")).json();
    assert_eq!(
        newest["questions"].as_array().unwrap().last(),
        listed["questions"].as_array().unwrap().first()
    );
    for wrong in ["?closed=maybe", "?newest=maybe", "?cursor=int_0", "?limit=0"] {
        assert_eq!(ask("listQuestions", &[], query(wrong)).status, 400, "{wrong}");
    }
    ask("getQuestion", &[&question], plain());
    ask("getQuestion", &[NO_QUESTION], plain());
    for (wrong, status) in [
        (r#"{"choice": "maybe"}"#, 400),
        (r#"{"choice": null}"#, 400),
        (r#"{"choice": "approve", "seen": "x"}"#, 400),
        (r#"{"choice": "approve", "resume": 1}"#, 400),
        (r#"{"choice": "approve", "attachments": [{}]}"#, 400),
        (r#"{"text": "words alone"}"#, 422),
        (r#"{"choice": "rerun"}"#, 422),
    ] {
        assert_eq!(ask("answerQuestion", &[&question], body(wrong)).status, status, "{wrong}");
    }
    let other = json!({"choice": "approve", "seen": format!("sha256:{}", "0".repeat(64))}).to_string();
    assert_eq!(ask("answerQuestion", &[&question], body(&other)).json()["code"], "SUBJECT_CHANGED");
    ask("answerQuestion", &[NO_QUESTION], body(r#"{"choice": "approve"}"#));
    ask("answerQuestion", &[&question], body(&large));

    // Content, attached to the answer, read back.
    let minutes = "0123456789";
    let plain_text = [("content-type", "text/plain")];
    let reference = ask("uploadArtifact", &[], How { headers: &plain_text, ..body(minutes) });
    assert_eq!((reference.status, reference.json()["mime"].as_str()), (201, Some("text/plain")));
    assert_eq!(ask("uploadArtifact", &[], body(minutes)).status, 200);
    ask("uploadArtifact", &[], body(&large));
    let reference = reference.json();
    let digest = text(&reference["digest"]);
    let attached = json!({"choice": "approve", "attachments": [reference]}).to_string();
    assert_eq!(ask("answerQuestion", &[&question], body(&attached)).status, 200);
    assert_eq!(ask("answerQuestion", &[&question], body(&attached)).json()["code"], "QUESTION_CLOSED");
    let whole = ask("getArtifact", &[&digest], plain());
    assert_eq!((whole.text().as_str(), whole.header("etag")), (minutes, format!("\"{digest}\"")));
    for (range, status, told) in [
        ("bytes=2-4", 206, "234"),
        ("bytes=-3", 206, "789"),
        ("bytes=0-1,3-4", 200, minutes),
        ("x", 200, minutes),
    ] {
        let part = ask("getArtifact", &[&digest], headers(&[("range", range)]));
        assert_eq!((part.status, part.text().as_str()), (status, told), "{range}");
    }
    ask("getArtifact", &[&digest], headers(&[("range", "bytes=10-")]));
    let tag = whole.header("etag");
    assert_eq!(ask("getArtifact", &[&digest], headers(&[("if-none-match", &tag)])).status, 304);
    ask("getArtifact", &[&format!("sha256:{}", "0".repeat(64))], plain());
    let notes =
        admin.json(&format!("/v1/runs/{run}/handoffs/draft"))["file_changes"]["files"][0]["digest"].clone();
    assert_eq!(ask("getArtifact", &[&text(&notes)], plain()).text(), "words\n");

    // The sources of a run. Content of the tenant that is in no file of the run does not belong to the run.
    assert_eq!(ask("getRunFlow", &[&run], plain()).json()["text"], APPROVAL);
    let part = ask("getRunContent", &[&run, &text(&notes)], headers(&[("range", "bytes=1-2")]));
    assert_eq!((part.status, part.text().as_str()), (206, "or"));
    assert_eq!(ask("getRunContent", &[&run, &text(&notes)], plain()).text(), "words\n");
    ask("getRunContent", &[&run, &text(&notes)], headers(&[("range", "bytes=6-")]));
    let tag = format!("\"{}\"", text(&notes));
    let known = ask("getRunContent", &[&run, &text(&notes)], headers(&[("if-none-match", &tag)]));
    assert_eq!((known.status, known.header("etag")), (304, tag));
    assert_eq!(ask("getRunContent", &[&run, &digest], plain()).status, 404);

    // Its changes: this run has kept no files.
    for id in ["listDifferences", "getPatch"] {
        assert_eq!(ask(id, &[&run], plain()).status, 409, "{id}");
        assert_eq!(ask(id, &[NO_RUN], plain()).status, 404, "{id}");
    }
    ask("listArtifacts", &[&run], query("?all=true"));
    ask("listArtifacts", &[NO_RUN], plain());
    ask("listArtifacts", &[&run], query("?all=perhaps"));
    stage.write("work/there", "x\n");
    // It is started at the store: there a run can keep its files beside others.
    stage.write("apart.yaml", "flow: apart\nworkspace: work\nsteps: [{ id: a, run: 'echo a > made.txt' }]\n");
    stage.expect(0, &["run", "apart.yaml", "--keep-files", "--share-workspace"]);
    let apart = text(&admin.json("/v1/runs?flow=apart")["runs"][0]["run"]);
    let differences = ask("listDifferences", &[&apart], query("?lines=true&authors=true"));
    assert_eq!(differences.json()["files"][0]["by"], json!(["a.1.1"]));
    ask("listDifferences", &[&apart], query("?states=end"));
    for (id, params) in [("getPatch", [&*apart]), ("exportRun", [&*apart])] {
        assert_eq!(ask(id, &params, plain()).status, 200);
        // Each is made anew, so that a part would be one of another content.
        let whole = ask(id, &params, headers(&[("range", "bytes=0-3")]));
        assert_eq!((whole.status, whole.header("accept-ranges").as_str()), (200, "none"));
        assert!(whole.body.len() > 4);
    }
    ask("exportRun", &[&apart], query("?without_files=yes"));
    ask("exportRun", &[NO_RUN], plain());
    assert_eq!(asker.ask(&reader, "exportRun", &[&apart], &plain()).status, 403);

    // Logs in parts.
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(ask("getLog", &[&run, "draft.1.1", "stdout"], headers(&[("range", "bytes=0-")])).status, 416);
    let spoken = admin.run("flow: say\nsteps:\n  - id: a\n    run: echo words\n");
    admin.wait_until_run_is(&spoken, "succeeded");
    let part = ask("getLog", &[&spoken, "a.1.1", "stdout"], headers(&[("range", "bytes=2-")]));
    assert_eq!(
        (part.status, part.text().as_str(), part.header("content-range").as_str()),
        (206, "rds\n", "bytes 2-5/6")
    );

    // Streams.
    let path = format!("/v1/runs/{live}/stream");
    let open = [admin.follow(&path, None).unwrap(), admin.follow("/v1/questions/stream", None).unwrap()];
    assert!(open.iter().all(|stream| stream.status == 200));
    for (id, params) in
        [("followRun", [live.as_str()].as_slice()), ("followQuestions", &[]), ("followTenant", &[])]
    {
        assert_eq!(ask(id, params, plain()).json()["code"], "TOO_MANY_STREAMS");
        assert_eq!(ask(id, params, headers(&[("last-event-id", "x")])).status, 400);
    }
    drop(open);
    ask("followRun", &[NO_RUN], plain());
    let mut seen = None;
    wait_until("a free place", || {
        let reply = ask("followRun", &[&run], plain());
        seen = Some(reply.text()).filter(|_| reply.status == 200);
        seen.is_some()
    });
    let last = seen.unwrap().matches("id: ").count() - 1;
    assert_eq!(ask("followRun", &[&run], headers(&[("last-event-id", &last.to_string())])).status, 204);
    // A stream without an end is only begun.
    for (id, path) in [("followQuestions", "/v1/questions/stream"), ("followTenant", "/v1/stream")] {
        let begun = admin.follow(path, None).unwrap();
        asker.seen.borrow_mut().insert((id.to_owned(), begun.status.to_string()));
    }

    // Runs, ended and reopened.
    let told = ask("cancelRun", &[&live], body(r#"{"reason": "no longer needed"}"#));
    assert!(
        told.status == 400 && told.text().contains("unknown member `reason`; expected no body"),
        "{}",
        told.text()
    );
    assert_eq!(ask("cancelRun", &[&live], body("{}")).status, 202);
    admin.wait_until_run_is(&live, "cancelled");
    ask("cancelRun", &[NO_RUN], plain());
    assert_eq!(ask("cancelRun", &[&run], plain()).json()["code"], "RUN_OVER");
    assert_eq!(ask("resumeRun", &[&live], body(r#"{"choice": "rerun"}"#)).json()["code"], "WRONG_ANSWER");
    ask("resumeRun", &[&live], body(r#"{"choice": "later"}"#));
    ask("resumeRun", &[NO_RUN], plain());
    ask("resumeRun", &[&live], body(&large));
    for (choice, status) in [(r#"{"choice": "rerun"}"#, 409), (r#"{"choice": "fail"}"#, 422)] {
        let once = How { headers: &[("idempotency-key", "r")], ..body(choice) };
        assert_eq!(ask("resumeRun", &[&live], once).status, status);
    }
    stage.write("go", "");
    assert_eq!(ask("resumeRun", &[&live], body(r#"{"reason": "it was too early"}"#)).status, 202);
    admin.wait_until_run_is(&live, "succeeded");

    // Runs with more than their flow gives them, and forks.
    let bounded = "flow: bounded\nlimits: { agent_hops: 9 }\nsteps:\n  - id: a\n    run: 'false'\n";
    let failed = admin.run(bounded);
    admin.wait_until_run_is(&failed, "failed");
    for (more, status) in [(r#"{"more": {"agent_hops": 1}}"#, 202), (r#"{"more": {"agent_hops": 2}}"#, 422)] {
        let once = How { headers: &[("idempotency-key", "r")], ..body(more) };
        assert_eq!(ask("raiseRun", &[&failed], once).status, status);
    }
    assert_eq!(ask("raiseRun", &[&failed], body(r#"{"more": {"llm_calls": 1}}"#)).status, 409);
    ask("raiseRun", &[&failed], body("{}"));
    ask("raiseRun", &[NO_RUN], body(r#"{"more": {"agent_hops": 1}}"#));
    ask("raiseRun", &[&failed], body(&large));
    let raised = bounded.replace("'false'", "'true'");
    let compared = json!({"flow": "bounded.yaml", "files": {"bounded.yaml": raised}});
    let subject = ask("compareRun", &[&failed], body(&compared.to_string())).json()["subject"].clone();
    let as_it_is = ask("compareRun", &[&failed], body("{}")).json();
    assert_eq!(
        [&as_it_is["is_same"], &as_it_is["flow_digest"]],
        [&json!(true), &as_it_is["corrected_digest"]]
    );
    ask("compareRun", &[&failed], body(r#"{"with": 7}"#));
    ask("compareRun", &[&failed], body(&large));
    assert_eq!(ask("compareRun", &[NO_RUN], body(r#"{"flow": "publish"}"#)).status, 404);
    assert_eq!(ask("compareRun", &[&failed], body(r#"{"flow": "nothing"}"#)).status, 404);
    let mistaken = r#"{"flow": "f.yaml", "files": {"f.yaml": "flow: f"}}"#;
    assert_eq!(ask("compareRun", &[&failed], body(mistaken)).json()["code"], "FLOW_INVALID");
    for status in [201, 200] {
        let fork = ask("forkRun", &[&failed], How { headers: &[("idempotency-key", "f")], ..plain() });
        assert_eq!(fork.status, status, "{}", fork.text());
        admin.wait_until_run_is(&text(&fork.json()["run"]), "failed");
    }
    let odd = How { headers: &[("idempotency-key", "f")], ..body(r#"{"from": "a"}"#) };
    assert_eq!(ask("forkRun", &[&failed], odd).status, 422);
    assert_eq!(ask("forkRun", &[&failed], body(r#"{"from": "b"}"#)).status, 409);
    ask("forkRun", &[&failed], body(r#"{"from": 1}"#));
    ask("forkRun", &[NO_RUN], plain());
    ask("forkRun", &[&failed], body(&large));
    wait_until("the limit", || asker.ask(&eager, "forkRun", &[&failed], &plain()).status == 429);
    let correct = |flow: &Value, seen: &Value| {
        let mut said = flow.clone();
        said["seen"] = seen.clone();
        said.to_string()
    };
    ask("correctRun", &[&failed], body("{}"));
    ask("correctRun", &[&failed], body(&large));
    let named = json!({"flow": "publish"});
    assert_eq!(ask("correctRun", &[NO_RUN], body(&correct(&named, &subject))).status, 404);
    assert_eq!(ask("correctRun", &[&failed], body(&correct(&named, &subject))).status, 409);
    for (seen, status) in
        [(&subject, 202), (&subject, 202), (&json!(format!("sha256:{}", "0".repeat(64))), 422)]
    {
        let said = correct(&compared, seen);
        let once = How { headers: &[("idempotency-key", "c")], ..body(&said) };
        assert_eq!(ask("correctRun", &[&failed], once).status, status);
    }

    // Models.
    let poor = served.client(&token(&stage, &["poor", "--scope", "admin"]));
    let broke = poor.run("flow: broke\nlimits: { llm_calls: 0 }\nsteps:\n  - id: a\n    ask: 'Well?'\n");
    let (of, over) =
        ([("x-envoi-a2a-context-id", broke.as_str())], [("x-envoi-a2a-context-id", run.as_str())]);
    let huge = format!(r#"{{"user": "{}"}}"#, "x".repeat(1_000_001));
    let vast = format!(r#"{{"x": "{}"}}"#, "x".repeat(16 * 1024 * 1024));
    for (id, fits, wrong, too_large, failed) in [
        ("callModel", r#"{"user": "a"}"#, r#"{"user": 1}"#, &huge, 500),
        ("completeChat", "{}", "[]", &vast, 502),
    ] {
        let with = |member: &str| {
            format!("{}{member}}}", fits.strip_suffix('}').unwrap().replace("\"a\"", "\"a\","))
        };
        assert_eq!(ask(id, &[], body(fits)).status, 200);
        assert_eq!(ask(id, &[], body(wrong)).status, 400);
        assert_eq!(ask(id, &[], body(&with(r#""model": "none""#))).status, 400);
        assert_eq!(ask(id, &[], body(&with(r#""model": "keyless""#))).status, 503);
        assert_eq!(ask(id, &[], body(&with(r#""model": "unreachable""#))).status, failed);
        assert_eq!(ask(id, &[], How { headers: &of, ..body(fits) }).status, 429);
        assert_eq!(ask(id, &[], How { headers: &over, ..body(fits) }).status, 409);
        assert_eq!(ask(id, &[], body(too_large)).status, 413);
    }
    for (id, protocol, pays) in [
        ("createResponse", "responses", true),
        ("createMessage", "messages", true),
        ("countMessageTokens", "messages", false),
    ] {
        let named = |model: &str| format!(r#"{{"model": "{model}"}}"#);
        let fits = named(protocol);
        assert_eq!(ask(id, &[], body(&fits)).status, 200);
        assert_eq!(ask(id, &[], body("[]")).status, 400);
        for (model, status) in [("none", 400), ("small", 400)] {
            assert_eq!(ask(id, &[], body(&named(model))).status, status, "{id} {model}");
        }
        assert_eq!(ask(id, &[], body(&named(&format!("{protocol}-keyless")))).status, 503);
        assert_eq!(ask(id, &[], body(&named(&format!("{protocol}-unreachable")))).status, 502);
        if pays {
            assert_eq!(ask(id, &[], How { headers: &of, ..body(&fits) }).status, 429);
            assert_eq!(ask(id, &[], How { headers: &over, ..body(&fits) }).status, 409);
        }
        assert_eq!(ask(id, &[], body(&vast)).status, 413);
    }
    lab.will_say([Say::Whole(500, "{}".to_owned())]);
    assert_eq!(ask("callModel", &[], body(r#"{"user": "a"}"#)).status, 500);
    assert_eq!(ask("listModels", &[], plain()).status, 200);

    // A client sends as many bodies as are allowed.
    let secret = token(&stage, &["full", "--scope", "admin"]);
    let (full, mut held) = (served.client(&secret), Vec::new());
    wait_until("two that are held", || {
        held.push(begun_upload(&served, &secret));
        asker.ask(&full, "uploadArtifact", &[], &body("words")).json()["code"] == "TOO_MANY_REQUESTS"
    });
    for (id, params) in [
        ("registerFlow", [].as_slice()),
        ("startRun", &[]),
        ("forkRun", &[failed.as_str()]),
        ("resumeRun", &[&failed]),
        ("raiseRun", &[&failed]),
        ("compareRun", &[&failed]),
        ("correctRun", &[&failed]),
        ("answerQuestion", &[&question]),
    ] {
        assert_eq!(asker.ask(&full, id, params, &body("{}")).status, 429, "{id}");
    }
    drop(held);

    // A client without permission.
    for (id, params) in everything(&asker.document, &run, &question, &digest) {
        let params: Vec<&str> = params.iter().map(String::as_str).collect();
        asker.ask(&nobody, &id, &params, &plain());
        let (_, path, responses) = asker.operation(&id, &params);
        // A sign-in and the bridge read no query.
        if path.starts_with("/v1/") && id != "createSession" {
            assert_eq!(ask(&id, &params, query("?no_such=1")).status, 400, "{id}");
        }
        if responses.get("403").is_some() {
            asker.ask(&reader, &id, &params, &plain());
        }
    }
    assert_eq!(asker.missing(), Vec::new());
    let odd = admin.call("DELETE", "/v1/runs", &[], &[]);
    assert_eq!((odd.status, odd.json()["code"].as_str()), (405, Some("METHOD_NOT_ALLOWED")));
}

/// Each operation with parameters that are there.
fn everything(document: &Value, run: &str, question: &str, digest: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let params: Vec<String> = named
            .map(|name| match name {
                "run" => run.to_owned(),
                "question" => question.to_owned(),
                "digest" => digest.to_owned(),
                "handoff" => "draft".to_owned(),
                "attempt" => "draft.1.1".to_owned(),
                "stream" => "stdout".to_owned(),
                "flow" => "publish".to_owned(),
                "code" => "RUN_NOT_FOUND".to_owned(),
                other => panic!("a parameter that is new: {other}"),
            })
            .collect();
        for operation in methods.as_object().unwrap().values() {
            all.push((text(&operation["operationId"]), params.clone()));
        }
    }
    all
}
