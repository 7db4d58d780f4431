//! The messages of the cluster, and the answers to workers' calls, as text between machines.
//!
//! A text has a version. Its first line names the recipient and the message. Below it are the data for the
//! kernel: the input of a run ([`envoi_kernel::wire`]), or the events of a commit, one per line. A line is
//! accepted only in exactly the form that this version writes. An unknown member, at any depth, would be lost
//! silently, so the whole text is refused.
//!
//! Readers are upgraded before writers. [`Unfit::Version`] tells the writer so, which may send the same
//! message again later.

use crate::{
    message::{Caller, Commit, FreeSlot, Message, ToDispatcher, ToRun, ToWorkerSlot, Wanted},
    place::WorkerId,
    run, worker_slot,
};
use envoi_contract::{digest::Digest, json::Value, stored, time::Timestamp};
use envoi_kernel::{
    Input, Record,
    ids::{AttemptId, RunId},
    wire as kernel,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The version of the form. It increases with each change of a member, including a new one.
const VERSION: u32 = 1;

/// The largest text, in bytes. A reader refuses a larger one without parsing it.
pub const MAX_BYTES: usize = kernel::MAX_BYTES;

pub use kernel::Written;

/// A message, and when it was sent by the sender's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// The message and its recipient.
    pub message: Message,
    /// The time of sending. For a run it is the `at` of [`run::handle`].
    pub at: Timestamp,
}

/// The answer to a worker's call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// From a run.
    Run {
        /// The result of the call.
        said: Said,
        /// The state that is wanted on the worker now.
        wanted: Wanted,
    },
    /// From the worker's object.
    WorkerSlot(worker_slot::Reply),
}

/// The result of a call of a run: the wire form of [`run::Reply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// The message was accepted.
    Taken,
    /// The message was refused, and nothing has changed.
    Refused {
        /// Why, for a person.
        reason: String,
    },
    /// The attempt is not on the worker that reports it.
    Elsewhere,
}

impl From<run::Reply> for Said {
    fn from(reply: run::Reply) -> Self {
        match reply {
            run::Reply::Taken => Self::Taken,
            run::Reply::Refused(refusal) => Self::Refused { reason: refusal.to_string() },
            run::Reply::Elsewhere => Self::Elsewhere,
        }
    }
}

/// Why a message cannot be sent, or not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The message is too large.
    #[error("the message has {bytes} bytes; at most {MAX_BYTES} are taken")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// It contains something that no reader would accept.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// The error of the writer.
        reason: String,
    },
    /// A line cannot be parsed.
    #[error("line {line} of the message cannot be read: {reason}")]
    Unreadable {
        /// Number of the line, from 1.
        line: usize,
        /// The expected form, or the reader's error with its position.
        reason: String,
    },
    /// It has another version.
    #[error(
        "the message is of version {version}; version {VERSION} is read: upgrade its reader before its sender"
    )]
    Version {
        /// The version of the message.
        version: u32,
    },
    /// A line differs from what this version would write.
    #[error("line {line} of the message is not what version {VERSION} writes, from byte {at} on")]
    Foreign {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset in the line, from 0.
        at: usize,
    },
    /// The input of a run is not valid.
    #[error("line 2 of the message: {0}")]
    Input(#[from] kernel::Unfit),
}

/// The first line of a message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    at: Timestamp,
    to: To,
}

/// The recipient of a message.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum To {
    Run {
        run: RunId,
        message: RunHead,
    },
    Dispatcher {
        message: ToDispatcher,
    },
    WorkerSlot {
        worker: WorkerId,
        message: ToWorkerSlot,
    },
    /// This number of events follows.
    Commit {
        run: RunId,
        events: usize,
    },
}

/// [`ToRun`] without the data of the second line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum RunHead {
    /// The input follows.
    Input,
    SlotFree(Box<FreeSlot>),
    /// The result follows, as an input.
    Settled {
        caller: Caller,
    },
    InDoubt {
        caller: Caller,
        attempt: AttemptId,
        evidence: Value,
    },
    Look {
        caller: Caller,
    },
    Lost {
        worker: WorkerId,
        incarnation: u64,
    },
}

