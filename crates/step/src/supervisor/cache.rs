//! The cache of steps, if the order uses it: is the result of this command known, and may the new result be
//! kept?
//!
//! A result is looked up before the start is claimed. A found result is restored as if the command had left
//! it, and settled in the same way. No start is claimed for it: if the supervisor is killed meanwhile,
//! nothing was started and the next supervisor looks again. An error of the cache is a miss, and the command
//! is started. The command is not started while files of a result are in the attempt's folder, because they
//! would be taken for its output.

mod key;
mod outside;
mod result;

use std::fs;
use std::io;
use std::time::Instant;

use envoi_contract::digest::Digest;
use envoi_tree::{Entry, NotRestored, Tree};

use self::key::{Key, Modes, NoKey};
use super::run::Ended;
use super::snapshot::{self, Unreadable};
use super::{Attempt, now_ms, set_back};
use crate::attempt::bringing::Bringing;
use crate::attempt::cached::{CacheEntry, CacheOrder, CacheUse};
use crate::attempt::crash_point::CrashPoint;
use crate::attempt::displaced::Displaced;
use crate::attempt::record::Outcome;
use crate::control::presence;
use crate::disk::plain;
use crate::output::stream::{Kept, StreamFile, ring_path};
use crate::workspace::artifacts::Digests;
use crate::workspace::before::Before;

/// A sentence becomes part of an event. A path in it can be longer than anyone reads.
const MOST_CHARS: usize = 1_000;

/// The result of the look-up before the command.
pub(super) struct Looked<'a> {
    order: &'a CacheOrder,
    /// Or why there is no key.
    key: Result<Key, NoKey>,
    /// The files that restored ones have displaced.
    pub(super) displaced: Displaced,
    /// Whether files were changed after the key was made.
    touched: bool,
    found: Result<Hit, Miss>,
}

/// A result that has been restored into the workspace and the attempt's folder.
pub(super) struct Hit {
    entry: CacheEntry,
    key: String,
    pub(super) ended: Ended,
}

