//! An attempt that runs an agent program: this program itself, with its order in the attempt's folder.

use super::{order::place_of_feedback, secrets::Known, shared::Shared};
use crate::model::runner::Job;
use envoi_kernel::event::ProgramCall;
use envoi_preset::Preset;
use envoi_program::{ARGUMENT, Before, ORDER_VARIABLE, Order, SECRET_VARIABLES};
use envoi_step::{AttemptDir, plain};
use std::{io, path::PathBuf};

/// The command, after its order has been written, and the variables that it needs.
///
/// # Errors
/// The order cannot be written.
pub(super) fn command(
    shared: &Shared,
    job: &Job,
    dir: &AttemptDir,
    call: &ProgramCall,
    variables: &mut Vec<(String, String)>,
) -> io::Result<Vec<String>> {
    let place = dir.path().join("agent.json");
    let known = Known::of(shared, job);
    plain::write(&place, &serde_json::to_vec(&order(job, dir, call, &known))?)?;
    // The flow's own variables come later, and win.
    let preset = Preset::named(&call.program).map(Preset::variables).unwrap_or_default();
    variables.splice(0..0, preset.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    variables.push((ORDER_VARIABLE.to_owned(), place.to_string_lossy().into_owned()));
    let numbered = known.values.into_iter().enumerate();
    variables.extend(numbered.map(|(number, value)| (format!("{SECRET_VARIABLES}{number}"), value)));
    Ok(vec![shared.launcher.exe.to_string_lossy().into_owned(), ARGUMENT.to_owned()])
}

fn order(job: &Job, dir: &AttemptDir, call: &ProgramCall, known: &Known) -> Order {
    let started = &job.started;
    let step = job.flow.step(&started.attempt.visit.step);
    // What its own failed try wrote is in its session; the error is in `failure`.
    let own = started.feedback.as_ref().is_some_and(|attempt| attempt.visit == started.attempt.visit);
    let has_feedback = started.sent_back_by.is_some() || (started.feedback.is_some() && !own);
    Order {
        preset: call.program.clone(),
        program: PathBuf::from(&call.program),
        prompt: call.prompt.clone(),
        may: call.may.clone(),
        model: call.model.clone(),
        turns: call.turns,
        args: call.args.clone(),
        schema: step.and_then(|step| step.outputs.clone()),
        session: call.session.clone(),
        resumes: call.resumes,
        before: Before {
            tokens_in: call.before.tokens_in,
            tokens_out: call.before.tokens_out,
            nano_usd: call.before.cost.map(envoi_kernel::ledger::Cost::nano_usd),
        },
        feedback: has_feedback.then(|| place_of_feedback(dir)),
        failure: call.failure.clone(),
        cut_off: call.cut_off,
        folder: dir.path().to_owned(),
        report: dir.report(),
        output: dir.output(),
        secrets: known.values.len(),
        hides: !known.missing.is_empty(),
    }
}
