//! What happened to a run: one small type an event, in the past tense, as it stands in the journal.
//!
//! Owns the vocabulary and its serialised form (version 1). Says nothing of what an event changes: that is
//! [`crate::Run::apply`]. Everything that a decision computed (results of expressions, waits, ids) is stored here and
//! never computed again.

pub use crate::model::{
    command::{Call, Command},
    files::{Blob, Change, FileChange},
};
use crate::model::{
    family::Share,
    files::Manifest,
    ids::{AttemptId, CallId, FlowId, InterruptId, Principal, RunId, Seq, StepId, TimerId, VisitId},
    ledger::{Budget, Cost, Ledger},
    requester::Requester,
};
use envoi_contract::{
    digest::Digest,
    envelope::{InterruptKind, TerminalReason},
    handoff::Handoff,
    json::{Object, Value},
    routing::Signal,
    skill_report::SkillError,
    time::Timestamp,
    user_envelope::AttachmentRef,
};
use serde::{Deserialize, Serialize};

/// One line of a run's journal. `seq` starts at 0 and has no gaps; `at` never goes back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Place in the run.
    pub seq: Seq,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run exists; its first visit is open.
    RunStarted(Box<RunStarted>),
    /// In a graph: what a step waits for is there; its next visit is open.
    StepEntered(StepEntered),
    /// In a graph: these steps are not to be done, because another branch was taken or was first.
    StepsGivenUp(StepsGivenUp),
    /// A visit is done once for each of these values.
    FannedOut(Box<FannedOut>),
    /// What the run is for; its first round begins.
    GoalsSet(GoalsSet),
    /// Goals are reached.
    GoalsReached(GoalsReached),
    /// A flow begins as a part of this run.
    FlowEntered(Box<FlowEntered>),
    /// The flow that a visit ran is complete.
    FlowReturned(Box<FlowReturned>),
    /// An attempt is announced. It may start once this is committed.
    AttemptStarted(Box<AttemptStarted>),
    /// An attempt is over, or its end can no longer be known.
    AttemptSettled(Box<AttemptSettled>),
    /// A model call is announced. It may begin once this is committed, and it counts whatever its outcome.
    ModelCallStarted(Box<ModelCallStarted>),
    /// A model call is over, or its end is not known.
    ModelCallEnded(Box<ModelCallEnded>),
    /// Where a visit leads.
    Routed(Box<Routed>),
    /// The visit is done and visible; it never runs again.
    HandoffWritten(Box<HandoffWritten>),
    /// The run needs a person.
    InterruptRaised(Box<InterruptRaised>),
    /// A person decided.
    InterruptAnswered(Box<InterruptAnswered>),
    /// One of several people who have to approve did; the question stays open.
    VoteCast(Box<InterruptAnswered>),
    /// The question expired.
    InterruptExpired(InterruptExpired),
    /// The question is void: the run was cancelled, or what it was about has changed and it is put again.
    InterruptCancelled(InterruptCancelled),
    /// Something is due later.
    TimerSet(TimerSet),
    /// It was due, or the visit that waited for it was given up.
    TimerFired(TimerFired),
    /// The run may use more than its flow says.
    LimitsRaised(Box<LimitsRaised>),
    /// Nothing further starts; the run ends like this when its live attempts are over.
    RunStopping(RunEnded),
    /// Nothing further starts; live attempts are being ended.
    CancelRequested(CancelRequested),
    /// An ended run goes on.
    RunReopened(RunReopened),
    /// What stands before it was lived by another run; this one goes on from here.
    RunForked(Box<RunForked>),
    /// The run is over.
    RunEnded(RunEnded),
}

