//! `envoi apply`: what a run has changed in its own tree comes into the folder that the tree was made from.

use crate::{
    process::{
        args::{ApplyArgs, EngineArgs},
        environment,
        failure::Failure,
    },
    session::{caller::caller_or_none, engine_client, interactive::Conversation},
    store::{home::Home, select},
    view::printer::Printer,
};
use envoi_engine::protocol::{Applied, ApplyRequest, Request};

/// What the arguments want.
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
    let run = select::run_or_newest(&reader, run)?;
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
