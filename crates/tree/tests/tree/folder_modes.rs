//! Folders have modes. One that Envoi takes away, because its files go or because it makes room, comes back as it was.

use super::folder::{Place, again_as_an_ordinary_user};
use envoi_contract::digest::Digest;
use envoi_tree::{Side, Tree, change, lay, merge, restore, restore_again, stand, with_ignored, write_into};
use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

/// The folders below `root` and their modes.
fn modes_in(root: &Path) -> BTreeMap<String, u32> {
    fn look(folder: &Path, above: &str, found: &mut BTreeMap<String, u32>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = format!("{above}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() && ![".git", ".envoi"].contains(&name.as_str()) {
                found.insert(name.clone(), entry.metadata().unwrap().permissions().mode() & 0o7777);
                look(&entry.path(), &format!("{name}/"), found);
            }
        }
    }
    let mut found = BTreeMap::new();
    look(root, "", &mut found);
    found
}

impl Place {
    fn modes(&self) -> BTreeMap<String, u32> {
        modes_in(&self.root)
    }

    fn modes_are(&self, expected: &[(&str, u32)], case: &str) {
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(path, mode)| ((*path).to_owned(), *mode)).collect();
        let octal = |modes: &BTreeMap<String, u32>| {
            modes.iter().map(|(path, mode)| format!("{path} {mode:o}")).collect::<Vec<_>>()
        };
        assert_eq!(octal(&self.modes()), octal(&expected), "{case}");
    }

    fn remove(&self, name: &str) {
        assert!(Command::new("rm").args(["-rf", "--"]).arg(self.path(name)).status().unwrap().success());
    }

    /// `d` and the folders in it have these modes.
    fn fill(&self, [outer, inner, empty]: [u32; 3]) {
        self.write("d/f", "f");
        self.write("d/in/g", "g");
        fs::create_dir(self.path("d/empty")).unwrap();
        self.mode("d/empty", empty);
        self.mode("d/in", inner);
        self.mode("d", outer);
    }
}

/// Folders in one that hands on its group have that bit, or were there before.
const MODES: [[u32; 3]; 8] = [
    [0o700, 0o755, 0o711],
    [0o755, 0o700, 0o2775],
    [0o2775, 0o3770, 0o3777],
    [0o2775, 0o755, 0o711],
    [0o775, 0o1777, 0o2755],
    [0o555, 0o555, 0o555],
    [0o775, 0o500, 0o700],
    [0o755, 0o755, 0o755],
];

fn octal(modes: [u32; 3]) -> String {
    modes.map(|mode| format!("{mode:o}")).join(" ")
}

fn replace(place: &Place, with: &str) {
    place.remove("d");
    match with {
        "nothing" => {}
        "a file" => place.write("d", "a file"),
        "a link" => place.link("other", "d"),
        _ => place.pipe("d"),
    }
}

#[test]
fn a_folder_that_is_gone_comes_back_with_its_modes() {
    for git in [false, true] {
        for (modes, with) in
            MODES.iter().flat_map(|it| ["nothing", "a file", "a link", "a pipe"].map(|with| (it, with)))
        {
            let case = format!("{}, now {with}, git: {git}", octal(*modes));
            let place = Place::new();
            if git {
                place.git("", &["init", "-q"]);
            }
            place.write("other", "1");
            place.fill(*modes);
            if git {
                place.git("", &["add", "-A"]);
            }
            let stood = place.modes();
            let then = place.keep();
            replace(&place, with);
            let now = stand(&place.root, &place.order, &then.tree).unwrap().kept;
            restore(&place.root, &place.order, &then.tree).unwrap();
            assert_eq!(place.modes(), stood, "{case}");
            assert_eq!(place.keep().digest, then.digest, "{case}");
            let again = stand(&place.root, &place.order, &now.tree).unwrap().kept;
            restore(&place.root, &place.order, &now.tree).unwrap();
            assert!(!place.path("d").is_dir(), "{case}");
            restore(&place.root, &place.order, &again.tree).unwrap();
            assert_eq!(place.modes(), stood, "undo of the undo of {case}");
        }
    }
}

