//! `files` of a step: which files it begins with when it is done again.
//!
//! Owns its form, and where files can be set back: where no other attempt of the run can be at work in them.

use crate::syntax::{diagnostic::Problems, read, yaml::Node};
use envoi_kernel::flow::FilesAgain;

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Option<FilesAgain> {
    let words = [("keep", FilesAgain::Keep), ("restore", FilesAgain::Restore)];
    read::choice(node, "`files`", &words, problems)
}
