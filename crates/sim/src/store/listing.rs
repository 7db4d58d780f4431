//! Rows of runs and questions, folded from events at each call.
//!
//! Owns the fold alone. It is slow and has no state that could be wrong, which is what a simulated store needs.

use envoi_journal::{Closed, ClosedAccount, Ended, InboxRow, InterruptState, RunRow};
use envoi_kernel::{
    Event, Record,
    event::{About, Course, RunStarted},
    ids::{AttemptId, RunId, StepId},
    part::Part,
};
use std::collections::BTreeMap;

/// The run at a glance; `None` without a first event.
pub(super) fn row(run: &RunId, records: &[Record]) -> Option<RunRow> {
    let first = records.first()?;
    let Event::RunStarted(started) = &first.event else { return None };
    let mut row = begun(run, started, first);
    for record in records {
        row.updated_at = record.at;
        row.next_seq = record.seq.saturating_add(1);
        fold(&mut row, &record.event);
    }
    let open: Vec<InboxRow> = questions(run, records)
        .into_iter()
        .filter(|question| question.state == InterruptState::Open)
        .collect();
    row.open_interrupts = u32::try_from(open.len()).unwrap_or(u32::MAX);
    let in_doubt = open.iter().filter(|question| question.about == About::InDoubt).count();
    row.in_doubt = u32::try_from(in_doubt).unwrap_or(u32::MAX);
    Some(row)
}

fn begun(run: &RunId, started: &RunStarted, first: &Record) -> RunRow {
    RunRow {
        workspace: started.workspace.clone(),
        tenant: started.by.tenant.clone(),
        actor: started.by.actor.clone(),
        part: started.part.as_ref().map(|part| Box::new(Part { taken: Vec::new(), ..Part::clone(part) })),
        ..RunRow::begun(run.clone(), started.flow.clone(), started.flow_digest, first.at)
    }
}

fn fold(row: &mut RunRow, event: &Event) {
    let mut enter = |step: &StepId| row.step = Some(step.clone());
    match event {
        Event::AttemptStarted(started) => {
            enter(&started.attempt.visit.step);
            row.live_attempts = row.live_attempts.saturating_add(1);
        }
        Event::AttemptSettled(settled) if settled.taken.is_none() && (!settled.late || settled.given_up) => {
            row.live_attempts = row.live_attempts.saturating_sub(1)
        }
        Event::Routed(routed) => {
            if let Course::Enter(step) | Course::LoopBack(step) | Course::Round(step) = &routed.course {
                enter(step);
            }
        }
        Event::StepEntered(entered) => enter(&entered.step),
        Event::TimerSet(_) => row.pending_timers = row.pending_timers.saturating_add(1),
        Event::TimerFired(_) => row.pending_timers = row.pending_timers.saturating_sub(1),
        Event::RunReopened(reopened) => {
            enter(&reopened.step);
            row.ended = None;
        }
        Event::FlowCorrected(correction) => row.flow_digest = correction.after,
        Event::RunForked(forked) => {
            enter(&forked.step);
            (row.live_attempts, row.pending_timers) = (0, 0);
            (row.forked_from, row.root) = (Some(forked.from.clone()), Some(forked.root.clone()));
        }
        Event::RunEnded(ended) => {
            (row.live_attempts, row.pending_timers) = (0, 0);
            row.ended = Some(Ended {
                status: ended.status,
                terminal_reason: ended.terminal_reason.word().to_owned(),
                reason: ended.reason.clone(),
            });
        }
        _ => {}
    }
}

/// The accounts that the records of these runs say are closed, each as the newest of them says for its tenant.
pub(super) fn closed<'r>(runs: impl Iterator<Item = &'r [Record]>) -> Vec<ClosedAccount> {
    let mut found: BTreeMap<(String, String), Said> = BTreeMap::new();
    for said in runs.flat_map(said) {
        let of_time = |said: &Said| (said.account.at, said.account.until);
        let key = (said.account.tenant.clone(), said.account.account.clone());
        if found.get(&key).is_none_or(|known| of_time(&said) >= of_time(known)) {
            found.insert(key, said);
        }
    }
    found.into_values().filter(|said| !said.passed).map(|said| said.account).collect()
}

