//! The scripts of a flow, for a program that can parse them.
//!
//! Owns which scripts those are. No script is parsed here: only its own program knows its language.

use crate::check::warnings::commands;
use envoi_kernel::{
    expression::{Segment, segments},
    flow::{CommandPlan, Flow, ScriptPlan, ScriptValues},
};

/// A script that a shell or Python runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedScript {
    /// Its place, in words: "step `build`".
    pub place: String,
    /// The program that runs it, and its options. The script follows as the last argument.
    pub interpreter: Vec<String>,
    /// The script as the program gets it: a variable stands for each expression.
    pub script: String,
    /// The language of the script.
    pub values: ScriptValues,
}

/// The scripts of the steps of the flow and of those that it names, in their order. Scripts of a shell that surely parse are left out, so
/// that most flows need no program to be checked.
#[must_use]
pub fn scripts(flow: &Flow) -> Vec<NamedScript> {
    let parts = flow.flows.values().map(|part| (&**part, format!(" of flow `{}`", part.id)));
    let mut found = Vec::new();
    for (part, of) in core::iter::once((flow, String::new())).chain(parts) {
        for step in &part.steps {
            for plan in commands(step) {
                let CommandPlan::Script(ScriptPlan { interpreter, values: Some(values), script }) = plan
                else {
                    continue;
                };
                if *values == ScriptValues::Shell && is_simple(&script.0) {
                    continue;
                }
                let written = segments(&script.0).into_iter().map(|segment| match segment {
                    Segment::Text(text) | Segment::Unclosed(text) => text.to_owned(),
                    Segment::Expression(_) => values.reference("VALUE"),
                });
                found.push(NamedScript {
                    place: format!("step `{}`{of}", step.id),
                    interpreter: interpreter.clone(),
                    script: written.collect(),
                    values: *values,
                });
            }
        }
    }
    found
}

/// Whether a script has only words, one or several commands of them: nothing that is opened and may not be closed.
fn is_simple(script: &str) -> bool {
    const OPENS: [&str; 12] =
        ["if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function"];
    let plain = |letter: char| letter.is_alphanumeric() || " \t\n._-+/=:,@%$".contains(letter);
    let words = || script.split([' ', '\t', '\n']);
    script.chars().all(plain) && !words().any(|word| OPENS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_script_that_can_be_wrong_is_given_with_a_variable_for_each_expression() {
        let flow = "flow: f\ninputs: { x: { type: string } }\nsteps:\n  - { id: a, run: make all }\n  \
                    - { id: b, run: 'if x; then y' }\n  - { id: c, run: \"echo '1\" }\n  \
                    - { id: d, run: 'echo \"${{ inputs.x }}\"' }\n  - { id: e, run: [\"echo '\"] }\n  \
                    - { id: g, shell: python, run: 'print(${{ inputs.x }})' }\n";
        let loaded = crate::load_as(2, "f.yaml", flow, &BTreeMap::new()).unwrap();
        let found = scripts(&loaded.flow);
        let shown: Vec<_> = found.iter().map(|named| (named.place.as_str(), named.script.as_str())).collect();
        let python = ScriptValues::Python.reference("VALUE");
        assert_eq!(
            shown,
            [
                ("step `b`", "if x; then y"),
                ("step `c`", "echo '1"),
                ("step `d`", "echo \"${VALUE}\""),
                ("step `g`", format!("print({python})").as_str()),
            ]
        );
    }
}
