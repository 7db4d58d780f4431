//! Data beside the journal, read back by tenant.

use super::*;
use crate::{
    Commit, InboxPage, ReadError, RunChange, RunPage,
    model::manifest,
    testing::{
        TestStore, answered, attempt, commit, interrupt, pinned, place, raised, run, settled, started,
    },
};
use envoi_kernel::{
    event::{About, Event},
    ids::FlowId,
};
use std::collections::BTreeMap;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn token(id: &str, tenant: &str) -> TokenRow {
    TokenRow {
        id: id.to_owned(),
        name: "ci".to_owned(),
        tenant: tenant.to_owned(),
        scopes: "read run".to_owned(),
        digest: Digest::of(id.as_bytes()),
        created_at: at(1),
        expires_at: Some(at(9)),
        revoked_at: None,
    }
}

/// A run of this tenant that has asked `question`.
fn asked(place: &TestStore, name: &str, tenant: &str, question: &str) {
    let mut event = started(&run(name));
    if let Event::RunStarted(started) = &mut event {
        started.by.tenant = tenant.to_owned();
    }
    let begun = commit(&run(name), 0, [event, raised(question, About::Review)]);
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(Commit { pinned: Some(pinned()), ..begun }).unwrap();
}

#[test]
fn a_token_is_kept_until_it_is_revoked_and_its_name_is_never_given_again() {
    let place = place();
    assert!(place.store.create_token(&token("a", "north")).unwrap());
    assert!(!place.store.create_token(&token("b", "north")).unwrap(), "the name is taken");
    assert!(place.store.create_token(&token("c", "south")).unwrap());
    assert_eq!(place.reader.token("a").unwrap(), Some(token("a", "north")));
    assert_eq!(place.reader.token("b").unwrap(), None);
    assert!(place.store.revoke_token("a", at(5)).unwrap());
    assert!(!place.store.revoke_token("a", at(6)).unwrap());
    assert!(!place.store.revoke_token("nobody", at(6)).unwrap());
    let revoked = TokenRow { revoked_at: Some(at(5)), ..token("a", "north") };
    assert_eq!(place.reader.tokens().unwrap(), [revoked, token("c", "south")]);
    assert!(!place.store.create_token(&token("d", "north")).unwrap(), "what it did stands under its name");
}

#[test]
fn a_repeated_start_request_gets_one_run() {
    let place = place();
    let key = |key: &str, tenant: &str, run_name: &str, body: &str| StartKey {
        tenant: tenant.to_owned(),
        key: key.to_owned(),
        body: Digest::of(body.as_bytes()),
        run: run(run_name),
    };
    let first = key("k", "north", "a", "x");
    assert_eq!(place.store.keep_start(&first, at(1)).unwrap(), first);
    assert_eq!(place.store.keep_start(&key("k", "north", "b", "y"), at(2)).unwrap(), first);
    let other = key("k", "south", "c", "y");
    assert_eq!(place.store.keep_start(&other, at(2)).unwrap(), other, "another tenant's key is another key");
}

#[test]
fn the_newest_flow_of_an_id_is_found_and_only_by_its_tenant() {
    let place = place();
    let flow = |text: &str| RegisteredFlow {
        digest: Digest::of(text.as_bytes()),
        id: FlowId::new("fix").unwrap(),
        language: 1,
        file: "fix.yaml".to_owned(),
        text: text.to_owned(),
        parts: BTreeMap::from([("parts/\"a\".yaml".to_owned(), text.to_owned())]),
        registered_at: at(1),
        registered_by: "ada".to_owned(),
    };
    let found =
        |name: &str, tenant: &str| place.reader.registered_flow(tenant, name).unwrap().map(|flow| flow.text);
    assert!(place.store.register_flow("north", &flow("1")).unwrap());
    assert!(place.store.register_flow("north", &flow("2")).unwrap());
    assert_eq!(found("fix", "north").as_deref(), Some("2"));
    assert_eq!(found(&Digest::of(b"1").to_string(), "north").as_deref(), Some("1"));
    assert!(!place.store.register_flow("north", &flow("1")).unwrap());
    assert_eq!(found("fix", "north").as_deref(), Some("1"), "registered again, it is the newest");
    assert_eq!(found("fix", "south"), None);
    assert_eq!(found(&Digest::of(b"1").to_string(), "south"), None);
    let listed = place.reader.registered_flows("north").unwrap();
    assert_eq!(listed, [flow("1"), flow("2")]);
}

