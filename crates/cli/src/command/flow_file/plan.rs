//! `envoi plan`: computes the worst case of a flow before anything runs, and whether it exceeds a maximum.

mod compare;
mod rows;
mod table;

use crate::{
    command::run::selection,
    process::{args::PlanArgs, failure::Failure, output, stderr},
    store::flow_files::{load, read_flow},
};
use envoi_api::PlannedTexts;
use envoi_contract::code::Code;
use envoi_flow::plan::{Dominant, Exceeded, Maxima, Plan, plan, plan_part};
use envoi_kernel::{Refusal, part::Selection};
use std::{collections::BTreeMap, path::Path};

/// A flow file and its worst case.
pub(super) struct Planned {
    /// The path as the arguments give it.
    pub(super) file: String,
    text: String,
    /// The flows that it includes, by their paths relative to its folder.
    parts: BTreeMap<String, String>,
    pub(super) plan: Plan,
}

pub(crate) fn show(args: &PlanArgs, json: bool) -> Result<u8, Failure> {
    let selection = selection(&args.part)?;
    let planned = Planned::read(&args.flow, &selection)?;
    let other = args.compare.as_deref().map(|other| Planned::read(other, &selection)).transpose()?;
    let maxima = Maxima {
        attempts: args.max_attempts,
        llm_calls: args.max_calls,
        time_ms: args.max_time,
        cost: args.max_cost,
    };
    let past = planned.plan.exceeded(&maxima);
    let data = if json {
        output::line(&rows::row(&planned, other.as_ref(), &past))
    } else {
        let compared = other.as_ref().map(|other| compare::shown(&planned, other));
        table::shown(&planned) + &compared.unwrap_or_default()
    };
    output::data(&data)?;
    if past.is_empty() { Ok(0) } else { Err(refused(&planned, &past)) }
}

impl Planned {
    fn read(path: &Path, selection: &Selection) -> Result<Self, Failure> {
        let (file, text) = read_flow(path)?;
        let loaded = load(path, &file, &text)?;
        for warning in envoi_flow::warnings(&loaded.flow) {
            stderr::line(format_args!("{}: warning: {warning}", path.display()));
        }
        let plan = match selection.is_whole() {
            true => plan(&loaded.flow),
            false => {
                let invalid = |refusal: Refusal| Failure::new(Code::PartInvalid, refusal.to_string());
                selection.check(&loaded.flow).map_err(invalid)?;
                plan_part(&loaded.flow, selection)
            }
        };
        Ok(Self {
            file: path.to_string_lossy().into_owned(),
            text,
            parts: loaded.parts.as_ref().clone(),
            plan,
        })
    }

    /// A figure of the file and its location: `` `routing.max_iterations` of `critic` (flow.yaml:21)``.
    pub(super) fn named(&self, dominant: &Dominant) -> String {
        let field = &dominant.field;
        let of = field.step().map_or_else(String::new, |step| format!(" of `{step}`"));
        let place = self.place(dominant).map(|(file, line)| format!(" ({file}:{line})")).unwrap_or_default();
        format!("`{}`{of}{place}", field.key())
    }

    /// The file and line of the dominant figure.
    fn place(&self, dominant: &Dominant) -> Option<(String, usize)> {
        self.texts().place(&self.plan.flow, dominant)
    }

    pub(super) fn texts(&self) -> PlannedTexts<'_> {
        PlannedTexts { file: &self.file, text: &self.text, parts: &self.parts }
    }
}

/// Reports each maximum that a run could exceed, and by how much.
fn refused(planned: &Planned, past: &[Exceeded]) -> Failure {
    let each: Vec<String> = past.iter().map(table::past).collect();
    let message = format!("the worst case of {} is past {}", planned.file, each.join("; "));
    let failure = Failure::new(Code::PlanPastMaximum, message);
    let bounded_time = past.iter().any(|past| matches!(past, Exceeded::Time(_, Some(_))));
    let of_attempts = past.iter().any(|past| matches!(past, Exceeded::Attempts(..)));
    match (&planned.plan.most_attempts, &planned.plan.most_time) {
        (Some(most), _) if of_attempts => {
            failure.hint(format!("{}: one less saves {}", planned.named(most), table::attempts(most.saves)))
        }
        (_, Some(most)) if bounded_time => {
            failure.hint(format!("{}: one less saves {}", planned.named(most), table::duration(most.saves)))
        }
        _ if past.iter().any(|past| matches!(past, Exceeded::Time(_, None))) => {
            failure.hint("a `timeout` at each step that runs a command bounds the time")
        }
        _ => failure.hint("`limits` of the flow bound a run"),
    }
}
