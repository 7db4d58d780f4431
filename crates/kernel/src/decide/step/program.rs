//! An `agent` step: the session of its next attempt, and the last attempt's report of it.
//!
//! The id of a session is derived in the decision that announces an attempt, so that it is committed before the program starts.
//! Every further attempt resumes it: another try, another round of a loop, the attempt after one whose end is not known. How a
//! program is started is not known here.

use crate::{
    decide::{
        draft::{At, Draft},
        own_login,
        render::Values,
        throttle,
    },
    model::{
        command::{Command, ProgramCall, SessionFigures},
        event::SessionSeen,
        flow::{AfterWait, ProgramPlan},
        ids::{VisitId, derived, is_session_id},
        input::AttemptResult,
        ledger::{Cost, Ledger},
        size::shortened,
    },
    state::{
        bounds::{self, NoCall},
        program_session,
        visit::OpenVisit,
    },
};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::Value,
    skill_report::{SkillError, SkillReport, Verdict},
};

/// The call for the next attempt of `visit`; `instead`: the program that goes on in place of the one that the step names.
pub(crate) fn call(
    draft: &Draft<'_>,
    values: &Values<'_>,
    plan: &ProgramPlan,
    at: &At<'_>,
    visit: &VisitId,
    instead: bool,
) -> Result<Command, SkillError> {
    let step = at.step;
    let open = draft.control.open.get(visit);
    let other = match &plan.on_throttled.then {
        AfterWait::Use(other) if instead => Some(other),
        _ => None,
    };
    // A session that is live elsewhere is not waited for a second time: this visit begins afresh.
    let key = program_session::key(step, visit, instead)
        .filter(|key| !program_session::is_live(&draft.control.open, visit, key));
    let known = key.as_deref().and_then(|key| draft.control.sessions.known(key));
    let (session, resumes, before) = match known {
        Some((id, figures)) => (Some(id.to_owned()), true, figures.clone()),
        None if other.is_some_and(|other| !other.takes_session_id) => {
            (None, false, SessionFigures::default())
        }
        None => (
            (other.is_some() || plan.takes_session_id).then(|| new_id(draft)).flatten(),
            false,
            SessionFigures::default(),
        ),
    };
    let takes_id = other.map_or(plan.takes_session_id, |other| other.takes_session_id);
    let fork_of = key.as_deref().filter(|_| takes_id).and_then(|key| draft.control.sessions.fork_of(key));
    // Only the session that has put the call off can go on with it.
    let answer = open.and_then(|open| open.tool_approval.decided()).filter(|_| resumes && !instead);
    // A limit of the account does not concern the work.
    let was_throttled = open.is_some_and(|open| open.waited.refused);
    let failure =
        open.filter(|open| open.failures > 0 && !was_throttled).and_then(|open| open.error.as_ref());
    let account = other.map_or(&plan.account, |other| &other.account);
    let login_variables = other.map_or(plan.login_variables, |other| other.login_variables);
    let limits_of = own_login::limits_of(draft, at.flow, step, (account, login_variables));
    let model = if let Some(other) = other { &other.model } else { &plan.model };
    let args = other.map_or(&plan.args, |other| &other.args);
    let call = ProgramCall {
        program: other.map_or(&plan.program, |other| &other.name).clone(),
        account: Some(account.clone()),
        refusals: throttle::refusals(draft, limits_of.as_deref().unwrap_or(account)),
        limits_of,
        instead,
        by_bridge: plan.by_bridge,
        was_throttled: was_throttled && resumes,
        prompt: values.value(&plan.prompt)?,
        may: plan.may.clone(),
        model: model.as_ref().map(|model| values.value(model)).transpose()?,
        turns: plan.turns.filter(|_| !instead),
        args: args.iter().map(|argument| values.value(argument)).collect::<Result<_, _>>()?,
        ask: plan.ask.calls.clone(),
        answer: answer.cloned().map(Box::new),
        idle_ms: Some(plan.idle_ms),
        denials: plan.denials,
        session_key: key,
        session,
        resumes,
        fork_of: fork_of.cloned(),
        before,
        failure: failure.map(|error| format!("{}: {}", error.code, error.message)),
        cut_off: open.is_some_and(|open| open.doubts > 0),
    };
    Ok(Command::Agent(Box::new(call)))
}

