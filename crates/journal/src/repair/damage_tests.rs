//! Every table and every column of the store, damaged in every way that SQLite allows.
//!
//! After any damage: the store opens, the other runs and clients are served, the damage is reported, a repair mends it or reports what
//! stays, and a second repair finds nothing new to mend. [`TOLD_BY_NOTHING`] lists the columns in which a wrong value cannot be
//! recognized.

use super::*;
use crate::{
    Layout, Reader, RunFilter, RunRow, Store,
    tables::schema,
    testing::{attempt, commit, ended, handoff, raised, run, settled, started, timer_set},
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::event::{About, EndStatus, Event};
use rusqlite::Connection;
use std::{fs, path::Path, thread};

/// The values of these columns are stored nowhere else: another value of the right kind is as good as the first. The engine finds a
/// wrong flow when it loads a run: it compares the digests.
const TOLD_BY_NOTHING: &[(&str, &[&str])] = &[
    (
        "a2a_messages",
        &["message", "run", "token", "context", "task", "message_id", "digest", "request", "at_ms", "+", "-"],
    ),
    (
        "a2a_push",
        &[
            "run",
            "id",
            "token",
            "scheme",
            "credentials",
            "next_seq",
            "tries",
            "due_at_ms",
            "state",
            "note",
            "at_ms",
            "client",
            "version",
            "base",
            "+",
            "-",
        ],
    ),
    ("a2a_tasks", &["*"]),
    // The key of a content is its digest; a notice with two rows is sent twice.
    ("blobs", &["blob"]),
    (
        "deliveries",
        &[
            "+",
            "id",
            "seq",
            "run",
            "tries",
            "next_try_at_ms",
            "delivered_at_ms",
            "gave_up_at_ms",
            "last_error",
            "delivery",
            "-",
        ],
    ),
    ("engine", &["epoch"]),
    ("events", &["at_ms", "body"]),
    ("flows", &["*"]),
    ("holders", &["epoch", "since_ms", "run", "-"]),
    ("journals", &["flow"]),
    // A session that is wrong in any way is no session.
    ("page_sessions", &["*"]),
    ("registered_flows", &["*"]),
    ("set_aside", &["*"]),
    ("snapshots", &["*"]),
    ("starts", &["*"]),
    // A store that lies elsewhere is settled there.
    ("store", &["one", "id", "folder", "inode", "adopted_from", "shares_workspaces", "-"]),
    (
        "tokens",
        &["id", "name", "tenant", "digest", "created_at_ms", "expires_at_ms", "revoked_at_ms", "+", "-"],
    ),
    ("uploads", &["*"]),
];

/// The replacements for a value, their types, and whether such a value might be right; `{other}` is the value of another row. Values
/// that the tables do not take are tried too: they are strict.
const VALUES: &[(&str, &[&str], bool)] = &[
    ("NULL", &["INTEGER", "TEXT", "BLOB"], true),
    ("CAST(x'ff00fe' AS TEXT)", &["TEXT"], false),
    ("x'00'", &["BLOB", "TEXT"], false),
    ("'?! no such thing'", &["TEXT", "INTEGER"], true),
    ("-1", &["INTEGER"], true),
    ("9223372036854775807", &["INTEGER"], true),
    ("{other}", &["INTEGER", "TEXT", "BLOB"], true),
];

struct Table {
    name: String,
    columns: Vec<(String, String)>,
    key: Vec<String>,
}

fn tables(conn: &Connection) -> Vec<Table> {
    let names =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let strings = |sql: &str| -> Vec<String> {
        conn.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let table = |name: String| Table {
        columns: strings(&format!("SELECT name FROM pragma_table_info('{name}') ORDER BY cid"))
            .into_iter()
            .zip(strings(&format!("SELECT type FROM pragma_table_info('{name}') ORDER BY cid")))
            .collect(),
        key: strings(&format!("SELECT name FROM pragma_table_info('{name}') WHERE pk > 0 ORDER BY pk")),
        name,
    };
    strings(names).into_iter().map(table).collect()
}

/// A statement that damages a row, its subject, and whether the value might as well be right.
struct Damage {
    table: String,
    column: String,
    sql: String,
    plausible: bool,
}

fn damages(conn: &Connection) -> Vec<Damage> {
    let mut all = Vec::new();
    for Table { name, columns, key } in tables(conn) {
        // Another program's schema is refused as a whole; another test has it.
        if name == "migrations" {
            continue;
        }
        let keys = key.join(", ");
        let row = |order: &str| {
            let order: Vec<String> = key.iter().map(|column| format!("{column} {order}")).collect();
            format!("(SELECT {keys} FROM {name} ORDER BY {} LIMIT 1)", order.join(", "))
        };
        let mut add = |column: &str, sql: String, plausible: bool| {
            all.push(Damage { table: name.clone(), column: column.to_owned(), sql, plausible });
        };
        for (column, kind) in &columns {
            for (value, _, plausible) in VALUES.iter().filter(|(_, kinds, _)| kinds.contains(&kind.as_str()))
            {
                let other = format!("(SELECT {column} FROM {name} WHERE ({keys}) = {})", row("DESC"));
                let value = value.replace("{other}", &other);
                add(
                    column,
                    format!(
                        "UPDATE {name} SET {column} = {value} WHERE ({keys}) = {} AND {column} IS NOT {value}",
                        row("ASC")
                    ),
                    *plausible || column == "state",
                );
            }
        }
        add("-", format!("DELETE FROM {name} WHERE ({keys}) = {}", row("ASC")), true);
        add("-", format!("DELETE FROM {name}"), true);
        // The same row once more, under another key: of another run where the key begins with one.
        let columns: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let (first, rest) = columns.split_first().unwrap();
        let fresh = if key.first() == Some(first) { "77".to_owned() } else { first.clone() };
        let values: Vec<String> = std::iter::once(fresh).chain(rest.iter().cloned()).collect();
        add(
            "+",
            format!(
                "INSERT INTO {name} SELECT {} FROM {name} WHERE ({keys}) = {}",
                values.join(", "),
                row("ASC")
            ),
            true,
        );
    }
    all
}

/// Something in every table, of run `a` first and of run `b` after it; `c` is set aside.
fn lived(root: &Path) {
    let store = Store::open(Layout::new(root)).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let files: [(&str, Option<&[u8]>); 1] = [("a.py", Some(b"small"))];
    for (name, end) in [("a", true), ("b", false), ("c", false)] {
        let id = run(name);
        let Event::AttemptSettled(mut many) = settled("many", 1, &files) else { unreachable!() };
        let (manifest, list) = crate::manifest::write(&std::mem::take(&mut many.files)).unwrap();
        let list = (manifest.list.digest, list);
        many.manifest = Some(manifest);
        let mut events = vec![
            started(&id),
            attempt("repair", 1),
            settled("repair", 1, &files),
            handoff("repair", 1, "done"),
            Event::AttemptSettled(many),
            raised(name, About::Review),
        ];
        events.extend(end.then(|| ended(EndStatus::Succeeded)));
        let blobs = vec![(Digest::of(b"small"), b"small".to_vec()), list];
        writer.commit(crate::Commit { blobs, ..commit(&id, 0, events) }).unwrap();
        files::restore_run(store.layout(), &store.reader().unwrap(), &id).unwrap();
    }
    let pair = |sql: &str| {
        ["a", "b"]
            .map(|name| sql.replace("{n}", name).replace("{run}", if name == "a" { "1" } else { "2" }))
            .join(";")
    };
    let digest = "CAST('{n}2345678901234567890123456789012' AS BLOB)";
    let text = format!("'{}'", Digest::of(b"x"));
    let rows = [
        "INSERT INTO snapshots VALUES ({run}, 3, x'7b7d')".to_owned(),
        "INSERT INTO deliveries (run, seq, kind, id, target, tries, next_try_at_ms) \
         VALUES ({run}, 5, 'question', 'evt_{n}_5', '{\"folder\":\"/\",\"to\":{\"command\":{\"shell\":\"true\"}}}', 0, 5)"
            .to_owned(),
        format!("INSERT INTO tokens VALUES ('{{n}}', '{{n}}', 'local', 'read', {digest}, 1, NULL, NULL)"),
        format!(
            "INSERT INTO registered_flows (tenant, digest, id, language, text, registered_at_ms, registered_by, file) \
             VALUES ('{{n}}', {text}, 'fix', 1, 'flow: fix', 1, 'x', 'fix.yaml')"
        ),
        format!(
            "INSERT INTO page_sessions VALUES ('{{n}}', '{{n}}', 'read', NULL, {digest}, {digest}, 1, 1, 1, NULL)"
        ),
        format!("INSERT INTO starts VALUES ('{{n}}', 'k', {digest}, 'run_{{n}}', 1)"),
        format!("INSERT INTO uploads VALUES ('{{n}}', {digest}, 1, 'text/plain', 1, 'x')"),
        "INSERT INTO a2a_tasks VALUES ('run_{n}', 'local', 't', 'c', 1)".to_owned(),
        format!(
            "INSERT INTO a2a_messages (run, token, context, task, message_id, digest, request, body, at_ms) \
             VALUES ('run_{{n}}', 't', 'c', '', 'm', {digest}, 'r{{n}}', '{{}}', 1)"
        ),
        "INSERT INTO a2a_push (run, id, url, next_seq, tries, due_at_ms, state, at_ms) \
         VALUES ('run_{n}', 'p', 'http://x', 0, 0, 1, 'active', 1)"
            .to_owned(),
    ];
    let conn = schema::connect(&store.layout().db()).unwrap();
    for sql in rows {
        conn.execute_batch(&pair(&sql)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    conn.execute_batch("INSERT INTO set_aside VALUES (3, 1, 'RUN_UNREADABLE', 'why', '')").unwrap();
    drop(writer);
}

/// The faults that the store reports, as in `envoi doctor` and `envoi repair RUN`.
fn named(store: &Store, reader: &Reader) -> Vec<String> {
    let mut found: Vec<String> = reader.damaged_rows().unwrap().iter().map(ToString::to_string).collect();
    for row in reader.all_runs(RunFilter::default()).unwrap() {
        // A run that was set aside before is no damage.
        let was = run("c");
        let found_now = |aside: &crate::Aside| aside.evidence.starts_with("found when the store was read");
        if let Some(aside) = row.aside.filter(|aside| row.run != was || found_now(aside)) {
            found.push(format!("{}: {}", row.run, aside.reason));
        }
        match examine(store.layout(), reader, &row.run) {
            Ok(examination) if examination.is_whole() => {}
            Ok(examination) => found.push(format!("{}: {examination:?}", row.run)),
            Err(error) => found.push(format!("{}: {}", row.run, with_causes(&error))),
        }
        found.extend(reader.load(&row.run).err().map(|error| format!("{}: {error}", row.run)));
    }
    found.extend(reader.runs_of_events_alone().unwrap());
    found
}

fn of_b(reader: &Reader) -> RunRow {
    let rows = reader.all_runs(RunFilter::default()).unwrap();
    rows.into_iter().find(|row| row.run == run("b")).expect("run b is listed")
}

/// That the others are served: run `b`, and the second row of each table.
fn others_go_on(reader: &Reader) {
    let b = run("b");
    assert_eq!(of_b(reader).aside, None);
    assert_eq!(reader.run(&b).unwrap().run, b);
    assert_eq!(reader.load(&b).unwrap().records.len(), 2, "those after its snapshot");
    let all = crate::InboxFilter::default();
    assert!(reader.inbox(&all).unwrap().iter().any(|row| row.run == b), "its question is listed");
    let due = reader.due_deliveries(Timestamp::from_millis(1_000_000), 1).unwrap();
    assert!(due.iter().any(|row| row.run == b) || due.len() == 1, "its notice is sent");
    assert!(reader.token("b").unwrap().is_some() && reader.tokens().unwrap().iter().any(|row| row.id == "b"));
    assert!(reader.active_pushes().unwrap().iter().any(|row| row.run == b), "its push is sent");
    assert_eq!(reader.registered_flows("b").unwrap().len(), 1);
    assert!(reader.find("run_b").unwrap() != crate::Match::None);
}

/// Tries one damage from its beginning to its end; returns the faults.
fn judge(layout: &Layout, damage: &Damage) -> Option<Vec<String>> {
    let conn = schema::connect(&layout.db()).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    match conn.execute(&damage.sql, []) {
        // SQLite refuses it: it cannot occur.
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    drop(conn);
    let mut faults = Vec::new();
    let store = Store::open(layout.clone()).unwrap();
    let reader = store.reader().unwrap();
    let is_whole_table = damage.sql == format!("DELETE FROM {}", damage.table);
    if !is_whole_table && !matches!(damage.table.as_str(), "blobs" | "flows") {
        others_go_on(&reader);
    }
    let found = named(&store, &reader);
    let is_told_by_nothing = (damage.plausible || damage.table == "store")
        && TOLD_BY_NOTHING.iter().any(|(table, columns)| {
            *table == damage.table && (columns.contains(&"*") || columns.contains(&damage.column.as_str()))
        });
    if found.is_empty() && !is_told_by_nothing {
        faults.push("nobody names it".to_owned());
    }
    store.mend_epoch().unwrap();
    let first = repair(&store, store.take_epoch().unwrap(), RepairOptions::default()).unwrap();
    let left = named(&store, &reader);
    // A repair that mends nothing is the same the next time.
    let again = match first.mended_rows.is_empty() && first.mended_files.is_empty() {
        true => first.clone(),
        false => repair(&store, store.take_epoch().unwrap(), RepairOptions::default()).unwrap(),
    };
    if !again.mended_rows.is_empty() || !again.mended_files.is_empty() {
        faults.push(format!("the second repair mends: {again:?}"));
    }
    if !left.is_empty() && again.is_whole() {
        faults.push(format!("left and not named by a repair: {left:?}; the first one: {first:?}"));
    }
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let next = of_b(&reader).next_seq;
    if !is_whole_table && writer.commit(commit(&run("b"), next, [timer_set("z")])).is_err() {
        faults.push("run b does not go on".to_owned());
    }
    Some(faults)
}

#[test]
fn whatever_is_damaged_is_named_and_mended_or_set_aside_and_the_others_go_on() {
    let template = tempfile::tempdir().unwrap();
    lived(template.path());
    let all = damages(&schema::connect(&Layout::new(template.path()).db()).unwrap());
    let threads = 4;
    let total = all.len();
    let outcomes: Vec<(String, Vec<String>)> = thread::scope(|scope| {
        let work = |nth: usize| {
            let mine: Vec<&Damage> = all.iter().skip(nth).step_by(threads).collect();
            move || {
                let folder = tempfile::tempdir().unwrap();
                lived(folder.path());
                let layout = Layout::new(folder.path());
                let whole = fs::read(layout.db()).unwrap();
                let one = |damage: &&Damage| {
                    fs::write(layout.db(), &whole).unwrap();
                    let judged = std::panic::catch_unwind(|| judge(&layout, damage));
                    let faults = judged.unwrap_or_else(|why| {
                        let why = why
                            .downcast_ref::<String>()
                            .cloned()
                            .or(why.downcast_ref::<&str>().map(|why| (*why).to_owned()));
                        Some(vec![format!("panicked: {}", why.unwrap_or_default())])
                    });
                    for beside in ["envoi.db-wal", "envoi.db-shm"] {
                        drop(fs::remove_file(layout.root().join(beside)));
                    }
                    faults.map(|faults| (damage.sql.clone(), faults))
                };
                mine.iter().filter_map(one).collect::<Vec<_>>()
            }
        };
        let all: Vec<_> = (0..threads).map(|nth| scope.spawn(work(nth))).collect();
        all.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Most of the damages must be possible, or the test proves nothing.
    assert!(outcomes.len() * 3 > total, "{} of {total}", outcomes.len());
    let faults: Vec<_> = outcomes.into_iter().filter(|(_, faults)| !faults.is_empty()).collect();
    assert!(faults.is_empty(), "{}: {faults:#?}", faults.len());
}
