//! The form of a question means the same at every door: the command line, a server elsewhere, REST, A2A, a terminal.

use crate::{
    a2a::peer::{Peer, Way},
    serve::client::{Client, Served},
    stage::{Stage, wait_until},
    terminal::Terminal,
};
use serde_json::{Value, json};

/// `channel` is required, `copies` has a default although it is required, and nothing else is taken.
const FLOW: &str = "
flow: form
steps:
  - id: ask
    ask:
      message: Where to?
      schema:
        type: object
        required: [channel, copies]
        additionalProperties: false
        properties: { channel: { enum: [blog, mail] }, copies: { type: integer, default: 2 } }
  - id: use
    run: [sh, -c, 'true', '${{ steps.ask.data.channel }}', '${{ steps.ask.data.copies }}']
";

/// A way to answer with a form, or with a bare yes.
#[derive(Debug, Clone, Copy)]
enum Door {
    Fields,
    Data,
    Remote,
    RemoteFields,
    Rest,
    A2aData,
    A2aText,
}

const DOORS: [Door; 7] =
    [Door::Fields, Door::Data, Door::Remote, Door::RemoteFields, Door::Rest, Door::A2aData, Door::A2aText];

struct Place {
    stage: Stage,
    served: Served,
    client: Client,
    token: String,
}

impl Place {
    fn new() -> Self {
        let stage = Stage::new();
        let served = Served::start(&stage);
        let token = served.first.clone().unwrap();
        let client = served.client(&token);
        Self { stage, served, client, token }
    }

    fn command(&self, arguments: &[&str]) -> Result<(), String> {
        let done = self.stage.envoi(arguments);
        match done.code {
            Some(0) => Ok(()),
            Some(2) => Err(done.err),
            _ => panic!("{arguments:?}: {done:?}"),
        }
    }

    /// Answers yes with this form; the refusal in words.
    fn answer(&self, door: Door, run: &str, question: &str, form: Option<&Value>) -> Result<(), String> {
        let members = form.and_then(Value::as_object).cloned().unwrap_or_default();
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fields: Vec<String> =
            members.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
        let fields: Vec<&str> = fields.iter().flat_map(|field| ["--field", field.as_str()]).collect();
        let document = form.map(Value::to_string);
        let data: Vec<&str> = document.iter().flat_map(|text| ["--data", text.as_str()]).collect();
        let approve = ["approve", question];
        match door {
            Door::Fields => self.command(&[&approve[..], &fields].concat()),
            Door::Data => self.command(&[&approve[..], &data].concat()),
            Door::Remote | Door::RemoteFields => {
                let server = ["--server", self.served.url.as_str()];
                let form = if matches!(door, Door::Remote) { &data } else { &fields };
                let arguments = [&server[..], &approve, form].concat();
                let mut command = self.stage.command(&arguments);
                let done =
                    crate::stage::Process::spawn(command.env("ENVOI_TOKEN", self.token.as_str())).done();
                match done.code {
                    Some(0) => Ok(()),
                    _ => Err(done.err),
                }
            }
            Door::Rest => {
                let mut body = json!({"choice": "approve"});
                if let Some(form) = form {
                    body["data"] = form.clone();
                }
                let reply = self.client.post(&format!("/v1/questions/{question}/answer"), &body.to_string());
                if reply.status == 200 { Ok(()) } else { Err(reply.text()) }
            }
            Door::A2aData | Door::A2aText => {
                let peer = Peer::new(&self.client, Way::Rpc);
                let part = match (door, form) {
                    (_, None) => peer.text("approve"),
                    (Door::A2aData, Some(form)) => peer.data(form.clone()),
                    (_, Some(form)) => peer.text(&form.to_string()),
                };
                let message = peer.message(&format!("m-{form:?}"), &[part], &json!({"taskId": run}));
                peer.send(message, &[]).map(drop).map_err(|refused| refused.text)
            }
        }
    }
}

#[test]
fn a_form_is_completed_and_checked_alike_at_every_door() {
    let place = Place::new();
    for door in DOORS {
        let run = place.client.run(FLOW);
        let question = place.client.question(&run);
        let before = place.stage.events(&run);
        let refused = [
            (None, "channel"),
            (Some(json!({"copies": 1})), "channel"),
            (Some(json!({"channel": "fax"})), "channel"),
            (Some(json!({"channel": "mail", "copies": "many"})), "copies"),
            (Some(json!({"channel": "mail", "more": "x"})), "more"),
        ];
        for (form, named) in refused {
            let refusal = place.answer(door, &run, &question, form.as_ref());
            let words = refusal.expect_err(&format!("{door:?} takes {form:?}"));
            assert!(words.contains(named), "{door:?} {form:?}: {words}");
            assert_eq!(place.stage.events(&run), before, "{door:?} {form:?}");
        }
        place.answer(door, &run, &question, Some(&json!({"channel": "mail"}))).unwrap();
        place.client.wait_until_run_is(&run, "succeeded");
        let events = place.stage.events(&run);
        let answered = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
        assert_eq!(answered["data"], json!({"channel": "mail", "copies": 2}), "{door:?}");
    }
}

