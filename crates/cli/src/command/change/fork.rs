//! `envoi fork`: a new run that starts from a step of a finished run.

use super::{correct, run};
use crate::command::restore;
use crate::{
    process::{args::ForkArgs, environment, failure::Failure, messages},
    session::{background, engine_client, interactive::Conversation},
    store::{home::Home, select},
    view::printer::Printer,
};
use envoi_engine::protocol::{ForkRequest, Request};
use envoi_kernel::{Cut, Event, Record, event::Command, ids::RunId};
use std::collections::BTreeSet;

pub(crate) fn fork(home: &Home, args: &ForkArgs) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let from = select::run_or_meant(store.layout(), &reader, args.run.as_deref(), select::Verb::Fork)?;
    let original = envoi_engine::load_run(&reader, &from)?;
    let id = run::new_id()?;
    let at = args.from.as_deref().map(run::from_step).transpose()?;
    let lived = reader.records(&from, 0, None).unwrap_or_default();
    // What the flow may see that holds where the run is cut; the engine says what is wrong with the place.
    let versions = original.versions();
    let there =
        Cut::of(versions, &lived, at.as_ref()).map_or(original.flow(), |cut| cut.flow(versions, &lived));
    let corrected = args.flow.as_deref().map(correct::of_file).transpose()?;
    let caller = match &corrected {
        Some(corrected) => corrected.caller(),
        None => crate::session::caller::caller_under(there, &original),
    };
    let mut flow = versions.clone();
    corrected.iter().for_each(|corrected| flow.add(corrected.flow()));
    let request = Request::Fork(Box::new(ForkRequest {
        run: id.clone(),
        step: at,
        workspace: run::workspace_use(args.copy, args.share_workspace),
        yes_to: run::yes_to(&args.yes_to)?,
        why: args.why.clone(),
        by: environment::principal(),
        caller,
        correct: corrected.map(|corrected| corrected.wanted),
        files: restore::set_back(args.files),
        isolate: run::isolate(&args.isolation, None)?,
        from: from.clone(),
    }));
    if let Some(note) =
        sessions(&reader.records(&from, 0, None).map_err(Failure::store)?).filter(|_| !home.json)
    {
        messages::say(&note);
    }
    drop(reader);
    if args.engine.detach {
        let run = background::detach(&store, &request, args.engine.jobs)?;
        return background::print_run(&run, home.json);
    }
    let mut conversation = Conversation::new(id.clone(), home.json);
    let view =
        |run: &RunId| crate::view::live::Live::of_run(run, flow.clone(), store.layout(), store.reader().ok());
    let mut printer = Printer::new(id, home.json)
        .reads(store.reader().ok())
        .live(view)
        .watches(store.layout())
        .asks_in_place(conversation.is_possible())
        .forks();
    engine_client::ask(&store, request, &args.engine, &mut printer, &mut conversation)
}

/// The sessions of agent programs in the original run. The fork does not continue them.
fn sessions(records: &[Record]) -> Option<String> {
    let key = |record: &Record| match &record.event {
        Event::AttemptStarted(started) => match &started.command {
            Command::Agent(call) => call.session_key.clone(),
            Command::Exec(_) | Command::Shell(_) | Command::A2a(_) | Command::Model(_) => None,
        },
        _ => None,
    };
    let keys: Vec<String> = records.iter().filter_map(key).collect::<BTreeSet<_>>().into_iter().collect();
    let verb = if keys.len() == 1 { "is" } else { "are" };
    let names = keys.join(", ");
    (!keys.is_empty())
        .then(|| format!("a fork begins new sessions of its agents: {names} {verb} not taken over"))
}
