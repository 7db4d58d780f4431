//! A result is restored from the cache, or the command is started: never a mixture of both.

use super::stage::{START, Stage, exec, free_lock, launcher, read, shell, start_in};
use envoi_contract::digest::Digest;
use envoi_step::{
    AttemptDir, CacheEntry, CacheOrder, CachePart, CacheUse, CachedFrom, Change, CrashPoint, Exit, Given,
    Launcher, Outcome, Probe, Spec, boot_id, probe,
};
use envoi_tree::{Bounds, Contents, Order, Stop, Tree};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A store, and runs beside it, each with its own workspace.
struct Place {
    root: tempfile::TempDir,
}

/// Builds `out/app` from `src`, and counts its starts outside of every workspace.
const BUILD: &str = r#"echo started >>"$COUNT"; mkdir -p out/deep; cat src/* >out/app; chmod 755 out/app; echo lib >out/deep/lib
echo built; echo careful >&2; echo '{"size": 12}' >"$ENVOI_DATA""#;

/// File in the folder of a run: names the point where its supervisors are killed.
const KILL_AT: &str = "kill-at";
/// File in the folder of a run: names the point where a person edits an artifact.
const EDIT_AT: &str = "edit-at";

/// At the points that the run names, kills the supervisor or edits an artifact.
pub(crate) fn reached(point: CrashPoint) {
    // Standard output is the lock of the attempt, so it leads to the run's folder.
    let lock = fs::read_link("/proc/self/fd/1").unwrap();
    let run = lock.ancestors().nth(3).unwrap();
    let is_wanted =
        |name: &str| fs::read_to_string(run.join(name)).is_ok_and(|wanted| wanted == format!("{point:?}"));
    if is_wanted(EDIT_AT) {
        fs::write(run.with_file_name("workspace").join("out/app"), EDIT).unwrap();
    }
    if is_wanted(KILL_AT) {
        // Like a kill: no cleanup runs.
        std::process::abort();
    }
}

const EDIT: &str = "a person has written this";

const NEWEST: &str = "newest-of-build";

impl Place {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn order(&self) -> Order {
        let store = self.path("store");
        let contents = Contents {
            files: store.join("artifacts/sha256"),
            temporary: store.join("artifacts/tmp"),
            packs: store.join("artifacts/packs"),
        };
        let (caches, never) = (store.join("files/caches"), vec![store]);
        Order {
            contents,
            caches,
            never,
            too_wide: Vec::new(),
            scope: envoi_tree::Scope::default(),
            bounds: Bounds::default(),
            stop: Stop::default(),
        }
    }

    /// A run with the initial workspace.
    fn run(&self, name: &str) -> Run<'_> {
        let run = Run { place: self, name: name.to_owned() };
        run.write(".gitignore", "out/\ntmp/\n");
        run.write("src/a.c", "one\n");
        run.write("src/b.c", "two\n");
        run.write("README", "read me\n");
        run
    }

    /// Enters the newest result also under the key of the state with these artifacts.
    fn known_beside(&self, name: &str, artifacts: &[(&str, &str)]) {
        let entry = CacheEntry::read(&self.path("store/cache/tenant"), NEWEST).unwrap();
        let asks = self.run(&format!("{name}-asks"));
        artifacts.iter().for_each(|(path, text)| asks.write(path, text));
        let spec = Spec { command: exec(&["false"]), ..asks.spec(BUILD) };
        let key = cache(&asks.run(&spec)).key.clone();
        CacheEntry::new(vec![key], entry.from, entry.at_ms, entry.kept)
            .write(&self.path("store/cache/tenant"), NEWEST)
            .unwrap();
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.path("count")).map_or(0, |text| text.lines().count())
    }

    fn tree(&self, digest: &str) -> Tree {
        let list = self.order().contents.shelf().unwrap().read(&Digest::parse(digest).unwrap()).unwrap();
        Tree::parse(&list).unwrap()
    }

    fn content(&self, tree: &Tree, path: &str) -> Vec<u8> {
        let (digest, _) = tree.get(path.as_bytes()).unwrap().content().unwrap();
        self.order().contents.shelf().unwrap().read(&digest).unwrap()
    }
}

struct Run<'p> {
    place: &'p Place,
    name: String,
}

