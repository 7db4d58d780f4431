//! A checked flow: its steps and the transitions between them.
//!
//! Owns the structure that the kernel executes. It does not know YAML, files or spans: crate `flow` reads
//! those, checks every rule of the language and builds this. The kernel assumes that a [`Flow`] is
//! consistent: targets exist, loops are bounded, expressions parse.

pub use crate::model::{ledger::Budget, secret::SecretSource};
mod agent;
mod ask;
mod cached;
mod difference;
mod goals;
mod model_step;
mod places;
mod program;
mod questions;
mod step_read;
mod structure;
mod subflow;
mod versions;

pub use agent::{AGENT_TOKEN_PREFIX, AgentPlan};
pub use ask::{AskPlan, Overdue};
pub use cached::CachePlan;
pub(crate) use difference::change_within;
pub use difference::{Change, change, compare};
pub use goals::GoalsPlan;
pub use model_step::ModelPlan;
pub use places::Places;
pub use program::{AfterWait, AskCalls, DEFAULT_IDLE_MS, Fallback, OnThrottled, ProgramPlan};
pub use step_read::StepRead;
pub use structure::{KnownStructure, Loop, Span, Structure, reached};
pub use subflow::{InnerInput, InnerPlan, InputCheck, InputMisfit};
pub use versions::Versions;

pub use crate::model::on_conflict::{EditedFile, MergeDecision, OnConflict};
use crate::model::{
    ids::{FlowId, StepId},
    notify::Target,
};
use envoi_contract::{digest::Digest, json::Value, routing::Kind};
use std::{collections::BTreeMap, sync::Arc};

/// A pinned, checked flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its id, which is also the `flow_key` of its hand-offs.
    pub id: FlowId,
    /// The version of the flow language in which it is interpreted.
    pub language: u32,
    /// A title for people.
    pub title: Option<String>,
    /// Inputs of a run, in the order of the file.
    pub inputs: Vec<InputDecl>,
    /// Checks values against those declarations.
    pub input_check: InputCheck,
    /// Bounds of the whole run.
    pub limits: Limits,
    /// Values that are read from outside at each start and never stored.
    pub secrets: Vec<Secret>,
    /// Variables of the caller's environment that commands see in addition to the usual ones: names, or
    /// prefixes followed by `*`.
    pub pass_env: Vec<String>,
    /// Files of variables for commands, relative to the flow file. Their values are in no event.
    pub env_files: Vec<String>,
    /// Variables that expressions refer to (`env.NAME`), read once when a run starts.
    pub env_read: Vec<String>,
    /// Whether expressions of it, or of a flow that it runs, read the whole text of a step (`steps.ID.text`).
    pub reads_text: bool,
    /// Folder in which commands run, relative to the flow file.
    pub workspace: String,
    /// Set if each run gets a tree of its own. `None`: it works in `workspace`.
    pub isolation: Option<Isolation>,
    /// Whether the files of the workspace are kept before and after each attempt.
    pub keep_files: bool,
    /// Files that are kept although git ignores them: globs of files and folders, relative to the workspace.
    pub keep_also: Vec<String>,
    /// Environment for every step.
    pub env: Vec<(String, Template)>,
    /// The recipients of notices.
    pub notify: Vec<Target>,
    /// At least one, in listed order.
    pub steps: Vec<Step>,
    /// Whether `needs` determines the order of steps, instead of the listed order.
    pub graph: bool,
    /// Goals, and the steps that are repeated for them.
    pub goals: Option<GoalsPlan>,
    /// The places where its file reads results of its steps.
    pub reads: Vec<StepRead>,
    /// In the flow of a run: every flow that it refers to, directly or indirectly. Empty in those flows.
    pub flows: BTreeMap<FlowId, Arc<Flow>>,
    /// SHA-256 of the canonical JSON of the text, without defaults.
    pub digest: Digest,
    /// The cached result of [`Flow::structure`]; empty in a new flow.
    pub known_structure: KnownStructure,
}

