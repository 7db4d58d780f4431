//! The versions of a flow that one run has had: the one that it began with, and those that corrected it.

use super::Flow;
use crate::model::event::Event;
use envoi_contract::digest::Digest;
use std::sync::Arc;

/// See the module. At least one; the events of a run say which of them holds from when on.
#[derive(Debug, Clone, PartialEq)]
pub struct Versions {
    first: Arc<Flow>,
    later: Vec<Arc<Flow>>,
}

impl Versions {
    /// The version that the run began with.
    #[must_use]
    pub fn first(&self) -> &Arc<Flow> {
        &self.first
    }

    /// The version of this digest, in this version of the language: one text may say something else in another one.
    #[must_use]
    pub fn of(&self, digest: &Digest, language: u32) -> Option<&Arc<Flow>> {
        self.all().find(|flow| flow.digest == *digest && flow.language == language)
    }

    /// Adds a version, unless it is known already.
    pub fn add(&mut self, flow: Arc<Flow>) {
        if self.of(&flow.digest, flow.language).is_none() {
            self.later.push(flow);
        }
    }

    /// The version that an event names, from which on it holds. `None`: it names none, or one that is not known.
    pub(crate) fn named_by(&self, event: &Event) -> Option<&Arc<Flow>> {
        match event {
            Event::RunStarted(started) => self.of(&started.flow_digest, started.language),
            Event::FlowCorrected(correction) => self.of(&correction.after, correction.language),
            _ => None,
        }
    }

    /// All of them, in the order in which they were added.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Flow>> {
        core::iter::once(&self.first).chain(&self.later)
    }
}

impl From<Arc<Flow>> for Versions {
    fn from(first: Arc<Flow>) -> Self {
        Self { first, later: Vec::new() }
    }
}