/// The state of an account according to a run.
struct Said {
    account: ClosedAccount,
    /// The attempt that tries it.
    attempt: Option<AttemptId>,
    /// That one is over, and was not refused.
    passed: bool,
}

/// The refusals that a run has met, where a person let an account be tried, and the newest attempt with each account that had refused one.
fn said(records: &[Record]) -> Vec<Said> {
    let started = records.iter().find_map(|record| match &record.event {
        Event::RunStarted(started) => Some(started.by.tenant.clone()),
        _ => None,
    });
    let tenant = started.unwrap_or_default();
    let open = |account: &str, record: &Record, refusals: u32| ClosedAccount {
        tenant: tenant.clone(),
        account: account.to_owned(),
        at: record.at,
        until: record.at,
        resets_at: None,
        refusals,
        is_tried: false,
    };
    let mut all: Vec<Said> = Vec::new();
    for record in records {
        match &record.event {
            Event::AttemptStarted(started) => {
                let Some((name, refusals @ 1..)) = started.command.account() else { continue };
                all.retain(|said| said.attempt.is_none() || said.account.account != name);
                let account = ClosedAccount { is_tried: true, ..open(name, record, refusals) };
                all.push(Said { account, attempt: Some(started.attempt.clone()), passed: false });
            }
            Event::AttemptSettled(settled) => match &settled.throttled {
                Some(throttled) => {
                    let closed = open(&throttled.account, record, throttled.refusals);
                    let account =
                        ClosedAccount { until: throttled.until, resets_at: throttled.resets_at, ..closed };
                    all.push(Said { account, attempt: None, passed: false });
                }
                None => {
                    let of_it = |said: &&mut Said| said.attempt.as_ref() == Some(&settled.attempt);
                    all.iter_mut().filter(of_it).for_each(|said| said.passed = true);
                }
            },
            Event::AccountsTried(tried) => {
                let tried = tried.accounts.iter().map(|account| open(account, record, 1));
                all.extend(tried.map(|account| Said { account, attempt: None, passed: false }));
            }
            _ => {}
        }
    }
    all
}

/// All questions of the run.
pub(super) fn questions(run: &RunId, records: &[Record]) -> Vec<InboxRow> {
    let mut rows: Vec<InboxRow> = Vec::new();
    for record in records {
        let (closed, state) = match &record.event {
            Event::InterruptRaised(raised) => {
                rows.push(InboxRow {
                    interrupt: raised.interrupt.clone(),
                    run: run.clone(),
                    about: raised.about,
                    visit: raised.visit.clone(),
                    question: raised.question.clone(),
                    raised_at: raised.raised_at,
                    kind: raised.kind(),
                    expires_at: raised.expires_at,
                    state: InterruptState::Open,
                    closed: None,
                });
                continue;
            }
            Event::InterruptAnswered(answered) => (&answered.interrupt, InterruptState::Answered),
            Event::InterruptExpired(expired) => (&expired.interrupt, InterruptState::Expired),
            Event::InterruptCancelled(cancelled) if cancelled.changed => {
                (&cancelled.interrupt, InterruptState::Changed)
            }
            Event::InterruptCancelled(cancelled) => (&cancelled.interrupt, InterruptState::Cancelled),
            _ => continue,
        };
        let answer = match &record.event {
            Event::InterruptAnswered(answered) => Some((answered.choice.word(), &answered.by.actor)),
            _ => None,
        };
        for row in rows.iter_mut().filter(|row| row.interrupt == *closed) {
            row.state = state;
            row.closed = Some(Closed {
                at: record.at,
                seq: record.seq,
                answer: answer.map(|(word, _)| word.to_owned()),
                by: answer.map(|(_, by)| by.clone()),
            });
        }
    }
    rows
}
