//! Providers of models that put a secret into every text that they may send, the key of the provider among them.

use super::{Leaky, seeds};
use crate::stage::{Process, wait_until};

const PROTOCOLS: [&str; 3] = ["chat", "responses", "messages"];

/// The behaviours of the provider.
const WAYS: [&str; 10] =
    ["text", "data", "misfits", "words", "refuses", "fails", "states", "plain", "odd", "cut"];

/// A stage whose provider leaks, and a step for each protocol and each of these ways.
fn with_provider(seed: u64, ways: &[&str]) -> (Leaky, Process) {
    let leaky = Leaky::new(seed, "");
    let (provider, url) = leaky.serving("provider.py");
    let mut config = "models:\n  providers:\n".to_owned();
    let (mut offer, mut steps) = ("  offer:\n".to_owned(), String::new());
    for protocol in PROTOCOLS {
        // Without a header of its own the answer names its request.
        let place = if protocol == "chat" { format!("{url}/bare") } else { url.clone() };
        config.push_str(&format!(
            "    {protocol}: {{ url: '{place}', protocol: {protocol}, key: {{ env: BEARER }} }}\n"
        ));
        for way in ways {
            let name = if *way == "words" { "text" } else { way };
            offer.push_str(&format!("    {protocol}_{way}: {{ provider: {protocol}, name: {name} }}\n"));
            let keys = match *way {
                "data" => "outputs: { type: object, required: [first] }",
                "misfits" => {
                    "outputs: { type: object, required: [never], properties: { all: { items: { type: integer } } } }"
                }
                "words" => "outputs: { type: object }",
                "cut" => "on_in_doubt: fail",
                _ => "timeout: 1m",
            };
            let repair = if keys.starts_with("outputs") { ", repair: 1" } else { "" };
            steps.push_str(&format!(
                "  - {{ id: {protocol}_{way}, needs: [], model: {{ use: {protocol}_{way}, prompt: 'Say it.'{repair} }}, {keys}, continue_on_error: true }}\n"
            ));
        }
    }
    leaky.stage.write(".envoi/config.yaml", format!("{config}{offer}"));
    leaky.stage.write(
        "flow.yaml",
        format!(
            "flow: models\nsecrets: {{ TOKEN: {{ env: MY_TOKEN }}, KEY: {{ file: key.txt }} }}\nnotify: {{ command: [python3, tell.py] }}\nsteps:\n{steps}"
        ),
    );
    (leaky, provider)
}

#[test]
fn what_a_model_says_of_a_secret_reaches_the_disk_masked() {
    for seed in seeds() {
        let (leaky, _provider) = with_provider(seed, &WAYS);
        let mut flow = leaky.stage.read("flow.yaml");
        flow.push_str(
            "  - id: next\n    needs: [chat_text, chat_data, messages_text, responses_fails]\n    model: { use: chat_text, prompt: 'Before: ${{ steps.chat_text.summary }} \
             ${{ steps.chat_data.data.first }} ${{ steps.messages_text.summary }} ${{ steps.responses_fails.summary }}', system: '${{ steps.chat_data.data.document }}' }\n",
        );
        leaky.stage.write("flow.yaml", flow);
        let done = leaky.command(&["--json", "run", "flow.yaml"]).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        leaky.assert_clean(&[&done]);
        leaky.assert_shown_clean();
    }
}

#[test]
fn what_is_known_of_a_call_whose_process_was_killed_is_masked_by_the_next_engine() {
    for seed in seeds() {
        let (leaky, _provider) = with_provider(seed, &["silent"]);
        let flow = leaky.stage.read("flow.yaml");
        let one =
            flow.lines().filter(|line| !line.contains("id: messages") && !line.contains("id: responses"));
        leaky.stage.write("flow.yaml", one.collect::<Vec<_>>().join("\n"));
        let engine = leaky.command(&["run", "flow.yaml"]);
        wait_until("the call", || leaky.stage.path("silent").exists());
        leaky.kill(engine, "chat_silent.1.1");
        let run = leaky.stage.run_id();
        let asked = leaky.command(&["--json", "resume", &run]).done();
        assert_eq!(asked.code, Some(5), "{asked:?}");
        leaky.assert_clean(&[&asked, &leaky.stage.expect(0, &["show", &run, "--events"])]);
    }
}
