//! The data that network clients read: everything by tenant.
//!
//! A row of another tenant is never found and never moves a page: an id that is not the tenant's is as if it did not exist.

use super::{Reader, decode};
use crate::{
    model::{
        error::ReadError,
        network::{
            Counts, InboxPage, NewsItem, PageSession, RegisteredFlow, RunChange, RunPage, TokenRow, Upload,
        },
        rows::{InboxRow, RunRow},
    },
    tables::{
        names::name_of,
        notes::select_runs,
        projection,
        sql::{damaged, read, signed, unsigned},
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::FileChange,
    ids::{FlowId, InterruptId, RunId, Seq},
};
use rusqlite::{Row, params};

/// Questions, and the events that close them. An end closes all that were open.
const NEWS: &str = "('interrupt_raised', 'interrupt_answered', 'interrupt_expired', 'interrupt_cancelled', \
                    'vote_cast', 'run_ended')";

/// The status of a run: a word of [`crate::RunStatus`].
const STATUS: &str = "coalesce(ended, CASE WHEN open_interrupts > 0 AND live_attempts = 0 AND pending_timers = 0 \
                      THEN 'waiting' ELSE 'running' END)";

/// Runs of a tenant (1), of a flow (2), since a time (3), of a family (4), with a text (5).
const RUNS_LIKE: &str = "tenant = ?1 AND (?2 IS NULL OR flow = ?2) AND (?3 IS NULL OR started_at_ms >= ?3) \
     AND (?4 IS NULL OR root = ?4 OR runs.id = ?4) AND (?5 IS NULL OR instr(lower(runs.id || ' ' || flow || ' ' \
     || coalesce(step, '') || ' ' || actor || ' ' || coalesce(runs.reason, '')), lower(?5)) > 0)";

/// Events that are looked at for one page of news, however few of them are any.
const SCANNED: u64 = 512;

impl Reader {
    /// All tokens that can be read, those that are no good any more too, by tenant and name.
    ///
    /// # Errors
    /// The machine's.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, ReadError> {
        self.readable("SELECT * FROM tokens ORDER BY tenant, name", [], token, "a token")
    }

    /// Whether the store has ever had a token.
    ///
    /// # Errors
    /// The machine's.
    pub fn has_tokens(&self) -> Result<bool, ReadError> {
        Ok(self.one("SELECT EXISTS (SELECT 1 FROM tokens)", [], |row| row.get(0))?.unwrap_or(false))
    }

    /// The token with this id. A token that cannot be read does not count.
    ///
    /// # Errors
    /// The machine's.
    pub fn token(&self, id: &str) -> Result<Option<TokenRow>, ReadError> {
        Ok(self.readable("SELECT * FROM tokens WHERE id = ?1", [id], token, "a token")?.pop())
    }

    /// The session of the web page with this id. A session that cannot be read does not count.
    ///
    /// # Errors
    /// The machine's.
    pub fn page_session(&self, id: &str) -> Result<Option<PageSession>, ReadError> {
        let sql = "SELECT * FROM page_sessions WHERE id = ?1";
        Ok(self.readable(sql, [id], page_session, "a session")?.pop())
    }

    /// Whose a run is.
    ///
    /// # Errors
    /// The machine's.
    pub fn tenant_of(&self, run: &RunId) -> Result<Option<String>, ReadError> {
        let key = self.known_key(run)?;
        self.one("SELECT tenant FROM runs WHERE run = ?1", [key], |row| row.get(0))
    }

    /// A question of a tenant: that of the run that put it first, if forks have it in their history too.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the tenant has none of this id.
    pub fn question_of(&self, tenant: &str, interrupt: &InterruptId) -> Result<InboxRow, ReadError> {
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox JOIN runs USING (run) \
             WHERE interrupt = ?1 AND tenant = ?2 ORDER BY inbox.run LIMIT 1",
            name_of("inbox.run")
        );
        let row = self.one(&sql, [interrupt.as_str(), tenant], decode::question)?;
        row.ok_or_else(|| ReadError::Missing { what: "question", id: interrupt.to_string() })
    }

    /// A page of the runs of a tenant.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the run before which it is to begin is none of the tenant's.
    pub fn run_page(&self, page: &RunPage) -> Result<Vec<RunRow>, ReadError> {
        let before = page.before.as_ref().map(|run| self.key_of(&page.tenant, run)).transpose()?;
        let sql = select_runs(&format!(
            "WHERE {RUNS_LIKE} AND (?6 IS NULL OR runs.run < ?6) AND (?7 IS NULL OR ?7 = {STATUS}) \
             AND (NOT ?9 OR runs.run IN (SELECT run FROM set_aside)) AND (NOT ?10 OR ended IS NULL) ORDER BY runs.run DESC LIMIT ?8"
        ));
        let since = page.since.map(Timestamp::as_millis);
        let values = params![
            page.tenant,
            page.flow,
            since,
            page.root,
            page.text,
            before,
            page.status,
            page.limit,
            page.aside,
            page.unfinished
        ];
        self.rows(&sql, values, |row| self.run_row(row), "a run")
    }

    /// The number of runs of a tenant by status, without statuses that no run has. The filters of the page apply, but not its
    /// status, start or length.
    ///
    /// # Errors
    /// The machine's.
    pub fn run_counts(&self, page: &RunPage) -> Result<Vec<(String, u64)>, ReadError> {
        let sql = format!("SELECT {STATUS}, count(*) FROM runs WHERE {RUNS_LIKE} GROUP BY 1 ORDER BY 1");
        let since = page.since.map(Timestamp::as_millis);
        let values = params![page.tenant, page.flow, since, page.root, page.text];
        self.rows(&sql, values, |row| Ok((row.get(0)?, unsigned(row.get(1)?))), "a count of runs")
    }

    fn key_of(&self, tenant: &str, run: &RunId) -> Result<i64, ReadError> {
        let sql = "SELECT run FROM runs WHERE run = ?1 AND tenant = ?2";
        let key = self.one(sql, params![self.known_key(run)?, tenant], |row| row.get(0))?;
        key.ok_or_else(|| ReadError::Missing { what: "run", id: run.to_string() })
    }

    /// A page of the questions of a tenant. A question that a fork has from the history of another run is shown only with the fork.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the question after which it is to begin is none of the tenant's.
    pub fn inbox_page(&self, page: &InboxPage) -> Result<Vec<InboxRow>, ReadError> {
        let after = page.after.as_deref().map(|id| {
            let sql =
                "SELECT raised_at_ms FROM inbox JOIN runs USING (run) WHERE interrupt = ?1 AND tenant = ?2";
            let at: Option<i64> = self.one(sql, [id, &page.tenant], |row| row.get(0))?;
            at.ok_or_else(|| ReadError::Missing { what: "question", id: id.to_owned() })
        });
        let after = after.transpose()?;
        let (beyond, order) = if page.newest_first { ("<", "DESC") } else { (">", "ASC") };
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox JOIN runs USING (run) \
             WHERE tenant = ?1 AND (runs.id = ?2 OR (?2 IS NULL AND NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE \
             asked.interrupt = inbox.interrupt AND asked.run < inbox.run))) AND (?3 OR state = 'open') \
             AND (?4 IS NULL OR (raised_at_ms, interrupt) {beyond} (?4, ?5)) \
             ORDER BY raised_at_ms {order}, interrupt {order} LIMIT ?6",
            name_of("inbox.run")
        );
        let values = params![page.tenant, page.run, page.closed, after, page.after, page.limit];
        self.rows(&sql, values, decode::question, "a question")
    }

    /// The place of the newest event of all runs.
    ///
    /// # Errors
    /// The machine's.
    pub fn position(&self) -> Result<u64, ReadError> {
        let newest = self.one("SELECT max(event) FROM events", [], |row| row.get::<_, Option<i64>>(0))?;
        Ok(newest.flatten().map_or(0, unsigned))
    }

    /// The latest time that an event of any run bears; none in a store without runs.
    ///
    /// # Errors
    /// The machine's.
    pub fn newest_event_at(&self) -> Result<Option<Timestamp>, ReadError> {
        let sql = "SELECT max(updated_at_ms) FROM runs";
        let newest = self.one(sql, [], |row| row.get::<_, Option<i64>>(0))?;
        Ok(newest.flatten().map(Timestamp::from_millis))
    }

    /// The newest event of a tenant.
    ///
    /// # Errors
    /// The machine's.
    pub fn newest_of(&self, tenant: &str) -> Result<Option<(RunId, Seq)>, ReadError> {
        let sql = format!(
            "SELECT {} AS id, events.seq AS seq FROM runs JOIN events \
             ON events.run = runs.run AND events.seq = runs.next_seq - 1 \
             WHERE runs.tenant = ?1 ORDER BY events.event DESC LIMIT 1",
            name_of("runs.run")
        );
        self.one(&sql, [tenant], |row| Ok((read(row, "id")?, unsigned(row.get("seq")?))))
    }

    /// The place of a tenant's event among the events of all runs; `None` if the tenant has no such event.
    ///
    /// # Errors
    /// The machine's.
    pub fn place_of(&self, tenant: &str, run: &RunId, seq: Seq) -> Result<Option<u64>, ReadError> {
        let sql = "SELECT events.event FROM runs JOIN events USING (run) \
                   WHERE runs.run = ?1 AND runs.tenant = ?2 AND events.seq = ?3";
        let place = self.one(sql, params![self.known_key(run)?, tenant, signed(seq)], |row| row.get(0))?;
        Ok(place.map(unsigned))
    }

    /// Events about questions of a tenant after a place, at most `limit`, and the place up to which was looked. Nothing new
    /// may be among them although there is more behind: look again from there, unless the place has not moved.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn news(&self, tenant: &str, after: u64, limit: u32) -> Result<(Vec<NewsItem>, u64), ReadError> {
        let until = self.position()?.min(after.saturating_add(SCANNED));
        let sql = format!(
            "SELECT events.event, events.seq, events.at_ms, events.body, {} AS run_id FROM events JOIN runs USING (run) \
             WHERE events.event > ?1 AND events.event <= ?2 AND runs.tenant = ?3 \
             AND CASE WHEN json_valid(events.body) THEN events.body ->> '$.type' IN {NEWS} END \
             ORDER BY events.event LIMIT ?4",
            name_of("events.run")
        );
        // An event that cannot be read is trouble of its run alone: the news of others goes on.
        let item = |row: &Row<'_>| {
            let position = unsigned(row.get("event")?);
            let item = read(row, "run_id").and_then(|run| Ok((run, projection::record(row)?)));
            Ok((position, item.ok().map(|(run, record)| NewsItem { position, run, record })))
        };
        let items =
            self.rows(&sql, params![signed(after), signed(until), tenant, limit], item, "an event")?;
        let full = u32::try_from(items.len()).is_ok_and(|found| found == limit);
        let seen = items.last().filter(|_| full).map_or(until.max(after), |(position, _)| *position);
        Ok((items.into_iter().filter_map(|(_, item)| item).collect(), seen))
    }

    /// The runs of a tenant that have events after a place, with the newest of each, in the order of these; and the place up to
    /// which was looked, as in [`Reader::news`].
    ///
    /// # Errors
    /// The machine's.
    pub fn changes(&self, tenant: &str, after: u64) -> Result<(Vec<RunChange>, u64), ReadError> {
        let until = self.position()?.min(after.saturating_add(SCANNED));
        let sql = format!(
            "SELECT max(events.event), max(events.seq) AS newest, {} AS run_id, max(CASE WHEN json_valid(events.body) \
             THEN events.body ->> '$.type' IN {NEWS} ELSE 0 END) AS asks FROM events JOIN runs USING (run) \
             WHERE events.event > ?1 AND events.event <= ?2 AND runs.tenant = ?3 GROUP BY events.run ORDER BY 1",
            name_of("events.run")
        );
        let change = |row: &Row<'_>| {
            Ok(RunChange {
                run: read(row, "run_id")?,
                newest: unsigned(row.get("newest")?),
                asks: row.get("asks")?,
            })
        };
        let changes = self.rows(&sql, params![signed(after), signed(until), tenant], change, "a run")?;
        Ok((changes, until.max(after)))
    }

    /// The flows that a tenant may start, newest first.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn registered_flows(&self, tenant: &str) -> Result<Vec<RegisteredFlow>, ReadError> {
        let sql = "SELECT * FROM registered_flows WHERE tenant = ?1 ORDER BY flow DESC";
        self.readable(sql, [tenant], registered, "a flow")
    }

    /// The flows of all tenants, as far as their rows can be read, each with its tenant.
    ///
    /// # Errors
    /// The machine's.
    pub fn all_registered_flows(&self) -> Result<Vec<(String, RegisteredFlow)>, ReadError> {
        let sql = "SELECT * FROM registered_flows ORDER BY flow";
        self.readable(sql, [], |row| Ok((row.get("tenant")?, registered(row)?)), "a flow")
    }

    /// The flow of this digest or, the newest, of this id, if the tenant may start it.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn registered_flow(&self, tenant: &str, name: &str) -> Result<Option<RegisteredFlow>, ReadError> {
        let sql = "SELECT * FROM registered_flows WHERE tenant = ?1 AND (digest = ?2 OR id = ?2) ORDER BY flow DESC LIMIT 1";
        self.one(sql, [tenant, name], registered)
    }

    /// A tenant's upload of this digest.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn upload(&self, tenant: &str, digest: &Digest) -> Result<Option<Upload>, ReadError> {
        let sql = "SELECT * FROM uploads WHERE tenant = ?1 AND digest = ?2";
        self.one(sql, params![tenant, digest.as_bytes()], upload)
    }

    /// Whether content is a tenant's: it has brought it, or it is the newest version of an artifact of one of its runs.
    ///
    /// # Errors
    /// The machine's.
    pub fn is_content_of(&self, tenant: &str, digest: &Digest) -> Result<bool, ReadError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM uploads WHERE tenant = ?1 AND digest = ?2) \
                   OR EXISTS (SELECT 1 FROM places JOIN runs USING (run) WHERE digest = ?2 AND tenant = ?1) \
                   OR EXISTS (SELECT 1 FROM manifests JOIN runs USING (run) WHERE digest = ?2 AND tenant = ?1)";
        let known = self.one(sql, params![tenant, digest.as_bytes()], |row| row.get(0))?.unwrap_or(false);
        Ok(known || self.listed_path(tenant, digest)?.is_some())
    }

    /// The path, from the folder of its flow, of a tenant's artifact with this content, if it is the newest version of any; of
    /// several, that of the oldest run.
    ///
    /// # Errors
    /// The machine's.
    pub fn path_of_content(&self, tenant: &str, digest: &Digest) -> Result<Option<String>, ReadError> {
        let sql = "SELECT path FROM places JOIN runs USING (run) WHERE digest = ?2 AND tenant = ?1 \
                   ORDER BY run, places.flow, path LIMIT 1";
        match self.one(sql, params![tenant, digest.as_bytes()], |row| row.get(0))? {
            Some(path) => Ok(Some(path)),
            None => self.listed_path(tenant, digest),
        }
    }

    /// The path of this content in the first manifest of a tenant's runs that lists it. A manifest that cannot be read lists
    /// nothing here: it is the trouble of its own run, and other runs' content must be found all the same.
    fn listed_path(&self, tenant: &str, digest: &Digest) -> Result<Option<String>, ReadError> {
        let sql = "SELECT DISTINCT manifests.digest FROM manifests JOIN runs USING (run) WHERE tenant = ?1 ORDER BY run, nth";
        let lists = self.readable(sql, [tenant], |row| row.get(0).map(Digest::from_bytes), "a manifest")?;
        for list in lists {
            if !self.manifest_index.may_name(&list, digest, || self.list(&list).ok()) {
                continue;
            }
            let files = self.list(&list).unwrap_or_default().into_iter();
            let is_it = |file: &FileChange| file.blob.as_ref().is_some_and(|blob| blob.digest == *digest);
            if let Some(file) = files.into_iter().find(is_it) {
                return Ok(Some(file.path));
            }
        }
        Ok(None)
    }

    /// The bytes of small content, verified; `None` if the database does not have it, and a file may.
    ///
    /// # Errors
    /// The machine's.
    pub fn inline_content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, ReadError> {
        self.inline(digest).map_err(ReadError::Blob)
    }

    /// How many runs and questions a tenant has.
    ///
    /// # Errors
    /// The machine's.
    pub fn counts(&self, tenant: &str) -> Result<Counts, ReadError> {
        let sql = "SELECT count(*) FILTER (WHERE ended IS NULL), count(ended), \
                   coalesce(sum(open_interrupts) FILTER (WHERE ended IS NULL), 0), coalesce(sum(live_attempts), 0) \
                   FROM runs WHERE tenant = ?1";
        let counts = self.one(sql, [tenant], |row| {
            Ok(Counts {
                unfinished: unsigned(row.get(0)?),
                ended: unsigned(row.get(1)?),
                open_questions: unsigned(row.get(2)?),
                live_attempts: unsigned(row.get(3)?),
            })
        })?;
        Ok(counts.unwrap_or_default())
    }
}

