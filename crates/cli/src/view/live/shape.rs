//! What comes before what in a flow, by places in the listed order. The rule is the kernel's; this is for people.

use envoi_kernel::Flow;
use std::collections::BTreeSet;

/// The step at `of` and all that comes before it.
pub(super) fn ancestors(flow: &Flow, of: usize) -> BTreeSet<usize> {
    if !flow.graph {
        return (0..=of).collect();
    }
    closure(of, |at| {
        let needs = flow.steps.get(at).map(|step| step.needs.as_slice()).unwrap_or_default();
        needs.iter().filter_map(|need| flow.position(need)).collect()
    })
}

/// What is done again when the step at `from` goes back to the one at `to`: in a graph, all that hangs on it.
pub(super) fn repeated(flow: &Flow, from: usize, to: usize) -> BTreeSet<usize> {
    if !flow.graph {
        return (to..=from).collect();
    }
    closure(to, |at| {
        let Some(step) = flow.steps.get(at) else { return Vec::new() };
        let hangs_on = |(place, other): (usize, &envoi_kernel::flow::Step)| {
            other.needs.contains(&step.id).then_some(place)
        };
        flow.steps.iter().enumerate().filter_map(hangs_on).collect()
    })
}

fn closure(start: usize, next: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = vec![start];
    while let Some(at) = left.pop() {
        if found.insert(at) {
            left.extend(next(at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_graph_needs_say_what_comes_before_and_what_is_repeated() {
        let flow = |needs: [&str; 4]| {
            let step = |(name, needs): (&str, &str)| format!("  - {{ id: {name}, run: x{needs} }}\n");
            let steps: String = ["a", "b", "c", "d"].into_iter().zip(needs).map(step).collect();
            envoi_flow::load("f.yaml", &format!("flow: f\nsteps:\n{steps}")).unwrap().flow
        };
        let graph = flow(["", ", needs: [a]", ", needs: [a]", ", needs: [b]"]);
        let listed = flow(["", "", "", ""]);
        let places = |set: BTreeSet<usize>| set.into_iter().collect::<Vec<_>>();
        assert_eq!(places(ancestors(&graph, 3)), [0, 1, 3]);
        assert_eq!(places(ancestors(&listed, 2)), [0, 1, 2]);
        assert_eq!(places(repeated(&graph, 3, 1)), [1, 3]);
        assert_eq!(places(repeated(&graph, 3, 0)), [0, 1, 2, 3]);
        assert_eq!(places(repeated(&listed, 3, 1)), [1, 2, 3]);
    }
}
