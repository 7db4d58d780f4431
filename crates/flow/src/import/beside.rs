//! Converts a flow with forks into a graph: the branches of a fork run in parallel, and the step after them needs all
//! of them.
//!
//! Owns the `needs` of each step. It starts from the steps in a row, in which every step leads to one other step. A
//! flow that also has branches has no such row and is not converted. The reader decides whether the graph can run.

use super::{Made, MadeStep};
use std::collections::BTreeMap;

/// A fork, by the ids of its converted steps.
#[derive(Debug, Clone)]
pub(super) struct Fork {
    /// The last step of the fork itself.
    pub(super) from: String,
    /// The first and the last step of each branch, in the order of the source.
    pub(super) branches: Vec<(String, String)>,
}

/// The same steps as a graph; `None` if only a row is possible.
pub(super) fn graph(made: &Made, forks: &[Fork]) -> Option<Made> {
    let branches =
        |step: &MadeStep| step.routing.as_ref().is_some_and(|routing| !routing.branches.is_empty());
    // A branch that forks again would need information that the row does not have.
    let begins = |id: &String| forks.iter().any(|fork| fork.branches.iter().any(|(first, _)| first == id));
    let nested = forks.iter().any(|fork| {
        fork.branches.iter().any(|(_, last)| forks.iter().any(|other| other.from == *last))
            || begins(&fork.from)
    });
    if made.steps.iter().any(branches) || nested {
        return None;
    }
    let needs = needs(&made.steps, forks)?;
    let steps = made.steps.iter().map(|step| MadeStep {
        needs: needs.get(step.id.as_str()).cloned().unwrap_or_default(),
        ..step.clone()
    });
    Some(Made { graph: true, steps: steps.collect(), ..made.clone() })
}

/// By the id of a step, the ids of the steps that it waits for, in the order of the list.
fn needs<'m>(steps: &'m [MadeStep], forks: &'m [Fork]) -> Option<BTreeMap<&'m str, Vec<String>>> {
    let mut leads: Vec<(&str, &str)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let listed = steps.get(at.saturating_add(1)).map(|next| next.id.as_str());
        // A step without a routing continues with the next one in the list, as the agents of one step do.
        let next = step.routing.as_ref().map_or(listed, |routing| Some(routing.next.as_str()));
        leads.extend(next.filter(|next| *next != "end").map(|next| (step.id.as_str(), next)));
    }
    for fork in forks {
        let (_, end) = fork.branches.last()?;
        let join = leads.iter().find(|(from, _)| *from == end.as_str()).map(|(_, to)| *to);
        let is_of_the_row =
            |from: &str| from == fork.from || fork.branches.iter().any(|(_, last)| last == from);
        leads.retain(|(from, _)| !is_of_the_row(from));
        for (first, last) in &fork.branches {
            leads.push((&fork.from, first));
            leads.extend(join.map(|join| (last.as_str(), join)));
        }
    }
    let mut needs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for step in steps {
        for (_, to) in leads.iter().filter(|(from, _)| *from == step.id) {
            needs.entry(to).or_default().push(step.id.clone());
        }
    }
    Some(needs)
}
