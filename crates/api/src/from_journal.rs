//! Rows of the journal as rows of this crate (feature `journal`).

use crate::{
    flow::{Flow, PinnedFlow},
    handoff::{HandoffRow, HandoffStatus},
    question::{Question, QuestionDetail, QuestionState, Vote},
    run::{self, Activity, RunStatus, SetAside},
    scalar::any,
};
use envoi_contract::time::Timestamp;
use envoi_journal::{self as journal, InterruptState};
use envoi_kernel::{
    Run,
    event::{About, EndStatus, InterruptAnswered, InterruptRaised},
};

impl From<&journal::RunRow> for run::Run {
    fn from(row: &journal::RunRow) -> Self {
        let ended = row.ended.as_ref();
        Self {
            run: row.run.clone(),
            flow: row.flow.clone(),
            flow_digest: row.flow_digest,
            status: row.status().into(),
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
            set_aside: row.aside.as_ref().map(SetAside::from),
        }
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
            // The journal writes the word of a hand-off's status, and there are no others.
            status: HandoffStatus::of(&row.status).unwrap_or(HandoffStatus::Failed),
            summary: row.summary.clone(),
            at: row.at.into(),
            seq: row.seq,
        }
    }
}

impl Question {
    /// The row of a question, as it stands at this moment.
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

impl QuestionDetail {
    /// A question with all that one needs to answer, as it stands at this moment. `raised` is the event that raised it;
    /// none if it cannot be read.
    #[must_use]
    pub fn of(row: &journal::InboxRow, run: &Run, raised: Option<&InterruptRaised>, now: Timestamp) -> Self {
        let open = raised.filter(|raised| run.interrupts().any(|open| open.interrupt == raised.interrupt));
        let form = run.step(&row.visit).and_then(|step| step.asks()).filter(|_| row.about == About::Ask);
        Self {
            row: Question::of(row, now),
            choices: open
                .into_iter()
                .flat_map(|raised| run.accepts(raised))
                .map(|choice| choice.word().to_owned())
                .collect(),
            schema: form.and_then(|plan| plan.schema.as_ref()).map(any).unwrap_or_default(),
            evidence: raised.map(|raised| any(&raised.evidence)).unwrap_or_default(),
            subject: raised.and_then(|raised| raised.subject),
            votes: run.votes(&row.interrupt).map(Vote::from).collect(),
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