#[test]
fn a_page_begins_where_the_last_one_ended_and_a_stranger_s_run_moves_none() {
    let place = place();
    for (name, tenant) in [("a", "north"), ("b", "south"), ("c", "north"), ("d", "north")] {
        asked(&place, name, tenant, &format!("q{name}"));
    }
    let page = |before: Option<&str>| RunPage {
        tenant: "north".to_owned(),
        before: before.map(run),
        limit: 2,
        ..RunPage::default()
    };
    let names = |page: &RunPage| -> Vec<String> {
        place.reader.run_page(page).unwrap().iter().map(|row| row.run.to_string()).collect()
    };
    assert_eq!(names(&page(None)), ["run_d", "run_c"]);
    assert_eq!(names(&page(Some("c"))), ["run_a"]);
    for foreign in ["b", "nobody"] {
        let refused = place.reader.run_page(&page(Some(foreign))).unwrap_err();
        assert_eq!(refused.to_string(), format!("there is no run `run_{foreign}`"));
    }
    let status = |word: &str| RunPage { status: Some(word.to_owned()), limit: 9, ..page(None) };
    assert_eq!(names(&status("waiting")).len(), 3);
    assert_eq!(names(&status("succeeded")).len(), 0);
    let unfinished = RunPage { unfinished: true, limit: 9, ..page(None) };
    let aside = RunPage { aside: true, limit: 9, ..page(None) };
    assert_eq!((names(&unfinished).len(), names(&aside).len()), (3, 0));
    let text = |text: &str| RunPage { text: Some(text.to_owned()), limit: 9, ..page(None) };
    assert_eq!(names(&text("RUN_C")), ["run_c"]);
    assert_eq!(names(&text("%")), [""; 0], "it is a text, not a pattern");
    let row = place.reader.run(&run("c")).unwrap();
    let since = |since: i64| RunPage { since: Some(Timestamp::from_millis(since)), limit: 9, ..page(None) };
    assert_eq!(names(&since(row.started_at.as_millis())).len(), 3);
    assert_eq!(names(&since(row.started_at.as_millis() + 1)).len(), 0);
    let root = |root: &str| RunPage { root: Some(root.to_owned()), limit: 9, ..page(None) };
    assert_eq!(names(&root("run_c")), ["run_c"]);
    assert_eq!(names(&root("run_b")).len(), 0, "it is another tenant's");
    // The same filters count, but for the status.
    let counts = |page: &RunPage| place.reader.run_counts(page).unwrap();
    assert_eq!(counts(&status("succeeded")), [("waiting".to_owned(), 3)]);
    assert_eq!(counts(&page(Some("c"))), [("waiting".to_owned(), 3)], "wherever the page begins");
    assert_eq!(counts(&text("RUN_C")), [("waiting".to_owned(), 1)]);
    assert!(counts(&since(row.started_at.as_millis() + 1)).is_empty());
    assert!(counts(&root("run_b")).is_empty(), "it is another tenant's");
    let inbox = |after: Option<&str>| InboxPage {
        tenant: "north".to_owned(),
        after: after.map(str::to_owned),
        limit: 2,
        ..InboxPage::default()
    };
    let asked = |page: &InboxPage| -> Vec<String> {
        place.reader.inbox_page(page).unwrap().iter().map(|row| row.interrupt.to_string()).collect()
    };
    assert_eq!(asked(&inbox(None)), ["int_qa", "int_qc"]);
    assert_eq!(asked(&inbox(Some("int_qc"))), ["int_qd"]);
    let newest = |after: Option<&str>| InboxPage { newest_first: true, ..inbox(after) };
    assert_eq!(asked(&newest(None)), ["int_qd", "int_qc"]);
    assert_eq!(asked(&newest(Some("int_qc"))), ["int_qa"]);
    assert!(matches!(place.reader.inbox_page(&inbox(Some("int_qb"))), Err(ReadError::Missing { .. })));
    assert!(place.reader.question_of("north", &interrupt("qb")).is_err());
    assert_eq!(place.reader.question_of("south", &interrupt("qb")).unwrap().run, run("b"));
    assert_eq!(place.reader.tenant_of(&run("b")).unwrap().as_deref(), Some("south"));
    let counts = place.reader.counts("north").unwrap();
    assert_eq!((counts.unfinished, counts.open_questions, counts.ended), (3, 3, 0));
}

#[test]
fn a_question_that_a_fork_has_lived_too_is_one_question_and_the_first_run_s() {
    let place = place();
    asked(&place, "b", "north", "q");
    asked(&place, "a", "north", "q");
    asked(&place, "c", "north", "other");
    let page = |of: Option<&str>| InboxPage {
        tenant: "north".to_owned(),
        run: of.map(|of| run(of).to_string()),
        closed: true,
        limit: 10,
        ..InboxPage::default()
    };
    let listed = |of: Option<&str>| -> Vec<(String, String)> {
        let rows = place.reader.inbox_page(&page(of)).unwrap();
        rows.iter().map(|row| (row.interrupt.to_string(), row.run.to_string())).collect()
    };
    let pair = |question: &str, of: &str| (question.to_owned(), of.to_owned());
    assert_eq!(listed(None), [pair("int_other", "run_c"), pair("int_q", "run_b")]);
    assert_eq!(listed(Some("a")), [pair("int_q", "run_a")], "with the fork, its history");
    assert_eq!(place.reader.question_of("north", &interrupt("q")).unwrap().run, run("b"));
}

