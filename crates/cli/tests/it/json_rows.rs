//! A common set of rows: REST responses and the `--json` output of commands have the schemas of `envoi_api`, and the same thing is
//! the same row everywhere ([docs/api.md](../../../../docs/api.md)).

use crate::{
    repair::sql,
    serve::client::{Client, Served},
    stage::{Stage, text},
};
use serde_json::{Map, Value, json};

/// A question that two people have to answer, after a step with an item for each value; then a step of an inner flow.
const RICH: &str = "
flow: rich
limits: { llm_calls: 3 }
steps:
  - { id: draft, run: 'echo out; echo err >&2; echo words > notes.md', artifacts: [notes.md] }
  - { id: look, for_each: [api, web], run: 'echo looks' }
  - id: approve
    ask: { message: Publish these notes?, quorum: 2, expires_in: 2h }
  - { id: publish, run: 'echo published' }
";

const FAILS: &str = "flow: fails\nsteps:\n  - { id: a, run: 'echo words; exit 1' }\n";

/// The schemas of all rows.
pub(crate) struct Schemas(Value);

impl Schemas {
    pub(crate) fn new() -> Self {
        let mut all: Map<String, Value> = envoi_api::schema::of_rest();
        all.extend(envoi_api::schema::of_commands());
        Self(json!({"schemas": all}))
    }

    /// The value has the schema of this name.
    pub(crate) fn hold(&self, name: &str, value: &Value) {
        let schema = json!({"$ref": format!("#/components/schemas/{name}"), "components": self.0});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}: {value:#}");
    }

