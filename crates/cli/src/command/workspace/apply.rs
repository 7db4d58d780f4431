//! `envoi apply`: copies the changes of an isolated run into the folder that its tree was made from.

use crate::{
    process::{
        args::{ApplyArgs, EngineArgs},
        environment,
        failure::Failure,
        invocation, messages,
    },
    session::{caller::caller_or_none, engine_client, interactive::Conversation},
    store::{home::Home, select},
    text::diff::printable,
    view::printer::Printer,
};
use envoi_contract::{code::Code, envelope::TerminalReason};
use envoi_engine::protocol::{Applied, ApplyRequest, Request};
use envoi_journal::{Reader, RunFilter};
use envoi_kernel::{Event, Record, Status, event::EndStatus, ids::RunId};

/// Converts the arguments into a request.
pub(crate) fn what(args: &ApplyArgs) -> Applied {
    match args {
        ApplyArgs { undo: true, .. } => Applied::Undone,
        ApplyArgs { ours: true, .. } => Applied::PreferFolder,
        ApplyArgs { theirs: true, .. } => Applied::PreferRun,
        ApplyArgs { markers: true, .. } => Applied::Marked,
        _ => Applied::Whole,
    }
}

pub(crate) fn apply(
    home: &Home,
    run: Option<&str>,
    what: Applied,
    why: Option<String>,
) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let run = match (what, run) {
        (Applied::Undone, None) => last_applied(&reader)?,
        (Applied::Undone, Some(_)) => select::run_or_newest(&reader, run)?,
        _ => {
            let id = select::run_or_newest(&reader, run)?;
            check_state(&reader, &id, run.is_some())?;
            id
        }
    };
    let request = Request::Apply(Box::new(ApplyRequest {
        run: run.clone(),
        what,
        too_wide: environment::home_folder().into_iter().collect(),
        why,
        by: environment::principal(),
        caller: caller_or_none(&reader, &run),
    }));
    drop(reader);
    let mut conversation = Conversation::new(run.clone(), home.json);
    let mut printer = Printer::new(run, home.json);
    engine_client::ask(&store, request, &EngineArgs::default(), &mut printer, &mut conversation)
}

/// Returns the run that was applied last, because a person wants to undo that one. An unreadable run is left
/// out.
fn last_applied(reader: &Reader) -> Result<RunId, Failure> {
    let may_be = |record: &&Record| match &record.event {
        Event::FilesRestoring(wanted) => wanted.reach.folder().is_some(),
        _ => false,
    };
    let mut found = Vec::new();
    for row in reader.runs(RunFilter::default()).map_err(Failure::store)? {
        let Ok(notable) = reader.notable_records(&row.run) else { continue };
        found.extend(notable.iter().rev().find(may_be).map(|record| (record.at, row.run.clone())));
    }
    found.sort();
    // An apply that was refused in the middle has changed nothing, so such a run does not count.
    for (_, run) in found.into_iter().rev() {
        let records = reader.records(&run, 0, None).map_err(Failure::store)?;
        if envoi_engine::last_applied(&records).is_some() {
            messages::say(&format!("the run that was applied last: {run}"));
            return Ok(run);
        }
    }
    Err(Failure::new(Code::FilesNotKept, "no run of this store was applied, so nothing can be undone"))
}

/// Prints the state of a run whose result may be unwanted. If the run was not named, it is refused while it
/// waits for a person, or after it was denied.
fn check_state(reader: &Reader, run: &RunId, is_named: bool) -> Result<(), Failure> {
    let loaded = envoi_engine::load_run(reader, run)?;
    let (state, is_doubtful) = match loaded.status() {
        Status::Ended(ended) if ended.status == EndStatus::Succeeded => return Ok(()),
        Status::Ended(ended) => {
            let was_denied = ended.terminal_reason == TerminalReason::PolicyViolation;
            (format!("it has ended as {}: {}", ended.status.word(), printable(&ended.reason)), was_denied)
        }
        Status::Waiting { .. } => ("it waits for a person".to_owned(), true),
        Status::Running => ("it is not over".to_owned(), false),
    };
    if is_doubtful && !is_named && loaded.started().is_some_and(|started| started.isolated.is_some()) {
        let message = format!("the newest run, `{run}`, was not applied: {state}");
        let hint = format!("`{} apply {run}` applies it all the same", invocation::envoi());
        return Err(Failure::new(Code::RequestInvalid, message).hint(hint));
    }
    messages::say(&format!("note: the result of run {run} may not be whole: {state}"));
    Ok(())
}
