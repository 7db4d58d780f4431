//! The files of a run are kept and compared, also those that others changed.

use crate::{
    full::{can_mount, script_of},
    stage::{Dice, Process, Stage, signal, state, text, wait_until},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Commands work below the stage's own folder, which is its home.
const FLOW: &str = "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt; mkdir sub; echo x > sub/x; ln -s made.txt link', artifacts: ['*.txt'] }
  - { id: change, run: 'echo two >> made.txt; rm sub/x; chmod 755 old.sh', artifacts: ['*.txt'] }
";

pub(crate) fn stage(flow: &str) -> Stage {
    let stage = Stage::with_flow(flow);
    stage.write("work/old.sh", "#!/bin/sh\n");
    stage
}

fn rows(out: &str) -> Vec<Value> {
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn what_a_run_and_a_visit_have_changed_is_shown() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let all = stage.expect(0, &["diff"]).out;
    for line in [
        "diff a/made.txt b/made.txt",
        "+one",
        "+two",
        "new: link",
        "was: file with mode 644",
        "is: file with mode 755",
    ] {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("sub/x"), "it came and went: {all}");
    let visit = stage.expect(0, &["diff", &stage.run_id(), "change"]).out;
    assert!(visit.contains("-x\n") && visit.contains(" one\n+two\n") && !visit.contains("+one"), "{visit}");
    let only = stage.expect(0, &["diff", &stage.run_id(), "start..end", "sub"]).out;
    assert!(only.contains("new: empty folder") && !only.contains("made.txt"), "{only}");
    let without_run = stage.expect(2, &["diff", "start..end"]);
    assert!(without_run.err.contains("diff RUN start..end"), "{without_run:?}");
    let settled: Vec<Value> = stage
        .events(&stage.run_id())
        .into_iter()
        .filter(|event| event["type"] == "attempt_settled")
        .collect();
    let [make, change] = settled.as_slice() else { panic!("{settled:?}") };
    assert_eq!(make["workspace_digest"], change["workspace_before"]["digest"], "nothing changed in between");
    assert!(make["workspace_digest"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn an_edit_between_two_visits_is_not_charged_to_a_step() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt' }
  - { id: look, ask: { message: Fine? } }
  - { id: last, run: 'echo three > last.txt' }
",
    );
    stage.expect(3, &["run", "flow.yaml", "--keep-files"]);
    stage.write("work/by-hand.txt", "me\n");
    stage.expect(0, &["approve"]);
    stage.write("work/later.txt", "me\n");
    let rows = rows(&stage.expect(0, &["--json", "diff", &stage.run_id(), "start..now"]).out);
    let by = |path: &str| {
        let row = rows.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("{path}: {rows:?}"));
        row["by"].as_array().unwrap().iter().map(text).collect::<Vec<String>>().join(", ")
    };
    assert_eq!(by("made.txt"), "make.1.1");
    assert_eq!(by("by-hand.txt"), "edited between make.1.1 and last.1.1");
    assert_eq!(by("last.txt"), "last.1.1");
    assert_eq!(by("later.txt"), "edited after last.1.1");
    let stat = stage.expect(0, &["diff", &stage.run_id(), "--stat"]).out;
    assert!(stat.contains("edited between") && !stat.contains("later.txt"), "{stat}");
}

#[test]
fn what_a_restore_between_two_visits_has_changed_is_not_an_edit() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt; echo two > other.txt' }
  - { id: look, ask: { message: Fine? } }
  - { id: last, run: 'echo three > last.txt' }
",
    );
    stage.expect(3, &["run", "flow.yaml", "--keep-files"]);
    stage.write("work/other.txt", "me\n");
    stage.expect(0, &["restore", &stage.run_id(), "--at", "before:make", "--here"]);
    stage.write("work/by-hand.txt", "me\n");
    stage.expect(0, &["approve"]);
    let by = |range: &[&str]| {
        let id = stage.run_id();
        let rows = rows(&stage.expect(0, &[&["--json", "diff", &id], range].concat()).out);
        let all = rows.into_iter().map(|row| (text(&row["path"]), row["by"].clone()));
        all.collect::<std::collections::BTreeMap<_, _>>()
    };
    let made = by(&["make..last"]);
    assert_eq!(made["made.txt"], serde_json::json!(["restored after make.1.1"]));
    assert_eq!(made["other.txt"], serde_json::json!(["edited after make.1.1", "restored after make.1.1"]));
    assert_eq!(made["by-hand.txt"], serde_json::json!(["edited between make.1.1 and last.1.1"]));
    assert_eq!(made["last.txt"], serde_json::json!(["last.1.1"]));
    assert_eq!(by(&["make"]).keys().collect::<Vec<_>>(), ["made.txt", "other.txt"]);
    assert_eq!(by(&["make"])["made.txt"], serde_json::json!(["make.1.1"]));
    // And one after all attempts.
    stage.expect(0, &["restore", "--at", "make", "--here"]);
    assert_eq!(by(&["last..now"])["last.txt"], serde_json::json!(["restored after last.1.1"]));
}

