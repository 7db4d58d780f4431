//! The present paths of a run whose store lay elsewhere when the run began.
//!
//! Events hold absolute paths and never change. Files in the store, or in the project's folder (the one that holds the
//! store's), have moved along with it; files outside stay. Owns that translation. Changes nothing.

use crate::{folder::layout::Layout, tables::identity::Identity};
use envoi_kernel::ids::RunId;
use std::path::{Path, PathBuf};

/// The paths of a run in an event, translated to the present ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPaths {
    /// The folder in which commands run.
    pub workspace: String,
    /// The run's own folder.
    pub run_base: String,
    /// The flow file.
    pub source: String,
    /// The folder that gets the result, if the run has a tree of its own.
    pub origin: Option<String>,
    /// The workspace, or the folder that gets the result, is one of the store that this one is a copy of, and no one has agreed that both work in it.
    pub is_originals: bool,
}

/// Translates the places of runs of one store.
#[derive(Debug, Clone)]
pub(crate) struct Translator {
    layout: Layout,
    adopted_run: i64,
    shares_workspaces: bool,
    /// The files are elsewhere, at the paths of the events: nothing is translated.
    is_mirror: bool,
}

impl Translator {
    pub(crate) fn new(layout: Layout, identity: &Identity) -> Self {
        let Identity { adopted_run, shares_workspaces, .. } = *identity;
        Self { layout, adopted_run, shares_workspaces, is_mirror: false }
    }

    /// For a store that mirrors that of another machine: its runs are at the paths of their events.
    pub(crate) fn of_mirror(self) -> Self {
        Self { is_mirror: true, ..self }
    }

    /// Whether a run may be one of the store that this one is a copy of.
    pub(crate) fn may_be_of_original(&self) -> bool {
        self.adopted_run > 0
    }

    /// `places` as they were recorded for the run with this key.
    pub(crate) fn translate(&self, run: &RunId, key: i64, places: RunPaths) -> RunPaths {
        if self.is_mirror {
            return places;
        }
        let now = self.layout.run(run);
        let then = PathBuf::from(&places.run_base);
        let store = then.parent().and_then(Path::parent);
        let Some(store) =
            store.filter(|_| then.is_absolute() && then != now && then.file_name() == now.file_name())
        else {
            return places;
        };
        let of_original = key <= self.adopted_run;
        let workspace = self.find(store, Path::new(&places.workspace), of_original);
        let source = self.find(store, Path::new(&places.source), of_original);
        let found = places.origin.as_deref().map(|origin| self.find(store, Path::new(origin), of_original));
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        RunPaths {
            is_originals: workspace.is_none() || matches!(found, Some(None)),
            origin: found.flatten().map(text).or(places.origin),
            workspace: workspace.map_or(places.workspace, text),
            run_base: text(now),
            source: source.map_or(places.source, text),
        }
    }

