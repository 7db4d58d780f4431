//! What an attempt's command is given: its environment, its folder, and files to read.

use super::{Shared, feedback, talk};
use crate::runner::{Caller, Job};
use envoi_contract::json::Value;
use envoi_journal::{files, with_causes};
use envoi_kernel::{
    event::Command,
    flow::{AGENT_TOKEN_PREFIX, Secret, SecretSource, Step},
    ids::{InterruptId, VisitId},
};
use envoi_step::{AttemptDir, Secrets, Spec, plain};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// No document of the contracts is larger (CONTRACTS §0).
const LARGEST_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// Why there is no order for a supervisor.
pub(super) enum Trouble {
    /// A secret or a folder is missing: the step cannot be started.
    Step(String),
    /// The machine or the store failed, and may not the next time.
    Machine(String),
}

/// The order for the supervisor.
///
/// # Errors
/// See [`Trouble`].
pub(super) fn spec(shared: &Shared, job: &Job, dir: &AttemptDir) -> Result<Spec, Trouble> {
    let started = &job.started;
    let secrets = secrets(&job.pinned.secrets, &job.caller).map_err(Trouble::Step)?;
    let cwd = job.workspace.join(&started.cwd);
    if !cwd.is_dir() {
        return Err(Trouble::Step(format!("the folder `{}` does not exist", cwd.display())));
    }
    let mut env = job.caller.env.clone();
    env.extend(secrets.iter().cloned());
    env.extend(started.env.iter().cloned());
    env.extend(
        own_variables(shared, job, dir)
            .map_err(|error| Trouble::Machine(format!("a file for the command: {error}")))?,
    );
    let given = shared.per_attempt.of(&job.run, &started.attempt);
    env.extend(given.into_iter().map(|variable| (variable.name, variable.value)));
    let step = job.flow.step(&started.attempt.visit.step);
    let command = match &started.command {
        Command::Exec(argv) => envoi_step::Command::Exec { argv: argv.clone() },
        Command::Shell(script) => envoi_step::Command::Shell { script: script.clone() },
        Command::A2a(call) => {
            let argv = talk::command(shared, job, dir, call, &mut env);
            let argv = argv.map_err(|error| Trouble::Machine(format!("the order for an agent: {error}")))?;
            envoi_step::Command::Exec { argv }
        }
    };
    talk::hide_tokens(&mut env);
    Ok(Spec {
        run_id: job.run.to_string(),
        attempt: started.attempt.to_string(),
        command,
        cwd,
        env: last_wins(env),
        workspace: job.workspace.clone(),
        artifacts: step.map(|step| step.artifacts.clone()).unwrap_or_default(),
        never: vec![shared.layout.root().to_owned()],
        since: started.verifies.as_ref().map(|doubtful| shared.dir(&job.run, doubtful).path().to_owned()),
        timeout_ms: started.timeout_ms,
        grace_ms: Spec::GRACE_MS,
        stream_cap_bytes: shared.stream_cap_bytes,
        text_cap_bytes: Spec::TEXT_CAP_BYTES,
        success_codes: step.map(success_codes).unwrap_or_default(),
        secrets: secrets
            .into_iter()
            .map(|(_, value)| value)
            .chain(shared.per_attempt.secrets(&job.run, &started.attempt))
            .collect(),
        boot_id: shared.boot_id.clone(),
    })
}

/// Exit codes that state something are no failures.
fn success_codes(step: &Step) -> Vec<i32> {
    step.routing.status_from_exit.keys().copied().collect()
}

/// The values of the flow's secrets now, by the name that commands see.
///
/// # Errors
/// Names the first one that cannot be had.
pub(crate) fn secrets(declared: &[Secret], caller: &Caller) -> Result<Vec<(String, String)>, String> {
    declared.iter().map(|secret| Ok((secret.name.clone(), secret_value(secret, caller)?))).collect()
}

/// What a command may have been given that is to be masked.
pub(super) struct Known {
    pub(super) values: Vec<String>,
    /// Every secret of the flow can be had; else what the command wrote itself cannot be masked.
    pub(super) all: bool,
}

impl Known {
    /// The secrets that can be had, and those of the attempt alone.
    pub(super) fn of(shared: &Shared, job: &Job) -> Self {
        let declared = &job.pinned.secrets;
        let mut values: Vec<String> = known_secrets(declared, &job.caller).collect();
        let all = values.len() == declared.len();
        values.extend(shared.per_attempt.secrets(&job.run, &job.started.attempt));
        Self { values, all }
    }
}

/// The values of those secrets that can be had, for masking.
pub(crate) fn known_secrets(declared: &[Secret], caller: &Caller) -> impl Iterator<Item = String> {
    at_hand(declared, caller).map(|(_, value)| value)
}

/// A sentence for each secret whose value is so common that masking it changes what has nothing to do with it.
pub(super) fn common_secrets(job: &Job) -> impl Iterator<Item = String> {
    job.pinned.secrets.iter().filter_map(|secret| {
        let value = secret_value(secret, &job.caller).ok()?;
        Secrets::is_common(&value).then(|| {
            format!(
                "the value of {} is a number, or a word or sign of JSON or of reports: masking it changes what has nothing to do \
                 with it",
                named(secret)
            )
        })
    })
}

/// Those secrets that can be had, by the name that commands see.
pub(super) fn at_hand(declared: &[Secret], caller: &Caller) -> impl Iterator<Item = (String, String)> {
    declared.iter().filter_map(|secret| Some((secret.name.clone(), secret_value(secret, caller).ok()?)))
}

fn secret_value(secret: &Secret, caller: &Caller) -> Result<String, String> {
    match &secret.source {
        SecretSource::Env(variable) => caller
            .secrets
            .iter()
            .find(|(name, _)| *name == secret.name)
            .map(|(_, value)| value.clone())
            .ok_or_else(|| format!("{}: the variable `{variable}` is not set", named(secret))),
        SecretSource::File(path) => {
            let path = caller.flow_dir.join(path);
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {}: {error}", named(secret), path.display()))?;
            Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        }
    }
}

/// What a secret is called in messages.
fn named(secret: &Secret) -> String {
    match secret.name.strip_prefix(AGENT_TOKEN_PREFIX).and_then(|rest| rest.split_once('.')) {
        Some((flow, step)) => format!("the token of step `{step}` in flow `{flow}`"),
        None => format!("secret `{}`", secret.name),
    }
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

/// What is told to a step in a loop: by the critic, by the person who sent the run back, or by both.
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
    let path = dir.path().join("feedback.txt");
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
    let failed = |error: String| std::io::Error::other(error);
    let reader = shared.store.reader().map_err(|error| failed(error.to_string()))?;
    files::restore_visit(&shared.layout, &reader, &job.run, handoff)
        .map_err(|error| failed(with_causes(&error)))?;
    let row = reader.handoff_row(&job.run, handoff).map_err(|error| failed(error.to_string()))?;
    Ok(shared.layout.handoff_visit(&job.run, &row.flow, handoff))
}

/// One value a name; what was said later counts.
fn last_wins(variables: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut kept: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    kept.extend(variables);
    kept.into_iter().collect()
}

/// Whether commands may see this variable of the engine's own environment.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    const NAMES: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ"];
    NAMES.contains(&name) || name == "TMPDIR" || name.starts_with("LC_") || name.starts_with("XDG_")
}