impl Run<'_> {
    fn workspace(&self) -> PathBuf {
        self.place.path(&self.name).join("workspace")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn dir(&self) -> AttemptDir {
        AttemptDir::new(self.place.path(&self.name).join("run/attempts/build.1.1"))
    }

    fn spec(&self, script: &str) -> Spec {
        let stage = Stage::new();
        let dir = self.dir();
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.to_str().unwrap().to_owned());
        Spec {
            attempt: "build.1.1".to_owned(),
            cwd: self.workspace(),
            workspace: self.workspace(),
            env: vec![
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                ("ENVOI_ATTEMPT".to_owned(), "build.1.1".to_owned()),
                variable("ENVOI_RUN_BASE", self.place.path(&self.name).join("run")),
                variable("ENVOI_REPORT", dir.report()),
                variable("ENVOI_DATA", dir.data()),
                variable("ENVOI_OUTPUT", dir.output()),
                variable("COUNT", self.place.path("count")),
            ],
            artifacts: vec!["out/**".to_owned()],
            never: vec![self.place.path("store")],
            keep: Some(self.place.order()),
            cache: Some(CacheOrder {
                folder: self.place.path("store/cache/tenant"),
                step: NEWEST.to_owned(),
                parts: vec![part("the command", script), part("variable `CC`", "cc")],
                words: script.split([' ', ';', '\n']).map(str::to_owned).collect(),
                inputs: None,
                also: Vec::new(),
                read: true,
                max_age_ms: 3_600_000,
            }),
            ..stage.shell(script)
        }
    }

    /// Runs to the end, and keeps the result like the engine after its commit.
    fn run(&self, spec: &Spec) -> Exit {
        self.dir().create().unwrap();
        self.again(spec)
    }

    fn again(&self, spec: &Spec) -> Exit {
        let dir = self.dir();
        let lock = free_lock(&dir);
        launcher().spawn(&dir, spec, lock).unwrap().wait().unwrap();
        let exit: Exit = serde_json::from_slice(&fs::read(dir.exit()).unwrap()).unwrap();
        if let Some(CacheUse { key, kept: Some(kept), again, from: None, .. }) = &exit.cache {
            let keys = [key.clone()].into_iter().chain(again.clone()).collect();
            let from = CachedFrom { run: self.name.clone(), attempt: spec.attempt.clone() };
            let order = spec.cache.as_ref().unwrap();
            CacheEntry::new(keys, from, exit.ended_at_ms, kept.clone())
                .write(&order.folder, &order.step)
                .unwrap();
        }
        exit
    }

    fn text(&self, name: &str) -> String {
        read(&self.path(name))
    }
}

fn part(name: &str, value: &str) -> CachePart {
    CachePart { name: name.to_owned(), digest: Digest::of(value.as_bytes()).hex() }
}

fn cache(exit: &Exit) -> &CacheUse {
    exit.cache.as_ref().unwrap()
}

fn missed(exit: &Exit) -> &str {
    assert_eq!(cache(exit).from, None);
    cache(exit).missed.as_deref().unwrap()
}

fn files(exit: &Exit) -> Vec<(&str, Change, Option<&str>)> {
    exit.files
        .iter()
        .map(|it| (it.path.as_str(), it.change, it.file.as_ref().map(|it| it.sha256.as_str())))
        .collect()
}

pub(crate) fn a_known_result_is_brought_and_the_command_is_not_started() {
    let place = Place::new();
    let one = place.run("one");
    let first = one.run(&one.spec(BUILD));
    assert_eq!(missed(&first), "no result of this step is kept yet");
    assert_eq!(cache(&first).not_kept, None);
    let other = place.run("other");
    let second = other.run(&other.spec(BUILD));
    assert_eq!(place.starts(), 1, "{:?}", second.cache);
    let from = cache(&second).from.as_ref().unwrap();
    assert_eq!((from.run.as_str(), from.attempt.as_str()), ("one", "build.1.1"));
    assert_eq!(second.outcome, Outcome::Exited { code: 0 });
    assert_eq!(files(&second), files(&first), "they are handed over as if the command had left them");
    assert_eq!([other.text("out/app"), other.text("out/deep/lib")], ["one\ntwo\n", "lib\n"]);
    assert_eq!(fs::metadata(other.path("out/app")).unwrap().permissions().mode() & 0o777, 0o755);
    for (made, brought) in [
        (&first.stdout.file, &second.stdout.file),
        (&first.stderr.file, &second.stderr.file),
        (&first.text, &second.text),
        (first.data.as_ref().unwrap(), second.data.as_ref().unwrap()),
    ] {
        assert_eq!(made, brought);
        assert_eq!(read(&one.dir().path().join(&made.path)), read(&other.dir().path().join(&brought.path)));
    }
    assert_eq!(second.stderr_tail, "careful\n");
    // In the state after the command there is nothing to do.
    let third = {
        fs::remove_dir_all(one.dir().path()).unwrap();
        one.run(&one.spec(BUILD))
    };
    assert_eq!((place.starts(), cache(&third).from.is_some()), (1, true), "{:?}", third.cache);
    assert!(third.files.iter().all(|file| file.change == Change::Unchanged));
}

pub(crate) fn whatever_the_command_depends_on_makes_another_key_and_is_named() {
    let place = Place::new();
    place.run("one").run(&place.run("one").spec(BUILD));
    let mut starts = 1;
    let mut differs = |name: &str, change: &dyn Fn(&Run<'_>, &mut Spec), expected: &str| {
        let run = place.run(name);
        let mut spec = run.spec(BUILD);
        change(&run, &mut spec);
        // The result of this run must not be the newest of the step for the others.
        let newest = fs::read(place.path("store/cache/tenant/newest-of-build.json")).unwrap();
        let exit = run.run(&spec);
        fs::write(place.path("store/cache/tenant/newest-of-build.json"), newest).unwrap();
        starts += 1;
        assert_eq!(place.starts(), starts, "{name}");
        assert!(missed(&exit).ends_with(expected), "{name}: {}", missed(&exit));
    };
    differs("input", &|run, _| run.write("src/a.c", "1\n"), "the step: `src/a.c`");
    differs("new", &|run, _| run.write("src/c.c", "3\n"), "the step: `src/c.c`");
    let mode =
        |run: &Run<'_>| fs::set_permissions(run.path("README"), fs::Permissions::from_mode(0o600)).unwrap();
    differs("mode", &|run, _| mode(run), "the step: `README`");
    let parts = |spec: &mut Spec, at: usize| spec.cache.as_mut().unwrap().parts[at].digest = "0".repeat(64);
    differs("command", &|_, spec| parts(spec, 0), "the step: the command");
    differs("variable", &|_, spec| parts(spec, 1), "the step: variable `CC`");
    differs(
        "stands",
        &|run, _| run.write("out/old", "old"),
        "the step: what stands in the place of its artifacts",
    );
    let also = |run: &Run<'_>, spec: &mut Spec| {
        run.write("tmp/made", "made by another step");
        spec.cache.as_mut().unwrap().also = vec!["tmp/**".to_owned()];
    };
    differs("ignored", &also, "`inputs`, `tmp/made`");
    let run = place.run("again");
    let mut spec = run.spec(BUILD);
    spec.cache.as_mut().unwrap().read = false;
    assert_eq!(missed(&run.run(&spec)), "the cache is not read here");
    let mut entry = CacheEntry::read(&place.path("store/cache/tenant"), NEWEST).unwrap();
    for (at_ms, name) in [(0, "old"), (u64::MAX, "future")] {
        entry.at_ms = at_ms;
        entry.write(&place.path("store/cache/tenant"), NEWEST).unwrap();
        let run = place.run(name);
        assert_eq!(missed(&run.run(&run.spec(BUILD))), "the result that fits is older than `cache` allows");
    }
}

