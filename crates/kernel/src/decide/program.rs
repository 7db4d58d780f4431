//! An `agent` step: with which session its next attempt goes on, and what the last one reports of it.
//!
//! The id of a session is derived in the decision that announces an attempt, so that it is committed before the program starts.
//! Every further attempt resumes it: another try, another round of a loop, the attempt after one whose end is not known. How a
//! program is started is not known here.

use crate::{
    decide::{draft::Draft, render::Values},
    model::{
        command::{Command, ProgramCall, SessionFigures},
        event::SessionSeen,
        flow::{ProgramPlan, Step},
        ids::{VisitId, derived},
        input::AttemptResult,
        ledger::Cost,
    },
    state::{program_session, visit::OpenVisit},
};
use envoi_contract::{
    digest::Digest,
    json::Value,
    skill_report::{SkillError, SkillReport},
};

/// The longest id of a session that is kept.
const MAX_ID_BYTES: usize = 200;

/// What the next attempt of `visit` starts.
pub(crate) fn call(
    draft: &Draft<'_>,
    values: &Values<'_>,
    plan: &ProgramPlan,
    step: &Step,
    visit: &VisitId,
) -> Result<Command, SkillError> {
    let open = draft.control.open.get(visit);
    let key = program_session::key(step, visit);
    let known = key.as_deref().and_then(|key| draft.control.sessions.known(key));
    let (session, resumes, before) = match known {
        Some((id, figures)) => (Some(id.to_owned()), true, figures.clone()),
        None => (plan.takes_session_id.then(|| new_id(draft)).flatten(), false, SessionFigures::default()),
    };
    let failure = open.filter(|open| open.failures > 0).and_then(|open| open.error.as_ref());
    let call = ProgramCall {
        program: plan.program.clone(),
        prompt: values.value(&plan.prompt)?,
        may: plan.may.clone(),
        model: plan.model.as_ref().map(|model| values.value(model)).transpose()?,
        turns: plan.turns,
        args: plan.args.iter().map(|argument| values.value(argument)).collect::<Result<_, _>>()?,
        session_key: key,
        session,
        resumes,
        before,
        failure: failure.map(|error| format!("{}: {}", error.code, error.message)),
        cut_off: open.is_some_and(|open| open.doubts > 0),
    };
    Ok(Command::Agent(Box::new(call)))
}

/// In the form of a UUID, which programs want.
fn new_id(draft: &Draft<'_>) -> Option<String> {
    let run = draft.run().ok()?;
    let seed = derived(run, draft.control.next_seq, draft.now);
    let hex = Digest::of(format!("agent session {run} {seed}").as_bytes()).hex();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Some(format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30)))
}

/// The session that the report of the live attempt of a visit names.
pub(crate) fn reported(open: &OpenVisit, result: &AttemptResult) -> Option<SessionSeen> {
    open.plan.as_ref().filter(|plan| matches!(plan.command, Command::Agent(_)))?;
    let report = SkillReport::decode(result.report.as_deref()?).ok()?;
    seen(report.unknown.get("agent")?.get("session")?)
}

/// The session that is known of an attempt whose end is not.
pub(crate) fn left(open: Option<&OpenVisit>, evidence: &Value) -> Option<SessionSeen> {
    let plan = open?.plan.as_ref()?;
    let Command::Agent(call) = &plan.command else { return None };
    let seen = seen(evidence.get("session")?)?;
    // What it used is not known: the sums are those from before.
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
    let is_id = !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.contains(char::is_control);
    is_id.then(|| SessionSeen { id: id.to_owned(), figures })
}
