//! Sets of indices as bit sets: a large flow has a set of steps for each of its loops.

/// A set of indices into a list, such as the steps of a flow in listed order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    words: Vec<u64>,
}

impl Places {
    /// Adds an index. No effect if the set contains it already.
    pub fn add(&mut self, place: usize) {
        let at = place / 64;
        if self.words.len() <= at {
            self.words.resize(at.saturating_add(1), 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            *word |= 1 << (place % 64);
        }
    }

    /// Whether the set contains an index.
    #[must_use]
    pub fn has(&self, place: usize) -> bool {
        self.words.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    /// The indices in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let first = at.saturating_mul(64);
            let bits = core::iter::successors(Some(*word), |word| Some(word & word.saturating_sub(1)));
            let bits = bits.take_while(|word| *word != 0).map(u64::trailing_zeros);
            bits.filter_map(move |bit| first.checked_add(usize::try_from(bit).ok()?))
        })
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        let ones = self.words.iter().map(|word| usize::try_from(word.count_ones()).unwrap_or(0));
        ones.fold(0, usize::saturating_add)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut set = Self::default();
        places.into_iter().for_each(|place| set.add(place));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_once_and_in_order() {
        let set: Places = [130, 0, 63, 64, 0, 7].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 7, 63, 64, 130]);
        assert_eq!(set.len(), 5);
        assert!(set.has(63) && set.has(130) && !set.has(1) && !set.has(1_000));
        assert_eq!(Places::default().iter().next(), None);
    }
}
