//! The notices of a commit: the rows that go into it.
//!
//! Owns the choice of targets, the id of a notice and the stored form of a target. The dispatcher sends the
//! notices, possibly in another engine years later. So a row contains everything needed except the secrets.

use crate::query::load::flow_folder;
use envoi_journal::Delivery;
use envoi_kernel::{
    Event, Flow, Record, Run,
    ids::{RunId, Seq},
    notify::{Address, Moment, Posting, Target},
};
use std::path::Path;

/// The targets that apply to every run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    /// As the configuration has them.
    pub(crate) targets: Vec<Target>,
    /// The configuration's folder.
    pub(crate) folder: String,
}

impl Outbox {
    /// Whether this flow has any target.
    fn concerns(&self, flow: &Flow) -> bool {
        !(self.targets.is_empty() && flow.notify.is_empty())
    }

    /// The rows for these records: for each event, the targets of the flow that applies at that point, and
    /// those of the configuration.
    pub(crate) fn deliveries(&self, run: &Run, id: &RunId, records: &[Record]) -> Vec<Delivery> {
        let versions = run.versions();
        if !versions.all().any(|flow| self.concerns(flow)) {
            return Vec::new();
        }
        // Notices of the history of a fork were sent for the other run.
        let forked = records.iter().rposition(|record| matches!(record.event, Event::RunForked(_)));
        let own = forked.map_or(0, |place| place.saturating_add(1));
        let mut holds = Holds::of(run);
        let mut rows = Vec::new();
        for (place, record) in records.iter().enumerate() {
            holds.after(run, &record.event);
            let Some(moment) = Moment::of(&record.event).filter(|_| place >= own) else { continue };
            let later = records.get(place..).unwrap_or_default();
            if is_over_at_once(&record.event, later) {
                continue;
            }
            let flow = holds.flow.notify.iter().map(|target| (target, holds.folder.as_str()));
            let all = flow.chain(self.targets.iter().map(|target| (target, self.folder.as_str())));
            let interested = all.filter(|(target, _)| target.on.contains(&moment));
            rows.extend(
                interested.filter_map(|(target, folder)| row(id, record.seq, moment, &target.to, folder)),
            );
        }
        rows
    }
}

/// The flow that applies, and the folder of its file.
struct Holds<'r> {
    flow: &'r Flow,
    folder: String,
}

impl<'r> Holds<'r> {
    fn of(run: &'r Run) -> Self {
        Self { flow: run.flow(), folder: flow_folder(run).to_string_lossy().into_owned() }
    }

    /// The start event of a new run has the path of its flow; a correction replaces the flow.
    fn after(&mut self, run: &'r Run, event: &Event) {
        let versions = run.versions();
        let (flow, source) = match event {
            Event::RunStarted(started) => {
                (versions.of(&started.flow_digest, started.language), &started.source)
            }
            Event::FlowCorrected(correction) => {
                (versions.of(&correction.after, correction.language), &correction.source)
            }
            _ => return,
        };
        self.flow = flow.unwrap_or(run.flow());
        self.folder = folder_of(source);
    }
}

/// Whether the event is outdated already when the commit becomes durable: a question is answered in advance
/// or withdrawn by a correction; an ended run continues under a corrected flow.
fn is_over_at_once(event: &Event, later: &[Record]) -> bool {
    later.iter().any(|record| match (event, &record.event) {
        (Event::InterruptRaised(raised), Event::InterruptAnswered(answered)) => {
            answered.interrupt == raised.interrupt
        }
        (Event::InterruptRaised(raised), Event::InterruptCancelled(cancelled)) => {
            cancelled.interrupt == raised.interrupt
        }
        (Event::RunEnded(_), Event::RunReopened(_)) => true,
        _ => false,
    })
}

/// None only if JSON cannot hold the target, which its types make sure of.
fn row(run: &RunId, seq: Seq, kind: Moment, to: &Address, folder: &str) -> Option<Delivery> {
    let posting = Posting { folder: folder.to_owned(), to: to.clone() };
    let target = serde_json::to_string(&posting).ok()?;
    Some(Delivery { seq, kind, id: notice_id(run, seq), target })
}

/// Derived from journal data, so that it is the same for every try and every engine. Targets of one event
/// share it.
pub(crate) fn notice_id(run: &RunId, seq: Seq) -> String {
    let run = run.as_str();
    format!("evt_{}_{seq}", run.strip_prefix("run_").unwrap_or(run))
}

fn folder_of(source: &str) -> String {
    Path::new(source).parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
