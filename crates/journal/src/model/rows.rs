//! What a reader returns about runs, hand-offs and open questions: the projections as values.
//!
//! Owns their shape and how a run's status follows from its row. How rows are folded from events is `projection`'s.

use crate::model::note::{Aside, HeldBy};
use envoi_contract::{digest::Digest, envelope::InterruptKind, time::Timestamp};
use envoi_kernel::{
    event::{About, EndStatus, FileChange},
    ids::{FlowId, InterruptId, RunId, Seq, StepId, VisitId},
    part::Part,
};

/// A run at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// The flow's id.
    pub flow: FlowId,
    /// The flow's digest.
    pub flow_digest: Digest,
    /// Absolute path of the folder in which commands run.
    pub workspace: String,
    /// On whose behalf it was started.
    pub tenant: String,
    /// Who started it.
    pub actor: String,
    /// When its first event was decided.
    pub started_at: Timestamp,
    /// When its newest event was decided.
    pub updated_at: Timestamp,
    /// The place of its next event.
    pub next_seq: Seq,
    /// Attempts announced and not settled.
    pub live_attempts: u32,
    /// Questions that wait for a person.
    pub open_interrupts: u32,
    /// How many of them are about an attempt in doubt.
    pub in_doubt: u32,
    /// Timers that are set and not fired.
    pub pending_timers: u32,
    /// The step it is in, or was in when it ended.
    pub step: Option<StepId>,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
    /// The run that it was forked from, if it was.
    pub forked_from: Option<RunId>,
    /// The run that it then goes back to, by one fork or several.
    pub root: Option<RunId>,
    /// Why it is set aside, if it is.
    pub aside: Option<Aside>,
    /// The engine that goes on with it, or did so last.
    pub held_by: Option<HeldBy>,
    /// The account of an agent program that it waits for; the one that opens first, if there are several.
    pub waits_for: Option<WaitsFor>,
    /// The part of its flow that it does, without the hand-offs that it has taken; `None`: all of it.
    pub part: Option<Box<Part>>,
    /// What is done for it now, if that was looked at: the journal alone does not know it.
    pub doing: Option<Doing>,
    /// Whether a change of its files was begun and is not done, if that was looked at.
    pub files_half_set_back: bool,
}

/// What is done for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// An engine goes on with it.
    Working,
    /// No engine goes on with it. `envoi resume` does, or an answer if it waits for one.
    Stopped,
    /// Something is wrong with it; `envoi resume` tries again.
    SetAside,
}

impl Activity {
    /// The word for it, as people and JSON see it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Stopped => "stopped",
            Self::SetAside => "set_aside",
        }
    }

    /// The activity of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Working, Self::Stopped, Self::SetAside].into_iter().find(|activity| activity.word() == word)
    }
}

/// What is done for a run, and since when as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doing {
    /// What.
    pub activity: Activity,
    /// Since when.
    pub since: Timestamp,
    /// The supervisor of one of its attempts lives, and no engine goes on with the run: `envoi resume` waits for that attempt.
    pub step_works: bool,
}

impl Doing {
    /// Whether nothing starts in the run until it is resumed: what works on it, if anything does, is a step that an engine has left.
    #[must_use]
    pub const fn needs_resume(&self) -> bool {
        matches!(self.activity, Activity::Stopped) || self.step_works
    }
}

/// An account that a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitsFor {
    /// Its name.
    pub account: String,
    /// When its provider says that it is open again.
    pub resets_at: Option<Timestamp>,
    /// When the next try is made.
    pub due: Timestamp,
}

/// An account that has refused an attempt of some run of a tenant, and passed none since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedAccount {
    /// The tenant. The account may be open for others.
    pub tenant: String,
    /// Its name.
    pub account: String,
    /// When that was decided, by the time of the run; where it is tried, when that attempt began.
    pub at: Timestamp,
    /// When the next try is made.
    pub until: Timestamp,
    /// When its provider says that it is open again.
    pub resets_at: Option<Timestamp>,
    /// Refusals in a row.
    pub refusals: u32,
    /// An attempt has begun with it since, and is not over.
    pub is_tried: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// In one word.
    pub status: EndStatus,
    /// The word of contract 3.
    pub terminal_reason: String,
    /// In a sentence.
    pub reason: String,
}

/// Status of a run, a pure function of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Something is under way, or due, or will be as soon as there is an engine.
    Running,
    /// Only a person can move it.
    Waiting,
    /// It is over.
    Ended(EndStatus),
}

impl RunRow {
    /// The row of a run that has just begun, and of which nothing more is known.
    #[must_use]
    pub const fn begun(run: RunId, flow: FlowId, flow_digest: Digest, at: Timestamp) -> Self {
        Self {
            run,
            flow,
            flow_digest,
            workspace: String::new(),
            tenant: String::new(),
            actor: String::new(),
            started_at: at,
            updated_at: at,
            next_seq: 0,
            live_attempts: 0,
            open_interrupts: 0,
            in_doubt: 0,
            pending_timers: 0,
            step: None,
            ended: None,
            forked_from: None,
            root: None,
            aside: None,
            held_by: None,
            waits_for: None,
            part: None,
            doing: None,
            files_half_set_back: false,
        }
    }

