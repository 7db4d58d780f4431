//! What is not wrong in a flow, and yet probably not what its author means.
//!
//! Owns the sentences. A flow with warnings runs; mistakes are found while it is read.

use envoi_contract::skill_report::{self, OutputOption};
use envoi_kernel::flow::{CommandPlan, Flow, InDoubtPolicy, Step, StepKind};

/// Everything that `envoi check` warns of, in the order of the steps, of the flow and of those that it names.
#[must_use]
pub fn warnings(flow: &Flow) -> Vec<String> {
    let own = flow.steps.iter().flat_map(|step| of_step(step, ""));
    let inner = flow.flows.values().flat_map(|part| {
        let place = format!(" of flow `{}`", part.id);
        part.steps.iter().flat_map(|step| of_step(step, &place)).collect::<Vec<_>>()
    });
    own.chain(inner).collect()
}

fn of_step(step: &Step, place: &str) -> Vec<String> {
    let own = match &step.kind {
        StepKind::Run(plan) => Some(plan),
        StepKind::Ask(_) | StepKind::Flow(_) | StepKind::A2a(_) => None,
    };
    let verify = match &step.on_in_doubt {
        InDoubtPolicy::Verify(plan) => Some(plan),
        InDoubtPolicy::Ask | InDoubtPolicy::Rerun | InDoubtPolicy::Fail => None,
    };
    let ignored = own.into_iter().chain(verify).flat_map(|plan| {
        let OutputOption { path, ignored } = output_option(plan);
        ignored.into_iter().map(move |value| (value, path.clone()))
    });
    let warn = |(value, path): (String, Option<String>)| {
        let why = match path {
            Some(path) => format!("of several only the last one is, `{path}`"),
            None => "only the shell knows that path; write it as it is, or let the command write to \
                     `$ENVOI_REPORT`"
                .to_owned(),
        };
        format!("step `{}`{place}: `--output {value}` is not looked at for a report: {why}", step.id)
    };
    ignored.map(warn).collect()
}

fn output_option(plan: &CommandPlan) -> OutputOption {
    match plan {
        CommandPlan::Shell(script) => skill_report::of_script(&script.0),
        CommandPlan::Exec(argv) => {
            let argv: Vec<String> = argv.iter().map(|argument| argument.0.clone()).collect();
            skill_report::of_list(&argv)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::warnings;

    #[test]
    fn an_output_that_is_not_looked_at_is_warned_of() {
        for (run, warned) in [
            ("w --output out/report.json", None),
            ("w --output \"$ENVOI_REPORT\"", None),
            ("[w, --output, '${{ inputs.to }}']", None),
            (
                "w --output \"$OUT\"",
                Some("`--output $OUT` is not looked at for a report: only the shell knows"),
            ),
            ("w --output \"${{ inputs.to }}\"", Some("`--output ${{ inputs.to }}` is not looked at")),
            ("[sh, -c, 'w --output \"$1\"', sh, x]", Some("`--output $1` is not looked at")),
            (
                "[w, --output, a, --output, b]",
                Some("`--output a` is not looked at for a report: of several only"),
            ),
        ] {
            let text = format!(
                "flow: f\ninputs: {{ to: {{ type: string }} }}\nsteps:\n  - id: a\n    run: {}\n",
                if run.starts_with('[') { run.to_owned() } else { format!("'{run}'") }
            );
            let flow = crate::load("f.yaml", &text).unwrap_or_else(|report| panic!("{report}")).flow;
            let found = warnings(&flow);
            assert_eq!(found.len(), usize::from(warned.is_some()), "{run}: {found:?}");
            assert!(found.concat().contains(warned.unwrap_or_default()), "{run}: {found:?}");
        }
    }
}