#[test]
fn a_field_that_the_form_does_not_have_is_refused_at_every_door_unless_the_schema_lets_it_in() {
    let place = Place::new();
    let open = FLOW.replace("        additionalProperties: false\n", "");
    let wider = FLOW.replace("additionalProperties: false", "additionalProperties: true");
    let misspelt = json!({"channel": "mail", "copeis": 3});
    for door in DOORS {
        let run = place.client.run(&open);
        let question = place.client.question(&run);
        let before = place.stage.events(&run);
        let words = place.answer(door, &run, &question, Some(&misspelt)).expect_err(&format!("{door:?}"));
        assert!(
            words.contains("`copeis` is no field") && words.contains("did you mean `copies`?"),
            "{words}"
        );
        assert_eq!(place.stage.events(&run), before, "{door:?}");
        place.answer(door, &run, &question, Some(&json!({"channel": "mail"}))).unwrap();
        let run = place.client.run(&wider);
        let question = place.client.question(&run);
        place
            .answer(door, &run, &question, Some(&misspelt))
            .unwrap_or_else(|words| panic!("{door:?}: {words}"));
        place.client.wait_until_run_is(&run, "succeeded");
    }
}

#[test]
fn a_field_of_more_than_one_type_takes_the_same_value_at_every_door() {
    let place = Place::new();
    let schema = "properties: { n: { type: [integer, \"null\"] }, either: { anyOf: [{ type: integer }, { type: boolean }] }, \
                  only: { const: 3 }, word: { type: [string, \"null\"] } }";
    let flow = FLOW
        .replace("required: [channel, copies]", "required: [n]")
        .replace(
            "properties: { channel: { enum: [blog, mail] }, copies: { type: integer, default: 2 } }",
            schema,
        )
        .replace(", '${{ steps.ask.data.channel }}', '${{ steps.ask.data.copies }}'", "");
    for door in DOORS {
        for form in [
            json!({"n": null, "either": true, "only": 3, "word": "null"}),
            json!({"n": 5, "either": 7, "word": "5"}),
        ] {
            let run = place.client.run(&flow);
            let question = place.client.question(&run);
            place
                .answer(door, &run, &question, Some(&form))
                .unwrap_or_else(|words| panic!("{door:?} {form}: {words}"));
            let events = place.stage.events(&run);
            let answered = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
            let taken = match &answered["data"] {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                form => form.clone(),
            };
            assert_eq!(taken, form, "{door:?}");
        }
    }
}

#[test]
fn a_bare_yes_is_enough_at_every_door_where_the_defaults_are() {
    let place = Place::new();
    let flow = FLOW.replace("{ enum: [blog, mail] }", "{ enum: [blog, mail], default: blog }");
    for door in DOORS {
        let run = place.client.run(&flow);
        let question = place.client.question(&run);
        place.answer(door, &run, &question, None).unwrap_or_else(|words| panic!("{door:?}: {words}"));
        place.client.wait_until_run_is(&run, "succeeded");
    }
}

#[test]
fn a_form_is_completed_on_a_terminal_and_takes_no_yes_in_advance() {
    let stage = Stage::with_flow(FLOW);
    let refused = stage.expect(2, &["run", "flow.yaml", "--yes-to", "ask"]);
    assert!(refused.err.contains("YES_TO_INVALID"), "{refused:?}");
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[("TERM", "dumb")]);
    let shows = |words: &str| wait_until(words, || terminal.shows().trim_end().ends_with(words));
    shows("show, later?");
    terminal.types("approve\n");
    shows("channel (blog, mail):");
    terminal.types("\n");
    wait_until("the refusal", || terminal.shows().contains("it is needed"));
    terminal.types("mail\nmany\n");
    wait_until("the refusal", || terminal.shows().contains("expected a whole number"));
    terminal.types("\n\n");
    let (words, code, _) = terminal.done();
    assert_eq!(code, Some(0), "{words}");
    let events = stage.events(&stage.run_id());
    let answered = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
    assert_eq!(answered["data"]["copies"], 2, "{answered}");
}
