//! The runs that the loop holds, found by their id and by their workspace.
//!
//! Each run that begins or continues searches for others in its workspace. Searching all held runs would cost
//! the square of their number for ten thousand runs. [`crate::model::claim`] decides which runs conflict.

use super::active_run::Active;
use envoi_kernel::ids::RunId;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    path::{Path, PathBuf},
};

/// The held runs. The workspace of a held run does not change.
#[derive(Default)]
pub(crate) struct HeldRuns {
    by_id: BTreeMap<RunId, Active>,
    by_workspace: ByWorkspace,
}

impl HeldRuns {
    pub(crate) fn get(&self, id: &RunId) -> Option<&Active> {
        self.by_id.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &RunId) -> Option<&mut Active> {
        self.by_id.get_mut(id)
    }

    pub(crate) fn contains_key(&self, id: &RunId) -> bool {
        self.by_id.contains_key(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RunId, &Active)> {
        self.by_id.iter()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The held run with this id; otherwise inserts a new one.
    pub(crate) fn get_or_insert(&mut self, id: &RunId, new: impl FnOnce() -> Active) -> &mut Active {
        let by_workspace = &mut self.by_workspace;
        self.by_id.entry(id.clone()).or_insert_with(|| {
            let active = new();
            by_workspace.add(&active.claim.workspace, id);
            active
        })
    }

    pub(crate) fn remove(&mut self, id: &RunId) -> Option<Active> {
        let removed = self.by_id.remove(id)?;
        self.by_workspace.remove(&removed.claim.workspace, id);
        Some(removed)
    }

    /// Runs whose workspace is this one, lies in it, or contains it.
    pub(crate) fn near<'a>(&'a self, workspace: &'a str) -> impl Iterator<Item = &'a Active> {
        self.by_workspace.near(Path::new(workspace)).filter_map(|id| self.by_id.get(id))
    }
}

/// Paths are compared by components, so the contents of a folder come directly after it.
#[derive(Default)]
struct ByWorkspace(BTreeMap<PathBuf, BTreeSet<RunId>>);

impl ByWorkspace {
    fn add(&mut self, workspace: &str, id: &RunId) {
        self.0.entry(PathBuf::from(workspace)).or_default().insert(id.clone());
    }

    fn remove(&mut self, workspace: &str, id: &RunId) {
        let workspace = Path::new(workspace);
        if let Some(runs) = self.0.get_mut(workspace) {
            runs.remove(id);
            if runs.is_empty() {
                self.0.remove(workspace);
            }
        }
    }

    fn near<'a>(&'a self, workspace: &'a Path) -> impl Iterator<Item = &'a RunId> {
        let above = workspace.ancestors().skip(1).filter_map(move |above| self.0.get(above));
        let from: (Bound<&Path>, Bound<&Path>) = (Bound::Included(workspace), Bound::Unbounded);
        let within = self.0.range::<Path, _>(from).take_while(move |(path, _)| path.starts_with(workspace));
        above.chain(within.map(|(_, runs)| runs)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACES: [&str; 12] =
        ["/", "/w", "/w/", "/w/a", "/w/a/b", "/w/a-b", "/w/b", "/w2", "/w.x", "/v", "/v/w", "/W"];

    #[test]
    fn those_near_a_workspace_are_found_and_no_others() {
        let mut all = ByWorkspace::default();
        let id = |at: usize| RunId::new(format!("run_{at:02}")).unwrap();
        for (at, workspace) in WORKSPACES.iter().enumerate() {
            all.add(workspace, &id(at));
        }
        for workspace in WORKSPACES.map(Path::new) {
            let is_near =
                |other: &&str| workspace.starts_with(other) || Path::new(other).starts_with(workspace);
            let places = WORKSPACES.iter().enumerate().filter(|(_, other)| is_near(other));
            let expected: BTreeSet<RunId> = places.map(|(at, _)| id(at)).collect();
            let found: Vec<&RunId> = all.near(workspace).collect();
            assert_eq!(found.len(), expected.len(), "{workspace:?}: each once");
            assert!(found.into_iter().all(|run| expected.contains(run)), "{workspace:?}");
        }
        for (at, workspace) in WORKSPACES.iter().enumerate() {
            all.remove(workspace, &id(at));
            assert!(!all.near(Path::new(workspace)).any(|found| *found == id(at)), "{workspace}");
        }
        assert!(all.0.is_empty());
    }
}
