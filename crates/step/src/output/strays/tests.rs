//! Files beside the output of an attempt: which stay, which are masked, which are removed.

use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

const LOST: Moment<'_> = Moment::Lost { stream_cap_bytes: 0 };

fn attempt(folder: &Path) -> AttemptDir {
    let dir = AttemptDir::new(folder.join("run_1/attempts/a.1.1"));
    dir.create().unwrap();
    dir
}

fn secrets() -> Secrets {
    Secrets::new(&["hunter22".to_owned()])
}

/// All names below the folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let walk = walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name();
    let path =
        |entry: walkdir::DirEntry| entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    walk.into_iter().map(|entry| path(entry.unwrap())).collect()
}

#[test]
fn of_the_supervisors_files_those_stay_that_have_its_form_where_the_secrets_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    let started = Started {
        version: 1,
        attempt: "a.1.1".to_owned(),
        supervisor_pid: 1,
        supervisor_started_ticks: 0,
        boot_id: String::new(),
        started_at_ms: 1,
        argv0: "sh".to_owned(),
        start: String::new(),
        secret_marks: Vec::new(),
    };
    let written = serde_json::to_vec(&started).unwrap();
    fs::write(dir.started(), &written).unwrap();
    fs::write(dir.stdout(), "said").unwrap();
    assert_eq!(remove_all(&dir, |_| false).unwrap(), [""; 0]);
    for content in ["the earlier value", "{\"version\": 1}"] {
        for name in ["started.json", "before.json", "text"] {
            fs::write(dir.path().join(name), content).unwrap();
        }
        assert_eq!(remove_all(&dir, |_| false).unwrap(), ["before.json", "started.json", "text"]);
        assert!(fs::read(dir.started()).unwrap().is_empty(), "it still says that the attempt was started");
        assert_eq!(fs::read(dir.stdout()).unwrap(), b"said");
        fs::remove_file(dir.path().join("before.json")).unwrap();
    }
    let more = [&written[..written.len() - 1], b",\"more\":\"the earlier value\"}"].concat();
    fs::write(dir.started(), more).unwrap();
    assert_eq!(remove_all(&dir, |_| false).unwrap(), ["started.json"]);
}

#[test]
fn what_cannot_be_removed_is_named_and_the_others_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    for name in ["a", "immutable", "z"] {
        fs::write(dir.path().join(name), "the earlier value").unwrap();
    }
    let remove = |path: &Path| match path.ends_with("immutable") {
        true => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        false => cleaning::remove(path),
    };
    let error = remove_all_by(&dir, |_| false, remove).unwrap_err().to_string();
    assert!(error.contains("attempts/a.1.1/immutable` cannot be removed: permission denied"), "{error}");
    assert_eq!(names(dir.path()), ["immutable"]);
}

#[test]
fn a_lock_with_another_name_stays_the_lock_and_another_file_at_its_name_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    let lock = dir.try_lock().unwrap().unwrap();
    fs::write(dir.lock(), "hunter22").unwrap();
    fs::hard_link(dir.lock(), &elsewhere).unwrap();
    let settling = Moment::Settling(&Written::default());
    mask(&dir, &secrets(), settling);
    assert!(dir.is_locked() && fs::read(&elsewhere).unwrap().is_empty(), "it is one file");
    fs::remove_file(&elsewhere).unwrap();
    fs::write(&elsewhere, "theirs hunter22").unwrap();
    fs::remove_file(dir.lock()).unwrap();
    fs::hard_link(&elsewhere, dir.lock()).unwrap();
    mask(&dir, &secrets(), settling);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs hunter22");
    assert!(fs::read(dir.lock()).unwrap().is_empty());
    drop(lock);
}