#[test]
fn what_envoi_sets_back_for_a_retry_is_edited_by_nobody() {
    let stage = stage(
        "
flow: files
workspace: { folder: work, isolate: tree }
steps:
  - id: make
    run: 'echo more >> made.txt; [ $ENVOI_ATTEMPT = make.1.2 ]'
    retry: { attempts: 2, backoff: 0s..0s }
    files: restore
",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let rows = rows(&stage.expect(0, &["--json", "diff"]).out);
    assert_eq!(
        rows[0]["by"],
        serde_json::json!(["make.1.1", "set back for make.1.2", "make.1.2"]),
        "{rows:?}"
    );
}

#[test]
fn nothing_is_kept_by_default_and_the_message_says_so() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml"]);
    let done = stage.expect(6, &["diff"]);
    assert!(done.err.contains("FILES_NOT_KEPT") && done.err.contains("--keep-files"), "{done:?}");
    assert!(!stage.path(".envoi/files").exists() && !stage.path(".envoi/artifacts/packs").exists());
    let events = stage.events(&stage.run_id());
    assert!(events.iter().all(|event| event.get("workspace_digest").is_none()));
    assert!(events.iter().all(|event| event.get("keep_files").is_none()));
}

#[test]
fn a_folder_that_is_too_wide_stops_no_run_and_is_not_kept() {
    let stage = Stage::with_flow("flow: wide\nsteps: [{ id: a, run: 'echo x > x' }]\n");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let settled =
        stage.events(&stage.run_id()).into_iter().find(|event| event["type"] == "attempt_settled").unwrap();
    let warnings = settled["warnings"].to_string();
    assert!(
        warnings.contains("the files before the attempt are not kept") && warnings.contains("too wide"),
        "{warnings}"
    );
    let done = stage.expect(6, &["diff"]);
    assert!(done.err.contains("FILES_NOT_KEPT"), "{done:?}");
}

#[test]
fn the_bounds_of_a_snapshot_are_those_of_the_configuration() {
    let stage = stage(
        "flow: f\nworkspace: work\nsteps: [{ id: make, run: 'echo more than nine bytes > a; echo b > b' }]\n",
    );
    let configured = |trees: &str| stage.write(".envoi/config.yaml", format!("trees: {{ {trees} }}\n"));
    configured("max_files: 2");
    let done = stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    assert!(done.err.contains("more than 2 files"), "{done:?}");
    configured("max_file: 1KiB");
    stage.write("work/large", vec![b'x'; 2000]);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    // The command that compares with the folder as it is has the same bounds: else it would call the file changed.
    let run = text(&stage.runs()[0]["run"]);
    assert_eq!(stage.expect(0, &["diff", &run, "end..now", "--stat"]).out, "");
    let restored = stage.expect(0, &["restore", &run, "--at", "end", "--into", "there"]);
    assert!(restored.err.contains("large") && !stage.path("there/large").exists(), "{restored:?}");
    configured("max_file: 1MiB");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    stage.expect(0, &["restore", "--at", "end", "--into", "here"]);
    assert_eq!(stage.read("here/large").len(), 2000);
    configured("max_file: 9GiB");
    let refused = stage.expect(2, &["run", "flow.yaml", "--keep-files"]);
    assert!(refused.err.contains("1KiB to 4GiB"), "{refused:?}");
}

#[test]
fn a_supervisor_that_is_killed_leaves_the_state_before_its_attempt() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: hang, run: 'echo half > half.txt; touch ../at; exec sleep 600' }]\n",
    );
    let run = stage.start(&["run", "flow.yaml", "--keep-files"]);
    wait_until("the command is at work", || stage.path("at").exists());
    let id = stage.run_id();
    signal(stage.supervisor("hang.1.1").unwrap(), Signal::KILL);
    run.done();
    let settled = stage.events(&id).into_iter().find(|event| event["type"] == "attempt_settled").unwrap();
    assert!(settled["workspace_before"]["digest"].is_string(), "{settled}");
    let out = stage.expect(0, &["diff", &id, "before:hang..now"]).out;
    assert!(out.contains("+half"), "{out}");
}

