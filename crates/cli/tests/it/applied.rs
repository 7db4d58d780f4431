//! The run that `envoi apply` chooses, its messages about that run and the files, and a fork of a run whose tree is not here.

use crate::{
    files::stage,
    stage::{Stage, text},
};
use std::fs;

const ASKS: &str = "
flow: files
workspace: { folder: work, isolate: tree }
inputs: { word: { type: string, default: one } }
steps:
  - { id: make, run: 'echo ${{ inputs.word }} > made.txt; echo x >> old.sh; rm -f gone.txt' }
  - { id: sure, ask: 'Good?' }
  - { id: last, run: 'echo last > last.txt; test ! -e fail' }
";

fn newest(stage: &Stage) -> String {
    text(&stage.runs()[0]["run"])
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn apply_names_the_files_and_takes_no_run_by_itself_that_waits_or_was_denied() {
    let stage = stage(ASKS);
    stage.write("work/gone.txt", "gone\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let id = newest(&stage);
    let refused = stage.expect(2, &["apply"]);
    assert!(refused.err.contains("it waits for a person") && refused.err.contains(&id), "{refused:?}");
    stage.expect(1, &["deny", &id]);
    let refused = stage.expect(2, &["apply"]);
    assert!(refused.err.contains("was not applied: it has ended as failed"), "{refused:?}");
    assert!(!stage.path("work/made.txt").exists());
    let done = stage.expect(0, &["apply", &id]);
    assert!(
        done.err.contains(&format!("the result of run {id} may not be whole: it has ended as failed")),
        "{done:?}"
    );
    let said = lines(&done.err);
    for line in ["gone `gone.txt`", "new `made.txt`", "changed `old.sh`"] {
        assert!(said.iter().any(|said| said.ends_with(line)), "{line}: {done:?}");
    }
    assert!(done.err.contains("3 files changed in"), "{done:?}");
}

#[test]
fn undo_without_a_run_takes_back_the_run_that_was_applied_last() {
    let stage = stage(ASKS);
    let runs: Vec<String> = ["one", "two", "three"]
        .map(|word| {
            stage.expect(0, &["run", "flow.yaml", "--yes-to", "sure", "-i", &format!("word={word}")]);
            newest(&stage)
        })
        .to_vec();
    let refused = stage.expect(6, &["apply", "--undo"]);
    assert!(refused.err.contains("no run of this store was applied"), "{refused:?}");
    stage.expect(0, &["apply", &runs[0], "--ours"]);
    let done = stage.expect(0, &["apply", "--undo"]);
    assert!(done.err.contains(&format!("the run that was applied last: {}", runs[0])), "{done:?}");
    assert!(!stage.path("work/made.txt").exists());
    stage.expect(0, &["apply", &runs[1]]);
    stage.expect(0, &["apply", "--undo"]);
    assert!(!stage.path("work/made.txt").exists());
}

/// A snapshot does not show which files git tracks and ignores, so no tree is made from it. A fork never works in the tree of another
/// store.
#[test]
fn a_fork_of_a_run_whose_tree_is_not_here_is_refused() {
    let stage = stage(ASKS);
    stage.write("work/fail", "");
    stage.expect(1, &["run", "flow.yaml", "--yes-to", "sure"]);
    let id = newest(&stage);
    let exported = stage.path("bundle").display().to_string();
    stage.expect(0, &["export", &id, "-o", &exported]);
    let tree = stage.path(&format!(".local/state/envoi/trees/{id}"));
    let other = Stage::new();
    other.expect(0, &["import", &exported]);
    let before = fs::read_to_string(tree.join("made.txt")).unwrap();
    for arguments in [&["fork", &id, "--from", "last"][..], &["fork", &id, "--from", "last", "--isolate"]] {
        let refused = other.expect(2, arguments);
        assert!(
            refused.err.contains("WORKSPACE_MISSING") && refused.err.contains("the bundle was made"),
            "{refused:?}"
        );
    }
    assert_eq!((other.runs().len(), fs::read_to_string(tree.join("made.txt")).unwrap()), (1, before));
    fs::remove_dir_all(&tree).unwrap();
    let refused = stage.expect(2, &["fork", &id, "--from", "last"]);
    assert!(refused.err.contains("is gone") && refused.err.contains("--into FOLDER"), "{refused:?}");
    stage.expect(0, &["restore", &id, "--at", "end", "--into", "files"]);
    assert_eq!(stage.read("files/made.txt"), "one\n");
}

#[test]
fn a_part_of_the_id_of_a_run_that_was_deleted_says_so_too() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'true' }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let gone = newest(&stage);
    stage.expect(0, &["run", "flow.yaml"]);
    stage.expect(0, &["gc", "--older", "0s"]);
    for part in [gone.as_str(), &gone[..gone.len() - 2], &gone[gone.len() - 6..]] {
        let refused = stage.envoi(&["show", part]);
        assert!(refused.err.contains(&format!("run `{gone}` was deleted at")), "{part}: {refused:?}");
    }
    assert!(stage.envoi(&["show", "zzzz"]).err.contains("no run or question is named"));
}
