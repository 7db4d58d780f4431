//! Folders that a change takes away come back as they were when it is taken back, and no other folder gets a mode.

use super::folder::{Place, odd};
use envoi_tree::{
    Folders, NotRestored, Restored, Tree, change, change_back, keep_folders, merge, read_folders, restore,
    restore_back, stand, stand_to_change,
};
use rustix::process::Uid;
use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
    process::Command,
};

/// The folders below `root` and their modes.
fn modes_in(root: &Path) -> BTreeMap<String, String> {
    fn look(folder: &Path, above: &str, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = format!("{above}{}", entry.file_name().as_bytes().escape_ascii());
            if entry.file_type().unwrap().is_dir() && ![".git", ".envoi"].contains(&name.as_str()) {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                found.insert(name.clone(), format!("{mode:o}"));
                look(&entry.path(), &format!("{name}/"), found);
            }
        }
    }
    let mut found = BTreeMap::new();
    look(root, "", &mut found);
    found
}

/// How a change is done and taken back: of the whole folder, or only of what differs between two lists.
#[derive(Debug, Clone, Copy)]
enum Way {
    Whole,
    Difference,
}

const WAYS: [Way; 2] = [Way::Whole, Way::Difference];

/// A change that was done, with what its record keeps.
struct Done {
    from: Tree,
    to: Tree,
    gone: Folders,
}

impl Place {
    fn modes(&self) -> BTreeMap<String, String> {
        modes_in(&self.root)
    }

    fn remove(&self, name: &str) {
        assert!(Command::new("rm").args(["-rf", "--"]).arg(self.path(name)).status().unwrap().success());
    }

    fn in_git(git: bool) -> Self {
        let place = Self::new();
        if git {
            place.git("", &["init", "-q"]);
        }
        place
    }

    /// Brings the folder to this list, as a caller does who keeps a record of it. The record went through the store.
    fn bring(&self, to: &Tree, back: &Folders, way: Way) -> (Done, Restored) {
        let stood = match way {
            Way::Whole => stand(&self.root, &self.order, to),
            Way::Difference => stand_to_change(&self.root, &self.order, to),
        };
        let stood = stood.unwrap();
        let from = stood.kept.tree;
        let list = keep_folders(&self.order, &stood.folders).unwrap();
        let gone = list.map_or(Folders::NONE, |list| read_folders(&self.order, &list).unwrap());
        assert_eq!(gone, stood.folders);
        let restored = self.try_bring(&from, to, back, way).unwrap();
        (Done { from, to: to.clone(), gone }, restored)
    }

    fn try_bring(&self, from: &Tree, to: &Tree, back: &Folders, way: Way) -> Result<Restored, NotRestored> {
        match way {
            Way::Whole => restore_back(&self.root, &self.order, to, back),
            Way::Difference => change_back(&self.root, &self.order, from, to, back),
        }
    }

    fn undo(&self, done: &Done, way: Way) -> (Done, Restored) {
        self.bring(&done.from, &done.gone, way)
    }

    /// `d` and the folders in it have these modes.
    fn fill(&self, [outer, inner, empty]: [u32; 3]) {
        self.write("d/f", "f");
        self.write("d/in/g", "g");
        fs::create_dir(self.path("d/empty")).unwrap();
        self.write(Path::new("d").join(odd()).join("x"), "x");
        fs::set_permissions(self.path("d").join(odd()), fs::Permissions::from_mode(0o710)).unwrap();
        self.mode("d/empty", empty);
        self.mode("d/in", inner);
        self.mode("d", outer);
    }

    /// The list with a file in the place of `d`, or with nothing there.
    fn without_d(&self, is_file: bool) -> Tree {
        let other = Place::new();
        other.write("other", "1");
        if is_file {
            other.write("d", "a file");
        }
        // Its contents go into the store of this one.
        envoi_tree::keep(&other.root, &self.order).unwrap().tree
    }
}

/// That of `d`, of a folder with a file in it, of an empty one.
const MODES: [[u32; 3]; 3] = [[0o700, 0o755, 0o711], [0o750, 0o500, 0o500], [0o755, 0o777, 0o755]];

