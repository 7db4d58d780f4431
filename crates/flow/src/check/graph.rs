//! The control flow between steps.
//!
//! Checks targets (they exist, and ways back are bounded), reachability, and which step can have run before which. It
//! does not depend on YAML. A flow whose steps have `needs` has its own rules ([`parallel`]).

use crate::parse::draft::Rounds;
pub(super) mod order;
mod parallel;
mod repeat;
mod rounds;

use crate::{
    parse::draft::{Diversion, DraftStep},
    syntax::{
        diagnostic::{Diagnostic, Problems, Span},
        read::{Spanned, listed, refuse},
        suggestion::nearest,
    },
};
use order::Order;
use parallel::Return;
use std::collections::BTreeMap;

/// Special targets of a denial or an expiry. A step with such a name cannot be meant there.
const WORDS: &[&str] = &["fail", "deny"];

/// A denial or an expiry that leads forward to a later step.
#[derive(Debug, Clone, Copy)]
struct SideWay {
    /// The step that asks.
    from: usize,
    what: &'static str,
    span: Span,
}

/// The steps by id, and the edges between them.
#[derive(Debug)]
pub(crate) struct Graph<'d> {
    steps: &'d [DraftStep],
    places: BTreeMap<&'d str, usize>,
    /// For each step, the steps to which it may lead.
    ways: Vec<Vec<usize>>,
    /// By the position of their target.
    side_ways: BTreeMap<usize, SideWay>,
    /// True if all targets exist. Otherwise reachability is meaningless.
    whole: bool,
    /// The rounds, in which the last step leads back to the first.
    rounds: Option<Rounds>,
    /// True if `needs` determines the order, and not the order of the list.
    parallel: bool,
    /// The order of the steps, in a graph without cycles.
    order: Option<Order>,
    /// The edges back, in a graph.
    returns: Vec<Return>,
}

/// The position of a step relative to a step that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It can have run before.
    Before,
    /// It is the same step, and nothing leads back to it.
    Itself,
    /// It runs later.
    Later,
    /// It runs neither before nor after, because the flow is a graph.
    Beside,
}

