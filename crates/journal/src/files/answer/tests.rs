//! An answer's files, written, lost, changed, and without what they should hold.

use crate::{
    Commit, Writer,
    files::{project, restore_answer, restore_run},
    testing::{
        TestStore, changed_answer, changed_raise, commit, denied, expired, flow, interrupt, place, raised,
        run, started,
    },
};
use envoi_contract::{
    digest::Digest,
    envelope::InterruptKind,
    json::Value,
    user_envelope::{AttachmentRef, OriginKind},
};
use envoi_kernel::event::{About, Choice, Event};
use std::{fs, path::PathBuf};

fn attached(filename: &str, digest: String) -> AttachmentRef {
    AttachmentRef {
        artifact_id: "art_1".to_owned(),
        representation_revision_id: "rep_1".to_owned(),
        digest,
        mime: "text/plain".to_owned(),
        origin_kind: OriginKind::Upload,
        title: None,
        filename: Some(filename.to_owned()),
        size: None,
    }
}

fn approved(attachments: Vec<AttachmentRef>) -> Event {
    changed_answer("q", |answer| {
        (answer.choice, answer.text, answer.channel) =
            (Choice::Approve, "so be it".to_owned(), "cli".to_owned());
        answer.data = Value::parse_str(r#"{"n":1.50}"#).unwrap();
        answer.attachments = attachments;
    })
}

/// A run whose question `q` was answered so, and its files written.
fn lived(answer: Event) -> (TestStore, Writer, PathBuf) {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let asks = changed_raise("q", |raised| {
        (raised.about, raised.kind) = (About::Ask, Some(InterruptKind::Checkpoint));
    });
    let blobs = [&b"one"[..], b"two"].map(|bytes| (Digest::of(bytes), bytes.to_vec())).to_vec();
    let commit = Commit { blobs, ..commit(&run("a"), 0, [started(&run("a")), asks, answer]) };
    writer.commit(commit.clone()).unwrap();
    for record in &commit.records {
        project(place.store.layout(), &place.reader, &run("a"), &flow(), record).unwrap();
    }
    let folder = place.store.layout().answer(&run("a"), &interrupt("q"));
    (place, writer, folder)
}

fn two_files() -> Vec<AttachmentRef> {
    let one = attached("plan.md", Digest::of(b"one").to_string());
    vec![one, attached("../plan.md", Digest::of(b"two").to_string())]
}

#[test]
fn an_answer_is_a_document_and_the_files_that_came_with_it() {
    let (_place, _writer, folder) = lived(approved(two_files()));
    assert_eq!(fs::read(folder.join("files/plan.md")).unwrap(), b"one");
    assert_eq!(fs::read(folder.join("files/plan-2.md")).unwrap(), b"two");
    let read = fs::read_to_string(folder.join("answer.json")).unwrap();
    let document = Value::parse_str(&read).unwrap();
    let shown = |name: &str| document.get(name).map(Value::compact);
    for (name, expected) in [
        ("text", r#""so be it""#),
        ("interrupt", r#""int_q""#),
        ("step", r#""critic""#),
        ("visit", "1"),
        ("kind", r#""checkpoint""#),
        ("question", r#""what now?""#),
        ("choice", r#""approve""#),
        ("approved", "true"),
        ("data", r#"{"n":1.50}"#),
        ("by", r#""ada""#),
        ("channel", r#""cli""#),
        ("answered_at", r#""1970-01-01T00:00:02.000Z""#),
    ] {
        assert_eq!(shown(name).as_deref(), Some(expected), "{name}");
    }
    let files = document.get("files").and_then(Value::as_array).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.get("filename").and_then(Value::as_str)).collect();
    assert_eq!(names, [Some("plan.md"), Some("plan-2.md")]);
    let path = files[1].get("path").and_then(Value::as_str);
    assert_eq!(path, folder.join("files/plan-2.md").to_str());
    // The head of the document is what contract 5 reads.
    let refs = document.get("attachments").and_then(Value::as_array).map(<[Value]>::len);
    assert_eq!(refs, Some(2));
}

#[test]
fn what_is_missing_or_differs_of_an_answer_is_written_again() {
    let (place, _writer, folder) = lived(approved(two_files()));
    let layout = place.store.layout();
    let written = || restore_run(layout, &place.reader, &run("a")).unwrap();
    assert_eq!(restore_run(layout, &place.reader, &run("a")).unwrap(), Vec::<PathBuf>::new());
    let before = fs::read(folder.join("answer.json")).unwrap();
    for name in ["answer.json", "files/plan.md", "files/plan-2.md"] {
        let path = folder.join(name);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(written(), std::slice::from_ref(&path), "{name} was gone");
        assert_eq!(fs::read(&path).unwrap(), whole);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "changed").unwrap();
        restore_answer(layout, &place.reader, &run("a"), &interrupt("q")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole, "{name} was changed");
    }
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(restore_run(layout, &place.reader, &run("a")).unwrap().len(), 3);
    assert_eq!(fs::read(folder.join("answer.json")).unwrap(), before);
}

#[test]
fn a_file_that_the_store_does_not_have_is_named_and_in_nobodys_way() {
    let gone = Digest::of(b"never stored");
    let mut files = two_files();
    files.insert(0, attached("gone.md", gone.to_string()));
    files.insert(0, attached("odd.md", "md5:1".to_owned()));
    let (place, _writer, folder) = lived(approved(files));
    let read = fs::read_to_string(folder.join("answer.json")).unwrap();
    let document = Value::parse_str(&read).unwrap();
    let files = document.get("files").and_then(Value::as_array).unwrap();
    let reasons: Vec<_> = files.iter().map(|file| file.get("unreadable").and_then(Value::as_str)).collect();
    assert_eq!(reasons[0], Some("`md5:1` is not `sha256:` and 64 digits"));
    assert!(reasons[1].is_some_and(|reason| reason.contains(&gone.to_string())), "{reasons:?}");
    assert_eq!(reasons[2..], [None, None]);
    assert!(files[..2].iter().all(|file| file.get("path").is_none()));
    assert!(!folder.join("files/gone.md").exists());
    assert_eq!(fs::read(folder.join("files/plan.md")).unwrap(), b"one");
    // Once the content is there, so is the file.
    place.store.blobs().put(b"never stored").unwrap();
    let written = restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
    assert_eq!(written, [folder.join("files/gone.md"), folder.join("answer.json")]);
}

#[test]
fn a_denial_is_recognised_and_words_without_an_author_are_no_answer() {
    let (_place, _writer, folder) = lived(denied("q", "carl"));
    let read = fs::read_to_string(folder.join("answer.json")).unwrap();
    let document = Value::parse_str(&read).unwrap();
    let shown = |name: &str| document.get(name).map(Value::compact);
    assert_eq!((shown("approved").as_deref(), shown("by").as_deref()), (Some("false"), Some(r#""carl""#)));
    assert_eq!(shown("attachments"), None);
    let (place, _writer, folder) = lived(expired("q"));
    assert!(!folder.exists());
    restore_answer(place.store.layout(), &place.reader, &run("a"), &interrupt("q")).unwrap_err();
    restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
    assert!(!folder.exists());
}

#[test]
fn an_open_question_has_no_answer_yet() {
    let (place, writer, _) = lived(approved(Vec::new()));
    writer.commit(commit(&run("a"), 3, [raised("open", About::Review)])).unwrap();
    restore_run(place.store.layout(), &place.reader, &run("a")).unwrap();
    let error = restore_answer(place.store.layout(), &place.reader, &run("a"), &interrupt("open"));
    assert!(error.is_err());
    assert!(!place.store.layout().answer(&run("a"), &interrupt("open")).exists());
}

#[test]
fn a_link_in_the_place_of_a_folder_of_an_answer_is_an_error_that_names_it() {
    let (place, _writer, folder) = lived(approved(two_files()));
    let outside = tempfile::tempdir().unwrap();
    for linked in [folder.join("files"), folder.clone(), folder.parent().unwrap().to_owned()] {
        fs::remove_dir_all(&linked).unwrap();
        std::os::unix::fs::symlink(outside.path(), &linked).unwrap();
        let error = restore_answer(place.store.layout(), &place.reader, &run("a"), &interrupt("q"));
        let error = error.unwrap_err();
        assert!(matches!(&error, crate::FileError::Io { path, .. } if *path == linked), "{error}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        fs::remove_file(&linked).unwrap();
        restore_answer(place.store.layout(), &place.reader, &run("a"), &interrupt("q")).unwrap();
        assert_eq!(fs::read(folder.join("files/plan.md")).unwrap(), b"one");
    }
}