/// Corrects the verdict of an attempt whose program calls its models through the bridge.
///
/// The bridge metered all use: the program's own figures are not counted beside it. A program that was refused a call, because the
/// attempt or the run may make no more, reports that in its own way: as a limit of its account, or as missing credit, or it retries in
/// silence until `idle` ends it. Then the error names the true cause. So it does if the provider had stated a limit to a program that
/// retried in silence. Returns whether it goes on once a limit of the run is higher.
pub(crate) fn stopped(draft: &Draft<'_>, open: &OpenVisit, verdict: &mut Verdict, metered: &Ledger) -> bool {
    let Some(plan) = open.plan.as_ref() else { return false };
    let Command::Agent(call) = &plan.command else { return false };
    if !call.by_bridge {
        return false;
    }
    if let Some(report) = verdict.report.as_mut().filter(|_| metered.llm_calls > 0) {
        report.metrics = None;
    }
    let Some(error) = verdict.error.as_mut().filter(|error| REFUSED.iter().any(|code| error.is(*code)))
    else {
        return false;
    };
    // It waits for the answer to a call that was granted.
    if error.is(Code::AgentIdle) && draft.control.accounts.is_calling(&plan.attempt) {
        return false;
    }
    let Some(bound) = bounds::for_a_call(&draft.flow.limits, &draft.control, Some(&plan.attempt)) else {
        let until = draft.control.accounts.refused_until(&plan.attempt);
        if let Some(until) = until.filter(|until| *until > draft.now && error.is(Code::AgentIdle)) {
            *error = SkillError::new(
                Code::AgentThrottled,
                format!("the provider takes no model call until {until}"),
            );
        }
        return false;
    };
    let is_of_the_run = matches!(bound, NoCall::ByTheRun(_));
    *error =
        SkillError::new(Code::AgentBudget, format!("no further model call may begin: {}", bound.reason()));
    is_of_the_run
}

/// The codes that a refusal of the bridge is reported as: by programs, and for a program that was ended because it was silent.
const REFUSED: [Code; 4] = [Code::AgentThrottled, Code::AgentBilling, Code::AgentBudget, Code::AgentIdle];

/// In the form of a UUID, which programs want.
fn new_id(draft: &Draft<'_>) -> Option<String> {
    let run = draft.run().ok()?;
    let seed = derived(run, draft.control.next_seq, draft.now);
    Some(Digest::of(format!("agent session {run} {seed}").as_bytes()).uuid('4'))
}

/// A sentence about the calls of tools that were refused in an attempt that succeeded all the same, because its step allows that.
pub(crate) fn tolerated(open: &OpenVisit, report: &SkillReport) -> Option<String> {
    let Command::Agent(call) = &open.plan.as_ref()?.command else { return None };
    let refused = report.unknown.get("agent")?.get("denied")?.as_array()?;
    let named: Vec<&str> = refused.iter().filter_map(Value::as_str).collect();
    let (calls, were) = if refused.len() == 1 { ("call", "was") } else { ("calls", "were") };
    let named = shortened(named.join("; "), MAX_SHOWN_BYTES);
    let allowed = call.denials;
    Some(format!("{} {calls} of a tool {were} refused (`denials` allows {allowed}): {named}", refused.len()))
}

/// The longest part of a warning about the calls that were refused.
const MAX_SHOWN_BYTES: usize = 1000;

/// The session that the report of the live attempt of a visit names.
pub(crate) fn reported(open: &OpenVisit, result: &AttemptResult) -> Option<SessionSeen> {
    open.plan.as_ref().filter(|plan| matches!(plan.command, Command::Agent(_)))?;
    let report = SkillReport::decode(result.report.as_deref()?).ok()?;
    seen(report.unknown.get("agent")?.get("session")?)
}

/// The session that the program of the live attempt had named before it was ended without a report. Its use is not known: the sums
/// are those from before.
pub(crate) fn named(open: &OpenVisit, result: &AttemptResult) -> Option<SessionSeen> {
    let Command::Agent(call) = &open.plan.as_ref()?.command else { return None };
    let id = result.session.as_ref().filter(|id| is_session_id(id))?;
    Some(SessionSeen { id: id.clone(), figures: call.before.clone(), last: None })
}

/// The session that is known of an attempt whose end is not.
pub(crate) fn left(open: Option<&OpenVisit>, evidence: &Value) -> Option<SessionSeen> {
    let plan = open?.plan.as_ref()?;
    let Command::Agent(call) = &plan.command else { return None };
    let seen = seen(evidence.get("session")?)?;
    // Its use is not known: the sums are those from before.
    Some(SessionSeen { figures: call.before.clone(), ..seen })
}

fn seen(session: &Value) -> Option<SessionSeen> {
    let id = session.get("id").and_then(Value::as_str)?;
    let count = |name: &str| session.get(name).and_then(Value::as_u53);
    let figures = SessionFigures {
        tokens_in: count("tokens_in"),
        tokens_out: count("tokens_out"),
        cost: session.get("cost_usd").and_then(Value::as_str).and_then(Cost::parse),
    };
    let last = session.get("last").and_then(Value::as_str).filter(|last| is_session_id(last));
    is_session_id(id).then(|| SessionSeen { id: id.to_owned(), figures, last: last.map(str::to_owned) })
}
