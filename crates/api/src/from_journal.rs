//! Converts rows of the journal to rows of this crate (feature `journal`).

use crate::{
    amounts::{Amounts, Limits},
    flow::{Flow, PinnedFlow},
    handoff::{HandoffRow, HandoffStatus},
    preview,
    question::{ChangedFile, Given, LastHandoff, Lead, Question, QuestionDetail, QuestionState, Vote},
    run::{self, Activity, RunPart, RunStatus, SetAside, Stands, WaitsFor},
    scalar::any,
};
use envoi_contract::{json::Value, time::Timestamp};
use envoi_journal::{self as journal, InterruptState};
use envoi_kernel::{
    Run,
    event::{About, EndStatus, HandoffWritten, InterruptAnswered, InterruptRaised},
    ids::Principal,
    part::{Part, Selection},
};

impl From<&journal::RunRow> for run::Run {
    fn from(row: &journal::RunRow) -> Self {
        let ended = row.ended.as_ref();
        Self {
            run: row.run.clone(),
            flow: row.flow.clone(),
            flow_digest: row.flow_digest,
            status: row.status().into(),
            stands: Stands::from(row),
            files_half_set_back: row.files_half_set_back,
            in_doubt: row.in_doubt > 0,
            step: row.step.clone(),
            workspace: row.workspace.clone(),
            tenant: row.tenant.clone(),
            actor: row.actor.clone(),
            started_at: row.started_at.into(),
            updated_at: row.updated_at.into(),
            events: row.next_seq,
            live_attempts: row.live_attempts,
            open_questions: row.open_interrupts,
            terminal_reason: ended.map(|ended| ended.terminal_reason.clone()),
            reason: ended.map(|ended| ended.reason.clone()),
            forked_from: row.forked_from.clone(),
            root: row.root.clone(),
            activity: row.doing.map(|doing| doing.activity.into()),
            activity_since: row.doing.map(|doing| doing.since.into()),
            step_works: row.doing.is_some_and(|doing| doing.step_works),
            set_aside: row.aside.as_ref().map(SetAside::from),
            waits_for: row.waits_for.as_ref().map(|wait| WaitsFor {
                account: wait.account.clone(),
                resets_at: wait.resets_at.map(Into::into),
                next_try: wait.due.into(),
            }),
            part: row.part.as_deref().map(RunPart::from),
            // Computing it needs all events of the run, so only a view of a single run does that.
            head: None,
        }
    }
}

impl From<&journal::RunRow> for Stands {
    fn from(row: &journal::RunRow) -> Self {
        match (row.doing, row.status()) {
            (Some(journal::Doing { activity: journal::Activity::SetAside, .. }), _) => Self::SetAside,
            (
                Some(journal::Doing { activity: journal::Activity::Stopped, .. }),
                journal::RunStatus::Running,
            ) => Self::Stopped,
            (Some(journal::Doing { step_works: true, .. }), journal::RunStatus::Running) => {
                Self::RunningWithoutAnEngine
            }
            (_, journal::RunStatus::Running) if row.live_attempts == 0 && row.waits_for.is_some() => {
                Self::WaitingForAccount
            }
            (_, journal::RunStatus::Running) => Self::Running,
            (_, journal::RunStatus::Waiting) => Self::Waiting,
            (_, journal::RunStatus::Ended(EndStatus::Succeeded)) => Self::Succeeded,
            (_, journal::RunStatus::Ended(EndStatus::Failed)) => Self::Failed,
            (_, journal::RunStatus::Ended(EndStatus::Exhausted)) => Self::Exhausted,
            (_, journal::RunStatus::Ended(EndStatus::Cancelled)) => Self::Cancelled,
        }
    }
}

impl From<&Part> for RunPart {
    fn from(Part { selection, with, taken: _ }: &Part) -> Self {
        let Selection { only, from, until, skip } = selection.clone();
        Self { only, from, until, skip, with: with.clone() }
    }
}

impl From<journal::RunStatus> for RunStatus {
    fn from(status: journal::RunStatus) -> Self {
        match status {
            journal::RunStatus::Running => Self::Running,
            journal::RunStatus::Waiting => Self::Waiting,
            journal::RunStatus::Ended(EndStatus::Succeeded) => Self::Succeeded,
            journal::RunStatus::Ended(EndStatus::Failed) => Self::Failed,
            journal::RunStatus::Ended(EndStatus::Exhausted) => Self::Exhausted,
            journal::RunStatus::Ended(EndStatus::Cancelled) => Self::Cancelled,
        }
    }
}

impl From<journal::Activity> for Activity {
    fn from(activity: journal::Activity) -> Self {
        match activity {
            journal::Activity::Working => Self::Working,
            journal::Activity::Stopped => Self::Stopped,
            journal::Activity::SetAside => Self::SetAside,
        }
    }
}

