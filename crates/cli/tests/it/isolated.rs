//! Runs in a tree of their own: the folder of the user is left alone, and the result comes back all of it or not at all.

use crate::{
    files::{FORKED, stage, work},
    stage::{Dice, Process, Stage, lives, text, wait_until},
};
use rustix::process::Signal;
use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

/// Runs git in `work`, with an empty user configuration.
pub(crate) fn git(stage: &Stage, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=N", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]);
    command.args(arguments).current_dir(stage.path("work")).env("HOME", stage.path("."));
    let done = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Puts a program before the real git, which it may call as `/usr/bin/git`. The returned function runs commands that find it.
fn git_is(stage: &Stage, script: &str) -> impl Fn(&[&str]) -> Process {
    stage.write_program("bin/git", script);
    let path = format!("{}:{}", stage.path("bin").display(), std::env::var("PATH").unwrap());
    move |arguments| Process::spawn(stage.command(arguments).env("PATH", &path))
}

/// Another run, whose step lives until `go` is there.
fn write_other(stage: &Stage) {
    stage.write("other/a", "a");
    stage.write(
        "other.yaml",
        "flow: other\nworkspace: other\nsteps: [{ id: w, run: 'while [ ! -e ../go ]; do sleep 0.02; done' }]\n",
    );
}

/// `work` is a repository with a commit, a changed file, a staged one, a new one, a stash and ignored ones.
pub(crate) fn in_git(stage: &Stage) {
    git(stage, &["init", "-q"]);
    for (name, content) in [("a.txt", "a\n"), ("b.txt", "b\n"), (".gitignore", "secret\nbuilt/\n")] {
        stage.write(&format!("work/{name}"), content);
    }
    git(stage, &["add", "a.txt", "b.txt", ".gitignore"]);
    git(stage, &["commit", "-qm", "first"]);
    stage.write("work/a.txt", "stashed\n");
    git(stage, &["stash", "-q"]);
    stage.write("work/a.txt", "a, not committed\n");
    stage.write("work/b.txt", "b, staged\n");
    git(stage, &["add", "b.txt"]);
    for (name, content) in [("new.txt", "new\n"), ("secret", "hush\n"), ("built/x", "x\n")] {
        stage.write(&format!("work/{name}"), content);
    }
}

/// The parts of git that a run in a tree of its own leaves alone.
fn of_git(stage: &Stage) -> Vec<String> {
    let index = fs::read(stage.path("work/.git/index")).unwrap();
    let mut all = vec![format!("{index:?}"), stage.read("work/.git/HEAD"), stage.read("work/.git/logs/HEAD")];
    for arguments in [&["rev-parse", "HEAD"][..], &["stash", "list"], &["diff", "--cached"]] {
        // Without writing what it finds into the index.
        all.push(git(stage, &[&["--no-optional-locks"][..], arguments].concat()));
    }
    all
}

/// And of the files.
pub(crate) fn untouched(stage: &Stage) -> Vec<String> {
    let mut all = of_git(stage);
    all.push(git(stage, &["--no-optional-locks", "status", "--porcelain", "--branch", "--ignored"]));
    all.extend(work(stage).into_iter().map(|(name, content)| format!("{name}: {content}")));
    all
}

const APART: &str = "
flow: files
workspace: work
steps:
  - id: change
    run: |
      { cat a.txt b.txt new.txt || :; ls -A; } > $ENVOI_RUN_BASE/seen
      echo more >> a.txt; rm b.txt; echo made > made.txt
";

/// The folder of the only run.
fn tree(stage: &Stage) -> String {
    format!(".local/state/envoi/trees/{}", stage.run_id())
}

#[test]
fn an_isolated_run_begins_with_the_folder_as_it_is_and_leaves_all_of_it_alone() {
    let stage = stage(APART);
    in_git(&stage);
    let before = untouched(&stage);
    let done = stage.expect(0, &["run", "flow.yaml", "--isolate", "--bring", "secret"]);
    let (id, tree) = (stage.run_id(), tree(&stage));
    assert!(done.err.contains(&format!("branch `envoi/{id}`")), "{done:?}");
    assert_eq!(untouched(&stage), before);
    let seen = stage.read(&format!(".envoi/runs/{id}/seen"));
    assert!(seen.starts_with("a, not committed\nb, staged\nnew\n"), "{seen}");
    assert!(seen.contains("\nsecret\n") && seen.contains("\nold.sh\n") && !seen.contains("built"), "{seen}");
    assert_eq!(stage.read(&format!("{tree}/a.txt")), "a, not committed\nmore\n");
    let there = stage.path(&tree);
    let there = there.to_str().unwrap();
    let branch = git(&stage, &["-C", there, "branch", "--show-current"]);
    assert_eq!(branch.trim(), format!("envoi/{id}"));
    let status = git(&stage, &["-C", there, "status", "--porcelain"]);
    for line in [" M a.txt\n", " D b.txt\n", "?? made.txt\n"] {
        assert!(status.contains(line), "{status}");
    }
    let diff = stage.expect(0, &["diff", &id]).out;
    assert!(diff.contains("+more") && diff.contains("+made") && !diff.contains("+a, not"), "{diff}");
    let shown = stage.expect(0, &["show", &id]).out;
    assert!(shown.contains("a tree of its own, made from"), "{shown}");
    // The way to bring the result back is shown at the end of the run, and in `show` until it is done.
    let next = format!("envoi diff {id}   bring the result back: envoi apply {id}");
    assert!(done.err.contains(&next), "{done:?}");
    assert!(shown.contains(&format!("envoi apply {id} brings that into ")), "{shown}");
    stage.expect(0, &["apply", &id]);
    assert!(!stage.expect(0, &["show", &id]).out.contains("envoi apply"));
}

#[test]
fn an_isolated_run_begins_with_the_commit_if_that_is_wanted() {
    let stage = stage(APART);
    in_git(&stage);
    stage.write("work/.worktreeinclude", "secret\n");
    let before = untouched(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate", "--from-head"]);
    let seen = stage.read(&format!(".envoi/runs/{}/seen", stage.run_id()));
    assert!(seen.starts_with("a\nb\n") && !seen.contains("old.sh") && seen.contains("\nsecret\n"), "{seen}");
    assert_eq!(untouched(&stage), before);
}

/// A filter such as that of LFS, of which the program is missing or fails.
#[test]
fn no_filter_of_git_runs_for_a_tree_and_none_can_fail() {
    let stage = stage(APART);
    in_git(&stage);
    stage.write("work/.gitattributes", "*.bin filter=lfs\n");
    stage.write("work/big.bin", "a pointer\n");
    git(&stage, &["add", ".gitattributes", "big.bin"]);
    git(&stage, &["commit", "-qm", "second"]);
    let fails = format!("touch '{}'; false", stage.path("ran").display());
    for key in ["clean", "smudge"] {
        git(&stage, &["config", &format!("filter.lfs.{key}"), &fails]);
    }
    git(&stage, &["config", "filter.lfs.required", "true"]);
    stage.write("work/big.bin", "the content\n");
    let before = work(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    assert!(!stage.path("ran").exists(), "a filter ran");
    assert_eq!(stage.read(&format!("{}/big.bin", tree(&stage))), "the content\n");
    assert_eq!(work(&stage), before);
    stage.expect(0, &["apply"]);
    assert_eq!(
        (stage.read("work/big.bin"), stage.read("work/made.txt")),
        ("the content\n".to_owned(), "made\n".to_owned())
    );
    assert!(!stage.path("ran").exists(), "a filter ran");
}

#[test]
fn without_git_an_isolated_run_works_in_a_folder_of_its_own() {
    let stage = stage(APART);
    for name in ["a", "b", "new"] {
        stage.write(&format!("work/{name}.txt"), name);
    }
    let before = work(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    assert_eq!(work(&stage), before);
    assert_eq!(stage.read(&format!("{}/made.txt", tree(&stage))), "made\n");
    stage.expect(2, &["run", "flow.yaml", "--isolate", "--from-head"]);
    stage.expect(2, &["run", "flow.yaml", "--isolate", "--copy"]);
    for wrong in ["../flow.yaml", "/etc/hostname", ".git/config"] {
        stage.expect(2, &["run", "flow.yaml", "--isolate", "--bring", wrong]);
    }
    stage.expect(8, &["run", "flow.yaml", "--isolate", "--bring", "none"]);
    let trees = fs::read_dir(stage.path(".local/state/envoi/trees")).unwrap().count();
    assert_eq!((stage.runs().len(), trees), (1, 1), "what was refused leaves nothing");
}

#[test]
fn a_git_that_is_too_old_is_refused() {
    let stage = stage(APART);
    in_git(&stage);
    let old = "#!/bin/sh\ncase \"$*\" in *--version*) echo git version 2.37.1;; *) exec /usr/bin/git \"$@\";; esac\n";
    let start = git_is(&stage, old);
    let before = untouched(&stage);
    let done = start(&["run", "flow.yaml", "--isolate"]).done();
    assert_eq!(done.code, Some(6), "{done:?}");
    assert!(done.err.contains("GIT_TOO_OLD") && done.err.contains("2.37.1"), "{done:?}");
    let looked = start(&["doctor"]).done();
    assert!(
        looked.code == Some(0) && looked.out.contains("git 2.37.1 is installed, and a tree"),
        "{looked:?}"
    );
    assert_eq!(untouched(&stage), before);
    assert!(!stage.path(".local").exists() && stage.runs().is_empty());
}

#[test]
fn in_a_repository_without_commits_a_tree_is_a_folder() {
    let stage = stage(APART);
    git(&stage, &["init", "-q"]);
    for (name, content) in
        [("a.txt", "a\n"), ("b.txt", "b\n"), (".gitignore", "secret\n"), ("secret", "hush\n")]
    {
        stage.write(&format!("work/{name}"), content);
    }
    git(&stage, &["add", "a.txt"]);
    let (before, index) = (work(&stage), fs::read(stage.path("work/.git/index")).unwrap());
    let done = stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    assert!(!done.err.contains("branch"), "{done:?}");
    let tree = tree(&stage);
    assert_eq!(stage.read(&format!("{tree}/a.txt")), "a\nmore\n");
    assert!(!stage.path(&format!("{tree}/.git")).exists() && !stage.path(&format!("{tree}/secret")).exists());
    assert_eq!(work(&stage), before);
    stage.expect(2, &["run", "flow.yaml", "--isolate", "--from-head"]);
    stage.expect(0, &["apply"]);
    assert_eq!(
        (stage.read("work/made.txt"), stage.read("work/secret")),
        ("made\n".to_owned(), "hush\n".to_owned())
    );
    assert_eq!(fs::read(stage.path("work/.git/index")).unwrap(), index);
}

/// Git refuses the repository of another user (`safe.directory`). That is not overridden.
#[test]
fn a_repository_of_another_user_is_read_by_its_ignore_rules_and_gets_no_worktree() {
    let stage = stage(APART);
    in_git(&stage);
    let given = std::process::Command::new("chown").args(["-R", "65534"]).arg(stage.path("work")).output();
    if !given.is_ok_and(|done| done.status.success()) {
        // Only root can give a folder away.
        return;
    }
    let refused = stage.expect(6, &["run", "flow.yaml", "--isolate"]);
    assert!(refused.err.contains("GIT_FAILED") && refused.err.contains("dubious ownership"), "{refused:?}");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.expect(0, &["restore", &id, "--at", "start", "--into", "then"]);
    assert_eq!(stage.read("then/a.txt"), "a, not committed\n");
    assert!(!stage.path("then/secret").exists() && !stage.path("then/built").exists(), "they are ignored");
    assert!(!stage.path("then/.git").exists());
}

#[test]
fn a_git_that_another_one_is_in_the_way_of_is_tried_again() {
    let stage = stage(APART);
    in_git(&stage);
    // As git does where two worktrees are made at the same moment.
    let script = r#"#!/bin/sh
case "$*" in
  *'worktree add'*)
    if [ ! -e $HOME/tried ]; then
      touch $HOME/tried
      rmdir $HOME/.local/state/envoi/trees/*
      /usr/bin/git branch "$(echo "$*" | sed -n 's/.* -b \([^ ]*\) .*/\1/p')" && touch $HOME/branched
      echo 'fatal: failed to read .git/worktrees/x/commondir: Success' >&2
      exit 128
    fi;;
esac
exec /usr/bin/git "$@"
"#;
    let done = git_is(&stage, script)(&["run", "flow.yaml", "--isolate"]).done();
    assert!(done.code == Some(0) && stage.path("branched").exists(), "{done:?}");
    assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]).lines().count(), 1);
    assert_eq!(stage.read(&format!("{}/made.txt", tree(&stage))), "made\n");
}