#[test]
fn every_version_of_an_artifact_is_there_and_nothing_is_overwritten() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    assert_eq!(stage.expect(0, &["artifacts", "cat", &id, "made.txt"]).out, "one\ntwo\n");
    assert_eq!(stage.expect(0, &["artifacts", "cat", &id, "made.txt@make"]).out, "one\n");
    let listed = rows(&stage.expect(0, &["--json", "artifacts", "list", "--all"]).out);
    let visits: Vec<String> = listed.iter().map(|row| text(&row["visit"])).collect();
    assert_eq!(visits, ["make.1", "change.1"]);
    assert_eq!(rows(&stage.expect(0, &["--json", "artifacts", "list"]).out).len(), 1);
    stage.expect(0, &["artifacts", "get", &id, "made.txt@make.1"]);
    assert_eq!(stage.read("made.txt"), "one\n");
    let done = stage.expect(2, &["artifacts", "get", &id, "made.txt"]);
    assert!(done.err.contains("FILE_EXISTS"), "{done:?}");
    assert_eq!(stage.read("made.txt"), "one\n");
}

#[test]
fn versions_of_artifacts_are_compared_and_named_clearly() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml"]);
    let id = stage.run_id();
    let out = stage.expect(0, &["artifacts", "diff", &id, "made.txt", "make..change"]).out;
    assert!(out.contains(" one\n+two\n"), "{out}");
    let out = stage.expect(0, &["artifacts", "diff", &id, "made.txt"]).out;
    assert!(out.contains("+one\n+two\n"), "{out}");
    for wrong in [["artifacts", "cat", &id, "none.txt"], ["artifacts", "cat", &id, "made.txt@other"]] {
        let done = stage.expect(2, &wrong);
        assert!(done.err.contains("ARTIFACT_NOT_FOUND"), "{done:?}");
    }
    let digest = text(&rows(&stage.expect(0, &["--json", "artifacts", "list"]).out)[0]["digest"]);
    assert!(digest.starts_with("sha256:"));
}

#[test]
fn a_step_that_leaves_no_file_warns_or_fails_or_is_content_as_its_flow_says() {
    let flow = |more: &str| {
        format!(
            "flow: f\nworkspace: work\nsteps:\n  - {{ id: make, run: 'echo x >> ../starts', artifacts: ['out/**', old.sh]{more} }}\n"
        )
    };
    let missing = "no file matches `artifacts: out/**`";
    let rows = [
        ("", 0, true, 1),
        (", if_no_artifacts: warn", 0, true, 1),
        (", if_no_artifacts: ignore", 0, false, 1),
    ];
    let rows = rows.into_iter().chain([(
        ", if_no_artifacts: fail, retry: { attempts: 2, backoff: 1s }",
        1,
        true,
        2,
    )]);
    for (more, code, is_named, starts) in rows {
        let stage = stage(&flow(more));
        let done = stage.expect(code, &["run", "flow.yaml"]);
        assert_eq!(done.err.contains(missing), is_named, "{more}: {done:?}");
        assert_eq!(done.err.contains("ARTIFACT_MISSING"), code == 1, "{more}: {done:?}");
        assert_eq!(stage.lines("starts").len(), starts, "{more}");
        // The existing artifacts are handed over all the same, unless the step has failed.
        let listed = stage.expect(0, &["artifacts", "list"]).out;
        assert_eq!(listed.contains("old.sh"), code == 0, "{more}: {listed}");
    }
}

