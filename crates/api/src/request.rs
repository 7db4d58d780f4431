//! Bodies of requests. The server reads them with the strict reader of the contracts, which keeps numbers as they
//! were sent. These types define their members.

use crate::scalar::{digest, object, step, words};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The body that begins a session of the web page: one of both members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignIn {
    /// The code of a link that `envoi page` has printed. It is good once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub code: Option<String>,
    /// A token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub token: Option<String>,
}

words! {
    /// How a run uses its workspace.
    WorkspaceUse {
        /// Exclusively: no other run may work there at the same time.
        Alone = "alone",
        /// Shared: other runs may work there at the same time.
        Shared = "shared",
        /// In a copy.
        Copy = "copy",
    }
}

words! {
    /// A decision about what a run waits for.
    ResumeChoice {
        /// Start a new attempt.
        Rerun = "rerun",
        /// Let the visit fail.
        Fail = "fail",
        /// Continue.
        Proceed = "proceed",
        /// Start another round of the loop.
        Again = "again",
        /// For items in conflict: keep the existing lines.
        Ours = "ours",
        /// For items in conflict: use the lines of the items.
        Theirs = "theirs",
        /// Let the run fail.
        Stop = "stop",
    }
}

words! {
    /// An answer to a question.
    Choice {
        /// Yes.
        Approve = "approve",
        /// No.
        Deny = "deny",
        /// A text or a completed form.
        Respond = "respond",
        /// Continue.
        Proceed = "proceed",
        /// Start another round of the loop.
        Again = "again",
        /// For items in conflict: keep the existing lines.
        Ours = "ours",
        /// For items in conflict: use the lines of the items.
        Theirs = "theirs",
        /// For items in conflict: `data.files` has the new content of each file by its path, as the digest of an
        /// attachment or null.
        Edit = "edit",
        /// Let the run fail.
        Stop = "stop",
        /// Start a new attempt.
        Rerun = "rerun",
        /// Let the visit fail.
        Fail = "fail",
        /// Raise a limit.
        Raise = "raise",
    }
}

words! {
    /// The origin of a content (contract 5).
    OriginKind {
        /// Uploaded by a person.
        Upload = "upload",
        /// Attached to a mail.
        EmailAttachment = "email_attachment",
        /// Made by an agent.
        AgentGenerated = "agent_generated",
        /// Stored elsewhere.
        ExternalLink = "external_link",
        /// Generated with the request.
        LiveGenerator = "live_generator",
    }
}

/// The body of `startRun`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "flow": "publish", "inputs": {}, "workspace": "shared", "user_id": "ada", "metadata": {"team": "press"},
}]))]
pub struct Start {
    /// The digest of a registered flow, or its id for the newest.
    pub flow: String,
    /// By the names that the flow declares.
    #[serde(default)]
    #[schemars(schema_with = "object")]
    pub inputs: Map<String, Value>,
    /// How the run uses its workspace; alone by default.
    #[schemars(with = "WorkspaceUse", default)]
    pub workspace: Option<WorkspaceUse>,
    /// Steps whose questions are approved as they are put.
    #[serde(default)]
    #[schemars(with = "Vec<Step>")]
    pub yes_to: Vec<StepId>,
    /// The user on whose behalf the run is started; the name of the token by default.
    #[schemars(length(min = 1, max = 256))]
    pub user_id: Option<String>,
    /// The conversation that the run belongs to; the run's id by default.
    #[schemars(length(min = 1, max = 256))]
    pub session_id: Option<String>,
    /// Stands in the run's envelope; at most 64 KiB, and no name that Envoi writes there itself (`run_id`, `flow`, …).
    #[serde(default)]
    #[schemars(schema_with = "object")]
    pub metadata: Map<String, Value>,
    /// The request as it came to the caller; the inputs as JSON by default.
    #[schemars(length(max = 1_048_576))]
    pub raw_input: Option<String>,
    /// The part of the flow that is run; all of it by default.
    #[schemars(with = "Part", default)]
    pub part: Option<Part>,
    /// Whether all its commands are run, also those whose results are in the cache.
    #[serde(default)]
    pub no_cache: bool,
}

