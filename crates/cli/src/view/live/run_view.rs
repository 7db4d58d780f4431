//! A displayed run: its model, and the ends of the outputs of its live attempts.

use super::{model::RunModel, so_far::so_far, tail::Tail};
use crate::view::describe::remarks;
use envoi_journal::{Layout, Reader};
use envoi_kernel::{
    Event, Record,
    flow::Versions,
    ids::{AttemptId, RunId},
};
use std::{collections::BTreeMap, sync::Arc};

/// A displayed run.
pub(crate) struct RunView {
    pub(crate) run: RunId,
    pub(crate) model: RunModel,
    layout: Layout,
    tails: BTreeMap<AttemptId, Tail>,
}

impl RunView {
    pub(crate) fn new(run: RunId, flow: impl Into<Versions>, layout: Layout) -> Self {
        Self { run, model: RunModel::new(flow), layout, tails: BTreeMap::new() }
    }

    /// Adds a record. Returns its permanent lines.
    pub(crate) fn record(&mut self, record: &Record, reader: Option<&Reader>) -> Vec<String> {
        // A follower gets the events from its request on. The earlier ones are in the journal.
        let mut messages = match reader {
            Some(reader) if record.seq > self.model.next() => self.catch_up(reader),
            _ => Vec::new(),
        };
        messages.extend(self.take(record, reader));
        messages
    }

    /// Takes the records that the journal has and the model lacks, and returns their permanent lines. A run
    /// that does not exist yet has none. Records that cannot be read now are read at the next poll.
    pub(crate) fn catch_up(&mut self, reader: &Reader) -> Vec<String> {
        let Ok(records) = reader.records(&self.run, self.model.next(), None) else { return Vec::new() };
        records.iter().flat_map(|record| self.take(record, Some(reader))).collect()
    }

    fn take(&mut self, record: &Record, reader: Option<&Reader>) -> Vec<String> {
        if let (Event::FlowCorrected(_), Some(reader)) = (&record.event, reader) {
            self.learn_versions(reader);
        }
        let is_new = record.seq >= self.model.next();
        self.model.record(record);
        if is_new { remarks(&record.event) } else { Vec::new() }
    }

    /// A flow that was added after the view began is in the store, with the event that names it.
    fn learn_versions(&mut self, reader: &Reader) {
        let Ok(pinned) = reader.pinned(&self.run) else { return };
        let Ok(versions) = envoi_engine::flow_versions(&pinned) else { return };
        versions.all().for_each(|flow| self.model.learn(Arc::clone(flow)));
    }

    /// Reads the ends of the outputs of live attempts.
    pub(crate) fn look(&mut self) {
        let live = self.model.live();
        self.tails.retain(|attempt, _| live.contains(attempt));
        for attempt in live {
            let folder = self.layout.attempt(&self.run, &attempt);
            let used = so_far(&self.model.run().metered(&attempt), &folder);
            let line = self.tails.entry(attempt.clone()).or_insert_with(|| Tail::new(folder)).look();
            self.model.output(&attempt, line, used);
        }
    }
}
