//! The effect of a message on an object: a pure function from the state under fixed keys and a text to
//! writes, sends and an answer.
//!
//! Owns the values of the objects, and which messages are accepted on which entry. It does not know the SDK;
//! [`crate::objects`] carries out the effects in this order.

use crate::{
    contents::{Contents, FlowName, Unavailable},
    names,
    reply::Reply,
};
use envoi_cluster::{
    Message, Sent, dispatcher,
    message::{Commit, ToRun, ToWorkerSlot},
    run,
    wire::{Answer, Posted, Unfit},
    worker_slot,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{ReplayError, flow::Versions};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, sync::Arc};

/// The stored values of an object, by key.
pub(crate) type Kept = BTreeMap<&'static str, Vec<u8>>;

/// The entry through which a message arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// A call from outside, which gets an answer.
    Ask,
    /// From another object, or from this one. An answer is not read.
    Tell,
}

/// The effects of a message, in this order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effects {
    /// Changed values to write.
    pub(crate) writes: Vec<(&'static str, Vec<u8>)>,
    /// Messages to send.
    pub(crate) sends: Vec<Outgoing>,
    /// The answer.
    pub(crate) reply: Reply,
}

impl Effects {
    fn none(reply: Reply) -> Self {
        Self { writes: Vec::new(), sends: Vec::new(), reply }
    }
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) to: Recipient,
    pub(crate) text: String,
    pub(crate) after_ms: u64,
}

/// The recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recipient {
    Object { name: &'static str, key: String },
    Replica { service: String },
}

/// Why a message has no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The message is invalid.
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("the value `{key}` of the object cannot be read: {reason}")]
    Kept { key: &'static str, reason: String },
    #[error("the run cannot go on: {0}")]
    Replay(#[from] ReplayError),
    #[error("what the object would send or keep cannot be written: {0}")]
    Unwritable(String),
}

/// An object of one kind.
pub(crate) trait Object: Send + Sync + 'static {
    /// All keys that it ever reads.
    const KEYS: &'static [&'static str];

    fn take(&self, key: &str, kept: &Kept, text: &str, door: Door) -> Result<Effects, Fault>;
}

pub(crate) struct Runs {
    pub(crate) contents: Arc<dyn Contents>,
    pub(crate) replicas: Vec<String>,
}

pub(crate) struct Workers {
    pub(crate) lease_ms: u64,
}

pub(crate) struct Dispatchers;

impl Object for Runs {
    const KEYS: &'static [&'static str] = &[names::CONTROL, names::OFFERS, names::FLOWS];

    fn take(&self, key: &str, kept: &Kept, text: &str, door: Door) -> Result<Effects, Fault> {
        let Posted { message, at } = read(text, &*self.contents)?;
        let Message::Run(id, message) = message else { return Err(elsewhere("a run")) };
        if id.as_str() != key {
            return Err(elsewhere("this run"));
        }
        if door == Door::Ask && !is_call_of_run(&message) {
            return Err(internal());
        }
        let Some(flow) = self.versions(kept)? else {
            return Err(Fault::Unfit(format!("the flow of `{key}` is not known: name it first")));
        };
        let control = kept.get(names::CONTROL).cloned();
        let state = run::State::of(control, value(kept, names::OFFERS)?);
        let run::Handled { state, sent, reply, wanted } = run::handle(&id, state, &flow, message, at)?;
        let (control, offers) = state.into_parts();
        let mut writes = Vec::new();
        write(&mut writes, kept, names::CONTROL, control);
        write(&mut writes, kept, names::OFFERS, Some(bytes(&offers)?));
        let sends = self.sends(sent, at)?;
        Ok(Effects { writes, sends, reply: Reply::Answer(Answer::Run { said: reply.into(), wanted }) })
    }
}

