//! The files that people and steps read: hand-offs and the newest version of each artifact.
//!
//! Owns where they lie and that they equal the events. They are projections: nothing is fsynced, and what is missing or
//! differs is written again. Nothing is ever read from them to decide anything. No link below the store's folder is followed. An artifact that has no place, because of
//! its name or because another one is in the way, is passed over: its run must go on, and its content stays by digest.

mod answer;
mod attempts;

use crate::{
    folder::{
        beneath::{self, PathBeneath},
        blobs,
        layout::Layout,
        plain,
    },
    log::reader::{self, Reader},
    model::{
        error::FileError,
        manifest,
        rows::{ArtifactRow, HandoffRow, InboxFilter, InboxRow, InterruptState},
    },
};
use envoi_contract::{digest::Digest, handoff::Handoff, json::Value};
use envoi_kernel::{
    event::{AttemptSettled, Event, HandoffWritten, Record},
    files::{MANIFEST, is_manifest},
    ids::{FlowId, InterruptId, RunId, VisitId},
};
use std::{
    collections::BTreeMap,
    fs::{File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Writes the files that a committed record stands for; nothing for most records. Safe to repeat, in the order of the run.
///
/// # Errors
/// [`FileError`]; the record stays committed, and [`restore_run`] makes up for it.
pub fn project(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    flow: &FlowId,
    record: &Record,
) -> Result<(), FileError> {
    let files = Files { layout, reader, run };
    match &record.event {
        Event::HandoffWritten(written) => {
            let own = FlowId::new(written.handoff.flow_key.as_str());
            files.write_handoff(own.as_ref().unwrap_or(flow), written)
        }
        Event::AttemptSettled(settled) if !settled.late => {
            files.place_all(settled.flow.as_ref().unwrap_or(flow), settled)
        }
        Event::RunForked(_) => attempts::restore(&files, &mut Vec::new()),
        Event::InterruptAnswered(answered) => {
            let asked = reader.question(run, &answered.interrupt)?;
            answer::restore(&files, &asked, (record.at, answered), &mut Vec::new())
        }
        _ => Ok(()),
    }
}

/// Whether the files of a record are many: to be projected where nobody else waits.
#[must_use]
pub fn are_many(record: &Record) -> bool {
    match &record.event {
        Event::AttemptSettled(settled) => settled.manifest.is_some() && !settled.late,
        Event::HandoffWritten(written) => has_manifest(&written.handoff),
        _ => false,
    }
}

fn has_manifest(handoff: &Handoff) -> bool {
    is_manifest(handoff.artifacts.iter().map(|(name, path)| (name, path.as_str())))
}

/// The digest of the list of a large set. A step that has no attempt of its own does not store one.
fn list_digest(handoff: &Handoff) -> Option<Digest> {
    handoff.file_changes.get(MANIFEST).and_then(Value::as_str).and_then(Digest::parse)
}

/// Writes again whatever file of a run is missing or differs, and says which. For when a run is loaded.
///
/// # Errors
/// [`FileError`] of the first file that cannot be had again.
pub fn restore_run(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Vec<PathBuf>, FileError> {
    Ok(restore(layout, reader, run)?.written)
}

/// What a restoration came to.
#[derive(Default)]
pub(crate) struct Restored {
    /// Files that were missing or differed.
    pub(crate) written: Vec<PathBuf>,
    /// Artifacts that have no place, as `flow/path`.
    pub(crate) unplaceable: Vec<String>,
}

/// As [`restore_run`], and says what was passed over.
pub(crate) fn restore(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Restored, FileError> {
    let files = Files { layout, reader, run };
    let mut restored = Restored::default();
    for row in reader.handoffs(run)? {
        files.restore_handoff(&row, List::Checked, &mut restored.written)?;
    }
    files.restore_places(reader.artifacts(run)?, &mut restored)?;
    if reader.run(run)?.root.is_some() {
        attempts::restore(&files, &mut restored.written)?;
    }
    let asked = InboxFilter { run: Some(run.clone()), closed: true };
    for row in reader.inbox(&asked)?.iter().filter(|row| row.state == InterruptState::Answered) {
        // Of a store that was upgraded with events missing, nobody knows what was answered.
        if row.closed.is_none() {
            continue;
        }
        files.restore_answer(row, &mut restored.written)?;
    }
    Ok(restored)
}

/// As [`restore_run`], but only what belongs to one answer, for when it is about to be given to a step.
///
/// # Errors
/// As [`restore_run`]; [`ReadError::Missing`](crate::ReadError::Missing) when the question was not answered.
pub fn restore_answer(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    interrupt: &InterruptId,
) -> Result<(), FileError> {
    let row = reader.question(run, interrupt)?;
    Files { layout, reader, run }.restore_answer(&row, &mut Vec::new())
}

/// As [`restore_run`], but only what one visit left: for when its hand-off is about to be given to a step. Of a large set only
/// the hand-off and the list: each attempt that reads the hand-off comes here, and would look at every file of the set. Those
/// were placed after the commit, or were made good when the run was loaded.
///
/// # Errors
/// As [`restore_run`].
pub fn restore_visit(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    visit: &VisitId,
) -> Result<Vec<PathBuf>, FileError> {
    let files = Files { layout, reader, run };
    let row = reader.handoff_row(run, visit)?;
    let mut restored = Restored::default();
    let handoff = files.restore_handoff(&row, List::Given, &mut restored.written)?;
    if !has_manifest(&handoff.handoff) {
        let is_of_visit = |place: &ArtifactRow| place.visit == *visit;
        // For the places of a run, the lists of all its large sets are read: only if the visit has left a file.
        if reader.listed_artifacts(run)?.iter().any(is_of_visit) {
            let places = reader.artifacts(run)?.into_iter().filter(is_of_visit).collect();
            files.restore_places(places, &mut restored)?;
        }
    }
    Ok(restored.written)
}

/// Where an attempt's folder has the copies of what it hands over.
const COPIES: &str = "files";

/// How the list of a large set is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// It is compared with what the journal says.
    Checked,
    /// One that would have to be gathered from all attempts of its step only has to be there.
    Given,
}

/// What the files of one run are made from, and where they go.
struct Files<'a> {
    layout: &'a Layout,
    reader: &'a Reader,
    run: &'a RunId,
}

impl Files<'_> {
    fn write_handoff(&self, flow: &FlowId, written: &HandoffWritten) -> Result<(), FileError> {
        let bytes = reader::bytes(written);
        let [own, newest] = self.handoff_paths(flow, &written.visit);
        self.replace(&own, |file| Ok(file.write_all(&bytes)?))?;
        // An engine that was taken over may come to this long after another one has written later visits.
        if self.reader.is_newest(self.run, &written.visit)? {
            self.replace(&newest, |file| Ok(file.write_all(&bytes)?))?;
            if has_manifest(&written.handoff) {
                let list = self.list(written)?;
                self.replace(&self.list_path(flow, written), |file| Ok(file.write_all(&list)?))?;
            }
        }
        Ok(())
    }

    /// Where the list of the files of a hand-off lies.
    fn list_path(&self, flow: &FlowId, written: &HandoffWritten) -> PathBuf {
        let VisitId { scope, step, .. } = &written.visit;
        self.layout.files_list(self.run, flow, scope, step)
    }

    /// The list of the files of a hand-off that names one.
    fn list(&self, written: &HandoffWritten) -> Result<Vec<u8>, FileError> {
        match list_digest(&written.handoff) {
            Some(digest) => Ok(self.reader.blob(&digest)?),
            None => self.gathered(&written.visit),
        }
    }

    /// The list of a hand-off that names one, if it is missing or differs.
    fn restore_list(
        &self,
        flow: &FlowId,
        handoff: &HandoffWritten,
        look: List,
        written: &mut Vec<PathBuf>,
    ) -> Result<(), FileError> {
        let target = self.list_path(flow, handoff);
        let found = self.digest_of(&target);
        let is_well = match list_digest(&handoff.handoff) {
            // The list need not be read from the store to be compared.
            Some(digest) => found == Some(digest),
            None => look == List::Given && found.is_some(),
        };
        if is_well {
            return Ok(());
        }
        let list = self.list(handoff)?;
        if found != Some(Digest::of(&list)) {
            self.replace(&target, |file| Ok(file.write_all(&list)?))?;
            written.push(target);
        }
        Ok(())
    }

    /// The list of what the items of a visit have handed over: the step itself has no attempt of its own.
    fn gathered(&self, visit: &VisitId) -> Result<Vec<u8>, FileError> {
        let mut newest = BTreeMap::new();
        for record in self.reader.records(self.run, 0, None)? {
            let Event::AttemptSettled(settled) = &record.event else { continue };
            if settled.late || settled.attempt.visit.whole() != *visit {
                continue;
            }
            for file in self.reader.files_of(settled)?.iter() {
                newest.insert(file.path.clone(), file.clone());
            }
        }
        let files: Vec<_> = newest.into_values().collect();
        let list = manifest::write(&files).map_err(|error| FileError::Io {
            path: self.layout.run(self.run),
            source: io::Error::other(error),
        })?;
        Ok(list.1)
    }

    fn handoff_paths(&self, flow: &FlowId, visit: &VisitId) -> [PathBuf; 2] {
        [
            self.layout.handoff_visit(self.run, flow, visit),
            self.layout.handoff_latest(self.run, flow, &visit.scope, &visit.step),
        ]
    }

    fn place_all(&self, flow: &FlowId, settled: &AttemptSettled) -> Result<(), FileError> {
        let files = self.reader.files_of(settled)?;
        let mut changes: Vec<_> = files.iter().map(|file| (&file.path, file.blob.as_ref())).collect();
        // A file may have become a folder: what is gone makes room first.
        changes.sort_by_key(|(_, blob)| blob.is_some());
        // The copies of a large set are not needed any more, now that it is committed: they are moved, not copied again.
        let copies =
            settled.manifest.as_ref().map(|_| self.layout.attempt(self.run, &settled.attempt).join(COPIES));
        for (path, blob) in changes {
            let moved = match (&copies, blob) {
                (Some(copies), Some(blob)) => self.move_into_place(flow, path, &blob.digest, copies),
                _ => false,
            };
            if !moved {
                self.place(flow, path, blob.map(|blob| &blob.digest))?;
            }
        }
        Ok(())
    }

    /// Whether the copy that the attempt made is the content, and lies in its place now.
    fn move_into_place(&self, flow: &FlowId, path: &str, digest: &Digest, copies: &Path) -> bool {
        let Some(target) = self.target(flow, path) else { return false };
        let copy = copies.join(path);
        if self.digest_of(&copy) != Some(*digest) {
            // It was moved before this engine came; or somebody has changed it, and the store has the content.
            return self.digest_of(&target) == Some(*digest);
        }
        let root = self.layout.root();
        let (Ok(from), Ok(to)) = (PathBeneath::find(root, &copy), PathBeneath::make(root, &target)) else {
            return false;
        };
        let moved = || {
            from.open()?.set_permissions(Permissions::from_mode(0o400))?;
            to.take(&from)
        };
        moved().is_ok()
    }

    /// The digest of a file of the run, if it is there as a regular file and no link leads to it.
    fn digest_of(&self, path: &Path) -> Option<Digest> {
        digest_below(self.layout, path)
    }

    /// False if it has no place.
    fn place(&self, flow: &FlowId, path: &str, digest: Option<&Digest>) -> Result<bool, FileError> {
        let Some(target) = self.target(flow, path) else { return Ok(false) };
        let placed = match digest {
            Some(digest) => self.replace(&target, |file| Ok(self.reader.write_blob(digest, file)?)),
            None => remove(self.layout.root(), &target, &self.layout.flow(self.run, flow)),
        };
        match placed {
            // Above the flow's folder something else is wrong than the artifact's name.
            Err(FileError::Io { path, source })
                if is_in_the_way(&source) && path.starts_with(self.layout.flow(self.run, flow)) =>
            {
                Ok(false)
            }
            placed => placed.map(|()| true),
        }
    }

    fn target(&self, flow: &FlowId, path: &str) -> Option<PathBuf> {
        is_plain(path).then(|| self.layout.artifact_place(self.run, flow, path))
    }

    /// The visit's own file; and the newest one with its list, if no later visit of the step has written.
    fn restore_handoff(
        &self,
        row: &HandoffRow,
        look: List,
        written: &mut Vec<PathBuf>,
    ) -> Result<HandoffWritten, FileError> {
        let handoff = self.reader.written_at(self.run, row.seq)?;
        let bytes = reader::bytes(&handoff);
        let [own, newest] = self.handoff_paths(&row.flow, &row.visit);
        let is_newest = self.reader.is_newest(self.run, &row.visit)?;
        for path in std::iter::once(own).chain(is_newest.then_some(newest)) {
            if self.digest_of(&path) != Some(Digest::of(&bytes)) {
                self.replace(&path, |file| Ok(file.write_all(&bytes)?))?;
                written.push(path);
            }
        }
        if is_newest && has_manifest(&handoff.handoff) {
            self.restore_list(&row.flow, &handoff, look, written)?;
        }
        Ok(handoff)
    }

    fn restore_answer(&self, row: &InboxRow, written: &mut Vec<PathBuf>) -> Result<(), FileError> {
        let (at, answered) = self.reader.answer(self.run, row)?;
        answer::restore(self, row, (at, &answered), written)
    }

    fn restore_places(&self, mut places: Vec<ArtifactRow>, restored: &mut Restored) -> Result<(), FileError> {
        places.sort_by_key(|place| place.digest.is_some());
        for ArtifactRow { flow, path, digest, .. } in places {
            let target = self.target(&flow, &path);
            match target {
                Some(target) if self.digest_of(&target) == digest => {}
                Some(target) if self.place(&flow, &path, digest.as_ref())? => restored.written.push(target),
                _ => restored.unplaceable.push(format!("{flow}/{path}")),
            }
        }
        Ok(())
    }

    /// Puts a new file, which only its owner may read, in the place of the old one, with its folders.
    fn replace(
        &self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> Result<(), Fill>,
    ) -> Result<(), FileError> {
        let failed = |source| FileError::Io { path: target.to_owned(), source };
        let spot = PathBeneath::make(self.layout.root(), target)?;
        let (temporary, mut file) = beneath::temporary(self.layout)?;
        fill(&mut file).map_err(|fill| fill.of(temporary.path()))?;
        file.set_permissions(Permissions::from_mode(0o400))
            .map_err(|source| FileError::Io { path: temporary.path().to_owned(), source })?;
        temporary.rename_by(|from| spot.take_path(from)).map_err(failed)
    }
}

/// Why a new file could not be filled.
enum Fill {
    Machine(io::Error),
    Other(FileError),
}

impl Fill {
    fn of(self, path: &Path) -> FileError {
        match self {
            Self::Machine(source) => FileError::Io { path: path.to_owned(), source },
            Self::Other(error) => error,
        }
    }
}

impl From<io::Error> for Fill {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

impl From<crate::model::error::BlobError> for Fill {
    fn from(error: crate::model::error::BlobError) -> Self {
        Self::Other(error.into())
    }
}

/// Whether a file cannot be where it should, because of its name or of another that is there; not for want of room or
/// rights.
fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, InvalidFilename, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | InvalidFilename | IsADirectory | NotADirectory)
}

