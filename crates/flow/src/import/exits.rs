//! The exits of one step of the source.

/// The steps to which one step leads, as positions in the source's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exits {
    /// The next step; `None` if the flow ends.
    pub(super) next: Option<usize>,
    /// The step to which a loop goes back.
    pub(super) back: Option<usize>,
    /// The step for each value of a branch, in the order of the file.
    pub(super) branches: Vec<usize>,
}

impl Exits {
    pub(super) fn targets(&self) -> impl Iterator<Item = usize> {
        self.next.into_iter().chain(self.back).chain(self.branches.iter().copied())
    }
}