#[test]
fn what_a_command_leaves_beside_its_files_holds_no_secret() {
    for moment in [Moment::Settling(&Written::default()), LOST] {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("theirs"), "hunter22").unwrap();
        fs::create_dir_all(dir.output().join("closed")).unwrap();
        fs::write(dir.output().join("closed/result"), "hunter22").unwrap();
        symlink(&outside, dir.output().join("way")).unwrap();
        fs::set_permissions(dir.output().join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
        symlink(outside.join("theirs"), dir.report()).unwrap();
        fs::write(dir.path().join("report.json.tmp"), "token hunter22 end").unwrap();
        fs::write(dir.path().join("of-hunter22"), "x").unwrap();
        fs::write(dir.path().join("plain"), "x").unwrap();
        fs::create_dir(dir.exit()).unwrap();
        fs::write(dir.exit().join("x"), "hunter22").unwrap();
        fs::write(dir.stdout(), "***").unwrap();
        assert_eq!(
            mask(&dir, &secrets(), moment),
            [
                "a folder stood at `exit.json`; its content was removed: it could hold a secret",
                "`of-***` was removed: its name holds a secret",
                "a folder stood at `$ENVOI_OUTPUT`; it was removed: it could hold a secret",
                "a symbolic link stood at `$ENVOI_REPORT`; it was removed: it could hold a secret",
            ],
            "{moment:?}"
        );
        assert_eq!(names(dir.path()), ["exit.json", "plain", "report.json.tmp", "stdout"], "{moment:?}");
        assert_eq!(fs::read_to_string(dir.path().join("report.json.tmp")).unwrap(), "token *** end");
        assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "hunter22");
    }
}

#[test]
fn what_the_supervisor_masks_itself_is_left_to_it() {
    for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::write(dir.output(), "hunter22").unwrap();
        assert_eq!(mask(&dir, &secrets(), moment), [""; 0], "{moment:?}");
        let output = fs::read_to_string(dir.output()).unwrap();
        assert_eq!(output, if is_lost { "***" } else { "hunter22" }, "{moment:?}");
    }
}

#[test]
fn copies_of_artifacts_stay_where_their_supervisor_was_killed_unless_a_secret_is_in_them() {
    for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        for path in [dir.files(), dir.before_files()] {
            fs::create_dir_all(path.join("of-hunter22")).unwrap();
            fs::write(path.join("of-hunter22/x"), "x").unwrap();
            fs::write(path.join("fine.txt"), "fine").unwrap();
            fs::write(path.join("made.txt"), "hunter22").unwrap();
            symlink("hunter22", path.join("link")).unwrap();
        }
        let notes = mask(&dir, &secrets(), moment);
        assert_eq!(notes.len(), 2, "{moment:?}: {notes:?}");
        let left = if is_lost { &["before", "before/fine.txt", "files", "files/fine.txt"][..] } else { &[] };
        assert_eq!(names(dir.path()), left, "{moment:?}");
    }
}

#[test]
fn a_secret_under_a_name_of_the_supervisors_is_masked() {
    for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
        for (name, masked) in [
            ("lock", ""),
            ("cancel", ""),
            ("started.json", "a *** b"),
            ("before.json", "a *** b"),
            ("stdout", "a *** b"),
            ("stderr", "a *** b"),
            ("supervisor.log", "a *** b"),
            ("text", if is_lost { "a *** b" } else { "a hunter22 b" }),
            ("exit.json", if is_lost { "a *** b" } else { "a hunter22 b" }),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            let path = dir.path().join(name);
            fs::write(&path, "a hunter22 b").unwrap();
            let notes = mask(&dir, &secrets(), moment);
            assert_eq!(fs::read_to_string(&path).unwrap(), masked, "{name} {moment:?}");
            let done = if masked.is_empty() { "it was emptied" } else { "a secret in it was masked" };
            let note = format!("the command wrote to `{name}` itself: {done}");
            assert_eq!(notes, if masked.contains("hunter22") { vec![] } else { vec![note] }, "{moment:?}");

            fs::remove_file(&path).unwrap();
            symlink("hunter22", &path).unwrap();
            let notes = mask(&dir, &secrets(), moment);
            let is_replaced = fs::read(&path).is_ok_and(|content| content.is_empty());
            assert_eq!(is_replaced, masked != "a hunter22 b", "{name} {moment:?}: {notes:?}");
        }
    }
}