impl Event {
    /// Its type, as it is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Event::RunStarted(_) => "run_started",
            Event::StepEntered(_) => "step_entered",
            Event::StepsGivenUp(_) => "steps_given_up",
            Event::FannedOut(_) => "fanned_out",
            Event::GoalsSet(_) => "goals_set",
            Event::GoalsReached(_) => "goals_reached",
            Event::FlowEntered(_) => "flow_entered",
            Event::FlowReturned(_) => "flow_returned",
            Event::AttemptStarted(_) => "attempt_started",
            Event::AttemptSettled(_) => "attempt_settled",
            Event::ModelCallStarted(_) => "model_call_started",
            Event::ModelCallEnded(_) => "model_call_ended",
            Event::Routed(_) => "routed",
            Event::HandoffWritten(_) => "handoff_written",
            Event::InterruptRaised(_) => "interrupt_raised",
            Event::InterruptAnswered(_) => "interrupt_answered",
            Event::VoteCast(_) => "vote_cast",
            Event::InterruptExpired(_) => "interrupt_expired",
            Event::InterruptCancelled(_) => "interrupt_cancelled",
            Event::TimerSet(_) => "timer_set",
            Event::TimerFired(_) => "timer_fired",
            Event::LimitsRaised(_) => "limits_raised",
            Event::RunStopping(_) => "run_stopping",
            Event::CancelRequested(_) => "cancel_requested",
            Event::RunReopened(_) => "run_reopened",
            Event::RunForked(_) => "run_forked",
            Event::RunEnded(_) => "run_ended",
        }
    }
}

/// See [`Event::RunStarted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The flow's id.
    pub flow: FlowId,
    /// The pinned flow's digest.
    pub flow_digest: Digest,
    /// Version of the flow language.
    pub language: u32,
    /// Absolute path of the flow file; secret files are relative to its folder.
    pub source: String,
    /// Declared inputs, defaults filled in.
    pub inputs: Object,
    /// Absolute path of the folder in which commands run.
    pub workspace: String,
    /// Whether other runs may have live attempts there at the same time.
    #[serde(default)]
    pub shared: bool,
    /// Absolute path of the run's own folder (RUN_BASE).
    pub run_base: String,
    /// Who started it.
    pub by: Principal,
    /// Steps whose questions are approved at once, because the starter of the run asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yes_to: Vec<StepId>,
    /// The `traceparent` of the caller that started it. It only sets the ids of traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// On whose behalf, as the caller states it; empty in runs that were started before there was such a thing.
    #[serde(default, skip_serializing_if = "Requester::is_empty")]
    pub requester: Requester,
}

impl RunStarted {
    /// The user: whom the caller named, else who started the run.
    #[must_use]
    pub fn user_id(&self) -> &str {
        self.requester.user_id.as_deref().unwrap_or(&self.by.actor)
    }

    /// The conversation: the one that the caller named, else the run itself.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.requester.session_id.as_deref().unwrap_or_else(|| self.run.as_str())
    }

    /// The request as it came, else the inputs as JSON.
    #[must_use]
    pub fn raw_input(&self) -> String {
        let inputs = || Value::Object(self.inputs.clone()).compact();
        self.requester.raw_input.clone().unwrap_or_else(inputs)
    }
}

/// See [`Event::StepEntered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEntered {
    /// Of which flow; empty at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Which.
    pub step: StepId,
}

/// See [`Event::StepsGivenUp`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepsGivenUp {
    /// Of which flow; empty at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step that does without them.
    pub by: StepId,
    /// Which; those among them that are open are closed by a hand-off in the same commit.
    pub steps: Vec<StepId>,
}

/// See [`Event::FannedOut`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FannedOut {
    /// Which.
    pub visit: VisitId,
    /// The values, in order.
    pub items: Vec<Value>,
    /// The most that are under way at once.
    pub width: usize,
}

/// See [`Event::GoalsSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsSet {
    /// Each once, in order.
    pub goals: Vec<String>,
}

/// See [`Event::GoalsReached`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalsReached {
    /// The visit that reached them.
    pub visit: VisitId,
    /// Those that were open.
    pub goals: Vec<String>,
    /// What a report named that is no goal of the run; nothing follows from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// See [`Event::FlowEntered`]. Its scope is [`VisitId::inside`] of the visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowEntered {
    /// The visit that runs it.
    pub visit: VisitId,
    /// Which flow.
    pub flow: FlowId,
    /// Its inputs, defaults filled in.
    pub inputs: Object,
    /// The step at which it is entered, if a hint named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<StepId>,
    /// Whether a hint led here; the visit's hand-off then stands already.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_hint: bool,
    /// Whether it goes on where the visit before this one stopped.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumes: bool,
}

