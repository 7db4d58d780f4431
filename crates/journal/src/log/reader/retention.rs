//! The checks before something of the store is deleted: tombstones, the waits for a run, the contents that are named.

use super::{Reader, read_error};
use crate::{
    model::{
        error::ReadError,
        import::Imported,
        retention::{Tombstone, Waiting},
        rows::RunFilter,
    },
    tables::{
        retention,
        sql::{RunKey, signed, unsigned},
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::ids::{AttemptId, RunId, Seq};
use rusqlite::types::ValueRef;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Read as _,
    path::Path,
};

/// The records of attempts are read up to this size.
const MOST_RECORD_BYTES: u64 = 64 << 20;

impl Reader {
    /// The tombstone of a deleted run.
    ///
    /// # Errors
    /// The machine's.
    pub fn tombstone(&self, run: &RunId) -> Result<Option<Tombstone>, ReadError> {
        self.one("SELECT * FROM tombstones WHERE id = ?1", [run.as_str()], retention::tombstone)
    }

    /// The tombstones of all deleted runs, oldest first.
    ///
    /// # Errors
    /// The machine's.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>, ReadError> {
        self.readable("SELECT * FROM tombstones ORDER BY run", [], retention::tombstone, "a tombstone")
    }

    /// The things that wait for a run.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn waiting_for(&self, run: &RunId, now: Timestamp) -> Result<Waiting, ReadError> {
        let key = self.key(run)?;
        retention::waiting(&self.conn, run, key, now).map_err(|error| read_error(error, "a run"))
    }

    /// The head of the chain over the events of a run.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn head(&self, run: &RunId) -> Result<Digest, ReadError> {
        let key = self.key(run)?;
        retention::head(&self.conn, run, key).map_err(|error| read_error(error, "an event"))
    }

    /// The head of the chain over the events of a run up to this one.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn head_at(&self, run: &RunId, last: Seq) -> Result<Digest, ReadError> {
        let key = self.key(run)?;
        let until = signed(last.saturating_add(1));
        retention::head_before(&self.conn, run, key, until).map_err(|error| read_error(error, "an event"))
    }

    /// How a run came that was lived elsewhere; `None`: it was lived here, or there is no such run.
    ///
    /// # Errors
    /// The machine's.
    pub fn imported(&self, run: &RunId) -> Result<Option<Imported>, ReadError> {
        let sql = "SELECT imported.* FROM imported JOIN journals USING (run) WHERE id = ?1";
        self.one(sql, [run.as_str()], retention::imported)
    }

    /// When the first attempt was announced that is not settled; `None` if there is none. An event that cannot be read could be of one that
    /// began at any time.
    ///
    /// # Errors
    /// The machine's.
    pub fn live_since(&self) -> Result<Option<Timestamp>, ReadError> {
        let mut first = None;
        for row in self.runs(RunFilter::default())? {
            let is_set_aside = row.ended.is_none() && row.aside.is_some();
            if row.live_attempts == 0 && !is_set_aside {
                continue;
            }
            let mut live: BTreeMap<AttemptId, Timestamp> = BTreeMap::new();
            let mut is_whole = true;
            self.each_event(&row.run, |_, record| match record.map(|record| (record.at, record.event)) {
                Ok((at, envoi_kernel::Event::AttemptStarted(started))) => {
                    live.insert(started.attempt.clone(), at);
                }
                Ok((_, envoi_kernel::Event::AttemptSettled(settled))) => {
                    live.remove(&settled.attempt);
                }
                Ok(_) => {}
                Err(_) => is_whole = false,
            })?;
            let oldest = if is_whole { live.into_values().min() } else { Some(Timestamp::from_millis(0)) };
            first = [first, oldest].into_iter().flatten().min();
        }
        Ok(first)
    }

    /// Every digest that anything in the database names, or the record of an attempt, but for what belongs to these runs. Everything
    /// that looks like a digest counts, in any column: a content that is not known to be named could be lost. Contents that name others
    /// are not read.
    ///
    /// # Errors
    /// The machine's.
    pub fn named_digests(&self, but: &BTreeSet<RunId>) -> Result<BTreeSet<Digest>, ReadError> {
        let mut found = BTreeSet::new();
        self.consistently(|| {
            let mut keys = BTreeSet::new();
            for run in but {
                keys.insert(Owner::Id(run.as_str().to_owned()));
                keys.extend(self.known_key(run)?.map(Owner::Key));
            }
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
            let tables: Vec<String> = self.rows(sql, [], |row| row.get(0), "the schema")?;
            // These tables store contents; they do not refer to them. A tombstone has no content.
            let own = ["blobs", "old_blobs", "tombstones", "migrations"];
            for table in tables.iter().filter(|table| !own.contains(&table.as_str())) {
                self.digests_in(table, &keys, &mut found).map_err(|error| read_error(error, table))?;
            }
            Ok(())
        })?;
        records_of_attempts(&self.blobs.layout().runs(), but, &mut found)
            .map_err(|error| ReadError::Io { source: std::sync::Arc::new(error) })?;
        Ok(found)
    }

    /// Every digest that the events of a run name, and the lists of artifacts that they name.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Blob`] for a list.
    pub fn digests_of(&self, run: &RunId) -> Result<BTreeSet<Digest>, ReadError> {
        let key = self.key(run)?;
        let mut found = BTreeSet::new();
        let texts: Vec<String> =
            self.rows("SELECT body FROM events WHERE run = ?1", [key], |row| row.get(0), "an event")?;
        texts.iter().for_each(|text| digests(text.as_bytes(), &mut found));
        let list = |row: &rusqlite::Row<'_>| row.get(0).map(Digest::from_bytes);
        let lists: Vec<Digest> =
            self.rows("SELECT digest FROM manifests WHERE run = ?1", [key], list, "a list of artifacts")?;
        for list in lists {
            digests(&self.blob(&list).map_err(ReadError::Blob)?, &mut found);
        }
        Ok(found)
    }

    fn digests_in(
        &self,
        table: &str,
        but: &BTreeSet<Owner>,
        found: &mut BTreeSet<Digest>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.conn.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns = statement.column_count();
        let is_of_runs = [&retention::BY_KEY[..], &retention::BY_ID[..]].concat().contains(&table);
        let owner = statement.column_index("run").ok().filter(|_| is_of_runs);
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let of = match owner.map(|column| row.get_ref(column)).transpose()? {
                Some(ValueRef::Integer(key)) => Some(Owner::Key(key)),
                Some(ValueRef::Text(id)) => Some(Owner::Id(String::from_utf8_lossy(id).into_owned())),
                _ => None,
            };
            if of.is_some_and(|of| but.contains(&of)) {
                continue;
            }
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Text(text) => digests(text, found),
                    ValueRef::Blob(bytes) => {
                        found.extend(<[u8; 32]>::try_from(bytes).ok().map(Digest::from_bytes));
                        digests(bytes, found);
                    }
                    ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The digests of small contents that were laid aside, each with the moment.
    ///
    /// # Errors
    /// The machine's.
    pub fn old_small_contents(&self) -> Result<Vec<(Digest, Timestamp, u64)>, ReadError> {
        let sql = "SELECT digest, since_ms, octet_length(bytes) AS size FROM old_blobs";
        let row = |row: &rusqlite::Row<'_>| {
            let size: i64 = row.get("size")?;
            Ok((
                Digest::from_bytes(row.get("digest")?),
                Timestamp::from_millis(row.get("since_ms")?),
                unsigned(size),
            ))
        };
        self.readable(sql, [], row, "content")
    }

    /// Pages of the database that nothing uses.
    ///
    /// # Errors
    /// The machine's.
    fn free_pages(&self) -> Result<u64, ReadError> {
        self.pragma("freelist_count")
    }

    /// Bytes of the database that nothing uses.
    ///
    /// # Errors
    /// The machine's.
    pub fn free_bytes(&self) -> Result<u64, ReadError> {
        Ok(self.free_pages()?.saturating_mul(self.pragma("page_size")?))
    }

    fn pragma(&self, name: &str) -> Result<u64, ReadError> {
        let found = self.one(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))?;
        Ok(found.map_or(0, unsigned))
    }

    /// The digests of small contents, each with its size.
    ///
    /// # Errors
    /// The machine's.
    pub fn small_contents(&self) -> Result<Vec<(Digest, u64)>, ReadError> {
        let row = |row: &rusqlite::Row<'_>| {
            let size: i64 = row.get("size")?;
            Ok((Digest::from_bytes(row.get("digest")?), unsigned(size)))
        };
        self.readable("SELECT digest, octet_length(bytes) AS size FROM blobs", [], row, "content")
    }
}