#[test]
fn an_engine_that_is_killed_while_it_makes_a_tree_leaves_it_to_the_next_one() {
    let stage = stage(APART);
    in_git(&stage);
    write_other(&stage);
    // The parent of git is the engine.
    let script = r#"#!/bin/sh
case "$*" in
  *'worktree add'*)
    if [ ! -e $HOME/killed ]; then
      touch $HOME/killed
      /usr/bin/git "$@"
      kill -9 $PPID
      exit 0
    fi;;
esac
exec /usr/bin/git "$@"
"#;
    let start = git_is(&stage, script);
    let engine = start(&["run", "other.yaml"]);
    wait_until("the other run's step", || stage.supervisor("w.1.1").is_some());
    let isolated = start(&["run", "flow.yaml", "--isolate"]);
    wait_until("the engine's end", || stage.path("killed").exists());
    stage.write("go", "");
    let done = isolated.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_ne!(engine.done().code, Some(0));
    assert_eq!((trees(&stage), git(&stage, &["branch", "--list", "envoi/*"]).lines().count()), (1, 1));
    assert_eq!(stage.runs().len(), 2);
}

#[test]
fn an_ending_engine_finishes_the_requests_of_other_commands() {
    // The run of the engine has ended, or the engine got a signal.
    for signals in [&[][..], &[Signal::TERM], &[Signal::INT]] {
        let stage = stage(APART);
        in_git(&stage);
        write_other(&stage);
        let script = r#"#!/bin/sh
case "$*" in
  *'worktree add'*)
    echo made >> $HOME/made
    while [ ! -e $HOME/make ]; do sleep 0.02; done;;
esac
exec /usr/bin/git "$@"
"#;
        let start = git_is(&stage, script);
        let engine = start(&["run", "other.yaml"]);
        wait_until("the other run's step", || stage.supervisor("w.1.1").is_some());
        let isolated = start(&["run", "flow.yaml", "--isolate"]);
        wait_until("git to make the tree", || stage.path("made").exists());
        for what in signals {
            engine.signal(*what);
            wait_until("the signal to be obeyed", || engine.said().contains("starting nothing new"));
        }
        stage.write("go", "");
        if signals.is_empty() {
            let waits = || engine.said().contains("finishing what another command has asked");
            wait_until("the engine to have nothing else to do", waits);
        } else {
            wait_until("its step to end", || stage.supervisors().is_empty());
        }
        stage.write("make", "");
        assert_eq!(isolated.done().code, Some(0), "{signals:?}");
        let engine = engine.done();
        assert!(matches!(engine.code, Some(0 | 5)), "{signals:?}: {engine:?}");
        // After a signal an engine still begins the run for which it makes a tree. The next engine goes on with it.
        assert_eq!(stage.lines("made").len(), 1, "{signals:?}: it was done once");
        assert_eq!((stage.runs().len(), trees(&stage)), (2, 1), "{signals:?}");
    }
}

