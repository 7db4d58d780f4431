//! The paths below `.envoi`.
//!
//! Owns the names of files and folders, and the making of the folder itself. Does not look for it: which folder is used
//! is the caller's choice.

use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use envoi_kernel::{
    files::list_name,
    ids::{AttemptId, FlowId, InterruptId, RunId, StepId, VisitId},
};
use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The folder of one store, and the paths in it. Cheap to clone; touches nothing until [`Layout::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the store in `root` (a folder usually called `.envoi`).
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the folder, its `.gitignore` and the folders that are always there. Safe to repeat.
    ///
    /// Returns after the new entries are durable.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(&self) -> io::Result<()> {
        self.create_with(&mut |folder| envoi_durable::sync_folder(folder))
    }

    fn create_with(&self, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
        // Written when all the folders are durable. If it is missing, an earlier try may have made some of them and been killed before it
        // synced their names.
        let ignore = self.root.join(".gitignore");
        let is_whole = ignore.exists();
        let mut changed = BTreeSet::new();
        let mut perhaps = BTreeSet::new();
        if !is_whole {
            perhaps = envoi_durable::perhaps_changed(&self.root);
            changed.extend(self.artifacts().parent().map(Path::to_owned));
            changed.insert(envoi_durable::parent(&self.temporary()).to_owned());
        }
        for folder in [self.root.clone(), self.runs(), self.artifacts(), self.temporary()] {
            match envoi_durable::make_folders(&folder, &mut changed) {
                // The code that needs the folder reports what is in its place, with the remedy.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        // The names in a folder are durable with one sync of it, after the last of them.
        for folder in changed.union(&perhaps).filter(|folder| **folder != self.root && folder.is_dir()) {
            match sync(folder) {
                // No earlier try has made a name there: this user may not.
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && !changed.contains(folder) => {}
                synced => synced?,
            }
        }
        if !is_whole {
            let (temporary, mut file) = Temporary::create_with(&self.root, 0o644)?;
            file.write_all(b"*\n")?;
            file.sync_all()?;
            temporary.rename(&ignore)?;
        }
        sync(&self.root)
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database; `-wal` and `-shm` are beside it.
    #[must_use]
    pub fn db(&self) -> PathBuf {
        self.root.join("envoi.db")
    }

    /// The file whose flock makes its holder the engine.
    #[must_use]
    pub fn engine_lock(&self) -> PathBuf {
        self.root.join("engine.lock")
    }

    /// There in a store that shows runs which are decided elsewhere: no engine may go on with them here.
    #[must_use]
    pub fn replica_mark(&self) -> PathBuf {
        self.root.join("replica")
    }

    /// The file with the address of the running server, for browsers; missing without one.
    #[must_use]
    pub fn server_url(&self) -> PathBuf {
        self.root.join("server.url")
    }

    /// The folder of all runs.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The folder of one run: `ENVOI_RUN_BASE`.
    #[must_use]
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.runs().join(run.as_str())
    }

    /// The folder of a flow's artifacts and hand-offs within a run.
    #[must_use]
    pub fn flow(&self, run: &RunId, flow: &FlowId) -> PathBuf {
        self.run(run).join(flow.as_str())
    }

    /// The folder of a flow's hand-offs within a run.
    #[must_use]
    pub fn handoff_dir(&self, run: &RunId, flow: &FlowId) -> PathBuf {
        self.flow(run, flow).join("handoff")
    }

    /// The immutable hand-off of one visit: `[scope.]step.visit.json`.
    #[must_use]
    pub fn handoff_visit(&self, run: &RunId, flow: &FlowId, visit: &VisitId) -> PathBuf {
        self.handoff_dir(run, flow).join(format!("{visit}.json"))
    }

    /// The newest hand-off of a step: `[scope.]step.json`.
    #[must_use]
    pub fn handoff_latest(&self, run: &RunId, flow: &FlowId, scope: &str, step: &StepId) -> PathBuf {
        let dot = if scope.is_empty() { "" } else { "." };
        self.handoff_dir(run, flow).join(format!("{scope}{dot}{step}.json"))
    }

    /// The list of the files of a step's newest visit, if they are many: `[scope.]step.files.json`.
    #[must_use]
    pub fn files_list(&self, run: &RunId, flow: &FlowId, scope: &str, step: &StepId) -> PathBuf {
        self.flow(run, flow).join(list_name(scope, step))
    }

    /// The folder of one attempt: lock, streams, the supervisor's files.
    #[must_use]
    pub fn attempt(&self, run: &RunId, attempt: &AttemptId) -> PathBuf {
        self.run(run).join("attempts").join(attempt.to_string())
    }

    /// The folder of one answer: `answer.json`, and the files that came with it in `files`.
    #[must_use]
    pub fn answer(&self, run: &RunId, interrupt: &InterruptId) -> PathBuf {
        self.run(run).join("answers").join(interrupt.as_str())
    }

    /// The copy of the workspace in which a run's commands work, if it has one.
    ///
    /// Ids of flows begin with a letter. A folder of ours beside those of the flows begins with `_`, so that no flow can
    /// have its name; `attempts` and `answers` are older than this rule, and no flow may be called that.
    #[must_use]
    pub fn workspace_copy(&self, run: &RunId) -> PathBuf {
        self.run(run).join("_workspace")
    }

    /// The record of an agent's task, kept by the attempt that has a session with the agent: `[scope.]step.visit.task.json`.
    #[must_use]
    pub fn agent_record(&self, run: &RunId, visit: &VisitId, task: u32) -> PathBuf {
        self.run(run).join("_a2a").join(format!("{visit}.{task}.json"))
    }

    /// The place of [`Layout::agent_record`] in older builds: in a folder that a flow called `a2a` has too.
    #[must_use]
    pub fn old_agent_record(&self, run: &RunId, visit: &VisitId, task: u32) -> PathBuf {
        self.run(run).join("a2a").join(format!("{visit}.{task}.json"))
    }

    /// The place of the newest version of an artifact. `path` is relative and plain; see [`crate::files`].
    #[must_use]
    pub fn artifact_place(&self, run: &RunId, flow: &FlowId, path: &str) -> PathBuf {
        self.flow(run, flow).join(path)
    }

    /// The folder of content by digest.
    #[must_use]
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts").join("sha256")
    }

    /// The folder in which files are written before they get their name; on the same file system as all of them.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.root.join("artifacts").join("tmp")
    }

    /// The folder of packs: contents of snapshots, many in a file.
    #[must_use]
    pub fn packs(&self) -> PathBuf {
        self.root.join("artifacts").join("packs")
    }

    /// Files that nothing named when they were looked for, by their digits. They are read from here until they are removed.
    #[must_use]
    pub fn old_contents(&self) -> PathBuf {
        self.root.join("artifacts").join("old").join("sha256")
    }

    /// As [`Layout::old_contents`], for packs.
    #[must_use]
    pub fn old_packs(&self) -> PathBuf {
        self.root.join("artifacts").join("old").join("packs")
    }

    /// Folders of runs that were deleted, until they are gone.
    #[must_use]
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The entries of the cache of steps, a folder a tenant.
    #[must_use]
    pub fn step_caches(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The caches of this tenant, whose name may be anything.
    #[must_use]
    pub fn step_cache(&self, tenant: &str) -> PathBuf {
        self.step_caches().join(Digest::of(tenant.as_bytes()).hex())
    }

    /// The folder of what only saves time when a snapshot is taken.
    #[must_use]
    pub fn file_caches(&self) -> PathBuf {
        self.root.join("files").join("caches")
    }

    /// The place of the content with this digest, if it is not in the database.
    #[must_use]
    pub fn blob(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let (head, tail) = hex.split_at_checked(2).unwrap_or((&hex, ""));
        self.artifacts().join(head).join(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn visit(scope: &str) -> VisitId {
        VisitId { scope: scope.to_owned(), step: StepId::new("critic").unwrap(), visit: 3 }
    }

    #[test]
    fn paths_are_those_of_the_design() {
        let layout = Layout::new("/w/.envoi");
        let run = RunId::new("run_1").unwrap();
        let flow = FlowId::new("fix").unwrap();
        let step = StepId::new("critic").unwrap();
        let digest = Digest::of(b"");
        let rows = [
            (layout.handoff_visit(&run, &flow, &visit("")), "runs/run_1/fix/handoff/critic.3.json"),
            (layout.handoff_visit(&run, &flow, &visit("sub")), "runs/run_1/fix/handoff/sub.critic.3.json"),
            (layout.handoff_latest(&run, &flow, "", &step), "runs/run_1/fix/handoff/critic.json"),
            (layout.handoff_latest(&run, &flow, "sub", &step), "runs/run_1/fix/handoff/sub.critic.json"),
            (layout.files_list(&run, &flow, "", &step), "runs/run_1/fix/critic.files.json"),
            (layout.files_list(&run, &flow, "sub.2", &step), "runs/run_1/fix/sub.2.critic.files.json"),
            (layout.attempt(&run, &visit("").attempt(2)), "runs/run_1/attempts/critic.3.2"),
            (layout.artifact_place(&run, &flow, "shop/a.py"), "runs/run_1/fix/shop/a.py"),
            (layout.workspace_copy(&run), "runs/run_1/_workspace"),
            (layout.agent_record(&run, &visit("sub"), 0), "runs/run_1/_a2a/sub.critic.3.0.json"),
            (
                layout.blob(&digest),
                "artifacts/sha256/e3/b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
        ];
        for (path, expected) in rows {
            assert_eq!(path, Path::new("/w/.envoi").join(expected));
        }
    }

    #[test]
    fn no_flow_has_the_name_of_a_folder_of_ours() {
        let layout = Layout::new("/w/.envoi");
        let run = RunId::new("run_1").unwrap();
        for folder in [layout.workspace_copy(&run), layout.agent_record(&run, &visit(""), 0)] {
            let name = folder.strip_prefix(layout.run(&run)).unwrap().iter().next().unwrap();
            assert!(FlowId::new(name.to_str().unwrap()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_created_store_is_invisible_to_git_and_creating_it_again_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path().join("a/b/.envoi"));
        layout.create().unwrap();
        fs::write(layout.root().join(".gitignore"), "*\n# mine\n").unwrap();
        layout.create().unwrap();
        assert_eq!(fs::read_to_string(layout.root().join(".gitignore")).unwrap(), "*\n# mine\n");
        assert!(layout.runs().is_dir() && layout.artifacts().is_dir() && layout.temporary().is_dir());
    }

    /// The folders that a creation syncs, in their order. It ends at the sync for which `is_killed` is true, which is not done.
    fn synced(layout: &Layout, is_killed: impl Fn(usize) -> bool) -> Vec<PathBuf> {
        let mut synced = Vec::new();
        let mut sync = |folder: &Path| {
            if is_killed(synced.len()) {
                return Err(io::Error::other("killed"));
            }
            synced.push(folder.to_owned());
            Ok(())
        };
        let created = layout.create_with(&mut sync);
        assert!(created.is_ok() || is_killed(synced.len()));
        synced
    }

    #[test]
    fn each_folder_of_a_new_store_is_synced_once_and_the_store_itself_at_last() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "").unwrap();
        let layout = Layout::new(at("a/.envoi"));
        let all = [place.path().to_owned(), at("a"), at("a/.envoi/artifacts"), at("a/.envoi")];
        assert_eq!(synced(&layout, |_| false), all);
        assert_eq!(synced(&layout, |_| false), [at("a/.envoi")], "all else is durable by then");
    }

    #[test]
    fn a_folder_above_that_this_user_may_not_open_refuses_no_store() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join(".envoi");
        fs::create_dir(&root).unwrap();
        let mut sync = |folder: &Path| match folder == place.path() {
            true => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            false => Ok(()),
        };
        Layout::new(root.clone()).create_with(&mut sync).unwrap();
        // If it has made a name itself, that name may be lost.
        fs::remove_dir_all(&root).unwrap();
        assert!(Layout::new(root).create_with(&mut sync).is_err());
    }

    #[test]
    fn what_a_try_that_was_killed_left_without_a_sync_is_synced_by_the_next_one() {
        for made in ["a", "a/.envoi", "a/.envoi/runs", "a/.envoi/artifacts/sha256", "a/.envoi/artifacts/tmp"]
        {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            fs::write(at("file"), "").unwrap();
            fs::create_dir_all(at(made)).unwrap();
            let all = [place.path().to_owned(), at("a"), at("a/.envoi/artifacts"), at("a/.envoi")];
            assert_eq!(synced(&Layout::new(at("a/.envoi")), |_| false), all, "{made}");
        }
        for syncs in 0..4 {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            fs::write(at("file"), "").unwrap();
            let layout = Layout::new(at("a/.envoi"));
            let mut all = synced(&layout, |nth| nth == syncs);
            assert_eq!(all.len(), syncs);
            all.extend(synced(&layout, |_| false));
            for folder in [place.path().to_owned(), at("a"), at("a/.envoi/artifacts"), at("a/.envoi")] {
                assert!(all.contains(&folder), "{syncs}: {} in {all:?}", folder.display());
            }
        }
    }
}
