//! The notices of a commit: the rows that go into it.
//!
//! Owns the choice of targets, the id of a notice and how a target stands in its row. Sends nothing: that is the
//! dispatcher's, which may be another engine's, years later. So a row holds all that is needed but the secrets.

use envoi_journal::Delivery;
use envoi_kernel::{
    Event, Record, Run,
    ids::{RunId, Seq},
    notify::{Address, Moment, Posting, Target},
};
use std::path::Path;

/// The targets that hold for every run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    /// As the configuration has them.
    pub(crate) targets: Vec<Target>,
    /// The configuration's folder.
    pub(crate) folder: String,
}

impl Outbox {
    /// Whether this flow has any target.
    pub(crate) fn concerns(&self, flow: &envoi_kernel::Flow) -> bool {
        !(self.targets.is_empty() && flow.notify.is_empty())
    }

    /// The rows of these records: for each event, the flow's targets, then those of the configuration.
    pub(crate) fn deliveries(&self, run: &Run, id: &RunId, records: &[Record]) -> Vec<Delivery> {
        if !self.concerns(run.flow()) {
            return Vec::new();
        }
        let folder = flow_folder(run, records);
        let flow = run.flow().notify.iter().map(|target| (target, folder.as_str()));
        let targets: Vec<_> =
            flow.chain(self.targets.iter().map(|target| (target, self.folder.as_str()))).collect();
        // Notices of what a fork has lived were sent for the other run.
        let forked = records.iter().rposition(|record| matches!(record.event, Event::RunForked(_)));
        let own = records.iter().skip(forked.map_or(0, |place| place.saturating_add(1)));
        let open = own.filter(|record| !is_answered_at_once(record, records));
        let moments = open.filter_map(|record| Some((record.seq, Moment::of(&record.event)?)));
        moments
            .flat_map(|(seq, moment)| {
                let interested = targets.iter().filter(move |(target, _)| target.on.contains(&moment));
                interested.filter_map(move |(target, folder)| row(id, seq, moment, &target.to, folder))
            })
            .collect()
    }
}

/// Whether a question was put and answered in one commit, by a yes in advance: then no notice is needed.
fn is_answered_at_once(record: &Record, records: &[Record]) -> bool {
    let Event::InterruptRaised(raised) = &record.event else { return false };
    records.iter().any(|later| {
        matches!(&later.event, Event::InterruptAnswered(answered) if answered.interrupt == raised.interrupt)
    })
}

/// None only if JSON cannot hold the target, which its types make sure of.
fn row(run: &RunId, seq: Seq, kind: Moment, to: &Address, folder: &str) -> Option<Delivery> {
    let posting = Posting { folder: folder.to_owned(), to: to.clone() };
    let target = serde_json::to_string(&posting).ok()?;
    Some(Delivery { seq, kind, id: notice_id(run, seq), target })
}

/// Made of what the journal holds anyway, so that it is the same for every try and every engine. Targets of one event share
/// it: it is one event.
pub(crate) fn notice_id(run: &RunId, seq: Seq) -> String {
    let run = run.as_str();
    format!("evt_{}_{seq}", run.strip_prefix("run_").unwrap_or(run))
}

/// A run that is just beginning has the place of its flow in these very records.
fn flow_folder(run: &Run, records: &[Record]) -> String {
    let started = records.iter().find_map(|record| match &record.event {
        Event::RunStarted(started) => Some(started.as_ref()),
        _ => None,
    });
    let source = started.or(run.started()).map(|started| started.source.as_str()).unwrap_or_default();
    Path::new(source).parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