/// The part of a flow that a run does. To go past a step that asks takes the scope `admin`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline, extend("examples" = [{"only": ["publish"], "with": "run_01jd8xq9h0c3f5k7m9p1r3t5v7"}]))]
pub struct Part {
    /// These steps and no others; it stands without `from`, `until` and `skip`.
    #[schemars(with = "Vec<Step>")]
    pub only: Vec<StepId>,
    /// This step and what follows it: all later ones, or in a graph those that need it.
    #[schemars(with = "Step")]
    pub from: Option<StepId>,
    /// This step and what comes before it: all earlier ones, or in a graph those that it needs.
    #[schemars(with = "Step")]
    pub until: Option<StepId>,
    /// Not these steps.
    #[schemars(with = "Vec<Step>")]
    pub skip: Vec<StepId>,
    /// The run, of the same flow and tenant, whose hand-offs stand for those of steps that are left out.
    pub with: Option<String>,
}

/// The schema of the id of a step.
struct Step;

impl JsonSchema for Step {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        step(generator)
    }
}

/// The body of `resumeRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"reason": "the network is back"}]))]
pub struct Resume {
    /// A decision on what the run waits for; without one, a run that failed is reopened.
    #[schemars(with = "ResumeChoice", default)]
    pub choice: Option<ResumeChoice>,
    /// Whether steps whose account is closed by a limit are tried now, before its reset; also of a run that failed at it.
    #[serde(default)]
    pub now: bool,
    /// The reason, for the journal. Older clients send it as `why`.
    #[serde(alias = "why")]
    pub reason: Option<String>,
}

/// The body of `raiseRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"more": {"agent_hops": 2}, "reason": "it is worth it"}]))]
pub struct Raise {
    /// By how much each limit is raised.
    pub more: More,
    /// The reason, for the journal. Older clients send it as `why`.
    #[serde(alias = "why")]
    pub reason: Option<String>,
}

/// By how much limits are raised, by the keys of `limits`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct More {
    /// Attempts.
    #[serde(default)]
    pub agent_hops: u64,
    /// Times that loops go back.
    #[serde(default)]
    pub iterations: u64,
    /// Calls of models.
    #[serde(default)]
    pub llm_calls: u64,
    /// Rounds.
    #[serde(default)]
    pub rounds: u64,
    /// Time of work.
    #[serde(default)]
    pub wall_time_ms: u64,
    /// Time of waiting for closed accounts.
    #[serde(default)]
    pub waiting_ms: u64,
    /// Dollars as a decimal, such as `2.50`.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9]{1,9}(\.[0-9]{1,30})?$"))]
    pub cost_usd: String,
}

/// The body of `compareRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"flow": "publish"}]))]
pub struct Compare {
    /// The corrected flow: the digest of a registered one, or its id for the newest. With `files`: which of them it is. By default
    /// the flow that the run is pinned to: what going on as it is means.
    pub flow: Option<String>,
    /// The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope
    /// `admin`.
    #[schemars(with = "BTreeMap<String, String>", default)]
    pub files: Option<BTreeMap<String, String>>,
    /// The step from which on finished steps run again; by default none does.
    #[schemars(with = "Option<Step>")]
    pub from: Option<StepId>,
    /// Whether a fork is meant, from that step or from the one that stopped the run: `notes` and `refusals` are then those of a fork.
    #[schemars(with = "bool", default)]
    pub fork: Option<bool>,
}

