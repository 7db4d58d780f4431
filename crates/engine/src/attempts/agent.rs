//! An attempt that talks to another agent: this program itself, with its order in the attempt's folder.

use super::{
    secrets::{Known, at_hand},
    shared::Shared,
};
use crate::model::runner::Job;
use envoi_agent::{ARGUMENT, ORDER_VARIABLE, Order, SECRET_VARIABLES, TOKEN_VARIABLE, Timeouts};
use envoi_kernel::{
    event::{Call, Command},
    flow::{AGENT_TOKEN_PREFIX, Step, StepKind},
};
use envoi_step::{AttemptDir, plain};
use std::{
    io,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{self, Stdio},
    thread,
};

/// How long the request that cancels an agent's task may take.
const WITHDRAWAL_MS: u64 = 10_000;

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
    let place = dir.path().join("a2a.json");
    let known = Known::of(shared, job);
    plain::write(&place, &serde_json::to_vec(&order(shared, job, dir, call, &known))?)?;
    let token = token(call, variables).map(|value| (TOKEN_VARIABLE.to_owned(), value));
    variables.push((ORDER_VARIABLE.to_owned(), place.to_string_lossy().into_owned()));
    variables.extend(token);
    variables.extend(to_be_masked(known));
    Ok(vec![shared.launcher.exe.to_string_lossy().into_owned(), ARGUMENT.to_owned()])
}

/// The variables that hold what is to be masked.
fn to_be_masked(known: Known) -> impl Iterator<Item = (String, String)> {
    let numbered = known.values.into_iter().enumerate();
    numbered.map(|(number, value)| (format!("{SECRET_VARIABLES}{number}"), value))
}

fn token(call: &Call, secrets: &[(String, String)]) -> Option<String> {
    let token = call.token.as_ref()?;
    secrets.iter().find(|(name, _)| name == token).map(|(_, value)| value.clone())
}

fn order(shared: &Shared, job: &Job, dir: &AttemptDir, call: &Call, known: &Known) -> Order {
    let visit = &job.started.attempt.visit;
    Order {
        key: format!("{}:{visit}", job.run),
        url: call.url.clone(),
        message: call.message.clone(),
        data: call.data.clone(),
        tenant: call.tenant.clone(),
        interface: call.interface.clone(),
        task: call.task,
        turn: call.turn,
        answer: call.answer.as_ref().map(|answer| shared.layout.answer(&job.run, answer).join("answer.json")),
        denied: call.denied,
        resend: call.resend,
        cancel: Some(dir.cancel()),
        ends_at_ms: job.started.timeout_ms.map(ends_at_ms),
        resends: matches!(job.flow.step(&visit.step).map(|step| &step.kind), Some(StepKind::A2a(plan)) if plan.resends),
        record: record(shared, job, call.task),
        report: dir.report(),
        output: dir.output(),
        files: job.flow.step(&visit.step).and_then(|step| folder(job, step)),
        secrets: known.values.len(),
        hides: !known.missing.is_empty(),
        timeouts: Timeouts::within(job.started.timeout_ms),
    }
}

/// The record of the visit's session with its agent. A session that an older build began continues in its old place.
fn record(shared: &Shared, job: &Job, task: u32) -> PathBuf {
    let visit = &job.started.attempt.visit;
    let old = shared.layout.old_agent_record(&job.run, visit, task);
    // In a run of a flow with that name, a file there may be an artifact of the flow.
    let is_a_flow = [&job.flow, &job.pinned].iter().any(|flow| flow.id.as_str() == "a2a");
    if !is_a_flow && old.is_file() { old } else { shared.layout.agent_record(&job.run, visit, task) }
}

/// When an attempt that is started now is over at the latest, but for the time that its start takes.
fn ends_at_ms(timeout_ms: u64) -> i64 {
    crate::model::clock::now().as_millis().saturating_add(i64::try_from(timeout_ms).unwrap_or(i64::MAX))
}

/// Cancels the task of an agent that the run does not wait for any more. The process is on its own, and may outlive this one.
///
/// # Errors
/// It cannot be started.
pub(super) fn withdraw(shared: &Shared, job: &Job) -> io::Result<()> {
    let Command::A2a(call) = &job.started.command else { return Ok(()) };
    let dir = shared.dir(&job.run, &job.started.attempt);
    let place = |name: &str| dir.path().join(name);
    let known = Known::since_start(shared, job, &dir);
    let order = Order {
        denied: true,
        // It is no attempt: it cannot be cancelled, and the step's limits do not hold for it.
        cancel: None,
        ends_at_ms: None,
        report: place("withdrawn.json"),
        output: place("withdrawn.txt"),
        timeouts: Timeouts { request_ms: WITHDRAWAL_MS, ..Timeouts::default() },
        ..order(shared, job, &dir, call, &known)
    };
    plain::write(&place("withdraw.json"), &serde_json::to_vec(&order)?)?;
    // Another secret that is gone is no reason to leave the task alone.
    let secrets: Vec<_> = at_hand(&job.pinned.secrets, &job.caller).collect();
    let mut child = process::Command::new(&shared.launcher.exe)
        .arg(ARGUMENT)
        .env_clear()
        .envs(job.caller.env.iter().map(|(name, value)| (name, value)))
        .env(ORDER_VARIABLE, place("withdraw.json"))
        .envs(token(call, &secrets).map(|value| (TOKEN_VARIABLE, value)))
        .envs(to_be_masked(known))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    thread::Builder::new().name("withdraw".to_owned()).spawn(move || child.wait().ok())?;
    Ok(())
}

/// Tokens of agents are not given to commands.
pub(super) fn hide_tokens(variables: &mut Vec<(String, String)>) {
    variables.retain(|(name, _)| !name.starts_with(AGENT_TOKEN_PREFIX));
}

/// The folder in the workspace for the artifacts of the agent, if the `artifacts` of the step name one.
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
