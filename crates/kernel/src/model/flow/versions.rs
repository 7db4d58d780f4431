//! The versions of a flow within one run: the original one, and its corrections.

use super::Flow;
use crate::model::event::Event;
use envoi_contract::digest::Digest;
use std::sync::Arc;

/// The versions of a flow within one run; at least one. The events of the run determine which version applies
/// from which point.
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

    /// The version with this digest, in this version of the language. The same text can have another meaning
    /// in another language version.
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

    /// The version that an event puts into effect. `None`: it names none, or an unknown one.
    pub(crate) fn named_by(&self, event: &Event) -> Option<&Arc<Flow>> {
        match event {
            Event::RunStarted(started) => self.of(&started.flow_digest, started.language),
            Event::FlowCorrected(correction) => self.of(&correction.after, correction.language),
            _ => None,
        }
    }

    /// All versions, in the order in which they were added.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Flow>> {
        core::iter::once(&self.first).chain(&self.later)
    }
}

impl From<Arc<Flow>> for Versions {
    fn from(first: Arc<Flow>) -> Self {
        Self { first, later: Vec::new() }
    }
}