impl RunHead {
    fn of(message: ToRun) -> (Self, Option<Input>) {
        match message {
            ToRun::Input(input) => (Self::Input, Some(*input)),
            ToRun::SlotFree(slot) => (Self::SlotFree(slot), None),
            ToRun::Settled { caller, result } => (Self::Settled { caller }, Some(Input::Settled(result))),
            ToRun::InDoubt { caller, attempt, evidence } => {
                (Self::InDoubt { caller, attempt, evidence }, None)
            }
            ToRun::Look { caller } => (Self::Look { caller }, None),
            ToRun::Lost { worker, incarnation } => (Self::Lost { worker, incarnation }, None),
        }
    }

    /// The message with its input. `None` if the input is missing, unexpected or of another kind.
    fn with(self, input: Option<Input>) -> Option<ToRun> {
        Some(match (self, input) {
            (Self::Input, Some(input)) => ToRun::Input(Box::new(input)),
            (Self::Settled { caller }, Some(Input::Settled(result))) => ToRun::Settled { caller, result },
            (Self::SlotFree(slot), None) => ToRun::SlotFree(slot),
            (Self::InDoubt { caller, attempt, evidence }, None) => {
                ToRun::InDoubt { caller, attempt, evidence }
            }
            (Self::Look { caller }, None) => ToRun::Look { caller },
            (Self::Lost { worker, incarnation }, None) => ToRun::Lost { worker, incarnation },
            (Self::Input | Self::Settled { .. }, _) | (_, Some(_)) => return None,
        })
    }
}

impl Posted {
    /// The text of the message.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`], [`Unfit::Unwritable`] and [`Unfit::Input`]: no reader would accept it.
    pub fn written(self) -> Result<Written, Unfit> {
        let Self { message, at } = self;
        let mut below = String::new();
        let mut content = None;
        let to = match message {
            Message::Run(run, message) => {
                let (message, input) = RunHead::of(message);
                if let Some(input) = input {
                    let written = kernel::Message { input, slot: None, at }.written()?;
                    below = format!("\n{}", written.text);
                    content = written.content;
                }
                To::Run { run, message }
            }
            Message::Dispatcher(message) => To::Dispatcher { message },
            Message::WorkerSlot(worker, message) => To::WorkerSlot { worker, message },
            Message::Commit(Commit { run, records }) => {
                for record in &records {
                    below.push('\n');
                    below.push_str(&line_of(record)?);
                }
                To::Commit { run, events: records.len() }
            }
        };
        let text = line_of(&Head { version: VERSION, at, to })? + &below;
        if text.len() > MAX_BYTES {
            Err(Unfit::TooLarge { bytes: text.len() })
        } else {
            Ok(Written { text, content })
        }
    }

    /// Parses a message. `content` returns the stored content with a digest.
    ///
    /// # Errors
    /// [`Unfit`] says what is not valid. A [`kernel::Unfit::Missing`] in it may be temporary.
    pub fn read(text: &str, content: impl FnMut(&Digest) -> Option<Vec<u8>>) -> Result<Self, Unfit> {
        let (head, below) = text.split_once('\n').map_or((text, None), |(head, below)| (head, Some(below)));
        let Head { at, to, .. } = read_first::<Head>(text, head)?;
        let unexpected = |reason: &str| Unfit::Unreadable { line: 2, reason: reason.to_owned() };
        let message = match to {
            To::Run { run, message } => {
                let input = below.map(|below| kernel::Message::read(below, content)).transpose()?;
                if input.as_ref().is_some_and(|input| input.slot.is_some() || input.at != at) {
                    return Err(unexpected("it has a slot, or another time than the first line"));
                }
                let message = message.with(input.map(|input| input.input));
                Message::Run(run, message.ok_or_else(|| unexpected("another input was expected, or none"))?)
            }
            To::Commit { run, events } => {
                let below = below.ok_or_else(|| unexpected("a commit has one event at least"))?;
                let records = records(below)?;
                if records.len() != events {
                    let reason = format!("{events} events were expected, {} are there", records.len());
                    return Err(Unfit::Unreadable { line: records.len().saturating_add(1), reason });
                }
                Message::Commit(Commit { run, records })
            }
            _ if below.is_some() => return Err(unexpected("nothing was expected here")),
            To::Dispatcher { message } => Message::Dispatcher(message),
            To::WorkerSlot { worker, message } => Message::WorkerSlot(worker, message),
        };
        Ok(Self { message, at })
    }
}

