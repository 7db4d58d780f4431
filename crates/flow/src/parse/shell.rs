//! `shell` of a flow or a step: the interpreter of a command that is a string.
//!
//! Owns its words and their meanings. A string stops at its first command that fails. In version 1 of the language
//! `sh -c` runs it, which does not stop; runs that are pinned to such a flow keep this.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    path,
    read::{self, Fields, refuse},
    suggestion::did_you_mean,
    yaml::{Kind, Node},
};
use envoi_kernel::{
    event::Command,
    flow::{CommandPlan, ScriptPlan, ScriptValues, Template},
};

/// The words, each with its program and options.
const WORDS: &[(&str, &[&str])] = &[
    ("sh", &["sh", "-e", "-c"]),
    ("bash", &["bash", "-eo", "pipefail", "-c"]),
    ("python", &["python3", "-c"]),
];

/// Programs whose scripts read variables with the syntax of a shell.
pub(crate) const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    Shell,
    Python,
    /// A language in which Envoi does not know the syntax of variables.
    Other,
}

/// The interpreter of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shell {
    /// `sh -c`, as in version 1.
    Unchecked,
    /// A program with its options. The script is its last argument.
    Program(Vec<String>),
}

impl Default for Shell {
    fn default() -> Self {
        Self::Program(["sh", "-e", "-c"].map(str::to_owned).to_vec())
    }
}

impl Shell {
    /// The default interpreter in this version of the language.
    pub(crate) fn of_language(language: u32) -> Self {
        if language < 2 { Self::Unchecked } else { Self::default() }
    }

    pub(crate) fn plan(&self, script: &str) -> CommandPlan {
        let script = Template(script.to_owned());
        match self {
            Self::Unchecked => CommandPlan::Shell(script),
            Self::Program(interpreter) => {
                let values = values_of(interpreter);
                let interpreter = interpreter.clone();
                CommandPlan::Script(ScriptPlan { interpreter, values, script })
            }
        }
    }

    /// The command for a string without expressions.
    pub(crate) fn command(&self, script: &str) -> Command {
        match self {
            Self::Unchecked => Command::Shell(script.to_owned()),
            Self::Program(interpreter) => {
                Command::Exec(interpreter.iter().cloned().chain([script.to_owned()]).collect())
            }
        }
    }

    /// How expressions in its scripts are checked.
    pub(crate) fn script_kind(&self) -> ScriptKind {
        match self {
            Self::Unchecked => ScriptKind::Shell,
            Self::Program(interpreter) => match values_of(interpreter) {
                Some(ScriptValues::Shell) => ScriptKind::Shell,
                Some(ScriptValues::Python) => ScriptKind::Python,
                None => ScriptKind::Other,
            },
        }
    }
}

/// The name of a program without its folder.
pub(crate) fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn values_of(interpreter: &[String]) -> Option<ScriptValues> {
    let name = program_name(interpreter.first()?);
    let version = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match name.strip_prefix("python") {
        Some(rest) if version(rest) => Some(ScriptValues::Python),
        _ => SHELLS.contains(&name).then_some(ScriptValues::Shell),
    }
}

/// Reads the value of a `shell`.
pub(crate) fn read(node: &Node, problems: &mut Problems) -> Option<Shell> {
    if let Kind::Sequence(items) = &node.kind {
        let mut words = Vec::new();
        for item in items {
            let text = read::token(item, "a word of `shell`", problems)?;
            words.push(path::without_expression(item.span, text, "`shell`", problems)?.to_owned());
        }
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            return refuse(problems, Diagnostic::invalid(node.span, "`shell` names no program"));
        }
        return Some(Shell::Program(words));
    }
    let names = || WORDS.iter().map(|(word, _)| *word);
    let expected = "`sh`, `bash`, `python`, or a list such as `[bash, -e, -c]`";
    let Some(word) = read::as_text(node) else {
        return refuse(problems, read::mismatch(node, "`shell`", expected));
    };
    match WORDS.iter().find(|(known, _)| *known == word) {
        Some((_, program)) => Some(Shell::Program(program.iter().map(|word| (*word).to_owned()).collect())),
        None => {
            let help = did_you_mean(word, names())
                .unwrap_or_else(|| "another program is a list, to which the script is added".to_owned());
            refuse(problems, read::mismatch(node, "`shell`", expected).help(help))
        }
    }
}

/// The `shell` of a step. It has an effect only if the step has a string to run.
pub(crate) fn of_step(fields: &Fields<'_>, problems: &mut Problems) -> Option<Shell> {
    let (key, node) = fields.pair("shell")?;
    if fields.get("ask").is_some() || fields.get("flow").is_some() {
        // It is reported together with the other keys of commands.
        return None;
    }
    let is_string = |node: &Node| !matches!(node.kind, Kind::Sequence(_) | Kind::Mapping(_));
    let verifies = fields.get("on_in_doubt").is_some_and(|node| match &node.kind {
        Kind::Mapping(members) => members.iter().any(|(key, node)| key.text == "verify" && is_string(node)),
        Kind::Sequence(_) | Kind::Scalar(_) => false,
    });
    if !verifies && !fields.get("run").is_some_and(is_string) {
        let message = "`shell` does nothing here: this step has no command that is a string";
        let help = if fields.get("agent").is_some() {
            "an agent program is started without a shell; beside it, `shell` is for a `verify` that is a string"
        } else if fields.get("a2a").is_some() {
            "a step that talks to an agent runs no command; beside it, `shell` is for a `verify` that is a string"
        } else {
            "a list is a program with its arguments, and no shell reads it"
        };
        return refuse(problems, Diagnostic::invalid(key.span, message).help(help));
    }
    read(node, problems)
}