pub(crate) fn inputs_that_are_named_count_and_others_do_not() {
    let place = Place::new();
    let script = "sh ./build.sh; echo started >>\"$COUNT\"; mkdir -p out; cp src/a.c out/app";
    let with = |name: &str, change: &dyn Fn(&Run<'_>)| {
        let run = place.run(name);
        run.write("build.sh", "true\n");
        change(&run);
        let mut spec = run.spec(script);
        spec.cache.as_mut().unwrap().inputs = Some(vec!["src/**".to_owned()]);
        run.run(&spec)
    };
    with("one", &|_| {});
    assert!(cache(&with("two", &|run| run.write("README", "other\n"))).from.is_some());
    assert!(missed(&with("three", &|run| run.write("src/new", ""))).contains("`src/new`"));
    // The command names the file.
    assert!(missed(&with("four", &|run| run.write("build.sh", "false\n"))).contains("file `./build.sh`"));
    assert_eq!(place.starts(), 3);
}

pub(crate) fn a_link_that_is_ignored_counts_and_a_pattern_without_a_file_gives_no_key() {
    let place = Place::new();
    // The content stays the same; only the times change.
    let script = format!("{BUILD}; touch tmp/a");
    let with = |name: &str, leads: &str, globs: &[&str]| {
        let run = place.run(name);
        run.write("tmp/a", "the same\n");
        std::os::unix::fs::symlink(leads, run.path("tmp/link")).unwrap();
        let mut spec = run.spec(&script);
        spec.cache.as_mut().unwrap().inputs = Some(globs.iter().map(|glob| (*glob).to_owned()).collect());
        run.run(&spec)
    };
    let globs = ["src/**", "tmp/*"];
    assert!(cache(&with("one", "a", &globs)).kept.is_some());
    assert!(cache(&with("two", "a", &globs)).from.is_some());
    let third = with("three", "b", &globs);
    assert!(missed(&third).ends_with("the step: `tmp/link`"), "{}", missed(&third));
    let misspelt = with("four", "a", &["scr/**", "tmp/*"]);
    let why = "no key: no file matches `inputs: scr/**`";
    assert_eq!((missed(&misspelt), cache(&misspelt).not_kept.as_deref()), (why, Some(why)));
    assert_eq!(place.starts(), 3);
}

pub(crate) fn what_another_run_would_lack_is_not_kept() {
    let rows: [(&str, &str); 10] = [
        ("exit 3", "the command has not ended with exit code 0"),
        ("echo x >notes", "the command has changed `notes`, which no pattern of `artifacts` names"),
        (
            "rm README; mkdir out; touch out/a",
            "the command has changed `README`, which no pattern of `artifacts` names",
        ),
        (
            "mkdir -p tmp out; echo x >tmp/x; touch out/a",
            "the command has written `tmp/x`, which is ignored and which no pattern of `artifacts` names",
        ),
        (
            "mkdir tmp out; touch out/a; echo x >tmp/x; touch -d 2001-01-01 tmp/x",
            "the command has written `tmp/x`, which is ignored and which no pattern of `artifacts` names",
        ),
        ("true", "no file matches `artifacts: out/**`"),
        (
            "mkdir out; ln -s ../README out/link; touch out/a",
            "`out/link` is a link, and only regular files of `artifacts` are kept",
        ),
        (
            "mkdir out made; touch out/a",
            "the command has made or removed the empty folder `made`, and only files are kept",
        ),
        ("mkdir out; echo topsecret >out/a", "artifact `out/a` holds a secret"),
        (
            "mkdir out; touch out/a; sleep 100 & true",
            "processes that it had started were still there when it ended",
        ),
    ];
    for (script, expected) in rows {
        let place = Place::new();
        let run = place.run("one");
        let spec = Spec { secrets: vec!["topsecret".to_owned()], grace_ms: 0, ..run.spec(script) };
        let exit = run.run(&spec);
        assert_eq!(cache(&exit).not_kept.as_deref().unwrap_or_default(), expected, "{script}");
        assert_eq!(cache(&exit).kept.is_none(), !expected.is_empty(), "{script}");
    }
}