#[test]
fn a_state_is_written_into_a_folder_of_its_own() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.expect(0, &["restore", &id, "--at", "make", "--into", "there"]);
    assert_eq!(stage.read("there/made.txt") + &stage.read("there/sub/x"), "one\nx\n");
    assert_eq!(fs::read_link(stage.path("there/link")).unwrap().to_str(), Some("made.txt"));
    let done = stage.expect(2, &["restore", &id, "--at", "end", "--into", "there"]);
    assert!(done.err.contains("FILE_EXISTS") && done.err.contains("nothing was written"), "{done:?}");
    assert_eq!(stage.read("there/made.txt"), "one\n");
    assert_eq!(stage.read("work/made.txt"), "one\ntwo\n");
    let only = |paths: &[&str], into: &str| {
        [&["restore", &id][..], paths, &["--at", "make", "--into", into]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let call = |code, arguments: Vec<String>| {
        stage.expect(code, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    call(0, only(&["./sub", "made.txt"], "some"));
    assert_eq!(stage.read("some/made.txt") + &stage.read("some/sub/x"), "one\nx\n");
    assert!(!stage.path("some/link").exists() && !stage.path("some/old.sh").exists());
    for wrong in ["su", "../work", "/etc"] {
        call(2, only(&["made.txt", wrong], "none"));
        assert!(!stage.path("none").exists(), "{wrong}");
    }
    for (at, code) in [("other", 6), ("now", 2)] {
        stage.expect(code, &["restore", &id, "--at", at, "--into", "elsewhere"]);
        assert!(!stage.path("elsewhere").exists(), "{at}");
    }
}

#[test]
fn single_files_and_folders_are_set_back_and_all_else_stays() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt; mkdir sub empty; echo x > sub/x; echo n > n; echo build/ > .gitignore; mkdir build; echo b > build/b' }
  - { id: change, run: 'echo two >> made.txt; echo y > sub/x; echo y > sub/y; echo z > z.txt; echo e > empty/e; rm old.sh .gitignore' }
",
    );
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.write("work/z.txt", "mine\n");
    let here = |code, paths: &[&str]| {
        stage.expect(code, &[&["restore", &id][..], paths, &["--at", "make", "--here"]].concat())
    };
    for wrong in ["su", "../work", "/etc"] {
        here(2, &["made.txt", wrong]);
        assert_eq!(stage.read("work/made.txt"), "one\ntwo\n", "{wrong}");
    }
    here(0, &["./sub", "made.txt"]);
    let found = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .map(|name| fs::read_to_string(stage.path("work").join(name)).unwrap_or_default())
            .collect()
    };
    let all = ["made.txt", "sub/x", "sub/y", "z.txt", "old.sh", "build/b", "empty/e"];
    assert_eq!(found(&all), ["one\n", "x\n", "", "mine\n", "", "b\n", "e\n"]);
    let begun = |nth: usize| {
        let events = stage.events(&id);
        events.into_iter().filter(|event| event["type"] == "files_restoring").nth(nth).unwrap()
    };
    assert_eq!(begun(0)["folder"]["paths"], serde_json::json!(["sub", "made.txt"]));
    assert!(begun(0)["folders_gone"].is_null(), "no folder goes: {}", begun(0));
    assert!(stage.expect(0, &["why", &id]).out.contains("files set back (`sub`, `made.txt`) by"));
    let again = here(0, &["sub"]);
    assert!(again.err.contains("the files are like that already"), "{again:?}");
    // A file that did not exist then goes, but not a file that git ignored then: it may have been there.
    here(0, &["z.txt", "old.sh", "build", "empty/e"]);
    assert_eq!(found(&all), ["one\n", "x\n", "", "", "#!/bin/sh\n", "b\n", ""]);
    assert!(stage.path("work/empty").is_dir(), "the folder was there then");
    // A path that was not named then may have changed since.
    stage.write("work/n", "edited since\n");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(found(&all), ["one\n", "x\n", "", "mine\n", "", "b\n", "e\n"]);
    assert_eq!(stage.read("work/n"), "edited since\n");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(found(&all), ["one\n", "x\n", "", "", "#!/bin/sh\n", "b\n", ""], "undo has an undo");
    stage.expect(2, &["restore", &id, "n", "--undo"]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_restore_of_one_folder_that_was_killed_touches_nothing_else_when_it_is_done_later() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'mkdir d; echo n > n; for i in $(seq 600); do echo then $i > d/f$i; done' }\n  \
         - { id: change, run: 'echo now > n; for i in $(seq 600); do echo now $i > d/f$i; done' }\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    let aside = stage.path(".envoi/files/aside");
    let has_begun = || {
        let mut places = fs::read_dir(&aside).into_iter().flatten().flatten();
        places.any(|place| ["0.new", "0"].iter().any(|name| place.path().join(name).exists()))
    };
    let of_folder = |word: &str| {
        let is_so = |nth: usize| stage.read(&format!("work/d/f{nth}")) == format!("{word} {nth}\n");
        (1..=600).filter(|nth| is_so(*nth)).count()
    };
    wait_until("a restore is killed in the middle", || {
        fs::remove_dir_all(&aside).unwrap_or_default();
        let mut command = stage.start(&["restore", &id, "d", "--at", "make", "--here"]);
        wait_until("what is to come is being written aside", || has_begun() || command.is_over());
        command.kill();
        let is_done = stage.events(&id).iter().filter_map(|event| event["type"].as_str()).next_back()
            == Some("files_restored");
        if is_done {
            stage.expect(0, &["restore", &id, "--undo"]);
        }
        !is_done
    });
    assert!(stage.expect(0, &["show", &id]).out.contains("files may be half set back"));
    // A person works on.
    stage.write("work/n", "edited since\n");
    stage.write("work/new", "new\n");
    stage.write("work/d/f77", "typed\n");
    fs::remove_file(stage.path("work/old.sh")).unwrap();
    let is_as_left = || {
        (stage.read("work/n"), stage.read("work/new"), stage.path("work/old.sh").exists())
            == ("edited since\n".to_owned(), "new\n".to_owned(), false)
    };
    let done = stage.expect(0, &["resume", &id]);
    assert!(is_as_left(), "{done:?}");
    assert_eq!((of_folder("then"), stage.read("work/d/f77")), (599, "typed\n".to_owned()), "{done:?}");
    assert!(done.err.contains("`d/f77` was left as it was: it was changed meanwhile"), "{done:?}");
    stage.expect(0, &["restore", &id, "d", "--at", "make", "--here"]);
    assert_eq!(of_folder("then"), 600);
    stage.expect(0, &["restore", &id, "--undo"]);
    stage.expect(0, &["restore", &id, "d", "--at", "end", "--here"]);
    assert_eq!(of_folder("now"), 600);
    assert!(is_as_left());
    stage.expect(0, &["doctor"]);
}