    /// Where the run stands. [`RunRow::in_doubt`] says which kind of waiting it is.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        if let Some(ended) = &self.ended {
            return RunStatus::Ended(ended.status);
        }
        if self.open_interrupts > 0 && self.live_attempts == 0 && self.pending_timers == 0 {
            return RunStatus::Waiting;
        }
        RunStatus::Running
    }
}

impl RunStatus {
    /// The word for it, as people and JSON see it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Ended(EndStatus::Succeeded) => "succeeded",
            Self::Ended(EndStatus::Failed) => "failed",
            Self::Ended(EndStatus::Exhausted) => "exhausted",
            Self::Ended(EndStatus::Cancelled) => "cancelled",
        }
    }
}

/// A hand-off at a glance; [`crate::Reader::handoff`] gives it whole.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffRow {
    /// The visit that wrote it.
    pub visit: VisitId,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// `succeeded`, `failed` or `skipped`.
    pub status: String,
    /// The first 200 characters of its summary.
    pub summary: String,
    /// When it was written.
    pub at: Timestamp,
    /// The event that holds it.
    pub seq: Seq,
}

/// The newest version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRow {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Relative to the flow's folder.
    pub path: String,
    /// Its content; `None` when it was deleted.
    pub digest: Option<Digest>,
    /// Of its content.
    pub size_bytes: Option<u64>,
    /// The visit that changed it last.
    pub visit: VisitId,
}

/// A list of artifacts that is content of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    /// The flow that its files belong to.
    pub flow: FlowId,
    /// The list.
    pub digest: Digest,
    /// The visit that handed them over.
    pub visit: VisitId,
}

impl ManifestRow {
    /// One of its files as a place.
    pub(crate) fn place(&self, file: FileChange) -> ArtifactRow {
        let FileChange { path, blob, .. } = file;
        let (digest, size_bytes) = blob.map(|blob| (blob.digest, blob.size)).unzip();
        ArtifactRow { flow: self.flow.clone(), path, digest, size_bytes, visit: self.visit.clone() }
    }
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxRow {
    /// Its id.
    pub interrupt: InterruptId,
    /// The run that asks.
    pub run: RunId,
    /// Why it asks.
    pub about: About,
    /// The visit that is concerned.
    pub visit: VisitId,
    /// The question.
    pub question: String,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// The word of contract 3 for the kind of question.
    pub kind: InterruptKind,
    /// When it lapses; `None`: never. An open question past that time has lapsed, and is closed when an engine looks.
    pub expires_at: Option<Timestamp>,
    /// Whether it still waits.
    pub state: InterruptState,
    /// How it was closed, unless it is open.
    pub closed: Option<Closed>,
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// When.
    pub at: Timestamp,
    /// The event.
    pub seq: Seq,
    /// The choice, if there was one.
    pub answer: Option<String>,
    /// Who made it.
    pub by: Option<String>,
}

/// What has become of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptState {
    /// It waits for a person.
    Open,
    /// A person decided.
    Answered,
    /// It was not answered in time.
    Expired,
    /// Its subject has changed, and a new question has replaced it.
    Changed,
    /// The run was cancelled meanwhile.
    Cancelled,
}

impl InterruptState {
    /// The word for it, as people and JSON see it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Changed => "changed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Which runs are wanted, newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs that are not over.
    pub unfinished: bool,
    /// At most so many; `None` for all.
    pub limit: Option<u32>,
}

/// Which questions are wanted, oldest first.
#[derive(Debug, Clone, Default)]
pub struct InboxFilter {
    /// Only those of this run.
    pub run: Option<RunId>,
    /// Also those that were answered or are void.
    pub closed: bool,
}

/// What an abbreviated id may stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A run.
    Run(RunId),
    /// A question, and the run that asks it.
    Interrupt(InterruptId, RunId),
}

/// What an abbreviated id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// Exactly this.
    One(Found),
    /// Nothing.
    None,
    /// All of these, so that more letters are needed.
    Many(Vec<Found>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(live: u32, interrupts: u32, timers: u32, ended: Option<EndStatus>) -> RunRow {
        let (run, flow) = (RunId::new("run_1").unwrap(), FlowId::new("f").unwrap());
        RunRow {
            live_attempts: live,
            open_interrupts: interrupts,
            pending_timers: timers,
            ended: ended.map(|status| Ended {
                status,
                terminal_reason: String::new(),
                reason: String::new(),
            }),
            ..RunRow::begun(run, flow, Digest::of(b""), Timestamp::from_millis(0))
        }
    }

    #[test]
    fn a_run_waits_only_when_nothing_but_a_person_can_move_it() {
        let rows = [
            (row(0, 0, 0, None), "running"),
            (row(0, 1, 0, None), "waiting"),
            (row(1, 1, 0, None), "running"),
            (row(0, 1, 1, None), "running"),
            (row(0, 1, 0, Some(EndStatus::Cancelled)), "cancelled"),
            (row(0, 0, 0, Some(EndStatus::Succeeded)), "succeeded"),
            (row(0, 0, 0, Some(EndStatus::Exhausted)), "exhausted"),
            (row(0, 0, 0, Some(EndStatus::Failed)), "failed"),
        ];
        for (row, word) in rows {
            assert_eq!(row.status().word(), word, "{row:?}");
        }
    }
}