#[test]
fn a_named_file_that_cannot_be_brought_is_reported() {
    let stage =
        stage(&APART.replace("work\n", "{ folder: work, isolate: tree, bring: [pipe, link, none] }\n"));
    ["a.txt", "b.txt"].iter().for_each(|name| stage.write(&format!("work/{name}"), "x"));
    let pipe = stage.path("work/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("pipe", stage.path("work/link")).unwrap();
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let said: Vec<&str> = done.err.lines().filter(|line| line.contains("not in the tree")).collect();
    assert_eq!(
        said,
        [
            "`none` is not there, and not in the tree",
            "`pipe` is no file, folder or link, and not in the tree"
        ]
    );
}

#[test]
fn an_ending_engine_makes_nothing_for_a_new_run() {
    let stage = stage(APART);
    in_git(&stage);
    write_other(&stage);
    let script = "#!/bin/sh\ncase \"$*\" in *'worktree add'*) echo made >> $HOME/made;; esac\nexec /usr/bin/git \"$@\"\n";
    let start = git_is(&stage, script);
    let engine = start(&["run", "other.yaml"]);
    wait_until("the other run's step", || stage.supervisor("w.1.1").is_some());
    engine.signal(Signal::TERM);
    wait_until("the signal to be obeyed", || engine.said().contains("starting nothing new"));
    for how in ["--isolate", "--copy"] {
        let refused = start(&["run", "flow.yaml", how]).done();
        assert_eq!(refused.code, Some(8), "{refused:?}");
        assert!(
            refused.err.contains("holds the store: the engine is stopping: it was asked to start"),
            "{refused:?}"
        );
    }
    assert!(!stage.path("made").exists(), "{:?}", stage.lines("made"));
    let folders = fs::read_dir(stage.path(".envoi/runs")).unwrap().count();
    assert_eq!((stage.runs().len(), trees(&stage), folders), (1, 0, 1));
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    assert_eq!(start(&["run", "flow.yaml", "--isolate"]).done().code, Some(0));
    assert_eq!((stage.lines("made").len(), trees(&stage)), (1, 1));
}

#[test]
fn a_run_that_is_refused_leaves_neither_tree_nor_branch() {
    let stage = stage(APART);
    in_git(&stage);
    let before = untouched(&stage);
    let branches = git(&stage, &["branch", "--list"]);
    stage.expect(8, &["run", "flow.yaml", "--isolate", "--bring", "none"]);
    assert_eq!(git(&stage, &["branch", "--list"]), branches);
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(fs::read_dir(stage.path(".local/state/envoi/trees")).unwrap().count(), 0);
    assert_eq!(untouched(&stage), before);
}

#[test]
fn isolated_runs_work_side_by_side_and_a_fork_gets_a_tree_of_its_own() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one >> a.txt' }
  - { id: half, run: 'echo half >> a.txt; test -e $ENVOI_RUN_BASE/../well' }
",
    );
    in_git(&stage);
    let before = untouched(&stage);
    let arguments = ["run", "flow.yaml", "--isolate"];
    let both = [0; 2].map(|_| stage.start(&arguments));
    for run in both {
        let done = run.done_when_heard(&stage, &arguments);
        assert_eq!(done.code, Some(1), "{done:?}");
    }
    let root = text(&stage.runs()[0]["run"]);
    stage.write(".envoi/runs/well", "");
    stage.expect(0, &["fork", &root, "--isolate", "--files", "then"]);
    let fork = text(&stage.runs()[0]["run"]);
    let of = |run: &str| stage.read(&format!(".local/state/envoi/trees/{run}/a.txt"));
    assert_eq!(of(&root), "a, not committed\none\nhalf\n");
    assert_eq!(of(&fork), "a, not committed\none\nhalf\n", "half was done once to the files of then");
    assert_eq!(git(&stage, &["worktree", "list"]).lines().count(), 4);
    assert_eq!(untouched(&stage), before);
}

#[test]
fn the_result_comes_back_with_what_was_edited_meanwhile_and_that_is_undone() {
    let stage =
        stage(&APART.replace(
            "echo more",
            "mkdir sub; echo x > sub/x; chmod 755 new.txt; ln -s a.txt link; echo more",
        ));
    in_git(&stage);
    stage.write("work/a.txt", "1\n2\n3\n4\n5\n");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.write("work/a.txt", "one\n2\n3\n4\n5\n");
    stage.write("work/mine.txt", "mine\n");
    let (git_before, files_before) = (of_git(&stage), work(&stage));
    let done = stage.expect(0, &["apply", &id]);
    assert!(done.err.contains("6 files changed in"), "{done:?}");
    assert_eq!(stage.read("work/a.txt"), "one\n2\n3\n4\n5\nmore\n", "both changes");
    assert_eq!(
        stage.read("work/made.txt") + &stage.read("work/sub/x") + &stage.read("work/mine.txt"),
        "made\nx\nmine\n"
    );
    assert_eq!(fs::read_link(stage.path("work/link")).unwrap().to_str(), Some("a.txt"));
    assert_eq!(fs::metadata(stage.path("work/new.txt")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!stage.path("work/b.txt").exists() && stage.path("work/secret").exists());
    assert_eq!(of_git(&stage), git_before, "neither HEAD nor index nor stash");
    let applied = work(&stage);
    let again = stage.expect(0, &["apply", &id]);
    assert!(again.err.contains("nothing to change"), "{again:?}");
    assert_eq!(work(&stage), applied);
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(work(&stage), files_before);
    assert!(!stage.path("work/sub").exists() && !stage.path("work/link").exists());
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(work(&stage), applied, "undo has an undo");
    assert_eq!(of_git(&stage), git_before);
    stage.expect(0, &["doctor"]);
    stage.expect(6, &["restore", &id, "--undo"]);
}

#[test]
fn where_both_changed_the_same_lines_nothing_is_written_until_a_person_decides() {
    let stage = stage(&APART.replace("echo more", "echo theirs > new.txt; echo more"));
    for name in ["a", "b", "new"] {
        stage.write(&format!("work/{name}.txt"), format!("{name}\n"));
    }
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.write("work/new.txt", "ours\n");
    stage.write("work/b.txt", "changed, and taken away there\n");
    let before = work(&stage);
    let done = stage.expect(6, &["apply"]);
    assert!(
        done.err.contains("APPLY_CONFLICT") && done.err.contains("`new.txt`") && done.err.contains("`b.txt`"),
        "{done:?}"
    );
    assert!(!done.err.contains("`a.txt`"), "{done:?}");
    assert_eq!(work(&stage), before);
    stage.expect(0, &["apply", &id, "--ours"]);
    assert_eq!(stage.read("work/new.txt") + &stage.read("work/a.txt"), "ours\na\nmore\n");
    assert!(stage.read("work/b.txt").starts_with("changed"));
    stage.expect(0, &["apply", &id, "--theirs"]);
    assert_eq!(stage.read("work/new.txt"), "theirs\n");
    assert!(!stage.path("work/b.txt").exists());
    // A later change stays when the apply is undone.
    stage.write("work/new.txt", "later\n");
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(stage.read("work/new.txt"), "later\n");
    assert!(stage.read("work/b.txt").starts_with("changed"));
}

#[test]
fn with_markers_both_sides_stand_in_the_file_and_what_they_cannot_show_is_a_conflict() {
    let stage = stage(&APART.replace("echo more", "echo theirs > new.txt; echo more"));
    for name in ["a", "b", "new"] {
        stage.write(&format!("work/{name}.txt"), format!("{name}\n"));
    }
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.write("work/new.txt", "ours\n");
    stage.write("work/b.txt", "changed, and taken away there\n");
    let before = work(&stage);
    // A side has deleted `b.txt`: markers cannot show that.
    let done = stage.expect(6, &["apply", "--markers"]);
    assert!(done.err.contains("`b.txt`") && !done.err.contains("`new.txt`"), "{done:?}");
    assert!(done.err.contains("markers cannot show"), "{done:?}");
    assert_eq!(work(&stage), before);
    stage.write("work/b.txt", "b\n");
    let before = work(&stage);
    let done = stage.expect(0, &["apply", "--markers"]);
    assert!(
        done.err.contains("both sides stand between markers") && done.err.contains("`new.txt`"),
        "{done:?}"
    );
    let marked = format!("<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> run {id}\n");
    assert_eq!(stage.read("work/new.txt"), marked);
    assert_eq!(stage.read("work/a.txt"), "a\nmore\n");
    assert!(!stage.path("work/b.txt").exists());
    // No markers within markers.
    let again = stage.expect(6, &["apply", "--markers"]);
    assert!(again.err.contains("`new.txt`"), "{again:?}");
    assert_eq!(stage.read("work/new.txt"), marked);
    stage.expect(0, &["apply", "--undo"]);
    assert_eq!(work(&stage), before);
    stage.expect(2, &["apply", "--markers", "--ours"]);
}

#[test]
fn a_run_without_a_tree_of_its_own_is_not_applied_and_one_that_was_never_applied_not_taken_back() {
    let stage = stage("flow: files\nworkspace: work\nsteps: [{ id: make, run: 'echo one >> made.txt' }]\n");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let done = stage.expect(6, &["apply"]);
    assert!(done.err.contains("NOT_ISOLATED"), "{done:?}");
    stage.expect(0, &["run", "flow.yaml", "--isolate", "--trees", "elsewhere"]);
    stage.expect(6, &["apply", "--undo"]);
    // The tree is gone: its kept files come.
    fs::remove_dir_all(stage.path("elsewhere")).unwrap();
    stage.expect(0, &["apply"]);
    assert_eq!(stage.read("work/made.txt"), "one\none\n");
}

#[test]
fn what_a_run_begins_to_ignore_is_not_deleted_and_what_it_deletes_and_ignores_is() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: make, run: 'echo built2/ >> .gitignore; echo \"*.log\" >> .gitignore; rm b.log; echo 2 >> old.sh' }]\n",
    );
    in_git(&stage);
    for name in ["built2/one", "built2/sub/two", "a.log", "b.log"] {
        stage.write(&format!("work/{name}"), "mine\n");
    }
    let before = work(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let shown = stage.expect(0, &["diff", "--stat", &id]).out;
    assert!(shown.contains("old.sh") && !shown.contains("built2/") && !shown.contains("a.log"), "{shown}");
    let patch = stage.expect(0, &["apply", &id, "--patch", "-"]).out;
    assert!(patch.contains("old.sh") && !patch.contains("deleted file"), "{patch}");
    let done = stage.expect(0, &["apply", &id]);
    assert!(done.err.contains("3 files stay"), "{done:?}");
    assert!(!stage.path("work/b.log").exists(), "the run has deleted it");
    for name in ["built2/one", "built2/sub/two", "a.log"] {
        assert_eq!(stage.read(&format!("work/{name}")), "mine\n");
    }
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(work(&stage), before);
    // Without the tree it is not known what the run has deleted.
    fs::remove_dir_all(stage.path(&tree(&stage))).unwrap();
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/b.log") + &stage.read("work/built2/one"), "mine\nmine\n");
}