/// As an ordinary user, who may not write into all of them.
#[test]
fn folders_without_write_permission_come_back_with_what_is_in_them() {
    if again_as_an_ordinary_user(
        "folder_modes::folders_without_write_permission_come_back_with_what_is_in_them",
    ) {
        return;
    }
    for modes in MODES {
        let case = octal(modes);
        let place = Place::new();
        place.fill(modes);
        let stood = place.modes();
        let then = place.keep();
        for folder in ["d", "d/in", "d/empty"] {
            place.mode(folder, 0o700);
        }
        place.remove("d");
        restore(&place.root, &place.order, &then.tree).unwrap();
        assert_eq!(place.modes(), stood, "{case}");
        assert_eq!(place.keep().digest, then.digest, "{case}");
        let copy = place.path("copy");
        write_into(&copy, &place.order, &then.tree).unwrap();
        assert_eq!(modes_in(&copy), stood, "{case}");
        // In a tree of a run everything can be removed.
        let tree = place.path("tree");
        fs::create_dir(&tree).unwrap();
        lay(&tree, &place.order, &then.tree).unwrap();
        let open = |(path, mode): (&String, &u32)| {
            (path.clone(), if path == "d/empty" { *mode } else { mode | 0o700 })
        };
        assert_eq!(modes_in(&tree), stood.iter().map(open).collect(), "{case}");
        fs::remove_dir_all(&tree).unwrap();
        for folder in ["", "copy/"] {
            ["d", "d/in", "d/empty"].iter().for_each(|name| place.mode(&format!("{folder}{name}"), 0o700));
        }
    }
}

#[test]
fn what_a_person_cannot_see_is_not_opened_by_a_strict_mask_nor_by_a_wide_one() {
    const NAME: &str =
        "folder_modes::what_a_person_cannot_see_is_not_opened_by_a_strict_mask_nor_by_a_wide_one";
    let Ok(mask) = env::var("TREE_MASK") else {
        for mask in ["000", "077", "022"] {
            let mut again = Command::new("sh");
            again.args(["-c", "umask $TREE_MASK; exec \"$0\" \"$@\""]).arg(env::current_exe().unwrap());
            let done = again.args([NAME, "--exact"]).env("TREE_MASK", mask).output().unwrap();
            assert!(done.status.success(), "{mask}: {done:?}");
        }
        return;
    };
    for modes in MODES {
        let case = octal(modes);
        let place = Place::new();
        fs::create_dir_all(place.path("d/in")).unwrap();
        place.fill(modes);
        let stood = place.modes();
        let then = place.keep();
        replace(&place, "a file");
        restore(&place.root, &place.order, &then.tree).unwrap();
        assert_eq!(place.modes(), stood, "{mask} {case}");
    }
}

/// What came in git's index is listed by git also when the file is gone.
#[test]
fn a_folder_whose_files_are_gone_is_an_empty_folder_also_while_the_index_has_them() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write("d/f", "f");
    place.write("e/in/f", "f");
    place.write("g/f", "f");
    place.git("", &["add", "-A"]);
    fs::remove_file(place.path("d/f")).unwrap();
    fs::remove_file(place.path("e/in/f")).unwrap();
    place.remove("g");
    place.mode("d", 0o700);
    assert_eq!(place.paths(), ["d/", "e/in/"]);
    let then = place.keep();
    place.remove("d");
    place.write("d", "a file");
    restore(&place.root, &place.order, &then.tree).unwrap();
    place.modes_are(&[("d", 0o700), ("e", 0o755), ("e/in", 0o755)], "restored");
}

