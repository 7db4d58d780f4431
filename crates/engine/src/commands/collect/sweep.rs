//! Contents that nothing names go, in two steps.
//!
//! A content that nothing names is laid aside: it can still be read, and a writer that needs it writes it again. A later sweep removes it, if
//! still nothing names it and all are over that could have seen it in its place: attempts that were live then, and requests. Until then it
//! is brought back as soon as something names it. So nothing has to be locked while attempts put contents, and a sweep that was killed has
//! lost nothing.

use crate::{
    model::{clock::now, protocol::Refused, retention::Swept},
    observe::step_cache,
    query::snapshots,
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_journal::{BlobError, ContentFile, Layout, ReadError, Reader, SmallContents, Writer, digests};
use envoi_kernel::ids::RunId;
use envoi_step::AttemptDir;
use envoi_tree::{ContentError, Shelf};
use std::{
    collections::BTreeSet,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How a sweep is done.
pub(super) struct Sweep<'s> {
    pub(super) layout: &'s Layout,
    pub(super) reader: &'s Reader,
    /// `None`: nothing is done.
    pub(super) writer: Option<&'s Writer>,
    /// Runs that are looked at as if they were deleted.
    pub(super) but: &'s BTreeSet<RunId>,
    pub(super) now: Timestamp,
    /// When the first request began that is not done.
    pub(super) requests_since: Option<Timestamp>,
    /// Contents are laid aside for so long at least.
    pub(super) trash_ms: u64,
}

impl Sweep<'_> {
    /// The contents that are removed, or would be.
    pub(super) fn sweep(&self) -> Result<Swept, Refused> {
        self.sweep_all().map(|(swept, _)| swept)
    }

    /// Bytes of contents that nothing names and that are not laid aside yet.
    pub(super) fn unnamed_bytes(&self) -> Result<u64, Refused> {
        let (swept, written_bytes) = self.sweep_all()?;
        Ok(swept.aside.bytes.saturating_sub(written_bytes))
    }

    /// With the bytes that are written anew, because they lie in one file with others that go.
    fn sweep_all(&self) -> Result<(Swept, u64), Refused> {
        let machine = |error: io::Error| Refused::failure(format!("contents of the store: {error}"));
        // Before the digests are looked for: an attempt that ends meanwhile has named its contents by then.
        let supervisors = live_supervisors(self.layout).map_err(machine)?;
        let live = [supervisors, self.reader.live_since()?, self.requests_since];
        let live_since = live.into_iter().flatten().min();
        let oldest = Timestamp::from_millis(
            self.now.as_millis().saturating_sub(i64::try_from(self.trash_ms).unwrap_or(i64::MAX)),
        );
        let is_done = |since: Timestamp| since <= oldest && live_since.is_none_or(|live| since < live);
        let named = self.named()?;
        let mut swept = Swept::default();
        self.small(&named, is_done, &mut swept)?;
        self.files(&named, is_done, &mut swept).map_err(machine)?;
        let packs = snapshots::contents(self.layout)
            .sweep_packs(
                &named,
                || system_time(now()),
                |since| is_done(timestamp(since)),
                self.writer.is_some(),
            )
            .map_err(machine)?;
        swept.aside.more(packs.aside);
        swept.back.more(packs.back);
        swept.removed.more(packs.removed);
        if self.writer.is_some() {
            let now_ms = u64::try_from(self.now.as_millis()).unwrap_or(0);
            step_cache::collect(self.layout, &named, now_ms).map_err(machine)?;
        }
        if self.writer.is_none() && self.trash_ms == 0 && live_since.is_none() {
            // They would be removed at once.
            swept.removed.more((swept.aside.count, swept.aside.bytes));
        }
        Ok((swept, packs.written_bytes))
    }

    fn small(
        &self,
        named: &BTreeSet<Digest>,
        is_done: impl Fn(Timestamp) -> bool,
        swept: &mut Swept,
    ) -> Result<(), Refused> {
        let mut wanted = SmallContents::default();
        for (digest, since, bytes) in self.reader.old_small_contents()? {
            if named.contains(&digest) {
                swept.back.add(bytes);
                wanted.back.push(digest);
            } else if is_done(since) {
                swept.removed.add(bytes);
                wanted.gone.push(digest);
            }
        }
        for (digest, bytes) in self.reader.small_contents()? {
            if !named.contains(&digest) {
                swept.aside.add(bytes);
                wanted.aside.push(digest);
            }
        }
        match self.writer {
            Some(writer) => writer
                .sweep(&wanted, now)
                .map_err(|error| Refused::failure(envoi_journal::with_causes(&error))),
            None => Ok(()),
        }
    }

    fn files(
        &self,
        named: &BTreeSet<Digest>,
        is_done: impl Fn(Timestamp) -> bool,
        swept: &mut Swept,
    ) -> io::Result<()> {
        let does = self.writer.is_some();
        for file in self.layout.old_content_files()? {
            if named.contains(&file.digest) {
                swept.back.add(file.bytes);
                if does {
                    self.layout.bring_back(&file)?;
                }
            } else if is_done(file.since) {
                swept.removed.add(file.bytes);
                if does {
                    fs::remove_file(&file.path)?;
                }
            }
        }
        for file in self.layout.content_files()?.iter().filter(|file| !named.contains(&file.digest)) {
            swept.aside.add(file.bytes);
            if does {
                self.lay_aside(file)?;
            }
        }
        Ok(())
    }

    fn lay_aside(&self, file: &ContentFile) -> io::Result<()> {
        match self.layout.lay_aside(file, now) {
            // It was written again, or taken away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Every content that something names: events, rows, records of attempts, and the contents that they name. A list of artifacts or of a
    /// snapshot names others; so may any JSON.
    fn named(&self) -> Result<BTreeSet<Digest>, Refused> {
        let mut named = self.reader.named_digests(self.but)?;
        // After them: the named contents are there.
        let shelf = snapshots::contents(self.layout)
            .whole_shelf()
            .map_err(|error| Refused::failure(format!("contents of the store: {error}")))?;
        let mut open: Vec<Digest> = named.iter().copied().collect();
        while let Some(digest) = open.pop() {
            let text = self.naming(&shelf, &digest)?;
            let mut found = BTreeSet::new();
            digests(&text, &mut found);
            open.extend(found.into_iter().filter(|digest| named.insert(*digest)));
        }
        Ok(named)
    }

    /// The content, if it may name others, else nothing. A content that is missing or damaged names nothing that could be used.
    ///
    /// # Errors
    /// It cannot be read now: its names are not known, and nothing goes.
    fn naming(&self, shelf: &Shelf, digest: &Digest) -> Result<Vec<u8>, Refused> {
        let failed =
            |why: &dyn std::fmt::Display| Err(Refused::failure(format!("content `{digest}`: {why}")));
        match self.reader.inline_content(digest) {
            Ok(Some(text)) => return Ok(text),
            Ok(None) | Err(ReadError::Blob(BlobError::Damaged { .. })) => {}
            Err(error) => return failed(&error),
        }
        match self.reader.content_file(digest) {
            Ok(Some(file)) => return beginning_or_all(file).or_else(|error| failed(&error)),
            Ok(None) | Err(BlobError::NotRegular { .. }) => {}
            Err(error) => return failed(&error),
        }
        match shelf.read(digest) {
            Ok(text) if names_others(&text) => Ok(text),
            Ok(_) | Err(ContentError::Missing { .. } | ContentError::Damaged { .. }) => Ok(Vec::new()),
            Err(ContentError::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) =>
            {
                Ok(Vec::new())
            }
            Err(error) => failed(&error),
        }
    }
}

/// The text of a content in a file, if it may name others, else nothing.
fn beginning_or_all(mut file: fs::File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    io::Read::by_ref(&mut file).take(BEGINNING).read_to_end(&mut text)?;
    if !names_others(&text) {
        return Ok(Vec::new());
    }
    file.take(MOST_NAMING_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// The first bytes of a content show whether it may name others.
const BEGINNING: u64 = 16;

/// No list is larger: 200,000 files in a snapshot are 40 MB.
const MOST_NAMING_BYTES: u64 = 1 << 30;

fn names_others(text: &[u8]) -> bool {
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    text.starts_with(b"envoi-tree") || matches!(first, Some(b'{' | b'['))
}

/// When the first supervisor began that is still there. Its lock is made then, and nothing is written to it.
fn live_supervisors(layout: &Layout) -> io::Result<Option<Timestamp>> {
    let mut first = None;
    for run in folders(&layout.runs())? {
        for attempt in folders(&run.join("attempts"))? {
            let dir = AttemptDir::new(attempt);
            let lock = match fs::symlink_metadata(dir.lock()) {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    continue;
                }
                lock => lock?,
            };
            if dir.is_locked() {
                let began = lock.modified().map_or(Timestamp::from_millis(0), timestamp);
                first = [first, Some(began)].into_iter().flatten().min();
            }
        }
    }
    Ok(first)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", folder.display()));
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(error)),
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect(),
    }
}

fn timestamp(time: SystemTime) -> Timestamp {
    let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0))
}
