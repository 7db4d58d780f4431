//! `cache`: a step whose files are the same is not done again, and a result comes whole or not at all.

use crate::{
    files::stage,
    stage::{Process, Stage, signal, state, text, wait_until},
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Each start of a command is counted outside of every workspace.
pub(crate) const FLOW: &str = "
flow: cached
workspace: { folder: work, isolate: tree }
steps:
  - id: build
    run: 'echo build >> $HOME/starts; mkdir -p out; cat src.txt > out/app; chmod 755 out/app; echo built; echo careful >&2'
    artifacts: ['out/**']
    cache: true
  - id: test
    run: 'echo test >> $HOME/starts; sh out/app'
    cache: { for: 1h }
  - { id: show, run: 'echo \"${{ steps.build.text }}: ${{ steps.test.text }}\" >> $HOME/shown' }
";

/// The cache entry of this attempt's settlement.
fn cache(stage: &Stage, run: &str, attempt: &str) -> Value {
    let is_it = |event: &&Value| event["type"] == "attempt_settled" && text(&event["attempt"]) == attempt;
    stage.events(run).iter().find(is_it).unwrap()["cache"].clone()
}

/// The id of the run that this command made.
fn run(stage: &Stage, arguments: &[&str]) -> (String, String) {
    let before = stage.runs_made();
    let done = stage.expect(0, arguments);
    let run = stage.runs_made().into_iter().find(|run| !before.contains(run)).unwrap();
    (run, done.out + &done.err)
}

fn starts(stage: &Stage) -> Vec<String> {
    if stage.path("starts").exists() { stage.lines("starts") } else { Vec::new() }
}

#[test]
fn a_later_run_gets_what_an_earlier_one_has_made_and_starts_nothing() {
    let stage = stage(FLOW);
    stage.write("work/src.txt", "echo tested\n");
    let (first, _) = run(&stage, &["run", "flow.yaml"]);
    let (second, said) = run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage), ["build", "test"]);
    assert_eq!(stage.lines("shown"), ["built: tested"; 2]);
    assert!(said.contains(&format!("from the cache: build.1.1 of run {first}")), "{said}");
    let brought = cache(&stage, &second, "build.1.1");
    assert_eq!(
        (text(&brought["from"]["run"]), text(&brought["from"]["attempt"])),
        (first.clone(), "build.1.1".to_owned())
    );
    let why = stage.expect(0, &["why", &second]).out;
    assert!(why.contains(&format!("build.1.1  from the cache: build.1.1 of run {first}")), "{why}");
    let shown = stage.expect(0, &["show", &second]).out;
    assert!(
        shown.contains("from the cache: built") && !shown.contains("from the cache: built: tested"),
        "{shown}"
    );
    assert!(!stage.expect(0, &["show", &first]).out.contains("from the cache"));
    let tree = format!(".local/state/envoi/trees/{second}");
    assert_eq!(stage.read(&format!("{tree}/out/app")), "echo tested\n");
    assert_eq!(stage.expect(0, &["artifacts", "cat", &second, "out/app"]).out, "echo tested\n");
    assert!(stage.expect(0, &["logs", &second, "--step", "build"]).out.contains("built"));
    let diff = stage.expect(0, &["diff", &second, "build", "--stat"]).out;
    assert!(diff.contains("out/app"), "{diff}");
    // Nothing is read: the commands start, and their results are kept.
    run(&stage, &["run", "flow.yaml", "--no-cache"]);
    assert_eq!(starts(&stage).len(), 4);
    stage.write("work/src.txt", "echo other\n");
    let (third, _) = run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage).len(), 6);
    let why = stage.expect(0, &["why", &third]).out;
    assert!(
        why.contains("another key than the newest result of the step: ") && why.contains("`src.txt`"),
        "{why}"
    );
    assert_eq!(stage.lines("shown").last().unwrap(), "built: other");
    stage.expect(0, &["doctor"]);
    // A removed result is a cache miss.
    stage.expect(0, &["gc"]);
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage).len(), 6, "a collection leaves what runs have");
    fs::remove_dir_all(stage.path(".envoi/cache")).unwrap();
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage).len(), 8);
}

