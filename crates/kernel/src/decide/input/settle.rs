//! An attempt is over, or in doubt.
//!
//! Owns the verdict, what is stored of an attempt, and the order of what may follow: another try, a person, or the end of
//! the visit.

use crate::state::visit::{self, OpenVisit};
use crate::{
    decide::{
        advance::advance,
        agent,
        conclude::{self, Conclusion},
        data::GivenData,
        draft::{At, Draft},
        merge, program, retry, takeover, throttle, verify,
    },
    model::{
        event::{About, AgentOutcome, AttemptSettled, CacheUse, Event, FilesSetBack, Outcome, TimerSet},
        files::{Change, Changed, FileChange, Manifest, Many, Snapshot},
        flow::{CommandPlan, InDoubtPolicy, Step, StepKind},
        ids::{AttemptId, FlowId, VisitId},
        input::{AttemptResult, Refusal},
        ledger::Budget,
        size,
        test_result::result_of,
    },
    state::{
        budget,
        doubt::{self, VerificationResult},
    },
};
use envoi_contract::code::Code;
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    skill_report::{self, Fill, Observed, SkillError, Verdict},
};

/// How often `on_in_doubt: rerun` runs a visit again by itself: a command that ends its own supervisor, or a machine
/// without room, would otherwise run for ever. Then a person decides.
pub const MAX_RERUNS: u32 = 3;

/// The member of an attempt's evidence that says `true` if the attempt was begun before its store was copied: a person
/// decides about it, whatever the step says about doubt.
pub const COPIED: &str = "copied";

/// The member of the evidence of doubt that has the calls of a model which the attempt has sent, as far as is known. They are charged.
pub const CALLS: &str = "llm_calls";

/// The member of the evidence of doubt that says `true` if the attempt asks a model and has certainly sent nothing that counts: then nothing
/// was paid for, and it is run again without a question.
pub const NOTHING_SENT: &str = "nothing_sent";

/// The member of the evidence of doubt that has what an agent program had reported of its use, as the metrics of a report. It is charged.
pub const USED: &str = "used";

/// The member of an attempt's evidence with the digest of the snapshot of the workspace before it.
pub const WORKSPACE_BEFORE: &str = "workspace_before";

/// The member that says `true` if another attempt was at work there then.
pub const WORKSPACE_MOVING: &str = "workspace_moving";

/// The member that says which files were set back before it.
pub const SET_BACK: &str = "set_back";

/// The member that says what files of the cache have displaced, where no result has come.
pub const CACHE: &str = "cache";