impl Runs {
    /// Adds a version of its flow to a run. A known version changes nothing.
    pub(crate) fn name_flow(&self, kept: &Kept, text: &str) -> Result<Effects, Fault> {
        let name: FlowName = serde_json::from_str(text)
            .map_err(|error| Fault::Unfit(format!("no name of a flow: {error}")))?;
        let mut names: Vec<FlowName> = value(kept, names::FLOWS)?;
        if names.contains(&name) {
            return Ok(Effects::none(Reply::Done));
        }
        if self.contents.flow(&name)?.is_none() {
            return Err(Fault::Unfit(format!("the flow {name} is not in the store, or cannot be read")));
        }
        names.push(name);
        let writes = vec![(names::FLOWS, bytes(&names)?)];
        Ok(Effects { writes, sends: Vec::new(), reply: Reply::Done })
    }

    /// The flow of the run with its later versions. `None` if it has no flow yet.
    fn versions(&self, kept: &Kept) -> Result<Option<Versions>, Fault> {
        let names: Vec<FlowName> = value(kept, names::FLOWS)?;
        let mut versions: Option<Versions> = None;
        for name in names {
            // The flow was stored when it was named, and stored contents stay.
            let Some(flow) = self.contents.flow(&name)? else {
                return Err(
                    Unavailable { reason: format!("the flow {name} was in the store, and is not") }.into()
                );
            };
            match &mut versions {
                None => versions = Some(Versions::from(flow)),
                Some(versions) => versions.add(flow),
            }
        }
        Ok(versions)
    }

    fn sends(&self, sent: Vec<Sent>, at: Timestamp) -> Result<Vec<Outgoing>, Fault> {
        let mut sends = Vec::new();
        for Sent { message, after_ms } in sent {
            match message {
                Message::Commit(commit) => {
                    for text in texts(commit, at)? {
                        sends.extend(self.replicas.iter().map(|name| Outgoing {
                            to: Recipient::Replica { service: names::replica(name) },
                            text: text.clone(),
                            after_ms,
                        }));
                    }
                }
                message => sends.extend(outgoing(Sent { message, after_ms }, at)?),
            }
        }
        Ok(sends)
    }
}

impl Object for Workers {
    const KEYS: &'static [&'static str] = &[names::STATE];

    fn take(&self, key: &str, kept: &Kept, text: &str, door: Door) -> Result<Effects, Fault> {
        let Posted { message, at } = read(text, &Nothing)?;
        let Message::WorkerSlot(id, message) = message else { return Err(elsewhere("a worker")) };
        if id.as_str() != key {
            return Err(elsewhere("this worker"));
        }
        let is_call = matches!(message, ToWorkerSlot::Join { .. } | ToWorkerSlot::Beat { .. });
        if door == Door::Ask && !is_call {
            return Err(internal());
        }
        let state: worker_slot::State = value(kept, names::STATE)?;
        let (state, sent, reply) = worker_slot::handle(&id, state, message, self.lease_ms);
        effects(kept, &state, sent, at, Reply::Answer(Answer::WorkerSlot(reply)))
    }
}

impl Object for Dispatchers {
    const KEYS: &'static [&'static str] = &[names::STATE];

    fn take(&self, _: &str, kept: &Kept, text: &str, door: Door) -> Result<Effects, Fault> {
        let Posted { message, at } = read(text, &Nothing)?;
        let Message::Dispatcher(message) = message else { return Err(elsewhere("the dispatcher")) };
        if door == Door::Ask {
            return Err(internal());
        }
        let (state, sent) = dispatcher::handle(value(kept, names::STATE)?, message);
        effects(kept, &state, sent, at, Reply::Done)
    }
}

/// Reads a commit from a text.
pub(crate) fn commit(text: &str) -> Result<Commit, Fault> {
    match read(text, &Nothing)?.message {
        Message::Commit(commit) => Ok(commit),
        _ => Err(elsewhere("somebody who shows runs")),
    }
}

/// The effects of a message on an object that has one value.
fn effects(
    kept: &Kept,
    state: &impl Serialize,
    sent: Vec<Sent>,
    at: Timestamp,
    reply: Reply,
) -> Result<Effects, Fault> {
    let mut writes = Vec::new();
    write(&mut writes, kept, names::STATE, Some(bytes(state)?));
    let mut sends = Vec::new();
    for sent in sent {
        sends.extend(outgoing(sent, at)?);
    }
    Ok(Effects { writes, sends, reply })
}

