//! What a reopening opened: in a graph every step that failed starts again, while the event names one.
//!
//! Owns how that is read from a run's records. What is to start again is the kernel's to decide.

use envoi_journal::{ReadError, Reader};
use envoi_kernel::{
    Event, Record,
    event::{Course, RunReopened, StepEntered},
    ids::{RunId, Seq},
};

/// Events that are read at once.
const PAGE: u32 = 100;

/// One time that a run was reopened.
pub(crate) struct Reopening<'r> {
    /// The record.
    pub(crate) record: &'r Record,
    /// What it says.
    pub(crate) event: &'r RunReopened,
    /// The steps that were opened with it, those of inner flows with their place before them.
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

/// What [`of`] needs to know of a reopening: the record and those that follow it at the same time.
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

/// One commit has one time. What an attempt has come to begins another commit, should that be of the same millisecond.
fn steps(record: &Record, event: &RunReopened, after: &[Record]) -> Vec<String> {
    let same = |next: &&Record| next.at == record.at && !matches!(next.event, Event::AttemptSettled(_));
    let entered = after.iter().take_while(same).filter_map(|next| match &next.event {
        Event::StepEntered(entered) => Some(entered),
        _ => None,
    });
    let (mut top, inner): (Vec<_>, Vec<_>) = entered.partition(|entered| entered.scope.is_empty());
    // Where a decision that was made anew leads.
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
        // Steps in listed order are not entered: the event opens the one that it names.
        top.push(&named);
    }
    let place = |entered: &StepEntered| match entered.scope.as_str() {
        "" => entered.step.to_string(),
        scope => format!("{scope}.{}", entered.step),
    };
    top.into_iter().chain(inner).map(place).collect()
}