#[test]
fn news_are_a_tenant_s_own_in_the_order_of_their_commits() {
    let place = place();
    asked(&place, "a", "north", "qa");
    asked(&place, "b", "south", "qb");
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(commit(&run("a"), 2, [answered("qa")])).unwrap();
    let (news, seen) = place.reader.news("north", 0, 10).unwrap();
    let told: Vec<_> = news.iter().map(|item| (item.record.event.name(), item.run.as_str())).collect();
    assert_eq!(told, [("interrupt_raised", "run_a"), ("interrupt_answered", "run_a")]);
    assert_eq!(seen, place.reader.position().unwrap());
    assert_eq!(place.reader.news("north", seen, 10).unwrap(), (Vec::new(), seen));
    assert_eq!(place.reader.newest_of("north").unwrap(), Some((run("a"), 2)));
    assert_eq!(place.reader.newest_of("south").unwrap(), Some((run("b"), 1)));
    assert_eq!(place.reader.newest_of("east").unwrap(), None);
    assert_eq!(place.reader.place_of("north", &run("a"), 1).unwrap(), Some(news[0].position));
    for (tenant, name, seq) in [("north", "b", 1), ("south", "a", 1), ("north", "a", 3), ("north", "x", 0)] {
        assert_eq!(place.reader.place_of(tenant, &run(name), seq).unwrap(), None, "{tenant} {name} {seq}");
    }
    let change = |name, newest, asks| RunChange { run: run(name), newest, asks };
    assert_eq!(place.reader.changes("north", 0).unwrap(), (vec![change("a", 2, true)], seen));
    assert_eq!(place.reader.changes("south", 0).unwrap(), (vec![change("b", 1, true)], seen));
    assert_eq!(place.reader.changes("north", seen).unwrap(), (Vec::new(), seen));
    let (first, after) = place.reader.news("north", 0, 1).unwrap();
    assert_eq!((first.len(), after), (1, first[0].position));
    assert_eq!(place.reader.news("north", after, 1).unwrap().0, news[1..]);
}

/// A run whose one attempt has left these files, as a manifest: its list.
fn listing(place: &TestStore, name: &str, files: &[(&str, &[u8])]) -> Digest {
    let contents: Vec<_> = files.iter().map(|(path, bytes)| (*path, Some(*bytes))).collect();
    let mut event = settled("make", 1, &contents);
    let mut digest = None;
    if let Event::AttemptSettled(settled) = &mut event {
        let (manifest, list) = manifest::write(&std::mem::take(&mut settled.files)).unwrap();
        digest = Some(place.store.blobs().put(&list).unwrap());
        settled.manifest = Some(manifest);
    }
    let mut begun = started(&run(name));
    if let Event::RunStarted(started) = &mut begun {
        started.by.tenant = "north".to_owned();
    }
    let commit = commit(&run(name), 0, [begun, attempt("make", 1), event]);
    place.store.writer(place.store.take_epoch().unwrap()).unwrap().commit(commit).unwrap();
    digest.unwrap()
}

#[test]
fn a_list_that_cannot_be_read_hides_no_content_of_other_runs() {
    let place = place();
    let missing = listing(&place, "a", &[("of/a", b"a")]);
    let damaged = listing(&place, "b", &[("of/b", b"b")]);
    listing(&place, "c", &[("of/c", b"c"), ("x", b"x")]);
    let layout = place.store.layout();
    std::fs::remove_file(layout.blob(&missing)).unwrap();
    std::fs::remove_file(layout.blob(&damaged)).unwrap();
    std::fs::write(layout.blob(&damaged), "{}").unwrap();
    let path = |content: &[u8]| place.reader.path_of_content("north", &Digest::of(content)).unwrap();
    for _ in 0..2 {
        assert_eq!(path(b"c"), Some("of/c".to_owned()));
        assert_eq!((path(b"a"), path(b"b"), path(b"nobody's")), (None, None, None));
        assert!(place.reader.is_content_of("north", &Digest::of(b"x")).unwrap());
        assert!(!place.reader.is_content_of("north", &Digest::of(b"nobody's")).unwrap());
        assert!(!place.reader.is_content_of("south", &Digest::of(b"x")).unwrap());
    }
}

#[test]
fn content_is_its_tenant_s_alone() {
    let place = place();
    let digest = Digest::of(b"minutes");
    let upload = Upload {
        digest,
        size_bytes: 7,
        mime: "text/plain".to_owned(),
        uploaded_at: at(1),
        uploaded_by: "ada".to_owned(),
    };
    assert!(place.store.keep_upload("north", &upload).unwrap());
    assert!(!place.store.keep_upload("north", &upload).unwrap());
    assert_eq!(place.reader.upload("north", &digest).unwrap(), Some(upload));
    assert!(place.reader.is_content_of("north", &digest).unwrap());
    assert!(!place.reader.is_content_of("south", &digest).unwrap());
}