/// Removes a file, and the folders above it that are empty then, up to the flow's own.
fn remove(root: &Path, target: &Path, flow_folder: &Path) -> Result<(), FileError> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let spot = match PathBeneath::find(root, target) {
        Err(blocked) if is_missing(&blocked.source) => return Ok(()),
        found => found?,
    };
    match spot.remove() {
        Err(source) if !is_missing(&source) => {
            return Err(FileError::Io { path: target.to_owned(), source });
        }
        _ => {}
    }
    let above = target.ancestors().skip(1).take_while(|folder| *folder != flow_folder);
    for folder in above {
        if !PathBeneath::find(root, folder).is_ok_and(|spot| spot.remove_folder().is_ok()) {
            break;
        }
    }
    Ok(())
}

/// The digest of the regular file of the store at `target`, if it can be reached and read.
pub(crate) fn digest_below(layout: &Layout, target: &Path) -> Option<Digest> {
    let file = PathBeneath::find(layout.root(), target).ok()?.open().ok()?;
    blobs::copy(file, &mut io::sink()).ok().map(|(digest, _)| digest)
}

/// The digest of the plain file at `path`, if there is one that can be read.
#[must_use]
pub fn digest_of(path: &Path) -> Option<Digest> {
    let file = plain::open(path).ok()?;
    blobs::copy(file, &mut io::sink()).ok().map(|(digest, _)| digest)
}