pub(super) fn token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let time = |column: &str| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    Ok(TokenRow {
        id: row.get("id")?,
        name: row.get("name")?,
        tenant: row.get("tenant")?,
        scopes: row.get("scopes")?,
        digest: Digest::from_bytes(row.get("digest")?),
        created_at: Timestamp::from_millis(row.get("created_at_ms")?),
        expires_at: time("expires_at_ms")?,
        revoked_at: time("revoked_at_ms")?,
    })
}

/// A session has both halves, a code neither.
pub(super) fn page_session(row: &Row<'_>) -> rusqlite::Result<PageSession> {
    let digest = |column: &str| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<[u8; 32]>>(column)?.map(Digest::from_bytes))
    };
    let halves = match (digest("code")?, digest("cookie")?, digest("key")?) {
        (None, Some(cookie), Some(key)) => Some((cookie, key)),
        (Some(_), None, None) => None,
        _ => return Err(damaged("it is neither a code nor a session".into())),
    };
    Ok(PageSession {
        id: row.get("id")?,
        token: row.get("token")?,
        scopes: row.get("scopes")?,
        halves,
        created_at: Timestamp::from_millis(row.get("created_at_ms")?),
        seen_at: Timestamp::from_millis(row.get("seen_at_ms")?),
        expires_at: Timestamp::from_millis(row.get("expires_at_ms")?),
        ended_at: row.get::<_, Option<i64>>("ended_at_ms")?.map(Timestamp::from_millis),
    })
}

pub(super) fn upload(row: &Row<'_>) -> rusqlite::Result<Upload> {
    Ok(Upload {
        digest: Digest::from_bytes(row.get("digest")?),
        size_bytes: unsigned(row.get("size_bytes")?),
        mime: row.get("mime")?,
        uploaded_at: Timestamp::from_millis(row.get("uploaded_at_ms")?),
        uploaded_by: row.get("uploaded_by")?,
    })
}

pub(super) fn registered(row: &Row<'_>) -> rusqlite::Result<RegisteredFlow> {
    let id: FlowId = read(row, "id")?;
    // Once there was one file a flow, and its name was not kept.
    let file: Option<String> = row.get("file")?;
    Ok(RegisteredFlow {
        digest: decode::read_digest(row, "digest")?,
        file: file.unwrap_or_else(|| format!("{id}.yaml")),
        id,
        language: row.get("language")?,
        text: row.get("text")?,
        parts: decode::parts(row)?,
        registered_at: Timestamp::from_millis(row.get("registered_at_ms")?),
        registered_by: row.get("registered_by")?,
    })
}