/// See [`Event::FlowReturned`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReturned {
    /// The visit that ran it.
    pub visit: VisitId,
    /// Its outputs.
    pub data: Value,
}

/// See [`Event::AttemptStarted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// Which attempt.
    pub attempt: AttemptId,
    /// What is to be executed.
    pub command: Command,
    /// Rendered variables of the flow and the step, later ones win. Secrets are not among them.
    pub env: Vec<(String, String)>,
    /// Folder relative to the workspace; `.` for the workspace itself.
    pub cwd: String,
    /// Longest duration.
    pub timeout_ms: Option<u64>,
    /// Times that the innermost loop has gone back, 0 outside a loop.
    pub iteration: u64,
    /// The visit whose hand-off the command is given as the last one.
    pub handoff: Option<VisitId>,
    /// The attempt whose text the command is given as feedback: the critic's, or the failed one that it tries again.
    pub feedback: Option<AttemptId>,
    /// The answer that sent the run back, whose text belongs to the feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_back_by: Option<InterruptId>,
    /// The last answer that the run was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// Identity of the boot in which it was decided; a reboot since then means that it cannot still be running.
    pub boot_id: String,
    /// Its step's budget, set aside until it is settled. `None`: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Budget>,
    /// The attempt in doubt of which it says whether it happened. `None`: it does the step's own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<AttemptId>,
}

/// See [`Event::AttemptSettled`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptSettled {
    /// Which attempt.
    pub attempt: AttemptId,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict (contract 4).
    pub ok: bool,
    /// Why not.
    pub error: Option<SkillError>,
    /// The step's text, by digest; the file is among the attempt's.
    pub text: Option<Blob>,
    /// The skill report, by digest.
    pub report: Option<Blob>,
    /// `data` of the report; over 64 KiB `{"$artifact": digest, "size": n}`.
    pub data: Value,
    /// `metrics` of the report.
    pub metrics: Object,
    /// Files that match `artifacts` and are handed over, and those that were deleted. Empty where there is a manifest.
    pub files: Vec<FileChange>,
    /// The list of these files, where it is too long for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// When the command was started.
    pub started_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// Things a person should know, such as a secret seen in an artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Another attempt had already taken its place: recorded, and ignored.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub late: bool,
    /// It had been given up and was to be ended; then it is late, too.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub given_up: bool,
    /// The flow that its step stands in, if that is not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// Digest of the workspace, for kinds of step that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_digest: Option<Digest>,
    /// The state of the agent's task, where the visit is not over with this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSaid>,
    /// Members that the report lacked and that the engine filled: `generatedAt`, `skillName`, `data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_filled: Vec<String>,
}

/// What another agent has come to, beside success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSaid {
    /// It waits for an answer.
    Asks {
        /// Its question.
        text: String,
        /// Which task of which agent.
        evidence: Value,
    },
    /// Its task is over, without success.
    Over,
    /// It is not known whether the agent took the message.
    Unclear,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command exited.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// It outlived its timeout and was ended.
    TimedOut,
    /// It was ended because the run was cancelled.
    Cancelled,
    /// It could not be started at all.
    CannotStart {
        /// The error of the operating system.
        reason: String,
    },
    /// Its end is not known.
    InDoubt {
        /// What is known: `output_tail`, `ran_ms`, `files_changed`.
        evidence: Value,
    },
}

/// See [`Event::ModelCallStarted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallStarted {
    /// Its id.
    pub call: CallId,
    /// The attempt whose command called. `None`: another caller, on the account of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// Which model, as the configuration names it.
    pub model: String,
    /// Who offers it, as the configuration names it.
    pub provider: String,
}

/// See [`Event::ModelCallEnded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallEnded {
    /// Which.
    pub call: CallId,
    /// As in [`ModelCallStarted::attempt`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// How.
    pub outcome: CallOutcome,
    /// Tokens that the model was given; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// What it cost; `None`: not known, or the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// How long it took; 0 where that is not known.
    pub duration_ms: u64,
}