pub(crate) fn what_stands_behind_an_output_option_is_no_report_when_it_comes_back() {
    let place = Place::new();
    let script = "mkdir -p out; printf %s \"$0\" >out/page";
    let spec = |run: &Run<'_>, text: &str| Spec {
        command: exec(&["/bin/sh", "-c", script, text, "--output", "out/page"]),
        ..run.spec(text)
    };
    let one = place.run("one");
    let first = one.run(&spec(&one, "a page"));
    assert_eq!((cache(&first).not_kept.as_deref(), first.report_assigned), (None, false));
    let other = place.run("other");
    let second = other.run(&spec(&other, "a page"));
    assert!(cache(&second).from.is_some(), "{:?}", second.cache);
    assert_eq!((&second.report, second.report_assigned), (&first.report, false));
    let report = r#"{"ok": true, "generatedAt": "t", "skillName": "page", "data": {}}"#;
    let reporting = place.run("reporting");
    let third = reporting.run(&spec(&reporting, report));
    let expected = "the file behind `--output` is a report; one at `$ENVOI_REPORT` is kept";
    assert_eq!(cache(&third).not_kept.as_deref(), Some(expected));
}

pub(crate) fn names_that_are_no_text_are_inputs_of_their_own() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let with = |name: &str, texts: [&str; 2]| {
        let run = place.run(name);
        for (byte, text) in [b"src/\xe8.c", b"src/\xe9.c"].iter().zip(texts) {
            fs::write(run.path("").join(std::ffi::OsStr::from_bytes(*byte)), text).unwrap();
        }
        run.run(&run.spec(BUILD));
    };
    with("one", ["1", "2"]);
    with("same", ["1", "2"]);
    assert_eq!(place.starts(), 1);
    with("other", ["3", "2"]);
    assert_eq!(place.starts(), 2);
}

pub(crate) fn a_result_in_the_state_that_another_has_left_displaces_none_that_was_made_in_it() {
    let place = Place::new();
    let script = r#"echo started >>"$COUNT"; mkdir -p out; echo x >>out/count"#;
    let run = place.run("one");
    let again = |read: bool| {
        let mut spec = run.spec(script);
        spec.cache.as_mut().unwrap().read = read;
        if run.dir().path().exists() {
            fs::remove_dir_all(run.dir().path()).unwrap();
        }
        run.run(&spec)
    };
    // Makes three states, the later two of which have results of their own; then makes the first one again.
    (0..3).for_each(|_| drop(again(false)));
    run.write("out/count", "x\n");
    let second = again(true);
    assert_eq!((run.text("out/count").as_str(), place.starts()), ("x\nx\n", 3), "{:?}", second.cache);
    fs::remove_dir_all(run.path("out")).unwrap();
    again(false);
    let second = again(true);
    assert_eq!((run.text("out/count").as_str(), place.starts()), ("x\nx\n", 4), "{:?}", second.cache);
}

pub(crate) fn an_entry_of_the_state_that_was_left_is_renewed_with_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let from = |run: &str| CachedFrom { run: run.to_owned(), attempt: "build.1.1".to_owned() };
    let write = |keys: [&str; 2], run: &str| {
        let keys = keys.map(str::to_owned).to_vec();
        CacheEntry::new(keys, from(run), 0, "list".to_owned()).write(folder.path(), NEWEST).unwrap();
    };
    let found = |key: &str| CacheEntry::read(folder.path(), key).unwrap().from.run;
    write(["before", "after"], "old");
    write(["before", "after"], "new");
    assert_eq!(["before", "after"].map(found), ["new", "new"]);
    // But an entry that a command has made in that state is kept.
    write(["after", "later"], "made-there");
    write(["before", "after"], "newest");
    assert_eq!(["before", "after"].map(found), ["newest", "made-there"]);
}

pub(crate) fn the_mode_of_an_artifact_is_a_part_of_the_key() {
    let place = Place::new();
    let run = place.run("one");
    let again = |mode: u32| {
        fs::set_permissions(run.path("out/app"), fs::Permissions::from_mode(mode)).unwrap();
        fs::remove_dir_all(run.dir().path()).unwrap();
        run.run(&run.spec(BUILD))
    };
    run.run(&run.spec(BUILD));
    assert!(cache(&again(0o755)).from.is_some(), "as the command has left it");
    let other = again(0o600);
    let why = "what stands in the place of its artifacts";
    assert!(missed(&other).ends_with(why), "{}", missed(&other));
    assert_eq!(place.starts(), 2);
    // The result of this state displaces a file of another mode, which can be restored.
    let exit = again(0o600);
    assert!(cache(&exit).from.is_some(), "{:?}", exit.cache);
    let stood = place.tree(cache(&exit).displaced.stood.as_deref().unwrap());
    assert_eq!((stood.get(b"out/app").unwrap().mode, place.starts()), (0o600, 2));
    assert_eq!(fs::metadata(run.path("out/app")).unwrap().permissions().mode() & 0o777, 0o755);
}

/// A supervisor is killed after the files were restored. A restored file has displaced an ignored file of a
/// person.
fn killed_with_files<'p>(place: &'p Place, name: &str) -> Run<'p> {
    let run = place.run(name);
    run.write("out/deep/lib", EDIT);
    place.known_beside(name, &[("out/deep/lib", EDIT)]);
    let dir = run.dir();
    dir.create().unwrap();
    let kill_at = dir.path().ancestors().nth(2).unwrap().join(KILL_AT);
    fs::write(&kill_at, format!("{:?}", CrashPoint::FilesBrought)).unwrap();
    let lock = free_lock(&dir);
    launcher().spawn(&dir, &run.spec(BUILD), lock).unwrap().wait().unwrap();
    fs::remove_file(kill_at).unwrap();
    assert_eq!(run.text("out/deep/lib"), "lib\n", "it was killed there");
    run
}

