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
use envoi_kernel::{
    Cut, Event, Record,
    event::Command,
    ids::{AttemptId, RunId, Seq},
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn fork(home: &Home, args: &ForkArgs) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let from = select::run_or_meant(store.layout(), &reader, args.run.as_deref(), select::Verb::Fork)?;
    let original = envoi_engine::load_run(&reader, &from)?;
    let id = run::new_id()?;
    let at = args.from.as_deref().map(run::from_step).transpose()?;
    let lived = reader.records(&from, 0, None).map_err(Failure::store)?;
    // The flow that holds at the cut decides what commands may see. If the cut is invalid, the engine reports
    // why.
    let versions = original.versions();
    let cut = Cut::of(versions, &lived, at.as_ref()).ok();
    let there = cut.as_ref().map_or(original.flow(), |cut| cut.flow(versions, &lived));
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
        why: args.reason.clone(),
        by: environment::principal(),
        caller,
        correct: corrected.map(|corrected| corrected.wanted),
        files: restore::set_back(args.files),
        isolate: run::isolate(&args.isolation, None)?,
        from: from.clone(),
    }));
    if let Some(note) = sessions(&lived, cut.map(|cut| cut.at)).filter(|_| !home.json) {
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

/// Describes what happens to the sessions of agent programs in the original run. If a program supports it,
/// the fork's sessions start from the state at the cut. The others start new.
fn sessions(records: &[Record], cut: Option<Seq>) -> Option<String> {
    let begun: BTreeMap<AttemptId, String> = records.iter().filter_map(begun).collect();
    let lived = records.iter().filter(|record| cut.is_some_and(|cut| record.seq <= cut));
    let taken = lived.filter_map(|record| match &record.event {
        Event::AttemptSettled(settled) if settled.session.as_ref()?.last.is_some() => {
            begun.get(&settled.attempt).cloned()
        }
        _ => None,
    });
    let forked: BTreeSet<String> = taken.collect();
    let keys: BTreeSet<String> = begun.into_values().collect();
    let others: Vec<&str> = keys.difference(&forked).map(String::as_str).collect();
    let forked: Vec<&str> = forked.iter().map(String::as_str).collect();
    let verb = |names: &[&str]| if names.len() == 1 { "is" } else { "are" };
    let taken = (!forked.is_empty())
        .then(|| format!("{} {} forked where the original run is cut", forked.join(", "), verb(&forked)));
    let anew =
        (!others.is_empty()).then(|| format!("{} {} not taken over", others.join(", "), verb(&others)));
    let sessions: Vec<String> = taken.into_iter().chain(anew).collect();
    (!sessions.is_empty())
        .then(|| format!("a fork begins new sessions of its agents: {}", sessions.join("; ")))
}

/// Returns an attempt of an agent program and the session that it shares with other attempts.
fn begun(record: &Record) -> Option<(AttemptId, String)> {
    let Event::AttemptStarted(started) = &record.event else { return None };
    let Command::Agent(call) = &started.command else { return None };
    Some((started.attempt.clone(), call.session_key.clone()?))
}