#[test]
fn in_ones_own_folder_nothing_that_a_person_wrote_is_lost() {
    let flow = FLOW.replace("isolate: tree", "keep: true");
    let stage = stage(&flow);
    stage.write("work/src.txt", "echo tested\n");
    run(&stage, &["run", "flow.yaml"]);
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage), ["build", "test"], "what it has left is there, and nothing else has changed");
    stage.write("work/out/app", "a person edits this\n");
    let (edited, _) = run(&stage, &["run", "flow.yaml", "--no-cache"]);
    assert!(cache(&stage, &edited, "build.1.1")["kept"].is_string());
    stage.write("work/out/app", "a person edits this\n");
    let (brought, _) = run(&stage, &["run", "flow.yaml"]);
    assert!(cache(&stage, &brought, "build.1.1")["stood"].is_string());
    assert_eq!(stage.read("work/out/app"), "echo tested\n");
    stage.expect(0, &["restore", &brought, "--undo"]);
    assert_eq!(stage.read("work/out/app"), "a person edits this\n");
}

#[test]
fn a_step_with_a_cache_gets_no_secret_and_a_failure_is_never_kept() {
    let stage = stage(
        "
flow: cached
workspace: { folder: work, isolate: tree }
secrets: { TOKEN: { file: token } }
steps:
  - id: peek
    run: 'echo \"[$TOKEN] [$ENVOI_HANDOFF] [$ENVOI_VISIT]\"; cat token-copy; env > out.txt'
    artifacts: [out.txt]
    cache: true
  - { id: open, run: 'echo \"${#TOKEN}\"' }
  - id: fail
    run: 'echo fail >> $HOME/starts; exit 3'
    cache: true
    continue_on_error: true
",
    );
    stage.write("token", "hunter2hunter2");
    stage.write("work/token-copy", "hunter2hunter2\n");
    let (first, _) = run(&stage, &["run", "flow.yaml"]);
    let peeked = stage.expect(0, &["logs", &first, "--step", "peek"]).out;
    assert!(peeked.contains("[] [] []") && !peeked.contains("hunter2"), "{peeked}");
    assert!(stage.expect(0, &["logs", &first, "--step", "open"]).out.contains("14"));
    assert!(cache(&stage, &first, "peek.1.1")["kept"].is_string());
    assert_eq!(
        text(&cache(&stage, &first, "fail.1.1")["not_kept"]),
        "the command has not ended with exit code 0"
    );
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage), ["fail", "fail"]);
    // The copy of the secret in the workspace is in the snapshots, as every file. Nothing else of the cache has it.
    for entry in walkdir(&stage.path(".envoi/cache")) {
        assert!(!fs::read_to_string(&entry).unwrap().contains("hunter2"), "{}", entry.display());
    }
}