impl<'d> Graph<'d> {
    /// Checks the targets of all steps, and the reachability.
    pub(crate) fn check(steps: &'d [DraftStep], rounds: Option<Rounds>, problems: &mut Problems) -> Self {
        let mut places = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            places.entry(step.name()).or_insert(place);
        }
        let mut graph = Self {
            steps,
            places,
            ways: Vec::new(),
            side_ways: BTreeMap::new(),
            whole: true,
            rounds,
            parallel: steps.iter().any(|step| step.waits.named),
            order: None,
            returns: Vec::new(),
        };
        if graph.parallel {
            graph.check_parallel(problems);
        } else {
            graph.check_listed(problems);
        }
        graph
    }

    fn check_listed(&mut self, problems: &mut Problems) {
        let before = problems.count();
        let steps = self.steps;
        for (place, step) in steps.iter().enumerate() {
            self.check_targets(place, step, problems);
            self.check_question(place, step, problems);
        }
        self.whole = problems.count() == before && !steps.iter().any(|step| step.targets.unclear);
        self.side_ways = self.find_side_ways();
        self.ways = steps.iter().enumerate().map(|(place, step)| self.ways_of(place, step)).collect();
        if self.whole {
            self.check_side_ways(problems);
            self.check_reached(problems);
            self.check_rounds(problems);
        }
    }

    /// The index of the step with this id in the list.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// All ids, in the order of the list.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'d str> {
        self.steps.iter().map(DraftStep::name).filter(|id| !id.is_empty())
    }

    /// The position of `read` relative to `reader`. [`Standing::Before`] if the file has too many mistakes to know.
    pub(crate) fn standing(&self, read: usize, reader: usize) -> Standing {
        let before = match &self.order {
            Some(order) => self.settled_before(order, read, reader),
            None => self.reached_from(read, Some(reader)).get(reader).copied().unwrap_or(true),
        };
        if !self.whole || before {
            Standing::Before
        } else if read == reader {
            Standing::Itself
        } else if self.order.as_ref().is_none_or(|order| order.is_before(reader, read)) {
            Standing::Later
        } else {
            Standing::Beside
        }
    }

    /// True if the first visit of `reader` always comes before any visit of `read`, for example in a loop that reads
    /// a later step or its own result.
    pub(crate) fn is_first_without(&self, read: usize, reader: usize) -> bool {
        if !self.whole {
            return false;
        }
        match &self.order {
            // Only the steps that it waits for have ended; a loop makes the others available later.
            Some(order) => !order.is_before(read, reader),
            None if read == reader || reader == 0 => true,
            None => {
                let mut ways = self.ways.clone();
                if let Some(onward) = ways.get_mut(reader) {
                    onward.clear();
                }
                !reached(&ways, vec![0], None).get(read).copied().unwrap_or(true)
            }
        }
    }

    /// True if the edge from `from` to `to` goes back. True if the file has too many mistakes to know.
    fn leads_back(&self, from: usize, to: usize) -> bool {
        match &self.order {
            Some(order) => order.is_before(to, from),
            None => self.parallel || to < from,
        }
    }

    fn check_targets(&self, place: usize, step: &DraftStep, problems: &mut Problems) {
        if let Some(next) = step.targets.next.as_ref().filter(|next| next.value != "end")
            && let Some(target) = self.existing(next, "`next`", &["end"], problems)
            && target <= place
        {
            let message = format!("`next: {}` leads back, and nothing bounds it", next.value);
            let help = if step.targets.asks {
                "`loop_to` says where the answer `again` leads back to"
            } else {
                "a loop has `kind: microloop`, `loop_to` and `success_values`"
            };
            let back = Diagnostic::invalid(next.span, message);
            problems.add(back.expecting("a later step or `end`").help(help));
        }
        if let Some(back) = &step.targets.loop_to
            && let Some(target) = self.existing(back, "`loop_to`", &[], problems)
        {
            let wrong = |message: String| Diagnostic::invalid(back.span, message);
            if target > place {
                let message = format!("`loop_to: {}` leads forward", back.value);
                let (expected, help) = if step.targets.asks {
                    ("an earlier step", "`next`, and `on_deny` in `ask`, lead forward")
                } else {
                    ("this or an earlier step", "`next` and `branches` lead forward")
                };
                problems.add(wrong(message).expecting(expected).help(help));
            } else if target == place && step.targets.asks {
                let message = format!("`loop_to: {}` leads to the question itself", back.value);
                let help = "name the step whose work is to be done again";
                problems.add(wrong(message).expecting("an earlier step").help(help));
            }
        }
        self.check_branches(&step.targets.branches, problems);
    }

    fn check_branches(&self, branches: &[Spanned<String>], problems: &mut Problems) {
        let mut seen = BTreeMap::new();
        for branch in branches {
            if let Some(first) = seen.insert(branch.value.as_str(), branch.span) {
                problems.add(
                    Diagnostic::invalid(branch.span, format!("`{}` is named twice", branch.value))
                        .label(first, "the other time is here"),
                );
            } else {
                self.existing(branch, "`branches`", &[], problems);
            }
        }
    }

    fn check_question(&self, place: usize, step: &DraftStep, problems: &mut Problems) {
        let before = problems.count();
        for diversion in &step.targets.diversions {
            let before = problems.count();
            self.check_diversion(place, diversion, problems);
            if self.parallel && problems.count() == before {
                self.check_way_back(place, diversion, problems);
            }
        }
        let leads_back =
            |target: &Spanned<String>| self.place(&target.value).is_some_and(|to| self.leads_back(place, to));
        let mut diversions = step.targets.diversions.iter().filter_map(Diversion::step);
        let idle = step.targets.loop_to.is_none() && !diversions.any(leads_back) && !step.targets.unclear;
        if let Some(bound) = step.targets.bound.filter(|_| idle && problems.count() == before) {
            let message = "`max_iterations` does nothing: no answer leads back";
            let help =
                "`routing.loop_to` leads back, and so does an earlier step in `on_deny` or `on_expire`";
            problems.add(Diagnostic::invalid(bound, message).help(help));
        }
    }

    fn check_diversion(&self, place: usize, diversion: &Diversion, problems: &mut Problems) {
        let Diversion { key, what, words, target } = diversion;
        let word = target.value.as_str();
        let wrong = |message: String| Diagnostic::invalid(target.span, message);
        if let Some(named) = self.place(word).filter(|_| WORDS.contains(&word)) {
            let message = format!("`{key}: {word}` is a word of the language, and the name of a step");
            let place = self.steps.get(named).map_or(target.span, |step| step.place);
            let help = format!("rename the step: {what} cannot lead to one called `{word}`");
            problems.add(wrong(message).label(place, "the step is here").help(help));
        } else if diversion.step().is_some()
            && self.existing(target, &format!("`{key}`"), words, problems) == Some(place)
        {
            let message = format!("`{key}: {word}` leads to the question itself");
            problems.add(wrong(message).help(format!("name another step, or write {}", listed(words))));
        }
    }

    fn find_side_ways(&self) -> BTreeMap<usize, SideWay> {
        let mut side_ways = BTreeMap::new();
        for (from, step) in self.steps.iter().enumerate() {
            let diversions = step.targets.diversions.iter();
            for (what, target) in diversions.filter_map(|way| Some((way.what, way.step()?))) {
                if let Some(to) = self.place(&target.value).filter(|to| *to > from) {
                    side_ways.entry(to).or_insert(SideWay { from, what, span: target.span });
                }
            }
        }
        side_ways
    }

    /// Checks that no step falls through to a step that is the target of a denial or an expiry. This includes the
    /// step before it in the list.
    fn check_side_ways(&self, problems: &mut Problems) {
        for (to, way) in &self.side_ways {
            let Some(at) = to.checked_sub(1) else { continue };
            let (Some(before), Some(step)) = (self.steps.get(at), self.steps.get(*to)) else { continue };
            // An unreadable part of that step may be its `next`. A step that is itself such a target ends the run, so
            // it does not fall through.
            let undecided = before.targets.next.is_none() && before.step.is_some();
            if undecided && !self.side_ways.contains_key(&at) {
                problems.add(self.two_ways(before, step, way));
            }
        }
    }

    fn two_ways(&self, before: &DraftStep, step: &DraftStep, way: &SideWay) -> Diagnostic {
        let from = before.name();
        let to = step.name();
        let what = way.what;
        let asks = self.steps.get(way.from).map_or("", DraftStep::name);
        let message = if asks == from {
            format!("`{to}` follows `{from}`, so that a yes leads there as {what} does")
        } else {
            format!("`{to}` follows `{from}`, and is also where {what} of `{asks}` leads")
        };
        Diagnostic::invalid(before.place, message).label(way.span, format!("{what} leads to `{to}`")).help(
            format!("say which at `{from}`: `routing: {{ next: end }}`, or `next: {to}` if that is meant"),
        )
    }

    fn existing(
        &self,
        target: &Spanned<String>,
        key: &str,
        words: &[&'static str],
        problems: &mut Problems,
    ) -> Option<usize> {
        if let Some(place) = self.place(&target.value) {
            return Some(place);
        }
        let message = if target.value == "end" {
            format!("{key} cannot lead to `end`, which is no step")
        } else {
            format!("there is no step `{}`", crate::syntax::yaml::shortened(&target.value))
        };
        let refusal = Diagnostic::invalid(target.span, message);
        if problems.full() {
            return refuse(problems, refusal);
        }
        let candidates = self.ids().chain(words.iter().copied());
        let help = nearest(&target.value, candidates).map(|word| format!("did you mean `{word}`?"));
        refuse(
            problems,
            refusal.maybe_help(help.or_else(|| Some(format!("the steps are {}", self.some_ids())))),
        )
    }

    fn some_ids(&self) -> String {
        const SHOWN: usize = 8;
        let mut shown: Vec<String> = self.ids().take(SHOWN).map(|id| format!("`{id}`")).collect();
        if self.steps.len() > SHOWN {
            shown.push("…".to_owned());
        }
        shown.join(", ")
    }

    /// The step that follows by default.
    fn onward(&self, place: usize, step: &DraftStep) -> Option<usize> {
        match &step.targets.next {
            Some(next) if next.value == "end" => None,
            Some(next) => self.place(&next.value),
            // This step is the target of a denial or an expiry and has no `next`, so the run ends after it.
            None if self.side_ways.contains_key(&place) => None,
            None => place.checked_add(1).filter(|after| *after < self.steps.len()),
        }
    }

    fn ways_of(&self, place: usize, step: &DraftStep) -> Vec<usize> {
        let targets = &step.targets;
        let diversions = targets.diversions.iter().filter_map(Diversion::step);
        let named = targets.branches.iter().chain(&targets.loop_to).chain(diversions);
        let named = named.filter_map(|target| self.place(&target.value));
        let again = self.rounds.filter(|rounds| rounds.last == place).map(|rounds| rounds.first);
        self.onward(place, step).into_iter().chain(named).chain(again).collect()
    }

    /// The steps that can follow `start`, at any distance. `start` itself is included only through a loop. Stops
    /// early once `sought` is found.
    fn reached_from(&self, start: usize, sought: Option<usize>) -> Vec<bool> {
        reached(&self.ways, self.ways.get(start).cloned().unwrap_or_default(), sought)
    }

    /// Reports unreachable steps. If a step is unreachable only because the previous one is, only the previous one is
    /// reported.
    fn check_reached(&self, problems: &mut Problems) {
        let reached = self.reached_from(0, None);
        let pairs = self.steps.iter().zip(self.steps.iter().skip(1)).zip(reached.iter().skip(1));
        for (place, ((before, step), _)) in pairs.enumerate().filter(|(_, (_, reached))| !**reached) {
            let unreached =
                Diagnostic::invalid(step.place, format!("step `{}` is never reached", step.name()));
            if let Some(next) = &before.targets.next {
                problems.add(
                    unreached
                        .label(next.span, format!("`{}` goes on to `{}`", before.name(), next.value))
                        .help("no `next` and no `branches` name it; add it to one of them, or remove it"),
                );
            } else if let Some(SideWay { what, span, .. }) = self.side_ways.get(&place) {
                let name = before.name();
                let help =
                    format!("say where it goes on: `routing: {{ next: {} }}` at `{name}`", step.name());
                let label = format!("{what} leads to `{name}`, and the run ends there");
                problems.add(unreached.label(*span, label).help(help));
            }
        }
    }
}

/// The positions that can be reached from `from`, including `from`. Stops early once `sought` is found.
pub(crate) fn reached(ways: &[Vec<usize>], from: Vec<usize>, sought: Option<usize>) -> Vec<bool> {
    let mut reached = vec![false; ways.len()];
    let mut open = from;
    while let Some(place) = open.pop() {
        if let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) {
            *seen = true;
            if sought == Some(place) {
                break;
            }
            open.extend(ways.get(place).into_iter().flatten());
        }
    }
    reached
}
