//! `envoi raise`: lets a run use more than its flow allows. A run that ended at a bound goes on.

use super::resume::view;
use crate::{
    process::{args::RaiseArgs, environment, failure::Failure},
    session::{background, caller::caller, engine_client, interactive::Conversation},
    store::{home::Home, select},
    view::printer::Printer,
};
use envoi_contract::code::Code;
use envoi_engine::protocol::{Request, ResumeRequest};
use envoi_kernel::{
    ids::RunId,
    ledger::{Cost, Ledger},
};

pub(crate) fn raise(home: &Home, args: &RaiseArgs) -> Result<u8, Failure> {
    let more = more(args)?;
    let (store, reader) = home.store()?;
    let run = select::run_or_meant(store.layout(), &reader, args.run.as_deref(), select::Verb::Raise)?;
    let request = Request::Resume(Box::new(ResumeRequest {
        raise: Some(more),
        why: args.reason.clone(),
        ..ResumeRequest::follow(run.clone(), environment::principal(), caller(&reader, &run)?)
    }));
    drop(reader);
    if args.engine.detach {
        let run = background::detach(&store, &request, args.engine.jobs)?;
        return background::print_run(&run, home.json);
    }
    let mut conversation = Conversation::new(run.clone(), home.json);
    let seen = |run: &RunId| view(&store, run);
    let mut printer = Printer::new(run, home.json)
        .reads(store.reader().ok())
        .live(seen)
        .watches(store.layout())
        .asks_in_place(conversation.is_possible());
    engine_client::ask(&store, request, &args.engine, &mut printer, &mut conversation)
}

pub(crate) fn more(args: &RaiseArgs) -> Result<Ledger, Failure> {
    let bad = |name: &str, text: &str, expected: &str| {
        Failure::new(Code::RequestInvalid, format!("--{name} {text}: expected {expected}"))
    };
    let time = |name: &str, text: Option<&str>| match text {
        Some(text) => envoi_flow::parse_duration(text.trim_start_matches('+'))
            .ok_or_else(|| bad(name, text, "a duration such as 10m")),
        None => Ok(0),
    };
    let cost = match args.cost_usd.as_deref() {
        Some(text) => Cost::parse(text.trim_start_matches(['+', '$']))
            .ok_or_else(|| bad("cost-usd", text, "dollars such as 2.50, at most 18446744073"))?,
        None => Cost::default(),
    };
    Ok(Ledger {
        agent_hops: args.agent_hops.unwrap_or(0),
        iterations: args.iterations.unwrap_or(0),
        rounds: args.rounds.unwrap_or(0),
        llm_calls: args.llm_calls.unwrap_or(0),
        wall_time_ms: time("wall-time", args.wall_time.as_deref())?,
        waiting_ms: time("waiting", args.waiting.as_deref())?,
        cost,
        ..Ledger::default()
    })
}
