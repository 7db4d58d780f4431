//! Runs: a run as a short row, a page of runs, a run with all its data, and the result of a command that ran one.

pub mod amounts;
pub mod comparison;
pub mod file;
pub mod log;

use crate::{
    Time,
    amounts::{Amounts, Limits},
    handoff::HandoffRow,
    question::Question,
    scalar::{digest, dollars, words},
    step::ModelAmounts,
};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::{FlowId, RunId, StepId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

words! {
    /// The state of a run, according to its steps.
    RunStatus {
        /// Something is in progress or due, or will be as soon as there is an engine.
        Running = "running",
        /// Only a person can continue it.
        Waiting = "waiting",
        /// Every step that had to be done is done.
        Succeeded = "succeeded",
        /// A step, a person or a signal ended it.
        Failed = "failed",
        /// A limit was reached.
        Exhausted = "exhausted",
        /// A person cancelled it.
        Cancelled = "cancelled",
    }
}

words! {
    /// Whether anything works on a run.
    Activity {
        /// An engine drives it, or the supervisor of one of its attempts is alive.
        Working = "working",
        /// Nothing works on it.
        Stopped = "stopped",
        /// It is set aside because of a defect.
        SetAside = "set_aside",
    }
}

words! {
    /// The state of a run in one word, for lists, the web page and `envoi runs`. A reason that keeps the run from
    /// continuing takes precedence over the state of its steps.
    Stands {
        /// It has a defect and is set aside, so that it does not hold up other runs.
        SetAside = "set_aside",
        /// Nothing works on it, and nothing starts until it is resumed.
        Stopped = "stopped",
        /// One of its steps continues under its supervisor, but no engine drives the run. A resume waits for that
        /// step.
        RunningWithoutAnEngine = "running_without_an_engine",
        /// A step waits for the rate limit of its agent program's account, and nothing else is in progress.
        WaitingForAccount = "waiting_for_account",
        /// An engine drives it.
        Running = "running",
        /// Only a person can continue it.
        Waiting = "waiting",
        /// Every step that had to be done is done.
        Succeeded = "succeeded",
        /// A step, a person or a signal ended it.
        Failed = "failed",
        /// A limit was reached.
        Exhausted = "exhausted",
        /// A person cancelled it.
        Cancelled = "cancelled",
    }
}

impl Stands {
    /// True if only an unfinished run has this state.
    #[must_use]
    pub const fn is_unfinished(self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::RunningWithoutAnEngine
                | Self::WaitingForAccount
                | Self::Running
                | Self::Waiting
        )
    }
}

/// The default for rows of older servers, which do not send this member.
const fn stands_by_default() -> Stands {
    Stands::Running
}

/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its id.
    #[schemars(with = "String")]
    pub run: RunId,
    /// The id of its flow.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// The digest of the flow that it is pinned to.
    #[schemars(schema_with = "digest")]
    pub flow_digest: Digest,
    /// Where it stands.
    pub status: RunStatus,
    /// How it stands, in one word, with what works on it now and what it waits for.
    #[serde(default = "stands_by_default")]
    pub stands: Stands,
    /// Whether a change of its files, by `envoi restore` or `envoi apply`, was begun and is not done.
    #[serde(default)]
    pub files_half_set_back: bool,
    /// Whether an attempt is in doubt, so that a person has to decide.
    pub in_doubt: bool,
    /// The step it is in, or was in when it ended.
    #[schemars(with = "Option<String>")]
    pub step: Option<StepId>,
    /// The folder in which its commands run.
    pub workspace: String,
    /// Whose run it is.
    pub tenant: String,
    /// Who started it.
    pub actor: String,
    /// When its first event was decided.
    pub started_at: Time,
    /// When its newest event was decided.
    pub updated_at: Time,
    /// How many events it has.
    pub events: u64,
    /// Attempts that were started and have not ended.
    pub live_attempts: u32,
    /// Questions that wait for a person.
    pub open_questions: u32,
    /// Why it ended, as a word of contract 3; null while it goes on.
    pub terminal_reason: Option<String>,
    /// Why it ended, in a sentence; null while it goes on.
    pub reason: Option<String>,
    /// The run that it was forked from; null if it is no fork.
    #[schemars(with = "Option<String>")]
    pub forked_from: Option<RunId>,
    /// The first run of its family; null if it is no fork.
    #[schemars(with = "Option<String>")]
    pub root: Option<RunId>,
    /// Whether an engine, or a step under its supervisor, works on the run now; null if it has ended.
    pub activity: Option<Activity>,
    /// Since when.
    pub activity_since: Option<Time>,
    /// Whether a step of it goes on under its supervisor without an engine; who resumes it waits for that step.
    #[serde(default)]
    pub step_works: bool,
    /// Why it is set aside; null if it is not.
    pub set_aside: Option<SetAside>,
    /// The account of an agent program that a step of it waits for, the one that is tried first; null if it waits for none.
    pub waits_for: Option<WaitsFor>,
    /// The part of its flow that it does; null if it does all of it.
    #[serde(default)]
    pub part: Option<RunPart>,
    /// The head of the chain over its events, as `export` has it; null unless it is over, and in a list of runs.
    #[serde(default)]
    pub head: Option<String>,
}