/// Calls this for each way, git or not, for what comes in the place of the folder, and for all modes.
fn cases(check: impl Fn(&Place, Way, bool, [u32; 3], &str)) {
    for way in WAYS {
        for (git, is_file) in [(false, false), (false, true), (true, false), (true, true)] {
            for modes in MODES {
                let place = Place::in_git(git);
                place.write("other", "1");
                let named = modes.map(|mode| format!("{mode:o}")).join(" ");
                check(&place, way, is_file, modes, &format!("{way:?}, git: {git}, file: {is_file}, {named}"));
            }
        }
    }
}

#[test]
fn folders_that_were_taken_away_are_made_again_with_their_modes_also_by_the_undo_of_an_undo() {
    cases(|place, way, is_file, modes, case| {
        place.fill(modes);
        let (stood, then) = (place.modes(), place.keep());
        let without = place.without_d(is_file);
        let (done, _) = place.bring(&without, &Folders::NONE, way);
        assert!(!place.path("d").is_dir(), "{case}");
        let (undone, restored) = place.undo(&done, way);
        assert_eq!(place.modes(), stood, "{case}");
        assert_eq!(place.keep().digest, then.digest, "{case}");
        assert_eq!((restored.folders, restored.newer), (Vec::new(), Vec::new()), "{case}");
        let (again, _) = place.undo(&undone, way);
        assert!(!place.path("d").is_dir(), "{case}");
        place.undo(&again, way);
        assert_eq!(place.modes(), stood, "the undo of the undo of {case}");
    });
}

#[test]
fn without_a_record_folders_come_back_as_new_ones() {
    for way in WAYS {
        let place = Place::new();
        place.write("other", "1");
        place.fill([0o700, 0o700, 0o755]);
        let (done, _) = place.bring(&place.without_d(true), &Folders::NONE, way);
        place.bring(&done.from, &Folders::NONE, way);
        let usual = fs::metadata(place.path("d")).unwrap().mode() & 0o7777;
        place.write("new/x", "");
        assert_eq!(usual, fs::metadata(place.path("new")).unwrap().mode() & 0o7777);
    }
}

/// As where a run deletes a folder and begins to ignore its name.
#[test]
fn a_folder_that_the_target_ignores_comes_back_as_it_was() {
    for (way, git) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let place = Place::in_git(git);
        place.write(".gitignore", "");
        place.write("other", "1");
        place.write("private/key", "key");
        place.mode("private", 0o700);
        let (stood, then) = (place.modes(), place.keep());
        let target = Place::new();
        target.write(".gitignore", "private\n");
        target.write("other", "1");
        let target = envoi_tree::keep(&target.root, &place.order).unwrap().tree;
        let (done, _) = place.bring(&target, &Folders::NONE, way);
        // A restore leaves alone what is ignored then.
        assert_eq!(place.path("private").exists(), matches!(way, Way::Whole));
        place.undo(&done, way);
        assert_eq!(place.modes(), stood, "{way:?}, git: {git}");
        assert_eq!(place.keep().digest, then.digest, "{way:?}, git: {git}");
    }
}

/// Runs the test `name` once more, under these masks. False: this is such a run.
fn under_masks(name: &str) -> bool {
    let is_first = env::var("TREE_MASK").is_err();
    for mask in ["000", "077", "022"].into_iter().filter(|_| is_first) {
        let mut again = Command::new("sh");
        again.args(["-c", "umask $TREE_MASK; exec \"$0\" \"$@\""]).arg(env::current_exe().unwrap());
        let done = again.args([name, "--exact"]).env("TREE_MASK", mask).output().unwrap();
        assert!(done.status.success(), "{mask}: {done:?}");
    }
    is_first
}

#[test]
fn a_mask_neither_closes_nor_opens_a_folder_that_comes_back() {
    if under_masks("folder_modes::a_mask_neither_closes_nor_opens_a_folder_that_comes_back") {
        return;
    }
    for way in WAYS {
        let place = Place::new();
        place.write("other", "1");
        fs::create_dir_all(place.path("d/in")).unwrap();
        place.fill([0o750, 0o500, 0o777]);
        let stood = place.modes();
        let (done, _) = place.bring(&place.without_d(true), &Folders::NONE, way);
        place.undo(&done, way);
        assert_eq!(place.modes(), stood, "{way:?}");
    }
}

