//! A store of the first schema, with questions open and closed, after its upgrade by this program.

use super::{MIGRATIONS, applied, connect, migrate, set_wal};
use crate::{
    Holder, InboxFilter, InterruptState, Layout, Lease, OpenError, RepairOptions, Store, Taken, files,
    repair::repair,
    testing::{answered, cancelled, interrupt, pinned, raised, run, started},
};
use envoi_contract::envelope::InterruptKind;
use envoi_kernel::event::{About, Event};
use rusqlite::{Connection, params};
use std::path::Path;

/// As the first version wrote events: an answer had no words, no channel and no response.
fn first_body(event: &Event) -> String {
    let mut body = serde_json::to_value(event).unwrap();
    let members = body.as_object_mut().unwrap();
    for new in ["channel", "text", "data", "attachments", "raise", "kind", "expires_at", "subject", "found"] {
        members.remove(new);
    }
    body.to_string()
}

/// The store as the first version left it: `x` was answered, `y` is void, `z` and `w` wait.
fn first(root: &Path) -> Layout {
    let layout = Layout::new(root.join(".envoi"));
    layout.create().unwrap();
    let mut conn = connect(&layout.db()).unwrap();
    set_wal(&conn, &layout.db()).unwrap();
    migrate(&mut conn, &layout.db(), &MIGRATIONS[..1], None).unwrap();
    let flow = pinned();
    conn.execute(
        "INSERT INTO flows (flow, digest, language, name, text) VALUES (1, ?1, 1, ?2, ?3)",
        params![flow.digest.to_string(), flow.name, flow.text],
    )
    .unwrap();
    conn.execute("INSERT INTO journals (run, id, flow) VALUES (1, 'run_a', 1)", []).unwrap();
    let events = [
        started(&run("a")),
        raised("x", About::Review),
        answered("x"),
        raised("y", About::Exhausted),
        cancelled("y"),
        raised("z", About::InDoubt),
        raised("w", About::Blocked),
    ];
    for (seq, event) in (0_i64..).zip(&events) {
        let sql = "INSERT INTO events (run, seq, at_ms, body) VALUES (1, ?1, ?2, ?3)";
        conn.execute(sql, params![seq, seq * 1_000, first_body(event)]).unwrap();
    }
    conn.execute_batch(
        "INSERT INTO runs (run, id, flow, flow_digest, workspace, tenant, actor, started_at_ms, updated_at_ms, next_seq, \
         live_attempts, open_interrupts, in_doubt, pending_timers) \
         VALUES (1, 'run_a', 'fix', (SELECT digest FROM flows), '/w', 'local', 'ada', 0, 6000, 7, 0, 2, 1, 0);",
    )
    .unwrap();
    for (id, about, seq, state) in [
        ("int_x", "review", 1, "answered"),
        ("int_y", "exhausted", 3, "cancelled"),
        ("int_z", "in_doubt", 5, "open"),
        ("int_w", "blocked", 6, "open"),
    ] {
        let sql = "INSERT INTO inbox (interrupt, run, about, scope, step, visit, question, raised_at_ms, state) \
                   VALUES (?1, 1, ?2, '', 'critic', 1, 'what now?', ?3, ?4)";
        conn.execute(sql, params![id, about, seq * 1_000, state]).unwrap();
    }
    layout
}

fn damage(layout: &Layout, sql: &str) {
    Connection::open(layout.db()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn questions_of_the_first_schema_say_as_much_as_new_ones() {
    let place = tempfile::tempdir().unwrap();
    let layout = first(place.path());
    let store = Store::open(layout).unwrap();
    let reader = store.reader().unwrap();
    let pinned = reader.load(&run("a")).unwrap().pinned;
    assert!(pinned.parts.is_empty(), "there were no flows in flows then");
    let rows = reader.inbox(&InboxFilter { run: Some(run("a")), closed: true }).unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.interrupt.clone(), row.kind, row.state)).collect();
    let expected = [
        (interrupt("x"), InterruptKind::AgentReview, InterruptState::Answered),
        (interrupt("y"), InterruptKind::ResourceExhausted, InterruptState::Cancelled),
        (interrupt("z"), InterruptKind::SystemError, InterruptState::Open),
        (interrupt("w"), InterruptKind::AgentReview, InterruptState::Open),
    ];
    assert_eq!(shown, expected);
    let closed: Vec<_> = rows.iter().filter_map(|row| row.closed.clone()).collect();
    let told: Vec<_> = closed.iter().map(|closed| (closed.seq, closed.at.as_millis())).collect();
    assert_eq!(told, [(2, 2_000), (4, 4_000)]);
    assert_eq!((closed[0].answer.as_deref(), closed[0].by.as_deref()), (Some("rerun"), Some("ada")));
    assert_eq!((&closed[1].answer, &closed[1].by), (&None, &None));
    // A run of the first version goes on: its old answers are files like new ones.
    let written = files::restore_run(store.layout(), &reader, &run("a")).unwrap();
    assert_eq!(written, [store.layout().answer(&run("a"), &interrupt("x")).join("answer.json")]);
    let report = repair(&store, store.take_epoch().unwrap(), RepairOptions::default()).unwrap();
    assert!(report.is_clean(), "what was upgraded is what repair would write: {report:?}");
}

#[test]
fn a_store_that_an_engine_works_with_is_not_upgraded_under_it() {
    let place = tempfile::tempdir().unwrap();
    let layout = first(place.path());
    let Ok(Taken::Lease(old)) = Lease::try_take(&layout) else { panic!("it is free") };
    old.announce(&Holder { pid: 1, socket: "/tmp/old".into() }).unwrap();
    let error = Store::open(layout.clone()).unwrap_err();
    assert!(matches!(error, OpenError::OlderInUse { found: 1, .. }), "{error}");
    assert_eq!(applied(&connect(&layout.db()).unwrap(), &layout.db(), MIGRATIONS).unwrap(), 1);
    old.release();
    Store::open(layout.clone()).unwrap();
    // Once it is what this program knows, an engine is no obstacle; and the one that migrated does not stay the engine.
    let Ok(Taken::Lease(new)) = Lease::try_take(&layout) else { panic!("it was given back") };
    new.announce(&Holder { pid: 1, socket: "/tmp/new".into() }).unwrap();
    Store::open(layout).unwrap();
    new.release();
}

#[test]
fn an_upgrade_leaves_what_it_cannot_read_to_repair() {
    let place = tempfile::tempdir().unwrap();
    let layout = first(place.path());
    damage(&layout, "UPDATE events SET body = 'no JSON' WHERE seq = 4; DELETE FROM events WHERE seq = 2");
    let store = Store::open(layout).unwrap();
    let reader = store.reader().unwrap();
    let rows = reader.inbox(&InboxFilter { run: Some(run("a")), closed: true }).unwrap();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.closed.is_none()));
    // The outcome of `x` is not known; its run can still be loaded.
    assert_eq!(files::restore_run(store.layout(), &reader, &run("a")).unwrap().len(), 0);
    let report = repair(&store, store.take_epoch().unwrap(), RepairOptions::default()).unwrap();
    assert_eq!((report.gaps.len(), report.unreadable.len()), (1, 1), "{report:?}");
}