#[test]
fn an_empty_folder_among_ignored_files_comes_back_with_the_folder_that_made_room() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write("build", "a file then");
    let then = place.keep();
    place.remove("build");
    place.write(".gitignore", "build\n");
    place.write("build/x", "ignored");
    fs::create_dir_all(place.path("build/a/b")).unwrap();
    place.mode("build/a/b", 0o700);
    place.mode("build/a", 0o711);
    place.mode("build", 0o750);
    let expected = place.modes();
    let stood = stand(&place.root, &place.order, &then.tree).unwrap().kept;
    restore(&place.root, &place.order, &then.tree).unwrap();
    assert!(place.path("build").is_file());
    restore(&place.root, &place.order, &stood.tree).unwrap();
    assert_eq!(place.modes(), expected);
}

#[test]
fn a_folder_that_stands_there_keeps_its_mode() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write(".gitignore", "private\n");
    place.fill([0o755, 0o700, 0o755]);
    place.write("closed/f", "f");
    let then = place.keep();
    // A person has these: one with files, and one that git does not know.
    place.mode("d", 0o700);
    place.remove("d/f");
    place.remove("closed");
    place.write("closed/private", "ignored");
    place.mode("closed", 0o700);
    restore(&place.root, &place.order, &then.tree).unwrap();
    let expected = [("closed", 0o700), ("d", 0o700), ("d/empty", 0o755), ("d/in", 0o700)];
    place.modes_are(&expected, "restored");
    assert_eq!(place.keep().tree.entries(), then.tree.entries());
}

/// `base`, then what a person and a run have made of it, and what the folder is to be.
struct Case {
    name: &'static str,
    ours: fn(&Place),
    theirs: fn(&Place),
    prefer: Option<Side>,
    applied: &'static [(&'static str, u32)],
}

fn same(_: &Place) {}

fn emptied(place: &Place) {
    place.remove("d/f");
}

const CASES: [Case; 14] = [
    Case {
        name: "gone",
        ours: same,
        theirs: |it| it.remove("d"),
        prefer: None,
        applied: &[("empty", 0o750)],
    },
    Case {
        name: "its only file is gone",
        ours: same,
        theirs: emptied,
        prefer: None,
        applied: &[("d", 0o700), ("empty", 0o750)],
    },
    Case {
        name: "its only file is gone, and a person has changed its mode",
        ours: |it| it.mode("d", 0o750),
        theirs: emptied,
        prefer: None,
        applied: &[("d", 0o750), ("empty", 0o750)],
    },
    Case {
        name: "its only file is gone, and the run has changed its mode",
        ours: same,
        theirs: |it| {
            emptied(it);
            it.mode("d", 0o711);
        },
        prefer: None,
        applied: &[("d", 0o711), ("empty", 0o750)],
    },
    Case {
        name: "a file in its place",
        ours: |it| it.mode("d", 0o2775),
        theirs: |it| replace(it, "a file"),
        prefer: None,
        applied: &[("empty", 0o750)],
    },
    Case {
        name: "a file in the place of a changed one",
        ours: |it| {
            it.write("d/in/deep/new", "new");
            it.mode("d/in/deep", 0o3770);
            it.mode("d/in", 0o555);
            it.mode("d", 0o500);
        },
        theirs: |it| replace(it, "a file"),
        prefer: Some(Side::Theirs),
        applied: &[("empty", 0o750)],
    },
    Case {
        name: "a person's folder in the place of a file",
        ours: |it| {
            replace(it, "a file");
        },
        theirs: |it| {
            it.write("d/in/new", "new");
            it.mode("d/in", 0o711);
        },
        prefer: Some(Side::Theirs),
        applied: &[("d", 0o700), ("d/in", 0o711), ("empty", 0o750)],
    },
    Case {
        name: "ours stays",
        ours: |it| {
            it.write("d/g", "g");
            it.mode("d", 0o750);
        },
        theirs: |it| replace(it, "a file"),
        prefer: Some(Side::Ours),
        applied: &[("d", 0o750), ("empty", 0o750)],
    },
    Case {
        name: "a file more",
        ours: |it| it.mode("d", 0o2750),
        theirs: |it| it.write("d/g", "g"),
        prefer: None,
        applied: &[("d", 0o2750), ("empty", 0o750)],
    },
    Case {
        name: "an empty folder that both have filled",
        ours: |it| it.write("empty/mine", "mine"),
        theirs: |it| {
            it.write("empty/f", "f");
            it.mode("empty", 0o711);
        },
        prefer: None,
        applied: &[("d", 0o700), ("empty", 0o750)],
    },
    Case {
        name: "an empty folder that is filled",
        ours: same,
        theirs: |it| {
            it.write("empty/f", "f");
            it.mode("empty", 0o555);
        },
        prefer: None,
        applied: &[("d", 0o700), ("empty", 0o555)],
    },
    Case {
        name: "a new folder in one that hands on its group",
        ours: |it| it.mode("d", 0o2770),
        theirs: |it| {
            it.write("d/new/f", "f");
            it.mode("d/new", 0o775);
        },
        prefer: None,
        applied: &[("d", 0o2770), ("d/new", 0o2775), ("empty", 0o750)],
    },
    Case {
        name: "new folders",
        ours: same,
        theirs: |it| {
            it.write("new/deep/f", "f");
            it.mode("new", 0o700);
        },
        prefer: None,
        applied: &[("d", 0o700), ("empty", 0o750), ("new", 0o700), ("new/deep", 0o755)],
    },
    Case {
        name: "a person's new folder, and a file",
        ours: |it| {
            it.write("new/a/f", "f");
            it.mode("new/a", 0o1777);
            it.mode("new", 0o700);
        },
        theirs: |it| it.write("new", "a file"),
        prefer: Some(Side::Theirs),
        applied: &[("d", 0o700), ("empty", 0o750)],
    },
];