/// The part of its flow that a run does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct RunPart {
    /// These steps and no others; empty if others were not left out in this way.
    #[schemars(with = "Vec<String>")]
    pub only: Vec<StepId>,
    /// This step and what follows it.
    #[schemars(with = "Option<String>")]
    pub from: Option<StepId>,
    /// This step and what comes before it.
    #[schemars(with = "Option<String>")]
    pub until: Option<StepId>,
    /// Not these steps.
    #[schemars(with = "Vec<String>")]
    pub skip: Vec<StepId>,
    /// The run whose hand-offs stand for those of steps that are left out.
    #[schemars(with = "Option<String>")]
    pub with: Option<RunId>,
}

/// The account of an agent program that a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct WaitsFor {
    /// Its name.
    pub account: String,
    /// When its provider says that it is open again; null if it does not say.
    pub resets_at: Option<Time>,
    /// When the next try is made.
    pub next_try: Time,
}

/// Why a run is set aside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SetAside {
    /// Since when.
    pub since: Time,
    /// The error code; `envoi explain CODE` says more.
    pub code: String,
    /// Why, in a sentence.
    pub reason: String,
    /// What was found.
    pub evidence: String,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Runs {
    /// The runs.
    pub runs: Vec<Run>,
    /// The `cursor` of the next page; null on the last.
    #[schemars(with = "Option<String>")]
    pub next: Option<RunId>,
    /// What these runs have done and used, if `so_far` asked for it; without those that are too long to be read with this page.
    #[serde(default)]
    pub so_far: Vec<RunSoFar>,
    /// How many runs there are in which status, those of other pages too, whatever `status` says; null if `counts` did not ask for it.
    #[serde(default)]
    pub counts: Option<BTreeMap<String, u64>>,
}

/// What a run has done and used so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSoFar {
    /// Its id.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Steps of its own flow that are over and have not failed, each counted once.
    pub steps_done: u64,
    /// Steps of its own flow.
    pub steps: u64,
    /// Attempts that it has used itself.
    pub agent_hops: u64,
    /// Dollars that it has used itself, without the other runs of its family.
    #[schemars(schema_with = "dollars")]
    pub cost_usd: String,
    /// Calls of models and attempts whose cost is not known.
    pub unknown_costs: u64,
    /// When the first of its steps that wait for their next try is tried again; null if none waits for that.
    #[serde(default)]
    pub next_try_at: Option<Time>,
}

impl RunSoFar {
    /// The row of a run. `rows` must have taken the same events as `run`.
    #[must_use]
    pub fn of(id: &RunId, run: &envoi_kernel::Run, rows: &crate::step::StepRows) -> Self {
        let used = run.own_share().used;
        Self {
            run: id.clone(),
            steps_done: rows.steps_done(),
            steps: u64::try_from(run.flow().steps.len()).unwrap_or(u64::MAX),
            agent_hops: used.agent_hops,
            cost_usd: used.cost.to_string(),
            unknown_costs: used.unknown_costs,
            next_try_at: rows.next_try(run).map(Into::into),
        }
    }
}

/// A run that was forked from another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    /// The new run.
    #[serde(flatten)]
    pub run: Run,
    /// What should be known besides, such as files that differ from what they were at the step.
    pub notes: Vec<String>,
}

/// A run that a command has handed over to an engine in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Its id.
    #[schemars(with = "String")]
    pub run: RunId,
}

/// The last line of a command that has followed a run, after a line for each event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// How the command leaves the run.
    pub result: RunResult,
}

/// How a command leaves the run that it has followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Its id.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Where it stands.
    pub status: String,
    /// Why it ended, as a word of contract 3.
    pub terminal_reason: Option<String>,
    /// Why, in a sentence.
    pub reason: Option<String>,
    /// The exit code of the command.
    pub exit_code: u8,
}

/// A run with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    /// The run at a glance.
    #[serde(flatten)]
    pub run: Run,
    /// The exit code of a command that follows it; null while it runs.
    pub exit_code: Option<u8>,
    /// How it came, if it came with a bundle; else null, as for a run of a server.
    pub imported: Option<ImportedFrom>,
    /// How often it was reopened, oldest first.
    pub reopened: Vec<Reopened>,
    /// How often its flow was corrected, oldest first.
    pub corrected: Vec<Corrected>,
    /// Its hand-offs, in order.
    pub handoffs: Vec<HandoffRow>,
    /// Attempts that run.
    pub running: Vec<String>,
    /// Attempts that were started and that nothing works on.
    pub left: Vec<String>,
    /// Notices that were not delivered.
    pub notices: Vec<Notice>,
    /// Its open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// What it and its family have used.
    pub used: Amounts,
    /// What of that it has used itself.
    pub own_used: Amounts,
    /// What is set aside for live attempts.
    pub reserved: Amounts,
    /// Its limits; null is unlimited.
    pub limits: Limits,
    /// By how much the limits were raised.
    pub raised: Amounts,
    /// What each step has used.
    pub by_step: BTreeMap<String, Amounts>,
    /// What each model has been used for by the run itself.
    pub by_model: Vec<ModelAmounts>,
}

