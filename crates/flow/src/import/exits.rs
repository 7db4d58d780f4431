//! Where one step of the source leads.

/// Where one step leads. Places are those of the source's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exits {
    /// `None`: the flow ends.
    pub(super) next: Option<usize>,
    /// For a loop, where it goes back to.
    pub(super) back: Option<usize>,
    /// For a branch, where each value leads, in the order of the file.
    pub(super) branches: Vec<usize>,
}

impl Exits {
    pub(super) fn targets(&self) -> impl Iterator<Item = usize> {
        self.next.into_iter().chain(self.back).chain(self.branches.iter().copied())
    }
}
