//! An attempt that talks to another agent: this program itself, with its order in the attempt's folder.

use super::Shared;
use crate::runner::Job;
use envoi_agent::{ARGUMENT, ORDER_VARIABLE, Order, TOKEN_VARIABLE, Waits};
use envoi_kernel::{
    event::Call,
    flow::{AGENT_TOKEN_PREFIX, Step},
};
use envoi_step::AttemptDir;
use std::{fs, io, path::PathBuf};

/// The command, after its order has been written, and the variables that it needs.
///
/// # Errors
/// The order cannot be written.
pub(super) fn command(
    shared: &Shared,
    job: &Job,
    dir: &AttemptDir,
    call: &Call,
    variables: &mut Vec<(String, String)>,
) -> io::Result<Vec<String>> {
    let visit = &job.started.attempt.visit;
    let order = Order {
        key: format!("{}:{visit}", job.run),
        url: call.url.clone(),
        message: call.message.clone(),
        data: call.data.clone(),
        tenant: call.tenant.clone(),
        task: call.task,
        turn: call.turn,
        answer: call.answer.as_ref().map(|answer| shared.layout.answer(&job.run, answer).join("answer.json")),
        denied: call.denied,
        resend: call.resend,
        record: job.run_base.join("a2a").join(format!("{visit}.{}.json", call.task)),
        report: dir.report(),
        output: dir.output(),
        files: job.flow.step(&visit.step).and_then(|step| folder(job, step)),
        waits: Waits::default(),
    };
    let place = dir.path().join("a2a.json");
    fs::write(&place, serde_json::to_vec(&order)?)?;
    let token = call.token.as_ref().and_then(|name| variables.iter().find(|(known, _)| known == name));
    let token = token.map(|(_, value)| (TOKEN_VARIABLE.to_owned(), value.clone()));
    variables.push((ORDER_VARIABLE.to_owned(), place.to_string_lossy().into_owned()));
    variables.extend(token);
    Ok(vec![shared.launcher.exe.to_string_lossy().into_owned(), ARGUMENT.to_owned()])
}

/// Tokens of agents are for nobody else.
pub(super) fn hide_tokens(variables: &mut Vec<(String, String)>) {
    variables.retain(|(name, _)| !name.starts_with(AGENT_TOKEN_PREFIX));
}

/// Where what the agent hands over goes: a folder of the step's in the workspace, if its `artifacts` name that.
fn folder(job: &Job, step: &Step) -> Option<PathBuf> {
    let own = format!("a2a/{}/", step.id);
    if !step.artifacts.iter().any(|pattern| pattern.starts_with(&own)) {
        return None;
    }
    let folder = job.workspace.join("a2a").join(step.id.as_str());
    Some(match job.started.attempt.visit.item() {
        Some(item) => folder.join(item.to_string()),
        None => folder,
    })
}
