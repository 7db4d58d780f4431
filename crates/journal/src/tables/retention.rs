//! Runs are deleted, and their remains are kept: rows of tombstones, of results that were dropped, and of small contents that nothing
//! names.
//!
//! Owns which rows belong to a run. The engine decides which runs are deleted; the reasons against it are checked once more here, within
//! the transaction.

use crate::{
    model::{
        chain::Chain,
        import::{Import, Imported},
        retention::{Removal, SmallContents, Tombstone, Waiting},
    },
    tables::sql::{RunKey, damaged, line, read, signed, unsigned},
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{RunId, Seq};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::BTreeSet;

/// Tables with a column `run` that is the key of a run. All rows of a deleted run go, but its tombstone.
pub(crate) const BY_KEY: [&str; 18] = [
    "runs",
    "handoffs",
    "manifests",
    "places",
    "inbox",
    "waits",
    "refusals",
    "tries",
    "deliveries",
    "snapshots",
    "set_aside",
    "holders",
    "earlier_flows",
    "dropped",
    "imported",
    "done_requests",
    "events",
    "journals",
];

/// Tables with a column `run` that is the id of a run.
pub(crate) const BY_ID: [&str; 3] = ["a2a_tasks", "a2a_messages", "a2a_push"];

/// Why a run that was to be deleted stays.
#[derive(Debug, thiserror::Error)]
#[error("run `{run}` {why}")]
pub(crate) struct Stays {
    run: RunId,
    why: &'static str,
}

/// Deletes the runs, all or none.
pub(crate) fn remove(conn: &Connection, removal: &Removal) -> rusqlite::Result<()> {
    let mut flows = BTreeSet::new();
    for (run, next) in &removal.runs {
        let sql = "SELECT flow FROM journals WHERE id = ?1 UNION \
                   SELECT earlier_flows.flow FROM earlier_flows JOIN journals USING (run) WHERE id = ?1";
        let mut statement = conn.prepare_cached(sql)?;
        let found = statement.query_map([run.as_str()], |row| row.get::<_, Option<i64>>(0))?;
        flows.extend(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        remove_one(conn, run, *next, removal)?;
    }
    // Others that no run has may be of a run whose entry is lost, and are there for a repair.
    let unused = "DELETE FROM flows WHERE flow = ?1 AND flow NOT IN (SELECT flow FROM journals WHERE flow IS NOT NULL) \
                  AND flow NOT IN (SELECT flow FROM earlier_flows)";
    for flow in flows {
        conn.prepare_cached(unused)?.execute([flow])?;
    }
    Ok(())
}

fn remove_one(conn: &Connection, run: &RunId, next: Seq, removal: &Removal) -> rusqlite::Result<()> {
    let stays = |why| Err(damaged(Box::new(Stays { run: run.clone(), why })));
    let row = conn
        .prepare_cached(
            "SELECT journals.run, runs.tenant, runs.flow, runs.ended IS NOT NULL, runs.live_attempts, runs.open_interrupts, \
             (SELECT 1 + max(seq) FROM events WHERE events.run = journals.run) FROM journals JOIN runs USING (run) WHERE journals.id = ?1",
        )?
        .query_row([run.as_str()], |row| {
            Ok((
                row.get::<_, RunKey>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, bool>(3)?,
                row.get::<_, i64>(4)?.saturating_add(row.get::<_, i64>(5)?),
                row.get::<_, Option<i64>>(6)?.map_or(0, unsigned),
            ))
        })
        .optional()?;
    let Some((key, tenant, flow, is_over, open, found)) = row else {
        return stays("is not in the store");
    };
    let waiting = waiting(conn, run, key, removal.at)?;
    match () {
        () if !is_over || open > 0 => return stays("is not over"),
        () if found != next => return stays("has gone on since it was looked at"),
        () if waiting.notices > 0 => return stays("has a notice to deliver"),
        () if waiting.is_task => return stays("may be asked for by a client of A2A"),
        () if waiting.is_newest => return stays("has the newest event of the store"),
        () => {}
    }
    let tombstone = Tombstone {
        run: run.clone(),
        tenant,
        flow,
        head: head(conn, run, key)?,
        events: found,
        deleted_at: removal.at,
        why: removal.why.clone(),
        archive: removal.archive.clone(),
    };
    for table in BY_KEY {
        conn.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [key])?;
    }
    for table in BY_ID {
        conn.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.as_str()])?;
    }
    keep(conn, key, &tombstone)
}

fn keep(conn: &Connection, key: RunKey, left: &Tombstone) -> rusqlite::Result<()> {
    let sql = "INSERT INTO tombstones (run, id, tenant, flow, head, events, deleted_at_ms, why, archive) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        key,
        left.run.as_str(),
        left.tenant,
        left.flow,
        left.head.to_string(),
        signed(left.events),
        left.deleted_at.as_millis(),
        left.why,
        left.archive,
    ];
    conn.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// Notes that a run came with a bundle, and that its events are those of the bundle. The remains of a deletion go: the same events are