/// Input: an attempt is over.
pub(crate) fn settled(mut draft: Draft<'_>, mut result: AttemptResult) -> Result<Draft<'_>, Refusal> {
    let attempt = result.attempt.clone();
    let late = !is_live(&draft, &attempt)?;
    let at = match draft.at(&attempt.visit) {
        // A corrected flow has no such step any more: nothing says what its report would have to be.
        Err(_) if late => {
            let ok = matches!(result.outcome, Outcome::Exited { code: 0 });
            let verdict = Verdict { ok, error: None, report: None, filled: Vec::new() };
            let settled = record(result, &verdict, GivenData::default(), late);
            draft.emit(Event::AttemptSettled(Box::new(settled)))?;
            return advance(draft);
        }
        at => at?,
    };
    let open = draft.control.open.get(&attempt.visit).filter(|_| !late);
    let verified = open.and_then(visit::verified).cloned();
    let verification = open.and_then(|open| visit::verification(open, &result.outcome));
    let agent_outcome = open.and_then(|open| agent::outcome(open, &result));
    let denied = open.is_some_and(agent::tells_a_denial);
    let named = open.and_then(|open| program::named(open, &result));
    let session = open.and_then(|open| program::reported(open, &result)).or(named);
    if matches!(agent_outcome, Some(AgentOutcome::Asks { .. })) {
        // What it asks is not yet what it is to leave.
        result.misfit = None;
    }
    let merges = open.is_some_and(|open| visit::merging(open).is_some());
    // A merge leaves nothing of what the step is to leave.
    let plain = Step::new(at.step.id.clone(), StepKind::Run(CommandPlan::Exec(Vec::new())));
    let step = if merges { &plain } else { at.step };
    let (verdict, data) = with_data(step, &result, judge(step, &result, verification.is_none()));
    let verdict = verify::judged(verification, verified.as_ref(), verdict);
    let (_, metered) = draft.control.accounts.of(&attempt);
    let mut verdict = verdict;
    let stopped = open.is_some_and(|open| program::stopped(&draft, open, &mut verdict, &metered));
    let mut verdict = budget::hold(verdict, reserved(&draft, &attempt), &metered);
    verdict.error = verdict.error.map(size::of_error);
    let throttled = open
        .filter(|_| verification.is_none() && !merges)
        .and_then(|open| throttle::refused(&draft, at.step, open, &result, &verdict));
    let agent_outcome = agent_outcome
        .filter(|agent_outcome| verdict.ok == matches!(agent_outcome, AgentOutcome::Asks { .. }));
    let account = open.and_then(throttle::account).filter(|_| throttled.is_none()).map(str::to_owned);
    let tolerated =
        open.filter(|_| verdict.ok).and_then(|open| program::tolerated(open, verdict.report.as_ref()?));
    let stderr = result.stderr_tail.clone();
    let text = result.text.clone();
    let mut settled = AttemptSettled {
        given_up: draft.control.ending.contains_key(&attempt),
        flow: flow_beside_the_runs_own(&at),
        agent: agent_outcome.clone(),
        session,
        throttled: throttled.clone(),
        ..record(result, &verdict, data, late)
    };
    settled.warnings.extend(tolerated);
    draft.emit(Event::AttemptSettled(Box::new(settled.clone())))?;
    if late {
        return advance(draft);
    }
    if let Some(account) = account {
        throttle::passed(&mut draft, &account);
    }
    let is_over_its_bound =
        stopped && settled.has_failed_with(Code::AgentBudget) && !draft.control.winds_down();
    let needs_a_person = agent_outcome.is_some_and(|outcome| outcome != AgentOutcome::Over);
    if merges {
        merge::follow(&mut draft, &settled, verdict.error, text)?;
    } else if let Some(result @ (VerificationResult::DidNotHappen | VerificationResult::Unknown)) =
        verification
    {
        verify::follow(&mut draft, &settled, result, &stderr)?;
    } else if let Some(throttled) = &throttled {
        throttle::follow(&mut draft, at.step, &settled, throttled, text)?;
    } else if denied {
        agent::deny(&mut draft, &attempt.visit)?;
    } else if is_over_its_bound {
        // It goes on once the bound is higher: the next start asks for that, or ends the run.
        again_at_once(&mut draft, &attempt.visit)?;
    } else if needs_a_person {
        agent::follow(&mut draft, at.step, &settled, verdict.error)?;
    } else if let Some(error) = verdict.error {
        if !try_again(&mut draft, at.step, &settled)? {
            let would_go_on = is_cut_short(&draft, at.step, &settled);
            let conclusion = match draft.control.winds_down() && would_go_on {
                true => Conclusion::CutShort(error, text),
                false => Conclusion::FailedAfter(error, text),
            };
            conclude::conclude(&mut draft, &attempt.visit, conclusion)?;
        }
    } else {
        conclude::conclude(&mut draft, &attempt.visit, Conclusion::Succeeded(text))?;
    }
    advance(draft)
}

/// Input: the end of an attempt is not known.
pub(crate) fn in_doubt<'a>(
    mut draft: Draft<'a>,
    attempt: &AttemptId,
    evidence: Value,
) -> Result<Draft<'a>, Refusal> {
    let given_up = draft.control.ending.contains_key(attempt);
    if !is_live(&draft, attempt)? && !given_up {
        return Err(Refusal::NotLive { attempt: attempt.clone() });
    }
    let at = draft.at(&attempt.visit)?;
    let step = at.step;
    let error = doubt::error(attempt);
    let ran_ms = evidence.get("ran_ms").and_then(Value::as_u53).unwrap_or(0);
    let settled = AttemptSettled {
        attempt: attempt.clone(),
        outcome: Outcome::InDoubt { evidence: evidence.clone() },
        ok: false,
        error: Some(error.clone()),
        text: None,
        text_cut: false,
        report: None,
        data: Value::Null,
        data_kept: None,
        metrics: used(&evidence),
        files: Vec::new(),
        manifest: None,
        started_at: draft.now,
        duration_ms: ran_ms,
        warnings: Vec::new(),
        late: given_up,
        given_up,
        flow: flow_beside_the_runs_own(&at),
        workspace_digest: None,
        workspace_moving: false,
        workspace_before: workspace_before(&evidence),
        set_back: set_back(&evidence),
        cache: cache(&evidence),
        agent: None,
        report_filled: Vec::new(),
        session: program::left(draft.control.open.get(&attempt.visit), &evidence),
        taken: None,
        throttled: None,
        test_result: None,
    };
    draft.emit(Event::AttemptSettled(Box::new(settled.clone())))?;
    if given_up {
        return advance(draft);
    }
    if let Some(open) = draft.control.open.get(&attempt.visit)
        && let Some(verification) = visit::verification(open, &settled.outcome)
    {
        verify::follow(&mut draft, &settled, verification, "")?;
        return advance(draft);
    }
    if draft.control.winds_down() {
        let conclusion = match step.on_in_doubt {
            InDoubtPolicy::Fail => Conclusion::Failed(error),
            _ => Conclusion::CutShort(error, String::new()),
        };
        conclude::conclude(&mut draft, &attempt.visit, conclusion)?;
        return advance(draft);
    }
    let question = format!(
        "Attempt `{attempt}` was started and nobody knows whether it finished. Run it again, or fail?"
    );
    // What a policy does by itself, a rerun or a verification, could act where the attempt still runs.
    let is_of_copied = evidence.get(COPIED) == Some(&Value::Bool(true));
    let merges = draft.control.open.get(&attempt.visit).is_some_and(|open| visit::merging(open).is_some());
    // A merge begins with the files that the first one began with, and comes to the same.
    let policy = if merges { &InDoubtPolicy::Rerun } else { &step.on_in_doubt };
    match policy {
        _ if is_of_copied => ask_about(&mut draft, attempt, question, evidence)?,
        InDoubtPolicy::Ask
            if evidence.get(NOTHING_SENT) == Some(&Value::Bool(true))
                && doubts(&draft, attempt) <= MAX_RERUNS => {}
        InDoubtPolicy::Ask => ask_about(&mut draft, attempt, question, evidence)?,
        // Nothing starts before the correction, and the correction waits for what is in doubt.
        InDoubtPolicy::Verify(_) if takeover::goes_back(&draft) => {
            ask_about(&mut draft, attempt, question, evidence)?;
        }
        // The next attempt is the verification.
        InDoubtPolicy::Verify(_) => {}
        InDoubtPolicy::Rerun if doubts(&draft, attempt) <= MAX_RERUNS => {}
        InDoubtPolicy::Rerun => {
            let question =
                format!("{question} It has been run again {MAX_RERUNS} times, and was in doubt each time.");
            ask_about(&mut draft, attempt, question, evidence)?;
        }
        InDoubtPolicy::Fail => conclude::conclude(&mut draft, &attempt.visit, Conclusion::Failed(error))?,
    }
    advance(draft)
}