/// How a call of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It was answered.
    Ok,
    /// It was not, or with an error.
    Failed,
    /// The caller or the engine went away. The usage is known up to that point.
    BrokenOff,
}

impl CallOutcome {
    /// The word for it, as it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::BrokenOff => "broken_off",
        }
    }
}

/// See [`Event::Routed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The visit that leads on.
    pub visit: VisitId,
    /// The signal; obeyed within bounds.
    pub signal: Signal,
    /// What the kernel does with it.
    pub course: Course,
    /// Why: the row that fired and those that did not, or the answer.
    pub audit: Value,
    /// The answer that decided it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// How its flow ends because of this, unless a later step handles the failure. Other steps may still run before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<RunEnded>>,
}

/// How a step of a graph ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// What needs it may go on.
    Passed,
    /// It was not done, and what needs it may go on.
    Skipped,
    /// It failed.
    Failed,
}

/// What the kernel does after a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Enters this step.
    Enter(StepId),
    /// Goes back to this step; counts as an iteration of the loop that the routed step closes.
    LoopBack(StepId),
    /// Begins the next round at this step: goals are open.
    Round(StepId),
    /// In a graph: the step is over, and what needs it is looked at.
    Done(Done),
    /// An item is over; the step goes on when all of its items are.
    Gathered,
    /// The flow is complete.
    Complete,
    /// Waits: for a person, and the interrupt follows; or for the flow that a hint leads into, which is entered.
    Hold,
    /// The flow ends; at the top `run_ended` follows.
    Stop,
}

/// See [`Event::HandoffWritten`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandoffWritten {
    /// The visit that it closes.
    pub visit: VisitId,
    /// The hand-off, as it will stand in its file.
    pub handoff: Handoff,
}

/// See [`Event::InterruptRaised`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptRaised {
    /// Its id.
    pub interrupt: InterruptId,
    /// Why the run stopped.
    pub about: About,
    /// The visit that is concerned.
    pub visit: VisitId,
    /// The question, for people.
    pub question: String,
    /// What one needs to know to answer.
    pub evidence: Value,
    /// When.
    pub raised_at: Timestamp,
    /// The word of contract 3; events of the first version do not have it ([`InterruptRaised::kind`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<InterruptKind>,
    /// When it lapses; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Digest of what the question shows: the flow, the last hand-off, the newest version of every artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// Artifacts that differed in the workspace when the question was put again, as they were found there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FoundFile>,
}

impl InterruptRaised {
    /// The word of contract 3.
    #[must_use]
    pub fn kind(&self) -> InterruptKind {
        self.kind.unwrap_or(match self.about {
            About::InDoubt => InterruptKind::SystemError,
            About::Exhausted | About::Limit => InterruptKind::ResourceExhausted,
            About::Blocked | About::Review | About::Stuck => InterruptKind::AgentReview,
            About::Ask => InterruptKind::Confirmation,
            About::Agent => InterruptKind::Clarification,
        })
    }
}

/// An artifact as it lies in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its content; `None` when it is not there.
    pub digest: Option<Digest>,
}

/// Why a person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// An attempt was announced, and its end is not known.
    InDoubt,
    /// A loop has had its last round.
    Exhausted,
    /// Further iteration cannot help.
    Blocked,
    /// The signal says that a person is needed.
    Review,
    /// A bound of the run leaves nothing over.
    Limit,
    /// Round after round no goal is reached.
    Stuck,
    /// A step asks.
    Ask,
    /// The agent asks that a step talks to.
    Agent,
}

/// What a person may decide; [`crate::Run::accepts`] says which of it a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// A new attempt of the same visit.
    Rerun,
    /// The visit has failed.
    Fail,
    /// Go on.
    Proceed,
    /// Another round of the loop; refused past a bound.
    Again,
    /// The run fails.
    Stop,
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// Words, or a form that is filled in.
    Respond,
    /// A higher bound.
    Raise,
}