impl From<&journal::Aside> for SetAside {
    fn from(journal::Aside { since, code, reason, evidence }: &journal::Aside) -> Self {
        Self {
            since: (*since).into(),
            code: code.clone(),
            reason: reason.clone(),
            evidence: evidence.clone(),
        }
    }
}

impl From<&journal::HandoffRow> for HandoffRow {
    fn from(row: &journal::HandoffRow) -> Self {
        Self {
            handoff: row.visit.to_string(),
            step: row.visit.step.clone(),
            scope: row.visit.scope.clone(),
            visit: row.visit.visit,
            flow: row.flow.clone(),
            // The journal writes the status of a hand-off, so no other words occur.
            status: HandoffStatus::of(&row.status).unwrap_or(HandoffStatus::Failed),
            summary: row.summary.clone(),
            at: row.at.into(),
            seq: row.seq,
        }
    }
}

impl Question {
    /// The row of a question in its current state.
    #[must_use]
    pub fn of(row: &journal::InboxRow, now: Timestamp) -> Self {
        let is_over = row.expires_at.is_some_and(|at| now >= at);
        let closed = row.closed.as_ref();
        Self {
            question: row.interrupt.clone(),
            run: row.run.clone(),
            about: row.about,
            kind: row.kind.word().to_owned(),
            step: row.visit.step.clone(),
            scope: row.visit.scope.clone(),
            visit: row.visit.visit,
            text: row.question.clone(),
            raised_at: row.raised_at.into(),
            expires_at: row.expires_at.map(Into::into),
            state: match row.state {
                InterruptState::Open if is_over => QuestionState::Lapsed,
                InterruptState::Open => QuestionState::Open,
                InterruptState::Answered => QuestionState::Answered,
                InterruptState::Expired => QuestionState::Expired,
                InterruptState::Changed => QuestionState::Changed,
                InterruptState::Cancelled => QuestionState::Cancelled,
            },
            closed_at: closed.map(|closed| closed.at.into()),
            answer: closed.and_then(|closed| closed.answer.clone()),
            answered_by: closed.and_then(|closed| closed.by.clone()),
        }
    }
}

/// Further data of a question: the state of the run when it was raised, and the answer.
#[derive(Debug, Default)]
pub struct QuestionContext<'a> {
    /// The event that raised it; `None` if it cannot be read.
    pub raised: Option<&'a InterruptRaised>,
    /// Files that the run had changed.
    pub files: Vec<ChangedFile>,
    /// The last hand-off before it.
    pub last_handoff: Option<&'a HandoffWritten>,
    /// The time of the answer, and the answer.
    pub given: Option<(Timestamp, InterruptAnswered)>,
}

impl QuestionDetail {
    /// A question in its current state, with everything that this person needs to answer it.
    #[must_use]
    pub fn of(
        row: &journal::InboxRow,
        run: &Run,
        context: QuestionContext<'_>,
        now: Timestamp,
        by: &Principal,
    ) -> Self {
        let QuestionContext { raised, files, last_handoff, given } = context;
        let open = raised.filter(|raised| run.interrupts().any(|open| open.interrupt == raised.interrupt));
        let plan = run.step(&row.visit).and_then(|step| step.asks()).filter(|_| row.about == About::Ask);
        let leads = |raised| {
            let choices = preview::choices(run, raised, by).into_iter();
            choices.map(|(choice, leads_to)| Lead { choice: choice.word().to_owned(), leads_to }).collect()
        };
        Self {
            row: Question::of(row, now),
            choices: open
                .into_iter()
                .flat_map(|raised| run.accepts(raised))
                .map(|choice| choice.word().to_owned())
                .collect(),
            schema: plan.and_then(|plan| plan.schema.as_ref()).map(any).unwrap_or_default(),
            fields: plan.and_then(|plan| plan.schema.as_ref()).map(field_names).unwrap_or_default(),
            evidence: raised.map(|raised| any(&raised.evidence)).unwrap_or_default(),
            subject: raised.and_then(|raised| raised.subject),
            votes: run.votes(&row.interrupt).map(Vote::from).collect(),
            quorum: plan.map_or(1, |plan| plan.quorum),
            flow: run.flow().id.clone(),
            title: run.flow().title.clone(),
            started_by: run.started().map(|started| started.by.actor.clone()).unwrap_or_default(),
            barred: open.and_then(|raised| preview::not_for(run, raised, by)),
            leads: open.map(leads),
            silence: open.and_then(|raised| preview::silence(run, raised)),
            files,
            last_handoff: last_handoff.map(LastHandoff::from),
            used: Amounts::used(run, now),
            limits: Limits::of(run),
            given: given.map(|given| Given { event: closed_by(row), ..Given::from(given) }),
        }
    }
}

/// The event that closed a question.
fn closed_by(row: &journal::InboxRow) -> Option<u64> {
    row.closed.as_ref().map(|closed| closed.seq)
}