/// As an apply does it, and its undo, and the undo of that.
#[test]
fn what_comes_from_a_run_is_undone_with_the_modes_of_the_folders() {
    for case in CASES {
        let place = Place::new();
        let lay = || {
            place.remove("d");
            place.remove("new");
            place.remove("empty");
            place.write("d/f", "f");
            place.mode("d", 0o700);
            fs::create_dir(place.path("empty")).unwrap();
            place.mode("empty", 0o750);
        };
        lay();
        let base = place.keep().tree;
        (case.theirs)(&place);
        let theirs = place.keep().tree;
        lay();
        (case.ours)(&place);
        let stood = place.modes();
        let now = place.keep().tree;
        let Case { name, prefer, applied, .. } = case;
        let to = merge(&place.order, &base, &now, &theirs, prefer).unwrap().tree;
        change(&place.root, &place.order, &now, &to).unwrap();
        place.modes_are(applied, name);
        let applied_tree = place.keep().tree;
        let again = merge(&place.order, &base, &applied_tree, &theirs, prefer).unwrap().tree;
        assert_eq!(again, applied_tree, "there is nothing more to apply: {name}");
        let undo = |from: &Tree, to: &Tree| {
            let now = place.keep().tree;
            let merged = merge(&place.order, to, &now, from, Some(Side::Ours)).unwrap().tree;
            change(&place.root, &place.order, &now, &merged).unwrap();
            (now, merged)
        };
        let (from, back) = undo(&now, &to);
        assert_eq!(place.modes(), stood, "undo: {name}");
        assert_eq!(place.keep().tree, now, "undo: {name}");
        undo(&from, &back);
        place.modes_are(applied, name);
    }
}