/// Asks what is to become of an attempt in doubt. A correction that waited for it takes over first: one question is enough. One that
/// runs steps again waits for the answer.
fn ask_about(
    draft: &mut Draft<'_>,
    attempt: &AttemptId,
    question: String,
    evidence: Value,
) -> Result<(), Refusal> {
    if takeover::is_due(draft) && !takeover::goes_back(draft) {
        takeover::take_over_now(draft)?;
        if draft.control.phase.ended().is_some() || !draft.control.open.contains_key(&attempt.visit) {
            return Ok(());
        }
    }
    conclude::raise(draft, &attempt.visit, About::InDoubt, question, evidence)
}

/// What is known of the use of an attempt in doubt, as its evidence says it.
fn used(evidence: &Value) -> Object {
    if let Some(used) = evidence.get(USED).and_then(Value::as_object) {
        return used.clone();
    }
    let calls = evidence.get(CALLS).and_then(Value::as_u53);
    calls.map(|calls| Object::from([("llm_calls", Value::from(calls))])).unwrap_or_default()
}

/// The snapshot before an attempt in doubt, as its evidence says it.
fn workspace_before(evidence: &Value) -> Option<Snapshot> {
    let digest = Digest::parse(evidence.get(WORKSPACE_BEFORE)?.as_str()?)?;
    Some(Snapshot { digest, moving: evidence.get(WORKSPACE_MOVING) == Some(&Value::Bool(true)) })
}

