//! The order of the steps of a graph.
//!
//! Owns the order that follows from `needs`, or the cycles that prevent one. It identifies steps only by their
//! positions.

/// For each step, the steps that have to end before it.
#[derive(Debug)]
pub(in crate::check) struct Order {
    before: Vec<Places>,
}

/// A set of positions, one bit each. A flow may have thousands of steps, each of which waits for all earlier ones.
#[derive(Debug, Clone)]
struct Places {
    words: Vec<u64>,
}

impl Places {
    fn none(of: usize) -> Self {
        Self { words: vec![0; of.div_ceil(64)] }
    }

    fn add(&mut self, place: usize) {
        if let Some(word) = self.words.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn add_all(&mut self, others: &Self) {
        for (word, other) in self.words.iter_mut().zip(&others.words) {
            *word |= other;
        }
    }

    fn has(&self, place: usize) -> bool {
        self.words.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }
}

impl Order {
    /// The order of steps. Each step waits for the steps that `needs` has at its position.
    ///
    /// # Errors
    /// Cycles: each step of a cycle waits for the next one, and the last for the first. A single cycle is
    /// returned per group of connected cycles, not all of them.
    pub(in crate::check) fn of(needs: &[Vec<usize>]) -> Result<Self, Vec<Vec<usize>>> {
        let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
        let mut dependents = vec![Vec::new(); needs.len()];
        for (place, needed) in needs.iter().enumerate() {
            for earlier in needed {
                if let Some(list) = dependents.get_mut(*earlier) {
                    list.push(place);
                }
            }
        }
        let mut before = vec![Places::none(needs.len()); needs.len()];
        let mut ready: Vec<usize> =
            waiting.iter().enumerate().filter(|(_, left)| **left == 0).map(|(place, _)| place).collect();
        let mut done = 0_usize;
        while let Some(place) = ready.pop() {
            done = done.saturating_add(1);
            let Some(mut own) = before.get(place).cloned() else { continue };
            own.add(place);
            for dependent in dependents.get(place).into_iter().flatten() {
                if let Some(places) = before.get_mut(*dependent) {
                    places.add_all(&own);
                }
                if let Some(left) = waiting.get_mut(*dependent) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        ready.push(*dependent);
                    }
                }
            }
        }
        if done == needs.len() { Ok(Self { before }) } else { Err(circles(needs, &waiting)) }
    }

    /// True if `later` waits for `earlier`, directly or indirectly.
    pub(in crate::check) fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.before.get(later).is_some_and(|places| places.has(earlier))
    }
}

/// Follows the steps that still wait. Each of them waits for another such step, so every walk ends in a cycle.
fn circles(needs: &[Vec<usize>], waiting: &[usize]) -> Vec<Vec<usize>> {
    let stuck = |place: usize| waiting.get(place).is_some_and(|left| *left > 0);
    let mut seen = vec![false; needs.len()];
    let mut found = Vec::new();
    for start in (0..needs.len()).filter(|place| stuck(*place)) {
        let mut walk: Vec<usize> = Vec::new();
        let mut at = start;
        while let Some(flag) = seen.get_mut(at).filter(|seen| !**seen) {
            *flag = true;
            walk.push(at);
            match needs.get(at).into_iter().flatten().find(|place| stuck(**place)) {
                Some(next) => at = *next,
                None => break,
            }
        }
        if let Some(from) = walk.iter().position(|place| *place == at) {
            let mut circle = walk.split_off(from);
            let least = circle.iter().enumerate().min_by_key(|(_, place)| **place).map_or(0, |(at, _)| at);
            circle.rotate_left(least);
            found.push(circle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_comes_after_what_it_waits_for_at_any_distance() {
        let order = Order::of(&[vec![], vec![0], vec![0], vec![1, 2], vec![]]).unwrap();
        let pairs: Vec<(usize, usize)> = (0..5)
            .flat_map(|a| (0..5).map(move |b| (a, b)))
            .filter(|(a, b)| order.is_before(*a, *b))
            .collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn places_beyond_one_word_count() {
        let chain: Vec<Vec<usize>> =
            (0..200_usize).map(|place| place.checked_sub(1).into_iter().collect()).collect();
        let order = Order::of(&chain).unwrap();
        assert!(order.is_before(0, 199) && order.is_before(127, 128) && !order.is_before(199, 0));
        assert!(!order.is_before(64, 64));
    }

    #[test]
    fn each_knot_is_reported_by_one_circle() {
        // 0 <-> 1; 2 -> 3 -> 4 -> 2; 5 waits for a cycle and is in none.
        let circles = Order::of(&[vec![1], vec![0], vec![3], vec![4], vec![2], vec![2]]).unwrap_err();
        assert_eq!(circles, [vec![0, 1], vec![2, 3, 4]]);
        let first_is_no_part = Order::of(&[vec![1], vec![2], vec![1]]).unwrap_err();
        assert_eq!(first_is_no_part, [vec![1, 2]]);
    }
}
