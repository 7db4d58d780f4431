//! The messages of the cluster, and the answers to calls of workers, as text between machines.
//!
//! A text has a version. Its first line says to whom it goes and what it is. What the kernel reads stands below: the input of a run
//! ([`envoi_kernel::wire`]), or the events of a commit, a line for each. Every line is taken only as this version writes it: a member that
//! is not known here, at whatever depth, would be lost in silence, so the whole text is refused.
//!
//! Readers are upgraded before writers. [`Unfit::Version`] says so to the writer, who may send the same message again later.

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

/// The version of the form. It grows with each change of a member, also a new one.
const VERSION: u32 = 1;

/// The largest text. A reader refuses more before it looks at it.
pub const MAX_BYTES: usize = kernel::MAX_BYTES;

pub use kernel::Written;

/// A message, and when it was sent by the clock of its sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// To whom, and what.
    pub message: Message,
    /// When. For a run it is the `at` of [`run::handle`].
    pub at: Timestamp,
}

/// What a worker is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// By a run.
    Run {
        /// What became of the call.
        said: Said,
        /// What is to be true on the worker now.
        wanted: Wanted,
    },
    /// By its object.
    WorkerSlot(worker_slot::Reply),
}

/// What became of a call of a run: [`run::Reply`] as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// It was taken.
    Taken,
    /// It was not, and nothing has changed.
    Refused {
        /// In words.
        reason: String,
    },
    /// The attempt is not on the worker that speaks of it.
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

/// Why a message cannot be sent, or is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is too large.
    #[error("the message has {bytes} bytes; at most {MAX_BYTES} are taken")]
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// It holds what no reader would take.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// The error of the writer.
        reason: String,
    },
    /// A line is not what it should be.
    #[error("line {line} of the message cannot be read: {reason}")]
    Unreadable {
        /// Which, from 1.
        line: usize,
        /// What was expected, or the error of the reader with its place.
        reason: String,
    },
    /// It is of another version.
    #[error(
        "the message is of version {version}; version {VERSION} is read: upgrade its reader before its sender"
    )]
    Version {
        /// Which.
        version: u32,
    },
    /// A line is not what this version writes.
    #[error("line {line} of the message is not what version {VERSION} writes, from byte {at} on")]
    Foreign {
        /// Which, from 1.
        line: usize,
        /// Where in it, from 0.
        at: usize,
    },
    /// The input of a run is not as it must be.
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

/// To whom a message goes.
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
    /// So many events follow.
    Commit {
        run: RunId,
        events: usize,
    },
}

/// [`ToRun`] without what stands on the second line.
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

    /// The message with its input; `None` if there is one too many, one too few or another one.
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
    /// The message as it travels.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`], [`Unfit::Unwritable`] and [`Unfit::Input`]: no reader would take it.
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

    /// The message of a text. `content` gives what the store has under a digest.
    ///
    /// # Errors
    /// [`Unfit`] says what is not as it must be. A [`kernel::Unfit::Missing`] in it may pass.
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

/// The events of a commit. Each follows the one before.
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
    /// The answer as it travels.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`] and [`Unfit::Unwritable`]: no reader would take it.
    pub fn written(self) -> Result<String, Unfit> {
        let answer = match self {
            Self::Run { said, wanted } => ByWhom::Run { said, wanted },
            Self::WorkerSlot(said) => ByWhom::WorkerSlot { said },
        };
        let text = line_of(&AnswerLine { version: VERSION, answer })?;
        if text.len() > MAX_BYTES { Err(Unfit::TooLarge { bytes: text.len() }) } else { Ok(text) }
    }

    /// The answer of a text.
    ///
    /// # Errors
    /// [`Unfit`] says what is not as it must be.
    pub fn read(text: &str) -> Result<Self, Unfit> {
        Ok(match read_first::<AnswerLine>(text, text)?.answer {
            ByWhom::Run { said, wanted } => Self::Run { said, wanted },
            ByWhom::WorkerSlot { said } => Self::WorkerSlot(said),
        })
    }
}

/// Only the version is read of a text that may be of another one.
#[derive(Deserialize)]
struct OfVersion {
    version: u32,
}

/// The first line of a text. A later version says so, not which of its members is not known here.
fn read_first<T: Serialize + DeserializeOwned>(text: &str, line: &str) -> Result<T, Unfit> {
    if text.len() > MAX_BYTES {
        return Err(Unfit::TooLarge { bytes: text.len() });
    }
    match serde_json::from_str::<OfVersion>(line) {
        Ok(OfVersion { version }) if version != VERSION => Err(Unfit::Version { version }),
        _ => read_line(1, line),
    }
}

/// A line, which must be what this version writes for what was read of it.
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