/// How the files were set back before an attempt in doubt, as its evidence says it.
fn set_back(evidence: &Value) -> Option<Box<FilesSetBack>> {
    serde_json::from_str(&evidence.get(SET_BACK)?.compact()).ok()
}

/// What files of the cache have displaced before an attempt in doubt, as its evidence says it.
fn cache(evidence: &Value) -> Option<Box<CacheUse>> {
    serde_json::from_str(&evidence.get(CACHE)?.compact()).ok()
}

/// Attempts of this visit that have been in doubt.
fn doubts(draft: &Draft<'_>, attempt: &AttemptId) -> u32 {
    draft.control.open.get(&attempt.visit).map_or(0, |open| open.doubts)
}

/// Live, or else given up as in doubt; anything else is refused.
fn is_live(draft: &Draft<'_>, attempt: &AttemptId) -> Result<bool, Refusal> {
    if draft.control.is_live(attempt) {
        return Ok(true);
    }
    if draft.control.abandoned.contains(attempt) {
        return Ok(false);
    }
    Err(Refusal::NotLive { attempt: attempt.clone() })
}

/// What a live attempt was started with as its budget.
fn reserved(draft: &Draft<'_>, attempt: &AttemptId) -> Option<Budget> {
    let plan = draft.control.open.get(&attempt.visit)?.plan.as_ref()?;
    plan.reserved.filter(|_| plan.attempt == *attempt)
}

/// A verdict on an attempt; `own` says whether it did the step's own work, whose exit codes may state something.
fn judge(step: &Step, result: &AttemptResult, own: bool) -> Verdict {
    if let Outcome::CannotStart { reason } = &result.outcome {
        let error = SkillError::new(Code::ToolCannotStart, reason.clone());
        return Verdict { ok: false, error: Some(error), report: None, filled: Vec::new() };
    }
    let (exit, signal) = match result.outcome {
        // A code that the flow maps to a status is an answer of the step, not a failure.
        Outcome::Exited { code } if own && step.routing.status_from_exit.contains_key(&code) => {
            (Some(0), None)
        }
        Outcome::Exited { code } => (Some(code), None),
        Outcome::Signalled { signal } => (None, Some(signal)),
        _ => (None, None),
    };
    let ended = result.started_at.saturating_add_ms(result.duration_ms);
    // The supervisor has cut it: how large it was is not known.
    let report = result.report.as_deref().filter(|report| !size::is_cut_document(report));
    let too_large = (result.report.is_some() && report.is_none()).then_some(size::CUT_DOCUMENT);
    let verdict = skill_report::judge(&Observed {
        exit,
        signal,
        timed_out: result.outcome == Outcome::TimedOut,
        cancelled: result.outcome == Outcome::Cancelled,
        stderr: &result.stderr_tail,
        report_text: report,
        report_unreadable: result.report_place.unreadable.as_deref().or(too_large),
        assigned: result.report_place.assigned,
        declared: step.skill.is_some(),
        skill: step.skill.as_deref(),
        fill: Fill { skill_name: step.id.as_str(), generated_at: &ended.to_string() },
    });
    // These make a success a failure. An attempt that failed otherwise keeps the reason that it has.
    let reasons = [
        (Code::ValueTooLarge, &result.excess),
        (Code::ArtifactMissing, &result.lacking),
        (Code::OutputInvalid, &result.misfit),
    ];
    let reason = reasons.into_iter().find_map(|(code, message)| Some((code, message.as_ref()?)));
    match reason {
        Some((code, message)) if verdict.ok => {
            let error = SkillError::new(code, message.clone());
            Verdict { ok: false, error: Some(error), ..verdict }
        }
        _ => verdict,
    }
}