/// there again.
pub(crate) fn note_import(conn: &Connection, import: &Import) -> rusqlite::Result<()> {
    let run = &import.run;
    let key: RunKey = conn
        .prepare_cached("SELECT run FROM journals WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))?;
    let found = head(conn, run, key)?;
    if found != import.head {
        return Err(damaged(format!("the head over its events is {found}, not {}", import.head).into()));
    }
    conn.prepare_cached("DELETE FROM tombstones WHERE id = ?1")?.execute([run.as_str()])?;
    let sql = "INSERT INTO imported (run, file, signer, at_ms, by_actor) VALUES (?1, ?2, ?3, ?4, ?5)";
    let Imported { file, signer, at, by } = &import.origin;
    conn.prepare_cached(sql)?.execute(params![key, file, signer, at.as_millis(), by]).map(|_| ())
}

/// From a row of `imported`.
pub(crate) fn imported(row: &Row<'_>) -> rusqlite::Result<Imported> {
    Ok(Imported {
        file: row.get("file")?,
        signer: row.get("signer")?,
        at: Timestamp::from_millis(row.get("at_ms")?),
        by: row.get("by_actor")?,
    })
}

/// From a row of `tombstones`.
pub(crate) fn tombstone(row: &Row<'_>) -> rusqlite::Result<Tombstone> {
    let head: String = row.get("head")?;
    Ok(Tombstone {
        run: read(row, "id")?,
        tenant: row.get("tenant")?,
        flow: row.get("flow")?,
        head: Digest::parse(&head).ok_or_else(|| damaged(format!("`{head}` is no digest").into()))?,
        events: unsigned(row.get("events")?),
        deleted_at: Timestamp::from_millis(row.get("deleted_at_ms")?),
        why: row.get("why")?,
        archive: row.get("archive")?,
    })
}

/// The head of the chain over the events of a run.
pub(crate) fn head(conn: &Connection, run: &RunId, key: RunKey) -> rusqlite::Result<Digest> {
    head_before(conn, run, key, i64::MAX)
}

/// The head of the chain over the events of a run before this one.
pub(crate) fn head_before(
    conn: &Connection,
    run: &RunId,
    key: RunKey,
    until: i64,
) -> rusqlite::Result<Digest> {
    let mut chain = Chain::of(run);
    let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq < ?2 ORDER BY seq";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![key, until])?;
    while let Some(row) = rows.next()? {
        let line = line(unsigned(row.get("seq")?), row.get("at_ms")?, row.get_ref("body")?.as_str()?);
        chain.add(line.as_bytes());
    }
    Ok(chain.head())
}

/// The things that wait for a run.
pub(crate) fn waiting(
    conn: &Connection,
    run: &RunId,
    key: RunKey,
    now: Timestamp,
) -> rusqlite::Result<Waiting> {
    let sql = "SELECT (SELECT count(*) FROM deliveries WHERE run = ?1 AND delivered_at_ms IS NULL AND gave_up_at_ms IS NULL), \
               EXISTS (SELECT 1 FROM a2a_tasks JOIN tokens ON tokens.id = a2a_tasks.token WHERE a2a_tasks.run = ?2 \
                       AND revoked_at_ms IS NULL AND coalesce(expires_at_ms > ?3, 1)) \
               OR EXISTS (SELECT 1 FROM a2a_push WHERE run = ?2 AND state = 'active'), \
               EXISTS (SELECT 1 FROM dropped WHERE run = ?1), \
               (SELECT max(event) FROM events) IS (SELECT max(event) FROM events WHERE run = ?1), \
               (SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE run = ?1)";
    conn.prepare_cached(sql)?.query_row(params![key, run.as_str(), now.as_millis()], |row| {
        Ok(Waiting {
            notices: unsigned(row.get(0)?),
            is_task: row.get(1)?,
            is_dropped: row.get(2)?,
            is_newest: row.get(3)?,
            event_bytes: unsigned(row.get(4)?),
        })
    })
}

/// Notes that the result of a run is given up. A run that is not in the store changes nothing.
pub(crate) fn drop_result(conn: &Connection, run: &RunId, at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO dropped (run, at_ms) SELECT run, ?2 FROM journals WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![run.as_str(), at.as_millis()]).map(|_| ())
}

