//! The record of messages to an agent for one visit. It is written to disk before a message is sent and after the
//! reply.
//!
//! All attempts of the visit that are about one task share one file. Because it is durable when [`Record::save`]
//! returns, no message is sent twice.

use crate::{
    input::mask::Mask,
    protocol::{endpoint::Endpoint, question::Question},
};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

/// The largest record that is read. The largest reply of an agent, written as JSON once more, is smaller.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// See the module documentation. Messages are counted by their turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The agent's endpoint, so that later attempts use the same one.
    pub(crate) endpoint: Option<Endpoint>,
    /// The id of the context, as assigned by the agent.
    pub(crate) context: Option<String>,
    /// The id of the task, once the agent has assigned it.
    pub(crate) task: Option<String>,
    /// The message that may have been sent.
    pub(crate) intent: Option<u32>,
    /// How many times it may have been sent.
    #[serde(default)]
    pub(crate) sends: u32,
    /// When it was sent last: Unix time in milliseconds.
    #[serde(default)]
    pub(crate) sent_at: Option<i64>,
    /// The last message that the agent accepted.
    pub(crate) taken: Option<u32>,
    /// The last question of the task that was put to a person.
    #[serde(default)]
    pub(crate) question: Option<Question>,
    /// The question to which an answer may have been sent last.
    #[serde(default)]
    pub(crate) answered: Option<Question>,
    /// The agent's answer without a task.
    #[serde(default)]
    pub(crate) reply: Option<Value>,
}

impl Record {
    /// Reads the record of earlier attempts; empty if there is none.
    ///
    /// The path is opened only if it is a regular file. A step may have put something else there, such as a pipe:
    /// that is an error, and the call does not block.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        match envoi_durable::read_regular(path, MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The part of the record that may be written to a file. An address or an id that contains a secret is left out,
    /// because masking would change it. Later attempts then request the card again, and do not know the task.
    /// Questions and the reply are already masked.
    pub(crate) fn masked(&self, mask: &dyn Mask) -> Self {
        let is_clean = |text: &String| !mask.is_in(text);
        let endpoint = self.endpoint.clone();
        Self {
            endpoint: endpoint.filter(|known| is_clean(&known.url) && known.tenant.iter().all(is_clean)),
            context: self.context.clone().filter(is_clean),
            task: self.task.clone().filter(is_clean),
            ..self.clone()
        }
    }

    /// Replaces the file. The content and the name are durable when it returns.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        envoi_durable::create_folders(envoi_durable::parent(path))?;
        envoi_durable::replace(path, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn what_is_no_record_of_ours_is_an_error_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let record = Record { task: Some("t-1".to_owned()), ..Record::default() };
        record.save(&at("record")).unwrap();
        assert_eq!(Record::load(&at("record")).unwrap(), record);
        assert_eq!(Record::load(&at("nothing")).unwrap(), Record::default());
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink(at("record"), at("link")).unwrap();
        fs::File::create(at("huge")).unwrap().set_len(5 << 30).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("broken"), "{").unwrap();
        for name in ["pipe", "endless", "link", "huge", "folder", "broken"] {
            assert!(Record::load(&at(name)).is_err(), "{name}");
        }
    }
}