/// In git one whose only file is deleted while the index has it; elsewhere ignored ones.
#[test]
fn a_folder_that_no_snapshot_lists_is_made_again() {
    for (way, git) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let place = Place::in_git(git);
        place.write("other", "1");
        if git {
            place.write("d/f", "f");
            place.git("", &["add", "-A"]);
            fs::remove_file(place.path("d/f")).unwrap();
        } else {
            place.write(".gitignore", "build\n");
            fs::create_dir_all(place.path("d/build/deep")).unwrap();
            place.mode("d/build/deep", 0o500);
            place.mode("d/build", 0o700);
        }
        place.mode("d", 0o750);
        let stood = place.modes();
        assert!(place.paths().iter().all(|path| !path.starts_with('d')), "{:?}", place.paths());
        let (done, _) = place.bring(&place.without_d(true), &Folders::NONE, way);
        assert!(place.path("d").is_file());
        place.undo(&done, way);
        assert_eq!(place.modes(), stood, "{way:?}, git: {git}");
    }
}

#[test]
fn the_set_group_id_bit_of_the_folder_around_stays() {
    for way in WAYS {
        let place = Place::new();
        place.write("other", "1");
        place.mode("", 0o2775);
        place.fill([0o750, 0o500, 0o711]);
        let (done, _) = place.bring(&place.without_d(true), &Folders::NONE, way);
        let (_, restored) = place.undo(&done, way);
        assert!(restored.folders.is_empty(), "{restored:?}");
        let found: Vec<_> = place.modes().into_iter().collect();
        let found: Vec<_> = found.iter().map(|(path, mode)| (path.as_str(), mode.as_str())).collect();
        let odd = r#"d/odd\xff\n\t\"name"#;
        assert_eq!(found, [("d", "2750"), ("d/empty", "2711"), ("d/in", "2500"), (odd, "2710")]);
    }
}

/// The states between the first folder that is made and the last mode that is given.
#[test]
fn a_killed_undo_is_ended_by_the_next_one() {
    // The state of `d`, `d/in`, `d/in/g` and `d/empty` at the kill: a mode, or a file.
    const HALF: u32 = 0o1700;
    let states: [(&[(&str, u32)], bool); 7] = [
        (&[("d", HALF)], false),
        (&[("d", HALF), ("d/in", HALF)], false),
        (&[("d", HALF), ("d/in", HALF)], true),
        (&[("d", HALF), ("d/in", HALF), ("d/empty", HALF)], true),
        (&[("d", HALF), ("d/in", HALF), ("d/empty", 0o511)], true),
        (&[("d", HALF), ("d/in", 0o500), ("d/empty", HALF)], true),
        (&[("d", HALF), ("d/in", 0o500), ("d/empty", 0o511)], true),
    ];
    for (way, git) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        for (folders, has_file) in states {
            let case = format!("{way:?}, git: {git}, {folders:?} {has_file}");
            let place = Place::in_git(git);
            place.write("other", "1");
            place.write("d/in/g", "g");
            fs::create_dir(place.path("d/empty")).unwrap();
            place.mode("d/empty", 0o511);
            place.mode("d/in", 0o500);
            place.mode("d", 0o750);
            let (stood, then) = (place.modes(), place.keep());
            let (done, _) = place.bring(&place.without_d(false), &Folders::NONE, way);
            assert!(!place.path("d").exists());
            for (path, _) in folders {
                fs::create_dir(place.path(path)).unwrap();
            }
            if has_file {
                place.write("d/in/g", "g");
            }
            folders.iter().for_each(|(path, mode)| place.mode(path, *mode));
            let restored = place.try_bring(&done.to, &done.from, &done.gone, way).unwrap();
            assert_eq!(place.modes(), stood, "{case}");
            assert_eq!(place.keep().digest, then.digest, "{case}");
            assert_eq!((restored.newer, restored.folders), (Vec::new(), Vec::new()), "{case}");
        }
    }
}

