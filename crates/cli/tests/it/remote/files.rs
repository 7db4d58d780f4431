//! The changes of a run, seen from a client of a server: as they are where the store is.

use super::{Afar, served};
use crate::stage::{Stage, text};
use std::{fs, os::unix::fs::PermissionsExt as _};

const FLOW: &str = "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt; mkdir sub; echo x > sub/x; printf \"\\0b\" > bytes; ln -s made.txt link', artifacts: ['*.txt'] }
  - { id: change, run: 'echo two >> made.txt; rm sub/x; chmod 755 old.sh', artifacts: ['*.txt'] }
";

fn stage() -> Stage {
    let stage = Stage::with_flow(FLOW);
    stage.write("work/old.sh", "#!/bin/sh\n");
    stage
}

#[test]
fn differences_artifacts_and_the_patch_are_the_same_as_where_the_store_is() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let (_served, afar) = served(&stage);
    let run = stage.run_id();
    let run = run.as_str();
    for arguments in [
        &["diff"][..],
        &["diff", run, "--stat"],
        &["--json", "diff", run],
        &["diff", run, "change"],
        &["diff", run, "start..make", "sub"],
        &["--json", "diff", run, "before:change..end", "nothing"],
        &["diff", run, "none"],
        &["diff", run, "start"],
        &["diff", "start..end"],
        &["apply", run, "--patch", "-"],
        &["artifacts", "list"],
        &["artifacts", "list", run, "--all", "--limit", "1"],
        &["--json", "artifacts", "list", run, "--all"],
        &["artifacts", "cat", run, "made.txt"],
        &["artifacts", "cat", run, "made.txt@make"],
        &["artifacts", "cat", run, "made.txt@none"],
        &["artifacts", "cat", run, "none"],
        &["artifacts", "diff", run, "made.txt"],
        &["artifacts", "diff", run, "made.txt", "make..change"],
        &["artifacts", "list", "run_00000000000000000000000000"],
    ] {
        let (here, there) = (stage.envoi(arguments), afar.envoi(arguments));
        assert_eq!((there.code, &there.out, &there.err), (here.code, &here.out, &here.err), "{arguments:?}");
        assert!(!here.out.is_empty() || !here.err.is_empty(), "{arguments:?} says something");
    }
    // The folder as it is now is that of the other machine.
    let now = afar.expect(2, &["diff", run, "end..now"]);
    assert!(now.err.contains("error[REQUEST_INVALID]") && now.err.contains("`now`"), "{now:?}");
}

#[test]
fn a_patch_from_a_server_fits_the_files_that_the_run_began_with() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let (_served, afar) = served(&stage);
    let run = stage.run_id();
    let done = afar.expect(0, &["--json", "apply", &run, "--patch", "changes.patch"]);
    let row: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(row["files"], 4, "{row}");
    assert!(afar.expect(2, &["apply", &run, "--patch", "changes.patch"]).err.contains("FILE_EXISTS"));
    stage.write("fresh/old.sh", "#!/bin/sh\n");
    let git = std::process::Command::new("git")
        .args(["apply", "../changes.patch"])
        .current_dir(stage.path("fresh"))
        .env("GIT_CEILING_DIRECTORIES", stage.path("."))
        .output()
        .unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    assert_eq!(stage.read("fresh/made.txt"), "one\ntwo\n");
    assert_eq!(fs::read(stage.path("fresh/bytes")).unwrap(), b"\0b");
    assert_eq!(fs::read_link(stage.path("fresh/link")).unwrap().to_str(), Some("made.txt"));
    // A command that changes the folder of the server is not done remotely.
    let refused = afar.expect(2, &["apply", &run]);
    assert!(refused.err.contains("error[NOT_REMOTE]") && refused.err.contains("--patch FILE"), "{refused:?}");
}

/// Git makes files with 644 or 755, and has no empty folders; a snapshot has no file that is too large.
const LACKING: &str = "
flow: lacking
workspace: work
steps:
  - id: make
    run: |
      echo more >> old.sh; chmod 750 old.sh; chmod 640 mode; mkdir empty; truncate -s 65M large
      echo new > new; chmod 644 new; echo run > run; chmod 755 run; echo key > key; chmod 600 key; ln -s key link; printf '\\0' > bytes
";