/// How a run came that came with a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFrom {
    /// The file of its bundle, as it was named.
    pub file: String,
    /// When.
    pub at: Time,
    /// Who brought it.
    pub by: String,
    /// Who has signed the bundle, of those whom the importer has named; null if none was named.
    pub signer: Option<String>,
}

/// One time that a run was reopened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reopened {
    /// When.
    pub at: Time,
    /// By whom.
    pub by: String,
    /// The steps that started again.
    pub steps: Vec<String>,
}

/// One time that its flow was corrected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Corrected {
    /// When the corrected flow took over.
    pub at: Time,
    /// Who corrected it.
    pub by: String,
    /// The reason that was given; null if none was.
    pub reason: Option<String>,
    /// The digest of the flow before.
    #[schemars(schema_with = "digest")]
    pub before_digest: Digest,
    /// The digest of the corrected flow.
    #[schemars(schema_with = "digest")]
    pub after_digest: Digest,
    /// The file of the corrected flow.
    pub source: String,
    /// The step from which on finished steps ran again; null if none did.
    #[schemars(with = "Option<String>")]
    pub again_from: Option<StepId>,
}

/// A notice that was not delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Its id.
    pub notice: String,
    /// What it is about.
    pub kind: String,
    /// To whom: a command by its program, a webhook by its host.
    pub target: String,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried next; null if that was given up.
    pub next_try_at: Option<Time>,
    /// When it was given up.
    pub gave_up_at: Option<Time>,
    /// Why the last try failed.
    pub last_error: Option<String>,
}

/// A question that is open, and how to answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// The question at a glance.
    #[serde(flatten)]
    pub question: Question,
    /// What one needs to know to answer.
    pub evidence: Value,
    /// The commands that answer it.
    pub command: String,
}

/// What a run has used of what it may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLedger {
    /// Its id.
    #[schemars(with = "String")]
    pub run: RunId,
    /// What it and its family have used.
    pub used: Amounts,
    /// What of that it has used itself.
    pub own_used: Amounts,
    /// What is set aside for live attempts.
    pub reserved: Amounts,
    /// Its limits; null is unlimited.
    pub limits: Limits,
    /// By how much the limits were raised.
    pub raised: Amounts,
    /// What each step has used.
    pub by_step: BTreeMap<String, Amounts>,
    /// What it has used itself of each model: by steps that ask a model, and through the bridge. What other programs report names no model.
    pub by_model: Vec<ModelAmounts>,
    /// Calls of models whose cost is not known: `used` has nothing for them.
    pub unknown_costs: u64,
    /// Attempts in doubt: `used` has their whole budget, or nothing if they had none.
    pub attempts_in_doubt: u64,
}

impl RunLedger {
    /// The amounts of a run until `now`. `rows` must have taken the same events as `run`.
    #[must_use]
    pub fn of(
        id: &RunId,
        run: &envoi_kernel::Run,
        rows: &crate::step::StepRows,
        now: envoi_contract::time::Timestamp,
    ) -> Self {
        Self {
            run: id.clone(),
            used: Amounts::used(run, now),
            own_used: Amounts::own_used(run, now),
            reserved: (&run.reserved()).into(),
            limits: Limits::of(run),
            raised: run.raised().into(),
            by_step: run.ledger_by_step().iter().map(|(step, used)| (step.clone(), used.into())).collect(),
            by_model: rows.by_model(),
            unknown_costs: rows.unknown_costs(),
            attempts_in_doubt: rows.doubted(),
        }
    }
}

/// A run that cannot be read, and what of it can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableRun {
    /// The run at a glance.
    #[serde(flatten)]
    pub run: Run,
    /// Why, and which events are damaged.
    pub unreadable: Unreadable,
}

/// Why a run cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// Why.
    pub reason: String,
    /// Its events, damaged ones included.
    pub events: u64,
    /// Those of them that can be read.
    pub readable: u64,
    /// Places at which an event is missing.
    pub missing: Vec<u64>,
    /// Events that are damaged.
    pub damaged: Vec<DamagedEvent>,
    /// Whether its entry in the journal is missing.
    pub has_no_entry: bool,
}

/// An event that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedEvent {
    /// Its place.
    pub seq: u64,
    /// Why.
    pub reason: String,
}