impl Flow {
    /// Whether `pass_env` includes this variable. Envoi's own variables are never passed.
    #[must_use]
    pub fn passes(&self, name: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        !name.starts_with("ENVOI_") && self.pass_env.iter().any(fits)
    }

    /// The order of the steps, and the loops. Computed at the first call; the steps must not change
    /// afterwards.
    #[must_use]
    pub fn structure(&self) -> &Structure {
        self.known_structure.of(self)
    }

    /// Whether the step belongs to the steps that are repeated for the goals.
    #[must_use]
    pub fn is_in_a_round(&self, id: &StepId) -> bool {
        self.goals.as_ref().is_some_and(|goals| {
            let place = self.position(id);
            place.is_some() && place >= self.position(&goals.from) && place <= self.position(&goals.to)
        })
    }

    /// The first step of this flow, or of one that it runs, that changes files by itself. A run of such a
    /// flow needs a tree of its own.
    #[must_use]
    pub fn needs_tree(&self) -> Option<&Step> {
        let steps = self.flows.values().flat_map(|flow| &flow.steps);
        self.steps.iter().chain(steps).find(|step| step.needs_tree().is_some())
    }

    /// The step with this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.get(self.position(id)?)
    }

    /// The index of a step in the listed order, from 0. Computed at the first call; the steps must not change
    /// afterwards.
    #[must_use]
    pub fn position(&self, id: &StepId) -> Option<usize> {
        self.known_structure.place(self, id)
    }

    /// Whether a denial or an expiry leads to this step and no `next` continues from there: the run then ends
    /// with it.
    #[must_use]
    pub fn is_last_resort(&self, id: &StepId) -> bool {
        let Some(place) = self.position(id) else { return false };
        let (earlier, from) = self.steps.split_at(place);
        let is_undecided = from.first().is_some_and(|step| step.routing.next.is_none());
        is_undecided && earlier.iter().filter_map(Step::asks).any(|plan| plan.diverts_to(id))
    }

    /// The step that follows `id` by default: `routing.next`, otherwise the next listed one. `None`: the end
    /// of the run.
    #[must_use]
    pub fn after(&self, id: &StepId) -> Option<&Step> {
        match self.step(id)?.routing.next.as_ref() {
            Some(Next::End) => None,
            Some(Next::Step(next)) => self.step(next),
            None if self.is_last_resort(id) => None,
            None => self.steps.get(self.position(id)?.checked_add(1)?),
        }
    }
}

/// The tree of its own that each run of a flow gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Ignored files and folders that are copied into the tree if they exist, relative to the workspace.
    pub bring: Vec<String>,
    /// The step that prepares the tree. Every run executes it.
    pub setup: Option<StepId>,
}

/// A declared input.
#[derive(Debug, Clone, PartialEq)]
pub struct InputDecl {
    /// Its name in `${{ inputs.NAME }}`.
    pub name: String,
    /// A JSON Schema of the value (checked by crate `flow` at the start of a run).
    pub schema: Value,
    /// The value used if the run is given none. An input without a default is required.
    pub default: Option<Value>,
}

/// Bounds of a run, checked before each start. `None`: unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Number of attempts started.
    pub agent_hops: Option<u64>,
    /// Number of loop-backs of the whole run.
    pub iterations: Option<u64>,
    /// Number of model calls that reports state.
    pub llm_calls: Option<u64>,
    /// Milliseconds during which an attempt was live.
    pub wall_time_ms: Option<u64>,
    /// Milliseconds during which a visit waited for a closed account. Simultaneous waits count once.
    pub waiting_ms: Option<u64>,
    /// Cost that reports state.
    pub cost: Option<crate::model::ledger::Cost>,
    /// The amount charged for an attempt or a call with an unknown number of calls or an unknown cost.
    pub unknown: crate::model::ledger::Budget,
    /// The consequence for a run that reaches a limit.
    pub on_reached: OnReached,
}