#[test]
fn a_patch_names_what_git_cannot_carry_and_what_was_not_kept_before_its_first_file() {
    let stage = Stage::with_flow(LACKING);
    for (path, mode) in [("work/old.sh", 0o644), ("work/mode", 0o644)] {
        stage.write(path, "#!/bin/sh\n");
        fs::set_permissions(stage.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let (_served, afar) = served(&stage);
    let here = stage.expect(0, &["apply", "--patch", "here.patch"]);
    let there = afar.expect(0, &["apply", "--patch", "there.patch"]);
    assert_eq!(here.err, there.err);
    let patch = stage.read("there.patch");
    assert_eq!(patch, stage.read("here.patch"));
    let lines: Vec<&str> = patch.lines().take_while(|line| line.starts_with('#')).skip(1).collect();
    assert_eq!(
        lines,
        [
            "# empty: it is an empty folder now",
            "# key: its permissions are 600",
            "# large: its content was not kept: it was too large, or could not be read",
            "# mode: its permissions are 640",
            "# old.sh: its permissions are 750",
        ]
    );
    for line in lines {
        assert!(there.err.contains(&format!("note: not in the patch: {}", &line[2..])), "{line}: {there:?}");
    }
    assert_eq!(there.out, "there.patch: 6 files\n", "bytes, key, link, new, old.sh and run");
    stage.write("fresh/old.sh", "#!/bin/sh\n");
    let git = std::process::Command::new("git")
        .args(["apply", "../there.patch"])
        .current_dir(stage.path("fresh"))
        .env("GIT_CEILING_DIRECTORIES", stage.path("."))
        .output()
        .unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    assert_eq!(stage.read("fresh/old.sh"), "#!/bin/sh\nmore\n");
}

#[test]
fn an_artifact_from_a_server_is_written_into_a_new_file_and_nothing_is_overwritten() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml"]);
    let (_served, afar) = served(&stage);
    let run = stage.run_id();
    afar.expect(0, &["artifacts", "get", &run, "made.txt@make", "-o", "old.txt"]);
    assert_eq!(stage.read("old.txt"), "one\n");
    let again = afar.expect(2, &["artifacts", "get", &run, "made.txt", "-o", "old.txt"]);
    assert!(again.err.contains("error[FILE_EXISTS]") && stage.read("old.txt") == "one\n", "{again:?}");
    let nothing_kept = afar.expect(6, &["diff", &run]);
    assert!(nothing_kept.err.contains("error[FILES_NOT_KEPT]"), "{nothing_kept:?}");
    assert!(afar.expect(6, &["apply", &run, "--patch", "-"]).err.contains("error[FILES_NOT_KEPT]"));
}

#[test]
fn a_bundle_from_a_server_is_the_one_that_is_made_where_the_store_is() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let (served, afar) = served(&stage);
    let run = stage.run_id();
    for options in [&[][..], &["--without-files"]] {
        let (here, there) = (format!("here{}", options.len()), format!("there{}", options.len()));
        stage.expect(0, &[&["export", &run, "-o", &here][..], options].concat());
        let done = afar.expect(0, &[&["export", &run, "-o", &there][..], options].concat());
        assert!(done.out.contains("head sha256:"), "{done:?}");
        assert_eq!(
            fs::read(stage.path(&there)).unwrap(),
            fs::read(stage.path(&here)).unwrap(),
            "{options:?}"
        );
        afar.expect(0, &["verify", &there]);
    }
    assert!(afar.expect(2, &["export", &run, "-o", "there0"]).err.contains("error[FILE_EXISTS]"));
    assert!(afar.expect(2, &["export", &run, "--sign", "key"]).err.contains("error[NOT_REMOTE]"));
    // A bundle has all files of the workspace. The scope `run` is not enough to get it.
    let runner = Afar::with(&stage, &served, &["runner", "--scope", "run"]);
    let refused = runner.expect(6, &["export", &run, "-o", "none"]);
    assert!(refused.err.contains("error[SCOPE_TOO_SMALL]") && !stage.path("none").exists(), "{refused:?}");
    let south = Afar::with(&stage, &served, &["south", "--scope", "admin", "--tenant", "south"]);
    for arguments in [&["export", &run][..], &["diff", &run], &["artifacts", "list", &run]] {
        let refused = south.expect(2, arguments);
        assert!(refused.err.contains("error[RUN_NOT_FOUND]"), "{arguments:?}: {refused:?}");
    }
}

#[test]
fn a_run_whose_files_are_not_in_the_store_says_so_and_a_deleted_one_is_not_there() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let run = stage.run_id();
    stage.expect(0, &["export", &run, "-o", "run.tar.zst", "--without-files"]);
    let other = Stage::new();
    fs::copy(stage.path("run.tar.zst"), other.path("run.tar.zst")).unwrap();
    other.expect(0, &["import", "run.tar.zst"]);
    let (_served, afar) = served(&other);
    for arguments in [&["diff", &run][..], &["--json", "diff", &run], &["apply", &run, "--patch", "-"]] {
        let (here, there) = (other.envoi(arguments), afar.envoi(arguments));
        assert_eq!((there.code, &there.err), (here.code, &here.err), "{arguments:?}");
        assert!(
            there.err.contains("error[FILES_NOT_KEPT]") || there.err.contains("FILES_NOT_KEPT"),
            "{there:?}"
        );
    }
    assert!(text(&afar.expect(0, &["artifacts", "cat", &run, "made.txt"]).out.into()).contains("two"));
}

#[test]
fn what_works_only_with_a_store_here_works_with_a_run_that_was_fetched() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let (_served, afar) = served(&stage);
    let run = stage.run_id();
    // The hint of the refusal is right.
    for arguments in [&["restore", &run, "--at", "make", "--into", "there"][..], &["backtest", "flow.yaml"]] {
        let refused = afar.expect(2, arguments);
        assert!(refused.err.contains("`envoi export RUN` fetches the run"), "{refused:?}");
    }
    afar.expect(0, &["export", &run, "-o", "fetched"]);
    let here = Stage::with_flow(FLOW);
    fs::copy(stage.path("fetched"), here.path("fetched")).unwrap();
    here.expect(0, &["import", "fetched"]);
    here.expect(0, &["restore", &run, "--at", "make", "--into", "there"]);
    assert_eq!(here.read("there/made.txt"), "one\n");
    let tried = here.expect(0, &["backtest", "flow.yaml"]);
    assert!(tried.out.contains(&run), "{tried:?}");
}

const CACHED: &str = "
flow: cached
workspace: { folder: work, isolate: tree }
steps:
  - { id: build, run: 'echo build >> $HOME/starts; cat src.txt > app', artifacts: [app], cache: true }
";

#[test]
fn no_cache_runs_at_a_server_what_its_cache_has() {
    let stage = Stage::with_flow(CACHED);
    stage.write("work/src.txt", "1\n");
    let (_served, afar) = served(&stage);
    for (arguments, starts) in
        [(&["run", "flow.yaml"][..], 1), (&["run", "flow.yaml"], 1), (&["run", "flow.yaml", "--no-cache"], 2)]
    {
        afar.expect(0, arguments);
        assert_eq!(stage.lines("starts").len(), starts, "{arguments:?}");
    }
}