/// On a small file system of its own.
#[test]
fn a_restore_for_which_there_is_no_room_says_so_and_touches_nothing() {
    let stage = Stage::new();
    fs::create_dir(stage.path("small")).unwrap();
    stage.write(
        "flow.yaml",
        "flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'head -c 3000000 /dev/urandom > big; echo one > a' }\n  \
         - { id: change, run: 'head -c 3000000 /dev/urandom > big; echo two > a' }\n",
    );
    let mount = "mount -t tmpfs -o size=32m small small";
    if !can_mount(&stage, mount) {
        return;
    }
    let restore = "\"$0\" restore --at make --here";
    let script = format!(
        "{mount}; cd small; cp ../flow.yaml .; mkdir work; \"$0\" run flow.yaml --keep-files || exit 1; cp work/big ../big; \
         cat /dev/zero > filler 2>/dev/null; truncate -s -2M filler; {restore} > ../said 2>&1; echo $? > ../code; \
         cmp work/big ../big || exit 2; cat work/a > ../a; ls -A work > ../names; \"$0\" show --events > ../events || exit 3; \
         rm filler; {restore} || exit 4; cat work/a > ../then"
    );
    let done = script_of(&stage, &script, true).stdout(std::process::Stdio::null()).status().unwrap();
    assert!(done.success(), "{done}: {}", stage.read("said"));
    assert_eq!((stage.read("code").trim(), stage.read("a").trim()), ("8", "two"), "{}", stage.read("said"));
    assert_eq!(stage.lines("names"), ["a", "big"]);
    let last = stage.lines("events").pop().unwrap();
    assert!(last.contains("files_kept_as_they_were") && last.contains("No space left"), "{last}");
    assert_eq!(stage.read("then").trim(), "one");
}

#[test]
fn a_state_beside_another_attempt_is_compared_and_not_restored() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: quick, run: 'until test -e ../slow; do sleep 0.01; done; echo q > q' }
  - { id: slow, run: 'touch ../slow; until test -e ../go; do sleep 0.01; done; echo s > s' }
  - { id: last, needs: [quick, slow], run: 'true' }
",
    );
    let run = stage.start(&["run", "flow.yaml", "--keep-files", "--jobs", "2"]);
    wait_until("the first one is over", || {
        stage.runs().first().is_some_and(|run| {
            stage.events(&text(&run["run"])).iter().any(|event| event["type"] == "attempt_settled")
        })
    });
    stage.write("go", "");
    run.done();
    let id = stage.run_id();
    assert!(stage.expect(0, &["diff", &id, "start..quick"]).out.contains("+q"));
    let done = stage.expect(6, &["restore", &id, "--at", "quick", "--into", "there"]);
    assert!(done.err.contains("FILES_MOVING") && !stage.path("there").exists(), "{done:?}");
    stage.expect(0, &["restore", &id, "--at", "last", "--into", "there"]);
    assert_eq!(stage.read("there/q") + &stage.read("there/s"), "q\ns\n");
}

