//! The steps that a reopening opened: in a graph every failed step starts again, while the event names only one.
//!
//! Owns how that is read from a run's records. The kernel decides what starts again.

use envoi_journal::{ReadError, Reader};
use envoi_kernel::{
    Event, Record,
    event::{Course, RunReopened, StepEntered},
    ids::{RunId, Seq},
};

/// How many events are read at once.
const PAGE: u32 = 100;

/// A reopening of a run.
pub(crate) struct Reopening<'r> {
    /// The record.
    pub(crate) record: &'r Record,
    /// The event in the record.
    pub(crate) event: &'r RunReopened,
    /// The steps that were opened with it. Steps of inner flows include their scope.
    pub(crate) steps: Vec<String>,
}

impl Reopening<'_> {
    /// `at a, b by ada`.
    pub(crate) fn describe(&self) -> String {
        format!("at {} by {}", self.steps.join(", "), self.event.by.actor)
    }
}

/// Every reopening, oldest first.
pub(crate) fn all(records: &[Record]) -> impl Iterator<Item = Reopening<'_>> {
    let mut rest = records;
    core::iter::from_fn(move || {
        while let Some((record, after)) = rest.split_first() {
            rest = after;
            if let Event::RunReopened(event) = &record.event {
                return Some(Reopening { record, event, steps: steps(record, event, after) });
            }
        }
        None
    })
}

/// The records that [`of`] needs: that of the reopening, and the following ones with the same time.
pub(crate) fn commit_of(reader: &Reader, run: &RunId, record: &Record) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    let mut from = record.seq;
    loop {
        let page = reader.records(run, from, Some(PAGE))?;
        let Some(last) = page.last() else { return Ok(records) };
        let is_over = last.at != record.at;
        from = last.seq.saturating_add(1);
        records.extend(page);
        if is_over {
            return Ok(records);
        }
    }
}

/// The reopening of this record.
pub(crate) fn of(records: &[Record], seq: Seq) -> Option<Reopening<'_>> {
    all(records).find(|reopening| reopening.record.seq == seq)
}

/// All records of a commit have the same time. The end of an attempt starts another commit, even in the same
/// millisecond.
fn steps(record: &Record, event: &RunReopened, after: &[Record]) -> Vec<String> {
    let same = |next: &&Record| next.at == record.at && !matches!(next.event, Event::AttemptSettled(_));
    let entered = after.iter().take_while(same).filter_map(|next| match &next.event {
        Event::StepEntered(entered) => Some(entered),
        _ => None,
    });
    let (mut top, inner): (Vec<_>, Vec<_>) = entered.partition(|entered| entered.scope.is_empty());
    // The routing of a decision that was made again.
    let leads_to = event.decides.as_ref().and_then(|visit| {
        after.iter().take_while(same).find_map(|next| match &next.event {
            Event::Routed(routed) if routed.visit == *visit => match &routed.course {
                Course::LoopBack(to) | Course::Round(to) => Some(to),
                _ => None,
            },
            _ => None,
        })
    });
    let named = StepEntered { scope: String::new(), step: leads_to.unwrap_or(&event.step).clone() };
    if top.is_empty() {
        // Steps in listed order have no event when they are entered, so the reopening opens the step that it
        // names.
        top.push(&named);
    }
    let place = |entered: &StepEntered| match entered.scope.as_str() {
        "" => entered.step.to_string(),
        scope => format!("{scope}.{}", entered.step),
    };
    top.into_iter().chain(inner).map(place).collect()
}
