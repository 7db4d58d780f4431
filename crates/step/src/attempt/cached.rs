//! How an attempt uses the cache of steps: what it gets, what it reports, and the entry of one result.
//!
//! The supervisor (`supervisor/cache.rs`) makes the key, looks it up and restores a result. The engine writes
//! an entry after the commit of a success. An entry names a list in the store, in the form of a snapshot, so
//! its files are kept with the run.

use crate::attempt::displaced::Displaced;
use crate::disk::plain;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Version of entries. A reader refuses any other version.
const VERSION: u32 = 1;

/// Upper bound of an entry's size.
const MOST_BYTES: u64 = 64 * 1024;

/// The supervisor's data for using the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheOrder {
    /// The folder of the tenant's entries.
    pub folder: PathBuf,
    /// A name for the step. Its newest entry is stored under it.
    pub step: String,
    /// The parts of the key that the engine knows.
    pub parts: Vec<CachePart>,
    /// The words of the command. Programs and files that they name become part of the key.
    pub words: Vec<String>,
    /// Globs of the files that the command reads. `None`: all files that a snapshot has, and those that match
    /// `also`.
    pub inputs: Option<Vec<String>>,
    /// Globs of files that other steps leave, ignored ones too.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether a result may come from the cache.
    pub read: bool,
    /// Maximum age of an entry, in milliseconds.
    pub max_age_ms: u64,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachePart {
    /// A label for a person, such as "variable `CC`".
    pub name: String,
    /// Digest of the part's value.
    pub digest: String,
}

/// How an attempt used the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// The key, in hexadecimal. Empty if no key could be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The attempt that made the result. The command was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CachedFrom>,
    /// The digest of the list of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The key of the state after the command. It has the same result as long as nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why no result was found, for a person; masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// Why the result is not kept, for a person; masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
    /// The files that restored ones have displaced, even if the restore failed in the end.
    #[serde(flatten)]
    pub displaced: Displaced,
}

impl From<Displaced> for CacheUse {
    /// For an attempt that restored no result and started no command.
    fn from(displaced: Displaced) -> Self {
        Self { displaced, ..Self::default() }
    }
}

/// The attempt that made a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFrom {
    /// The run of that attempt.
    pub run: String,
    /// The id of the attempt.
    pub attempt: String,
}

/// An entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEntry {
    version: u32,
    /// The keys of the entry: of the state before the command, and of the state after it.
    pub keys: Vec<String>,
    /// The attempt that made the result.
    pub from: CachedFrom,
    /// When the result was made, Unix time in milliseconds.
    pub at_ms: u64,
    /// The digest of the result's list.
    pub kept: String,
}

impl CacheEntry {
    /// Makes the entry of a committed result.
    #[must_use]
    pub fn new(keys: Vec<String>, from: CachedFrom, at_ms: u64, kept: String) -> Self {
        Self { version: VERSION, keys, from, at_ms, kept }
    }

    /// Path of the entry of a key, or of the newest entry of a step.
    #[must_use]
    pub fn place(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.json"))
    }

    /// Writes the entry under each of its keys, and as the newest of its step.
    ///
    /// The first key is that of the state in which the command ran. Under any other key an entry that a
    /// command made in that state is kept. Not synced: a lost entry is only a cache miss.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path, step: &str) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let bytes = serde_json::to_vec(self)?;
        for (nth, name) in self.keys.iter().map(String::as_str).enumerate() {
            let was_made_there = |known: Self| known.keys.first().is_some_and(|first| first == name);
            if nth == 0 || !Self::read(folder, name).is_ok_and(was_made_there) {
                envoi_durable::put(&Self::place(folder, name), &bytes)?;
            }
        }
        envoi_durable::put(&Self::place(folder, step), &bytes)?;
        Ok(())
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// There is no such entry ([`io::ErrorKind::NotFound`]), or the file is not a valid entry.
    pub fn read(folder: &Path, name: &str) -> io::Result<Self> {
        let entry: Self = serde_json::from_slice(&plain::read(&Self::place(folder, name), MOST_BYTES)?)?;
        match entry.version == VERSION {
            true => Ok(entry),
            false => Err(io::Error::other("it has another version")),
        }
    }
}