    /// The present path of a file or folder of a run that began in `store`; `None` if there is only that of the original.
    fn find(&self, store: &Path, recorded: &Path, of_original: bool) -> Option<PathBuf> {
        let inside = |from: Option<&Path>, to: Option<&Path>| {
            let rest = recorded.strip_prefix(from?).ok()?;
            // Joining nothing would add a slash.
            Some(if rest.as_os_str().is_empty() { to?.to_owned() } else { to?.join(rest) })
        };
        let root = self.layout.root();
        let moved = inside(Some(store), Some(root)).or_else(|| inside(store.parent(), root.parent()));
        if let Some(moved) = moved.as_ref().filter(|moved| moved.exists()) {
            return Some(moved.clone());
        }
        if of_original && !self.shares_workspaces {
            return None;
        }
        // A store that lay beside its workspaces and was moved by itself.
        if recorded.exists() {
            return Some(recorded.to_owned());
        }
        Some(moved.unwrap_or_else(|| recorded.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        folder: tempfile::TempDir,
    }

    impl Scene {
        fn new(folders: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            folders.iter().for_each(|name| std::fs::create_dir_all(folder.path().join(name)).unwrap());
            Self { folder }
        }

        fn path(&self, name: &str) -> String {
            self.folder.path().join(name).to_str().unwrap().to_owned()
        }

        /// The workspace in the store `home` of a run of `a/.envoi` with this workspace.
        fn workspace(&self, home: &str, workspace: &str, (adopted, shares): (i64, bool)) -> (String, bool) {
            let run = RunId::new("run_1").unwrap();
            let translator = Translator {
                layout: Layout::new(self.path(home)),
                adopted_run: adopted,
                shares_workspaces: shares,
                is_mirror: false,
            };
            let places = RunPaths {
                workspace: self.path(workspace),
                run_base: self.path("a/.envoi/runs/run_1"),
                source: "flow.yaml".to_owned(),
                origin: None,
                is_originals: false,
            };
            let found = translator.translate(&run, 7, places);
            assert_eq!(found.run_base, self.path(&format!("{home}/runs/run_1")));
            let workspace = found.workspace.strip_prefix(&self.path("")).unwrap().to_owned();
            (workspace, found.is_originals)
        }
    }

    #[test]
    fn what_lay_in_the_project_moves_with_it_and_what_lay_outside_stays() {
        let scene = Scene::new(&["a/sub", "b/sub", "b/.envoi/runs/run_1/_workspace", "out"]);
        let found = |workspace| scene.workspace("b/.envoi", workspace, (0, false));
        assert_eq!(found("a"), ("b".to_owned(), false));
        assert_eq!(found("a/sub"), ("b/sub".to_owned(), false));
        let copy = "a/.envoi/runs/run_1/_workspace";
        assert_eq!(found(copy), ("b/.envoi/runs/run_1/_workspace".to_owned(), false));
        assert_eq!(found("out"), ("out".to_owned(), false));
        assert_eq!(found("gone"), ("gone".to_owned(), false));
        let same = scene.workspace("a/.envoi", "a/sub", (7, false));
        assert_eq!(same, ("a/sub".to_owned(), false), "a store that lies where it lay translates nothing");
    }

    #[test]
    fn a_store_that_was_moved_away_from_its_project_still_finds_it() {
        let scene = Scene::new(&["a/project", "elsewhere/store"]);
        let found = scene.workspace("elsewhere/store", "a/project", (0, false));
        assert_eq!(found, ("a/project".to_owned(), false));
    }

    #[test]
    fn a_copy_never_works_in_a_folder_of_the_original_unless_that_was_agreed() {
        let scene = Scene::new(&["a/sub", "b", "out"]);
        for workspace in ["a/sub", "out"] {
            assert_eq!(scene.workspace("b/.envoi", workspace, (7, false)), (workspace.to_owned(), true));
            assert_eq!(scene.workspace("b/.envoi", workspace, (7, true)), (workspace.to_owned(), false));
        }
        assert_eq!(scene.workspace("b/.envoi", "a", (7, false)), ("b".to_owned(), false));
        // A run that the adopted store has begun itself.
        assert_eq!(scene.workspace("b/.envoi", "out", (6, false)), ("out".to_owned(), false));
    }

    /// A run of the project `a` with a tree of its own elsewhere, seen from the store in `home`.
    fn origin(scene: &Scene, home: &str, shares: bool) -> (String, bool) {
        let translator = Translator {
            layout: Layout::new(scene.path(home)),
            adopted_run: 9,
            shares_workspaces: shares,
            is_mirror: false,
        };
        let places = RunPaths {
            workspace: scene.path("trees/run_1"),
            run_base: scene.path("a/.envoi/runs/run_1"),
            source: "flow.yaml".to_owned(),
            origin: Some(scene.path("a")),
            is_originals: false,
        };
        let found = translator.translate(&RunId::new("run_1").unwrap(), 7, places);
        (found.origin.unwrap().strip_prefix(&scene.path("")).unwrap().to_owned(), found.is_originals)
    }

    #[test]
    fn what_a_tree_was_made_from_moves_with_the_project_and_is_never_the_original_unasked() {
        let scene = Scene::new(&["trees/run_1", "a/.envoi", "b/.envoi", "c"]);
        assert_eq!(origin(&scene, "b/.envoi", true), ("b".to_owned(), false));
        assert!(origin(&scene, "b/.envoi", false).1, "the tree is the original's");
        assert_eq!(origin(&scene, "a/.envoi", true), ("a".to_owned(), false));
    }
}