pub(crate) fn what_was_displaced_is_known_also_where_no_result_comes_in_the_end() {
    let place = Place::new();
    let one = place.run("one");
    one.run(&one.spec(BUILD));
    let lib_of = |stood: &Option<String>, name: &str| {
        let stood = stood.as_ref().unwrap_or_else(|| panic!("{name}: nothing says what was displaced"));
        assert_eq!(place.content(&place.tree(stood), "out/deep/lib"), EDIT.as_bytes(), "{name}");
    };
    let cancelled = killed_with_files(&place, "cancelled");
    envoi_step::cancel(&cancelled.dir()).unwrap();
    let exit = cancelled.again(&cancelled.spec(BUILD));
    assert_eq!(exit.outcome, Outcome::Cancelled);
    lib_of(&cache(&exit).displaced.stood, "cancelled");
    // An engine that cannot start a supervisor any more reads it from the folder.
    let given_up = killed_with_files(&place, "given up");
    lib_of(&envoi_step::displaced(&given_up.dir()).stood, "given up");
    // The result is gone, so the command is started, and its supervisor is killed.
    let doubtful = killed_with_files(&place, "doubtful");
    let dir = doubtful.dir();
    let gone = doubtful.spec("kill -9 $PPID");
    let lock = free_lock(&dir);
    launcher().spawn(&dir, &gone, lock).unwrap().wait().unwrap();
    let boot = boot_id().unwrap();
    match probe(&dir, Given::Maybe, start_in(&boot), &boot).unwrap() {
        Probe::Lost(_) => lib_of(&envoi_step::displaced(&dir).stood, "doubtful"),
        other => panic!("{other:?}"),
    }
    assert_eq!(place.starts(), 1);
}

pub(crate) fn what_was_written_to_a_file_aside_is_named_by_the_result_that_finds_it() {
    let place = Place::new();
    let one = place.run("one");
    one.run(&one.spec(BUILD));
    let two = place.run("two");
    two.write("out/deep/lib", EDIT);
    place.known_beside("two", &[("out/deep/lib", EDIT)]);
    let mut editor = fs::OpenOptions::new().append(true).open(two.path("out/deep/lib")).unwrap();
    assert!(cache(&two.run(&two.spec(BUILD))).from.is_some());
    editor.write_all(b", and goes on").unwrap();
    fs::remove_dir_all(two.dir().path()).unwrap();
    fs::remove_dir_all(two.path("out")).unwrap();
    let exit = two.run(&two.spec(BUILD));
    let late = &cache(&exit).displaced.late;
    let text = format!("{EDIT}, and goes on");
    let expected = Digest::of(text.as_bytes()).to_string();
    let named: Vec<_> = late.iter().map(|late| (late.path.as_str(), late.digest.as_deref())).collect();
    assert_eq!((named, place.starts()), (vec![("out/deep/lib", Some(&*expected))], 1), "{:?}", exit.cache);
}

pub(crate) fn what_a_command_names_is_found_by_where_it_lies() {
    let place = Place::new();
    let run = place.run("one");
    // The patterns also match files in the folders above the workspace, but those are not artifacts.
    let script = r#"echo started >>"$COUNT"; mkdir -p out; cat ../beside src/../out/app >/dev/null 2>&1; echo built >out/app"#;
    let spec = || Spec { artifacts: vec!["out/**".to_owned(), "**/beside".to_owned()], ..run.spec(script) };
    let again = |beside: &str| {
        fs::write(run.workspace().with_file_name("beside"), beside).unwrap();
        drop(fs::remove_dir_all(run.dir().path()));
        run.run(&spec())
    };
    run.write("inside/beside", "an artifact");
    let first = again("one");
    assert_eq!(cache(&first).not_kept, None);
    let same = again("one");
    assert!(
        cache(&same).from.is_some(),
        "its own artifact, by another spelling, is no input: {:?}",
        same.cache
    );
    let other = again("two");
    assert!(missed(&other).contains("file `../beside`"), "{}", missed(&other));
    assert_eq!(place.starts(), 2);
}

pub(crate) fn a_secret_is_masked_in_what_is_kept() {
    let place = Place::new();
    let script = "echo topsecret; echo topsecret >&2; echo '{\"a\": \"topsecret\"}' >\"$ENVOI_DATA\"; mkdir out; touch out/a";
    let run = place.run("one");
    let exit = run.run(&Spec { secrets: vec!["topsecret".to_owned()], ..run.spec(script) });
    let tree = place.tree(cache(&exit).kept.as_ref().unwrap());
    let names: Vec<String> = tree.entries().iter().map(envoi_tree::Entry::shown).collect();
    assert_eq!(names, ["data.json", "files/out/a", "inputs", "parts.json", "stderr", "stdout"]);
    for name in &names {
        let content = place.content(&tree, name);
        assert!(!String::from_utf8_lossy(&content).contains("topsecret"), "{name}");
    }
    assert_eq!(place.content(&tree, "stdout"), b"***\n");
}

