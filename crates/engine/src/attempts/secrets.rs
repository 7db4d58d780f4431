//! The secrets of a flow, as the caller of a run has them: the values for commands, and the values to mask.

use super::shared::Shared;
use crate::model::{
    protocol::CallerWire,
    runner::{Caller, Job},
    secret_source::{SourceError, secret_value},
};
use envoi_kernel::{
    Flow,
    flow::{AGENT_TOKEN_PREFIX, Secret, SecretSource},
};
use envoi_step::{AttemptDir, MIN_SECRET_BYTES, SecretMark, Secrets};
use std::{fs, sync::Arc};

/// The values that commands of this run may see: the secrets are those that its flow names.
pub(crate) fn caller_of(flow: &Flow, wire: &CallerWire) -> Arc<Caller> {
    let value = |variable: &str| {
        wire.secrets.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone())
    };
    let secrets = flow.secrets.iter().filter_map(|secret| match &secret.source {
        SecretSource::Env(variable) => Some((secret.name.clone(), value(variable)?)),
        SecretSource::File(_) => None,
    });
    Arc::new(Caller {
        env: wire.env.clone(),
        secrets: secrets.collect(),
        variables: wire.secrets.clone(),
        flow_dir: wire.flow_dir.clone(),
        within: wire.within.clone(),
        not_passed: wire.not_passed.clone(),
        env_file_problem: wire.env_file_problem.clone(),
    })
}

/// The values of the flow's secrets now, by the name that commands see.
///
/// # Errors
/// Names the first one that cannot be had.
pub(crate) fn secrets(declared: &[Secret], caller: &Caller) -> Result<Vec<(String, String)>, SecretError> {
    declared.iter().map(|secret| Ok((secret.name.clone(), value(secret, caller)?))).collect()
}

/// Which secret cannot be had, and why.
#[derive(Debug, thiserror::Error)]
#[error("{secret}: {source}")]
pub(crate) struct SecretError {
    /// Its name in messages.
    secret: String,
    source: SourceError,
}

/// The values that a command may have got and that must be masked.
pub(super) struct Known {
    pub(super) values: Vec<String>,
    /// The reason, in a sentence, for each secret whose own value for the command is not at hand: the command's own output cannot
    /// be masked then.
    pub(super) missing: Vec<String>,
}

impl Known {
    /// The secrets that can be had, and those of the attempt alone.
    pub(super) fn of(shared: &Shared, job: &Job) -> Self {
        let mut values = Vec::new();
        let mut missing = Vec::new();
        for secret in &job.pinned.secrets {
            match value(secret, &job.caller) {
                Ok(value) => values.push(value),
                Err(error) => missing.push(error.to_string()),
            }
        }
        values.extend(of_attempt(shared, job));
        Self { values, missing }
    }

    /// As [`Known::of`], for an attempt that another engine may have started, perhaps with other values.
    pub(super) fn since_start(shared: &Shared, job: &Job, dir: &AttemptDir) -> Self {
        let mut known = Self::of(shared, job);
        let at_hand: Vec<_> = at_hand(&job.pinned.secrets, &job.caller).collect();
        let Some(marks) = marks_of_start(dir) else {
            let secrets = job
                .pinned
                .secrets
                .iter()
                .filter(|secret| at_hand.iter().any(|(name, _)| *name == secret.name));
            let gone = |secret| {
                format!("{}: the record of its value at the start of the attempt was removed", named(secret))
            };
            known.missing.extend(secrets.map(gone));
            return known;
        };
        // An older supervisor has left no marks.
        if marks.is_empty() {
            return known;
        }
        // Without the key no value can be compared.
        let now = shared.marks(&at_hand).unwrap_or_default();
        for secret in &job.pinned.secrets {
            let is_at_hand = at_hand.iter().any(|(name, _)| *name == secret.name);
            let is_same = marks.iter().any(|mark| mark.name == secret.name && now.contains(mark));
            if is_at_hand && !is_same {
                known.missing.push(format!(
                    "{}: {} has another value than when the attempt began",
                    named(secret),
                    source(secret)
                ));
            }
        }
        known
    }
}

/// The marks of the secrets when the attempt began; none if its record was removed or cannot be read. Empty if no command was
/// started.
fn marks_of_start(dir: &AttemptDir) -> Option<Vec<SecretMark>> {
    match envoi_step::started(dir) {
        Some(started) => Some(started.secret_marks),
        None => [dir.started(), dir.stdout(), dir.stderr()]
            .iter()
            .all(|path| fs::symlink_metadata(path).is_err())
            .then(Vec::new),
    }
}

/// The values to mask that an attempt gets besides the secrets of the flow.
pub(super) fn of_attempt(shared: &Shared, job: &Job) -> impl Iterator<Item = String> {
    let of_commands = shared.per_attempt.secrets(&job.run, &job.started.attempt);
    let command = &job.started.command;
    let of_programs = shared.models.key_for(command).into_iter().chain(shared.accounts.secrets_for(command));
    of_commands.into_iter().chain(of_programs.map(str::to_owned))
}

/// The values of those secrets that can be had, for masking.
pub(crate) fn known_secrets(declared: &[Secret], caller: &Caller) -> impl Iterator<Item = String> {
    at_hand(declared, caller).map(|(_, value)| value)
}

/// A sentence for each secret whose value is so common that masking it changes what has nothing to do with it.
pub(super) fn common_secrets(job: &Job) -> impl Iterator<Item = String> {
    job.pinned.secrets.iter().filter_map(|secret| {
        let value = value(secret, &job.caller).ok()?;
        Secrets::is_common(&value).then(|| {
            format!(
                "the value of {} is a number, or a word or sign of JSON or of reports: masking it changes what has nothing to do \
                 with it",
                named(secret)
            )
        })
    })
}

/// The secrets that are available, by the name that commands see.
pub(crate) fn at_hand(declared: &[Secret], caller: &Caller) -> impl Iterator<Item = (String, String)> {
    declared.iter().filter_map(|secret| Some((secret.name.clone(), value(secret, caller).ok()?)))
}

/// The secrets of a flow that can be looked for in files, by name: those that can be had and are not too short to mean anything.
#[must_use]
pub fn findable_secrets(flow: &Flow, wire: &CallerWire) -> Vec<(String, String)> {
    let caller = caller_of(flow, wire);
    at_hand(&flow.secrets, &caller).filter(|(_, value)| value.len() >= MIN_SECRET_BYTES).collect()
}

fn value(secret: &Secret, caller: &Caller) -> Result<String, SecretError> {
    let of_caller = |variable: &str| {
        caller.variables.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone())
    };
    secret_value(&secret.source, &caller.flow_dir, of_caller)
        .map_err(|source| SecretError { secret: named(secret), source })
}

/// The source of a value, in messages.
fn source(secret: &Secret) -> String {
    match &secret.source {
        SecretSource::Env(variable) => format!("the variable `{variable}`"),
        SecretSource::File(path) => format!("the file `{path}`"),
    }
}

/// The name of a secret in messages.
fn named(secret: &Secret) -> String {
    match secret.name.strip_prefix(AGENT_TOKEN_PREFIX).and_then(|rest| rest.split_once('.')) {
        Some((flow, step)) => format!("the token of step `{step}` in flow `{flow}`"),
        None => format!("secret `{}`", secret.name),
    }
}
