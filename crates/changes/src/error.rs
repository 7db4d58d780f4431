//! Errors about the files of a run. Each variant has one code.

use envoi_contract::{code::Code, digest::Digest};
use envoi_journal::{BlobError, ReadError};
use envoi_tree::{ContentError, ListError, NotKept};

/// Why the files of a run cannot be compared or shown.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// The run was started without `--keep-files`, or no attempt of it has ended.
    #[error("no visit of this run has a snapshot")]
    NoSnapshot,
    /// No snapshot has this name.
    #[error("no snapshot of `{state}` is there; there are some of {}", known.join(", "))]
    NoState {
        /// The given name.
        state: String,
        /// The last visits that have a snapshot.
        known: Vec<String>,
    },
    /// Only one state was given; a difference needs two.
    #[error("`{state}` is one state; a difference has two")]
    OneState {
        /// The given name.
        state: String,
    },
    /// The current state of a folder can be read only on its own machine.
    #[error("`now` is the folder as it is, which is looked at only on the machine where it is")]
    NowIsElsewhere,
    /// No snapshot of the current folder can be taken.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// The store does not have the content: the run was imported without its files, or the store is damaged.
    #[error("content `{digest}` of this run is not in the store")]
    Gone {
        /// The digest of the content.
        digest: Digest,
    },
    /// The compared files have more bytes than the caller allows.
    #[error("the files that differ have {bytes} bytes, and at most {most} are compared")]
    TooLarge {
        /// Their size in bytes.
        bytes: u64,
        /// The largest allowed size in bytes.
        most: u64,
    },
    /// The files cannot be written to a temporary folder for git.
    #[error("the files to compare: {0}")]
    NotLaid(String),
    /// Git cannot be started.
    #[error("{0}")]
    NoGit(String),
    /// Git failed.
    #[error("{0}")]
    Git(String),
    /// The run has no such artifact, or no such version of it.
    #[error("{}", no_artifact(path, at.as_deref(), visits))]
    NoArtifact {
        /// The path of the artifact.
        path: String,
        /// The requested visit.
        at: Option<String>,
        /// The visits that have left a version.
        visits: Vec<String>,
    },
    /// The file was deleted in this version.
    #[error("artifact `{path}` was deleted by {visit}")]
    Deleted {
        /// The path of the artifact.
        path: String,
        /// The visit that deleted it.
        visit: String,
    },
    /// The store or the machine failed.
    #[error("{0}")]
    Store(String),
}

fn no_artifact(path: &str, at: Option<&str>, visits: &[String]) -> String {
    match at {
        Some(at) if !visits.is_empty() => {
            format!("artifact `{path}` has no version of `{at}`; it has {}", visits.join(", "))
        }
        _ => format!("the run has no artifact `{path}`"),
    }
}

impl ChangesError {
    pub(crate) fn store(error: impl core::fmt::Display) -> Self {
        Self::Store(error.to_string())
    }

    /// The code of this error.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoSnapshot | Self::NoState { .. } | Self::Gone { .. } => Code::FilesNotKept,
            Self::OneState { .. } | Self::NowIsElsewhere => Code::RequestInvalid,
            Self::TooLarge { .. } => Code::PatchTooLarge,
            Self::NotKept(NotKept::TooWide { .. }) => Code::WorkspaceTooWide,
            Self::NotKept(
                NotKept::TooManyFiles { .. }
                | NotKept::TooMuchNew { .. }
                | NotKept::PathTooLong { .. }
                | NotKept::Io { .. },
            ) => Code::FilesNotKept,
            Self::NoGit(_) | Self::Git(_) => Code::GitFailed,
            Self::NoArtifact { .. } | Self::Deleted { .. } => Code::ArtifactNotFound,
            Self::NotLaid(_) => Code::MachineFailed,
            Self::Store(_) => Code::StoreFailed,
        }
    }

    /// A hint for the person, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSnapshot => {
                "`workspace: { keep: true }` in the flow keeps the files of its runs, as `--keep-files` and `--isolate` do for one; a visit has its snapshot when it has ended"
            }
            Self::NoState { .. } => {
                "`start`, `end`, `now`, a step, a visit such as `fix.2`, or `before:fix.2`"
            }
            Self::OneState { state } => return Some(format!("such as `start..{state}`")),
            Self::NowIsElsewhere => "compare with `end`, the last snapshot",
            Self::TooLarge { .. } => {
                "`listDifferences` shows what differs, a page at a time or below one path; where the store is, a patch has no such bound"
            }
            Self::NoGit(_) => "install git; `envoi diff` needs none",
            Self::NoArtifact { .. } => "`envoi artifacts list RUN --all` lists all versions",
            Self::Deleted { .. } => {
                "an earlier version: `PATH@STEP.N`; `envoi artifacts list --all` lists them"
            }
            Self::Gone { .. } | Self::NotKept(_) | Self::NotLaid(_) | Self::Git(_) | Self::Store(_) => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}

impl From<ReadError> for ChangesError {
    fn from(error: ReadError) -> Self {
        Self::store(error)
    }
}

impl From<BlobError> for ChangesError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Missing { digest } => Self::Gone { digest },
            error => Self::store(error),
        }
    }
}

impl From<ContentError> for ChangesError {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Missing { digest } => Self::Gone { digest },
            error => Self::store(error),
        }
    }
}

impl From<ListError> for ChangesError {
    fn from(error: ListError) -> Self {
        Self::store(error)
    }
}

impl From<std::io::Error> for ChangesError {
    fn from(error: std::io::Error) -> Self {
        Self::store(error)
    }
}
