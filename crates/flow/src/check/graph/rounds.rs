//! Checks the control flow through the steps that a flow repeats for its goals.
//!
//! A round must end at its last step and nowhere else, because only there the run checks whether goals are open.
//! [`crate::parse::goals`] reads `goals`, and checks that its steps exist.

use super::{Graph, SideWay, reached};
use crate::parse::draft::Rounds;
use crate::{
    parse::draft::DraftStep,
    syntax::diagnostic::{Diagnostic, Problems},
};

impl Graph<'_> {
    /// Checks that no edge leads out of a round past the step at which the run checks for open goals.
    pub(super) fn check_rounds(&self, problems: &mut Problems) {
        let Some(rounds) = self.rounds.filter(|rounds| rounds.first <= rounds.last) else { return };
        let ordinary = self.reached_without_a_denial();
        let is_ordinary = |place: usize| ordinary.get(place).copied().unwrap_or(true);
        let comes_to_last = self.reached_from(0, Some(rounds.last)).get(rounds.last).copied();
        if comes_to_last == Some(true) && !is_ordinary(rounds.last) {
            problems.add(self.ends_at_a_denial(rounds));
            return;
        }
        for (place, step) in self.within(rounds) {
            self.check_ways_out(rounds, place, step, problems);
            let unsaid = place != rounds.last && step.targets.next.is_none() && is_ordinary(place);
            if let Some(way) = self.side_ways.get(&place).filter(|_| unsaid) {
                problems.add(ends_the_run(rounds, step, way));
            }
        }
    }

    /// The steps that can be reached without a denial or an expiry.
    fn reached_without_a_denial(&self) -> Vec<bool> {
        let ways_of = |(place, step): (usize, &DraftStep)| {
            let named = step.targets.branches.iter().chain(&step.targets.loop_to);
            let named = named.filter_map(|target| self.place(&target.value));
            self.onward(place, step).into_iter().chain(named).collect()
        };
        let ways: Vec<Vec<usize>> = self.steps.iter().enumerate().map(ways_of).collect();
        reached(&ways, vec![0], None)
    }

    /// The steps of a round, and the earlier steps to which it can go back.
    fn within(&self, rounds: Rounds) -> impl Iterator<Item = (usize, &DraftStep)> {
        let up_to_last = rounds.last.saturating_add(1);
        let ways = self.ways.get(..up_to_last).unwrap_or_default();
        let mut within = reached(ways, (rounds.first..up_to_last).collect(), None);
        within.resize(up_to_last, false);
        self.steps.iter().enumerate().zip(within).filter(|(_, within)| *within).map(|(step, _)| step)
    }

    fn check_ways_out(&self, rounds: Rounds, place: usize, step: &DraftStep, problems: &mut Problems) {
        let targets = &step.targets;
        // The `next` of the last step is used when no goal is open.
        let next = targets.next.iter().filter(|_| place != rounds.last).map(|target| ("next", target));
        let branches = targets.branches.iter().map(|target| ("branches", target));
        let diversions = targets.diversions.iter().filter_map(|way| Some((way.key, way.step()?)));
        let last = self.steps.get(rounds.last).map_or("", DraftStep::name);
        for (key, target) in next.chain(branches).chain(diversions) {
            let out = if key == "next" && target.value == "end" {
                "ends the run"
            } else if self.place(&target.value).is_some_and(|to| to > rounds.last) {
                "leads out of a round"
            } else {
                continue;
            };
            let message = format!("`{key}: {}` {out}, whatever goals are open", target.value);
            let help = format!(
                "only `{last}`, its last step, ends a round: lead to a step up to that one, or let `to` in `goals` name a \
                 later step"
            );
            let way_out = Diagnostic::invalid(target.span, message);
            problems.add(way_out.label(rounds.to, "a round ends here").help(help));
        }
    }

    fn ends_at_a_denial(&self, rounds: Rounds) -> Diagnostic {
        let last = self.steps.get(rounds.last).map_or("", DraftStep::name);
        let message =
            format!("only a denial or an expiry leads to `{last}`, so that an ordinary round never ends");
        let help = "let `to` name the last step that a round reaches without a denial";
        let wrong = Diagnostic::invalid(rounds.to, message).help(help);
        match self.side_ways.get(&rounds.last) {
            Some(SideWay { what, span, .. }) => wrong.label(*span, format!("{what} leads there")),
            None => wrong,
        }
    }
}

/// Reports a step at which the run ends with open goals. A target of a denial ends the run as denied only after a
/// denial; if it is reached in another way, the run would succeed.
fn ends_the_run(rounds: Rounds, step: &DraftStep, way: &SideWay) -> Diagnostic {
    let name = step.name();
    let message = format!("the run ends at `{name}`, whatever goals are open");
    let SideWay { what, span, .. } = way;
    Diagnostic::invalid(step.place, message)
        .label(*span, format!("{what} leads there, and so does something else"))
        .label(rounds.to, "a round ends here")
        .help(format!("say where it goes on: `routing: {{ next: … }}` at `{name}`"))
}
