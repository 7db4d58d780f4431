//! The files of a repository that git reads are checked before git runs: git waits for a pipe where it expects a file, and reads a file
//! of rules whole into memory. A step can make both.

use std::{fs, io, path::Path};

/// The files of a repository that git always reads first.
const READ_BY_GIT: &[&str] = &[
    ".git/HEAD",
    ".git/commondir",
    ".git/config",
    ".git/config.worktree",
    ".git/index",
    ".git/info/attributes",
    ".git/info/exclude",
    ".git/info/grafts",
    ".git/info/sparse-checkout",
    ".git/objects/info/alternates",
    ".git/packed-refs",
    ".git/shallow",
    ".gitattributes",
    ".gitignore",
];

/// Git itself passes over files of rules that are longer, from version 2.45 on, after it has read them.
pub(crate) const MOST_BYTES_OF_RULES: u64 = 100 << 20;

/// Whether git can read the repository whose checkout begins at `top`. It cannot be known for all files that git reads:
/// the configuration may name any path.
///
/// # Errors
/// A pipe or a device is where git expects a file, or a file of rules is far too long. The sentence names it.
pub fn check_readable(top: &Path) -> io::Result<()> {
    for name in [".git"].iter().chain(READ_BY_GIT) {
        // A file that cannot be looked at is left to git. In a linked worktree `.git` is a file, and these files are elsewhere.
        let Ok(found) = fs::metadata(top.join(name)) else { continue };
        let wrong = match (found.is_file(), *name) {
            (false, _) if !found.is_dir() => format!("`{name}` is not a regular file"),
            (true, ".gitignore" | ".git/info/exclude") if found.len() > MOST_BYTES_OF_RULES => {
                format!("`{name}` has more than {MOST_BYTES_OF_RULES} bytes")
            }
            _ => continue,
        };
        return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
    }
    Ok(())
}
