//! An attempt that runs an agent program: this program itself, with its order in the attempt's folder.

use super::{accounts::AgentAccount, feedback::place_of_feedback, secrets::Known, shared::Shared};
use crate::model::runner::Job;
use envoi_contract::json::Value;
use envoi_kernel::event::{Command, ProgramCall, SessionFigures};
use envoi_preset::{May, Preset};
use envoi_program::{ARGUMENT, Before, ORDER_VARIABLE, Order, SECRET_VARIABLES, USED_FILE};
use envoi_step::{AttemptDir, plain};
use std::{io, path::PathBuf};

/// How a program calls its models through the bridge.
pub(super) struct Bridge {
    url: String,
    variables: Vec<(String, String)>,
}

/// The bridge of an attempt with these variables; none: its step calls models with a login.
///
/// # Errors
/// The step needs the bridge, and there is none.
pub(super) fn bridge(call: &ProgramCall, variables: &[(String, String)]) -> Result<Option<Bridge>, NoBridge> {
    if !call.by_bridge {
        return Ok(None);
    }
    let preset = Preset::named(&call.program).ok_or(NoBridge)?;
    let (url, token) =
        value(variables, "ENVOI_BRIDGE_URL").zip(value(variables, "ENVOI_BRIDGE_TOKEN")).ok_or(NoBridge)?;
    let own = preset.bridge_variables(url, token, call.model.as_deref().unwrap_or(""));
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Some(Bridge { url: url.to_owned(), variables: own }))
}

/// This engine has no bridge.
#[derive(Debug, thiserror::Error)]
#[error(
    "`bridge: true` needs `envoi serve`, and `models` in its config.yaml; start the server and run the flow again"
)]
pub(super) struct NoBridge;

/// The command, after its order has been written, and the variables that it needs.
///
/// # Errors
/// The order cannot be written.
pub(super) fn command(
    shared: &Shared,
    job: &Job,
    dir: &AttemptDir,
    call: &ProgramCall,
    account: Option<&AgentAccount>,
    bridge: Option<Bridge>,
    variables: &mut Vec<(String, String)>,
) -> io::Result<Vec<String>> {
    let place = dir.path().join("agent.json");
    let known = Known::of(shared, job);
    let fresh = if is_session_of_original(shared, job, call)? { Some(without_session(call)) } else { None };
    let call = fresh.as_ref().unwrap_or(call);
    let preset = Preset::named(&call.program);
    let own = preset.map(Preset::variables).unwrap_or_default();
    let permissions = preset.zip(May::of(&call.may)).and_then(|(preset, may)| preset.permissions(may));
    // The flow's own variables come later, and win.
    let own = own.iter().chain(&permissions).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    variables.splice(0..0, own);
    // An account brings its login.
    if let Some(account) = account {
        variables.extend(account.env.iter().chain(&account.secrets).cloned());
    }
    // Programs write times of day, and not always with their zone.
    let sets_zone = |(name, _): &(String, String)| name == ZONE;
    if !job.started.env.iter().chain(account.iter().flat_map(|account| &account.env)).any(sets_zone) {
        variables.push((ZONE.to_owned(), "UTC".to_owned()));
    }
    // They come last: a step that uses the bridge is metered, also if its environment or its account sets other values.
    let bridge = bridge.map(|bridge| {
        variables.extend(bridge.variables);
        bridge.url
    });
    let program = account.and_then(|account| account.program.as_deref()).unwrap_or(&call.program);
    let order = Order {
        program: PathBuf::from(program),
        model: call.model.clone().or_else(|| account?.model.clone()),
        args: account.iter().flat_map(|account| &account.args).chain(&call.args).cloned().collect(),
        home: preset.and_then(|preset| home(preset, variables)),
        is_utc: value(variables, ZONE) == Some("UTC"),
        bridge,
        ..order(job, dir, call, &known)
    };
    plain::write(&place, &serde_json::to_vec(&order)?)?;
    variables.push((ORDER_VARIABLE.to_owned(), place.to_string_lossy().into_owned()));
    let numbered = known.values.into_iter().enumerate();
    variables.extend(numbered.map(|(number, value)| (format!("{SECRET_VARIABLES}{number}"), value)));
    Ok(vec![shared.launcher.exe.to_string_lossy().into_owned(), ARGUMENT.to_owned()])
}

