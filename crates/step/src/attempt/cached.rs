//! What an attempt is told of the cache of steps, what came of it, and the entry of one result.
//!
//! The key, what is looked at for it and how a result comes back is the supervisor's (`supervisor/cache.rs`). An entry is written by the
//! engine, after the commit of a success. It names a list in the store, in the form of a snapshot; so what it stands for is kept with the run.

use crate::attempt::displaced::Displaced;
use crate::disk::plain;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Version of entries; a reader takes no other.
const VERSION: u32 = 1;

/// No entry is larger.
const MOST_BYTES: u64 = 64 * 1024;

/// What the supervisor needs to know to use the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheOrder {
    /// Where the entries of the tenant lie.
    pub folder: PathBuf,
    /// A name for the step, by which its newest entry is found.
    pub step: String,
    /// What the engine knows of the key.
    pub parts: Vec<CachePart>,
    /// The words of the command: programs and files that it names become a part of the key.
    pub words: Vec<String>,
    /// Globs of the files that the command reads. `None`: all that a snapshot has, and those that match `also`.
    pub inputs: Option<Vec<String>>,
    /// Globs of files that other steps leave, ignored ones too.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether a result may come from the cache.
    pub read: bool,
    /// The greatest age of an entry that counts.
    pub max_age_ms: u64,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachePart {
    /// For a person, such as "variable `CC`".
    pub name: String,
    /// Of its value.
    pub digest: String,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// The key, in hexadecimal. Empty where none could be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The attempt whose result this is. The command was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CachedFrom>,
    /// The digest of the list of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The key of the state that the command has left: the same result, as long as nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Why no result was found, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// Why the result is not kept, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
    /// What files that came have displaced, also where no result came in the end.
    #[serde(flatten)]
    pub displaced: Displaced,
}

impl From<Displaced> for CacheUse {
    /// Of an attempt for which no result came and no command was started.
    fn from(displaced: Displaced) -> Self {
        Self { displaced, ..Self::default() }
    }
}

/// The attempt that has made a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFrom {
    /// Its run.
    pub run: String,
    /// The attempt.
    pub attempt: String,
}

/// An entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEntry {
    version: u32,
    /// The keys of it: that of the state before the command, and that of the state after it.
    pub keys: Vec<String>,
    /// Who has made the result.
    pub from: CachedFrom,
    /// When, Unix time in milliseconds.
    pub at_ms: u64,
    /// The digest of its list.
    pub kept: String,
}

impl CacheEntry {
    /// Of a result that is committed.
    #[must_use]
    pub fn new(keys: Vec<String>, from: CachedFrom, at_ms: u64, kept: String) -> Self {
        Self { version: VERSION, keys, from, at_ms, kept }
    }

    /// Where the entry of a key, or of a step, lies.
    #[must_use]
    pub fn place(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.json"))
    }

    /// Writes it under each of its keys, and as the newest of its step. The first key is that of the state in which the command has made it.
    /// Under another key it displaces no result that a command has made in that state. Not synced: one that is lost is a miss.
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

    /// Reads one.
    ///
    /// # Errors
    /// There is none ([`io::ErrorKind::NotFound`]), or it cannot be read as one.
    pub fn read(folder: &Path, name: &str) -> io::Result<Self> {
        let entry: Self = serde_json::from_slice(&plain::read(&Self::place(folder, name), MOST_BYTES)?)?;
        match entry.version == VERSION {
            true => Ok(entry),
            false => Err(io::Error::other("it has another version")),
        }
    }
}
