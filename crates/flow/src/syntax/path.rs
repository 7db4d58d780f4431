//! Paths in a flow file: the workspace, the folder of a step, globs of artifacts.
//!
//! Owns the valid forms. It never accesses a disk.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Span},
    read::{self, Spanned, refuse},
    yaml::Node,
};
use envoi_kernel::path::outside;
use globset::GlobBuilder;

/// The folder in which commands run, relative to the flow file. It may begin with `..`.
pub(crate) fn workspace(node: &Node, problems: &mut Problems) -> Option<String> {
    let text = fixed(node, "`workspace`", problems)?;
    if text.starts_with('/') {
        let message = "`workspace` is relative to the flow file";
        return refuse(problems, Diagnostic::invalid(node.span, message).expecting("a relative path"));
    }
    Some(text.to_owned())
}

/// A string without expressions.
pub(crate) fn fixed<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<&'n str> {
    let text = read::text(node, name, problems)?;
    without_expression(node.span, text, name, problems)
}

pub(crate) fn without_expression<'t>(
    span: Span,
    text: &'t str,
    name: &str,
    problems: &mut Problems,
) -> Option<&'t str> {
    if text.contains("${{") {
        let message = format!("{name} takes no expression");
        let help = "expressions are filled in in `run`, `env`, `cwd` and `if`";
        return refuse(problems, Diagnostic::invalid(span, message).help(help));
    }
    Some(text)
}

/// A folder inside the workspace; expressions are allowed.
pub(crate) fn inside<'n>(node: &'n Node, name: &str, problems: &mut Problems) -> Option<&'n str> {
    let text = read::text(node, name, problems)?;
    match outside(text) {
        None => Some(text),
        Some(why) => refuse(problems, Diagnostic::invalid(node.span, format!("{name} {why}"))),
    }
}

/// The globs of `artifacts`.
pub(crate) fn artifacts(node: &Node, problems: &mut Problems) -> Vec<String> {
    globs(node, "`artifacts`", problems)
}

/// Globs of files of the workspace.
pub(crate) fn globs(node: &Node, name: &str, problems: &mut Problems) -> Vec<String> {
    read::texts(node, name, problems)
        .into_iter()
        .filter_map(|Spanned { value, span }| {
            without_expression(span, &value, name, problems)?;
            let what =
                if name == "`artifacts`" { "an artifact".to_owned() } else { format!("a file of {name}") };
            match bad_glob(span, &value, &what) {
                None => Some(value),
                Some(diagnostic) => refuse(problems, diagnostic),
            }
        })
        .collect()
}

/// The mistake in a glob, if there is one.
fn bad_glob(span: Span, glob: &str, what: &str) -> Option<Diagnostic> {
    let refused = |message: String| Some(Diagnostic::invalid(span, message));
    if let Some(why) = outside(glob) {
        return refused(format!("{what} {why}"));
    }
    if glob.contains('\\') {
        let message = "a path of artifacts has no backslash";
        return Some(Diagnostic::invalid(span, message).help("folders are separated by `/`"));
    }
    if glob.split('/').any(|segment| segment.is_empty() || segment == ".") {
        let kept: Vec<&str> = glob.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let help = (!kept.is_empty()).then(|| format!("write `{}`", kept.join("/")));
        let message = format!("`{glob}` has an empty or `.` segment, which matches no file");
        return refused(message).map(|diagnostic| diagnostic.maybe_help(help));
    }
    let first = glob.split_once('/').map_or(glob, |(first, _)| first);
    if matches!(first, "handoff" | ".envoi" | ".git") {
        return refused(format!("files under `{first}/` cannot be handed over"));
    }
    match GlobBuilder::new(glob).literal_separator(true).build() {
        Ok(_) => None,
        Err(error) => refused(format!("`{glob}` is not a glob: {}", error.kind())),
    }
}