/// `limits.on_reached`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnReached {
    /// The run ends as exhausted.
    #[default]
    Fail,
    /// A person may raise the bound.
    Ask,
}

/// The source of a secret. Commands see it as the environment variable `name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable name for commands.
    pub name: String,
    /// The source that the engine reads at each start.
    pub source: SecretSource,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id, unique within the flow.
    pub id: StepId,
    /// The kind of step.
    pub kind: StepKind,
    /// Name of the skill whose report the command must write.
    pub skill: Option<String>,
    /// If it evaluates to false, the visit is skipped.
    pub condition: Option<Expression>,
    /// Environment of this step. It overrides the flow's.
    pub env: Vec<(String, Template)>,
    /// Folder relative to the workspace.
    pub cwd: Option<Template>,
    /// Maximum duration of one attempt.
    pub timeout_ms: Option<u64>,
    /// When a failed attempt is tried again.
    pub retry: Retry,
    /// Globs of files that are handed over, relative to the workspace.
    pub artifacts: Vec<String>,
    /// The reaction if no file matches one of the globs although the attempt succeeded.
    pub if_no_artifacts: NoArtifacts,
    /// The transitions after its result.
    pub routing: RoutingPlan,
    /// The reaction to an attempt whose end is unknown.
    pub on_in_doubt: InDoubtPolicy,
    /// Whether the command gets the pipeline envelope as a file.
    pub envelope: bool,
    /// Whether the run goes on after the visit has finally failed.
    pub continue_on_error: bool,
    /// In a graph: the steps it waits for. Empty: it is ready from the start.
    pub needs: Vec<StepId>,
    /// How many of them must be done.
    pub join: Join,
    /// Set if it is executed once for each value of a list.
    pub for_each: Option<ForEach>,
    /// The budget of one attempt, reserved before its start.
    pub budget: Budget,
    /// Goals that are reached when it succeeds.
    pub marks: Vec<String>,
    /// Whether its `if` itself defines how it treats an earlier failure (`success()`, `failure()`,
    /// `always()`). Otherwise the step is skipped after a failure.
    pub regardless: bool,
    /// `data: json`: its text is parsed as its data.
    pub data_is_text: bool,
    /// A JSON Schema of its data (checked outside the kernel, before the kernel gets the attempt's result).
    pub outputs: Option<Value>,
    /// The files it begins with when it is executed again.
    pub files: FilesAgain,
    /// When its result is taken from an earlier run. `None`: never.
    pub cache: Option<Box<CachePlan>>,
    /// Each of its items works in a tree of its own, and their changes are merged when all are over.
    pub isolate: bool,
    /// The policy for items that have changed the same lines.
    pub on_conflict: OnConflict,
}

/// `if_no_artifacts`: the reaction if no file matches a glob of `artifacts` although the command succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoArtifacts {
    /// A warning that names the glob.
    #[default]
    Warn,
    /// No reaction.
    Ignore,
    /// The attempt fails.
    Fail,
}

/// `files`: the files of the workspace with which a step begins when it is executed again: in a further
/// attempt, after doubt, or because a loop goes back to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FilesAgain {
    /// The present files.
    #[default]
    Keep,
    /// The files with which it began the first time. Only in a run with a tree of its own.
    Restore,
}

/// When a step of a graph is entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Join {
    /// All steps it needs are done and none has failed.
    #[default]
    All,
    /// The first of them has succeeded; the others are abandoned.
    Any,
    /// All of them have ended, in any way.
    Settled,
    /// This many have succeeded; the others are abandoned.
    Quorum(u32),
}

/// `for_each`: one execution for each item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForEach {
    /// The list.
    pub items: Expression,
    /// Maximum number of items in progress at once; `None`: only the engine's own limit applies.
    pub max_parallel: Option<u32>,
}