/// The body of `correctRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "flow": "publish", "seen": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "reason": "a typo",
}]))]
pub struct Correct {
    /// The corrected flow: the digest of a registered one, or its id for the newest. With `files`: which of them it is.
    pub flow: String,
    /// The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope
    /// `admin`.
    #[schemars(with = "BTreeMap<String, String>", default)]
    pub files: Option<BTreeMap<String, String>>,
    /// The step from which on finished steps run again; by default none does.
    #[schemars(with = "Option<Step>")]
    pub from: Option<StepId>,
    /// The `subject` of the comparison that is agreed to; if it is another by now, the correction is refused.
    #[schemars(schema_with = "digest")]
    pub seen: Digest,
    /// The reason, for the journal. Older clients send it as `why`.
    #[serde(alias = "why")]
    pub reason: Option<String>,
}

/// The body of `forkRun`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"reason": "the script is mended"}]))]
pub struct Fork {
    /// A step of the run's own flow, as it was entered last; the one that stopped it by default.
    #[schemars(with = "Option<Step>")]
    pub from: Option<StepId>,
    /// The corrected flow under which the new run goes on from there: the digest of a registered one, or its id for the newest. With
    /// `files`: which of them it is. By default the flow that held there.
    pub flow: Option<String>,
    /// The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope
    /// `admin`.
    #[schemars(with = "BTreeMap<String, String>", default)]
    pub files: Option<BTreeMap<String, String>>,
    /// How the run uses its workspace; alone by default.
    #[schemars(with = "WorkspaceUse", default)]
    pub workspace: Option<WorkspaceUse>,
    /// Steps whose questions are approved as they are put.
    #[serde(default)]
    #[schemars(with = "Vec<Step>")]
    pub yes_to: Vec<StepId>,
    /// The reason, for the journal. Older clients send it as `why`.
    #[serde(alias = "why")]
    pub reason: Option<String>,
}

/// The body of `answerQuestion`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"choice": "approve", "text": "fine"}]))]
pub struct Answer {
    /// The decision; where the question takes words, they are the answer without one.
    #[schemars(with = "Choice", default)]
    pub choice: Option<Choice>,
    /// The answer in words.
    pub text: Option<String>,
    /// The form, filled in.
    #[serde(default)]
    pub data: Value,
    /// The `subject` of the question as it was shown; if it is another by now, the answer is refused.
    #[serde(default)]
    #[schemars(schema_with = "digest", default)]
    pub seen: Option<Digest>,
    /// Whether the run goes on, as it does by default; else the answer is only recorded.
    #[schemars(with = "bool", default)]
    pub resume: Option<bool>,
    /// Whether `text` is contract 5's envelope; its attachments come before those beside it, and there are at most 20 of
    /// both; false by default.
    #[schemars(with = "bool", default)]
    pub user_envelope: Option<bool>,
    /// Files that come with it.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub attachments: Vec<Attachment>,
    /// With the choice `raise`: by how much.
    #[schemars(with = "More", default)]
    pub raise: Option<More>,
}

/// The body of `registerFlow`, where the flow names others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = flow_files_examples()))]
pub struct FlowFiles {
    /// Which of the files the flow is.
    pub flow: String,
    /// The texts of all flows that belong to it, by their paths.
    pub files: BTreeMap<String, String>,
}

fn flow_files_examples() -> Value {
    json!([{"flow": "main.yaml", "files": {
        "main.yaml": "flow: outer\nsteps:\n  - id: build\n    flow: ./inner.yaml\n",
        "inner.yaml": "flow: inner\nsteps:\n  - id: say\n    run: echo words\n",
    }}])
}

/// Contract 5: a reference to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attachment {
    /// The artifact.
    #[schemars(length(min = 1))]
    pub artifact_id: String,
    /// Its revision.
    #[schemars(length(min = 1))]
    pub representation_revision_id: String,
    /// The digest of its content.
    #[schemars(schema_with = "digest")]
    pub digest: Digest,
    /// Its media type.
    #[schemars(length(min = 1))]
    pub mime: String,
    /// How it came to be.
    pub origin_kind: OriginKind,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub title: Option<String>,
    /// Its name as a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub filename: Option<String>,
    /// Bytes of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    pub size: Option<u64>,
}