pub(crate) fn a_result_that_is_not_whole_is_a_miss_and_nothing_of_it_comes() {
    for damage in ["missing", "other", "list"] {
        let place = Place::new();
        let one = place.run("one");
        let first = one.run(&one.spec(BUILD));
        let kept = cache(&first).kept.clone().unwrap();
        let (lib, _) = place.tree(&kept).get(b"files/out/deep/lib").unwrap().content().unwrap();
        let digest = if damage == "list" { Digest::parse(&kept).unwrap() } else { lib };
        let file = place.path("store/artifacts/sha256").join(&digest.hex()[..2]).join(&digest.hex()[2..]);
        fs::remove_file(&file).unwrap();
        if damage == "other" {
            fs::write(&file, "LIB\n").unwrap();
        }
        let two = place.run("two");
        let second = two.run(&two.spec(BUILD));
        assert!(missed(&second).starts_with("the result is not whole: "), "{}", missed(&second));
        assert_eq!((place.starts(), two.text("out/deep/lib").as_str()), (2, "lib\n"), "{damage}");
    }
}

pub(crate) fn an_entry_that_is_no_entry_or_of_another_key_is_a_miss() {
    let place = Place::new();
    let one = place.run("one");
    let first = one.run(&one.spec(BUILD));
    let folder = place.path("store/cache/tenant");
    let entry = CacheEntry::place(&folder, &cache(&first).key);
    let other = CacheEntry::new(
        vec!["0".repeat(64)],
        CachedFrom { run: "one".to_owned(), attempt: "build.1.1".to_owned() },
        first.ended_at_ms,
        cache(&first).kept.clone().unwrap(),
    );
    for (nth, text) in [b"{".to_vec(), serde_json::to_vec(&other).unwrap()].into_iter().enumerate() {
        fs::write(&entry, text).unwrap();
        let run = place.run(&format!("run{nth}"));
        let exit = run.run(&run.spec(BUILD));
        assert!(missed(&exit).starts_with("the entry cannot be read: "), "{}", missed(&exit));
        assert_eq!(place.starts(), nth + 2);
    }
}

pub(crate) fn what_a_person_has_put_in_the_place_of_a_file_is_kept_first() {
    let place = Place::new();
    let script = "mkdir -p out; cp src/a.c out/app; echo started >>\"$COUNT\"";
    let one = place.run("one");
    one.run(&one.spec(script));
    let entry = |name: &str| place.path("store/cache/tenant").join(name);
    let two = place.run("two");
    two.write("out/app", EDIT);
    // The state of the artifacts makes another key. The entry is copied to that key, so that it is found.
    let key = cache(&two.run(&two.spec(script))).key.clone();
    let stored: CacheEntry = CacheEntry::read(&place.path("store/cache/tenant"), &key).unwrap();
    assert!(entry(&format!("{key}.json")).exists() && stored.keys.contains(&key));
    let three = place.run("three");
    three.write("out/app", EDIT);
    let exit = three.run(&three.spec(script));
    assert_eq!((place.starts(), three.text("out/app").as_str()), (2, "one\n"), "{:?}", exit.cache);
    let stood = place.tree(cache(&exit).displaced.stood.as_ref().unwrap());
    assert_eq!(place.content(&stood, "out/app"), EDIT.as_bytes());
}

pub(crate) fn killed_wherever_it_is_a_supervisor_that_brings_a_result_leaves_nothing_in_doubt() {
    let place = Place::new();
    let one = place.run("one");
    let first = one.run(&one.spec(BUILD));
    for point in [
        CrashPoint::ResultAnnounced,
        CrashPoint::FilesBrought,
        CrashPoint::OutputWritten,
        CrashPoint::ArtifactsCopied,
        CrashPoint::ResultSettled,
    ] {
        let run = place.run(&format!("{point:?}"));
        run.write("out/deep/lib", EDIT);
        place.known_beside(&format!("{point:?}"), &[("out/deep/lib", EDIT)]);
        let kill_at = run.dir().path().ancestors().nth(2).unwrap().join(KILL_AT);
        let dir = run.dir();
        dir.create().unwrap();
        fs::write(&kill_at, format!("{point:?}")).unwrap();
        // It is killed several times, and each supervisor finds what the one before has left.
        for _ in 0..2 {
            let lock = free_lock(&dir);
            launcher().spawn(&dir, &run.spec(BUILD), lock).unwrap().wait().unwrap();
            let boot = boot_id().unwrap();
            let found = probe(&dir, Given::Maybe, start_in(&boot), &boot).unwrap();
            if point == CrashPoint::ResultSettled {
                assert!(matches!(found, Probe::Settled(_)), "{point:?}: {found:?}");
                break;
            }
            assert!(dir.cached().exists() && !dir.exit().exists(), "{point:?}: it was killed there");
            assert!(matches!(found, Probe::NotStarted(_)), "{point:?}: {found:?}");
        }
        fs::remove_file(kill_at).unwrap();
        let exit = if point == CrashPoint::ResultSettled {
            serde_json::from_slice(read(&dir.exit()).as_bytes()).unwrap()
        } else {
            run.again(&run.spec(BUILD))
        };
        assert_eq!(place.starts(), 1, "{point:?}: {:?}", exit.cache);
        assert_eq!(run.text("out/app"), "one\ntwo\n", "{point:?}");
        assert_eq!(run.text("out/deep/lib"), "lib\n", "{point:?}");
        let stood = place.tree(cache(&exit).displaced.stood.as_ref().unwrap());
        let lib = place.content(&stood, "out/deep/lib");
        assert_eq!(lib, EDIT.as_bytes(), "{point:?}: what the first of them has displaced");
        let changes: Vec<_> = exit.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
        let expected = [("out/app", Change::Created), ("out/deep/lib", Change::Modified)];
        assert_eq!(
            changes, expected,
            "{point:?}: the change of the attempt, not that of the last supervisor"
        );
        assert_eq!(read(&dir.stdout()), "built\n");
        assert_eq!(exit.text, first.text);
    }
}

