//! The source of a secret: a variable or a file.
//!
//! Owns the mapping for it, in `secrets` and in the token of a webhook. Reads no secret itself.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    keys, names,
    read::{self, Fields, refuse},
    yaml::Node,
};
use envoi_kernel::flow::SecretSource;

/// Reads the source at `node`. `named` is its name in messages, `place` its location, and `example` the name of a
/// variable.
pub(crate) fn source(
    node: &Node,
    named: &str,
    example: &str,
    place: Span,
    problems: &mut Problems,
) -> Option<SecretSource> {
    let fields = Fields::of(node, &keys::SECRET, problems)?;
    match (fields.get("env"), fields.get("file")) {
        (Some(variable), None) => {
            let text = read::text(variable, "`env`", problems)?;
            if names::is_variable(text) {
                return Some(SecretSource::Env(text.to_owned()));
            }
            let message = format!("`{text}` cannot name a variable");
            refuse(problems, Diagnostic::invalid(variable.span, message).expecting(names::VARIABLE))
        }
        (None, Some(file)) => Some(SecretSource::File(read::text(file, "`file`", problems)?.to_owned())),
        (Some(_), Some(_)) => {
            let message = format!("{named} has two sources");
            refuse(problems, Diagnostic::invalid(place, message).help("keep one of `env` and `file`"))
        }
        // An unknown key was already reported, and was probably meant as a source.
        (None, None) if fields.keys().next().is_some() => None,
        (None, None) => {
            let message = format!("{named} has no source");
            let help = format!("write `{{ env: {example} }}` or `{{ file: path }}`");
            refuse(problems, Diagnostic::invalid(place, message).help(help))
        }
    }
}