/// See [`Event::InterruptAnswered`] and [`Event::VoteCast`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptAnswered {
    /// Which question.
    pub interrupt: InterruptId,
    /// The decision.
    pub choice: Choice,
    /// Who decided.
    pub by: Principal,
    /// Through which channel, such as `cli`, `terminal` or `yes_to`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The answer in words (contract 5).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The response: the form that was filled in, else what of `text`, `approved` and `decision` there is.
    #[serde(default)]
    pub data: Value,
    /// Files that came with it; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// With [`Choice::Raise`]: what is added to the bound. `None` when the answer to another question about the same
    /// bound added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<Ledger>,
    /// The id of the request that brought it. A request that is repeated, because no reply came, is answered as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl InterruptAnswered {
    /// The attachments with the file names that steps find them under: plain, without separators, each once.
    #[must_use]
    pub fn files(&self) -> Vec<(String, &AttachmentRef)> {
        crate::model::attached::named(&self.attachments)
    }
}

/// See [`Event::InterruptExpired`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptExpired {
    /// Which question.
    pub interrupt: InterruptId,
}

/// See [`Event::InterruptCancelled`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptCancelled {
    /// Which question.
    pub interrupt: InterruptId,
    /// Whether the question is put again, because what it showed has changed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changed: bool,
}

/// See [`Event::TimerSet`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerSet {
    /// Its id.
    pub timer: TimerId,
    /// When.
    pub due: Timestamp,
    /// The visit whose next attempt waits for it.
    pub visit: VisitId,
}

/// See [`Event::TimerFired`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFired {
    /// Which.
    pub timer: TimerId,
}

/// See [`Event::LimitsRaised`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitsRaised {
    /// Who.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// What is added to each bound.
    pub more: Ledger,
    /// As in [`InterruptAnswered::request`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// See [`Event::CancelRequested`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CancelRequested {
    /// Who.
    pub by: Principal,
}

/// See [`Event::RunReopened`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReopened {
    /// Who.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// The step that gets a new visit.
    pub step: StepId,
    /// What others of its family have used and been given since it knew of it last.
    #[serde(default, skip_serializing_if = "Share::is_nothing")]
    pub elsewhere: Share,
}

/// See [`Event::RunForked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunForked {
    /// The run that has lived what stands before.
    pub from: RunId,
    /// The run that this one goes back to by forks.
    pub root: RunId,
    /// The step that had just been entered.
    pub step: StepId,
    /// The last event that was taken over from `from`.
    pub at: Seq,
    /// Who.
    pub by: Principal,
    /// The reason, if one was given.
    pub why: Option<String>,
    /// What all runs of the family have used and been given so far: it counts for this one.
    pub family: Share,
}

/// See [`Event::RunEnded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How.
    pub status: EndStatus,
    /// The word of a [`TerminalReason`], such as `completed`.
    pub terminal_reason: String,
    /// In a sentence.
    pub reason: String,
    /// The step that stopped it; a reopened run gives it a new visit.
    pub stopped_by: Option<StepId>,
}

impl RunEnded {
    /// An end for a reason that the pipeline envelope has a word for.
    #[must_use]
    pub fn new(status: EndStatus, why: TerminalReason, reason: String, stopped_by: Option<StepId>) -> Self {
        Self { status, terminal_reason: why.word().to_owned(), reason, stopped_by }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// Every step that had to be done is done.
    Succeeded,
    /// A step, a person or a signal stopped it.
    Failed,
    /// A bound was reached.
    Exhausted,
    /// A person cancelled it.
    Cancelled,
}

impl AttemptSettled {
    /// Whether the agent's task may go on without this attempt, if it talked to an agent: that asks, was lost sight of, or
    /// was given up while it could not hear of it. An attempt that was ended has seen to that itself.
    #[must_use]
    pub fn leaves_a_talk(&self) -> bool {
        match (&self.agent, &self.outcome) {
            (Some(said), _) => *said != AgentSaid::Over,
            (None, Outcome::InDoubt { .. }) => true,
            (None, Outcome::Exited { .. } | Outcome::Signalled { .. }) => self.given_up,
            (None, Outcome::TimedOut | Outcome::Cancelled | Outcome::CannotStart { .. }) => false,
        }
    }
}
