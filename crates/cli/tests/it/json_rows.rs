//! One set of rows: what REST answers and what commands print with `--json` has the schemas of `envoi_api`, and the same thing is the
//! same row everywhere ([docs/api.md](../../../../docs/api.md)).

use crate::{
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
struct Schemas(Value);

impl Schemas {
    fn new() -> Self {
        let mut all: Map<String, Value> = envoi_api::schema::of_rest();
        all.extend(envoi_api::schema::of_commands());
        Self(json!({"schemas": all}))
    }

    /// The value has the schema of this name.
    fn hold(&self, name: &str, value: &Value) {
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

/// What a command prints, a value in each line.
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

fn compare(stage: &Stage, client: &Client, schemas: &Schemas, run: &str, question: &str) {
    // Runs.
    let (runs, page) = (stage.json(&["--json", "runs"]), client.json("/v1/runs"));
    schemas.hold("Runs", &page);
    assert_eq!(runs, page["runs"]);
    let row = client.json(&format!("/v1/runs/{run}"));
    schemas.hold("Run", &row);
    assert_eq!(list(&runs).iter().find(|other| other["run"] == run), Some(&row));
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
    schemas.hold("ShownQuestion", &shown);
    has(&shown, &answered);
    has(&answered, &list(&inbox)[0]);
    for open in list(&detail["questions"]) {
        has(open, &list(&inbox)[0]);
    }
    // Events.
    let events = lines(&stage.expect(0, &["show", run, "--events"]).out);
    let page = client.json(&format!("/v1/runs/{run}/events?limit=200"));
    schemas.hold("Events", &page);
    assert_eq!(Value::from(events), page["events"]);
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