/// No note speaks of a secret where there was none.
#[test]
fn a_file_of_the_supervisors_that_a_command_made_longer_is_cut() {
    for (text, done) in [
        ("a b", "it was too large and was cut"),
        ("a hunter22 b", "a secret in it was masked, and it was cut"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        let path = dir.path().join("started.json");
        fs::write(&path, text).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(64 * 1024 * 1024).unwrap();
        let notes = mask(&dir, &secrets(), LOST);
        assert_eq!(notes, [format!("the command wrote to `started.json` itself: {done}")]);
    }
}

#[test]
fn what_the_supervisor_wrote_is_not_looked_through_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    // The file has the digest that the stream's masker recorded, so nothing else looks into it.
    fs::write(dir.stdout(), "hunter22").unwrap();
    fs::write(dir.stderr(), "hunter22").unwrap();
    let written = Some(pieces::measure(&dir.stdout()).unwrap());
    let written = Written { stdout: written, ..Written::default() };
    assert_eq!(mask(&dir, &secrets(), Moment::Settling(&written)).len(), 1);
    assert_eq!(fs::read_to_string(dir.stdout()).unwrap(), "hunter22");
    assert_eq!(fs::read_to_string(dir.stderr()).unwrap(), "***");
}

#[test]
fn the_end_of_a_stream_that_its_command_has_written_to_is_masked() {
    let ring = |count: u64, content: &str| [&count.to_le_bytes()[..], content.as_bytes()].concat();
    for (bytes, end) in [
        (ring(4, "fine"), "fine"),
        (ring(12, "a hunter22 b"), "a *** b"),
        // The ring has wrapped in the middle of the value.
        (ring(12 + 4, "er22 b hunt a"), " b hunt a"),
        (ring(13 + 6, "er22 bb a hunt"), "bb a hunter22"),
        // The command can also change the count.
        (ring(0, "a hunter22 b"), ""),
        (b"hunter22".to_vec(), ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        let path = dir.path().join("stdout.ring");
        fs::write(&path, &bytes).unwrap();
        mask(&dir, &secrets(), LOST);
        let found = fs::read(&path).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&found).contains("hunter22"), "{bytes:?}: {found:?}");
        let read = String::from_utf8(stream::end_of(&dir.stdout(), 100).unwrap_or_default()).unwrap();
        assert!(!read.contains("hunter22"), "{bytes:?}: {read}");
        if !end.contains("hunter22") && !end.contains("hunt a") {
            assert_eq!(read, end, "{bytes:?}");
        }
    }
}

#[test]
fn without_a_secret_everything_stays() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    fs::create_dir(dir.output()).unwrap();
    fs::write(dir.output().join("result"), "x").unwrap();
    fs::write(dir.path().join("report.json.tmp"), "x").unwrap();
    assert_eq!(mask(&dir, &Secrets::new(&[]), Moment::Settling(&Written::default())), [""; 0]);
    assert_eq!(names(dir.path()), ["output", "output/result", "report.json.tmp"]);
}

#[test]
fn many_notes_are_few() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    for number in 0..30 {
        fs::create_dir(dir.path().join(format!("{number:02}"))).unwrap();
    }
    let notes = mask(&dir, &secrets(), LOST);
    assert_eq!(notes.len(), MOST_NOTES + 1);
    assert_eq!(notes.last().unwrap(), "10 more notes about files in the attempt's folder");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn where_the_secrets_are_not_known_nothing_of_the_command_stays() {
    let folder = tempfile::tempdir().unwrap();
    let dir = attempt(folder.path());
    fs::create_dir_all(dir.output().join("deep")).unwrap();
    fs::write(dir.report(), "x").unwrap();
    fs::write(dir.path().join("report.json.tmp"), "x").unwrap();
    fs::write(dir.stdout(), "x").unwrap();
    fs::create_dir_all(dir.text().join("deep")).unwrap();
    fs::create_dir(dir.files()).unwrap();
    let removed = remove_all(&dir, |_| false).unwrap();
    assert_eq!(removed, ["files", "output", "report.json", "report.json.tmp", "text"]);
    assert_eq!(names(dir.path()), ["stdout", "text"]);
}
