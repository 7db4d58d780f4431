//! Reads the value of a secret from its declared source.
//!
//! Does not know the purpose of the secret; the caller names it in a message. Nothing here is stored or
//! logged.

use envoi_kernel::flow::SecretSource;
use envoi_step::plain;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The environment has no such variable.
    #[error("the variable `{variable}` is not set")]
    NotSet {
        /// Its name.
        variable: String,
    },
    /// The file is not there, too large, or not what holds a secret.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The value of a secret as it is now: a variable as `variable` has it, or a file of `folder` without what editors add to it: a
/// byte order mark, and the last line break.
///
/// # Errors
/// See [`SourceError`].
pub fn secret_value(
    source: &SecretSource,
    folder: &Path,
    variable: impl FnOnce(&str) -> Option<String>,
) -> Result<String, SourceError> {
    match source {
        SecretSource::Env(name) => {
            variable(name).ok_or_else(|| SourceError::NotSet { variable: name.clone() })
        }
        SecretSource::File(file) => {
            let path = folder.join(file);
            match plain::read_named(&path, plain::MOST_BYTES_OF_SECRETS) {
                Ok(text) => Ok(without_marks(&text).to_owned()),
                Err(source) => Err(SourceError::Unreadable { path, source }),
            }
        }
    }
}

/// Programs are given the value, and print it, without these: with them it would not be found, and not be masked.
fn without_marks(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_what_stands_in_its_file_without_what_editors_add() {
        let folder = tempfile::tempdir().unwrap();
        let value = |content: &str| {
            std::fs::write(folder.path().join("key"), content).unwrap();
            secret_value(&SecretSource::File("key".to_owned()), folder.path(), |_| None).unwrap()
        };
        for (content, expected) in [
            ("hunter2", "hunter2"),
            ("hunter2\n", "hunter2"),
            ("hunter2\r\n", "hunter2"),
            ("\u{feff}hunter2\r\n", "hunter2"),
            ("\u{feff}", ""),
            ("\n", ""),
            // Only the marks themselves.
            ("two\r\nlines\n\n", "two\r\nlines\n"),
            ("hunter2\r", "hunter2\r"),
            ("hunt\u{feff}er2", "hunt\u{feff}er2"),
        ] {
            assert_eq!(value(content), expected, "{content:?}");
        }
    }
}