fn walkdir(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => files.extend(walkdir(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    assert!(!files.is_empty());
    files
}

/// Points where a supervisor that delivers a result can be stopped, in their order.
const POINTS: [&str; 5] =
    ["result-announced", "files-brought", "output-written", "artifacts-copied", "result-settled"];

const TWO: &str = "
flow: cached
workspace: { folder: work, isolate: tree }
steps:
  - { id: a, run: 'echo a >> $HOME/starts; mkdir -p a; for n in 1 2 3 4 5 6 7 8 9; do echo $n > a/$n; done', artifacts: ['a/*'], cache: true }
  - { id: b, run: 'echo b >> $HOME/starts; cat a/* > b.txt; echo $(wc -l < b.txt)', artifacts: [b.txt], cache: true }
";

#[test]
fn killed_wherever_it_brings_a_result_a_run_starts_no_command_and_is_never_in_doubt() {
    let stage = stage(TWO);
    run(&stage, &["run", "flow.yaml"]);
    for point in POINTS {
        let before = stage.runs_made();
        let mut command = stage.command(&["run", "flow.yaml"]);
        let engine = Process::spawn(command.env("ENVOI_FAILPOINT", format!("{point}:stop")));
        wait_until("the supervisor's stop", || {
            stage.supervisors().into_iter().any(|pid| state(pid) == Some('T'))
        });
        engine.kill();
        // The supervisors outlive the engine, and die here too.
        stage.supervisors().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        let run = stage.runs_made().into_iter().find(|run| !before.contains(run)).unwrap();
        let settled = |stage: &Stage| {
            stage.events(&run).iter().filter(|event| event["type"] == "attempt_settled").count()
        };
        assert_eq!(settled(&stage), 0, "{point}");
        stage.expect(0, &["resume", &run]);
        assert_eq!(settled(&stage), 2, "{point}");
        assert_eq!(starts(&stage), ["a", "b"], "{point}: no command was started");
        assert!(stage.events(&run).iter().all(|event| event["type"] != "interrupt_raised"), "{point}");
        assert!(cache(&stage, &run, "a.1.1")["from"].is_object(), "{point}");
        let tree = format!(".local/state/envoi/trees/{run}");
        assert_eq!(stage.lines(&format!("{tree}/b.txt")).len(), 9, "{point}");
    }
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_result_that_never_comes_whole_ends_the_step_with_a_clear_error() {
    let stage = stage(TWO);
    run(&stage, &["run", "flow.yaml"]);
    let mut command = stage.command(&["run", "flow.yaml"]);
    let done = Process::spawn(command.env("ENVOI_FAILPOINT", "output-written:kill")).done();
    assert_eq!(done.code, Some(1), "{done:?}");
    let said = done.out + &done.err;
    assert!(said.contains("its supervisor ended 3 times before it could start anything"), "{said}");
    assert_eq!(starts(&stage), ["a", "b"]);
    run(&stage, &["run", "flow.yaml", "--no-cache"]);
    assert_eq!(starts(&stage), ["a", "b", "a", "b"]);
}

#[test]
fn results_are_listed_and_removed_by_key_by_step_and_all() {
    let stage = stage(FLOW);
    stage.write("work/src.txt", "echo tested\n");
    let (first, _) = run(&stage, &["run", "flow.yaml"]);
    let rows = stage.json(&["--json", "cache", "ls"]);
    let schemas = crate::json_rows::Schemas::new();
    rows.as_array().unwrap().iter().for_each(|row| schemas.hold("CachedStep", row));
    let steps: Vec<String> = rows.as_array().unwrap().iter().map(|row| text(&row["step"])).collect();
    assert_eq!(steps, ["test", "build"], "the newest first, each once");
    let build = &rows[1];
    assert_eq!((text(&build["run"]), text(&build["attempt"])), (first.clone(), "build.1.1".to_owned()));
    assert_eq!(
        (text(&build["flow"]), &build["files"], &build["size_bytes"]),
        ("cached".to_owned(), &1.into(), &12.into())
    );
    let shown = stage.expect(0, &["cache", "ls", "--step", "build"]).out;
    let key = text(&build["key"]);
    assert!(
        shown.contains(&key[..16]) && shown.contains("build.1.1 of") && !shown.contains("test.1.1"),
        "{shown}"
    );

    // By a beginning of its key, which has to be that of one.
    let refused = stage.expect(2, &["cache", "rm", "ffff0000ffff"]).err;
    assert!(refused.contains("no result in the cache has the key `ffff0000ffff`"), "{refused}");
    stage.expect(2, &["cache", "rm"]);
    assert_eq!(stage.expect(0, &["cache", "rm", &key[..16]]).out, "removed 1 result\n");
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage), ["build", "test", "build"]);
    assert_eq!(
        stage.expect(0, &["cache", "rm", "--step", "test", "--flow", "cached"]).out,
        "removed 1 result\n"
    );
    run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage), ["build", "test", "build", "test"]);
    let removed = stage.json(&["--json", "cache", "rm", "--all"]);
    assert_eq!(removed.as_array().unwrap().len(), 2);
    assert_eq!(stage.json(&["--json", "cache", "ls"]), serde_json::json!([]));
    let left: Vec<_> = walk(&stage.path(".envoi/cache"));
    assert!(left.is_empty(), "nothing of them is left: {left:?}");
    let (last, _) = run(&stage, &["run", "flow.yaml"]);
    assert_eq!(starts(&stage).len(), 6);
    stage.expect(0, &["show", &last]);
    stage.expect(0, &["doctor"]);
}

/// The files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
