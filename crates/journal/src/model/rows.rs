//! Projections as values: runs, hand-offs and questions, as a reader returns them.
//!
//! Owns their shape and how a run's status follows from its row. The module `projection` derives the rows
//! from events.

use crate::model::note::{Aside, HeldBy};
use envoi_contract::{digest::Digest, envelope::InterruptKind, time::Timestamp};
use envoi_kernel::{
    event::{About, EndStatus, FileChange},
    ids::{FlowId, InterruptId, RunId, Seq, StepId, VisitId},
    part::Part,
};

/// A summary of a run.
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
    /// The actor that started it.
    pub actor: String,
    /// When its first event was decided.
    pub started_at: Timestamp,
    /// When its newest event was decided.
    pub updated_at: Timestamp,
    /// Sequence number of its next event.
    pub next_seq: Seq,
    /// Attempts that are announced and not settled.
    pub live_attempts: u32,
    /// Questions that wait for a person.
    pub open_interrupts: u32,
    /// How many of them are about an attempt in doubt.
    pub in_doubt: u32,
    /// Timers that are set and not fired.
    pub pending_timers: u32,
    /// The current step, or the last one if the run has ended.
    pub step: Option<StepId>,
    /// Its end, if it has ended.
    pub ended: Option<Ended>,
    /// The run that it was forked from, if it was.
    pub forked_from: Option<RunId>,
    /// The run at the root of its chain of forks, if it was forked.
    pub root: Option<RunId>,
    /// Why it is set aside, if it is.
    pub aside: Option<Aside>,
    /// The engine that works on it, or the last one that did.
    pub held_by: Option<HeldBy>,
    /// The account of an agent program that it waits for. If there are several, the one that opens first.
    pub waits_for: Option<WaitsFor>,
    /// The part of the flow that this run executes, without the hand-offs it received; `None`: the whole
    /// flow.
    pub part: Option<Box<Part>>,
    /// The current activity, if the caller looked it up. The journal alone does not know it.
    pub doing: Option<Doing>,
    /// Whether a restore of its files was begun and not finished, if the caller looked it up.
    pub files_half_set_back: bool,
}

/// The activity on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// An engine works on it.
    Working,
    /// No engine works on it. `envoi resume` continues it, and so does an answer if it waits for one.
    Stopped,
    /// It was set aside because of an error. `envoi resume` tries again.
    SetAside,
}

impl Activity {
    /// The word for it in messages and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Stopped => "stopped",
            Self::SetAside => "set_aside",
        }
    }

    /// The activity for a word; `None` if the word is unknown.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Working, Self::Stopped, Self::SetAside].into_iter().find(|activity| activity.word() == word)
    }
}

/// The activity on a run, and its start if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doing {
    /// The activity.
    pub activity: Activity,
    /// When it began.
    pub since: Timestamp,
    /// A supervisor of one of its attempts is alive, but no engine works on the run. `envoi resume` waits for
    /// that attempt.
    pub step_works: bool,
}

impl Doing {
    /// Whether nothing starts in the run until it is resumed. A step that an engine has left behind may still
    /// be running.
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
    /// When the account opens again, according to its provider.
    pub resets_at: Option<Timestamp>,
    /// When the next try is made.
    pub due: Timestamp,
}

/// An account that refused an attempt of some run of a tenant, and has accepted none since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedAccount {
    /// The tenant. The account may be open for other tenants.
    pub tenant: String,
    /// Its name.
    pub account: String,
    /// When the refusal was decided, by the time of the run. If the account is being tried, when that attempt
    /// began.
    pub at: Timestamp,
    /// When the next try is made.
    pub until: Timestamp,
    /// When the account opens again, according to its provider.
    pub resets_at: Option<Timestamp>,
    /// Number of consecutive refusals.
    pub refusals: u32,
    /// Whether an attempt has begun with it since the refusal and has not ended.
    pub is_tried: bool,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The status, in one word.
    pub status: EndStatus,
    /// The terminal reason, a word of contract 3.
    pub terminal_reason: String,
    /// The reason in one sentence.
    pub reason: String,
}

/// Status of a run, a pure function of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Work is in progress or due, or will be as soon as an engine runs.
    Running,
    /// Only a person can move it forward.
    Waiting,
    /// It has ended.
    Ended(EndStatus),
}

impl RunRow {
    /// The row of a run that has just begun.
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

    /// The status of the run. [`RunRow::in_doubt`] distinguishes the kinds of waiting.
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
    /// The word for it in messages and JSON.
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

/// A summary of a hand-off. [`crate::Reader::handoff`] returns all of it.
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
    /// Size of its content.
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
    /// A file of the list as an artifact row.
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
    /// The visit that the question is about.
    pub visit: VisitId,
    /// The question.
    pub question: String,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// The word of contract 3 for the kind of question.
    pub kind: InterruptKind,
    /// When it expires; `None`: never. An open question past that time has expired; it is closed the next
    /// time an engine runs.
    pub expires_at: Option<Timestamp>,
    /// Its state.
    pub state: InterruptState,
    /// How it was closed, unless it is open.
    pub closed: Option<Closed>,
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// When it was closed.
    pub at: Timestamp,
    /// The event that closed it.
    pub seq: Seq,
    /// The chosen answer, if there was one.
    pub answer: Option<String>,
    /// The person who answered.
    pub by: Option<String>,
}

/// The state of a question.
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
    /// The run was cancelled before an answer came.
    Cancelled,
}

impl InterruptState {
    /// The word for it in messages and JSON.
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

/// A filter for runs. Results are sorted newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs that have not ended.
    pub unfinished: bool,
    /// Maximum number of runs; `None`: all.
    pub limit: Option<u32>,
}

/// A filter for questions. Results are sorted oldest first.
#[derive(Debug, Clone, Default)]
pub struct InboxFilter {
    /// Only questions of this run.
    pub run: Option<RunId>,
    /// Whether to include questions that were answered or are void.
    pub closed: bool,
}

/// An object that an abbreviated id can refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A run.
    Run(RunId),
    /// A question, and the run that asks it.
    Interrupt(InterruptId, RunId),
}

/// The result of looking up an abbreviated id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// Exactly one object.
    One(Found),
    /// No object.
    None,
    /// Several objects; the caller needs more letters.
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
