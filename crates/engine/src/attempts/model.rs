//! An attempt that asks a model: this program itself, with its order in the attempt's folder.

use super::{feedback::place_of_feedback, secrets::Known, shared::Shared};
use crate::model::runner::Job;
use envoi_contract::code::Code;
use envoi_kernel::event::{Command, ModelCall};
use envoi_model::{
    ARGUMENT, CALLS_FILE, KEY_VARIABLE, ORDER_VARIABLE, Order, Problem, SECRET_VARIABLES, UNANSWERED_FILE,
};
use envoi_step::{AttemptDir, Exit, Outcome, plain};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The longest sentence about a call without an answer.
const MAX_REASON_BYTES: u64 = 4_096;

/// The longest number of calls.
const MAX_COUNT_BYTES: u64 = 20;

/// The command, after its order has been written, and the variables that it needs.
///
/// # Errors
/// The order cannot be written.
pub(super) fn command(
    shared: &Shared,
    job: &Job,
    dir: &AttemptDir,
    call: &ModelCall,
    variables: &mut Vec<(String, String)>,
) -> io::Result<Vec<String>> {
    let place = dir.path().join("model.json");
    let known = Known::of(shared, job);
    plain::write(&place, &serde_json::to_vec(&order(shared, job, dir, call, &known))?)?;
    // The record is there from the start. If it is missing later, it was removed, and does not show that nothing was sent.
    plain::write(&dir.path().join(CALLS_FILE), b"0")?;
    variables.push((ORDER_VARIABLE.to_owned(), place.to_string_lossy().into_owned()));
    let key = shared.models.key(&call.model);
    variables.extend(key.map(|key| (KEY_VARIABLE.to_owned(), key.to_owned())));
    let numbered = known.values.into_iter().enumerate();
    variables.extend(numbered.map(|(number, value)| (format!("{SECRET_VARIABLES}{number}"), value)));
    Ok(vec![shared.launcher.exe.to_string_lossy().into_owned(), ARGUMENT.to_owned()])
}

/// Why it is not known what became of a call of an attempt that is over, if that is so. An attempt that was cancelled, or ran out of its
/// time, is over by the will of the run.
pub(super) fn unanswered(job: &Job, dir: &AttemptDir, exit: &Exit) -> Option<String> {
    matches!(job.started.command, Command::Model(_)).then_some(())?;
    match exit.outcome {
        Outcome::Exited { .. } | Outcome::Signalled { .. } => {}
        _ => return None,
    }
    reason(&dir.path().join(UNANSWERED_FILE))
}

/// The text of this file. `None`: the file is missing, so every call has an answer.
fn reason(place: &Path) -> Option<String> {
    match plain::read(place, MAX_REASON_BYTES) {
        Ok(reason) => Some(String::from_utf8_lossy(&reason).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A call may have been sent, and its end is not recorded.
        Err(error) => {
            Some(format!("what the attempt says of a call without an answer cannot be read: {error}"))
        }
    }
}

/// The calls of an attempt that is over, as it has counted them itself; none if it asks no model, or its record is gone.
pub(super) fn calls(job: &Job, dir: &AttemptDir) -> Option<u64> {
    matches!(job.started.command, Command::Model(_)).then_some(())?;
    let text = plain::read(&dir.path().join(CALLS_FILE), MAX_COUNT_BYTES).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

/// Whether an attempt that was lost has certainly sent no call that counts: it waited for a limit, or never came to a call, and its record
/// shows that. Without the record it is unknown. `boot_id` is that of now: records from before a restart of the machine may be lost.
pub(super) fn has_sent_nothing(job: &Job, dir: &AttemptDir, boot_id: &str) -> bool {
    let is_of_now = || envoi_step::started(dir).is_some_and(|started| started.boot_id == boot_id);
    // The count comes first, so that a call which is not counted was not sent.
    matches!(job.started.command, Command::Model(_))
        && is_of_now()
        && is_absent(&dir.path().join(UNANSWERED_FILE))
        && calls(job, dir) == Some(0)
}

fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn order(shared: &Shared, job: &Job, dir: &AttemptDir, call: &ModelCall, known: &Known) -> Order {
    let started = &job.started;
    let step = job.flow.step(&started.attempt.visit.step);
    // The model does not know the output of its own failed try; the error is in `failure`.
    let own = started.feedback.as_ref().is_some_and(|attempt| attempt.visit == started.attempt.visit);
    let has_feedback = started.sent_back_by.is_some() || (started.feedback.is_some() && !own);
    let (access, problem) = match shared.models.get(&call.model) {
        Some(Ok(model)) => (Some(model.access.clone()), None),
        Some(Err(problem)) => (None, Some(problem.clone())),
        None => (None, Some(unknown(shared, &call.model))),
    };
    let folder = job.workspace.join(&started.cwd);
    Order {
        model: call.model.clone(),
        access,
        problem,
        prompt: call.prompt.clone(),
        system: call.system.clone(),
        files: call.files.iter().map(|file| folder.join(file)).collect(),
        roots: vec![job.workspace.clone(), PathBuf::from(&job.run_base)],
        never: Some(shared.layout.root().to_owned()),
        temperature: call.temperature.clone(),
        max_tokens: call.max_tokens,
        repair: call.repair,
        schema: step.and_then(|step| step.outputs.clone()),
        feedback: has_feedback.then(|| place_of_feedback(dir)),
        failure: call.failure.clone(),
        max_calls: started.reserved.and_then(|budget| budget.llm_calls),
        max_nano_usd: started
            .reserved
            .and_then(|budget| budget.cost)
            .map(envoi_kernel::ledger::Cost::nano_usd),
        folder: dir.path().to_owned(),
        report: dir.report(),
        output: dir.output(),
        secrets: known.values.len(),
        hides: !known.missing.is_empty(),
    }
}

/// The configuration does not offer it.
fn unknown(shared: &Shared, model: &str) -> Problem {
    let place = shared.layout.root().join("config.yaml");
    Problem {
        code: Code::AgentModel.as_str().to_owned(),
        message: format!("`{}` offers no model `{model}`; `models.offer` names them", place.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_call_without_an_answer_is_one_whatever_stands_in_the_place_of_its_reason() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        assert_eq!(reason(&at("nothing")), None);
        fs::write(at("text"), "it broke off").unwrap();
        assert_eq!(reason(&at("text")).as_deref(), Some("it broke off"));
        fs::create_dir(at("folder")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("text", at("link")).unwrap();
        fs::File::create(at("large")).unwrap().set_len(MAX_REASON_BYTES + 1).unwrap();
        for name in ["folder", "loop", "link", "large"] {
            let reason = reason(&at(name)).unwrap_or_else(|| panic!("{name}"));
            assert!(reason.contains("cannot be read"), "{name}: {reason}");
        }
    }
}