/// The kind of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// A command.
    Run(CommandPlan),
    /// A question to a person.
    Ask(Box<AskPlan>),
    /// Another flow, as a part of the same run.
    Flow(Box<InnerPlan>),
    /// A message to another agent, and its reply.
    A2a(Box<AgentPlan>),
    /// An agent program.
    Agent(Box<ProgramPlan>),
    /// A call of a model, without tools.
    Model(Box<ModelPlan>),
}

impl Step {
    /// A step of this kind with default settings.
    #[must_use]
    pub fn new(id: StepId, kind: StepKind) -> Self {
        Self {
            id,
            kind,
            skill: None,
            condition: None,
            env: Vec::new(),
            cwd: None,
            timeout_ms: None,
            retry: Retry::default(),
            artifacts: Vec::new(),
            if_no_artifacts: NoArtifacts::Warn,
            routing: RoutingPlan::default(),
            on_in_doubt: InDoubtPolicy::Ask,
            envelope: false,
            continue_on_error: false,
            needs: Vec::new(),
            join: Join::All,
            for_each: None,
            budget: Budget::default(),
            marks: Vec::new(),
            regardless: false,
            data_is_text: false,
            outputs: None,
            files: FilesAgain::Keep,
            cache: None,
            isolate: false,
            on_conflict: OnConflict::Ask,
        }
    }

    /// Whether it is executed by attempts: it runs a command or an agent program, calls a model, or talks to
    /// another agent.
    #[must_use]
    pub fn has_attempts(&self) -> bool {
        matches!(self.kind, StepKind::Run(_) | StepKind::A2a(_) | StepKind::Agent(_) | StepKind::Model(_))
    }

    /// The key in the flow file because of which a run needs a tree of its own.
    #[must_use]
    pub fn needs_tree(&self) -> Option<&'static str> {
        match (self.isolate, self.files) {
            (true, _) => Some("isolate: true"),
            (false, FilesAgain::Restore) => Some("files: restore"),
            (false, FilesAgain::Keep) => None,
        }
    }

    /// Whether its agent continues with a refusal when a question about a tool call expires.
    pub(crate) fn denies_when_expired(&self) -> bool {
        matches!(&self.kind, StepKind::Agent(plan) if plan.ask.denies_when_expired)
    }

    /// The question, if this is an `ask` step.
    #[must_use]
    pub fn asks(&self) -> Option<&AskPlan> {
        match &self.kind {
            StepKind::Ask(plan) => Some(plan),
            StepKind::Run(_)
            | StepKind::Flow(_)
            | StepKind::A2a(_)
            | StepKind::Agent(_)
            | StepKind::Model(_) => None,
        }
    }

    /// The flow that it runs, if it runs one.
    #[must_use]
    pub fn inner(&self) -> Option<&InnerPlan> {
        match &self.kind {
            StepKind::Flow(plan) => Some(plan),
            StepKind::Run(_)
            | StepKind::Ask(_)
            | StepKind::A2a(_)
            | StepKind::Agent(_)
            | StepKind::Model(_) => None,
        }
    }
}

/// A command before its templates are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPlan {
    /// A list: the first element is the program. No shell is involved.
    Exec(Vec<Template>),
    /// A string in a flow of language version 1, passed to `sh -c`.
    Shell(Template),
    /// A string, passed to the interpreter that the flow names.
    Script(ScriptPlan),
}

impl CommandPlan {
    /// Whether a shell looks up the program. If so, its exit code can mean that the program does not exist.
    #[must_use]
    pub fn through_shell(&self) -> bool {
        match self {
            Self::Exec(_) => false,
            Self::Shell(_) => true,
            Self::Script(plan) => plan.values == Some(ScriptValues::Shell),
        }
    }
}

/// A script, and the program that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPlan {
    /// The program and its options. The script follows as the last argument.
    pub interpreter: Vec<String>,
    /// How the script reads a variable that replaces an expression. `None`: not known, and the script
    /// contains no expressions.
    pub values: Option<ScriptValues>,
    /// The script.
    pub script: Template,
}

