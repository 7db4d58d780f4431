//! What an attempt's command is given: its environment, its folder, and files to read.

use super::{
    agent, cached, failed_command, feedback, item_trees, merge, model, program,
    secrets::{of_attempt, secrets},
    shared::Shared,
};
use crate::{model::runner::Job, query::snapshots};
use envoi_contract::json::Value;
use envoi_journal::{FileError, files, with_causes};
use envoi_kernel::{
    event::Command,
    flow::{NoArtifacts, Step},
    ids::{InterruptId, VisitId},
};
use envoi_step::{AttemptDir, Spec, plain};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// No document of the contracts is larger (CONTRACTS §0).
const LARGEST_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// Why there is no order for a supervisor.
pub(super) enum OrderError {
    /// A secret or a folder is missing: the step cannot be started.
    Step(String),
    /// The machine or the store failed, and may not the next time.
    Machine(String),
}

/// The order for the supervisor of this `start`.
///
/// # Errors
/// See [`OrderError`].
pub(super) fn spec(shared: &Shared, job: &Job, dir: &AttemptDir, start: &str) -> Result<Spec, OrderError> {
    let started = &job.started;
    let moved;
    let job = match &started.tree {
        Some(item) => {
            let workspace = item_trees::ensure(&shared.layout, job, item)
                .map_err(|error| OrderError::Step(error.to_string()))?;
            moved = Job { workspace, ..job.clone() };
            &moved
        }
        None => job,
    };
    if let Some(problem) = &job.caller.env_file_problem {
        return Err(OrderError::Step(problem.clone()));
    }
    let secrets =
        secrets(&job.pinned.secrets, &job.caller).map_err(|error| OrderError::Step(error.to_string()))?;
    let secret_marks = shared
        .marks(&secrets)
        .map_err(|error| OrderError::Machine(format!("the key of the store for secrets: {error}")))?;
    let cwd = job.workspace.join(&started.cwd);
    if !cwd.is_dir() {
        return Err(OrderError::Step(format!("the folder `{}` does not exist", cwd.display())));
    }
    let plan = cached::plan(job);
    let mut env = job.caller.env.clone();
    env.retain(|(name, _)| plan.is_none_or(|plan| cached::gets(plan, name)));
    if plan.is_none() {
        env.extend(secrets.iter().cloned());
    }
    env.extend(started.env.iter().cloned());
    let mut cache = None;
    if let Some(plan) = plan {
        env = last_wins(env);
        let order = cached::order(shared, job, plan, &env);
        cache = Some(order.map_err(|error| OrderError::Machine(format!("the key of the cache: {error}")))?);
    }
    let own = own_variables(shared, job, dir)
        .map_err(|error| OrderError::Machine(format!("a file for the command: {error}")))?;
    env.extend(own.into_iter().filter(|(name, _)| plan.is_none() || cached::is_given(name)));
    if plan.is_none() {
        let given = shared.per_attempt.of(&job.run, &started.attempt);
        env.extend(given.into_iter().map(|variable| (variable.name, variable.value)));
    }
    // A merge leaves nothing of what the step is to leave.
    let step = job.flow.step(&started.attempt.visit.step).filter(|_| !started.merges());
    let command = match &started.command {
        Command::Exec(argv) => envoi_step::Command::Exec { argv: failed_command::watched(argv, dir) },
        Command::Shell(script) => envoi_step::Command::Shell { script: script.clone() },
        Command::A2a(call) => {
            let argv = agent::command(shared, job, dir, call, &mut env);
            let argv =
                argv.map_err(|error| OrderError::Machine(format!("the order for an agent: {error}")))?;
            envoi_step::Command::Exec { argv }
        }
        Command::Agent(call) => {
            let account =
                shared.accounts.of_call(call).map_err(|error| OrderError::Step(error.to_string()))?;
            let bridge = program::bridge(call, &env).map_err(|error| OrderError::Step(error.to_string()))?;
            let argv = program::command(shared, job, dir, call, account, bridge, &mut env);
            let argv = argv
                .map_err(|error| OrderError::Machine(format!("the order for an agent program: {error}")))?;
            envoi_step::Command::Exec { argv }
        }
        Command::Model(call) => {
            let argv = model::command(shared, job, dir, call, &mut env);
            let argv =
                argv.map_err(|error| OrderError::Machine(format!("the order for a model: {error}")))?;
            envoi_step::Command::Exec { argv }
        }
        Command::Merge(call) => {
            let argv = merge::command(shared, job, dir, call);
            let argv =
                argv.map_err(|error| OrderError::Machine(format!("the order for a merge: {error}")))?;
            envoi_step::Command::Exec { argv }
        }
    };
    agent::hide_tokens(&mut env);
    Ok(Spec {
        run_id: job.run.to_string(),
        attempt: started.attempt.to_string(),
        command,
        cwd,
        env: last_wins(env),
        workspace: job.workspace.clone(),
        artifacts: step.map(|step| step.artifacts.clone()).unwrap_or_default(),
        if_no_artifacts: match step.map(|step| step.if_no_artifacts).unwrap_or_default() {
            NoArtifacts::Warn => envoi_step::NoArtifacts::Warn,
            NoArtifacts::Ignore => envoi_step::NoArtifacts::Ignore,
            NoArtifacts::Fail => envoi_step::NoArtifacts::Fail,
        },
        never: vec![shared.layout.root().to_owned()],
        keep: job.keeps_files.then(|| {
            let scope = snapshots::scope_of(&job.snapshots);
            snapshots::order(&shared.layout, shared.too_wide.clone(), shared.bounds, scope)
        }),
        set_back: started.set_back.map(|digest| digest.to_string()),
        cache,
        since: started.verifies.as_ref().map(|doubtful| shared.dir(&job.run, doubtful).path().to_owned()),
        timeout_ms: started.timeout_ms,
        // An attempt outlives the engine of its machine, and not the lease of a worker.
        lease_until_ms: shared.lease_until_ms(),
        grace_ms: Spec::GRACE_MS,
        stream_cap_bytes: shared.stream_cap_bytes,
        text_cap_bytes: Spec::TEXT_CAP_BYTES,
        success_codes: step.map(success_codes).unwrap_or_default(),
        secrets: secrets.into_iter().map(|(_, value)| value).chain(of_attempt(shared, job)).collect(),
        boot_id: shared.boot_id.clone(),
        start: start.to_owned(),
        secret_marks,
        own_folder: started.merges().then(|| merge::EDIT_FOLDER.to_owned()),
    })
}

