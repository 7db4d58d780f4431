//! `goals` of a flow, and the `marks` of its steps.
//!
//! Owns what may stand there, and that both fit together: a mark is a goal, and stands in a step of the rounds. What a round
//! is, and when a person is asked, is the kernel's.

use crate::{
    diagnostic::{Diagnostic, Problems, Span},
    draft::{Draft, DraftStep, Site, Usage},
    graph::Rounds,
    keys,
    list::{self, List},
    path,
    read::{self, Fields, Spanned, listed},
    suggestion::did_you_mean,
    yaml::{Kind, Node},
};
use envoi_kernel::{
    flow::{Expression, GoalsPlan},
    ids::StepId,
};

/// Each round is at least one attempt of each of its steps.
const MAX_ROUNDS: u64 = 1000;

/// Rounds, unless the flow says otherwise: the seed's number of stages.
const ROUNDS: u64 = 5;

/// Rounds without progress until a person is asked: one may be bad luck.
const STUCK_AFTER: u64 = 2;

/// `goals` as it was written.
#[derive(Debug)]
pub(crate) struct DraftGoals {
    /// What is reached, where it is written out.
    known: Option<Vec<String>>,
    list: Option<Expression>,
    from: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
    max_rounds: u64,
    stuck_after: u64,
    place: Span,
}

impl DraftGoals {
    /// The kernel's plan, unless a part is absent because it is wrong.
    pub(crate) fn plan(&self) -> Option<GoalsPlan> {
        let step = |target: &Option<Spanned<String>>| StepId::new(target.as_ref()?.value.as_str()).ok();
        Some(GoalsPlan {
            list: self.list.clone()?,
            from: step(&self.from)?,
            to: step(&self.to)?,
            max_rounds: self.max_rounds,
            stuck_after: self.stuck_after,
        })
    }

    /// The first and the last step of a round, if they exist.
    pub(crate) fn rounds(&self, steps: &[DraftStep]) -> Option<Rounds> {
        let place = |target: &Spanned<String>| steps.iter().position(|step| step.name() == target.value);
        let (from, to) = (self.from.as_ref()?, self.to.as_ref()?);
        Some(Rounds { first: place(from)?, last: place(to)?, to: to.span })
    }
}

/// Reads `goals` when the steps have been read: its list is evaluated where the first round begins.
pub(crate) fn read(
    place: Span,
    node: &Node,
    draft: &mut Draft,
    problems: &mut Problems,
) -> Option<DraftGoals> {
    let fields = Fields::of(node, &keys::GOALS, problems)?;
    let mut missing = |name: &str, help: &str| {
        if fields.get(name).is_none() && !fields.misspelt(name, &keys::GOALS) {
            problems.add(Diagnostic::invalid(place, format!("`goals` without `{name}`")).help(help));
        }
    };
    missing("list", "say what is to be reached: `list: [translated, checked]`");
    missing("from", "name the first step of a round: `from: STEP`");
    missing("to", "name the last step of a round: `to: STEP`");
    let mut target = |name: &str| {
        let node = fields.get(name)?;
        let value = read::text(node, &format!("`{name}`"), problems)?.to_owned();
        Some(Spanned { value, span: node.span })
    };
    let (from, to) = (target("from"), target("to"));
    let mut count = |name: &str, default: u64| match fields.get(name) {
        Some(node) => read::integer(node, &format!("`{name}`"), 1..=MAX_ROUNDS, problems).unwrap_or(default),
        None => default,
    };
    let (max_rounds, stuck_after) = (count("max_rounds", ROUNDS), count("stuck_after", STUCK_AFTER));
    let list = fields.get("list").map(|node| (node, list::read(node, "`list`", problems)));
    let mut goals = DraftGoals { known: None, list: None, from, to, max_rounds, stuck_after, place };
    let Some((node, Some(list))) = list else { return Some(goals) };
    goals.list = Some(list.expression());
    match list {
        List::Items(items) => goals.known = texts(items, problems),
        List::Expression(source) => {
            if let Some(Rounds { first, .. }) = goals.rounds(&draft.steps) {
                let (span, source) = (node.span, source.to_owned());
                let (step, site) = (Some(first), Site::Goals);
                draft.expressions.push(Usage { span, source, bare: true, shell: false, step, site });
            }
        }
    }
    Some(goals)
}

/// Goals that are written out: texts, each of them once.
fn texts(items: &[Node], problems: &mut Problems) -> Option<Vec<String>> {
    let mut known: Vec<String> = Vec::new();
    let before = problems.count();
    for item in items {
        let Some(goal) = read::text(item, "a goal", problems) else { continue };
        if known.iter().any(|other| other == goal) {
            problems.add(Diagnostic::invalid(item.span, format!("the goal `{goal}` is named twice")));
        }
        known.push(goal.to_owned());
    }
    (problems.count() == before).then_some(known)
}

/// `marks` of a step: a goal or a list of them.
pub(crate) fn marks(node: &Node, problems: &mut Problems) -> Vec<Spanned<String>> {
    let read = match &node.kind {
        Kind::Sequence(_) => read::texts(node, "`marks`", problems),
        _ => read::text(node, "`marks`", problems)
            .map(|text| Spanned { value: text.to_owned(), span: node.span })
            .into_iter()
            .collect(),
    };
    let mut marks: Vec<Spanned<String>> = Vec::new();
    for mark in read {
        if path::without_expression(mark.span, &mark.value, "`marks`", problems).is_none() {
            continue;
        }
        if marks.iter().any(|other| other.value == mark.value) {
            problems.add(Diagnostic::invalid(mark.span, format!("the goal `{}` is named twice", mark.value)));
        }
        marks.push(mark);
    }
    marks
}

/// Checks what depends on all of the file.
pub(crate) fn check(draft: &Draft, problems: &mut Problems) {
    let Some(goals) = &draft.goals else {
        // What was meant as `goals` and cannot be read is told already.
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
            check_mark(draft, goals, (place, step), mark, problems);
        }
    }
}

fn check_ends(draft: &Draft, goals: &DraftGoals, problems: &mut Problems) {
    for target in goals.from.iter().chain(&goals.to) {
        let names = || draft.steps.iter().map(DraftStep::name).filter(|name| !name.is_empty());
        if !names().any(|name| name == target.value) {
            let message = format!("there is no step `{}`", crate::yaml::shortened(&target.value));
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
    (place, step): (usize, &DraftStep),
    mark: &Spanned<String>,
    problems: &mut Problems,
) {
    if let Some(known) = goals.known.as_ref().filter(|known| !known.contains(&mark.value)) {
        let message = format!("`{}` is no goal of this flow", crate::yaml::shortened(&mark.value));
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

/// The first few goals, for a person who misspelt one.
fn some(known: &[&str]) -> Option<String> {
    const SHOWN: usize = 8;
    (known.len() <= SHOWN).then(|| format!("the goals are {}", listed(known)))
}