/// The contents of the run's working folder.
pub(crate) fn work(stage: &Stage) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(stage.path("work"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .map(|name| (name.clone(), stage.read(&format!("work/{name}"))))
        .collect();
    found.sort();
    found
}

#[test]
fn a_workspace_is_set_back_and_that_is_undone() {
    let stage = stage(FLOW);
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    stage.write("work/made.txt", "edited by hand\n");
    stage.write("work/mine.txt", "mine\n");
    let edited = work(&stage);
    stage.expect(6, &["restore", &id, "--undo"]);
    stage.expect(0, &["restore", &id, "--at", "make", "--here", "--reason", "another try"]);
    assert_eq!(stage.read("work/made.txt") + &stage.read("work/sub/x"), "one\nx\n");
    assert!(!stage.path("work/mine.txt").exists());
    let types: Vec<String> = stage.events(&id).iter().map(|event| text(&event["type"])).collect();
    assert_eq!(types[types.len() - 3..], ["run_ended", "files_restoring", "files_restored"]);
    let again = stage.expect(0, &["restore", &id, "--at", "make", "--here"]);
    assert!(again.err.contains("like that already"), "{again:?}");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(work(&stage), edited);
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(stage.read("work/made.txt"), "one\n", "undo has an undo");
    assert!(stage.expect(0, &["why", &id]).out.contains("another try"));
    stage.expect(0, &["doctor"]);
    stage.expect(2, &["restore", &id, "--here"]);
    stage.expect(2, &["restore", &id, "--at", "make"]);
    stage.expect(2, &["restore", &id, "--at", "make", "--here", "--into", "there"]);
}

#[test]
fn nothing_is_set_back_under_a_step_that_works() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'echo one > made.txt' }\n  - { id: hang, run: 'echo two > \
         made.txt; touch ../at; until test -e ../go; do sleep 0.01; done' }\n",
    );
    let run = stage.start(&["run", "flow.yaml", "--keep-files"]);
    wait_until("the command is at work", || stage.path("at").exists());
    let id = stage.run_id();
    let done = stage.expect(6, &["restore", &id, "--at", "make", "--here"]);
    assert!(done.err.contains("WORKSPACE_BUSY") && done.err.contains("hang.1.1"), "{done:?}");
    assert_eq!(stage.read("work/made.txt"), "two\n");
    stage.write("go", "");
    run.done();
    stage.expect(0, &["restore", &id, "--at", "make", "--here"]);
    assert_eq!(stage.read("work/made.txt"), "one\n");
}

#[test]
fn a_restore_that_is_killed_is_done_by_the_next_one_and_undo_still_means_what_stood_there_first() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'for i in $(seq 300); do echo then $i > f$i; done' }\n  - { id: change, \
         run: 'for i in $(seq 300); do echo now $i > f$i; done; touch extra' }\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    let now = work(&stage);
    let mut dice = Dice::new();
    for _ in 0..8 {
        let command = stage.start(&["restore", &id, "--at", "make", "--here"]);
        let until = std::time::Instant::now() + dice.micros(5_000, 250_000);
        wait_until("the moment has come", || std::time::Instant::now() >= until);
        command.kill();
    }
    stage.expect(0, &["restore", &id, "--at", "make", "--here"]);
    let then = work(&stage);
    let of_run = then.iter().filter(|(name, _)| name != "old.sh");
    assert!(of_run.clone().count() == 300, "{then:?}");
    assert!(of_run.clone().all(|(name, content)| *content == format!("then {}\n", &name[1..])), "{then:?}");
    let begun = stage.events(&id).iter().filter(|event| event["type"] == "files_restoring").count();
    let ended = stage.events(&id).iter().filter(|event| event["type"] == "files_restored").count();
    assert_eq!(begun, ended);
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(work(&stage), now);
}

#[test]
fn an_empty_folder_and_a_file_change_places_and_that_is_undone() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: one, run: 'mkdir e; echo a > a' }\n  - { id: two, run: 'rmdir e; echo e > e; echo b > a' \
         }\n  - { id: three, run: 'exit 1' }\n",
    );
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    let now = work(&stage);
    stage.expect(0, &["restore", &id, "--at", "one", "--here"]);
    assert!(stage.path("work/e").is_dir());
    assert_eq!(stage.read("work/a"), "a\n");
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(work(&stage), now);
    assert_eq!(stage.read("work/e"), "e\n");
}