/// The use that the program of an attempt in doubt had reported: of the process alone, because the sums of its session are charged with the
/// next attempt. `None` if the bridge has counted, or if the program reports no calls.
pub(super) fn used(job: &Job, dir: &AttemptDir) -> Option<Value> {
    let Command::Agent(call) = &job.started.command else { return None };
    let text = plain::read(&dir.path().join(USED_FILE), MAX_USED_BYTES).ok().filter(|_| !call.by_bridge)?;
    let reported = Value::parse(&text).ok()?;
    reported.get("llm_calls").and_then(Value::as_u53)?;
    let members = ["llm_calls", "tokens_in", "tokens_out"];
    let known = members
        .into_iter()
        .filter_map(|name| Some((name, reported.get(name).filter(|value| !value.is_null())?.clone())));
    Some(Value::Object(known.map(|(name, value)| (name.to_owned(), value)).collect()))
}

/// It is one line of a few numbers.
const MAX_USED_BYTES: u64 = 4096;

/// Whether the session belongs to the store that this one was copied from, which may go on with it too.
fn is_session_of_original(shared: &Shared, job: &Job, call: &ProgramCall) -> io::Result<bool> {
    let Some(session) = call.session.as_deref() else { return Ok(false) };
    let reader = shared.store.reader();
    reader.and_then(|reader| reader.is_named_by_original(&job.run, session)).map_err(io::Error::other)
}

/// The program chooses a session of its own, and reports it.
fn without_session(call: &ProgramCall) -> ProgramCall {
    ProgramCall {
        session: None,
        fork_of: None,
        resumes: false,
        answer: None,
        before: SessionFigures::default(),
        ..call.clone()
    }
}

/// The variable for the time zone.
const ZONE: &str = "TZ";

/// The last value counts.
fn value<'v>(variables: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let value = variables.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty())
}

/// The folder in which the program keeps its sessions, if its files can be evaluated.
fn home(preset: Preset, variables: &[(String, String)]) -> Option<PathBuf> {
    let (variable, folder) = preset.limits_in()?;
    let own = value(variables, variable).map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(value(variables, "HOME")?).join(folder)))
}

fn order(job: &Job, dir: &AttemptDir, call: &ProgramCall, known: &Known) -> Order {
    let started = &job.started;
    let step = job.flow.step(&started.attempt.visit.step);
    // The session has the output of its own failed try; the error is in `failure`.
    let own = started.feedback.as_ref().is_some_and(|attempt| attempt.visit == started.attempt.visit);
    let has_feedback = started.sent_back_by.is_some() || (started.feedback.is_some() && !own);
    Order {
        preset: call.program.clone(),
        program: PathBuf::new(),
        prompt: call.prompt.clone(),
        may: call.may.clone(),
        model: call.model.clone(),
        turns: call.turns,
        args: call.args.clone(),
        ask: call.ask.clone(),
        answer: call.answer.clone(),
        schema: step.and_then(|step| step.outputs.clone()),
        session: call.session.clone(),
        resumes: call.resumes,
        fork_of: call.fork_of.clone(),
        before: Before {
            tokens_in: call.before.tokens_in,
            tokens_out: call.before.tokens_out,
            nano_usd: call.before.cost.map(envoi_kernel::ledger::Cost::nano_usd),
        },
        feedback: has_feedback.then(|| place_of_feedback(dir)),
        failure: call.failure.clone(),
        cut_off: call.cut_off,
        set_back: started.set_back.is_some(),
        idle_ms: call.idle_ms,
        denials: call.denials,
        // The bridge tests both before each call, and has the true prices.
        max_calls: started.reserved.filter(|_| !call.by_bridge).and_then(|budget| budget.llm_calls),
        max_cost: started
            .reserved
            .filter(|_| !call.by_bridge)
            .and_then(|budget| budget.cost)
            .map(|cost| cost.to_string()),
        bridge: None,
        was_throttled: call.was_throttled,
        home: None,
        is_utc: false,
        folder: dir.path().to_owned(),
        report: dir.report(),
        output: dir.output(),
        secrets: known.values.len(),
        hides: !known.missing.is_empty(),
    }
}
