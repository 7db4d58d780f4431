//! Shared functions: flows that must load, and mistakes with their locations.

use envoi_flow::{Colour, Loaded, Report, load, load_with};
use envoi_kernel::{
    flow::{Flow, Step},
    ids::StepId,
};
use std::collections::BTreeMap;

/// A mistake: the text of the flow, its line, the text at its location, and a part of its message.
pub(crate) type Row = (String, usize, &'static str, &'static str);

#[expect(clippy::panic, reason = "a flow of these tests that does not load is a failed test")]
pub(crate) fn loaded(text: &str) -> Flow {
    load("f.yaml", text).unwrap_or_else(|report| panic!("{text}\n{}", report.render(Colour::Never))).flow
}

/// Files by their paths.
pub(crate) fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Loads the flow `text`, with the other files.
#[expect(clippy::panic, reason = "a flow of these tests that does not load is a failed test")]
pub(crate) fn loaded_with(text: &str, others: &[(&str, &str)]) -> Loaded {
    load_with("in/flow.yaml", text, &files(others))
        .unwrap_or_else(|report| panic!("{}", report.render(Colour::Never)))
}

/// A flow with these steps, one per line, from line 3.
pub(crate) fn steps(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  - {{ {line} }}\n")).collect();
    format!("flow: f\nsteps:\n{lines}")
}

#[expect(clippy::unwrap_used, reason = "a step of these tests that is missing is a failed test")]
pub(crate) fn step<'f>(flow: &'f Flow, id: &str) -> &'f Step {
    flow.step(&StepId::new(id).unwrap()).unwrap()
}

/// The line of each mistake, the text from its location on, and its message.
pub(crate) fn told(report: &Report) -> Vec<(usize, String, String)> {
    let row = |diagnostic: &envoi_flow::Diagnostic| {
        let help = diagnostic.help.clone().unwrap_or_default();
        let expected = diagnostic.expected.clone().unwrap_or_default();
        let at = report.text.get(diagnostic.span.start..).unwrap_or_default();
        let at = at.lines().next().unwrap_or_default().to_owned();
        let words = format!("{} | {expected} | {help}", diagnostic.message);
        assert_eq!(diagnostic.code.as_str(), "FLOW_INVALID", "{words}");
        (report.place(diagnostic).line, at, words)
    };
    report.diagnostics.iter().map(row).collect()
}

/// Checks that every row gives exactly one diagnostic, with its location and message.
pub(crate) fn each_is_told(rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for (text, line, at, words) in rows {
        match load("f.yaml", &text) {
            Ok(_) => wrong.push(format!("LOADS: {text}")),
            Err(report) => {
                let told = told(&report);
                let fits = matches!(told.as_slice(), [(l, a, m)]
                    if *l == line && a.starts_with(at) && m.contains(words));
                if !fits {
                    wrong.push(format!("{text}\n wanted {line}: {at}: {words}\n found {told:#?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