/// Exit codes that state something are no failures.
fn success_codes(step: &Step) -> Vec<i32> {
    step.routing.status_from_exit.keys().copied().collect()
}

fn own_variables(shared: &Shared, job: &Job, dir: &AttemptDir) -> std::io::Result<Vec<(String, String)>> {
    let started = &job.started;
    let visit = &started.attempt.visit;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut variables = vec![
        ("ENVOI_RUN_ID", job.run.to_string()),
        ("ENVOI_FLOW", job.flow.id.to_string()),
        ("ENVOI_STEP", visit.step.to_string()),
        ("ENVOI_VISIT", visit.visit.to_string()),
        ("ENVOI_ATTEMPT", started.attempt.to_string()),
        ("ENVOI_ITERATION", started.iteration.to_string()),
        ("ENVOI_KEY", format!("{}:{visit}", job.run)),
        ("ENVOI_RUN_BASE", text(job.run_base.clone())),
        ("ENVOI_REPORT", text(dir.report())),
        ("ENVOI_DATA", text(dir.data())),
        ("ENVOI_OUTPUT", text(dir.output())),
        ("TRACEPARENT", job.trace.to_string()),
    ];
    if !job.within.is_empty() {
        let callers: Vec<_> = job.within.iter().map(ToString::to_string).collect();
        variables.push(("ENVOI_CALLERS", callers.join(" ")));
    }
    let budget = started.reserved.unwrap_or_default();
    variables.extend(budget.llm_calls.map(|calls| ("ENVOI_BUDGET_LLM_CALLS", calls.to_string())));
    variables.extend(budget.cost.map(|cost| ("ENVOI_BUDGET_COST_USD", cost.to_string())));
    variables.extend(started.verifies.as_ref().map(|doubtful| ("ENVOI_VERIFIES", doubtful.to_string())));
    if let Some(handoff) = &started.handoff {
        variables.push(("ENVOI_HANDOFF", text(restored(shared, job, handoff)?)));
    }
    if let Some(path) = feedback(shared, job, dir)? {
        variables.push(("ENVOI_FEEDBACK", text(path)));
    }
    if let Some(interrupt) = &started.answer {
        let folder = restored_answer(shared, job, interrupt)?;
        variables.push(("ENVOI_ANSWER", text(folder.join("answer.json"))));
        variables.push(("ENVOI_ANSWER_FILES", text(folder.join("files"))));
    }
    if let Some(envelope) = &job.envelope {
        let path = dir.path().join("envelope.json");
        plain::write(&path, envelope.as_bytes())?;
        variables.push(("ENVOI_ENVELOPE", text(path)));
    }
    Ok(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The feedback for a step in a loop: of the critic, of the person who sent the run back, or of both.
fn feedback(shared: &Shared, job: &Job, dir: &AttemptDir) -> std::io::Result<Option<PathBuf>> {
    let started = &job.started;
    if started.feedback.is_none() && started.sent_back_by.is_none() {
        return Ok(None);
    }
    let critic = started.feedback.as_ref().map(|critic| shared.dir(&job.run, critic));
    let person = match &started.sent_back_by {
        Some(interrupt) => Some(words_of(&restored_answer(shared, job, interrupt)?)?),
        None => None,
    };
    let path = feedback::place_of_feedback(dir);
    feedback::write(critic.as_ref(), person.as_deref(), &path)?;
    Ok(Some(path))
}

/// The text of an answer that stands in `folder`.
fn words_of(folder: &Path) -> std::io::Result<String> {
    let document = plain::read(&folder.join("answer.json"), LARGEST_ANSWER_BYTES)?;
    let answer = Value::parse(&document).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(answer.get("text").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The folder of an answer, as it was committed. It has a place for files even where there are none.
fn restored_answer(shared: &Shared, job: &Job, interrupt: &InterruptId) -> std::io::Result<PathBuf> {
    let failed = |error: String| std::io::Error::other(error);
    let reader = shared.store.reader().map_err(|error| failed(error.to_string()))?;
    files::restore_answer(&shared.layout, &reader, &job.run, interrupt)
        .map_err(|error| failed(with_causes(&error)))?;
    let folder = shared.layout.answer(&job.run, interrupt);
    fs::create_dir_all(folder.join("files"))?;
    Ok(folder)
}

/// A hand-off is given to a step only as it was committed: a file that is missing or differs is written again.
fn restored(shared: &Shared, job: &Job, handoff: &VisitId) -> std::io::Result<PathBuf> {
    let restore = || {
        let reader = shared.store.reader()?;
        files::restore_visit(&shared.layout, &reader, &job.run, handoff)?;
        let row = reader.handoff_row(&job.run, handoff)?;
        Ok(shared.layout.handoff_visit(&job.run, &row.flow, handoff))
    };
    restore().map_err(|error: FileError| std::io::Error::other(with_causes(&error)))
}

/// One value a name; the last one counts.
fn last_wins(variables: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut kept: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    kept.extend(variables);
    kept.into_iter().collect()
}