#[test]
fn an_ignored_file_in_the_way_of_the_result_is_not_lost() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: make, run: 'rm .gitignore; echo theirs > secret' }]\n",
    );
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let before = work(&stage);
    let done = stage.expect(6, &["apply"]);
    assert!(done.err.contains("APPLY_CONFLICT") && done.err.contains("`secret`"), "{done:?}");
    assert_eq!(work(&stage), before);
}

#[test]
fn an_apply_that_is_killed_is_done_by_the_next_one() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: make, run: 'for i in $(seq 300); do echo now $i > f$i; done' }]\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let before = work(&stage);
    let mut dice = Dice::new();
    for _ in 0..6 {
        let command = stage.start(&["apply", &id]);
        let until = std::time::Instant::now() + dice.micros(5_000, 250_000);
        wait_until("the moment has come", || std::time::Instant::now() >= until);
        command.kill();
    }
    stage.expect(0, &["apply", &id]);
    assert_eq!(work(&stage).len(), before.len() + 300);
    let of_type = |name: &str| stage.events(&id).iter().filter(|event| event["type"] == name).count();
    assert_eq!(of_type("files_restoring"), of_type("files_restored"));
    stage.expect(0, &["apply", &id, "--undo"]);
    assert_eq!(work(&stage), before);
}

#[test]
fn a_fork_in_a_tree_of_its_own_brings_back_what_it_has_changed_since_then() {
    let stage = stage(FORKED);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let root = stage.run_id();
    stage.write("work/mine.txt", "mine\n");
    stage.write("well", "");
    let before = work(&stage);
    // `half` fails there: the file that it looks for is beside the workspace.
    stage.expect(1, &["fork", &root, "--isolate", "--files", "then"]);
    assert_eq!(work(&stage), before);
    let fork = text(&stage.runs()[0]["run"]);
    let tree = stage.read(&format!(".local/state/envoi/trees/{fork}/made.txt"));
    assert_eq!(tree, "one\nhalf\n");
    stage.write("work/made.txt", "one\n");
    stage.expect(0, &["apply", &fork]);
    assert_eq!(stage.read("work/made.txt") + &stage.read("work/mine.txt"), "one\nhalf\nmine\n");
}

/// Kills an apply that has written aside what is to come, and ended before all of it came. `is_so`: whether what the test needs is still so.
fn killed_apply(stage: &Stage, id: &str, is_so: impl Fn() -> bool) {
    let aside = stage.path(".envoi/files/aside");
    let has_begun = || {
        let mut places = fs::read_dir(&aside).into_iter().flatten().flatten();
        places.any(|place| ["0.new", "0"].iter().any(|name| place.path().join(name).exists()))
    };
    wait_until("an apply is killed in the middle", || {
        fs::remove_dir_all(&aside).unwrap_or_default();
        let mut command = stage.start(&["apply", id]);
        wait_until("what is to come is being written aside", || has_begun() || command.is_over());
        command.kill();
        let last = stage.events(id).iter().filter_map(|event| event["type"].as_str()).next_back()
            == Some("files_restoring");
        if last && is_so() {
            return true;
        }
        if last {
            stage.expect(0, &["apply", id]);
        }
        stage.expect(0, &["apply", id, "--undo"]);
        false
    });
}

#[test]
fn an_apply_that_was_killed_between_a_folder_and_its_file_is_done_and_undone() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: make, run: 'for i in $(seq 100 400); do mkdir -p n/$i; echo $i > n/$i/f; done' }]\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    killed_apply(&stage, &id, || !stage.path("work/n/400/f").exists());
    fs::create_dir_all(stage.path("work/n/400")).unwrap();
    let done = stage.expect(0, &["apply", &id]);
    assert!(done.err.contains("what was begun earlier is done now"), "{done:?}");
    assert_eq!(stage.read("work/n/400/f"), "400\n");
    assert_eq!(fs::read_dir(stage.path("work/n")).unwrap().count(), 301);
    stage.expect(0, &["apply", &id, "--undo"]);
    assert!(!stage.path("work/n").exists());
}

#[test]
fn one_undo_takes_back_a_killed_apply_and_what_the_next_one_brought_beside_an_edit() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: change, run: 'for i in $(seq 100 400); do sed -i s/one/ONE/ f$i; done' }]\n",
    );
    for i in 100..=400 {
        stage.write(&format!("work/f{i}"), "one\ntwo\nthree\nfour\n");
    }
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let mut before = work(&stage);
    killed_apply(&stage, &id, || stage.read("work/f400").starts_with("one"));
    stage.write("work/f400", "one\ntwo\nthree\nmine\n");
    let done = stage.expect(0, &["apply", &id]);
    assert!(done.err.contains("301 files changed"), "{done:?}");
    assert_eq!(stage.read("work/f400"), "ONE\ntwo\nthree\nmine\n");
    assert!(stage.read("work/f100").starts_with("ONE"));
    stage.expect(0, &["apply", &id, "--undo"]);
    before
        .iter_mut()
        .filter(|(name, _)| name == "f400")
        .for_each(|(_, content)| *content = "one\ntwo\nthree\nmine\n".to_owned());
    assert_eq!(work(&stage), before);
}

#[test]
fn nothing_is_applied_where_a_run_of_another_store_is_at_work() {
    let stage = stage(APART);
    for name in ["a", "b", "new"] {
        stage.write(&format!("work/{name}.txt"), name);
    }
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.write("other.yaml", "flow: other\nworkspace: work\nsteps: [{ id: w, run: 'touch begun; while [ ! -e ../go ]; do sleep 0.02; done' }]\n");
    let other = stage.start(&["--home", "other-home", "run", "other.yaml"]);
    wait_until("the other run's step", || stage.path("work/begun").exists());
    let refused = stage.expect(6, &["apply", &id]);
    assert!(refused.err.contains("WORKSPACE_BUSY"), "{refused:?}");
    assert!(!stage.path("work/made.txt").exists());
    stage.write("go", "");
    assert_eq!(other.done().code, Some(0));
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/made.txt"), "made\n");
}

/// The rows of `gc`: the run, whether it is removed, why it stays, the rest of it.
fn gc(stage: &Stage, arguments: &[&str]) -> Vec<(String, bool, String, String)> {
    let rows = stage.json(&[&["--json", "gc"][..], arguments].concat());
    let row = |row: &serde_json::Value| {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        (text("run"), row["removed"] == true, text("stays"), text("left"))
    };
    rows["trees"].as_array().unwrap().iter().map(row).collect()
}

fn trees(stage: &Stage) -> usize {
    fs::read_dir(stage.path(".local/state/envoi/trees")).map_or(0, Iterator::count)
}

