//! The files of a run equal its events, after any change to them.

use super::{
    artifacts::is_plain, handoffs::ListCheck, project, project_next, restore, restore_run, restore_visit,
    run_files::RunFiles,
};
use crate::{
    Commit, FileError, Reader, Store, Writer, manifest,
    testing::{attempt, commit, flow, handoff, place, run, settled, started, visit},
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use envoi_kernel::{
    event::{Event, Record},
    files::{MANIFEST, manifest_path},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

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
        let [mut begun, mut settled, mut handoff] =
            [attempt("make", 1), settled("make", 1, &[("made", Some(content))]), handoff("make", 1, "it")];
        if let Event::AttemptStarted(begun) = &mut begun {
            begun.attempt.visit.scope = scope.to_owned();
        }
        if let (Event::AttemptSettled(settled), Event::HandoffWritten(written)) = (&mut settled, &mut handoff)
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
    for record in committed.records.iter().filter(|record| matches!(record.event, Event::HandoffWritten(_))) {
        project(place.store.layout(), &place.reader, &run, &flow(), record).unwrap();
    }
    check();
    for (path, _) in &lists {
        fs::remove_file(base.join(path)).unwrap();
    }
    for row in place.reader.handoffs(&run).unwrap() {
        let files = RunFiles { layout: place.store.layout(), reader: &place.reader, run: &run };
        files.restore_handoff(&row, ListCheck::Compared, &mut Vec::new()).unwrap();
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
    assert_eq!(read("handoff/repair.1.json"), place.reader.handoff(&run("a"), "", &step, Some(1)).unwrap());
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
    assert_eq!(restore_run(place.store.layout(), &place.reader, &run("a")).unwrap(), Vec::<PathBuf>::new());
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
fn a_step_that_writes_into_the_newest_handoff_does_not_change_that_of_its_visit() {
    for project in [project, project_next] {
        let (place, _writer, records) = lived();
        for record in &records {
            project(place.store.layout(), &place.reader, &run("a"), &flow(), record).unwrap();
        }
        let handoffs = place.store.layout().flow(&run("a"), &flow()).join("handoff");
        let [own, newest] = ["repair.2.json", "repair.json"].map(|name| handoffs.join(name));
        let before = fs::read(&own).unwrap();
        for path in [&own, &newest] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o400);
        }
        // Commands run as the owner of the file.
        fs::set_permissions(&newest, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&newest, "another").unwrap();
        assert_eq!(fs::read(&own).unwrap(), before);
    }
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
    let restore =
        |nth| restore_visit(place.store.layout(), &place.reader, &run("a"), &visit("repair", nth)).unwrap();
    assert_eq!(restore(1), [base.join("handoff/repair.1.json")]);
    let newest = ["handoff/repair.2.json", "handoff/repair.json", "shop/a.py"].map(|name| base.join(name));
    assert_eq!(restore(2), newest);
}

/// The hand-off of a step with a large set; without a digest, of a step that has no attempt of its own.
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
        let [own, newest, listed] =
            [format!("handoff/{step}.1.json"), format!("handoff/{step}.json"), format!("{step}.files.json")]
                .map(|name| base.join(name));
        for path in [&own, &newest, &listed, &base.join("out/one")] {
            drop(fs::remove_file(path));
        }
        assert_eq!(restored(step), [own, newest, listed.clone()]);
        assert_eq!(fs::read(&listed).unwrap(), list);
        assert_eq!(restored(step), Vec::<PathBuf>::new());
        // A list whose digest the journal has is compared; the other list is compared when the run is loaded.
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
fn an_artifact_in_the_place_of_a_list_leaves_the_place_to_the_list_each_time() {
    let (place, writer, records) = lived();
    project_all(&place.store, &place.reader, &records);
    let run = run("a");
    let Event::AttemptSettled(mut made) = settled("make", 1, &[("out/one", Some(&b"x"[..]))]) else {
        unreachable!()
    };
    let (manifest, list) = manifest::write(&made.files).unwrap();
    let digest = manifest.list.digest;
    (made.files, made.manifest) = (Vec::new(), Some(manifest));
    let blobs = vec![(Digest::of(b"x"), b"x".to_vec()), (digest, list.clone())];
    // As older builds took it.
    let other = settled("critic", 9, &[("make.files.json", Some(&b"x"[..]))]);
    let events = [Event::AttemptSettled(made), large_handoff("make", Some(digest)), other];
    writer.commit(Commit { blobs, ..commit(&run, 7, events) }).unwrap();
    let base = place.store.layout().flow(&run, &flow());
    let restored = || super::restore(place.store.layout(), &place.reader, &run).unwrap();
    assert!(restored().written.contains(&base.join("make.files.json")));
    assert_eq!(fs::read(base.join("make.files.json")).unwrap(), list);
    let again = restored();
    assert_eq!(again.written, Vec::<PathBuf>::new());
    assert_eq!(again.unplaceable, ["fix/make.files.json"]);
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
    let long = "n/".repeat(3_000) + "n";
    let none = Some(&b"x"[..]);
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
        let _ = fs::remove_file(moved.join("repair.1.json"));
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
fn a_folder_among_the_leftovers_stays_and_hinders_nothing() {
    let (place, ..) = lived();
    let temporary = place.store.layout().temporary();
    fs::create_dir(temporary.join("theirs")).unwrap();
    fs::write(temporary.join("ours"), "").unwrap();
    assert_eq!(place.store.sweep().unwrap(), 1);
    assert!(temporary.join("theirs").exists());
}

#[test]
fn a_file_that_another_process_is_writing_is_no_leftover() {
    let (place, ..) = lived();
    let temporary = place.store.layout().temporary();
    let mut merge = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let of_a_merge = temporary.join(format!(".new-{}-0", merge.id()));
    fs::write(&of_a_merge, "").unwrap();
    let folder = temporary.join(format!(".new-{}-patch-x", merge.id()));
    fs::create_dir_all(folder.join("a/b")).unwrap();
    fs::write(folder.join("a/b/file"), "1").unwrap();
    assert_eq!(place.store.sweep().unwrap(), 0);
    assert!(of_a_merge.exists() && folder.join("a/b/file").exists());
    // The end of its input ends it.
    merge.wait().unwrap();
    assert_eq!(place.store.sweep().unwrap(), 2);
    assert!(!of_a_merge.exists() && !folder.exists());
}

#[test]
fn leftovers_behind_a_link_are_not_the_store_s() {
    let (place, ..) = lived();
    let temporary = place.store.layout().temporary();
    let outside = tempfile::tempdir().unwrap();
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
    let layout = place.store.layout();
    let run = run("a");
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
    let layout = place.store.layout();
    let run = run("a");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x"), "x").unwrap();
    let copies = layout.run(&run).join("attempts/repair.1.1/files");
    fs::create_dir_all(&copies).unwrap();
    std::os::unix::fs::symlink(outside.path(), copies.join("in")).unwrap();
    let files = RunFiles { layout, reader: &place.reader, run: &run };
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
