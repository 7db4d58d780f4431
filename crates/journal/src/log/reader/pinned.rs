//! Runs whose pinned flow cannot be theirs.
//!
//! A run is pinned to its newest flow: that of its start, or that of the newest correction, also while the correction waits, and
//! after one that was dropped. A fork is pinned to the newest flow of the run that it was cut from, also if it was cut before the
//! correction. Whether the flow's text is sound is not looked at here.

use super::Reader;
use crate::{
    model::error::ReadError,
    tables::{projection, sql::RunKey},
};
use envoi_contract::digest::Digest;
use envoi_kernel::event::{Event, Record};
use rusqlite::{Connection, Row, params};

impl Reader {
    /// Runs that are pinned to a flow which they cannot have, or to none, oldest first. The first cannot be known of a run whose first
    /// event cannot be read.
    ///
    /// # Errors
    /// The machine's.
    pub fn runs_of_another_flow(&self) -> Result<Vec<String>, ReadError> {
        let found = || {
            let mut ids = Vec::new();
            for key in runs_pinned_wrongly(&self.conn)? {
                let sql = "SELECT journals.id FROM journals JOIN flows USING (flow) WHERE run = ?1";
                let named =
                    |row: &Row<'_>| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned());
                ids.extend(
                    self.conn.prepare_cached(sql)?.query_map([key], named)?.collect::<Result<Vec<_>, _>>()?,
                );
            }
            Ok(ids)
        };
        found().map_err(|error| Self::failed(error, "a run"))
    }
}

/// Their keys, in their order.
pub(crate) fn runs_pinned_wrongly(conn: &Connection) -> rusqlite::Result<Vec<RunKey>> {
    // The row has the flow in force. Most runs are pinned to that one; only of the others the events are read.
    let sql = "SELECT journals.run, flows.digest, flows.language FROM journals LEFT JOIN runs USING (run) \
               LEFT JOIN flows ON flows.flow = journals.flow \
               WHERE flows.digest IS NULL OR flows.digest IS NOT runs.flow_digest ORDER BY journals.run";
    type Pinned = (RunKey, Option<String>, Option<u32>);
    let pinned = |row: &Row<'_>| -> rusqlite::Result<Pinned> {
        Ok((row.get(0)?, row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default()))
    };
    let suspects: Vec<Pinned> = conn.prepare(sql)?.query_map([], pinned)?.collect::<rusqlite::Result<_>>()?;
    let mut wrong = Vec::new();
    for (key, digest, language) in suspects {
        let (Some(digest), Some(language)) = (digest, language) else {
            wrong.push(key);
            continue;
        };
        let named = named_flows(conn, key)?;
        let is_named = named.iter().any(|(of, version)| of.to_string() == digest && *version == language);
        let is_well = is_named || (is_fork(conn, key)? && keeps_all(conn, key, &named)?);
        if !is_well {
            wrong.push(key);
        }
    }
    Ok(wrong)
}

/// The flows that the events of a run name, with the versions of their language: that of its start, then those that correct it.
pub(crate) fn named_flows(conn: &Connection, key: RunKey) -> rusqlite::Result<Vec<(Digest, u32)>> {
    let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 \
               AND (seq = 0 OR body LIKE '%\"flow_corrected\"%' OR body LIKE '%\"correction_requested\"%') ORDER BY seq";
    let record = |row: &Row<'_>| Ok(projection::record(row).ok());
    let records: Vec<Option<Record>> =
        conn.prepare(sql)?.query_map([key], record)?.collect::<rusqlite::Result<_>>()?;
    let named = records.into_iter().flatten().filter_map(|record| match record.event {
        Event::RunStarted(started) => Some((started.flow_digest, started.language)),
        Event::CorrectionRequested(of) | Event::FlowCorrected(of) => Some((of.after, of.language)),
        _ => None,
    });
    Ok(named.collect())
}

fn is_fork(conn: &Connection, key: RunKey) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND json_valid(body) AND body ->> '$.type' = 'run_forked')";
    conn.prepare_cached(sql)?.query_row([key], |row| row.get(0))
}

fn keeps_all(conn: &Connection, key: RunKey, named: &[(Digest, u32)]) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM earlier_flows JOIN flows USING (flow) WHERE run = ?1 AND digest = ?2 AND language = ?3)";
    let mut kept = conn.prepare_cached(sql)?;
    for (digest, language) in named {
        if !kept.query_row(params![key, digest.to_string(), language], |row| row.get(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}