#[test]
fn a_restore_that_is_not_done_is_shown_until_it_is() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps:\n  - { id: make, run: 'for i in $(seq 600); do echo then $i > f$i; done' }\n  - { id: change, \
         run: 'for i in $(seq 600); do echo now $i > f$i; done' }\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let id = stage.run_id();
    let now = work(&stage);
    let aside = stage.path(".envoi/files/aside");
    let has_begun = || {
        let mut places = fs::read_dir(&aside).into_iter().flatten().flatten();
        places.any(|place| ["0.new", "0"].iter().any(|name| place.path().join(name).exists()))
    };
    wait_until("a restore is killed in the middle", || {
        fs::remove_dir_all(&aside).unwrap_or_default();
        let mut command = stage.start(&["restore", &id, "--at", "make", "--here"]);
        // The event is committed, and hundreds of files are still to come.
        wait_until("what is to come is being written aside", || has_begun() || command.is_over());
        command.kill();
        let is_done = stage.events(&id).iter().filter_map(|event| event["type"].as_str()).next_back()
            == Some("files_restored");
        if is_done {
            stage.expect(0, &["restore", &id, "--undo"]);
        }
        !is_done
    });
    assert!(stage.expect(0, &["runs"]).out.contains("files half set back"));
    let half = || stage.json(&["--json", "runs"])[0]["files_half_set_back"].clone();
    assert_eq!(half(), true);
    stage.write("work/f77", "typed\n");
    assert!(stage.expect(0, &["show", &id]).out.contains(&format!("restore {id} --undo takes it back")));
    assert!(stage.expect(8, &["doctor"]).out.contains("restore that is not done"));
    // The restore is ended first, and texts typed since it began are named.
    let undone = stage.expect(0, &["restore", &id, "--undo"]);
    assert!(
        undone.err.contains("`f77` was written to meanwhile; that content is kept: sha256:"),
        "{undone:?}"
    );
    let late: Vec<_> =
        stage.events(&id).iter().filter_map(|event| event["late"].as_array().cloned()).flatten().collect();
    assert!(late.len() == 1 && late[0]["path"] == "f77" && late[0]["size"] == 6, "{late:?} {undone:?}");
    assert_eq!(work(&stage), now);
    assert!(!stage.expect(0, &["runs"]).out.contains("half"));
    assert_eq!(half(), false);
    assert!(!stage.expect(0, &["show", &id]).out.contains("half set back"));
    stage.expect(0, &["doctor"]);
}

/// `half` leaves a line for each time it is done, and fails until the file `well` exists.
pub(crate) const FORKED: &str = "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt' }
  - { id: half, run: 'echo half >> made.txt; test -e ../well' }
  - { id: last, run: 'cat made.txt > ../seen' }
";