/// The run that a row belongs to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Key(RunKey),
    Id(String),
}

/// Adds every digest in a text.
pub fn digests(text: &[u8], found: &mut BTreeSet<Digest>) {
    const MARK: &[u8] = b"sha256:";
    const LENGTH: usize = MARK.len() + 64;
    let mut rest = text;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK) {
        rest = rest.get(at..).unwrap_or_default();
        let digest = rest.get(..LENGTH).and_then(|text| core::str::from_utf8(text).ok());
        found.extend(digest.and_then(Digest::parse));
        rest = rest.get(MARK.len()..).unwrap_or_default();
    }
}

/// Contents that an attempt has left are named by its record before an event names them.
fn records_of_attempts(runs: &Path, but: &BTreeSet<RunId>, found: &mut BTreeSet<Digest>) -> io::Result<()> {
    let is_left_out = |folder: &Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| but.iter().any(|run| run.as_str() == name))
    };
    for run in folders(runs)?.into_iter().filter(|folder| !is_left_out(folder)) {
        for attempt in folders(&run.join("attempts"))? {
            for entry in entries(&attempt)? {
                let is_record = entry.path().extension().is_some_and(|extension| extension == "json");
                // Nothing else is opened: a step can put anything there.
                if !is_record || !entry.file_type()?.is_file() {
                    continue;
                }
                let mut bytes = Vec::new();
                let read = fs::File::open(entry.path())
                    .and_then(|file| file.take(MOST_RECORD_BYTES).read_to_end(&mut bytes));
                match read {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                    Ok(_) => digests(&bytes, found),
                }
            }
        }
    }
    Ok(())
}

/// The folders in a folder, none of them a link.
fn folders(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The entries of a folder; none if it is missing. If a folder cannot be read, the contents that its records name are not known.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", folder.display()));
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(error)),
        Ok(entries) => entries.collect::<io::Result<_>>().map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_found_wherever_it_stands() {
        let digest = Digest::of(b"x");
        let other = Digest::of(b"y");
        let text = format!("sha256:sha256:{digest} \"sha256:12\" {{\"a\":\"{other}\"}}{digest}sha256:");
        let mut found = BTreeSet::new();
        digests(text.as_bytes(), &mut found);
        assert_eq!(found, BTreeSet::from([digest, other]));
    }
}
