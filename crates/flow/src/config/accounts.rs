//! `accounts:` of the configuration: the logins and programs of steps with `agent`.
//!
//! Owns its keys and their values. Contains no secret, only the place from which to read one. A flow names an
//! account, and is read without the configuration. Whether the account exists is checked when the step runs.

use crate::{
    parse::secret,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys::Vocabulary,
        names,
        read::{self, Fields, refuse},
        yaml::{Key, Kind, Node},
    },
};
use envoi_kernel::{flow::Secret, ids::is_key};
use envoi_preset::{May, Preset};
use std::collections::BTreeMap;

pub(crate) const ACCOUNT: Vocabulary = Vocabulary {
    place: "an account of `accounts`",
    keys: &["use", "program", "model", "may", "args", "env", "secrets"],
    later: &[],
};

/// A login of an agent program, and how the program is started with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The agent program.
    pub preset: Preset,
    /// The program to start: a name to find in `PATH`, or an absolute path. `None` means the name of the preset.
    pub program: Option<String>,
    /// The default model of its steps.
    pub model: Option<String>,
    /// The highest permission level for its steps. `None` means the level of the step.
    pub may: Option<May>,
    /// Arguments before those of a step.
    pub args: Vec<String>,
    /// Variables of the program, in the order of the file.
    pub env: Vec<(String, String)>,
    /// Variables of the program that are secrets. Each is read when the engine starts, and is masked in everything
    /// that is stored.
    pub secrets: Vec<Secret>,
}

pub(crate) fn read(node: &Node, problems: &mut Problems) -> BTreeMap<String, Account> {
    let mut all = BTreeMap::new();
    for (name, node) in read::entries(node, "`accounts`", problems) {
        if !is_key(&name.text) {
            problems.add(names::bad_id(name.span, &name.text, names::ID));
        } else if let Some(account) = account(node, name, problems) {
            all.insert(name.text.clone(), account);
        }
    }
    all
}

fn account(node: &Node, name: &Key, problems: &mut Problems) -> Option<Account> {
    let fields = Fields::of(node, &ACCOUNT, problems)?;
    let words = Preset::ALL.map(|preset| (preset.name(), preset));
    let preset = match fields.get("use") {
        Some(node) => read::choice(node, "`use`", &words, problems),
        None if fields.misspelt("use", &ACCOUNT) => None,
        None => {
            let message = format!("account `{}` does not say for which program it is", name.text);
            refuse(problems, Diagnostic::invalid(name.span, message).help("add `use: claude`"))
        }
    };
    let program = fields.get("program").and_then(|node| {
        let text = read::text(node, "`program`", problems)?;
        if text.contains('/') && !text.starts_with('/') {
            let message = format!("`{text}` is a relative path");
            let help = "write an absolute path, or a name that is looked for in `PATH`";
            return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
        }
        Some(text.to_owned())
    });
    let model = fields.get("model").and_then(|node| read::token(node, "`model`", problems));
    let words = May::ALL.map(|may| (may.word(), may));
    let may = fields.get("may").and_then(|node| read::choice(node, "`may`", &words, problems));
    let args = match fields.get("args") {
        None => Vec::new(),
        Some(Node { kind: Kind::Sequence(items), .. }) => items
            .iter()
            .filter_map(|item| read::token(item, "an argument of `args`", problems).map(str::to_owned))
            .collect(),
        Some(node) => {
            problems.add(read::mismatch(node, "`args`", "a list of strings"));
            Vec::new()
        }
    };
    let mut env: Vec<(String, String)> = Vec::new();
    for (key, node) in entries(&fields, "env", problems) {
        let named = names::variable(key, "a variable", problems);
        let text = read::token(node, &format!("`{}`", key.text), problems);
        if let (Some(named), Some(text)) = (named, text) {
            env.push((named, text.to_owned()));
        }
    }
    let mut secrets = Vec::new();
    for (key, node) in entries(&fields, "secrets", problems) {
        let named = names::variable(key, "a secret", problems);
        let what = format!("secret `{}`", key.text);
        let source = secret::source(node, &what, &key.text, key.span, problems);
        if env.iter().any(|(known, _)| *known == key.text) {
            let message = format!("`{}` is a secret and a variable of `env`", key.text);
            problems.add(Diagnostic::invalid(key.span, message).help("remove one of them"));
        } else if let (Some(name), Some(source)) = (named, source) {
            secrets.push(Secret { name, source });
        }
    }
    Some(Account { preset: preset?, program, model: model.map(str::to_owned), may, args, env, secrets })
}