#[test]
fn a_fork_begins_with_the_files_as_they_were_and_that_is_undone() {
    let stage = stage(FORKED);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let root = stage.run_id();
    let lived = stage.events(&root);
    stage.write("work/mine.txt", "mine\n");
    let edited = work(&stage);
    stage.write("well", "");
    stage.expect(0, &["fork", &root, "--files", "then"]);
    assert_eq!(stage.read("seen"), "one\nhalf\n", "half was done once to these files");
    assert!(!stage.path("work/mine.txt").exists());
    assert_eq!(stage.events(&root), lived, "the source stays as it is");
    let fork = text(&stage.runs()[0]["run"]);
    let types: Vec<String> = stage.events(&fork).iter().map(|event| text(&event["type"])).collect();
    let at = |name: &str| {
        types.iter().rposition(|found| found == name).unwrap_or_else(|| panic!("{name}: {types:?}"))
    };
    assert!(
        at("run_forked") < at("files_restoring") && at("files_restoring") < at("files_restored"),
        "{types:?}"
    );
    assert!(
        types[..at("files_restored")].iter().filter(|name| *name == "attempt_started").count() == 1,
        "{types:?}"
    );
    stage.expect(0, &["restore", &fork, "--undo"]);
    assert_eq!(work(&stage), edited);
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_fork_in_a_copy_has_the_files_as_they_were_and_leaves_the_workspace_alone() {
    let stage = stage(FORKED);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let root = stage.run_id();
    let before = work(&stage);
    stage.expect(1, &["fork", &root, "--copy", "--files", "then"]);
    let fork = text(&stage.runs()[0]["run"]);
    let copied = stage.read(&format!(".envoi/runs/{fork}/_workspace/made.txt"));
    assert_eq!(copied, "one\nhalf\n", "what the first try had left is not there");
    assert_eq!(work(&stage), before);
}

#[test]
fn a_fork_that_is_killed_before_its_files_are_set_back_starts_nothing_before_they_are() {
    let stage = stage(FORKED);
    stage.expect(1, &["run", "flow.yaml", "--keep-files"]);
    let root = stage.run_id();
    stage.write("well", "");
    let mut command = stage.command(&["fork", &root, "--files", "then"]);
    let engine = Process::spawn(command.env("ENVOI_FAILPOINT", "before-show:stop"));
    wait_until("the stop", || state(engine.pid()) == Some('T'));
    let fork = text(&stage.runs()[0]["run"]);
    let last = stage.events(&fork).last().map(|event| text(&event["type"]));
    assert_eq!(last.as_deref(), Some("files_restoring"));
    assert_eq!(stage.read("work/made.txt"), "one\nhalf\n");
    engine.kill();
    stage.expect(0, &["resume", &fork]);
    assert_eq!(stage.read("seen"), "one\nhalf\n");
    stage.assert_nothing_left();
}

#[test]
fn files_that_were_not_kept_are_not_gone_back_to() {
    let stage = stage(FORKED);
    stage.expect(1, &["run", "flow.yaml"]);
    let root = stage.run_id();
    let done = stage.expect(6, &["fork", &root, "--files", "then"]);
    assert!(done.err.contains("FILES_NOT_KEPT"), "{done:?}");
    assert_eq!(stage.runs().len(), 1);
    stage.expect(2, &["resume", &root, "--files", "then"]);
    stage.expect(2, &["resume", &root, "--in-doubt", "fail", "--files", "then"]);
}

#[test]
fn an_attempt_in_doubt_runs_again_on_the_files_that_it_began_with() {
    let stage = stage(
        "
flow: files
workspace: work
steps:
  - { id: make, run: 'echo one > made.txt' }
  - { id: hang, run: 'echo half >> made.txt; touch ../at; until test -e ../go; do sleep 0.01; done' }
",
    );
    let run = stage.start(&["run", "flow.yaml", "--keep-files"]);
    wait_until("the command is at work", || stage.path("at").exists());
    let id = stage.run_id();
    signal(stage.supervisor("hang.1.1").unwrap(), Signal::KILL);
    run.done();
    stage.write("work/mine.txt", "mine\n");
    assert_eq!(stage.read("work/made.txt"), "one\nhalf\n");
    stage.write("go", "");
    stage.expect(0, &["resume", &id, "--in-doubt", "rerun", "--files", "then"]);
    assert_eq!(stage.read("work/made.txt"), "one\nhalf\n", "not half twice");
    assert!(!stage.path("work/mine.txt").exists());
    assert!(stage.expect(0, &["why", &id]).out.contains("in doubt and runs again"));
    stage.expect(0, &["restore", &id, "--undo"]);
    assert_eq!(stage.read("work/made.txt") + &stage.read("work/mine.txt"), "one\nhalf\nmine\n");
}

#[test]
fn doctor_says_which_contents_of_snapshots_are_damaged_or_missing() {
    let stage = stage(
        "flow: files\nworkspace: work\nsteps: [{ id: make, run: 'for i in $(seq 100); do echo $i > f$i; done' }, { id: one, run: 'echo single > one' }]\n",
    );
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    stage.expect(0, &["doctor"]);
    let file = |content: &str| {
        let hex = envoi_contract::digest::Digest::of(content.as_bytes()).hex();
        stage.path(&format!(".envoi/artifacts/sha256/{}/{}", &hex[..2], &hex[2..]))
    };
    let single = file("single\n");
    fs::remove_file(&single).unwrap();
    let done = stage.expect(8, &["doctor"]);
    assert!(
        done.out.contains("snapshot that is damaged")
            && done.out.contains("`one`")
            && done.out.contains("is not in the store"),
        "{done:?}"
    );
    fs::write(&single, "other\n").unwrap();
    assert!(stage.expect(8, &["doctor"]).out.contains("is damaged"), "the digest is compared");
    fs::write(&single, "single\n").unwrap();
    stage.expect(0, &["doctor"]);
    let pack = fs::read_dir(stage.path(".envoi/artifacts/packs")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&pack).unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&pack, &whole[..whole.len() - 1]).unwrap();
    let done = stage.expect(8, &["doctor"]);
    assert!(
        done.out.contains("what it held counts as missing")
            && done.out.contains("50 more") | done.out.contains("more;"),
        "{done:?}"
    );
    fs::write(&pack, whole).unwrap();
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_list_that_is_cut_says_so() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: a, run: 'for name in b a c; do echo $name > $name.txt; done', artifacts: ['*.txt'] }\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let some = stage.expect(0, &["artifacts", "list", "--limit", "2"]);
    let paths: Vec<&str> = some.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(paths, ["a.txt", "b.txt"]);
    assert!(some.err.contains("1 later paths are left out; --limit N shows more"), "{some:?}");
    assert_eq!(rows(&stage.expect(0, &["--json", "artifacts", "list"]).out).len(), 3);
    for name in ["one", "two", "three"] {
        stage.expect(0, &["token", "create", name]);
    }
    let some = stage.expect(0, &["token", "list", "--limit", "1"]);
    assert_eq!(some.out.lines().count(), 2, "a header and a token: {some:?}");
    assert!(some.out.contains(" one ") && some.err.contains("2 later tokens are left out"), "{some:?}");
    assert_eq!(rows(&stage.expect(0, &["--json", "token", "list", "--limit", "2"]).out).len(), 2);
}