/// Whether the message comes from outside. A run gets all other messages from objects.
fn is_call_of_run(message: &ToRun) -> bool {
    match message {
        ToRun::Input(_) | ToRun::Settled { .. } | ToRun::InDoubt { .. } | ToRun::Look { .. } => true,
        ToRun::SlotFree(_) | ToRun::Lost { .. } => false,
    }
}

/// Messages of objects refer to no contents.
struct Nothing;

impl Contents for Nothing {
    fn content(&self, _: &envoi_contract::digest::Digest) -> Result<Option<Vec<u8>>, Unavailable> {
        Ok(None)
    }
    fn flow(&self, _: &FlowName) -> Result<Option<Arc<envoi_kernel::Flow>>, Unavailable> {
        Ok(None)
    }
}

fn read(text: &str, contents: &dyn Contents) -> Result<Posted, Fault> {
    let mut unavailable = None;
    let read = Posted::read(text, |digest| {
        contents.content(digest).unwrap_or_else(|error| {
            unavailable = Some(error);
            None
        })
    });
    match unavailable {
        Some(error) => Err(error.into()),
        None => read.map_err(|unfit| Fault::Unfit(unfit.to_string())),
    }
}

fn elsewhere(expected: &str) -> Fault {
    Fault::Unfit(format!("the message is not to {expected}"))
}

fn internal() -> Fault {
    Fault::Unfit("such a message comes from another object alone".to_owned())
}

/// The outgoing form of a message. Its time is that at which it is due, so that no clock is read.
fn outgoing(sent: Sent, at: Timestamp) -> Result<Option<Outgoing>, Fault> {
    let Sent { message, after_ms } = sent;
    let (name, key) = match &message {
        Message::Run(id, _) => (names::RUN, id.to_string()),
        Message::WorkerSlot(id, _) => (names::WORKER, id.to_string()),
        Message::Dispatcher(_) => (names::DISPATCHER, names::ALL.to_owned()),
        Message::Commit(_) => return Ok(None),
    };
    let at = at.saturating_add_ms(after_ms);
    let written = Posted { message, at }.written().map_err(unwritable)?;
    if written.content.is_some() {
        return Err(Fault::Unwritable("an object sends no contents".to_owned()));
    }
    Ok(Some(Outgoing { to: Recipient::Object { name, key }, text: written.text, after_ms }))
}

/// The texts of a commit: one, or several if it is too large.
fn texts(commit: Commit, at: Timestamp) -> Result<Vec<String>, Fault> {
    let posted = Posted { message: Message::Commit(commit.clone()), at };
    match posted.written() {
        Ok(written) => Ok(vec![written.text]),
        Err(Unfit::TooLarge { .. }) if commit.records.len() > 1 => {
            let Commit { run, mut records } = commit;
            let second = records.split_off(records.len() / 2);
            let first = texts(Commit { run: run.clone(), records }, at)?;
            Ok([first, texts(Commit { run, records: second }, at)?].concat())
        }
        Err(error) => Err(unwritable(error)),
    }
}

/// Adds a value if it has changed.
fn write(writes: &mut Vec<(&'static str, Vec<u8>)>, kept: &Kept, key: &'static str, value: Option<Vec<u8>>) {
    if let Some(value) = value.filter(|value| kept.get(key) != Some(value)) {
        writes.push((key, value));
    }
}

/// The value under a key; its default if there is none.
fn value<T: DeserializeOwned + Default>(kept: &Kept, key: &'static str) -> Result<T, Fault> {
    let Some(bytes) = kept.get(key) else { return Ok(T::default()) };
    serde_json::from_slice(bytes).map_err(|error| Fault::Kept { key, reason: error.to_string() })
}

fn bytes(value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|error| Fault::Unwritable(error.to_string()))
}

fn unwritable(unfit: Unfit) -> Fault {
    Fault::Unwritable(unfit.to_string())
}

#[cfg(test)]
mod tests;