#[test]
fn a_folder_of_files_that_are_ignored_now_keeps_the_mode_that_it_had() {
    let place = Place::new();
    place.git("", &["init", "-q"]);
    place.write("built/x", "x");
    place.mode("built", 0o700);
    let before = place.keep();
    place.write(".gitignore", "built\n");
    let after = place.keep();
    let shelf = place.order.contents.shelf().unwrap();
    let later = envoi_tree::Later::Folder(&place.root);
    let (tree, _) = with_ignored(&shelf, &before.tree, &after.tree, later).unwrap();
    let copy = place.path("copy");
    write_into(&copy, &place.order, &tree).unwrap();
    assert_eq!(modes_in(&copy), BTreeMap::from([("built".to_owned(), 0o700)]));
}

const FOLDERS: usize = 40;

/// The child: restores to two snapshots in turn until it is killed.
#[test]
fn child() {
    let (Ok(base), Ok(digests)) = (env::var("MODES_BASE"), env::var("MODES_DIGESTS")) else { return };
    let place = Place::at(Path::new(&base));
    let trees = trees(&place, &digests);
    for nth in 1.. {
        restore(&place.root, &place.order, &trees[nth % 2]).unwrap();
        let done = Path::new(&base).join("done");
        let mut done = fs::File::options().append(true).create(true).open(done).unwrap();
        done.write_all(b".").unwrap();
    }
}

fn trees(place: &Place, digests: &str) -> Vec<Tree> {
    let shelf = place.order.contents.shelf().unwrap();
    let tree = |text: &str| Tree::parse(&shelf.read(&Digest::parse(text).unwrap()).unwrap()).unwrap();
    digests.split(' ').map(tree).collect()
}

#[test]
fn a_killed_restore_that_is_done_again_ends_with_the_modes_of_the_folders() {
    let kills = env::var("ENVOI_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let place = Place::new();
    for nth in 0..FOLDERS {
        place.write(format!("d{nth}/in/f"), "f");
        place.mode(&format!("d{nth}/in"), [0o555, 0o700, 0o755][nth % 3]);
        place.mode(&format!("d{nth}"), [0o555, 0o711][nth % 2]);
    }
    let folders = (place.keep(), place.modes());
    for nth in 0..FOLDERS {
        place.remove(&format!("d{nth}"));
        place.write(format!("d{nth}"), "a file");
    }
    let files = (place.keep(), place.modes());
    restore(&place.root, &place.order, &folders.0.tree).unwrap();
    let both = [&folders, &files];
    let digests = both.map(|(kept, _)| kept.digest.to_string()).join(" ");
    let base = place.root.parent().unwrap();
    let done = base.join("done");
    let mut half_done = 0;
    for kill in 0..kills {
        fs::write(&done, "").unwrap();
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["folder_modes::child", "--exact"]).stdout(Stdio::null()).stderr(Stdio::null());
        child.env("MODES_BASE", base).env("MODES_DIGESTS", &digests);
        let mut child = child.spawn().unwrap();
        let count = || fs::read(&done).unwrap().len();
        // At another place of a restore each time, the one way and the other.
        let watched = place.path(&format!("d{}", FOLDERS * kill / kills));
        for is_file in [true, false].into_iter().take(1 + kill % 2) {
            while fs::metadata(&watched).is_ok_and(|found| found.is_file()) != is_file {
                assert!(child.try_wait().unwrap().is_none(), "the restore has failed");
                std::thread::yield_now();
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let nth = count() + 1;
        let ([from, _], (to, modes)) = ([&both[(nth + 1) % 2].0, &both[nth % 2].0], both[nth % 2]);
        let stands = place.keep().digest;
        half_done += usize::from(![from.digest, to.digest].contains(&stands));
        restore_again(&place.root, &place.order, &from.tree, &to.tree).unwrap();
        assert_eq!(place.modes(), *modes, "kill {kill}");
        assert_eq!(place.keep().digest, to.digest, "kill {kill}");
        restore(&place.root, &place.order, &folders.0.tree).unwrap();
        assert_eq!(place.modes(), folders.1, "kill {kill}");
    }
    assert!(half_done > 0, "of {kills} kills");
}