/// The members of the mapping under `key`.
fn entries<'n>(fields: &Fields<'n>, key: &str, problems: &mut Problems) -> &'n [(Key, Node)] {
    let node = fields.get(key);
    node.map(|node| read::entries(node, &format!("`{key}`"), problems)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use envoi_contract::json::Value;
    use envoi_kernel::flow::SecretSource;

    #[test]
    fn an_account_has_a_program_variables_and_secrets() {
        let text = "accounts:\n  work:\n    use: claude\n    program: /opt/claude\n    env: { CLAUDE_CONFIG_DIR: /logins/work, N: 1 }\n    \
                    secrets: { ANTHROPIC_API_KEY: { env: WORK_KEY } }\n  spare: { use: codex, program: codex-next, model: small, may: read, args: [-c, 7] }\n";
        let accounts = config::load("config.yaml", text).unwrap().accounts;
        let work = &accounts["work"];
        assert_eq!((work.preset, work.program.as_deref()), (Preset::Claude, Some("/opt/claude")));
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(work.env, [of("CLAUDE_CONFIG_DIR", "/logins/work"), of("N", "1")]);
        let source = SecretSource::Env("WORK_KEY".to_owned());
        assert_eq!(work.secrets, [Secret { name: "ANTHROPIC_API_KEY".to_owned(), source }]);
        let spare = &accounts["spare"];
        assert_eq!((spare.preset, spare.program.as_deref()), (Preset::Codex, Some("codex-next")));
        assert_eq!((work.model.as_deref(), work.may, work.args.len()), (None, None, 0));
        assert_eq!((spare.model.as_deref(), spare.may), (Some("small"), Some(May::Read)));
        assert_eq!(spare.args, ["-c", "7"]);
        assert!(config::load("config.yaml", "").unwrap().accounts.is_empty());
    }

    #[test]
    fn each_mistake_is_named_once() {
        for (account, expected) in [
            ("Work: { use: claude }", "is not an id"),
            ("work: {}", "does not say for which program"),
            ("work: { use: vim }", "`vim`"),
            ("work: { uses: claude }", "did you mean `use`"),
            ("work: { use: claude, program: bin/claude }", "relative path"),
            ("work: { use: claude, may: all }", "`may`"),
            ("work: { use: claude, args: --verbose }", "a list of strings"),
            ("work: { use: claude, model: [opus] }", "`model`"),
            ("work: { use: claude, env: { ENVOI_X: y } }", "are set by Envoi"),
            ("work: { use: claude, env: { 1A: y } }", "cannot name"),
            ("work: { use: claude, secrets: { KEY: x } }", "secret"),
            ("work: { use: claude, secrets: { KEY: {} } }", "no source"),
            (
                "work: { use: claude, env: { KEY: x }, secrets: { KEY: { env: Y } } }",
                "a secret and a variable",
            ),
        ] {
            let report = config::load("config.yaml", &format!("accounts:\n  {account}\n")).unwrap_err();
            let text = report.render(crate::Colour::Never);
            assert!(text.contains(expected), "{account}: {text}");
            assert_eq!(report.diagnostics.len(), 1, "{account}: {text}");
        }
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read_and_no_others() {
        let schema = Value::parse_str(config::SCHEMA).unwrap();
        let account = schema.get("$defs").and_then(|defs| defs.get("account")).unwrap();
        let properties = account.get("properties").and_then(Value::as_object).unwrap();
        assert!(properties.keys().eq(ACCOUNT.keys.iter().copied()));
        assert!(properties.values().all(|property| property.get("description").is_some()));
    }
}
