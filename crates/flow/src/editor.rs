//! The JSON Schema of a flow file, for editors.
//!
//! Owns only the text. It is maintained by hand beside the other schemas, and the tests here compare it with the
//! vocabulary.

/// The JSON Schema (draft 2020-12) of the flow language, for completion in editors. It checks less than
/// [`crate::load`]: for example, a schema cannot check that a name exists.
pub const SCHEMA: &str = include_str!("../../../spec/schemas/flow.schema.json");

#[cfg(test)]
mod manual;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{keys, tree, yaml};
    use crate::values::json_schema::Schema;
    use envoi_contract::json::Value;
    use std::{collections::BTreeSet, fs, path::Path};

    fn schema() -> Value {
        Value::parse_str(SCHEMA).unwrap()
    }

    fn config_schema() -> Value {
        Value::parse_str(crate::config::SCHEMA).unwrap()
    }

    pub(super) fn misfits(text: &str) -> Vec<String> {
        misfits_of(&schema(), text)
    }

    fn misfits_of(schema: &Value, text: &str) -> Vec<String> {
        let mut problems = crate::syntax::diagnostic::Problems::default();
        let root = yaml::compose(text, &mut problems).unwrap();
        let found = Schema::new(schema).unwrap().check(&tree::value(&root));
        found.into_iter().map(|misfit| format!("{}: {}", misfit.path.join("."), misfit.reason)).collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read_and_no_others() {
        let schema = schema();
        let config = config_schema();
        let defs = schema.get("$defs").unwrap();
        for shared in ["notify", "webhook", "secret", "duration", "token"] {
            assert_eq!(config.get("$defs").unwrap().get(shared), defs.get(shared), "{shared}");
        }
        for (vocabulary, described) in [
            (&keys::FLOW, &schema),
            (&keys::WORKSPACE, defs.get("workspace").unwrap()),
            (&keys::LIMITS, defs.get("limits").unwrap()),
            (&keys::SECRET, defs.get("secret").unwrap()),
            (&keys::NOTIFY, defs.get("notify").unwrap()),
            (&keys::WEBHOOK, defs.get("webhook").unwrap()),
            (&keys::CONFIG, &config),
            (&keys::OUTPUT, config.get("$defs").unwrap().get("output").unwrap()),
            (&crate::config::retention::RETENTION, config.get("$defs").unwrap().get("retention").unwrap()),
            (&crate::config::trees::TREES, config.get("$defs").unwrap().get("trees").unwrap()),
            (
                &crate::config::retention::OF_TENANT,
                config.get("$defs").unwrap().get("retentionOfTenant").unwrap(),
            ),
            (&keys::STEP, defs.get("step").unwrap()),
            (&keys::ASK, defs.get("ask").unwrap()),
            (&keys::RETRY, defs.get("retry").unwrap()),
            (&keys::WORKSPACE, defs.get("workspace").unwrap()),
            (&keys::A2A, defs.get("a2a").unwrap()),
            (&keys::AGENT, defs.get("agent").unwrap()),
            (&keys::MODEL, defs.get("model").unwrap()),
            (&keys::OTHER_PROGRAM, defs.get("other_program").unwrap()),
            (&keys::ROUTING, defs.get("routing").unwrap()),
            (&keys::IN_DOUBT, defs.get("in_doubt").unwrap()),
            (&keys::BUDGET, defs.get("budget").unwrap()),
            (&keys::UNKNOWN, defs.get("budget").unwrap()),
            (&keys::GOALS, defs.get("goals").unwrap()),
            (&keys::JOIN, defs.get("quorum").unwrap()),
        ] {
            let properties = described.get("properties").and_then(Value::as_object).unwrap();
            let read: BTreeSet<&str> = vocabulary.keys.iter().copied().collect();
            assert_eq!(properties.keys().collect::<BTreeSet<&str>>(), read, "{}", vocabulary.place);
        }
    }

    #[test]
    fn flows_that_load_fit_the_schema() {
        let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut seen = 0;
        for folder in ["tests/flows", "../../examples"] {
            for file in files(&crate_root.join(folder)) {
                let text = fs::read_to_string(&file).unwrap();
                assert_eq!(misfits(&text), Vec::<String>::new(), "{}", file.display());
                let beside = Beside(file.parent().unwrap());
                let loaded = crate::load_with(&file.to_string_lossy(), &text, &beside);
                assert!(loaded.is_ok(), "{}", loaded.unwrap_err().render(crate::Colour::Never));
                seen += 1;
            }
        }
        assert!(seen > 1, "the flows have moved");
    }

    /// The flows in the folder of the flow that names them.
    struct Beside<'f>(&'f Path);

    impl crate::Files for Beside<'_> {
        fn text(&self, path: &str) -> Result<String, crate::FileError> {
            Ok(fs::read_to_string(self.0.join(path))?)
        }
    }

    fn files(folder: &Path) -> Vec<std::path::PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        entries
            .flat_map(|entry| {
                let path = entry.unwrap().path();
                if path.is_dir() { files(&path) } else { vec![path] }
            })
            .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
            .collect()
    }

    #[test]
    fn what_the_schema_refuses_the_loader_refuses() {
        for keys in [
            "timeout: 5",
            "retry: { attempts: 0 }",
            "retry: {}",
            "on_in_doubt: maybe",
            "inputs: { a: 1 }",
            "flow: ./x.yaml",
            "marks: 5",
            "marks: [x, x]",
            "budget: {}",
            "budget: { cost_usd: much }",
            "budget: { agent_hops: 1 }",
            "data: yaml",
            "returns: { a: '${{ run.id }}' }",
            "skill: s\n    outputs: [a]",
            "skill: s\n    outputs: { type: text }",
            "on_in_doubt: verify",
            "on_in_doubt: {}",
            "on_in_doubt: { verify: [] }",
            "envelope: yes",
            "continue_on_error: yes",
            "artifacts: out",
            "cwd: /x",
            "colour: red",
            "shell: ruby",
            "shell: []",
            "routing: { kind: loop }",
            "routing: { success_values: [] }",
            "routing: { status_from_exit: { x: A } }",
            "env: { ENVOI_X: y }",
            "for_each: 5",
            "for_each: inputs.a",
            "for_each: []",
            "max_parallel: 2",
            "for_each: [1]\n    max_parallel: 0",
            "for_each: [1]\n    routing: { kind: microloop, success_values: [OK] }",
            "needs: { a: b }",
            "needs: [b, b]",
            "needs: A",
            "join: any",
            "needs: [b, c]\n    join: first",
            "needs: [b, c]\n    join: { quorum: 0 }",
            "needs: [b]\n    join: any",
        ] {
            both_refuse(&format!("flow: f\nsteps:\n  - id: a\n    run: [x]\n    {keys}\n"));
        }
        for keys in [
            "ask: ''",
            "ask: 5",
            "ask: {}",
            "ask: x\n    run: [x]",
            "ask: x\n    timeout: 5s",
            "ask: x\n    shell: bash",
            "ask: x\n    envelope: false",
            "ask: x\n    continue_on_error: true",
            "ask: x\n    routing: { kind: linear }",
            "ask: x\n    for_each: [1]",
            "ask: x\n    budget: { llm_calls: 1 }",
            "ask: x\n    outputs: {}",
            "ask: x\n    data: json",
            "ask: { message: x, kind: approval }",
            "ask: { message: x, colour: red }",
            "ask: { message: x, schema: { type: string } }",
            "ask: { message: x, schema: { properties: {} } }",
            "ask: { message: x, schema: { type: object, properties: [] } }",
            "ask: { message: x, expires_in: 5 }",
            "ask: { message: x, on_deny: [a] }",
            "ask: { message: x, on_expire: deny }",
            "ask: { message: x, not_by: me }",
            "ask: { message: x, quorum: 0 }",
            "ask: { message: x, quorum: 101 }",
            "ask: { message: x, quorum: 2, kind: clarification }",
            "ask: { message: x, quorum: 2, schema: { type: object } }",
        ] {
            both_refuse(&format!("flow: f\nsteps:\n  - id: a\n    {keys}\n"));
        }
        for keys in [
            "a2a: https://agent.example",
            "a2a: { url: 'https://agent.example' }",
            "a2a: { message: x }",
            "a2a: { url: 'ftp://agent.example', message: x }",
            "a2a: { url: 'https://agent.example', message: x, colour: red }",
            "a2a: { url: 'https://agent.example', message: x, token: T }",
            "a2a: { url: 'https://agent.example', message: x, data: [a] }",
            "a2a: { url: 'https://agent.example', message: x }\n    run: [x]",
            "a2a: { url: 'https://agent.example', message: x }\n    ask: x",
            "a2a: { url: 'https://agent.example', message: x }\n    skill: s",
            "a2a: { url: 'https://agent.example', message: x }\n    inputs: { a: 1 }",
            "a2a: { url: 'https://agent.example', message: x }\n    envelope: true",
            "a2a: { url: 'https://agent.example', message: x }\n    data: json",
        ] {
            both_refuse(&format!("flow: f\nsteps:\n  - id: a\n    {keys}\n"));
        }
        for flow in [
            "flow: answers",
            "flow: f\npass_env: ['*']",
            "flow: f\npass_env: [ENVOI_X]",
            "flow: f\nenv_file: [a]",
            "flow: f\nlimits: { on_reached: stop }",
            "flow: f\ngoals: [a]",
            "flow: f\ngoals: { list: [a], from: a }",
            "flow: f\ngoals: { list: [7], from: a, to: a }",
            "flow: f\ngoals: { list: [a, a], from: a, to: a }",
            "flow: f\ngoals: { list: [a], from: a, to: a, max_rounds: 0 }",
        ] {
            both_refuse(&format!("{flow}\nsteps:\n  - id: a\n    run: [x]\n"));
        }
        both_refuse("flow: f\nsteps:\n  - id: a\n");
    }

    fn both_refuse(text: &str) {
        assert!(!misfits(text).is_empty(), "the schema lets this pass:\n{text}");
        assert!(crate::load("f.yaml", text).is_err(), "the loader lets this pass:\n{text}");
    }

    #[test]
    fn targets_that_load_fit_both_schemas_and_those_that_the_schemas_refuse_do_not_load() {
        let flow = |notify: &str| format!("flow: f\nnotify: {notify}\nsteps:\n  - {{ id: a, run: [x] }}\n");
        let config = |notify: &str| format!("notify: {notify}\n");
        for notify in [
            "{ command: [tell, 7] }",
            "[{ command: tell me }, { webhook: 'https://example.org/hook' }]",
            "{ webhook: { url: 'http://127.0.0.1:8080/', token: { env: T }, timeout: 5s }, on: [end] }",
            "{ command: x, on: [question, expiry, end] }",
            "{ command: x, on: end }",
            "tell me",
            "https://example.org/hook",
        ] {
            assert_eq!(misfits(&flow(notify)), Vec::<String>::new(), "{notify}");
            assert_eq!(misfits_of(&config_schema(), &config(notify)), Vec::<String>::new(), "{notify}");
            assert!(crate::load("f.yaml", &flow(notify)).is_ok(), "{notify}");
            assert!(crate::config::load("c.yaml", &config(notify)).is_ok(), "{notify}");
        }
        for notify in [
            "[]",
            "7",
            "[tell, me]",
            "{ on: [end] }",
            "{ command: x, webhook: 'https://example.org' }",
            "{ command: [] }",
            "{ command: x, on: [] }",
            "{ command: x, on: [start] }",
            "{ command: x, on: start }",
            "{ command: x, on: [end, end] }",
            "{ webhook: 'ftp://example.org' }",
            "{ webhook: { token: { env: T } } }",
            "{ webhook: { url: 'https://example.org', token: T } }",
            "{ webhook: { url: 'https://example.org', retries: 3 } }",
        ] {
            assert!(!misfits(&flow(notify)).is_empty(), "the schema lets `{notify}` pass");
            assert!(
                !misfits_of(&config_schema(), &config(notify)).is_empty(),
                "the other lets `{notify}` pass"
            );
            assert!(crate::load("f.yaml", &flow(notify)).is_err(), "the loader lets `{notify}` pass");
            assert!(
                crate::config::load("c.yaml", &config(notify)).is_err(),
                "the other lets `{notify}` pass"
            );
        }
    }
}
