//! Calls of people, as the engine's commands make them: read the run, have it adopted, then send a request.
//!
//! Owns the steps of one call, which other things can come between, and the wishes of people for each run. Times play no
//! part in their wishes, so that they want the same in every world.

use crate::{
    books::Books,
    corrections::Correction,
    instance::Errand,
    plan::{Plan, Planned, person},
    questions::{self, Who},
};
use envoi_contract::{envelope::TerminalReason, time::Timestamp};
use envoi_journal::Aside;
use envoi_kernel::{
    Input, Run, Status,
    ids::{InterruptId, RunId},
    input::Correct,
};
use std::collections::{BTreeMap, BTreeSet};

/// The request of a person for a run.
pub(crate) struct Request {
    pub(crate) input: Input,
    pub(crate) errand: Errand,
    /// For the trace.
    pub(crate) label: &'static str,
}

/// A call in progress. It ends with its engine.
pub(crate) struct Call {
    pub(crate) run: RunId,
    /// The run as it was when the call was made; taken when it is handed over.
    pub(crate) loaded: Option<Box<Run>>,
    pub(crate) request: Option<Request>,
    /// Why it was set aside when the call was made, if it was: it is to be tried again.
    pub(crate) again: Option<Aside>,
    /// It has been made, and the answer is awaited.
    pub(crate) awaits: Option<Errand>,
}

impl Call {
    pub(crate) fn new(run: &RunId, loaded: Run, request: Option<Request>) -> Self {
        Self { run: run.clone(), loaded: Some(Box::new(loaded)), request, again: None, awaits: None }
    }

    pub(crate) fn again(self, again: Option<Aside>) -> Self {
        Self { again, ..self }
    }
}

/// The refusals so far.
#[derive(Default)]
pub(crate) struct Refusals {
    /// How often each question's answer was.
    pub(crate) answers: BTreeMap<InterruptId, usize>,
    /// Runs whose correction was.
    pub(crate) corrections: BTreeSet<RunId>,
}

/// The request of a person or a command for this run now.
pub(crate) fn wanted(
    plan: &Plan,
    planned: &Planned,
    books: &Books,
    refusals: &Refusals,
    now: Timestamp,
) -> Option<Request> {
    let run = &books.replayed;
    let succeeded =
        matches!(run.status(), Status::Ended(ended) if ended.terminal_reason == TerminalReason::Completed);
    let correction = planned.correction.as_ref().filter(|correction| {
        let refused = refusals.corrections.contains(&planned.id);
        !books.to_be_corrected
            && !refused
            && !succeeded
            && !books.cancelled
            && run.next_seq() >= correction.after
    });
    if let Some(correction) = correction {
        return Some(correct(correction));
    }
    if let Status::Ended(ended) = run.status() {
        let again = ended.terminal_reason != TerminalReason::Completed && books.reopened < planned.reopenings;
        return again.then(|| Request {
            input: Input::Reopen {
                by: person(),
                why: Some("once more".to_owned()),
                request: None,
                elsewhere: Default::default(),
            },
            errand: Errand::Reopen,
            label: "to reopen",
        });
    }
    if planned.cancel_after.is_some_and(|events| run.next_seq() >= events) && !books.cancelled {
        return Some(Request {
            input: Input::Cancel { by: person() },
            errand: Errand::Cancel,
            label: "to cancel",
        });
    }
    if looks_at(plan, planned, books).is_some_and(|at| now < at) {
        return None;
    }
    answer_to(plan, planned, books, refusals, Who::Next)
}

/// To try at once what the run waits for; `id`: of the request.
pub(crate) fn try_now(id: String) -> Request {
    Request {
        input: Input::TryNow {
            by: person(),
            why: None,
            request: Some(id.clone()),
            elsewhere: Default::default(),
        },
        errand: Errand::TryNow(id),
        label: "to try now",
    }
}

fn correct(correction: &Correction) -> Request {
    Request {
        input: Input::Correct(Box::new(Correct {
            flow: correction.flow.digest,
            language: correction.pinned.language,
            source: "/workspace/flow.yaml".to_owned(),
            from: correction.from.clone(),
            by: person(),
            why: None,
            request: None,
            elsewhere: Default::default(),
            seen: None,
        })),
        errand: Errand::Correct,
        label: "to correct its flow",
    }
}

/// When a person looks at the open question, if one ever does.
pub(crate) fn looks_at(plan: &Plan, planned: &Planned, books: &Books) -> Option<Timestamp> {
    let raised = books.replayed.interrupts().next().filter(|_| planned.answered)?;
    Some(raised.raised_at.saturating_add_ms(questions::patience_ms(plan.seed, &planned.id, raised)))
}

/// The answer to the open question.
pub(crate) fn answer_to(
    plan: &Plan,
    planned: &Planned,
    books: &Books,
    refusals: &Refusals,
    who: Who,
) -> Option<Request> {
    let raised = books.replayed.interrupts().next().filter(|_| planned.answered)?;
    let refused = refusals.answers.get(&raised.interrupt).copied().unwrap_or(0);
    let choice = plan.choice(&planned.id, raised, books.replayed.step(&raised.visit), refused);
    let answer = questions::answer(&books.replayed, raised, choice, who);
    Some(Request {
        errand: Errand::Answer(answer.interrupt.clone(), answer.by.actor.clone()),
        label: choice.word(),
        input: Input::Answer(Box::new(answer)),
    })
}
