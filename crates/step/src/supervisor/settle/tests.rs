//! What an attempt hands over, and how its record names it.

use super::{
    handed::{Copies, listed_bytes},
    *,
};
use crate::{
    attempt::{
        dir::AttemptDir,
        record::{Change, FileChange, FileRef, LARGEST_RECORD_BYTES, MOST_FILES, MostFiles},
        spec::{Command, NoArtifacts, Spec},
    },
    mask::Secrets,
    workspace::artifacts::{self, Digests, Seen},
};
use std::path::Path;

fn attempt(root: &Path) -> Attempt {
    let spec = Spec {
        run_id: "run_1".to_owned(),
        attempt: "work.1.1".to_owned(),
        command: Command::Shell { script: String::new() },
        cwd: root.to_owned(),
        env: Vec::new(),
        workspace: root.to_owned(),
        artifacts: Vec::new(),
        never: Vec::new(),
        keep: None,
        set_back: None,
        cache: None,
        since: None,
        if_no_artifacts: NoArtifacts::Warn,
        timeout_ms: None,
        lease_until_ms: None,
        grace_ms: 0,
        stream_cap_bytes: 0,
        text_cap_bytes: 0,
        success_codes: Vec::new(),
        secrets: Vec::new(),
        boot_id: String::new(),
        start: String::new(),
        secret_marks: Vec::new(),
        own_folder: None,
    };
    Attempt {
        dir: AttemptDir::new(root.join("work.1.1")),
        spec,
        secrets: Secrets::new(&[]),
        most_files: MOST_FILES,
        reached: |_| {},
    }
}

#[test]
fn more_files_than_the_record_can_list_are_counted_and_not_copied() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(root.path().join(name), name).unwrap();
    }
    let mut attempt = attempt(root.path());
    attempt.spec.artifacts = vec!["?".to_owned()];
    attempt.spec.stream_cap_bytes = 1024;
    attempt.spec.text_cap_bytes = 1024;
    let before = Before::take(&attempt.spec, &attempt.dir, &attempt.secrets).unwrap();
    let ended = Ended { ran: true, ..Ended::without_start(Outcome::Exited { code: 0 }) };
    let bytes = 3 * listed_bytes("a", false, false);
    let rows = [
        (MostFiles { files: 3, bytes }, None),
        (MostFiles { files: 2, bytes }, Some(3)),
        (MostFiles { files: 3, bytes: bytes - 1 }, Some(3)),
    ];
    for (most_files, too_many) in rows {
        attempt.most_files = most_files;
        drop(std::fs::remove_dir_all(attempt.dir.path()));
        std::fs::create_dir_all(attempt.dir.path()).unwrap();
        attempt.settle(&ended, Some(&before), None).unwrap();
        let record = std::fs::read(attempt.dir.exit()).unwrap();
        let exit: Exit = serde_json::from_slice(&record).unwrap();
        assert_eq!((exit.too_many_files, exit.warnings), (too_many, Vec::new()), "{most_files:?}");
        let files = if too_many.is_some() { 0 } else { 3 };
        assert_eq!(exit.files.len(), files, "{most_files:?}");
        assert_eq!(attempt.dir.path().join("files").exists(), too_many.is_none(), "{most_files:?}");
    }
}

#[test]
fn a_glob_without_a_file_is_a_warning_or_nothing_or_why_the_attempt_fails() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("there"), "1").unwrap();
    std::fs::create_dir(root.path().join("folder")).unwrap();
    let mut attempt = attempt(root.path());
    attempt.spec.artifacts = ["there", "missing", "folder"].map(str::to_owned).to_vec();
    attempt.spec.stream_cap_bytes = 1024;
    attempt.spec.text_cap_bytes = 1024;
    let before = Before::take(&attempt.spec, &attempt.dir, &attempt.secrets).unwrap();
    let sentences = [
        "no file matches `artifacts: missing`",
        "no file matches `artifacts: folder`: `folder` is a folder, and only regular files are handed over",
    ];
    let exited = |code| Ended { ran: true, ..Ended::without_start(Outcome::Exited { code }) };
    let rows: [(NoArtifacts, i32, &[&str], &[&str]); 4] = [
        (NoArtifacts::Warn, 0, &sentences, &[]),
        (NoArtifacts::Ignore, 0, &[], &[]),
        (NoArtifacts::Fail, 0, &[], &sentences),
        // The command has failed by itself.
        (NoArtifacts::Fail, 1, &[], &[]),
    ];
    for (policy, code, warnings, fails) in rows {
        attempt.spec.if_no_artifacts = policy;
        drop(std::fs::remove_dir_all(attempt.dir.path()));
        std::fs::create_dir_all(attempt.dir.path()).unwrap();
        attempt.settle(&exited(code), Some(&before), None).unwrap();
        let exit: Exit = serde_json::from_slice(&std::fs::read(attempt.dir.exit()).unwrap()).unwrap();
        assert_eq!((exit.warnings, exit.no_artifacts), (owned(warnings), owned(fails)), "{policy:?}, {code}");
    }
}

fn owned(sentences: &[&str]) -> Vec<String> {
    sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
}

#[test]
fn no_file_takes_more_of_the_record_than_is_counted_for_it() {
    for path in ["a", "folder/\"quoted\"\u{1} \u{e9}\u{1f600}", &"long/".repeat(800)] {
        let of = |folder: &str| {
            Some(FileRef { path: format!("{folder}/{path}"), bytes: u64::MAX, sha256: "f".repeat(64) })
        };
        let mut file =
            FileChange { path: path.to_owned(), change: Change::Unchanged, file: of("files"), before: None };
        let bytes = |file: &FileChange| serde_json::to_string(file).unwrap().len() + 1;
        assert!(bytes(&file) <= listed_bytes(path, false, false), "{path}");
        file.before = of("before");
        let secret = serde_json::to_string(path).unwrap().len() + 1;
        assert!(bytes(&file) + secret <= listed_bytes(path, true, true), "{path}");
    }
    assert!(u64::try_from(MOST_FILES.bytes).unwrap() <= LARGEST_RECORD_BYTES - 32 * 1024 * 1024);
}

#[test]
fn a_file_that_is_gone_when_it_would_be_copied_is_a_deleted_one() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", root.path().join("link")).unwrap();
    let digest = |name: &str, digest: &str| (name.to_owned(), Some(digest.to_owned()));
    let names = ["file", "folder", "link", "link/below"];
    let before: Digests = names.map(|name| digest(name, "before")).into();
    let mut seen = Seen::default();
    seen.digests.extend(names.into_iter().chain(["new"]).map(|name| digest(name, "after")));
    let changes = artifacts::changes(&before, &seen, false);
    let handed = attempt(root.path()).hand_over(changes, &seen, Copies::new()).unwrap();
    let found: Vec<_> = handed.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(found, names.map(|name| (name, Change::Deleted)));
    assert_eq!(handed.left_out, Vec::<String>::new());
}