#[test]
fn a_tree_whose_files_are_kept_is_removed_and_its_run_can_still_be_applied() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let before = untouched(&stage);
    assert!(stage.expect(0, &["gc", "--dry-run"]).out.contains("would be removed"));
    let counted = || {
        let found = stage.expect(0, &["doctor"]).out;
        found.lines().find(|line| line.contains(" trees ")).unwrap_or_default().to_owned()
    };
    assert!(counted().contains("trees  ") && counted().contains("1, 0 MiB: `"), "{}", counted());
    assert_eq!(
        (gc(&stage, &["--dry-run"]), trees(&stage)),
        (vec![(id.clone(), true, String::new(), String::new())], 1)
    );
    let wide = stage.expect(0, &["gc"]).out;
    assert!(wide.contains(&id) && wide.contains("removed"), "{wide}");
    assert!(counted().ends_with("none"), "{}", counted());
    assert_eq!((trees(&stage), untouched(&stage)), (0, before));
    assert_eq!(
        git(&stage, &["branch", "--list", "envoi/*"])
            + &git(&stage, &["worktree", "list"]).lines().count().to_string(),
        "1"
    );
    assert!(stage.expect(0, &["diff", &id]).out.contains("+more"));
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/made.txt"), "made\n");
    assert!(gc(&stage, &[]).is_empty());
}

#[test]
fn a_tree_that_may_be_needed_stays_until_it_is_dropped() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n  - { id: last, run: 'test -e $ENVOI_RUN_BASE/../../../well' }\n",
    );
    in_git(&stage);
    stage.expect(1, &["run", "flow.yaml", "--isolate"]);
    let failed = stage.run_id();
    stage.write("well", "");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let edited = text(&stage.runs()[0]["run"]);
    let tree = format!(".local/state/envoi/trees/{edited}");
    stage.write(&format!("{tree}/made.txt"), "by a person\n");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let with_commit = text(&stage.runs()[0]["run"]);
    let there = stage.path(&format!(".local/state/envoi/trees/{with_commit}"));
    git(&stage, &["-C", there.to_str().unwrap(), "commit", "-qam", "by the agent"]);
    let rows = gc(&stage, &[]);
    let of = |run: &str| rows.iter().find(|row| row.0 == run).unwrap();
    assert!(!of(&failed).1 && of(&failed).2.contains("may go on there"), "{rows:?}");
    assert!(!of(&edited).1 && of(&edited).2.contains("no snapshot has all"), "{rows:?}");
    assert!(of(&with_commit).1 && of(&with_commit).3.contains("has commits, and stays"), "{rows:?}");
    assert_eq!(stage.read(&format!("{tree}/made.txt")), "by a person\n");
    // Its tree is gone; its result in the store is given up.
    stage.expect(0, &["gc", "--drop", &with_commit]);
    let rows = gc(&stage, &["--drop", &edited]);
    assert_eq!((rows.iter().filter(|row| row.1).count(), trees(&stage)), (1, 1), "{rows:?}");
    // The run that has failed goes on in its tree.
    stage.expect(0, &["resume", &failed]);
    let branches = git(&stage, &["branch", "--list", "envoi/*"]);
    assert!(
        branches.contains(&with_commit) && branches.contains(&failed) && !branches.contains(&edited),
        "{branches}"
    );
}

#[test]
fn a_run_whose_tree_was_dropped_spends_no_attempt() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt; exit 1' }\n",
    );
    in_git(&stage);
    stage.expect(1, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let before = stage.events(&id);
    gc(&stage, &["--drop", &id]);
    assert_eq!(trees(&stage), 0);
    let refused = stage.expect(2, &["resume", &id]);
    assert!(refused.err.contains("WORKSPACE_MISSING") && refused.err.contains(&id), "{refused:?}");
    assert_eq!(stage.events(&id), before);
}

#[test]
fn a_removal_that_was_killed_when_git_had_forgotten_the_tree_is_ended_with_its_branch() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let tree = stage.path(&tree(&stage));
    let aside = tree.with_file_name(format!("{}.removed", stage.run_id()));
    fs::rename(&tree, &aside).unwrap();
    git(&stage, &["worktree", "unlock", tree.to_str().unwrap()]);
    git(&stage, &["worktree", "remove", "--force", tree.to_str().unwrap()]);
    let rows = gc(&stage, &[]);
    assert!(rows[0].1 && rows[0].3.is_empty() && trees(&stage) == 0, "{rows:?}");
    assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]), "");
}

#[test]
fn a_branch_that_a_lock_of_git_has_kept_goes_with_the_next_removal() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let lock = format!("work/.git/refs/heads/envoi/{}.lock", stage.run_id());
    stage.write(&lock, "");
    let rows = gc(&stage, &[]);
    assert!(rows[0].1 && rows[0].3.contains("stays"), "{rows:?}");
    assert_ne!(git(&stage, &["branch", "--list", "envoi/*"]), "");
    fs::remove_file(stage.path(&lock)).unwrap();
    let rows = gc(&stage, &[]);
    assert!(rows.len() == 1 && rows[0].1 && rows[0].3.is_empty(), "{rows:?}");
    assert_eq!(git(&stage, &["branch", "--list", "envoi/*"]), "");
    assert!(gc(&stage, &[]).is_empty() && trees(&stage) == 0);
}

#[test]
fn what_is_to_be_brought_needs_a_tree_and_no_second_word_where_the_flow_has_one() {
    let isolated = stage(&APART.replace("work\n", "{ folder: work, isolate: tree }\n"));
    in_git(&isolated);
    isolated.expect(0, &["run", "flow.yaml", "--bring", "secret", "--from-head"]);
    assert_eq!(isolated.read(&format!("{}/secret", tree(&isolated))), "hush\n");
    let plain = stage(APART);
    in_git(&plain);
    for option in [&["--bring", "secret"][..], &["--from-head"], &["--trees", "x"]] {
        let refused = plain.expect(2, &[&["run", "flow.yaml"], option].concat());
        assert!(refused.err.contains("`--isolate`") && plain.runs().is_empty(), "{refused:?}");
    }
}

#[test]
fn a_git_that_hangs_ends_with_the_command_that_waits_for_it() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let hanging = git_is(
        &stage,
        "#!/bin/sh\necho $$ > ../pid.new; mv ../pid.new ../pid; while :; do sleep 0.05; done\n",
    );
    let asks = hanging(&["diff", &stage.run_id(), "start..now"]);
    wait_until("git is asked", || stage.path("pid").exists());
    asks.signal(Signal::INT);
    let done = asks.done();
    assert_eq!(done.code, None, "{done:?}");
    let pid: u32 = stage.read("pid").trim().parse().unwrap();
    wait_until("git has ended", || !lives(pid));
}

#[test]
fn a_tree_is_not_dropped_under_a_run_that_goes_on_and_a_killed_removal_is_ended() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n  - { id: q, ask: Go on? }\n",
    );
    stage.expect(3, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    assert_eq!(gc(&stage, &[])[0].2, "the run is not over");
    let refused = stage.expect(6, &["gc", "--drop", &id]);
    assert!(refused.err.contains("WORKSPACE_BUSY") && trees(&stage) == 1, "{refused:?}");
    stage.expect(0, &["approve", &id]);
    // As a removal leaves it that is killed half way.
    let tree = stage.path(&format!(".local/state/envoi/trees/{id}"));
    fs::rename(&tree, tree.with_file_name(format!("{id}.removed"))).unwrap();
    fs::remove_file(tree.with_file_name(format!("{id}.removed")).join("made.txt")).unwrap();
    let rows = gc(&stage, &[]);
    assert!(rows.len() == 1 && rows[0].1 && trees(&stage) == 0, "{rows:?}");
    stage.expect(0, &["apply", &id]);
    assert_eq!(stage.read("work/made.txt"), "made\n");
}

#[test]
fn an_emptied_tree_deletes_nothing() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let (before, tree) = (work(&stage), stage.path(&tree(&stage)));
    let elsewhere = tree.with_file_name("elsewhere");
    for made in [true, false] {
        fs::rename(&tree, &elsewhere).unwrap();
        match made {
            true => fs::create_dir(&tree).unwrap(),
            false => std::os::unix::fs::symlink(stage.path("work"), &tree).unwrap(),
        }
        let done = stage.expect(0, &["apply", &id]);
        let content = stage.read("work/made.txt") + &stage.read("work/new.txt");
        assert_eq!(content, "made\nnew\n", "{made}: {done:?}");
        stage.expect(0, &["apply", &id, "--undo"]);
        assert_eq!(work(&stage), before);
        if made {
            fs::remove_dir(&tree).unwrap()
        } else {
            fs::remove_file(&tree).unwrap()
        }
        fs::rename(&elsewhere, &tree).unwrap();
    }
}

