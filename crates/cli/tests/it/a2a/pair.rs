//! Two Envois: a step of one is a task of the other, with data both ways.

use super::served;
use crate::stage::{Process, Stage};
use serde_json::json;

/// Adds up its input, and gives the sum in words, in its report and in a file.
const SUM: &str = r#"
flow: sum
inputs:
  message: { type: string }
  prices: { type: array, items: { type: number } }
steps:
  - id: add
    skill: add
    env: { PRICES: '${{ inputs.prices }}', MESSAGE: '${{ inputs.message }}' }
    run: |
      printf '{"prices":%s}' "$PRICES" > bill.json
      printf '%s' "$MESSAGE" > note.md
      printf '{"ok":true,"generatedAt":"2026-11-22T00:00:00Z","skillName":"add","data":{"total":12.50,"exact":123456789012345678901234567890,"currency":"EUR"}}' > "$ENVOI_REPORT"
      echo added
    artifacts: [bill.json, note.md]
  - id: last
    run: echo "that is all"
"#;

#[test]
fn two_envois_exchange_typed_data_in_both_directions() {
    let theirs = Stage::new();
    let (server, _) = served(&theirs, SUM);
    let token = server.first.clone().unwrap();
    let flow = format!(
        r#"
flow: shop
steps:
  - id: ask
    a2a:
      url: '{}/a2a/sum'
      message: Add these up.
      data: {{ prices: [10, 2.50] }}
      token: {{ env: OTHER }}
    artifacts: ['a2a/ask/**']
    outputs:
      type: object
      required: [total, currency]
      properties: {{ total: {{ type: number }}, currency: {{ const: EUR }} }}
  - id: use
    if: steps.ask.data.total > 12
    run: ['sh', '-c', 'echo "$0 $1" > used', '${{{{ steps.ask.data.total }}}}', '${{{{ steps.ask.data.exact }}}}']
"#,
        server.url
    );
    let ours = Stage::with_flow(&flow);
    let done = Process::spawn(ours.command(&["run", "flow.yaml"]).env("OTHER", token)).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(
        ours.read("used"),
        "12.50 123456789012345678901234567890\n",
        "numbers are as they were written"
    );
    let envelope = ours.json(&["show", "--envelope"]);
    assert_eq!(envelope["outputs"]["ask"]["summary"], "that is all");
    let bill: serde_json::Value = serde_json::from_str(&ours.read("a2a/ask/bill.json")).unwrap();
    assert_eq!(bill, json!({"prices": [10, 2.50]}), "what was sent has arrived");
    assert_eq!(ours.read("a2a/ask/note.md"), "Add these up.", "under the name that it has there");
}

#[test]
fn a_step_speaks_to_the_interface_that_the_flow_names_in_place_of_the_cards() {
    let theirs = Stage::new();
    // The card names an address at which nothing listens, as a server behind a proxy would.
    theirs.write(".envoi/config.yaml", "server: { a2a: { url: 'http://127.0.0.1:9' } }\n");
    let (server, _) = served(&theirs, "flow: hello\nsteps: [{ id: say, run: echo hello }]\n");
    let token = server.first.clone().unwrap();
    let run = |interface: &str| {
        let keys = format!("url: '{}', {interface}message: m, token: {{ env: OTHER }}", server.url);
        let ours = Stage::with_flow(&format!("flow: f\nsteps: [{{ id: ask, a2a: {{ {keys} }} }}]\n"));
        Process::spawn(ours.command(&["run", "flow.yaml"]).env("OTHER", &token)).done()
    };
    let refused = run("");
    assert!(refused.code == Some(1) && refused.err.contains("AGENT_REFUSED"), "{refused:?}");
    assert!(refused.err.contains("`interface`"), "it says what to do: {refused:?}");
    let done = run(&format!("interface: '{}/a2a', ", server.url));
    assert_eq!(done.code, Some(0), "{done:?}");
}