/// The events of a commit, with consecutive numbers.
fn records(text: &str) -> Result<Vec<Record>, Unfit> {
    let mut records: Vec<Record> = Vec::new();
    for (line, text) in (2..).zip(text.split('\n')) {
        let record: Record = read_line(line, text)?;
        if records.last().is_some_and(|last| last.seq.checked_add(1) != Some(record.seq)) {
            let reason =
                format!("its event has the place {}, which does not follow the one before", record.seq);
            return Err(Unfit::Unreadable { line, reason });
        }
        records.push(record);
    }
    Ok(records)
}

/// The only line of an answer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine {
    version: u32,
    answer: ByWhom,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ByWhom {
    Run { said: Said, wanted: Wanted },
    WorkerSlot { said: worker_slot::Reply },
}

impl Answer {
    /// The text of the answer.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`] and [`Unfit::Unwritable`]: no reader would accept it.
    pub fn written(self) -> Result<String, Unfit> {
        let answer = match self {
            Self::Run { said, wanted } => ByWhom::Run { said, wanted },
            Self::WorkerSlot(said) => ByWhom::WorkerSlot { said },
        };
        let text = line_of(&AnswerLine { version: VERSION, answer })?;
        if text.len() > MAX_BYTES { Err(Unfit::TooLarge { bytes: text.len() }) } else { Ok(text) }
    }

    /// Parses an answer.
    ///
    /// # Errors
    /// [`Unfit`] says what is not valid.
    pub fn read(text: &str) -> Result<Self, Unfit> {
        Ok(match read_first::<AnswerLine>(text, text)?.answer {
            ByWhom::Run { said, wanted } => Self::Run { said, wanted },
            ByWhom::WorkerSlot { said } => Self::WorkerSlot(said),
        })
    }
}

/// Only the version, for a text that may have another one.
#[derive(Deserialize)]
struct OfVersion {
    version: u32,
}

/// Parses the first line of a text. For another version the error names the version, not an unknown member.
fn read_first<T: Serialize + DeserializeOwned>(text: &str, line: &str) -> Result<T, Unfit> {
    if text.len() > MAX_BYTES {
        return Err(Unfit::TooLarge { bytes: text.len() });
    }
    match serde_json::from_str::<OfVersion>(line) {
        Ok(OfVersion { version }) if version != VERSION => Err(Unfit::Version { version }),
        _ => read_line(1, line),
    }
}

/// Parses a line, which must be exactly what this version writes for the parsed value.
fn read_line<T: Serialize + DeserializeOwned>(line: usize, text: &str) -> Result<T, Unfit> {
    let read: T =
        serde_json::from_str(text).map_err(|error| Unfit::Unreadable { line, reason: error.to_string() })?;
    let ours = line_of(&read)?;
    if text == ours {
        return Ok(read);
    }
    let differs = text.bytes().zip(ours.bytes()).position(|(theirs, ours)| theirs != ours);
    Err(Unfit::Foreign { line, at: differs.unwrap_or(text.len().min(ours.len())) })
}

fn line_of(row: &impl Serialize) -> Result<String, Unfit> {
    let mut text = String::new();
    stored::kept(row, &mut text).map_err(|error| Unfit::Unwritable { reason: error.to_string() })?;
    Ok(text)
}
