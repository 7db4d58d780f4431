//! Rows that only a single command prints.

use crate::{event::Event, run::SetAside};
use envoi_kernel::ids::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of `runs --follow`: an event of one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEvent {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// What happened.
    pub record: Event,
}

/// A line of `runs --follow`: a run was set aside, or is taken up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSetAside {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Why; null if it is taken up again.
    pub set_aside: Option<SetAside>,
}

/// A line of `runs --follow`: the next events of a run cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunUnreadable {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Why.
    pub unreadable: UnreadableEvents,
}

/// Why events cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct UnreadableEvents {
    /// As a sentence.
    pub reason: String,
}

/// What `serve` prints when it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listening {
    /// Where.
    pub listening: String,
    /// The first token, at the first start of a store; null later.
    pub token: Option<String>,
}

/// The page of an error code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorPage {
    /// The code.
    pub code: String,
    /// The page, in Markdown.
    pub page: String,
}

/// A line of `conformance`: a case that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCase {
    /// The file that it stands in.
    pub file: String,
    /// Its name.
    pub name: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// The last line of `conformance`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseCounts {
    /// Cases that passed.
    pub passed: u64,
    /// Cases that failed.
    pub failed: u64,
}

/// What `init` has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initialized {
    /// The flow file.
    pub file: String,
    /// The folder of the store.
    pub folder: String,
    /// A line for `crontab`; null if the template needs none.
    pub crontab: Option<String>,
}

/// A template of `init --list`, or a schema of `schema`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Titled {
    /// Its name.
    pub name: String,
    /// What it is.
    pub title: String,
}

/// What `envoi` without a command advises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The command.
    pub command: String,
    /// Why.
    pub reason: String,
}

/// The patch that `apply --patch` has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenPatch {
    /// Its file.
    pub patch: String,
    /// How many files it changes.
    pub files: u64,
}

/// The branch that `apply --branch` has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewBranch {
    /// Its name.
    pub branch: String,
    /// Its commit.
    pub commit: String,
    /// How many files it changes.
    pub files: u64,
}

/// The title and the text that `apply --pr` makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullRequest {
    /// One line.
    pub title: String,
    /// Markdown.
    pub text: String,
}

/// A page of `help`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelpPage {
    /// The command or the document.
    pub topic: String,
    /// The page.
    pub text: String,
}

/// What `help` has pages of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelpTopics {
    /// The commands.
    pub commands: Vec<String>,
    /// The documents.
    pub documents: Vec<String>,
}