fn field_names(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|members| members.keys()).map(str::to_owned).collect()
}

impl From<&HandoffWritten> for LastHandoff {
    fn from(written: &HandoffWritten) -> Self {
        let handoff = &written.handoff;
        Self {
            handoff: written.visit.to_string(),
            status: HandoffStatus::of(handoff.status.word()).unwrap_or(HandoffStatus::Failed),
            verified: handoff.verification_passed,
            error: handoff.error.clone(),
            summary: handoff.summary.clone(),
        }
    }
}

impl From<(Timestamp, InterruptAnswered)> for Given {
    fn from((at, given): (Timestamp, InterruptAnswered)) -> Self {
        Self {
            event: None,
            at: at.into(),
            choice: given.choice.word().to_owned(),
            by: given.by.actor,
            channel: given.channel,
            text: given.text,
            data: any(&given.data),
            attachments: given.attachments.iter().map(|file| any(&file.to_value())).collect(),
        }
    }
}

impl From<&InterruptAnswered> for Vote {
    fn from(answered: &InterruptAnswered) -> Self {
        Self { by: answered.by.actor.clone(), channel: answered.channel.clone(), text: answered.text.clone() }
    }
}

impl From<&journal::RegisteredFlow> for Flow {
    fn from(flow: &journal::RegisteredFlow) -> Self {
        let files = std::iter::once(&flow.file).chain(flow.parts.keys());
        Self {
            flow: flow.id.clone(),
            digest: flow.digest,
            language: flow.language,
            files: files.cloned().collect(),
            registered_at: flow.registered_at.into(),
            registered_by: flow.registered_by.clone(),
        }
    }
}

impl From<journal::PinnedFlow> for PinnedFlow {
    fn from(
        journal::PinnedFlow { digest, language, name, text, parts, earlier }: journal::PinnedFlow,
    ) -> Self {
        let earlier = earlier.into_iter().map(Self::from).collect();
        Self { digest, language, name, text, parts, earlier }
    }
}

impl From<PinnedFlow> for journal::PinnedFlow {
    fn from(PinnedFlow { digest, language, name, text, parts, earlier }: PinnedFlow) -> Self {
        let earlier = earlier.into_iter().map(Self::from).collect();
        Self { digest, language, name, text, parts, earlier }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::digest::Digest;
    use envoi_journal::{Activity, Doing, Ended, RunRow};
    use envoi_kernel::ids::{FlowId, RunId};

    #[test]
    fn what_keeps_a_run_from_going_on_is_said_before_where_it_stands_by_its_steps() {
        let at = Timestamp::from_millis(0);
        let row = || {
            let (run, flow) = (RunId::new("run_a").unwrap(), FlowId::new("f").unwrap());
            RunRow::begun(run, flow, Digest::of(b""), at)
        };
        let doing = |activity, step_works| Some(Doing { activity, since: at, step_works });
        let wait = || Some(journal::WaitsFor { account: "claude".to_owned(), resets_at: None, due: at });
        let ended = |status| {
            let (terminal_reason, reason) = (String::new(), String::new());
            Some(Ended { status, terminal_reason, reason })
        };
        let works = || RunRow { doing: doing(Activity::Working, false), ..row() };
        let left = || RunRow { doing: doing(Activity::Working, true), live_attempts: 1, ..row() };
        let stopped = || RunRow { doing: doing(Activity::Stopped, false), ..row() };
        let asks = |row| RunRow { open_interrupts: 1, ..row };
        let rows = [
            (works(), "running"),
            (row(), "running"),
            (RunRow { waits_for: wait(), ..works() }, "waiting_for_account"),
            (RunRow { waits_for: wait(), live_attempts: 1, ..works() }, "running"),
            (RunRow { waits_for: wait(), ..left() }, "running_without_an_engine"),
            (RunRow { waits_for: wait(), ..stopped() }, "stopped"),
            (left(), "running_without_an_engine"),
            (stopped(), "stopped"),
            (asks(works()), "waiting"),
            (asks(stopped()), "waiting"),
            (asks(left()), "running_without_an_engine"),
            (RunRow { doing: doing(Activity::SetAside, false), ..asks(row()) }, "set_aside"),
            (
                RunRow { doing: doing(Activity::SetAside, false), ended: ended(EndStatus::Failed), ..row() },
                "set_aside",
            ),
            (RunRow { ended: ended(EndStatus::Succeeded), ..row() }, "succeeded"),
            (RunRow { ended: ended(EndStatus::Failed), waits_for: wait(), ..row() }, "failed"),
            (RunRow { ended: ended(EndStatus::Exhausted), ..row() }, "exhausted"),
            (RunRow { ended: ended(EndStatus::Cancelled), ..row() }, "cancelled"),
        ];
        for (row, word) in rows {
            assert_eq!(run::Run::from(&row).stands.word(), word, "{row:?}");
        }
    }
}