#[test]
fn a_folder_that_stands_there_keeps_its_mode() {
    for way in WAYS {
        let place = Place::in_git(true);
        place.write("other", "1");
        place.write(".gitignore", "private\n");
        // Its files go, and it stays: it has an ignored one.
        place.write("stays/f", "f");
        place.write("stays/private", "private");
        place.mode("stays", 0o700);
        place.write("d/f", "f");
        place.mode("d", 0o700);
        let target = place.without_d(false);
        let (done, _) = place.bring(&target, &Folders::NONE, way);
        assert!(place.path("stays/private").exists() && !place.path("d").exists());
        // A person has made one and changed the other.
        place.mode("stays", 0o711);
        fs::create_dir(place.path("d")).unwrap();
        place.mode("d", 0o775);
        place.write("d/mine", "mine");
        let restored = place.try_bring(&done.to, &done.from, &done.gone, way).unwrap();
        assert_eq!(place.modes()["stays"], "711", "{way:?}");
        assert_eq!(place.modes()["d"], "775", "{way:?}");
        assert_eq!(fs::read(place.path("d/f")).unwrap(), b"f");
        let said: Vec<_> =
            restored.folders.iter().map(|other| (other.path.as_slice(), other.why.as_str())).collect();
        let why = |has: &str| format!("was there already and keeps its mode {has}; it had 700");
        assert_eq!(said, [(&b"d"[..], why("775").as_str()), (b"stays", why("711").as_str())], "{way:?}");
    }
}

#[test]
fn a_folder_whose_place_is_taken_is_not_made_and_the_person_reads_it() {
    let place = Place::new();
    place.write("other", "1");
    place.fill([0o700, 0o755, 0o755]);
    let (done, _) = place.bring(&place.without_d(false), &Folders::NONE, Way::Difference);
    place.write("d", "of a person");
    let now = place.keep();
    // As an undo does it that leaves alone what was changed since.
    let merged =
        merge(&place.order, &done.to, &now.tree, &done.from, Some(envoi_tree::Side::Ours)).unwrap().tree;
    let restored = place.try_bring(&now.tree, &merged, &done.gone, Way::Difference).unwrap();
    assert_eq!(fs::read(place.path("d")).unwrap(), b"of a person");
    let said: Vec<_> =
        restored.folders.iter().map(|other| (other.path.as_slice(), other.why.as_str())).collect();
    assert_eq!(said, [(&b"d"[..], "was not made again: its place is taken, or gone")]);
}

/// As an ordinary user: root may do everything.
#[test]
fn a_mode_that_is_refused_is_a_remark_and_all_files_are_there() {
    if !rustix::process::geteuid().is_root() {
        // A folder of another user is needed.
        return;
    }
    for way in WAYS {
        let place = Place::new();
        place.write("other", "1");
        place.write("d/f", "f");
        place.write("e/f", "f");
        fs::create_dir(place.path("shut")).unwrap();
        place.mode("shut", 0o750);
        let without = place.without_d(false);
        let (done, _) = place.bring(&without, &Folders::NONE, way);
        // Not complete, and of another user.
        fs::create_dir(place.path("shut")).unwrap();
        place.mode("shut", 0o1700);
        let base = place.root.parent().unwrap();
        fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
        let nobody = Uid::from_raw(65_534);
        let owner = nobody.as_raw().to_string();
        assert!(Command::new("chown").args(["-R", &owner]).arg(base).status().unwrap().success());
        assert!(Command::new("chown").arg("root").arg(place.path("shut")).status().unwrap().success());
        let restored = std::thread::scope(|scope| {
            let undo = || {
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                // A list that has nothing of `shut`, which cannot be listed by this user.
                let entries = done.from.entries().iter().filter(|entry| entry.path != b"shut");
                let to = Tree::new(entries.cloned().collect()).unwrap();
                place.try_bring(&done.to, &to, &done.gone, way)
            };
            scope.spawn(undo).join().unwrap()
        });
        let restored = restored.unwrap();
        let said: Vec<_> =
            restored.folders.iter().map(|other| (other.path.as_slice(), other.why.as_str())).collect();
        let why = "did not get its mode 750 back: Permission denied (os error 13)";
        assert_eq!(said, [(&b"shut"[..], why)], "{way:?}");
        assert!(place.path("d/f").exists() && place.path("e/f").exists(), "{way:?}");
    }
}

#[test]
fn a_restore_and_a_change_that_take_nothing_back_give_no_folder_a_mode() {
    for git in [false, true] {
        let place = Place::in_git(git);
        place.write("d/f", "then");
        place.write("e/f", "then");
        let then = place.keep();
        place.write("d/f", "now");
        place.remove("e");
        place.mode("d", 0o700);
        let now = place.keep();
        restore(&place.root, &place.order, &then.tree).unwrap();
        assert_eq!(place.modes()["d"], "700");
        place.mode("d", 0o711);
        change(&place.root, &place.order, &then.tree, &now.tree).unwrap();
        assert_eq!(place.modes()["d"], "711");
        assert!(!place.path("e").exists());
    }
}
