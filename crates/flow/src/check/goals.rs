//! Checks that the goals of a flow and the marks of its steps match: each mark is a goal, and is on a step of the
//! rounds.

use crate::{
    parse::draft::{Draft, DraftGoals, DraftStep, Rounds},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::{Spanned, listed},
        suggestion::did_you_mean,
    },
};

/// Runs the checks that need the whole file.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    let Some(goals) = &draft.goals else {
        // An unreadable `goals` was already reported.
        for mark in draft.steps.iter().filter(|_| !draft.goals_unclear).filter_map(|step| step.marks.first())
        {
            let message = "`marks` without `goals`: there is nothing to be reached";
            let help = "say what a run is for: `goals: { list: [a], from: STEP, to: STEP }`";
            problems.add(Diagnostic::invalid(mark.span, message).help(help));
        }
        return;
    };
    if let Some(step) = draft.steps.iter().find(|step| step.waits.named) {
        let message = "`goals` in a flow with `needs`: rounds go through a list of steps";
        let help = "leave `needs` out, or run the graph as a flow of its own in a step of the round";
        let wrong = Diagnostic::invalid(goals.place, message).help(help);
        problems.add(wrong.label(step.place, "this step has `needs`"));
        return;
    }
    check_ends(draft, goals, problems);
    for (place, step) in draft.steps.iter().enumerate() {
        for mark in &step.marks {
            check_mark(draft, goals, place, step, mark, problems);
        }
    }
}

fn check_ends(draft: &Draft, goals: &DraftGoals, problems: &mut Problems) {
    for target in goals.from.iter().chain(&goals.to) {
        let names = || draft.steps.iter().map(DraftStep::name).filter(|name| !name.is_empty());
        if !names().any(|name| name == target.value) {
            let message = format!("there is no step `{}`", crate::syntax::yaml::shortened(&target.value));
            let help = did_you_mean(&target.value, names());
            problems.add(Diagnostic::invalid(target.span, message).maybe_help(help));
        }
    }
    let (Some(Rounds { first, last, .. }), Some(to)) = (goals.rounds(&draft.steps), &goals.to) else {
        return;
    };
    if first > last {
        let from = goals.from.as_ref().map_or(to.span, |from| from.span);
        let message = format!("a round ends before it begins: `{}` is listed before `from`", to.value);
        problems.add(Diagnostic::invalid(to.span, message).label(from, "it begins here"));
    }
    let next = draft.steps.get(last).and_then(|step| step.targets.next.as_ref());
    if let Some(next) = next.filter(|next| next.value == "end") {
        let message =
            format!("`{}` is the last step of a round, and `next: end` ends the run there", to.value);
        let help = "leave `next` out: what follows the last step is entered when all goals are reached";
        problems.add(Diagnostic::invalid(next.span, message).label(to.span, "a round ends here").help(help));
    }
}

fn check_mark(
    draft: &Draft,
    goals: &DraftGoals,
    place: usize,
    step: &DraftStep,
    mark: &Spanned<String>,
    problems: &mut Problems,
) {
    if let Some(known) = goals.known.as_ref().filter(|known| !known.contains(&mark.value)) {
        let message = format!("`{}` is no goal of this flow", crate::syntax::yaml::shortened(&mark.value));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let help = did_you_mean(&mark.value, known.iter().copied()).or_else(|| some(&known));
        problems.add(Diagnostic::invalid(mark.span, message).maybe_help(help));
    } else if let Some(Rounds { first, last, .. }) = goals.rounds(&draft.steps)
        && first <= last
        && !(first..=last).contains(&place)
    {
        let message = format!("`{}` is in no round, so that it cannot reach a goal", step.name());
        let help = "`from` and `to` in `goals` say which steps a round has";
        problems.add(Diagnostic::invalid(mark.span, message).help(help));
    }
}

/// The goals as help for a misspelt one, if there are only a few.
fn some(known: &[&str]) -> Option<String> {
    const SHOWN: usize = 8;
    (known.len() <= SHOWN).then(|| format!("the goals are {}", listed(known)))
}