/// The syntax with which a script reads a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptValues {
    /// `${NAME}`.
    Shell,
    /// A lookup in `os.environ`.
    Python,
}

impl ScriptValues {
    /// The text that reads the variable `name` in the script.
    #[must_use]
    pub fn reference(self, name: &str) -> String {
        match self {
            Self::Shell => format!("${{{name}}}"),
            Self::Python => format!("__import__(\"os\").environ[\"{name}\"]"),
        }
    }
}

/// A string with `${{ … }}` in it, already checked to parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub String);

/// An expression (of an `if`, or for a list or a value), without the `${{ }}`, already checked to parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(pub String);

impl Expression {
    /// The items, if the flow file contains the list itself; the source is then JSON. The list is not
    /// evaluated, so it may be long and its numbers keep their tokens. `None`: the expression must be
    /// evaluated.
    #[must_use]
    pub fn written_out(&self) -> Option<Vec<Value>> {
        match Value::parse_str(&self.0) {
            Ok(Value::Array(items)) => Some(items),
            _ => None,
        }
    }
}

/// The number and the delays of tries after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Total number of tries of a visit, at least 1.
    pub attempts: u32,
    /// Wait before the second try; doubled for each further one.
    pub backoff_min_ms: u64,
    /// Longest wait.
    pub backoff_max_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, backoff_min_ms: 1_000, backoff_max_ms: 30_000 }
    }
}

/// `routing:` of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingPlan {
    /// How the resolver reads the text.
    pub kind: Kind,
    /// Whether the flow file has a `routing` that needs a resolver. Without one, the step just goes on.
    pub declared: bool,
    /// The step that a loop goes back to; the step itself if none is named.
    pub loop_to: Option<StepId>,
    /// Exit codes that count as executed, each with its status.
    pub status_from_exit: BTreeMap<i32, String>,
    /// Statuses that end the loop or pass the gate.
    pub success_values: Vec<String>,
    /// Maximum number of times that the loop goes back, per entry into the loop.
    pub max_iterations: u64,
    /// Whether another round can help, unless the text states otherwise.
    pub can_further_iteration_help: bool,
    /// The step to enter on advance, instead of the next listed one.
    pub next: Option<Next>,
    /// Steps that a hint in the text may name. If this and `flow_branches` are empty, hints have no effect.
    pub branches: Vec<StepId>,
    /// Steps of other flows that a hint may name. The flow is entered there, and the run then continues after
    /// this step.
    pub flow_branches: Vec<(FlowId, StepId)>,
    /// The reaction when the loop has used its last round without success.
    pub on_exhausted: OnExhausted,
    /// The reaction when further iteration cannot help.
    pub on_blocked: OnBlocked,
}

impl Default for RoutingPlan {
    fn default() -> Self {
        Self {
            kind: Kind::Linear,
            declared: false,
            loop_to: None,
            status_from_exit: BTreeMap::new(),
            success_values: Vec::new(),
            max_iterations: 3,
            can_further_iteration_help: true,
            next: None,
            branches: Vec::new(),
            flow_branches: Vec::new(),
            on_exhausted: OnExhausted::Ask,
            on_blocked: OnBlocked::Ask,
        }
    }
}

/// Target of `routing.next`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The run is complete.
    End,
    /// A later step.
    Step(StepId),
}

/// `on_exhausted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExhausted {
    /// A person decides.
    Ask,
    /// The run ends as exhausted.
    Fail,
    /// The run goes on.
    Proceed,
}

/// `on_blocked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBlocked {
    /// A person decides.
    Ask,
    /// The run fails.
    Fail,
}

/// `on_in_doubt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InDoubtPolicy {
    /// A person decides.
    Ask,
    /// A new attempt of the same visit.
    Rerun,
    /// The visit fails.
    Fail,
    /// A command decides. Exit code 0: the attempt happened, and this command's output replaces its own. 1:
    /// it did not happen; run it again. Any other code: a person decides.
    Verify(CommandPlan),
}