/// The announcement of a restore into a folder without artifacts.
fn announced() -> String {
    format!(r#"{{"attempt":"build.1.1","start":"{START}"}}"#)
}

/// The folder of an attempt whose supervisor was killed while it restored a result.
fn half_brought(run: &Run<'_>, left: &[&str]) -> AttemptDir {
    let dir = run.dir();
    dir.create().unwrap();
    fs::write(dir.cached(), announced()).unwrap();
    // The lock file, as the killed supervisor left it.
    drop(free_lock(&dir));
    left.iter().for_each(|name| fs::write(dir.path().join(name), "half of it").unwrap());
    dir
}

pub(crate) fn half_of_a_result_becomes_a_whole_one_unless_a_person_has_changed_it_since() {
    let place = Place::new();
    let one = place.run("one");
    one.run(&one.spec(BUILD));
    let rows = [
        ("streams", None, true),
        ("file", Some(("out/app", "one\ntwo\n")), true),
        ("changed", Some(("out/app", EDIT)), false),
        ("added", Some(("out/notes", EDIT)), false),
    ];
    let mut starts = 1;
    for (name, file, is_hit) in rows {
        let run = place.run(name);
        let dir = half_brought(&run, &["stdout", "output"]);
        if let Some((path, text)) = file {
            run.write(path, text);
            fs::set_permissions(run.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let exit = run.again(&run.spec(BUILD));
        starts += usize::from(!is_hit);
        assert_eq!(
            (cache(&exit).from.is_some(), place.starts()),
            (is_hit, starts),
            "{name}: {:?}",
            exit.cache
        );
        assert_eq!([run.text("out/app"), run.text("out/deep/lib")], ["one\ntwo\n", "lib\n"], "{name}");
        assert_eq!(read(&dir.stdout()), "built\n", "{name}");
        assert!(!dir.output().exists() && !dir.cached().exists(), "{name}");
    }
}

pub(crate) fn an_edit_after_a_kill_is_never_displaced_without_being_kept() {
    let place = Place::new();
    let one = place.run("one");
    one.run(&one.spec(BUILD));
    let two = place.run("two");
    let dir = two.dir();
    dir.create().unwrap();
    let at = |name: &str| dir.path().ancestors().nth(2).unwrap().join(name);
    fs::write(at(KILL_AT), format!("{:?}", CrashPoint::FilesBrought)).unwrap();
    let lock = free_lock(&dir);
    launcher().spawn(&dir, &two.spec(BUILD), lock).unwrap().wait().unwrap();
    fs::remove_file(at(KILL_AT)).unwrap();
    // The next supervisor has read what the first one restored; then the edit happens.
    fs::write(at(EDIT_AT), format!("{:?}", CrashPoint::ResultAnnounced)).unwrap();
    let exit = two.again(&two.spec(BUILD));
    match &cache(&exit).displaced.stood {
        Some(stood) => assert_eq!(place.content(&place.tree(stood), "out/app"), EDIT.as_bytes()),
        None => panic!("the edit is nowhere: {:?}", exit.cache),
    }
    // If the snapshot of the first supervisor already counts, it is a miss.
    let three = place.run("three");
    three.write("out/deep/lib", EDIT);
    let dir = three.dir();
    dir.create().unwrap();
    let stood = cache(&exit).displaced.stood.clone().unwrap();
    let lib = Digest::of(EDIT.as_bytes()).hex();
    let mode = fs::metadata(three.path("out/deep/lib")).unwrap().permissions().mode() & 0o777;
    let artifacts = format!(r#""artifacts":{{"out/deep/lib":"{lib}"}},"modes":{{"out/deep/lib":{mode}}}"#);
    let begun = format!(r#"{{"attempt":"build.1.1","start":"{START}",{artifacts},"stood":"{stood}"}}"#);
    fs::write(dir.cached(), begun).unwrap();
    drop(free_lock(&dir));
    three.write("out/app", "one\ntwo\n");
    fs::set_permissions(three.path("out/app"), fs::Permissions::from_mode(0o755)).unwrap();
    let at = dir.path().ancestors().nth(2).unwrap().join(EDIT_AT);
    fs::write(at, format!("{:?}", CrashPoint::ResultAnnounced)).unwrap();
    place.known_beside("three", &[("out/deep/lib", EDIT)]);
    let exit = three.again(&three.spec(BUILD));
    assert!(missed(&exit).contains("`out/app` was changed meanwhile"), "{}", missed(&exit));
    assert_eq!((place.starts(), &cache(&exit).displaced.stood), (2, &Some(stood)));
}

pub(crate) fn nothing_of_a_result_that_is_gone_is_taken_for_output_of_the_command() {
    let place = Place::new();
    let run = place.run("one");
    let names = ["stdout", "stderr", "stdout.ring", "output", "report.json", "text"];
    let dir = half_brought(&run, &names);
    let exit = run.again(&run.spec(BUILD));
    assert_eq!((place.starts(), exit.report.is_none(), read(&dir.stdout()).as_str()), (1, true, "built\n"));
    assert!(names[2..].iter().all(|name| !dir.path().join(name).exists()));
    // A file that cannot be removed would be mixed with the output of the command. And if the announcement
    // still existed, a claim that the command removes would not be noticed.
    let run = place.run("two");
    let dir = half_brought(&run, &["stdout"]);
    fs::create_dir(dir.report()).unwrap();
    let mut spec = run.spec(BUILD);
    spec.cache.as_mut().unwrap().read = false;
    let lock = free_lock(&dir);
    launcher().spawn(&dir, &spec, lock).unwrap().wait().unwrap();
    assert_eq!((place.starts(), dir.cached().exists(), dir.started().exists()), (1, true, false));
    let log = read(&dir.supervisor_log());
    assert!(log.starts_with("cannot remove what was brought of a result of the cache: `"), "{log}");
    let boot = boot_id().unwrap();
    assert!(matches!(probe(&dir, Given::Maybe, start_in(&boot), &boot).unwrap(), Probe::NotStarted(_)));
}

/// The order is sent by a process with a limit on file sizes, which acts like a full disk.
pub(crate) fn a_result_whose_output_cannot_be_written_is_a_miss_and_is_not_kept_again() {
    let place = Place::new();
    let one = place.run("one");
    let script = format!("{BUILD}; head -c 300000 /dev/zero | tr '\\0' a");
    assert_eq!(cache(&one.run(&one.spec(&script))).not_kept, None);
    let two = place.run("two");
    let dir = two.dir();
    dir.create().unwrap();
    let lock = free_lock(&dir);
    let own = launcher();
    let limited = r#"trap "" XFSZ; ulimit -f 200; exec "$0" "$@""#;
    let words = ["-c".to_owned(), limited.to_owned(), own.exe.to_str().unwrap().to_owned()];
    let args = words.into_iter().chain(own.args).collect();
    let limited = Launcher { exe: "/bin/sh".into(), args, zygote: None };
    limited.spawn(&dir, &two.spec(&script), lock).unwrap().wait().unwrap();
    let exit: Exit = serde_json::from_slice(read(&dir.exit()).as_bytes()).unwrap();
    assert!(missed(&exit).starts_with("its output cannot be written: "), "{}", missed(&exit));
    let why = "a part of an earlier result stood in the folder";
    assert_eq!((place.starts(), cache(&exit).not_kept.as_deref()), (2, Some(why)), "{}", missed(&exit));
    assert_eq!(two.text("out/app"), "one\ntwo\n");
}

pub(crate) fn a_result_that_cannot_be_settled_is_an_error_that_starts_nothing() {
    let place = Place::new();
    let one = place.run("one");
    one.run(&one.spec(BUILD));
    let two = place.run("two");
    let dir = two.dir();
    dir.create().unwrap();
    // A file in the place of the folder for copies of artifacts.
    fs::write(dir.files(), "").unwrap();
    for nth in 1..=3 {
        let lock = free_lock(&dir);
        launcher().spawn(&dir, &two.spec(BUILD), lock).unwrap().wait().unwrap();
        let boot = boot_id().unwrap();
        assert!(matches!(probe(&dir, Given::Maybe, start_in(&boot), &boot).unwrap(), Probe::NotStarted(_)));
        let log = read(&dir.supervisor_log());
        assert_eq!(log.matches("cannot settle the attempt: ").count(), nth, "{log}");
    }
    assert_eq!(place.starts(), 1);
    fs::remove_file(dir.files()).unwrap();
    assert!(cache(&two.again(&two.spec(BUILD))).from.is_some());
}

pub(crate) fn files_of_a_repository_within_the_workspace_are_inputs_and_what_its_git_knows_is_none() {
    let place = Place::new();
    let with = |name: &str, change: &str| {
        let run = place.run(name);
        run.write("vendor/lib/lib.c", "lib\n");
        let git = "git -C vendor/lib -c user.name=t -c user.email=t@localhost";
        shell(&format!(
            "cd '{}' && git init -q && git init -q vendor/lib && {git} add . && {git} commit -qm one && {change}",
            run.workspace().display()
        ));
        run.run(&run.spec(BUILD))
    };
    with("one", "true");
    let commit = "git -C vendor/lib -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m two";
    assert!(cache(&with("two", commit)).from.is_some(), "a commit that changes no file changes no input");
    let third = with("three", "echo other > vendor/lib/lib.c");
    assert!(missed(&third).ends_with("the step: `vendor/lib/lib.c`"), "{}", missed(&third));
    let fourth = with("four", "echo new > vendor/lib/new.c");
    assert!(missed(&fourth).ends_with("`vendor/lib/new.c`"), "{}", missed(&fourth));
    assert_eq!(place.starts(), 3);
}

pub(crate) fn nothing_comes_of_the_cache_of_a_program_that_does_not_run() {
    let place = Place::new();
    let run = place.run("one");
    let spec = Spec { command: exec(&["no-such-program"]), ..run.spec("true") };
    let exit = run.run(&spec);
    assert!(matches!(exit.outcome, Outcome::CannotStart { .. }));
    assert_eq!(exit.cache, None);
    assert!(!Path::new(&place.path("store/cache")).exists());
}
