//! A restore that is killed at any moment, beside a person who edits all the time: no edit is lost, and the end is exact. The
//! same with a restore that overwrites loses edits, so the test would notice it.
//!
//! The restore is done by this program again, as a process of its own. `ENVOI_KILLS` is how many of them are killed.

use super::folder::Place;
use envoi_contract::digest::Digest;
use envoi_tree::{Entry, Tree, What, change, differences, keep, restore};
use std::{
    env, fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

const FILES: usize = 40;

/// The file in which the children note their progress, a letter each.
const SAID: &str = "said";
const BEGUN: &[u8] = b"(";
const ENDED: &[u8] = b")";

/// The child: restores to two snapshots in turn until it is killed, or brings what differs between them once.
#[test]
fn child() {
    let (Ok(base), Ok(digests), Ok(way)) =
        (env::var("TREE_BASE"), env::var("TREE_DIGESTS"), env::var("TREE_WAY"))
    else {
        return;
    };
    let place = Place::at(Path::new(&base));
    let shelf = place.order.contents.shelf().unwrap();
    let tree = |text: &str| Tree::parse(&shelf.read(&Digest::parse(text).unwrap()).unwrap()).unwrap();
    let trees: Vec<Tree> = digests.split(' ').map(tree).collect();
    let say = |what: &[u8]| {
        let mut said =
            fs::File::options().append(true).create(true).open(Path::new(&base).join(SAID)).unwrap();
        said.write_all(what).unwrap();
    };
    if way == "change" {
        drop(change(&place.root, &place.order, &trees[0], &trees[1]));
        return;
    }
    for nth in 0.. {
        let target = &trees[nth % 2];
        say(BEGUN);
        match way.as_str() {
            "swap" => drop(restore(&place.root, &place.order, target)),
            _ => overwrite(&place, target),
        }
        say(ENDED);
    }
}

/// A restore that overwrites, as it must not.
fn overwrite(place: &Place, target: &Tree) {
    let Ok(stands) = keep(&place.root, &place.order) else { return };
    let shelf = place.order.contents.shelf().unwrap();
    let at = |entry: &Entry| place.root.join(std::ffi::OsStr::from_bytes(&entry.path));
    for difference in differences(&stands.tree, target) {
        match (difference.before, difference.after) {
            (_, Some(after)) => {
                let temporary = place.path(".envoi/new");
                let (digest, _) = after.content().unwrap();
                fs::write(&temporary, shelf.read(&digest).unwrap()).unwrap();
                drop(fs::rename(&temporary, at(after)));
            }
            (Some(before), None) => drop(fs::remove_file(at(before))),
            (None, None) => {}
        }
    }
}

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Edits until `stop` is set: in place, and by a file that takes the place of another. Returns the digests of the edits that it has
/// not itself replaced.
fn edit_until(stop: &AtomicBool, edits: &AtomicUsize, root: &Path) -> Vec<(PathBuf, Digest)> {
    let mut dice = Dice(7);
    let mut last: Vec<Option<Digest>> = vec![None; FILES];
    let mut to_be_found = Vec::new();
    let beside = root.with_file_name("typed");
    let mut nth = 0;
    while !stop.load(Ordering::Relaxed) {
        nth += 1;
        let number = dice.below(FILES);
        let path = root.join(format!("file-{number}"));
        let content = format!("edit {nth} of {number}, {}", "x".repeat(dice.below(3000)));
        let there = fs::read(&path).ok().map(|there| Digest::of(&there));
        if let Some(before) = last[number].take().filter(|before| Some(*before) != there) {
            to_be_found.push((path.clone(), before));
        }
        let written = match nth % 2 {
            0 => fs::File::options()
                .write(true)
                .truncate(true)
                .open(&path)
                .and_then(|mut file| file.write_all(content.as_bytes())),
            _ => fs::write(&beside, &content).and_then(|()| fs::rename(&beside, &path)),
        };
        if written.is_ok() {
            last[number] = Some(Digest::of(content.as_bytes()));
            edits.fetch_add(1, Ordering::Relaxed);
        }
        wait_a_moment(Duration::from_micros(300));
    }
    let rest = last
        .into_iter()
        .enumerate()
        .filter_map(|(number, digest)| Some((root.join(format!("file-{number}")), digest?)));
    to_be_found.extend(rest);
    to_be_found
}

fn wait_a_moment(duration: Duration) {
    std::thread::sleep(duration);
}

/// The outcome.
#[derive(Debug)]
struct Outcome {
    edits: usize,
    /// Edits that are found nowhere.
    lost: usize,
    /// Restores that a kill has ended, and others.
    interrupted: usize,
    completed: usize,
    /// Whether the folder is exact at the end.
    is_exact: bool,
}

/// The child is killed so often, and further until a restore was completed between two kills.
fn outcome(way: &str, kills: usize) -> Outcome {
    let base = tempfile::tempdir().unwrap();
    let place = Place::at(base.path());
    let fill = |word: &str, count: usize| {
        (0..count).for_each(|nth| place.write(format!("file-{nth}"), format!("{word} {nth}")));
        place.keep()
    };
    let first = fill("first", FILES);
    let second = fill("second", FILES);
    fs::write(place.path("extra"), "only in between").unwrap();
    let (stop, edits) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut dice = Dice(1);
    let to_be_found = std::thread::scope(|scope| {
        let typist = scope.spawn(|| edit_until(&stop, &edits, &place.root));
        for nth in 0.. {
            if nth >= kills && said(base.path(), ENDED) > 0 {
                break;
            }
            assert!(nth < kills + MOST_MORE, "no restore comes to its end");
            let mut child = Command::new(env::current_exe().unwrap())
                .args(["--exact", "kills::child"])
                .env("TREE_BASE", base.path())
                .env("TREE_DIGESTS", format!("{} {}", first.digest, second.digest))
                .env("TREE_WAY", way)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let until = Instant::now()
                + Duration::from_millis(
                    20 + u64::try_from(dice.below(250 + 50 * nth.saturating_sub(kills))).unwrap(),
                );
            wait_a_moment(until.saturating_duration_since(Instant::now()));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        typist.join().unwrap()
    });
    let here: Vec<Digest> = fs::read_dir(&place.root)
        .unwrap()
        .flatten()
        .filter_map(|it| Some(Digest::of(&fs::read(it.path()).ok()?)))
        .collect();
    // Twice: the second one looks through what the first one has laid aside.
    let restored = restore(&place.root, &place.order, &first.tree)
        .and_then(|_| restore(&place.root, &place.order, &first.tree));
    let shelf = place.order.contents.shelf().unwrap();
    let is_lost = |(_, digest): &&(PathBuf, Digest)| !here.contains(digest) && !shelf.has(digest);
    let missing = to_be_found.iter().filter(is_lost).count();
    let is_exact = restored.is_ok()
        && place.keep().tree.entries().iter().all(|entry| matches!(entry.what, What::File { .. }))
        && place.keep().digest == first.digest;
    let completed = said(base.path(), ENDED);
    let interrupted = said(base.path(), BEGUN) - completed;
    Outcome { edits: edits.into_inner(), lost: missing, interrupted, completed, is_exact }
}

/// On a machine that is very busy a child may need more time than it is given at first.
const MOST_MORE: usize = 60;

fn said(base: &Path, what: &[u8]) -> usize {
    fs::read(base.join(SAID)).map_or(0, |said| said.iter().filter(|byte| what.contains(byte)).count())
}

fn kills(otherwise: usize) -> usize {
    env::var("ENVOI_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_killed_restore_loses_no_edit_and_ends_exactly() {
    let outcome = outcome("swap", kills(15));
    println!("{outcome:?}");
    assert!(outcome.edits > 50 && outcome.completed > 0 && outcome.interrupted > 0, "{outcome:?}");
    assert!(outcome.lost == 0 && outcome.is_exact, "{outcome:?}");
}

#[test]
fn the_same_with_a_restore_that_overwrites_loses_edits() {
    // Where a busy machine lets the editor do little while a restore is at work, not each time.
    let loses = |_| {
        let outcome = outcome("overwrite", kills(15));
        println!("{outcome:?}");
        outcome.lost > 0
    };
    assert!((0..5).any(loses));
}
