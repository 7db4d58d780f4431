//! The value of a secret, from where its declaration says that it is.
//!
//! Does not know what the secret is for: who asks for it names that in a message. Nothing here is stored or logged.

use envoi_kernel::flow::SecretSource;
use envoi_step::plain;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a secret cannot be had.
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
        /// What the system says.
        source: io::Error,
    },
}

/// The value of a secret as it is now: a variable as `variable` has it, or a file of `folder` without its last line break.
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
                Ok(text) => Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned()),
                Err(source) => Err(SourceError::Unreadable { path, source }),
            }
        }
    }
}