/// Lays small contents aside, brings them back, or removes them.
pub(crate) fn sweep(conn: &Connection, wanted: &SmallContents) -> rusqlite::Result<()> {
    // They have waited since they were durable here, which the call after that one knows.
    if let Some(at) = wanted.at {
        let wait = "UPDATE old_blobs SET since_ms = ?1 WHERE since_ms > ?1";
        conn.prepare_cached(wait)?.execute([at.as_millis()])?;
    }
    let aside = "INSERT OR REPLACE INTO old_blobs (digest, bytes, since_ms) SELECT digest, bytes, ?2 FROM blobs WHERE digest = ?1";
    let back =
        "INSERT OR IGNORE INTO blobs (digest, bytes) SELECT digest, bytes FROM old_blobs WHERE digest = ?1";
    for digest in &wanted.aside {
        conn.prepare_cached(aside)?.execute(params![digest.as_bytes(), i64::MAX])?;
        conn.prepare_cached("DELETE FROM blobs WHERE digest = ?1")?.execute([digest.as_bytes()])?;
    }
    for digest in &wanted.back {
        conn.prepare_cached(back)?.execute([digest.as_bytes()])?;
    }
    for digest in wanted.back.iter().chain(&wanted.gone) {
        conn.prepare_cached("DELETE FROM old_blobs WHERE digest = ?1")?.execute([digest.as_bytes()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CommitError,
        testing::{attempt, commit, ended, place, raised, run, settled, started},
    };
    use envoi_kernel::event::{About, EndStatus};

    /// A table that is forgotten here would keep the rows of a run that is gone, and give them to the next one with its key.
    #[test]
    fn every_table_with_rows_of_runs_is_emptied() {
        let place = place();
        let known: BTreeSet<_> = BY_KEY.into_iter().chain(BY_ID).collect();
        // The answers to requests are remembered, and a tombstone is what is left of a run.
        let others = ["starts", "tombstones"];
        let sql = "SELECT name FROM sqlite_master AS it WHERE type = 'table' \
                   AND EXISTS (SELECT 1 FROM pragma_table_info(it.name) AS of WHERE of.name = 'run')";
        let mut statement = place.reader.conn().prepare(sql).unwrap();
        let found: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        let forgotten: Vec<_> = found
            .iter()
            .filter(|table| !known.contains(table.as_str()) && !others.contains(&table.as_str()))
            .collect();
        assert!(forgotten.is_empty(), "{forgotten:?}");
        assert!(found.len() > known.len());
    }

    #[test]
    fn a_run_that_is_not_over_or_has_gone_on_is_not_deleted_and_neither_are_the_others() {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        let removal = |runs: &[(&str, u64)]| Removal {
            runs: runs.iter().map(|(name, next)| (run(name), *next)).collect(),
            at: Timestamp::from_millis(99),
            why: "old".to_owned(),
            archive: None,
        };
        let over = |name: &str| {
            commit(
                &run(name),
                0,
                [started(&run(name)), attempt("a", 1), settled("a", 1, &[]), ended(EndStatus::Succeeded)],
            )
        };
        for name in ["old", "other"] {
            writer.commit(over(name)).unwrap();
        }
        writer.commit(commit(&run("open"), 0, [started(&run("open")), raised("a", About::Ask)])).unwrap();
        writer.commit(over("newest")).unwrap();
        let refused = |runs: &[(&str, u64)], expected: &str| match writer.remove(removal(runs)) {
            Err(CommitError::Malformed { reason }) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{other:?}"),
        };
        refused(&[("old", 4), ("open", 2)], "`run_open` is not over");
        refused(&[("old", 3)], "has gone on");
        refused(&[("old", 4), ("none", 4)], "`run_none` is not in the store");
        refused(&[("newest", 4)], "the newest event");
        assert_eq!(place.reader.runs(crate::RunFilter::default()).unwrap().len(), 4);
        let head = place.reader.head(&run("old")).unwrap();
        writer.remove(removal(&[("old", 4)])).unwrap();
        assert!(!place.reader.has_run(&run("old")).unwrap());
        let left = place.reader.tombstone(&run("old")).unwrap().unwrap();
        assert_eq!((left.head, left.events, left.why.as_str()), (head, 4, "old"));
        // The others are as they were, and no key is given twice.
        assert_eq!(place.reader.records(&run("other"), 0, None).unwrap().len(), 4);
        writer.commit(over("next")).unwrap();
        assert_eq!(place.reader.records(&run("next"), 0, None).unwrap().len(), 4);
        assert_eq!(place.reader.tombstones().unwrap().len(), 1);
        let count: i64 =
            place.reader.conn().query_row("SELECT count(*) FROM flows", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1, "the flow of the others");
    }

    #[test]
    fn small_contents_are_read_wherever_they_are_until_they_are_removed() {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        let digest = Digest::of(b"small");
        let at = || Timestamp::from_millis(50);
        let sweep = |wanted: SmallContents| writer.sweep(&wanted, at).unwrap();
        writer.put(vec![(digest, b"small".to_vec())]).unwrap();
        sweep(SmallContents { aside: vec![digest], ..SmallContents::default() });
        assert_eq!(place.reader.old_small_contents().unwrap(), [(digest, at(), 5)]);
        assert!(place.reader.small_contents().unwrap().is_empty());
        assert_eq!(place.reader.blob(&digest).unwrap(), b"small");
        // A writer does not rely on a content that is about to go.
        writer.put(vec![(digest, b"small".to_vec())]).unwrap();
        assert_eq!(place.reader.small_contents().unwrap().len(), 1);
        sweep(SmallContents { gone: vec![digest], ..SmallContents::default() });
        assert_eq!(place.reader.blob(&digest).unwrap(), b"small");
        sweep(SmallContents { aside: vec![digest], ..SmallContents::default() });
        sweep(SmallContents { back: vec![digest], ..SmallContents::default() });
        assert!(place.reader.old_small_contents().unwrap().is_empty());
        assert_eq!(place.reader.small_contents().unwrap().len(), 1);
    }
}
