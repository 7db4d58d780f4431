//! Checks `cache`: it needs snapshots of the files, and may name only variables that commands get.

use crate::{
    parse::draft::Draft,
    syntax::diagnostic::{Diagnostic, Problems, Span},
};
use envoi_kernel::flow::{Flow, Step};

/// Checks the outermost flow and all flows that it names.
pub(crate) fn check(draft: &Draft, flow: &Flow, root: Span, problems: &mut Problems) {
    let place = |step: &Step| {
        let own = draft.steps.iter().find(|own| own.step.as_ref().is_some_and(|own| own.id == step.id));
        own.map_or(root, |own| own.place)
    };
    let own = flow.steps.iter().map(|step| (step, place(step), String::new()));
    let inner = flow
        .flows
        .values()
        .flat_map(|inner| inner.steps.iter().map(|step| (step, root, format!(" of flow `{}`", inner.id))));
    let keeps = flow.keep_files || flow.isolation.is_some();
    for (step, place, of) in own.chain(inner) {
        let Some(plan) = step.cache.as_deref() else { continue };
        if !keeps {
            let message = format!("step `{}`{of} has `cache`, and no files are kept", step.id);
            let help = "a result is known by the files that it was made of: `workspace: { isolate: tree }` gives each run a tree of its own, \
                        `workspace: { keep: true }` keeps the files of the folder";
            problems.add(Diagnostic::invalid(place, message).help(help));
        }
        // A file of variables is read only when a run starts, so any variable may be in it.
        let is_known = |name: &&String| !flow.env_files.is_empty() || flow.passes(name) || is_there(name);
        for name in plan.env.iter().flatten().filter(|name| !is_known(name)) {
            let message =
                format!("step `{}`{of}: `cache` names variable `{name}`, which no command gets", step.id);
            let help = format!(
                "`pass_env: [{name}]` of the flow passes it; `env` of the step is a part of the key anyway"
            );
            problems.add(Diagnostic::invalid(place, message).help(help));
        }
    }
}

/// True for variables that every command gets if they are set.
fn is_there(name: &str) -> bool {
    const NAMES: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];
    NAMES.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
}