#[test]
fn a_tree_with_the_only_copy_of_a_history_stays() {
    let commit = "git -c user.name=N -c user.email=n@example.org commit -q --allow-empty -m made";
    let nested = format!("git init -q sub; cd sub; {commit}");
    let detached = format!("git checkout -q --detach; {commit}");
    let other = format!("git checkout -q -b other; {commit}");
    let and_back = format!(
        "git checkout -q --detach; {commit}; git update-ref refs/worktree/mine HEAD; git checkout -q -"
    );
    for (in_repository, script, stays) in [
        (true, &nested, "no snapshot keeps the history in `sub/.git`"),
        (false, &nested, "no snapshot keeps the history in `sub/.git`"),
        (true, &detached, "commits that were made there are on no branch"),
        (true, &and_back, "commits that were made there are on no branch"),
        (true, &other, ""),
    ] {
        let stage =
            stage(&format!("flow: files\nworkspace: work\nsteps: [{{ id: make, run: '{script}' }}]\n"));
        if in_repository {
            in_git(&stage);
        }
        stage.expect(0, &["run", "flow.yaml", "--isolate"]);
        let rows = gc(&stage, &[]);
        assert_eq!((rows[0].1, rows[0].2.as_str()), (stays.is_empty(), stays), "{script}");
        assert_eq!(trees(&stage), usize::from(!stays.is_empty()), "{script}");
    }
}

#[test]
fn a_tree_with_a_store_or_with_work_of_another_store_stays() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let tree = stage.path(&format!(".local/state/envoi/trees/{id}"));
    let in_tree = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        command.current_dir(&tree).env_remove("ENVOI_HOME");
        command
    };
    // A run of a store elsewhere works in a folder of the tree that git ignores.
    fs::create_dir(tree.join("built")).unwrap();
    let held =
        "flow: held\nsteps: [{ id: a, run: 'echo here >> said; while [ ! -e go ]; do sleep 0.02; done' }]\n";
    fs::write(tree.join("built/held.yaml"), held).unwrap();
    let elsewhere = stage.path("elsewhere");
    let mut held = in_tree(&["--home", elsewhere.to_str().unwrap(), "run", "held.yaml"])
        .current_dir(tree.join("built"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    crate::stage::wait_until("its step", || tree.join("built/said").exists());
    assert_eq!(gc(&stage, &["--dry-run"])[0].2, "a run of another store works there");
    assert_eq!(gc(&stage, &[])[0].2, "a run of another store works there");
    let refused = stage.expect(6, &["gc", "--drop", &id]);
    assert!(refused.err.contains("WORKSPACE_BUSY") && trees(&stage) == 1, "{refused:?}");
    fs::write(tree.join("built/go"), "").unwrap();
    assert!(held.wait().unwrap().success());
    fs::remove_dir_all(tree.join("built")).unwrap();
    // A store is in no snapshot.
    fs::write(tree.join("one.yaml"), "flow: one\nsteps: [{ id: q, ask: Go on? }]\n").unwrap();
    assert_eq!(in_tree(&["--home", ".envoi", "run", "one.yaml"]).output().unwrap().status.code(), Some(3));
    fs::remove_file(tree.join("one.yaml")).unwrap();
    let rows = gc(&stage, &[]);
    assert_eq!(rows[0].2, "no snapshot keeps the runs of the store in `./.envoi`", "{rows:?}");
    assert!(tree.join(".envoi/envoi.db").exists());
    assert!(gc(&stage, &["--drop", &id])[0].1 && trees(&stage) == 0);
}

#[test]
fn a_tree_in_which_something_is_mounted_is_not_emptied() {
    let stage = stage(APART);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    let place = format!(".local/state/envoi/trees/{id}/built");
    fs::create_dir(stage.path(&place)).unwrap();
    stage.write(&format!("{place}/made"), "by a program\n");
    stage.write("precious/file", "a person's\n");
    let mount = format!("mount --bind precious {place}");
    if crate::full::can_mount(&stage, &mount) {
        let script = format!(
            "{mount}; for with in --dry-run '' '--drop {id}'; do \"$0\" gc $with >> said 2>&1; done; umount {place}"
        );
        assert!(crate::full::script_of(&stage, &script, true).status().unwrap().success());
        let said = stage.read("said");
        assert_eq!(said.matches("something is mounted at").count(), 3, "{said}");
        assert_eq!((stage.read("precious/file").as_str(), trees(&stage)), ("a person's\n", 1), "{said}");
    }
    let rows = gc(&stage, &[]);
    assert!(rows[0].1 && trees(&stage) == 0, "{rows:?}");
    assert_eq!(stage.read("precious/file"), "a person's\n");
}

#[test]
fn no_store_is_brought_into_a_tree() {
    let stage = stage(APART);
    in_git(&stage);
    stage.write("work/.gitignore", ".env*\nkept\n");
    stage.write("work/.env", "a=b\n");
    stage.write("work/.worktreeinclude", ".env*\n");
    stage.write("work/one.yaml", "flow: one\nsteps: [{ id: a, run: 'true' }]\n");
    for home in [".envoi", "kept/of/mine"] {
        let mut inner = stage.command(&["--home", home, "run", "one.yaml"]);
        let done = inner.current_dir(stage.path("work")).env_remove("ENVOI_HOME").output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    stage.write("work/kept/file", "kept\n");
    stage.expect(0, &["run", "flow.yaml", "--isolate", "--bring", "kept"]);
    let tree = stage.path(&tree(&stage));
    assert!(tree.join(".env").is_file() && tree.join("kept/file").is_file());
    assert!(!tree.join(".envoi").exists() && !tree.join("kept/of/mine").exists());
    stage.expect(2, &["run", "flow.yaml", "--isolate", "--bring", "kept/.envoi"]);
}

#[test]
fn a_tree_in_which_a_fork_may_go_on_stays() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n  - { id: last, run: 'test ! -e $ENVOI_RUN_BASE/../../../ill' }\n",
    );
    stage.write("work/a", "a");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let id = stage.run_id();
    stage.write("ill", "");
    stage.expect(1, &["fork", &id, "--from", "last"]);
    let fork = text(&stage.runs()[0]["run"]);
    assert_eq!(gc(&stage, &[])[0].2, format!("run `{fork}` may go on there"));
    fs::remove_file(stage.path("ill")).unwrap();
    stage.expect(0, &["resume", &fork]);
    assert!(gc(&stage, &[])[0].1);
}

/// Changes of every kind that git knows.
const ALL_KINDS: &str = r#"
flow: files
workspace: work
steps:
  - id: change
    run: |
      echo more >> a.txt; rm b.txt; echo made > "made by hand.txt"; ln -sf a.txt link
      printf 'a\000b' > binary; printf '#!/bin/sh\n' > run.sh; chmod +x run.sh; mkdir -p d/e empty; echo x > d/e/ü
"#;

