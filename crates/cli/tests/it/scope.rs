//! The contents of the snapshots of a run beside the files that git lists: submodules without their repository, and the paths that the flow
//! names.

use crate::{
    files::stage,
    isolated::{git, in_git, untouched},
    repair::sql,
    stage::Stage,
};
use std::fs;

/// A repository in `work`, with a submodule in `sub` of which a file is changed.
fn with_submodule(flow: &str) -> Stage {
    let stage = stage(flow);
    in_git(&stage);
    let lib = stage.path("lib");
    let lib = lib.to_str().unwrap();
    git(&stage, &["init", "-q", lib]);
    stage.write("lib/x.txt", "x\n");
    stage.write("lib/gone.txt", "gone\n");
    git(&stage, &["-C", lib, "add", "x.txt", "gone.txt"]);
    git(&stage, &["-C", lib, "commit", "-qm", "lib"]);
    git(&stage, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub"]);
    git(&stage, &["commit", "-qm", "with sub"]);
    stage.write("work/sub/x.txt", "x, not committed\n");
    stage
}

/// The folder of the only run.
fn tree(stage: &Stage) -> String {
    format!(".local/state/envoi/trees/{}", stage.run_id())
}

fn names(stage: &Stage, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(stage.path(folder)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const IN_SUBMODULE: &str = "
flow: files
workspace: work
steps:
  - id: first
    run: 'echo first >> sub/x.txt; echo made > made.txt'
  - id: second
    run: 'echo second >> sub/x.txt; rm sub/gone.txt; mkdir sub/deep; echo y > sub/deep/y.txt; echo l > sub/a.log'
";

#[test]
fn a_submodule_comes_as_files_and_what_was_done_in_it_comes_back() {
    let stage = with_submodule(IN_SUBMODULE);
    // The rules around a submodule are none of its files.
    stage.write("work/.gitignore", "secret\nbuilt/\n*.log\n");
    let (before, head) = (untouched(&stage), || git(&stage, &["-C", "sub", "rev-parse", "HEAD"]));
    let commit = head();
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let (id, tree) = (stage.run_id(), tree(&stage));
    assert_eq!(untouched(&stage), before);
    let of_end = "x, not committed\nfirst\nsecond\n";
    assert_eq!(stage.read(&format!("{tree}/sub/x.txt")), of_end);
    assert_eq!(names(&stage, &format!("{tree}/sub")), ["a.log", "deep", "x.txt"]);
    let started = stage.events(&id).remove(0);
    assert_eq!(started["snapshots"], serde_json::json!({ "submodules": true }), "{started}");
    let rows = stage.json(&["--json", "diff", &id]);
    let changed: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(changed, ["made.txt", "sub/a.log", "sub/deep/y.txt", "sub/gone.txt", "sub/x.txt"]);

    // Back and forth in the tree: new files go, also if a rule of the repository around would ignore them.
    stage.expect(0, &["restore", &id, "--at", "first", "--here"]);
    assert_eq!(names(&stage, &format!("{tree}/sub")), ["gone.txt", "x.txt"]);
    assert_eq!(stage.read(&format!("{tree}/sub/x.txt")), "x, not committed\nfirst\n");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(names(&stage, &format!("{tree}/sub")), ["a.log", "deep", "x.txt"]);
    stage.expect(0, &["restore", &id, "sub/gone.txt", "--at", "first", "--here"]);
    assert_eq!(names(&stage, &format!("{tree}/sub")), ["a.log", "deep", "gone.txt", "x.txt"]);
    stage.expect(0, &["restore", &id, "--undo"]);

    // A commit has the files of this repository, and its message names the others.
    let done = stage.expect(0, &["apply", &id, "--branch", "result"]);
    for path in ["sub/x.txt", "sub/gone.txt", "sub/deep/y.txt", "sub/a.log"] {
        let said = format!("note: not in the branch: {path}: it is a file of a submodule");
        assert!(done.err.contains(&said), "{done:?}");
    }
    assert_eq!(git(&stage, &["show", "result:made.txt"]), "made\n");
    let message = git(&stage, &["log", "-1", "--format=%B", "result"]);
    assert!(!message.contains("Envoi-Files"), "it is not all: {message}");
    assert_eq!(untouched(&stage), before);

    // All of it is kept, so the tree may go, and the result still comes.
    let gone = stage.json(&["--json", "gc"]);
    assert_eq!(gone["trees"][0]["removed"], true, "{gone}");
    assert!(!stage.path(&tree).exists());
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/sub/x.txt"), of_end);
    assert_eq!(names(&stage, "work/sub"), [".git", "a.log", "deep", "x.txt"]);
    assert_eq!(head(), commit);
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(untouched(&stage), before);
    assert_eq!(stage.read("work/sub/x.txt") + &stage.read("work/sub/gone.txt"), "x, not committed\ngone\n");
}

/// A flow that waits for an approval. Meanwhile the test rewrites its first event as an older build wrote it.
const BEGUN: &str = "
flow: files
workspace: work
steps:
  - { id: ready, ask: 'Go on?' }
  - { id: fill, run: 'mkdir -p sub; echo x > sub/x.txt; echo one > a.txt' }
  - { id: fails, files: restore, retry: { attempts: 2 }, run: 'echo two > a.txt; test -e $ENVOI_RUN_BASE/../../../well' }
";

#[test]
fn a_run_that_an_older_build_has_begun_keeps_its_way_and_its_submodules_to_its_end() {
    let stage = with_submodule(BEGUN);
    // Not there in the folder of origin, so that the first snapshot has nothing of it, as those of an older build.
    git(&stage, &["submodule", "--quiet", "deinit", "--force", "sub"]);
    stage.expect(3, &["run", "flow.yaml", "--isolate"]);
    let (id, tree) = (stage.run_id(), tree(&stage));
    sql(&stage, "UPDATE events SET body = replace(body, ',\"snapshots\":{\"submodules\":true}', '')");
    assert!(stage.events(&id)[0]["snapshots"].is_null());
    let is_there = || stage.read(&format!("{tree}/sub/x.txt")) == "x\n";
    stage.expect(1, &["approve", &id]);
    assert!(is_there(), "the second try began with the files of the first");
    let rows = stage.json(&["--json", "diff", &id]);
    assert!(!rows.to_string().contains("sub/x.txt"), "{rows}");
    stage.expect(0, &["restore", &id, "--at", "start", "--here"]);
    assert!(is_there());
    assert!(!stage.read(&format!("{tree}/a.txt")).contains("one"));
    stage.expect(0, &["restore", &id, "--undo"]);
    stage.write("well", "");
    stage.expect(0, &["fork", &id, "--from", "fails", "--files", "then"]);
    assert!(is_there());
    let fork = stage.runs().iter().map(|run| crate::stage::text(&run["run"])).find(|run| *run != id).unwrap();
    assert!(stage.events(&fork)[0]["snapshots"].is_null(), "what it has lived was kept in that way");
    stage.expect(0, &["apply", &fork]);
    assert_eq!(names(&stage, "work/sub"), [""; 0], "nothing of it was in the snapshots");
}

#[test]
fn what_git_ignores_in_a_tree_and_not_where_it_came_from_is_said() {
    let stage =
        with_submodule("flow: files\nworkspace: work\nsteps: [{ id: a, run: 'echo b >> sub/x.log' }]\n");
    stage.write("work/sub/.gitignore", "*.log\n");
    stage.write("work/sub/x.log", "a\n");
    git(&stage, &["-C", "sub", "add", "--force", "x.log"]);
    let done = stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let said =
        "`sub/x.log` is in the tree, and git ignores it there: what the run changes there is in no snapshot";
    assert!(done.err.contains(said) && stage.expect(0, &["show"]).out.contains(said), "{done:?}");
}

const ALSO: &str = "
flow: files
workspace: { folder: work, isolate: tree, keep: { also: ['built/**', deep/own] } }
steps:
  - { id: first, run: 'echo one >> built/x; mkdir -p deep/own; echo o > deep/own/o.log; echo n > deep/n.log; echo made > made.txt' }
  - { id: second, run: 'echo two >> built/x; echo y > built/y; rm -r deep/own' }
";

#[test]
fn what_git_ignores_and_the_flow_names_is_kept_set_back_and_comes_back() {
    let stage = stage(ALSO);
    in_git(&stage);
    stage.write("work/.gitignore", "secret\nbuilt/\n*.log\n");
    git(&stage, &["add", ".gitignore"]);
    git(&stage, &["commit", "-qm", "rules"]);
    let before = untouched(&stage);
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let (id, tree) = (stage.run_id(), tree(&stage));
    assert_eq!(stage.read(&format!("{tree}/built/x")), "x\none\ntwo\n", "{done:?}");
    let changed = |range: &[&str]| -> Vec<String> {
        let rows = stage.json(&[&["--json", "diff", &id][..], range].concat());
        rows.as_array().unwrap().iter().map(|row| crate::stage::text(&row["path"])).collect()
    };
    assert_eq!(changed(&[]), ["built/x", "built/y", "made.txt"]);
    assert_eq!(changed(&["first"]), ["built/x", "deep/own/o.log", "made.txt"]);
    // As the flow had it when the run began.
    stage.write("flow.yaml", ALSO.replace("'built/**', deep/own", "other"));
    stage.expect(0, &["restore", &id, "--at", "first", "--here"]);
    assert_eq!(stage.read(&format!("{tree}/built/x")), "x\none\n");
    assert_eq!(stage.read(&format!("{tree}/deep/own/o.log")), "o\n");
    assert!(!stage.path(&format!("{tree}/built/y")).exists());
    assert_eq!(stage.read(&format!("{tree}/deep/n.log")), "n\n", "what is ignored and not named stays");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(names(&stage, &format!("{tree}/built")), ["x", "y"]);
    let branch = stage.expect(0, &["apply", &id, "--branch", "result"]);
    assert!(branch.err.contains("note: not in the branch: built/x: git ignores it"), "{branch:?}");
    assert_eq!(git(&stage, &["diff", "--name-only", "HEAD", "result"]), "made.txt\n");
    assert_eq!(untouched(&stage), before);
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/built/x") + &stage.read("work/built/y"), "x\none\ntwo\ny\n");
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(untouched(&stage), before);
    let gone = stage.json(&["--json", "gc"]);
    assert_eq!(gone["trees"][0]["removed"], true, "{gone}");
}

#[test]
fn what_is_named_is_relative_to_the_workspace_also_where_that_is_below_the_top_of_the_repository() {
    let stage = stage(
        "flow: files\nworkspace: { folder: 'work/p[1]', isolate: tree, keep: { also: [dist] } }\nsteps:\n  - { id: a, run: 'echo two >> dist/x' }\n",
    );
    in_git(&stage);
    stage.write("work/.gitignore", "secret\nbuilt/\ndist/\n");
    for path in ["work/p[1]/dist/x", "work/dist/x", "work/p1/dist/x"] {
        stage.write(path, "one\n");
    }
    stage.expect(0, &["run", "flow.yaml"]);
    let tree = tree(&stage);
    assert_eq!(stage.read(&format!("{tree}/p[1]/dist/x")), "one\ntwo\n");
    assert!(!stage.path(&format!("{tree}/dist")).exists() && !stage.path(&format!("{tree}/p1")).exists());
    stage.expect(0, &["apply"]);
    assert_eq!(stage.read("work/p[1]/dist/x"), "one\ntwo\n");
}