/// Whether an artifact's path stays in its flow's folder and out of the hand-offs.
#[must_use]
pub fn is_plain(path: &str) -> bool {
    let segment = |segment: &str| !matches!(segment, "" | "." | "..");
    path.split('/').all(segment) && !path.contains(['\\', '\0']) && path.split('/').next() != Some("handoff")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Commit, Store, Writer,
        testing::{attempt, commit, flow, handoff, place, run, settled, started, visit},
    };
    use envoi_contract::json::Object;
    use envoi_kernel::files::manifest_path;
    use std::fs;

    /// A run of two visits; the artifact changes in both, and another comes and goes.
    fn lived() -> (crate::testing::TestStore, Writer, Vec<Record>) {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        let run = run("a");
        let large = vec![b'x'; 40_000];
        place.store.blobs().put(&large).unwrap();
        let blobs = [&b"one"[..], b"two", b"gone"].map(|bytes| (Digest::of(bytes), bytes.to_vec())).to_vec();
        let first = [("shop/a.py", Some(&b"one"[..])), ("tmp/log", Some(b"gone"))];
        let second = [("shop/a.py", Some(&b"two"[..])), ("big", Some(&large)), ("tmp/log", None)];
        let events = [
            started(&run),
            attempt("repair", 1),
            settled("repair", 1, &first),
            handoff("repair", 1, "first"),
            attempt("repair", 2),
            settled("repair", 2, &second),
            handoff("repair", 2, "second"),
        ];
        let commit = Commit { blobs, ..commit(&run, 0, events) };
        writer.commit(commit.clone()).unwrap();
        (place, writer, commit.records)
    }

    fn project_all(store: &Store, reader: &Reader, records: &[Record]) {
        for record in records {
            project(store.layout(), reader, &run("a"), &flow(), record).unwrap();
        }
    }

    /// Every file of the run, with its content.
    fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry)
                } else {
                    found.push((entry.clone(), fs::read(entry).unwrap()))
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn visits_that_share_the_folder_of_a_flow_have_a_list_each() {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        let run = run("a");
        let mut events = vec![started(&run)];
        let mut lists = Vec::new();
        for (scope, content) in [("", b"own"), ("build.1", b"one"), ("build.2", b"two")] {
            let [mut begun, mut settled, mut handoff] = [
                attempt("make", 1),
                settled("make", 1, &[("made", Some(content))]),
                handoff("make", 1, "it"),
            ];
            if let Event::AttemptStarted(begun) = &mut begun {
                begun.attempt.visit.scope = scope.to_owned();
            }
            if let (Event::AttemptSettled(settled), Event::HandoffWritten(written)) =
                (&mut settled, &mut handoff)
            {
                settled.attempt.visit.scope = scope.to_owned();
                written.visit.scope = scope.to_owned();
                let (manifest, list) = manifest::write(&std::mem::take(&mut settled.files)).unwrap();
                place.store.blobs().put(&list).unwrap();
                let path = manifest_path("fix", &written.visit);
                let digest = Value::from(manifest.list.digest.to_string());
                written.handoff.file_changes = Value::Object(Object::from([(MANIFEST, digest)]));
                lists.push((path.clone(), list));
                written.handoff.artifacts.insert(MANIFEST, path);
                settled.manifest = Some(manifest);
            }
            events.extend([begun, settled, handoff]);
        }
        let committed = commit(&run, 0, events);
        writer.commit(committed.clone()).unwrap();
        let base = place.store.layout().run(&run);
        let check = || {
            for (path, list) in &lists {
                assert_eq!(fs::read(base.join(path)).unwrap(), *list, "{path}");
            }
        };
        // The contents are none that the store has: this is about the lists.
        for record in
            committed.records.iter().filter(|record| matches!(record.event, Event::HandoffWritten(_)))
        {
            project(place.store.layout(), &place.reader, &run, &flow(), record).unwrap();
        }
        check();
        for (path, _) in &lists {
            fs::remove_file(base.join(path)).unwrap();
        }
        for row in place.reader.handoffs(&run).unwrap() {
            let files = Files { layout: place.store.layout(), reader: &place.reader, run: &run };
            files.restore_handoff(&row, List::Checked, &mut Vec::new()).unwrap();
        }
        check();
    }

    #[test]
    fn the_files_of_a_run_are_its_handoffs_and_newest_artifacts() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let base = place.store.layout().flow(&run("a"), &flow());
        let names: Vec<_> =
            tree(&base).iter().map(|(path, _)| path.strip_prefix(&base).unwrap().to_owned()).collect();
        let expected =
            ["big", "handoff/repair.1.json", "handoff/repair.2.json", "handoff/repair.json", "shop/a.py"];
        assert_eq!(names, expected.map(PathBuf::from));
        let read = |name: &str| fs::read(base.join(name)).unwrap();
        assert_eq!(read("shop/a.py"), b"two");
        assert_eq!(read("handoff/repair.json"), read("handoff/repair.2.json"));
        let step = crate::testing::step("repair");
        assert_eq!(
            read("handoff/repair.1.json"),
            place.reader.handoff(&run("a"), "", &step, Some(1)).unwrap()
        );
        assert_eq!(read("handoff/repair.2.json"), place.reader.handoff(&run("a"), "", &step, None).unwrap());
        assert_eq!(fs::metadata(base.join("big")).unwrap().permissions().mode() & 0o777, 0o400);
    }

    #[test]
    fn projecting_twice_changes_nothing() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let folder = place.store.layout().run(&run("a"));
        let before = tree(&folder);
        project_all(&place.store, &place.reader, &records);
        assert_eq!(tree(&folder), before);
        assert_eq!(
            restore_run(place.store.layout(), &place.reader, &run("a")).unwrap(),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn what_is_missing_or_differs_is_written_again() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let folder = place.store.layout().run(&run("a"));
        let before = tree(&folder);
        let base = place.store.layout().flow(&run("a"), &flow());
        fs::remove_file(base.join("handoff/repair.1.json")).unwrap();
        fs::remove_file(base.join("big")).unwrap();
        for changed in ["shop/a.py", "handoff/repair.json"] {
            fs::remove_file(base.join(changed)).unwrap();
            fs::write(base.join(changed), "tampered").unwrap();
        }
        fs::create_dir(base.join("tmp")).unwrap();
        fs::write(base.join("tmp/log"), "back again").unwrap();
        let written = restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
        assert_eq!(written.len(), 5, "{written:?}");
        assert_eq!(tree(&folder), before);
    }

    #[test]
    fn an_older_visit_never_replaces_the_newest_handoff() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let base = place.store.layout().flow(&run("a"), &flow());
        let read = |name: &str| fs::read(base.join("handoff").join(name)).unwrap();
        fs::remove_file(base.join("handoff/repair.1.json")).unwrap();
        project_all(&place.store, &place.reader, &records[..4]);
        assert_eq!(read("repair.json"), read("repair.2.json"));
        assert_ne!(read("repair.json"), read("repair.1.json"));
    }

    #[test]
    fn a_run_whose_files_are_all_gone_has_them_again() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let folder = place.store.layout().run(&run("a"));
        let before = tree(&folder);
        fs::remove_dir_all(&folder).unwrap();
        restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
        assert_eq!(tree(&folder), before);
    }

    #[test]
    fn a_step_is_given_what_the_visit_before_it_left() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let base = place.store.layout().flow(&run("a"), &flow());
        for name in ["handoff/repair.1.json", "handoff/repair.2.json", "handoff/repair.json", "shop/a.py"] {
            fs::remove_file(base.join(name)).unwrap();
        }
        let restore = |nth| {
            restore_visit(place.store.layout(), &place.reader, &run("a"), &visit("repair", nth)).unwrap()
        };
        assert_eq!(restore(1), [base.join("handoff/repair.1.json")]);
        let newest =
            ["handoff/repair.2.json", "handoff/repair.json", "shop/a.py"].map(|name| base.join(name));
        assert_eq!(restore(2), newest);
    }

    /// What a step with a large set hands over; without a digest, one that has no attempt of its own.
    fn large_handoff(name: &str, list: Option<Digest>) -> Event {
        let Event::HandoffWritten(mut written) = handoff(name, 1, "many") else { unreachable!() };
        let path = envoi_kernel::files::manifest_path("fix", &visit(name, 1));
        written.handoff.artifacts.insert(MANIFEST, path);
        let digest = |digest: Digest| Object::from([(MANIFEST, Value::from(digest.to_string()))]);
        written.handoff.file_changes = list.map_or(Value::Null, |list| Value::Object(digest(list)));
        Event::HandoffWritten(written)
    }

    #[test]
    fn a_step_is_given_the_hand_off_and_the_list_of_a_large_set_and_its_files_are_not_looked_at() {
        let (place, writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let run = run("a");
        let Event::AttemptSettled(mut made) = settled("make", 1, &[("out/one", Some(&b"x"[..]))]) else {
            unreachable!()
        };
        let (manifest, list) = manifest::write(&made.files).unwrap();
        let digest = manifest.list.digest;
        (made.files, made.manifest) = (Vec::new(), Some(manifest));
        let mut item = made.clone();
        item.attempt.visit.step = crate::testing::step("each");
        let blobs = vec![(Digest::of(b"x"), b"x".to_vec()), (digest, list.clone())];
        let events = [
            Event::AttemptSettled(made),
            large_handoff("make", Some(digest)),
            Event::AttemptSettled(item),
            large_handoff("each", None),
        ];
        let commit = Commit { blobs, ..commit(&run, 7, events) };
        writer.commit(commit.clone()).unwrap();
        project_all(&place.store, &place.reader, &commit.records);
        let base = place.store.layout().flow(&run, &flow());
        let restored =
            |step: &str| restore_visit(place.store.layout(), &place.reader, &run, &visit(step, 1)).unwrap();
        for step in ["make", "each"] {
            let [own, newest, listed] = [
                format!("handoff/{step}.1.json"),
                format!("handoff/{step}.json"),
                format!("{step}.files.json"),
            ]
            .map(|name| base.join(name));
            for path in [&own, &newest, &listed, &base.join("out/one")] {
                drop(fs::remove_file(path));
            }
            assert_eq!(restored(step), [own, newest, listed.clone()]);
            assert_eq!(fs::read(&listed).unwrap(), list);
            assert_eq!(restored(step), Vec::<PathBuf>::new());
            // One that the journal has the digest of is compared; the other one is, when the run is loaded.
            fs::remove_file(&listed).unwrap();
            fs::write(&listed, "tampered").unwrap();
            let expected = if step == "make" { vec![listed.clone()] } else { Vec::new() };
            assert_eq!(restored(step), expected);
        }
        let written = restore_run(place.store.layout(), &place.reader, &run).unwrap();
        assert_eq!(written, ["each.files.json", "out/one"].map(|name| base.join(name)));
        // That of an older visit has no list of its own to be read.
        let later = handoff("make", 2, "again");
        writer.commit(crate::testing::commit(&run, 11, [later])).unwrap();
        let store = rusqlite::Connection::open(place.store.layout().db()).unwrap();
        store.execute("DELETE FROM blobs WHERE digest = ?1", [digest.as_bytes()]).unwrap();
        fs::remove_file(base.join("make.files.json")).unwrap();
        assert_eq!(restored("make"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_file_may_become_a_folder_and_back() {
        let (place, writer, _) = lived();
        let run = run("a");
        let blobs = vec![(Digest::of(b"x"), b"x".to_vec())];
        type Change = (&'static str, Option<&'static [u8]>);
        let turns: [&[Change]; 3] =
            [&[("d", Some(b"x"))], &[("d/e", Some(b"x")), ("d", None)], &[("d", Some(b"x")), ("d/e", None)]];
        // First every turn is projected; then, as after a crash, only restored.
        for (seq, turn) in (7..).zip(turns.iter().chain(&turns)) {
            let commit = Commit { blobs: blobs.clone(), ..commit(&run, seq, [settled("repair", 3, turn)]) };
            writer.commit(commit.clone()).unwrap();
            if seq < 10 {
                project_all(&place.store, &place.reader, &commit.records);
            }
            restore_run(place.store.layout(), &place.reader, &run).unwrap();
            let present = turn.iter().find(|(_, content)| content.is_some()).unwrap().0;
            assert_eq!(fs::read(place.store.layout().artifact_place(&run, &flow(), present)).unwrap(), b"x");
        }
    }

    #[test]
    fn an_artifact_that_has_no_place_does_not_stop_its_run() {
        let (place, writer, _) = lived();
        let run = run("a");
        let blobs = vec![(Digest::of(b"x"), b"x".to_vec())];
        let (long, none) = ("n/".repeat(3_000) + "n", Some(&b"x"[..]));
        let strange = [
            ("back\\slash", none),
            ("handoff/repair.2.json", none),
            ("handoff", None),
            ("../out", none),
            ("nul\0", none),
            (long.as_str(), none),
            // Another step sees only that there is something below: to it, the file of that name is no artifact.
            ("shop/a.py/below", none),
            ("good", none),
        ];
        let commit = Commit { blobs, ..commit(&run, 7, [settled("critic", 1, &strange)]) };
        writer.commit(commit.clone()).unwrap();
        project_all(&place.store, &place.reader, &commit.records);
        let base = place.store.layout().flow(&run, &flow());
        assert_eq!(fs::read(base.join("good")).unwrap(), b"x");
        fs::remove_file(base.join("good")).unwrap();
        let restored = restore(place.store.layout(), &place.reader, &run).unwrap();
        assert!(restored.written.contains(&base.join("good")));
        assert_eq!(restored.unplaceable.len(), 7, "{:?}", restored.unplaceable);
        let again = restore(place.store.layout(), &place.reader, &run).unwrap();
        assert_eq!((again.written, again.unplaceable), (Vec::new(), restored.unplaceable));
        restore_visit(place.store.layout(), &place.reader, &run, &visit("repair", 2)).unwrap();
    }

    /// Moves a folder out of the run, and puts a link to it in its place.
    fn move_out(folder: &Path, outside: &Path) {
        fs::rename(folder, outside).unwrap();
        std::os::unix::fs::symlink(outside, folder).unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_of_handoffs_is_an_error_that_names_it() {
        let (place, _writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let base = place.store.layout().flow(&run("a"), &flow());
        let outside = tempfile::tempdir().unwrap();
        let moved = outside.path().join("moved");
        let run_folder = place.store.layout().run(&run("a"));
        for folder in [base.join("handoff"), base.clone(), run_folder, place.store.layout().runs()] {
            move_out(&folder, &moved);
            let before = tree(&moved);
            let linked = |error: &FileError| matches!(error, FileError::Io { path, .. } if *path == folder);
            // As they were: even files that are right are not read through a link.
            let error = restore_run(place.store.layout(), &place.reader, &run("a")).unwrap_err();
            assert!(linked(&error), "{error}");
            fs::remove_file(moved.join("repair.1.json")).unwrap_or_default();
            let error = restore_visit(place.store.layout(), &place.reader, &run("a"), &visit("repair", 1));
            assert!(linked(&error.unwrap_err()));
            let written = records.iter().find(|record| matches!(record.event, Event::HandoffWritten(_)));
            let error = project(place.store.layout(), &place.reader, &run("a"), &flow(), written.unwrap());
            assert!(linked(&error.unwrap_err()));
            assert!(tree(&moved).len() <= before.len());
            fs::remove_file(&folder).unwrap();
            fs::remove_dir_all(&moved).unwrap();
            restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
            assert!(base.join("handoff/repair.1.json").is_file());
        }
    }

    #[test]
    fn where_nothing_can_be_written_first_is_named_and_hides_no_artifact() {
        let (place, _writer, records) = lived();
        let layout = place.store.layout();
        fs::remove_dir(layout.temporary()).unwrap();
        fs::write(layout.temporary(), "").unwrap();
        for record in records.iter().filter(|record| !matches!(record.event, Event::RunStarted(_))) {
            let Err(error) = project(layout, &place.reader, &run("a"), &flow(), record) else {
                assert!(matches!(record.event, Event::AttemptStarted(_)), "{record:?}");
                continue;
            };
            let told = format!("`{}` cannot be written: a folder belongs", layout.temporary().display());
            assert!(crate::with_causes(&error).starts_with(&told), "{error}");
        }
        assert!(place.store.sweep().is_err());
        fs::remove_file(layout.temporary()).unwrap();
        restore_run(layout, &place.reader, &run("a")).unwrap();
    }

    #[test]
    fn leftovers_behind_a_link_are_not_the_store_s() {
        let (place, ..) = lived();
        let (temporary, outside) = (place.store.layout().temporary(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("theirs"), "").unwrap();
        fs::remove_dir(&temporary).unwrap();
        std::os::unix::fs::symlink(outside.path(), &temporary).unwrap();
        assert!(place.store.sweep().is_err());
        assert!(outside.path().join("theirs").exists());
    }

    #[test]
    fn an_artifact_behind_a_link_has_no_place() {
        let (place, writer, records) = lived();
        project_all(&place.store, &place.reader, &records);
        let (layout, run) = (place.store.layout(), run("a"));
        let base = layout.flow(&run, &flow());
        let outside = tempfile::tempdir().unwrap();
        let moved = outside.path().join("moved");
        move_out(&base.join("shop"), &moved);
        let before = tree(&moved);
        assert_eq!(restore(layout, &place.reader, &run).unwrap().unplaceable, ["fix/shop/a.py"]);
        let blobs = vec![(Digest::of(b"x"), b"x".to_vec())];
        let changes: [(&str, Option<&[u8]>); 3] =
            [("shop/a.py", None), ("shop/new", Some(b"x")), ("shop/in/new", Some(b"x"))];
        let commit = Commit { blobs, ..commit(&run, 7, [settled("repair", 3, &changes)]) };
        writer.commit(commit.clone()).unwrap();
        project_all(&place.store, &place.reader, &commit.records);
        restore_run(layout, &place.reader, &run).unwrap();
        assert_eq!(tree(&moved), before);
    }

    #[test]
    fn a_copy_behind_a_link_is_not_moved_into_place() {
        let (place, _writer, _) = lived();
        let (layout, run) = (place.store.layout(), run("a"));
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("x"), "x").unwrap();
        let copies = layout.run(&run).join("attempts/repair.1.1/files");
        fs::create_dir_all(&copies).unwrap();
        std::os::unix::fs::symlink(outside.path(), copies.join("in")).unwrap();
        let files = Files { layout, reader: &place.reader, run: &run };
        assert!(!files.move_into_place(&flow(), "in/x", &Digest::of(b"x"), &copies));
        assert!(outside.path().join("x").exists());
        fs::write(copies.join("y"), "y").unwrap();
        assert!(files.move_into_place(&flow(), "y", &Digest::of(b"y"), &copies));
        assert_eq!(fs::read(layout.flow(&run, &flow()).join("y")).unwrap(), b"y");
    }

    #[test]
    fn no_artifact_leaves_its_folder_or_poses_as_a_handoff() {
        for path in
            ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\\b", "a\0b", "handoff/x", "handoff"]
        {
            assert!(!is_plain(path), "{path}");
        }
        for path in ["a", "a/b.py", "a/handoff/b", ".hidden", "..a"] {
            assert!(is_plain(path), "{path}");
        }
    }
}