#[test]
fn what_a_run_has_changed_is_a_patch_that_git_applies() {
    let stage = stage(ALL_KINDS);
    in_git(&stage);
    stage.expect(0, &["run", "flow.yaml", "--isolate", "--bring", "secret"]);
    let before = untouched(&stage);
    let done = stage.expect(0, &["apply", "--patch", "changes.patch"]);
    assert!(done.out.contains("changes.patch: 7 files"), "{done:?}");
    let again = stage.expect(2, &["apply", "--patch", "changes.patch"]);
    assert!(again.err.contains("nothing was written"), "{again:?}");
    let printed = stage.expect(0, &["apply", &stage.run_id(), "--patch", "-"]);
    assert_eq!(printed.out, stage.read("changes.patch"));
    assert_eq!(untouched(&stage), before);

    git(&stage, &["apply", "--whitespace=nowarn", "../changes.patch"]);
    let tree = stage.path(&tree(&stage));
    let status =
        |folder: &str| git(&stage, &["-C", folder, "status", "--porcelain", "--untracked-files=all"]);
    let bytes = |folder: &std::path::Path, name: &str| fs::read(folder.join(name)).unwrap();
    for name in ["a.txt", "made by hand.txt", "binary", "run.sh", "d/e/ü"] {
        assert_eq!(bytes(&stage.path("work"), name), bytes(&tree, name), "{name}");
    }
    assert!(!stage.path("work/b.txt").exists() && status(".").contains("link"));
    assert_eq!(fs::read_link(stage.path("work/link")).unwrap().to_str(), Some("a.txt"));
    let mode = fs::metadata(stage.path("work/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn a_run_in_a_folder_of_a_repository_says_what_it_has_changed_elsewhere_and_its_patch_fits() {
    let flow = "
flow: part
workspace: work/part
steps: [{ id: change, run: 'echo more >> a.txt; [ -z \"$ELSEWHERE\" ] || { echo more >> ../a.txt; rm ../b.txt; echo x > ../new; }', env: { ELSEWHERE: '${{ inputs.elsewhere }}' } }]
inputs: { elsewhere: { default: '' } }
";
    let stage = stage(flow);
    stage.write("work/part/a.txt", "part\n");
    in_git(&stage);
    git(&stage, &["add", "part"]);
    git(&stage, &["commit", "-qm", "part"]);
    // Uncommitted at the start, and nothing that the run has done.
    stage.write("work/old.sh", "#!/bin/sh\n# mine\n");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let nothing = stage.expect(0, &["diff"]);
    assert!(!nothing.err.contains("outside"), "{nothing:?}");
    stage.expect(0, &["run", "flow.yaml", "--isolate", "--input", "elsewhere=1"]);
    let id = stage.expect(0, &["--json", "runs"]).out;
    let id = serde_json::from_str::<serde_json::Value>(&id).unwrap()[0]["run"].as_str().unwrap().to_owned();
    let said = "3 more files were changed (`a.txt` is one): they lie outside of `part`";
    for arguments in [&["diff", &id][..], &["apply", &id, "--patch", "changes.patch"], &["apply", &id]] {
        let done = stage.expect(0, arguments);
        assert!(done.err.contains(said) || done.out.contains(said), "{arguments:?}: {done:?}");
    }
    // A server shows the same.
    let (_served, afar) = crate::remote::served(&stage);
    let (here, there) = (stage.expect(0, &["diff", &id]), afar.expect(0, &["diff", &id]));
    assert_eq!((&there.out, &there.err), (&here.out, &here.err));
    assert!(there.err.contains(said), "{there:?}");
    // The paths are those of the repository, so that `git apply` finds the file wherever it is called.
    stage.expect(0, &["apply", &id, "--undo"]);
    git(&stage, &["-C", "part", "apply", "../../changes.patch"]);
    assert_eq!(stage.read("work/part/a.txt"), "part\nmore\n");
    git(&stage, &["apply", "-R", "../changes.patch"]);
    assert_eq!(stage.read("work/part/a.txt"), "part\n");
    assert_eq!(stage.read("work/a.txt"), "a, not committed\n");
}

#[test]
fn trees_lie_nowhere_among_the_files_that_they_are_made_from() {
    for in_repository in [false, true] {
        let stage = stage(APART);
        if in_repository {
            in_git(&stage);
        }
        let before = work(&stage);
        for place in ["work/trees", "work/a/../b/trees", "work"] {
            let refused = stage.expect(2, &["run", "flow.yaml", "--isolate", "--trees", place]);
            assert!(refused.err.contains("each would have all trees before it"), "{refused:?}");
        }
        assert!(work(&stage) == before && stage.runs().is_empty(), "in git: {in_repository}");
        if in_repository {
            stage.write("work/.gitignore", "trees/\n");
            stage.expect(0, &["run", "flow.yaml", "--isolate", "--trees", "work/trees"]);
        }
    }
}

#[test]
fn a_run_without_a_tree_of_its_own_has_a_patch_and_no_branch() {
    let stage = stage(ALL_KINDS);
    for name in ["a", "b"] {
        stage.write(&format!("work/{name}.txt"), "x\n");
    }
    stage.expect(0, &["run", "flow.yaml"]);
    let unkept = stage.expect(6, &["apply", "--patch", "-"]);
    assert!(unkept.err.contains("--keep-files"), "{unkept:?}");
    stage.write("work/b.txt", "x\n");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    assert!(stage.expect(0, &["apply", "--patch", "-"]).out.contains("+more"));
    let branch = stage.expect(6, &["apply", "--branch", "result"]);
    assert!(branch.err.contains("NOT_ISOLATED"), "{branch:?}");
}

#[test]
fn a_branch_has_what_a_run_has_changed_and_nothing_else_moves() {
    let stage = stage(ALL_KINDS);
    in_git(&stage);
    git(&stage, &["config", "user.name", "N"]);
    git(&stage, &["config", "user.email", "n@example.org"]);
    // The run's changes fit no commit while the user's own changes are not in one.
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let branches = || git(&stage, &["branch", "--list", "result*"]);
    let (before, refused) = (untouched(&stage), stage.expect(6, &["apply", "--branch", "result"]));
    assert!(refused.err.contains("APPLY_CONFLICT") && refused.err.contains("--patch"), "{refused:?}");
    assert_eq!((untouched(&stage), branches()), (before, String::new()));

    git(&stage, &["commit", "-qam", "second"]);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let before = untouched(&stage);
    for wrong in ["a..b", "-d", "with space", "", "HEAD", "@", "refs/heads/x"] {
        stage.expect(2, &["apply", &format!("--branch={wrong}")]);
    }
    let done = stage.expect(0, &["--json", "apply", "--branch", "result/1", "--reason", "as agreed"]);
    let row: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&row["branch"], &row["files"]), (&"result/1".into(), &7.into()), "{done:?}");
    assert_eq!(untouched(&stage), before);
    assert_eq!(git(&stage, &["rev-parse", "result/1"]).trim(), text(&row["commit"]));
    assert_eq!(git(&stage, &["rev-parse", "result/1^"]), git(&stage, &["rev-parse", "HEAD"]));
    let told = git(&stage, &["log", "-1", "--format=%B", "result/1"]);
    let id = text(&stage.runs()[0]["run"]).to_owned();
    assert!(told.contains(&format!("Envoi-Run: {id}")) && told.contains("as agreed"), "{told}");
    let names = git(&stage, &["-c", "core.quotePath=false", "diff", "--name-status", "HEAD", "result/1"]);
    let wanted =
        ["M\ta.txt", "D\tb.txt", "A\tbinary", "A\td/e/ü", "A\tlink", "A\tmade by hand.txt", "A\trun.sh"];
    assert_eq!(names.lines().collect::<Vec<_>>(), wanted);
    let again = stage.expect(2, &["apply", "--branch", "result/1"]);
    assert!(again.err.contains("already"), "{again:?}");
}

#[test]
fn a_branch_is_made_by_envoi_where_git_does_not_know_who_you_are() {
    let stage = stage(ALL_KINDS);
    in_git(&stage);
    git(&stage, &["commit", "-qam", "second"]);
    // Else git guesses on some machines.
    git(&stage, &["config", "user.useConfigOnly", "true"]);
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let before = untouched(&stage);
    let made_by = |name: &str| git(&stage, &["log", "-1", "--format=%an <%ae>, %cn <%ce>", name]);
    let done = stage.expect(0, &["apply", "--branch", "result"]);
    assert!(done.err.contains("git does not know your name or address"), "{done:?}");
    assert_eq!(made_by("result"), "Envoi <envoi@envoi.invalid>, Envoi <envoi@envoi.invalid>\n");
    // For that commit alone.
    assert_eq!(untouched(&stage), before);
    // A name that git knows is kept.
    let mut command = stage.command(&["apply", "--branch", "other"]);
    let author = [("GIT_AUTHOR_NAME", "N"), ("GIT_AUTHOR_EMAIL", "n@example.org")];
    let done = Process::spawn(command.envs(author)).done();
    assert!(done.code == Some(0) && done.err.contains("git does not know your name or address"), "{done:?}");
    assert_eq!(made_by("other"), "N <n@example.org>, Envoi <envoi@envoi.invalid>\n");
    git(&stage, &["config", "user.name", "N"]);
    git(&stage, &["config", "user.email", "n@example.org"]);
    let done = stage.expect(0, &["apply", "--branch", "third"]);
    assert!(!done.err.contains("your name"), "{done:?}");
    assert_eq!(made_by("third"), "N <n@example.org>, N <n@example.org>\n");
}

