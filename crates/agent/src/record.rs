//! What has been sent to an agent for one visit, on disk before it is sent and after the reply.
//!
//! One file for all attempts of the visit that are about one task. It is why nothing is sent twice: durable when
//! [`Record::save`] returns.

use crate::{mask::Mask, question::Question};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Where the agent was found, so that later attempts ask the same one.
    pub(crate) endpoint: Option<Endpoint>,
    /// The context, as the agent calls it.
    pub(crate) context: Option<String>,
    /// The task, once the agent has named it.
    pub(crate) task: Option<String>,
    /// The message that may have been sent.
    pub(crate) intent: Option<u32>,
    /// How often it may have been.
    #[serde(default)]
    pub(crate) sends: u32,
    /// When it was last, in milliseconds of the epoch.
    #[serde(default)]
    pub(crate) sent_at: Option<i64>,
    /// The message that the agent has answered.
    pub(crate) taken: Option<u32>,
    /// What the task asked last.
    #[serde(default)]
    pub(crate) question: Option<Question>,
    /// What it asked when it may have been sent an answer last.
    #[serde(default)]
    pub(crate) answered: Option<Question>,
    /// An answer without a task: the whole of it.
    #[serde(default)]
    pub(crate) reply: Option<Value>,
}

/// Where an agent is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) version: Version,
    pub(crate) tenant: Option<String>,
    /// Whether it takes contract 5.
    pub(crate) envelope: bool,
    /// Whether it does a message once, however often it comes.
    #[serde(default)]
    pub(crate) once: bool,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "1.0")]
    V1,
    #[serde(rename = "0.3")]
    V03,
}

impl Version {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }
}

impl Record {
    /// An attempt before this one may have left one.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// What may be written down of it. An address or an id with a secret in it is left out, for masked it would be another
    /// one: the card is asked again, and the task is not known to later attempts. Questions and the reply are masked already.
    pub(crate) fn masked(&self, mask: &dyn Mask) -> Self {
        let is_clean = |text: &String| !mask.is_in(text);
        let endpoint = self.endpoint.clone();
        Self {
            endpoint: endpoint.filter(|place| is_clean(&place.url) && place.tenant.iter().all(is_clean)),
            context: self.context.clone().filter(is_clean),
            task: self.task.clone().filter(is_clean),
            ..self.clone()
        }
    }

    /// Replaces the file. Durable when it returns, and so is its name.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if let Some(above) = folder.parent() {
            File::open(above)?.sync_all()?;
        }
        let temp = path.with_extension("tmp");
        let mut file = File::create(&temp)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&temp, path)?;
        File::open(folder)?.sync_all()
    }
}