/// The data that it hands over. Of an attempt that has failed anyway it is what can be read.
fn with_data(step: &Step, result: &AttemptResult, verdict: Verdict) -> (Verdict, GivenData) {
    match GivenData::of(step, result) {
        Ok(data) => (verdict, data),
        Err(error) if verdict.ok => {
            (Verdict { ok: false, error: Some(error), ..verdict }, GivenData::default())
        }
        Err(_) => (verdict, GivenData::default()),
    }
}

fn record(result: AttemptResult, verdict: &Verdict, data: GivenData, late: bool) -> AttemptSettled {
    let report = verdict.report.as_ref();
    // What an earlier run has paid for costs nothing.
    let is_cached = result.cache.as_ref().is_some_and(|cache| cache.from.is_some());
    let metrics = report.filter(|_| !is_cached).and_then(|report| report.metrics.clone()).unwrap_or_default();
    let (files, manifest) = handed_over(result.files, result.manifest, verdict.ok);
    // Views have the text of a step that succeeded, and the stderr of one that failed: what each of them lacks is kept.
    let test_result = match &verdict.error {
        None => result_of(&result.stderr_tail),
        Some(error) if error.is(Code::ToolExitNonZero) => {
            result_of(&result.text).filter(|_| result_of(&result.stderr_tail).is_none())
        }
        Some(_) => None,
    };
    let mut warnings = result.warnings;
    warnings.extend(report.map(budget::not_counted).unwrap_or_default());
    let data_kept = data.blob;
    let data = size::of_data(data.value, data_kept.as_ref());
    AttemptSettled {
        attempt: result.attempt,
        outcome: result.outcome,
        ok: verdict.ok,
        error: verdict.error.clone(),
        text: result.text_blob,
        text_cut: result.text_cut,
        data_kept: data_kept.filter(|_| size::is_reference(&data)),
        data,
        metrics: size::of_metrics(metrics, result.report_blob.as_ref()),
        report: result.report_blob.filter(|_| report.is_some()),
        files,
        manifest,
        started_at: result.started_at,
        duration_ms: result.duration_ms,
        warnings,
        late,
        given_up: false,
        flow: None,
        workspace_digest: result.workspace_after.map(|after| after.digest),
        workspace_moving: result.workspace_after.is_some_and(|after| after.moving),
        workspace_before: result.workspace_before,
        set_back: result.set_back,
        cache: result.cache,
        test_result,
        agent: None,
        report_filled: verdict.filled.clone(),
        session: None,
        taken: None,
        throttled: None,
    }
}

/// Files that are as they were are handed over by a step that succeeded; one that did not has nothing to say of them.
fn handed_over(
    mut files: Vec<FileChange>,
    many: Option<Many>,
    ok: bool,
) -> (Vec<FileChange>, Option<Manifest>) {
    match many {
        Some(many) if ok => (files, Some(many.all)),
        Some(Many { changed: Changed::Manifest(changed), .. }) => (files, Some(changed)),
        Some(Many { changed: Changed::Listed(changed), .. }) => (changed, None),
        None => {
            files.retain(|file| ok || file.change != Change::Unchanged);
            (files, None)
        }
    }
}

