//! The arguments of `envoi apply`.

use clap::Args;
use std::path::PathBuf;

/// `envoi apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// Where both sides changed the same lines, keep those of the folder
    #[arg(long, conflicts_with_all = ["theirs", "undo"])]
    pub(crate) ours: bool,
    /// Where both sides changed the same lines, take those of the run
    #[arg(long, conflicts_with = "undo")]
    pub(crate) theirs: bool,
    /// Where both sides changed the same lines of a text, write both into the file, between markers
    ///
    /// What markers cannot show (no text, deleted on one side, a folder for a file) is still a conflict, and nothing is written.
    #[arg(long, conflicts_with_all = ["ours", "theirs", "undo"])]
    pub(crate) markers: bool,
    /// Undo the last apply; files that were changed since stay. Without RUN: of the run that was applied last
    #[arg(long)]
    pub(crate) undo: bool,
    /// Write a patch for `git apply` into a new file (`-`: to standard output), and change nothing else
    ///
    /// It has what the run had changed when it ended. It can be made of any run whose files are kept.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ours", "theirs", "markers", "undo", "reason"])]
    pub(crate) patch: Option<PathBuf>,
    /// Make a branch with one commit of what the run has changed, and change nothing else
    ///
    /// It begins at the commit that the tree of the run was made from. It is not checked out, and nothing is pushed.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ours", "theirs", "markers", "undo", "patch"])]
    pub(crate) branch: Option<String>,
    /// Print a title and a text for a pull request, in Markdown, and change nothing else
    ///
    /// The text says what each step came to, which files the run has changed, and what it has used. Nothing is sent. `--reason` is the title.
    #[arg(long, conflicts_with_all = ["ours", "theirs", "markers", "undo", "patch", "branch"])]
    pub(crate) pr: bool,
    /// Why the changes are brought back; the message of a commit has it
    #[arg(long, alias = "why", value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}
