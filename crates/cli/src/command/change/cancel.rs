//! `envoi cancel`: ends a run. Running steps are ended first.

use crate::{
    process::{
        args::EngineArgs,
        environment,
        failure::{Failure, MACHINE, STOPPED},
    },
    session::{caller::caller_or_none, engine_client, interactive::Conversation},
    store::{home::Home, select},
    view::{cancelling::CancelLines, printer::Printer},
};
use envoi_engine::protocol::Request;

pub(crate) fn cancel(home: &Home, run: Option<&str>) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let run = select::run_or_meant(store.layout(), &reader, run, select::Verb::Cancel)?;
    let request = Request::Cancel {
        run: run.clone(),
        by: environment::principal(),
        caller: Box::new(caller_or_none(&reader, &run)),
    };
    drop(reader);
    let args = EngineArgs { jobs: None, detach: false, take_over: false };
    let mut conversation = Conversation::none(run.clone());
    let _lines = CancelLines::begin(&store, &run);
    let mut printer = Printer::new(run, home.json).quiet();
    // The run is cancelled, so the command succeeded. The run's own exit code is for commands that follow it.
    match engine_client::ask(&store, request, &args, &mut printer, &mut conversation)? {
        STOPPED => Ok(STOPPED),
        // The run could not be ended because of a fault.
        MACHINE => Ok(MACHINE),
        _ => Ok(0),
    }
}
