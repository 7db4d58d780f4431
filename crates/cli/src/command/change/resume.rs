//! `envoi resume`: continues a run after a crash, after its failure, or with a decision.

use super::correct;
use crate::command::restore;
use crate::{
    process::{
        args::{Files, InDoubt, ResumeArgs, Review},
        environment,
        failure::Failure,
        invocation,
        messages::say,
    },
    session::{background, caller::caller_or_none, engine_client, interactive::Conversation},
    store::{home::Home, pinned_file, select},
    view::{live::Live, printer::Printer},
};
use envoi_contract::code::Code;
use envoi_engine::protocol::{Request, ResumeRequest};
use envoi_journal::{Reader, Store};
use envoi_kernel::{
    event::{Choice, Event},
    ids::RunId,
};
use std::{path::Path, sync::Arc};

pub(crate) fn resume(home: &Home, args: &ResumeArgs) -> Result<u8, Failure> {
    check_from(args)?;
    let (store, reader) = home.store()?;
    let named = args.run.as_deref();
    let run = match &args.flow {
        Some(file) => {
            select::run_to_correct(store.layout(), &reader, named, &correct::of_file(file)?.flow().id)?
        }
        None => select::run_or_meant(store.layout(), &reader, named, verb(args))?,
    };
    if let Some(why) = reader.run(&run).ok().and_then(|row| row.aside) {
        say(&format!("run {run} is set aside ({}): {}; this tries again", why.code, why.reason));
    }
    let choice = choice(args);
    if args.files == Files::Then && choice != Some(Choice::Rerun) {
        let message = "`--files then` is for an attempt that runs again".to_owned();
        return Err(Failure::new(Code::RequestInvalid, message).hint("`--in-doubt rerun --files then`"));
    }
    let corrected = match &args.flow {
        Some(file) => Some(correct::agreed(store.layout(), &reader, &run, file, args)?),
        None => None,
    };
    let caller = match &corrected {
        Some(corrected) => corrected.caller().with_secrets_of(caller_or_none(&reader, &run)),
        None => caller_or_none(&reader, &run),
    };
    let request = Request::Resume(Box::new(ResumeRequest {
        choice,
        reopen: choice.is_none(),
        correct: corrected.map(|corrected| corrected.wanted),
        again: true,
        now: args.now,
        files: restore::set_back(args.files),
        why: args.reason.clone(),
        ..ResumeRequest::follow(run.clone(), environment::principal(), caller)
    }));
    if args.flow.is_none()
        && let Some(sentence) =
            envoi_engine::load_run(&reader, &run).ok().and_then(|run| pinned_file::changed(&reader, &run))
    {
        say(&sentence);
    }
    warn_of_changed_scripts(&store, &reader, &run);
    drop(reader);
    if args.engine.detach {
        let run = background::detach(&store, &request, args.engine.jobs)?;
        return background::print_run(&run, home.json);
    }
    let mut conversation = Conversation::new(run.clone(), home.json);
    let view = |run: &RunId| view(&store, run);
    let mut printer = Printer::new(run, home.json)
        .reads(store.reader().ok())
        .live(view)
        .watches(store.layout())
        .asks_in_place(conversation.is_possible())
        .goes_on_by(pinned_file::to_go_on(&store));
    engine_client::ask(&store, request, &args.engine, &mut printer, &mut conversation)
}

/// Refuses `--from` without a corrected flow. The correction (also with the unchanged flow) lists the steps
/// that run again.
pub(crate) fn check_from(args: &ResumeArgs) -> Result<(), Failure> {
    let Some(step) = args.from.as_ref().filter(|_| args.flow.is_none()) else { return Ok(()) };
    let run = args.run.as_deref().unwrap_or("RUN");
    let envoi = invocation::envoi();
    let message = "`--from` names the step from which the run is repeated; it needs `--flow FILE`".to_owned();
    Err(Failure::new(Code::RequestInvalid, message).hint(format!(
        "`{envoi} resume {run} --flow FILE --from {step}`, also with the file as it was; or, in a new run, `{envoi} fork {run} --from {step}`"
    )))
}

/// The verb that selects a run if none is named.
pub(crate) fn verb(args: &ResumeArgs) -> select::Verb {
    if choice(args).is_some() { select::Verb::Decide } else { select::Verb::Resume }
}

pub(crate) fn choice(args: &ResumeArgs) -> Option<Choice> {
    match (args.in_doubt, args.review) {
        (Some(InDoubt::Rerun), _) => Some(Choice::Rerun),
        (Some(InDoubt::Fail), _) => Some(Choice::Fail),
        (_, Some(Review::Proceed)) => Some(Choice::Proceed),
        (_, Some(Review::Again)) => Some(Choice::Again),
        (_, Some(Review::Ours)) => Some(Choice::Ours),
        (_, Some(Review::Theirs)) => Some(Choice::Theirs),
        (_, Some(Review::Stop)) => Some(Choice::Stop),
        (None, None) => None,
    }
}

/// Creates a live view of a run that has already started.
pub(crate) fn view(store: &Store, run: &RunId) -> Option<Live> {
    let reader = store.reader().ok()?;
    let versions = envoi_engine::load_run(&reader, run).ok()?.versions().clone();
    Live::of_run(run, versions, store.layout(), Some(reader))
}

/// Warns about changed scripts. The flow's text is pinned and scripts are not: a script that is newer than
/// the run's last event may behave differently.
fn warn_of_changed_scripts(store: &Arc<Store>, reader: &Reader, run: &RunId) {
    let (Ok(row), Ok(records)) = (reader.run(run), reader.records(run, 0, None)) else { return };
    let mut warned: Vec<String> = Vec::new();
    for record in &records {
        let Event::AttemptStarted(started) = &record.event else { continue };
        let envoi_kernel::event::Command::Exec(argv) = &started.command else { continue };
        for argument in argv {
            let path = Path::new(&row.workspace).join(&started.cwd).join(argument);
            let changed =
                path.metadata().ok().filter(std::fs::Metadata::is_file).and_then(|meta| meta.modified().ok());
            let newer = changed.is_some_and(|at| millis(at) > row.updated_at.as_millis());
            if newer && !path.starts_with(store.layout().root()) && !warned.contains(argument) {
                say(&format!(
                    "warning: `{argument}` has changed since the run's last event; scripts are not pinned"
                ));
                warned.push(argument.clone());
            }
        }
    }
}

fn millis(at: std::time::SystemTime) -> i64 {
    at.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
