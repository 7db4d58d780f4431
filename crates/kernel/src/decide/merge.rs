//! The items of a step have worked in trees of their own: what they have changed is merged when all of them are over.
//!
//! Owns what the attempt that merges is given, and what follows from it. It takes the items in their order, never in that in which they
//! ended, from snapshots that the journal names: done again, it comes to the same. It does not merge: that is done outside the kernel.

use crate::{
    decide::{
        conclude::{self, Conclusion, VisitResult},
        draft::Draft,
        for_each::{self, named},
        route::{self, Decided},
        set_back,
    },
    model::{
        command::{Command, MergeCall, MergeItem},
        event::{About, AttemptSettled, AttemptStarted, Course},
        files::Snapshot,
        flow::{OnConflict, OnExhausted, Step},
        ids::VisitId,
        input::Refusal,
    },
    state::{
        conflict,
        item_trees::{self, ItemTree},
    },
};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::Value,
    routing::{Decision, Signal},
    skill_report::SkillError,
};
use std::collections::BTreeSet;

/// What merges the items of `visit`.
///
/// # Errors
/// The files of an item were not kept.
pub(crate) fn attempt(draft: &Draft<'_>, visit: &VisitId, step: &Step) -> Result<AttemptStarted, SkillError> {
    let open = draft.control.open.get(visit);
    let waiting = open.and_then(|open| open.for_each.as_ref()).map(|fan| fan.trees.waiting());
    let items: Result<Vec<MergeItem>, SkillError> = waiting.into_iter().flatten().map(of_item).collect();
    let earlier = |item: &MergeItem| -> Vec<Digest> {
        let number = usize::try_from(item.item).ok();
        let fan = open.and_then(|open| open.for_each.as_ref());
        fan.zip(number).and_then(|(fan, number)| fan.trees.earlier.get(&number)).cloned().unwrap_or_default()
    };
    let decided = open.and_then(|open| open.for_each.as_ref()).and_then(|fan| fan.trees.decided.clone());
    let items = items?.into_iter().map(|item| MergeItem { earlier: earlier(&item), ..item }).collect();
    Ok(AttemptStarted {
        attempt: visit.attempt(open.map_or(0, |open| open.attempts).saturating_add(1)),
        command: Command::Merge(Box::new(MergeCall { items, on_conflict: step.on_conflict, decided })),
        env: Vec::new(),
        cwd: ".".to_owned(),
        timeout_ms: None,
        iteration: 0,
        handoff: None,
        feedback: None,
        sent_back_by: None,
        answer: None,
        boot_id: draft.slot.as_ref().map(|slot| slot.boot_id.clone()).unwrap_or_default(),
        reserved: None,
        verifies: None,
        set_back: set_back::of_next(draft, step, open)?,
        tree: None,
    })
}

fn of_item((item, tree): (usize, ItemTree)) -> Result<MergeItem, SkillError> {
    let of = |snapshot: Option<Snapshot>, when: &str| -> Result<Digest, SkillError> {
        match snapshot {
            Some(Snapshot { digest, moving: false }) => Ok(digest),
            Some(_) => {
                let message = format!("another attempt was at work in the tree of item {item}");
                Err(SkillError::new(Code::FilesMoving, message))
            }
            None => {
                let message = format!(
                    "the files {when} item {item} were not kept; the warnings of its attempts say why"
                );
                Err(SkillError::new(Code::FilesNotKept, message))
            }
        }
    };
    let item_number = u64::try_from(item).unwrap_or(u64::MAX);
    let base = of(tree.base, "before")?;
    let theirs = of(tree.theirs, "after")?;
    Ok(MergeItem { item: item_number, base, theirs, earlier: Vec::new() })
}

/// What follows from the attempt that has merged. If all items fit, they are gathered.
pub(crate) fn follow(
    draft: &mut Draft<'_>,
    settled: &AttemptSettled,
    error: Option<SkillError>,
    text: String,
) -> Result<(), Refusal> {
    let visit = &settled.attempt.visit;
    let in_conflict = item_trees::in_conflict(&settled.data);
    match error {
        Some(error) => conclude::conclude(draft, visit, Conclusion::FailedAfter(error, text)),
        // At once: what ends the run or corrects its flow in this commit finds a step that is done.
        None if in_conflict.is_empty() => for_each::gather(draft, visit),
        None => put_off(draft, settled, &in_conflict, text),
    }
}

/// Items do not fit to the others, which are merged. They are done again from there, or a person decides.
fn put_off(
    draft: &mut Draft<'_>,
    settled: &AttemptSettled,
    in_conflict: &BTreeSet<usize>,
    text: String,
) -> Result<(), Refusal> {
    let visit = &settled.attempt.visit;
    let fan = draft.control.open.get(visit).and_then(|open| open.for_each.as_ref());
    let which: Vec<usize> = in_conflict.iter().copied().collect();
    let named = named(&which, fan.map_or(&[][..], |fan| &fan.items[..]));
    let message = format!("the others are merged, and these items do not fit: {named}");
    let error = SkillError::new(Code::MergeConflict, message);
    // The step fails because of other items in any case, so nobody is asked and nothing is done again.
    if fan.is_some_and(|fan| fan.failed().next().is_some()) {
        return conclude::conclude(draft, visit, Conclusion::FailedAfter(error, text));
    }
    let at = &draft.at(visit)?;
    let id = at.id();
    let may_repeat = route::may_repeat(draft, at, id).is_ok();
    let audit = Value::from("the items of a merge are not routed");
    let decided = if at.step.on_conflict == OnConflict::Again && may_repeat {
        let signal = Signal::new(Decision::Loop, "Items in conflict are done again", "1.0");
        Decided::new(signal, Course::LoopBack(id.clone()), audit)
    } else if at.step.on_conflict == OnConflict::Again && at.step.routing.on_exhausted == OnExhausted::Fail {
        conclude::failed(at, &error)
    } else {
        let edit = if conflict::may_be_edited(&settled.data) { ", edit the files" } else { "" };
        let question = format!(
            "Items of step `{id}` have changed the same lines as others: {named}. The others are merged. Do these again, take ours (what is there) or theirs{edit}, proceed without them, or stop?"
        );
        let signal = Signal::new(Decision::Advance, "Items are in conflict", "1.0");
        let mut decided = Decided::new(signal, Course::Stop, audit).holding(About::Conflict, question);
        decided.hold.iter_mut().for_each(|hold| hold.evidence = settled.data.clone());
        decided
    };
    conclude::leave(draft, visit, VisitResult::failed(text, &error), decided)
}