fn flow_beside_the_runs_own(at: &At<'_>) -> Option<FlowId> {
    (!at.scope.is_empty()).then(|| at.flow.id.clone())
}

/// Another attempt is due, whatever the step says about failures.
fn again_at_once(draft: &mut Draft<'_>, visit: &VisitId) -> Result<(), Refusal> {
    let (timer, due) = (draft.timer_id()?, draft.now);
    draft.emit(Event::TimerSet(TimerSet { timer, due, visit: visit.clone(), account: None }))
}

/// Sets a timer for another try of a failed attempt, if its step allows one.
fn try_again(draft: &mut Draft<'_>, step: &Step, settled: &AttemptSettled) -> Result<bool, Refusal> {
    let visit = &settled.attempt.visit;
    let Some(open) = draft.control.open.get(visit) else { return Ok(false) };
    if draft.control.winds_down() || !has_another_try(open, step, settled) {
        return Ok(false);
    }
    let wait_ms = retry::wait_ms(&step.retry, open.failures, &settled.attempt);
    let due = draft.now.saturating_add_ms(wait_ms);
    let timer = draft.timer_id()?;
    draft.emit(Event::TimerSet(TimerSet { timer, due, visit: visit.clone(), account: None }))?;
    Ok(true)
}

/// Whether the step may be tried once more after this failure.
fn has_another_try(open: &OpenVisit, step: &Step, settled: &AttemptSettled) -> bool {
    let shell = matches!(&step.kind, StepKind::Run(plan) if plan.through_shell());
    let spent = open.failures >= step.retry.attempts;
    // A provider refuses the request, and would again. Another agent may refuse because it is busy.
    let refusal_lasts = matches!(&step.kind, StepKind::Agent(_) | StepKind::Model(_));
    let is_refused_for_good = refusal_lasts && settled.has_failed_with(Code::AgentRefused);
    !spent && !is_refused_for_good && retry::may_help(settled, shell)
}

/// Whether the step has not come to its end by itself: its attempt was cancelled, or it would have another try.
fn is_cut_short(draft: &Draft<'_>, step: &Step, settled: &AttemptSettled) -> bool {
    let open = draft.control.open.get(&settled.attempt.visit);
    settled.outcome == Outcome::Cancelled || open.is_some_and(|open| has_another_try(open, step, settled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::files::Blob;
    use envoi_contract::digest::Digest;

    #[test]
    fn a_step_that_failed_hands_over_only_what_changed_however_many_files_there_are() {
        let file =
            |path: &str, change| FileChange { path: path.to_owned(), change, blob: None, before: None };
        let changed = vec![file("a", Change::Modified)];
        let all = vec![file("a", Change::Modified), file("b", Change::Unchanged)];
        let manifest = |text: &str, total| Manifest {
            list: Blob { digest: Digest::of(text.as_bytes()), size: 1 },
            total,
            bytes: 1,
        };
        let many = |changed| Some(Many { all: manifest("all", 9999), changed });
        let few_changed = || many(Changed::Listed(changed.clone()));
        let many_changed = || many(Changed::Manifest(manifest("changed", 2222)));
        let whole = || (Vec::new(), Some(manifest("all", 9999)));
        let rows = [
            (handed_over(all.clone(), None, true), (all.clone(), None)),
            (handed_over(all, None, false), (changed.clone(), None)),
            (handed_over(Vec::new(), few_changed(), true), whole()),
            (handed_over(Vec::new(), few_changed(), false), (changed.clone(), None)),
            (handed_over(Vec::new(), many_changed(), true), whole()),
            (handed_over(Vec::new(), many_changed(), false), (Vec::new(), Some(manifest("changed", 2222)))),
        ];
        for (place, (found, expected)) in rows.into_iter().enumerate() {
            assert_eq!(found, expected, "row {place}");
        }
    }
}