#[test]
fn the_text_for_a_pull_request_says_what_was_done_and_changes_nothing() {
    let flow = "flow: notes\ntitle: The notes\nworkspace: work\nsteps:\n  - id: draft\n    run: echo more >> a.txt; echo new > 'x|y.txt'; echo 'Wrote **it**'\n  - id: test\n    run: echo 'all `3` passed @you'\n  - id: sure\n    ask: 'Well?'\n";
    let stage = stage(flow);
    in_git(&stage);
    stage.expect(3, &["run", "flow.yaml", "--isolate"]);
    let before = untouched(&stage);
    let open = stage.expect(0, &["apply", "--pr"]);
    assert!(open.err.contains("the run is not over") && open.out.contains("\n| `sure` | asks |"), "{open:?}");
    stage.expect(0, &["approve"]);
    let done = stage.expect(0, &["apply", "--pr"]);
    let run = stage.run_id();
    for part in [
        "The notes\n\nWrote **it**\n\n| Step |",
        "\n| `draft` | succeeded | `Wrote **it**` |\n| `test` | succeeded | ``all `3` passed @you`` |\n",
        "\n\n2 files changed: 2 lines added, 0 removed.\n\n| File |",
        "\n| `a.txt` | changed | +1 -0 |\n| `x\\|y.txt` | new | +1 -0 |\n\n",
        &format!("\n\nMade by run `{run}` of the flow `notes`. Used: 2 attempts, "),
    ] {
        assert!(done.out.contains(part), "{part:?}: {done:?}");
    }
    let row: serde_json::Value =
        serde_json::from_str(&stage.expect(0, &["--json", "apply", "--pr", "--reason", "As\nagreed"]).out)
            .unwrap();
    assert_eq!(row["title"], "As agreed");
    assert_eq!(done.out, format!("The notes\n\n{}", text(&row["text"])));
    assert_eq!(untouched(&stage), before);
}

#[test]
fn a_patch_of_a_run_that_is_not_over_says_so() {
    let waits = "flow: w\nworkspace: work\nsteps:\n  - id: a\n    run: echo more >> a.txt\n  - id: b\n    ask: 'Well?'\n";
    let stage = stage(waits);
    in_git(&stage);
    stage.expect(3, &["run", "flow.yaml", "--isolate"]);
    let done = stage.expect(0, &["apply", "--patch", "-"]);
    assert!(done.out.contains("+more") && done.err.contains("the run is not over"), "{done:?}");
}

#[test]
fn of_two_removals_at_once_the_second_finds_what_the_first_has_left() {
    let stage = stage(APART);
    in_git(&stage);
    for _ in 0..3 {
        stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    }
    let both = [stage.start(&["--json", "gc"]), stage.start(&["--json", "gc"])];
    let rows: Vec<serde_json::Value> = both
        .into_iter()
        .flat_map(|one| {
            let found: serde_json::Value = serde_json::from_str(&one.done().out).unwrap();
            found["trees"].as_array().unwrap().clone()
        })
        .collect();
    assert_eq!((rows.len(), trees(&stage)), (3, 0), "{rows:?}");
    assert!(rows.iter().all(|row| row["removed"] == true), "{rows:?}");
}

const BY_FLOW: &str = "
flow: files
workspace: { folder: work, isolate: tree, bring: [secret, built, none], setup: 'cp new.txt ready.txt; cat secret built/x >> ready.txt' }
secrets: { TOKEN: { env: TOKEN } }
steps:
  - { id: change, run: 'cat ready.txt > made.txt' }
  - { id: more, run: 'echo more >> made.txt' }
";

#[test]
fn a_flow_gives_its_runs_a_tree_that_is_made_ready_first() {
    let stage = stage(BY_FLOW);
    in_git(&stage);
    stage.write("work/secret", "the token is hush-hush-hush\n");
    let before = untouched(&stage);
    let run =
        |arguments: &[&str]| Process::spawn(stage.command(arguments).env("TOKEN", "hush-hush-hush")).done();
    let done = run(&["run", "flow.yaml"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("`secret` holds the secret `TOKEN`") && !done.err.contains("hush"), "{done:?}");
    assert!(done.err.contains("`none` is not there") && done.err.contains("setup.1 "), "{done:?}");
    assert_eq!(untouched(&stage), before);
    let made = stage.read(&format!("{}/made.txt", tree(&stage)));
    assert_eq!(made, "new\nthe token is hush-hush-hush\nx\nmore\n");
    for option in ["--copy", "--share-workspace"] {
        let done = run(&["run", "flow.yaml", option]);
        assert!(done.code == Some(6) && done.err.contains("NOT_ISOLATED"), "{done:?}");
    }
    // Also a part of the flow works in a tree that is ready.
    let done = run(&["run", "flow.yaml", "--only", "change"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let newest = text(&stage.runs()[0]["run"]);
    assert!(stage.read(&format!(".local/state/envoi/trees/{newest}/made.txt")).ends_with("\nx\n"));
    let steps = stage.events(&newest).iter().filter(|event| event["type"] == "attempt_started").count();
    assert_eq!(steps, 2, "`setup` and `change`");
    assert_eq!(untouched(&stage), before);
}

/// The command as a user for whom the permissions of files hold, also where the tests are those of root; none if the machine does not allow it.
pub(crate) fn with_permissions(stage: &Stage, arguments: &[&str]) -> Option<crate::stage::Done> {
    if !rustix::process::geteuid().is_root() {
        return Some(crate::stage::Process::spawn(&mut stage.command(arguments)).done());
    }
    let is_possible = std::process::Command::new("unshare").args(["--user", "true"]).output();
    if !is_possible.is_ok_and(|done| done.status.success()) {
        return None;
    }
    let own = stage.command(arguments);
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--"]).arg(own.get_program()).args(own.get_args()).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => &mut command,
        };
    }
    command.current_dir(own.get_current_dir().unwrap());
    Some(crate::stage::Process::spawn(&mut command).done())
}

fn close(stage: &Stage, path: &str) {
    fs::set_permissions(stage.path(path), fs::Permissions::from_mode(0o0)).unwrap();
}

#[test]
fn a_file_that_may_not_be_read_and_is_needed_refuses_the_run() {
    for (path, include) in [("work/a.txt", ""), ("work/secret", "secret\n"), ("work/sub", "")] {
        let stage = stage(APART);
        in_git(&stage);
        stage.write("work/sub/b.txt", "b");
        git(&stage, &["add", "sub"]);
        stage.write("work/.worktreeinclude", include);
        close(&stage, path);
        let Some(refused) = with_permissions(&stage, &["run", "flow.yaml", "--isolate"]) else { return };
        assert_eq!(refused.code, Some(8), "{refused:?}");
        assert!(refused.err.contains("TREE_NOT_MADE"), "{refused:?}");
        assert!(refused.err.contains(path.trim_start_matches("work/")), "it is named: {refused:?}");
        assert_eq!(trees(&stage), 0, "nothing of it stays");
        let branches = std::process::Command::new("git")
            .current_dir(stage.path("work"))
            .args(["branch", "--list", "envoi/*"])
            .output();
        assert_eq!(branches.unwrap().stdout, b"");
    }
}

#[test]
fn what_is_left_out_of_a_tree_is_shown_for_as_long_as_the_run_is_there() {
    let stage = stage(&APART.replace("work\n", "{ folder: work, isolate: tree, bring: [none] }\n"));
    ["a.txt", "b.txt", "closed.txt"].iter().for_each(|name| stage.write(&format!("work/{name}"), "x"));
    close(&stage, "work/closed.txt");
    let missing = "`none` is not there, and not in the tree";
    let closed = "warning: `closed.txt` cannot be read, and is not in the tree";
    let said = match with_permissions(&stage, &["run", "flow.yaml"]) {
        Some(done) => {
            assert_eq!(done.code, Some(0), "{done:?}");
            vec![closed, missing]
        }
        None => {
            stage.expect(0, &["run", "flow.yaml"]);
            vec![missing]
        }
    };
    let id = stage.run_id();
    let shown = stage.expect(0, &["show", &id]).out;
    assert!(said.iter().all(|line| shown.contains(line)), "{shown}");
    let started = stage.events(&id).into_iter().find(|event| event["type"] == "run_started").unwrap();
    assert_eq!(started["isolated"]["remarks"], serde_json::json!(said));
}