/// Why no result was restored.
#[derive(Debug, thiserror::Error)]
enum Miss {
    #[error("the cache is not read here")]
    NotRead,
    #[error("no key: {0}")]
    NoKey(String),
    #[error("no result of this step is kept yet")]
    None,
    #[error("{0}")]
    Differs(String),
    #[error("the result that fits is older than `cache` allows")]
    TooOld,
    #[error("another attempt is at work in the same folder")]
    Beside,
    #[error("the entry cannot be read: {0}")]
    Entry(io::Error),
    #[error("the result is not whole: {0}")]
    NotWhole(#[from] Unreadable),
    #[error("the files cannot be brought: {0}")]
    NotLaid(#[from] NotRestored),
    #[error("its output cannot be written: {0}")]
    NotWritten(io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Attempt {
    /// Looks a result up and restores it. `None`: the order does not use the cache. `before` is the state
    /// before the first supervisor of this attempt began to restore.
    pub(super) fn look_in_cache<'a>(&'a self, before: &mut Before) -> Option<Looked<'a>> {
        let order = self.spec.cache.as_ref()?;
        let begun = self.dir.bringing().filter(|bringing| bringing.start == self.spec.start);
        let mut looked = Looked {
            order,
            key: key::of(&self.spec, order, before),
            displaced: before.displaced.clone(),
            touched: false,
            found: Err(Miss::NotRead),
        };
        looked.found = match &looked.key {
            _ if !order.read => Err(Miss::NotRead),
            Err(why) => Err(Miss::NoKey(why.to_string())),
            Ok(key) => {
                let mut coming = Coming {
                    begun: begun.map(|begun| (begun.artifacts, begun.modes)),
                    displaced: &mut looked.displaced,
                    touched: &mut looked.touched,
                };
                self.bring(order, key, before, &mut coming)
            }
        };
        Some(looked)
    }

    fn bring(
        &self,
        order: &CacheOrder,
        key: &Key,
        before: &mut Before,
        coming: &mut Coming<'_>,
    ) -> Result<Hit, Miss> {
        let (began, began_ms) = (Instant::now(), now_ms());
        let keep = self.spec.keep.as_ref().ok_or(Miss::None)?;
        let keep = envoi_tree::Order { stop: snapshot::stop_before(&self.dir), ..keep.clone() };
        let now = |key: &str| self.known(order, key).and_then(|entry| whole(&keep, entry));
        let begun = coming.begun.take().and_then(|(artifacts, modes)| {
            let name = key.with_artifacts(&artifacts, &modes);
            let found = now(&name).ok();
            let found =
                found.filter(|found| found.explains((&artifacts, &modes), (&before.files, &key.modes)))?;
            Some((name, found, artifacts, modes))
        });
        let (key, found, modes) = match begun {
            Some((key, found, artifacts, modes)) => {
                before.files = artifacts;
                (key, found, modes)
            }
            None => match now(&key.name) {
                Err(Miss::None) => return Err(self.nearest(order, key)),
                other => (key.name.clone(), other?, key.modes.clone()),
            },
        };
        if presence::is_beside_others(&self.spec.workspace) {
            return Err(Miss::Beside);
        }
        let announce = |displaced: &Displaced| {
            self.dir.announce_bringing(&Bringing {
                attempt: self.spec.attempt.clone(),
                start: self.spec.start.clone(),
                artifacts: before.files.clone(),
                modes: modes.clone(),
                displaced: displaced.clone(),
            })
        };
        announce(coming.displaced)?;
        (self.reached)(CrashPoint::ResultAnnounced);
        let mut late = Vec::new();
        let Coming { displaced, touched, .. } = coming;
        let stood = &mut displaced.stood;
        let earlier = &displaced.late;
        let restored =
            envoi_tree::lay_over(&self.spec.workspace, &keep, &found.files, &mut late, |kept, late| {
                let makes_room = found.displaced(&kept.tree);
                if stood.is_none() && !makes_room.is_empty() {
                    *stood = Some(kept.digest.to_string());
                }
                // Files that an earlier supervisor has displaced are in its snapshot. This file is not.
                let is_new = |entry: &&Entry| {
                    let path = &*String::from_utf8_lossy(&entry.path);
                    let stood = before.files.get(path).cloned().flatten();
                    let is_known = entry.content().map(|(digest, _)| digest.hex()) == stood;
                    !is_known || modes.get(path).is_some_and(|mode| *mode != entry.mode)
                };
                let named = stood.as_ref().filter(|stood| **stood != kept.digest.to_string());
                if let Some(entry) = named.and_then(|_| makes_room.into_iter().find(is_new)) {
                    return Err(io::Error::other(format!("`{}` was changed meanwhile", entry.shown())));
                }
                let late = [&earlier[..], &set_back::late(late, &self.secrets)].concat();
                announce(&Displaced { stood: stood.clone(), late })?;
                **touched = true;
                Ok(())
            });
        displaced.late.extend(set_back::late(&late, &self.secrets));
        restored?;
        if !late.is_empty() {
            announce(displaced)?;
        }
        (self.reached)(CrashPoint::FilesBrought);
        let mut ended = self.replay(&keep, &found.tree).map_err(Miss::NotWritten)?;
        (self.reached)(CrashPoint::OutputWritten);
        ended.started_at_ms = began_ms;
        ended.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Hit { entry: found.entry, key, ended })
    }

    /// The entry of this key, if it may be used.
    fn known(&self, order: &CacheOrder, key: &str) -> Result<CacheEntry, Miss> {
        let entry = match CacheEntry::read(&order.folder, key) {
            Ok(entry) => entry,
            Err(error) if plain::is_missing(&error) => return Err(Miss::None),
            Err(error) => return Err(Miss::Entry(error)),
        };
        if !entry.keys.iter().any(|known| known == key) {
            return Err(Miss::Entry(io::Error::other("it is of another key")));
        }
        // An entry with a time in the future does not count: a clock was set back.
        match now_ms().checked_sub(entry.at_ms).is_some_and(|age| age <= order.max_age_ms) {
            true => Ok(entry),
            false => Err(Miss::TooOld),
        }
    }

    /// How the newest result of the step differs.
    fn nearest(&self, order: &CacheOrder, key: &Key) -> Miss {
        let read = || -> Option<String> {
            let entry = CacheEntry::read(&order.folder, &order.step).ok()?;
            let keep = self.spec.keep.as_ref()?;
            let tree = snapshot::read(keep, &entry.kept).ok()?;
            let shelf = keep.contents.shelf().ok()?;
            let content = |name: &str| shelf.read(&tree.get(name.as_bytes())?.content()?.0).ok();
            key.difference(&content(result::PARTS)?, &content(result::INPUTS)?)
        };
        read().map_or(Miss::None, Miss::Differs)
    }

    /// The files displaced so far, according to the records of an earlier supervisor.
    pub(super) fn displaced_before(&self) -> Displaced {
        let coming = self.dir.bringing().filter(|bringing| bringing.start == self.spec.start);
        let coming = coming.map(|bringing| bringing.displaced).filter(|displaced| !displaced.is_nothing());
        coming.or_else(|| Some(Before::read(&self.dir).ok()?.displaced)).unwrap_or_default()
    }

    /// Removes files that were restored into the attempt's own folder, so that they are not taken for output
    /// of the command. The displaced files are recorded first. The announcement is removed last: as long as
    /// it exists, nothing was started.
    ///
    /// # Errors
    /// Something could not be removed. The command must not start.
    pub(super) fn forget_bringing(
        &self,
        before: Option<&mut Before>,
        displaced: &Displaced,
    ) -> io::Result<()> {
        if self.dir.bringing().is_none() {
            return Ok(());
        }
        if !displaced.is_nothing() {
            Before::note_displaced(before, &self.spec, &self.dir, displaced)?;
        }
        let dir = &self.dir;
        let streams = [dir.stdout(), dir.stderr()];
        let rings = streams.each_ref().map(|path| ring_path(path));
        let others = [dir.text(), dir.output(), dir.report(), dir.data(), dir.cached()];
        for path in streams.into_iter().chain(rings).chain(others) {
            match fs::remove_file(&path) {
                Err(error) if !plain::is_missing(&error) => {
                    return Err(io::Error::new(error.kind(), format!("`{}`: {error}", path.display())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the command's output of the cached result into the attempt's folder. The times are set later.
    fn replay(&self, keep: &envoi_tree::Order, tree: &Tree) -> io::Result<Ended> {
        let shelf = keep.contents.shelf()?;
        let content = |name: &str| -> io::Result<Option<Vec<u8>>> {
            let Some((digest, _)) = tree.get(name.as_bytes()).and_then(envoi_tree::Entry::content) else {
                return Ok(None);
            };
            shelf.read(&digest).map(Some).map_err(io::Error::other)
        };
        let stream = |path, name: &str| -> io::Result<Kept> {
            let mut file = StreamFile::create(path, self.spec.stream_cap_bytes, &self.secrets)?;
            file.push(&content(name)?.unwrap_or_default());
            let kept = file.finish();
            match kept.failed {
                Some(error) => Err(error),
                None => Ok(kept),
            }
        };
        let stdout = stream(self.dir.stdout(), result::STDOUT)?;
        let stderr = stream(self.dir.stderr(), result::STDERR)?;
        let others = [
            (self.dir.output(), result::OUTPUT),
            (self.dir.report(), result::REPORT),
            (self.dir.data(), result::DATA),
        ];
        for (path, name) in others {
            match content(name)? {
                Some(content) => plain::write(&path, &content)?,
                None => match fs::remove_file(&path) {
                    Err(error) if !plain::is_missing(&error) => return Err(error),
                    _ => {}
                },
            }
        }
        Ok(Ended { ran: true, stdout, stderr, ..Ended::without_start(Outcome::Exited { code: 0 }) })
    }
}

/// The state during a restore.
struct Coming<'l> {
    /// The artifacts and their modes when an earlier supervisor began to restore.
    begun: Option<(Digests, Modes)>,
    displaced: &'l mut Displaced,
    touched: &'l mut bool,
}

/// A result whose contents are all in the store.
struct Found {
    entry: CacheEntry,
    tree: Tree,
    /// The artifacts, by their path in the workspace.
    files: Tree,
}

fn whole(keep: &envoi_tree::Order, entry: CacheEntry) -> Result<Found, Miss> {
    let tree = snapshot::read(keep, &entry.kept)?;
    let files = result::files(&tree)?;
    result::check(keep, &tree)?;
    Ok(Found { entry, tree, files })
}

impl Found {
    /// Whether restoring this result, or a part of it, explains every difference between the two states.
    fn explains(&self, before: (&Digests, &Modes), now: (&Digests, &Modes)) -> bool {
        let of = |(files, modes): (&Digests, &Modes), path: &String| {
            files.get(path).map(|digest| (digest.clone(), modes.get(path).copied()))
        };
        before.0.keys().chain(now.0.keys()).all(|path| {
            let comes = self.files.get(path.as_bytes());
            let comes = comes.and_then(|entry| Some((Some(entry.content()?.0.hex()), Some(entry.mode))));
            match (of(before, path), of(now, path)) {
                (before, now) if before == now => true,
                (_, now @ Some(_)) => now == comes,
                // The file was displaced.
                (_, None) => comes.is_some(),
            }
        })
    }

    /// Files of the workspace that differ from those of the result at the same path.
    fn displaced<'t>(&self, stands: &'t Tree) -> Vec<&'t Entry> {
        let other = |entry: &Entry| {
            let differs = |stands: &&Entry| stands.content() != entry.content() || stands.mode != entry.mode;
            stands.get(&entry.path).filter(differs)
        };
        self.files.entries().iter().filter_map(other).collect()
    }
}

impl Looked<'_> {
    /// The restored result, if there is one.
    pub(super) fn hit(&self) -> Option<&Hit> {
        self.found.as_ref().ok()
    }

    /// The cache's part of `exit.json`.
    pub(super) fn record(&self, attempt: &Attempt, left: &result::Left<'_>) -> CacheUse {
        let made = || self.key.as_ref().map(|key| key.name.clone()).unwrap_or_default();
        let key = self.hit().map_or_else(made, |hit| hit.key.clone());
        let mut used = CacheUse { key, displaced: self.displaced.clone(), ..CacheUse::default() };
        match (&self.found, &self.key) {
            (Ok(hit), _) => {
                used.from = Some(hit.entry.from.clone());
                used.kept = Some(hit.entry.kept.clone());
            }
            (Err(miss), Err(why)) => {
                used.missed = Some(miss.to_string());
                used.not_kept = Some(format!("no key: {why}"));
            }
            (Err(miss), Ok(_)) if self.touched => {
                used.missed = Some(miss.to_string());
                used.not_kept = Some("a part of an earlier result stood in the folder".to_owned());
            }
            (Err(miss), Ok(key)) => {
                used.missed = Some(miss.to_string());
                match result::keep(attempt, self.order, key, left) {
                    Ok((kept, again)) => {
                        used.kept = Some(kept.to_string());
                        used.again = Some(again).filter(|again| *again != key.name);
                    }
                    Err(why) => used.not_kept = Some(why.to_string()),
                }
            }
        }
        for text in [&mut used.missed, &mut used.not_kept].into_iter().flatten() {
            let masked = attempt.secrets.mask_str(text);
            *text = masked.chars().take(MOST_CHARS).collect();
        }
        used
    }
}

pub(super) use self::result::Left;

fn hex(digest: Digest) -> String {
    digest.hex()
}