    /// Every element has the schema of this name, and there is one.
    fn hold_each(&self, name: &str, values: &[Value]) {
        assert!(!values.is_empty(), "{name}");
        values.iter().for_each(|value| self.hold(name, value));
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value:#}"))
}

/// The output of a command, a value in each line.
fn lines(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// `whole` has every member of `row`, and each with the same value.
fn has(whole: &Value, row: &Value) {
    for (name, member) in row.as_object().unwrap() {
        assert_eq!(&whole[name], member, "{name}: {whole:#}");
    }
}

#[test]
fn the_same_thing_is_the_same_row_at_rest_and_in_json() {
    let (stage, schemas) = (Stage::new(), Schemas::new());
    stage.write("rich.yaml", RICH);
    stage.write("fails.yaml", FAILS);
    let served = Served::start(&stage);
    let client = served.client(served.first.as_deref().unwrap());
    stage.expect(1, &["run", "fails.yaml"]);
    let followed = lines(&stage.expect(3, &["--json", "run", "rich.yaml"]).out);
    let (end, events) = followed.split_last().unwrap();
    schemas.hold_each("Event", events);
    schemas.hold("Ended", end);
    let run = text(&end["result"]["run"]);
    let question = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    let vote = r#"{"choice": "approve", "text": "fine"}"#;
    let voted = client.post(&format!("/v1/questions/{question}/answer"), vote).json();
    assert_eq!(voted["votes"][0]["text"], "fine", "{voted:#}");
    compare(&stage, &client, &schemas, &run, &question);
    let denied = stage.expect(1, &["--json", "deny", &question]);
    schemas.hold("Ended", lines(&denied.out).last().unwrap());
    compare(&stage, &client, &schemas, &run, &question);
}

#[test]
fn what_an_event_holds_is_no_json_in_a_text() {
    let stage =
        Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'echo a' }\n  - { id: b, run: 'echo b' }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let events = stage.events(&stage.run_id());
    for (kind, member) in [("routed", "signal"), ("handoff_written", "handoff")] {
        let found: Vec<&Value> = events.iter().filter(|event| event["type"] == kind).collect();
        assert_eq!(found.len(), 2, "{kind}");
        for event in found {
            assert!(event[member].is_object(), "{member}: {event:#}");
        }
    }
}

fn compare(stage: &Stage, client: &Client, schemas: &Schemas, run: &str, question: &str) {
    // Runs.
    let (runs, page) = (stage.json(&["--json", "runs"]), client.json("/v1/runs"));
    schemas.hold("Runs", &page);
    assert_eq!(runs, page["runs"]);
    let row = client.json(&format!("/v1/runs/{run}"));
    schemas.hold("Run", &row);
    // The head of the chain is computed for one run, and not for each of a list.
    let mut listed = row.clone();
    listed["head"] = Value::Null;
    assert_eq!(row["head"].is_string(), row["status"] == "failed", "{row:#}");
    assert_eq!(list(&runs).iter().find(|other| other["run"] == run), Some(&listed));
    let detail = stage.json(&["--json", "show", run]);
    schemas.hold("RunDetail", &detail);
    has(&detail, &row);
    // Hand-offs.
    let handoffs = client.json(&format!("/v1/runs/{run}/handoffs"));
    schemas.hold("Handoffs", &handoffs);
    assert_eq!(detail["handoffs"], handoffs["handoffs"]);
    assert!(list(&handoffs["handoffs"]).len() > 3, "{handoffs:#}");
    // Questions.
    let (inbox, asked) =
        (stage.json(&["--json", "inbox", "--all"]), client.json("/v1/questions?closed=true"));
    schemas.hold("Questions", &asked);
    assert_eq!(inbox, asked["questions"]);
    let (shown, answered) =
        (stage.json(&["--json", "show", question]), client.json(&format!("/v1/questions/{question}")));
    schemas.hold("QuestionDetail", &answered);
    schemas.hold("QuestionDetail", &shown);
    has(&shown, &json!({"files": answered["files"], "given": answered["given"]}));
    has(&shown, &json!({"used": answered["used"], "last_handoff": answered["last_handoff"]}));
    has(&answered, &list(&inbox)[0]);
    for open in list(&detail["questions"]) {
        has(open, &list(&inbox)[0]);
    }
    // Events.
    let events = lines(&stage.expect(0, &["show", run, "--events"]).out);
    let page = client.json(&format!("/v1/runs/{run}/events?limit=200"));
    schemas.hold("Events", &page);
    assert_eq!(Value::from(events), page["events"]);
    let decisions = stage.json(&["--json", "why", run]);
    schemas.hold_each("Event", list(&decisions));
    assert_eq!(decisions, client.json(&format!("/v1/runs/{run}/why?limit=200"))["events"]);
    // Logs.
    let logs = client.json(&format!("/v1/runs/{run}/logs"));
    schemas.hold("Logs", &logs);
    let written = lines(&stage.expect(0, &["--json", "logs", run]).out);
    schemas.hold_each("LogLine", &written);
    assert_eq!(written[0]["attempt"], logs["logs"][0]["attempt"]);
    // Flows.
    schemas.hold("Flows", &client.json("/v1/flows"));
    schemas.hold("PinnedFlow", &client.json(&format!("/v1/runs/{run}/flow")));
    // Refusals.
    let refused = client.get("/v1/runs/run_00000000000000000000000000").json();
    schemas.hold("Problem", &refused);
    let failed: Value = serde_json::from_str(&stage.expect(2, &["--json", "show", "nothing"]).err).unwrap();
    schemas.hold("Failure", &failed);
    assert_eq!(failed["code"], refused["code"]);
}

#[test]
fn tokens_and_runs_in_the_background_have_their_rows() {
    let (stage, schemas) = (Stage::with_flow(FAILS), Schemas::new());
    let accepted = stage.json(&["--json", "run", "flow.yaml", "--detach"]);
    schemas.hold("Accepted", &accepted);
    stage.expect(1, &["resume", &text(&accepted["run"])]);
    schemas.hold("NewToken", &stage.json(&["--json", "token", "create", "ci", "--expires", "30d"]));
    let rows = stage.json(&["--json", "token", "list"]);
    schemas.hold_each("TokenRow", list(&rows));
    assert_eq!((&rows[0]["state"], &rows[0]["scopes"]), (&json!("good"), &json!(["read"])));
    schemas.hold("RevokedToken", &stage.json(&["--json", "token", "revoke", "ci"]));
    let revoked = stage.json(&["--json", "token", "list"]);
    schemas.hold_each("TokenRow", list(&revoked));
    assert_eq!(revoked[0]["state"], "revoked");
    schemas.hold("ErrorPage", &stage.json(&["--json", "explain", "RUN_NOT_FOUND"]));
    stage.write("vectors.json", "[{}]");
    let cases = lines(&stage.expect(1, &["--json", "conformance", "vectors.json"]).out);
    schemas.hold("FailedCase", &cases[0]);
    schemas.hold("CaseCounts", &cases[1]);
    let served = Served::start(&stage);
    let client = served.client(&text(&stage.json(&["--json", "token", "create", "reader"])["token"]));
    schemas.hold("Token", &client.json("/v1/token"));
    schemas.hold("Health", &client.json("/v1/health"));
}

/// Worst cases with everything that a plan can have: a loop, a limit, a list, a flow within, a sum that no number holds.
#[test]
fn plans_have_their_row() {
    let (stage, schemas) = (Stage::new(), Schemas::new());
    stage.write(
        "flow.yaml",
        "flow: outer\nlimits: { iterations: 2, cost_usd: \"5\" }\nsteps:\n  - { id: a, run: go, timeout: 1s, retry: { attempts: 2 } }\n  \
         - { id: b, run: go, timeout: 1s, routing: { kind: microloop, loop_to: a, success_values: [OK], max_iterations: 3 } }\n  \
         - { id: c, flow: ./inner.yaml }\n  - { id: d, ask: Fine? }\n",
    );
    stage.write("inner.yaml", "flow: inner\nsteps:\n  - { id: x, run: go, for_each: [1, 2] }\n");
    let deep = "flow: deep\nsteps:\n  - { id: a, run: go, for_each: \"${{ inputs.list }}\" }\n";
    stage.write("deep.yaml", format!("{deep}inputs: {{ list: {{ type: array }} }}\n"));
    let plan = stage.json(&["--json", "plan", "flow.yaml"]);
    schemas.hold("Plan", &plan);
    assert_eq!((&plan["compared_with"], &plan["differences"]), (&Value::Null, &Value::Null));
    assert!(list(&plan["limits"])[0]["without"].is_u64() && plan["loops"][0]["flow"] == "outer", "{plan:#}");
    let inner = list(&plan["steps"]).iter().find(|step| step["step"] == "x").unwrap();
    assert_eq!((&inner["flow"], &inner["items"]["most"]), (&json!("inner"), &json!(2)));
    for arguments in [
        &["--json", "plan", "flow.yaml", "--compare", "deep.yaml"][..],
        &["--json", "plan", "deep.yaml", "--compare", "flow.yaml"],
    ] {
        let compared = stage.json(arguments);
        schemas.hold("Plan", &compared);
        assert!(list(&compared["differences"]).iter().any(|found| found["step"] == "x"), "{compared:#}");
        assert_eq!(compared["compared_with"]["past"], Value::Null, "{compared:#}");
    }
    let maxima = ["--max-attempts", "1", "--max-time", "1s", "--max-calls", "1", "--max-cost", "1"];
    let past = stage.expect(4, &[&["--json", "plan", "flow.yaml"][..], &maxima].concat()).out;
    let past: Value = serde_json::from_str(&past).unwrap();
    schemas.hold("Plan", &past);
    let figures: Vec<&Value> = list(&past["past"]).iter().map(|past| &past["figure"]).collect();
    assert_eq!(figures, ["attempts", "llm_calls", "wall_time_ms", "cost_usd"]);
}

#[test]
fn what_is_found_in_files_and_in_the_store_has_its_row() {
    let (stage, schemas) = (Stage::new(), Schemas::new());
    let of = |code: i32, arguments: &[&str]| -> Value {
        let done = stage.expect(code, arguments);
        serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {done:?}"))
    };
    schemas.hold_each("Advice", list(&of(0, &["--json"])));
    schemas.hold_each("Titled", list(&of(0, &["--json", "init", "--list"])));
    schemas.hold_each("Titled", list(&of(0, &["--json", "schema"])));
    schemas.hold("HelpTopics", &of(0, &["--json", "help"]));
    schemas.hold("HelpPage", &of(0, &["--json", "help", "limits"]));
    schemas.hold("Initialized", &of(0, &["--json", "init", "--template", "nightly", "begun"]));
    stage.write("broken.yaml", "flow: f\nstpes: 1\nsteps:\n  - { id: a, rnu: x }\n");
    schemas.hold_each("Mistake", list(&of(2, &["--json", "check", "broken.yaml"])));
    stage.write("source.yaml", "key: p\ncross_cutting: [b]\nsteps:\n  - { id: a, agents: [b], role: x }\n");
    let found = stage.expect(0, &["--json", "import", "source.yaml"]).err;
    schemas.hold_each("ImportFinding", list(&serde_json::from_str(&found).unwrap()));
    stage.write("wrong.yaml", "key: b\nsteps:\n  - { id: a, routing: { kind: linear, next: aa } }\n");
    schemas.hold_each("Mistake", list(&of(2, &["--json", "import", "wrong.yaml"])));
    stage.write("fails.yaml", FAILS);
    stage.expect(1, &["run", "fails.yaml"]);
    let run = stage.run_id();
    schemas.hold_each("Checkup", list(&of(0, &["--json", "doctor"])));
    schemas.hold("Examined", &of(0, &["--json", "repair", &run]));
    schemas.hold("Adopted", &of(0, &["--json", "store", "adopt"]));
    // Damage of several kinds.
    sql(
        &stage,
        "UPDATE events SET body = 'x' WHERE seq = 2; DELETE FROM events WHERE seq = 3; DELETE FROM handoffs;",
    );
    let examined = of(8, &["--json", "repair", &run]);
    schemas.hold("Examined", &examined);
    assert_eq!(examined["gaps"], json!(["3"]), "{examined:#}");
    assert!(text(&examined["damaged_events"][0]).starts_with("2: "), "{examined:#}");
    assert!(examined["unreadable_reason"].is_string(), "{examined:#}");
    let bad = of(8, &["--json", "doctor"]);
    schemas.hold_each("Checkup", list(&bad));
    let repaired = of(8, &["--json", "repair"]);
    schemas.hold("Repaired", &repaired);
    assert_eq!(list(&repaired["damaged_events"]).len(), 1, "{repaired:#}");
}

#[test]
fn a_backtest_has_its_row() {
    let flow = "flow: t\nsteps:\n  - { id: a, run: 'echo x' }\n  - { id: b, run: 'echo y' }\n";
    let (stage, schemas) = (Stage::with_flow(flow), Schemas::new());
    stage.expect(0, &["run", "flow.yaml"]);
    schemas.hold("Backtest", &stage.json(&["--json", "backtest", "flow.yaml"]));
    stage.write("changed.yaml", flow.replace("id: b", "id: c"));
    let changed = stage.expect(1, &["--json", "backtest", "changed.yaml"]);
    schemas.hold("Backtest", &serde_json::from_str(&changed.out).unwrap());
}

#[test]
fn bundles_have_their_rows() {
    let (stage, schemas) =
        (Stage::with_flow("flow: t\nsteps:\n  - { id: a, run: 'echo x' }\n"), Schemas::new());
    stage.expect(0, &["run", "flow.yaml"]);
    schemas.hold("Exported", &stage.json(&["--json", "export", "-o", "b"]));
    schemas.hold("Verified", &stage.json(&["--json", "verify", "b"]));
    let other = Stage::new();
    let bundle = stage.path("b").display().to_string();
    let row = other.json(&["--json", "import", &bundle]);
    schemas.hold("ImportedRun", &row);
    schemas.hold("ImportedRun", &other.json(&["--json", "import", &bundle]));
    let run = crate::stage::text(&row["run"]);
    schemas.hold("RunDetail", &other.json(&["--json", "show", &run]));
    stage.write("c", "no bundle");
    let wrong = stage.expect(1, &["--json", "verify", "c"]);
    let wrong: serde_json::Value = serde_json::from_str(&wrong.out).unwrap();
    assert_eq!(wrong["ok"], false);
    schemas.hold("Verified", &wrong);
}

#[test]
fn trees_of_runs_have_their_row() {
    let (stage, schemas) = (
        Stage::with_flow("flow: t\nworkspace: w\nsteps:\n  - { id: a, run: 'echo b > a' }\n"),
        Schemas::new(),
    );
    stage.write("w/a", "a");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    schemas.hold("WrittenPatch", &stage.json(&["--json", "apply", "--patch", "changes.patch"]));
    let found = stage.json(&["--json", "gc", "--dry-run", "--keep-last", "0"]);
    assert_eq!((list(&found["trees"]).len(), list(&found["runs"]).len()), (1, 1), "{found:#}");
    schemas.hold("Collection", &found);
    schemas.hold("Collection", &stage.json(&["--json", "gc", "--compact"]));
}
