//! `envoi gc`: the deleted runs, the contents that no rule deletes, and that nothing is lost when it is killed or works beside an engine.

use crate::{
    full::{can_mount, script_of},
    isolated::{git, in_git},
    serve::client::Served,
    stage::{Process, Stage, state, text, wait_until},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path, process::Stdio};

/// Each run has an artifact of its own, of more than fits into the database, and a common one.
const TWO_FILES: &str = "flow: two\nsteps:\n  - id: make\n    artifacts: [own.txt, same.txt]\n    run: |\n      \
                         (echo $ENVOI_RUN_ID; seq 9000) > own.txt; seq 9001 > same.txt; seq 40 > small.txt\n  \
                         - { id: last, run: 'seq 9002' }\n";

fn gc(stage: &Stage, arguments: &[&str]) -> Value {
    stage.json(&[&["--json", "gc"][..], arguments].concat())
}

/// After a dry run with the same result.
fn gc_as_planned(stage: &Stage, arguments: &[&str]) -> Value {
    let planned = gc(stage, &[arguments, &["--dry-run"]].concat());
    let done = gc(stage, arguments);
    let trees = |found: &Value| {
        let row = |tree: &Value| json!([tree["run"], tree["removed"], tree["stays"]]);
        found["trees"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(done["runs"], planned["runs"], "{planned:#}");
    assert_eq!(done["contents"], planned["contents"], "{planned:#} {done:#}");
    assert_eq!(trees(&done), trees(&planned));
    done
}

fn ids(stage: &Stage) -> Vec<String> {
    stage.runs().iter().map(|run| text(&run["run"])).collect()
}

/// The runs that are deleted, or would be, each with the reason if it stays.
fn deleted(found: &Value) -> Vec<(String, String)> {
    let runs = found["runs"].as_array().unwrap().iter().filter(|run| run["stage"] == "delete");
    runs.map(|run| (text(&run["run"]), run["stays"].as_str().unwrap_or_default().to_owned())).collect()
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| {
        let count = |path: &Path| if path.is_dir() { files(path) } else { 1 };
        entries.map(|entry| count(&entry.unwrap().path())).sum()
    })
}

/// All artifacts of a run can be read, and the store is well.
fn is_whole(stage: &Stage, run: &str) {
    stage.expect(0, &["artifacts", "cat", run, "same.txt"]);
    let own = stage.expect(0, &["artifacts", "cat", run, "own.txt"]).out;
    assert!(own.starts_with(run), "{own}");
    assert!(stage.expect(0, &["logs", run]).out.contains("9002"));
    stage.expect(0, &["doctor"]);
}

#[test]
fn runs_go_by_a_rule_and_what_others_name_stays() {
    let stage = Stage::with_flow(TWO_FILES);
    for _ in 0..3 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let ids: Vec<_> = stage.runs().iter().map(|run| text(&run["run"])).collect();
    let contents = stage.path(".envoi/artifacts/sha256");
    assert_eq!(files(&contents), 5);
    // Without a rule no run goes.
    assert!(deleted(&gc(&stage, &[])).is_empty());
    assert_eq!(stage.runs().len(), 3);
    let arguments = ["--keep-last", "1", "--trash", "0s"];
    gc(&stage, &[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(stage.runs().len(), 3);
    let done = gc_as_planned(&stage, &arguments);
    let gone: Vec<_> = ids[1..].iter().rev().map(|id| (id.clone(), String::new())).collect();
    assert_eq!(deleted(&done), gone);
    let bytes = done["runs"][0]["size_bytes"].as_u64().unwrap();
    assert!(bytes > 1_000, "{done:#}");
    assert_eq!((stage.runs().len(), files(&contents)), (1, 4));
    assert!(!stage.path(&format!(".envoi/runs/{}", ids[1])).exists());
    assert_eq!(files(&stage.path(".envoi/trash")), 0);
    is_whole(&stage, &ids[0]);
    let refused = stage.expect(2, &["show", &ids[1]]);
    assert!(refused.err.contains("RUN_NOT_FOUND") && refused.err.contains("deleted"), "{refused:?}");
    // The other run is still found, and the numbers of events go on.
    stage.expect(0, &["run", "flow.yaml"]);
    is_whole(&stage, &text(&stage.runs()[0]["run"]));
    stage.expect(0, &["repair"]);
}

#[test]
fn what_waits_is_deleted_by_no_rule() {
    let stage =
        Stage::with_flow("flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n");
    stage.write("work/a.txt", "a\n");
    stage.write("ask.yaml", "flow: q\nsteps:\n  - { id: q, ask: Go on? }\n");
    stage.expect(3, &["run", "ask.yaml"]);
    let asks = stage.run_id();
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let isolated = text(&stage.runs()[0]["run"]);
    stage.expect(0, &["run", "flow.yaml", "--copy"]);
    let copied = text(&stage.runs()[0]["run"]);
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    stage.expect(0, &["run", "other.yaml"]);
    let newest = text(&stage.runs()[0]["run"]);
    let rule = ["--older", "0s", "--trash", "0s"];
    let kept = |found: &Value, expected: &[(&str, &str)]| {
        let expected: Vec<_> =
            expected.iter().map(|(id, why)| ((*id).to_owned(), (*why).to_owned())).collect();
        assert_eq!(deleted(found), expected);
    };
    let result = "its result was neither applied nor dropped";
    let folder = "the copy that it worked in is there";
    let found = gc_as_planned(&stage, &rule);
    // The tree of the run goes, because a snapshot has all of it; its result is in the store alone then.
    kept(
        &found,
        &[
            (&asks, "it is not over"),
            (&isolated, result),
            (&copied, folder),
            (&newest, "it has the newest event of the store"),
        ],
    );
    assert_eq!(stage.runs().len(), 4);
    stage.expect(0, &["apply", &isolated]);
    assert_eq!(stage.read("work/made.txt"), "made\n");
    // It has the newest event now.
    let found = gc_as_planned(&stage, &rule);
    kept(
        &found,
        &[
            (&asks, "it is not over"),
            (&isolated, "it has the newest event of the store"),
            (&copied, folder),
            (&newest, ""),
        ],
    );
    let found = gc_as_planned(&stage, &[&rule[..], &["--drop", &copied]].concat());
    kept(
        &found,
        &[(&asks, "it is not over"), (&isolated, "it has the newest event of the store"), (&copied, "")],
    );
    stage.expect(0, &["approve", &asks]);
    kept(&gc_as_planned(&stage, &rule), &[(&asks, "it has the newest event of the store"), (&isolated, "")]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn a_collection_for_a_tenant_deletes_no_run_of_another_one() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'true' }\n");
    for _ in 0..2 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let all = ids(&stage);
    let gone = |tenant: &str| deleted(&gc_as_planned(&stage, &["--older", "0s", "--tenant", tenant]));
    assert_eq!(gone("acme"), []);
    assert_eq!(ids(&stage), all);
    let newest = (all[0].clone(), "it has the newest event of the store".to_owned());
    assert_eq!(gone("local"), [(all[1].clone(), String::new()), newest]);
    assert_eq!(ids(&stage), all[..1]);
}

#[test]
fn a_family_goes_together_or_not_at_all() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'true' }\n  - { id: q, ask: Well? }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let root = stage.run_id();
    stage.expect(0, &["approve", &root]);
    stage.expect(3, &["fork", &root, "--from", "q"]);
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    stage.expect(0, &["run", "other.yaml"]);
    let fork = text(&stage.runs()[1]["run"]);
    let why = format!("run `{fork}`: it is not over");
    let rule = ["--keep-last", "0"];
    let found = deleted(&gc(&stage, &rule));
    assert_eq!(found[..2], [(root.clone(), why.clone()), (fork.clone(), why)]);
    stage.expect(0, &["approve", &fork]);
    stage.expect(0, &["run", "other.yaml"]);
    let found = deleted(&gc_as_planned(&stage, &rule));
    assert_eq!(found[..2], [(root, String::new()), (fork, String::new())]);
}

#[test]
fn a_collection_that_was_killed_is_ended_by_the_next_one() {
    for point in ["run-deleted", "run-folder-renamed", "contents-swept"] {
        let stage = Stage::with_flow(TWO_FILES);
        for _ in 0..3 {
            stage.expect(0, &["run", "flow.yaml"]);
        }
        let ids: Vec<_> = stage.runs().iter().map(|run| text(&run["run"])).collect();
        let arguments = ["gc", "--keep-last", "1", "--trash", "0s"];
        let mut command = stage.command(&arguments);
        let killed = Process::spawn(command.env("ENVOI_FAILPOINT", format!("{point}:stop")));
        wait_until("the collection", || state(killed.pid()) == Some('T'));
        killed.signal(Signal::KILL);
        killed.done();
        is_whole(&stage, &ids[0]);
        gc(&stage, &arguments[1..]);
        gc(&stage, &arguments[1..]);
        assert_eq!(stage.runs_made(), [ids[0].clone()], "{point}");
        let left = [files(&stage.path(".envoi/trash")), files(&stage.path(".envoi/artifacts"))];
        // The one that is left names what it has found, too.
        assert_eq!(left, [0, 4], "{point}");
        is_whole(&stage, &ids[0]);
    }
}

#[test]
fn copies_that_attempts_have_left_go_and_artifacts_stay() {
    let stage = Stage::with_flow(TWO_FILES);
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let copies = stage.path(&format!(".envoi/runs/{run}/attempts/make.1.1/files"));
    assert_eq!(files(&copies), 2);
    let found = gc(&stage, &[]);
    assert_eq!((&found["runs"][0]["stage"], &found["runs"][0]["files"]), (&"trim".into(), &2.into()));
    assert!(!copies.exists());
    is_whole(&stage, &run);
    assert!(gc(&stage, &[])["runs"].as_array().unwrap().is_empty());
    stage.expect(0, &["fork", &run, "--from", "last"]);
    stage.expect(
        0,
        &["verify", &{
            stage.expect(0, &["export", &run, "-o", "b"]);
            "b".to_owned()
        }],
    );
}

#[test]
fn what_a_killed_supervisor_has_left_empty_goes_where_the_end_is_known() {
    let stage = Stage::with_flow(TWO_FILES);
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    gc(&stage, &[]);
    let at = |name: &str| format!(".envoi/runs/{run}/attempts/{name}");
    for name in ["make.1.1/lock", "make.1.1/stdout", "make.1.1/stderr", "last.1.1/lock", "last.1.1/stderr"] {
        stage.write(&at(name), "");
    }
    // As long as a process holds the lock, its attempt is left alone.
    let held = fs::File::open(stage.path(&at("last.1.1/lock"))).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let trimmed = |found: &Value| {
        found["runs"].as_array().unwrap().iter().map(|row| row["files"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(trimmed(&gc_as_planned(&stage, &[])), [3]);
    let there = |name: &str| stage.path(&at(name)).exists();
    assert!(
        !there("make.1.1/lock")
            && !there("make.1.1/stdout")
            && there("last.1.1/lock")
            && there("last.1.1/stderr")
    );
    drop(held);
    // Without `exit.json` the end of the attempt is not known.
    fs::rename(stage.path(&at("last.1.1/exit.json")), stage.path("exit.json")).unwrap();
    assert!(trimmed(&gc_as_planned(&stage, &[])).is_empty());
    fs::rename(stage.path("exit.json"), stage.path(&at("last.1.1/exit.json"))).unwrap();
    assert_eq!(trimmed(&gc_as_planned(&stage, &[])), [2]);
    assert!(there("last.1.1/stdout"), "it has something");
    is_whole(&stage, &run);
}

#[test]
fn what_was_deleted_was_archived_before() {
    let stage = Stage::with_flow(TWO_FILES);
    stage.write(".envoi/config.yaml", "retention: { keep_last: 1, archive: ../old }\n");
    for _ in 0..2 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let ids: Vec<_> = stage.runs().iter().map(|run| text(&run["run"])).collect();
    let bundle = format!("old/{}.envoi.tar.zst", ids[1]);
    // Something else has its name: the run stays, and the exit code shows it.
    stage.write(&bundle, "no bundle");
    let not_archived = || {
        for arguments in [&["--json", "gc", "--dry-run"][..], &["--json", "gc"]] {
            let found: Value = serde_json::from_str(&stage.expect(8, arguments).out).unwrap();
            assert_eq!(deleted(&found), [(ids[1].clone(), "it is not archived".to_owned())]);
        }
    };
    not_archived();
    assert_eq!(stage.read(&bundle), "no bundle");
    fs::remove_file(stage.path(&bundle)).unwrap();
    // Reading a pipe blocks until something is written to it.
    let pipe = stage.path(&bundle);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    not_archived();
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file(), "it is left as it is");
    fs::remove_file(&pipe).unwrap();
    let found = gc_as_planned(&stage, &[]);
    assert_eq!(deleted(&found), [(ids[1].clone(), String::new())]);
    let verified = stage.json(&["--json", "verify", &bundle]);
    assert_eq!((&verified["ok"], &verified["run"]), (&true.into(), &ids[1].as_str().into()));
    assert_eq!(stage.runs_made(), [ids[0].clone()]);
}

#[test]
fn an_engine_at_work_deletes_what_a_command_asks_for() {
    let stage = Stage::with_flow(TWO_FILES);
    for _ in 0..2 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let ids: Vec<_> = stage.runs().iter().map(|run| text(&run["run"])).collect();
    stage.write(
        "slow.yaml",
        "flow: slow\nsteps:\n  - { id: a, run: 'until test -e go; do sleep 0.01; done' }\n",
    );
    let engine = stage.start(&["run", "slow.yaml"]);
    wait_until("the step", || stage.attempt("a.1.1").is_some_and(|dir| dir.join("started.json").exists()));
    let found = gc(&stage, &["--keep-last", "0", "--trash", "0s"]);
    let of = |id: &str| deleted(&found).into_iter().find(|(run, _)| run == id).map(|(_, why)| why);
    assert_eq!((of(&ids[0]), of(&ids[1])), (Some(String::new()), Some(String::new())), "{found:#}");
    // Its attempt could have seen these contents before they were laid aside.
    assert_eq!(
        (files(&stage.path(".envoi/artifacts/sha256")), &found["contents"]["removed"]["count"]),
        (0, &0.into())
    );
    assert_ne!(found["contents"]["aside"]["count"], 0);
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    let found = gc(&stage, &["--trash", "0s"]);
    assert_ne!(found["contents"]["removed"]["count"], 0);
    assert_eq!(files(&stage.path(".envoi/artifacts")), 0);
    stage.expect(0, &["doctor"]);
}

/// Runs that put the same contents again and again, while those of the run before are removed.
#[test]
fn every_content_that_is_named_can_be_read_while_a_collection_goes_on_in_a_loop() {
    let rounds = if std::env::var_os("ENVOI_HEAVY").is_some() { 150 } else { 4 };
    let stage = Stage::with_flow(
        "flow: loop\nworkspace: work\nsteps:\n  - id: make\n    artifacts: ['*.txt']\n    run: |\n      \
         seq 9001 > same.txt; seq 40 > small.txt; rm -f many-*; for n in $(seq 70); do seq $n 700 > many-$n; done\n  \
         - { id: last, run: 'echo $ENVOI_VISIT > other.txt' }\n",
    );
    stage.write("work/a", "a");
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    // The engine of all; it has attempts only while a run works.
    let server = Served::start(&stage);
    let arguments = ["--older", "0s", "--trash", "0s"];
    let mut removed = 0;
    for round in 0..rounds {
        let mut one = stage.start(&["run", "flow.yaml", "--keep-files"]);
        while !one.is_over() {
            removed += gc(&stage, &arguments)["contents"]["removed"]["count"].as_u64().unwrap();
        }
        let done = one.done();
        assert_eq!(done.code, Some(0), "{done:?}");
        gc(&stage, &arguments);
        // The others are gone; this one has the newest event.
        let newest = stage.run_id();
        stage.expect(0, &["artifacts", "cat", &newest, "same.txt"]);
        let all = stage.path(&format!("all-{round}"));
        stage.expect(0, &["restore", &newest, "--at", "end", "--into", all.to_str().unwrap()]);
        assert_eq!(files(&all), 74, "a, same, small, other and the many");
        stage.expect(0, &["doctor"]);
        stage.expect(0, &["run", "other.yaml"]);
    }
    // The contents of each were removed before, or while the next one put them again.
    assert!(removed > 0);
    drop(server);
    gc(&stage, &arguments);
    stage.expect(0, &["doctor"]);
    stage.expect(0, &["repair"]);
}

#[test]
fn holes_of_a_file_make_no_room_and_delete_no_run() {
    let stage = Stage::with_flow("flow: one\nsteps: [{ id: a, run: 'true' }]\n");
    stage.expect(0, &["run", "flow.yaml"]);
    stage.write("big.yaml", "flow: big\nsteps: [{ id: a, run: 'truncate -s 6G $ENVOI_RUN_BASE/image' }]\n");
    stage.expect(0, &["run", "big.yaml"]);
    stage.expect(0, &["run", "flow.yaml"]);
    assert!(deleted(&gc(&stage, &["--max-size", "1GiB"])).is_empty());
    assert_eq!(stage.runs().len(), 3);
    let said = stage.expect(0, &["doctor"]).out;
    // It warns of the room on the disk, if the machine has little.
    let size = said.lines().find(|line| line.contains(" size ")).unwrap();
    assert!(size.contains("the store has ") && !size.contains("5 GiB or more"), "{said}");
}

#[test]
fn a_bound_on_the_store_takes_no_more_runs_than_it_must() {
    // 1 MiB of its own each, and 2 MiB that all have, which goes with none of them. Zeros would take no room.
    let stage = Stage::with_flow(
        "flow: big\nsteps:\n  - id: make\n    artifacts: [own, same]\n    run: |\n      \
         (echo $ENVOI_RUN_ID; head -c 1048576 /dev/zero | tr '\\0' x) > own\n      \
         head -c 2097152 /dev/zero | tr '\\0' x > same\n",
    );
    for _ in 0..4 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    stage.expect(0, &["run", "other.yaml"]);
    let before = ids(&stage);
    // Copies in the folders of attempts go without a rule, and count for nothing: 6 MiB of contents are there, and the database.
    let going = |most: &str| deleted(&gc(&stage, &["--max-size", most, "--dry-run"]));
    // Each run has its artifacts in its folder, too: 12 MiB.
    assert!(going("24MiB").is_empty());
    assert_eq!(going("16MiB"), [(before[4].clone(), String::new())]);
    assert_eq!(going("11MiB").len(), 2);
    let found = gc_as_planned(&stage, &["--max-size", "11MiB", "--trash", "0s"]);
    assert_eq!(deleted(&found), [(before[4].clone(), String::new()), (before[3].clone(), String::new())]);
    // The store is as small as was asked for, and nothing more goes.
    assert!(deleted(&gc(&stage, &["--max-size", "11MiB", "--trash", "0s"])).is_empty());
    assert_eq!(ids(&stage), before[..3]);
    stage.expect(0, &["doctor"]);
}

#[test]
fn what_another_run_has_taken_over_stays() {
    let stage = Stage::with_flow(
        "flow: part\nsteps:\n  - id: build\n    artifacts: [big.txt]\n    run: 'seq 9000 > big.txt; seq 9001'\n  \
         - { id: publish, run: 'true', env: { TEXT: '${{ steps.build.summary }}' } }\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let earlier = stage.run_id();
    stage.expect(0, &["run", "flow.yaml", "--only", "publish", "--with", &earlier]);
    let taken = text(&stage.runs()[0]["run"]);
    gc_as_planned(&stage, &["--keep-last", "1", "--trash", "0s"]);
    assert_eq!(ids(&stage), [taken.as_str()]);
    stage.expect(0, &["run", "flow.yaml", "--only", "publish", "--with", &taken]);
    assert_eq!(files(&stage.path(".envoi/artifacts/sha256")), 2, "the artifact and the output");
    stage.expect(0, &["doctor"]);
    stage.expect(0, &["repair"]);
}

#[test]
fn a_result_lets_its_run_go_as_long_as_a_branch_has_all_of_it() {
    let flow = |more: &str| {
        format!("flow: f\nworkspace: work\nsteps:\n  - {{ id: make, run: 'echo more >> a.txt{more}' }}\n")
    };
    let stage = crate::files::stage(&flow(""));
    in_git(&stage);
    git(&stage, &["commit", "-qam", "second"]);
    git(&stage, &["config", "user.name", "N"]);
    git(&stage, &["config", "user.email", "n@example.org"]);
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: 'true' }\n");
    stage.write("private.yaml", flow("; echo key > key; chmod 600 key"));
    let begin = |flow: &str| {
        stage.expect(0, &["run", flow, "--isolate"]);
        text(&stage.runs()[0]["run"])
    };
    let (run, private) = (begin("flow.yaml"), begin("private.yaml"));
    stage.expect(0, &["run", "other.yaml"]);
    // The trees go: the results are in the store alone then.
    gc(&stage, &[]);
    let stays = |id: &str| {
        let found = deleted(&gc(&stage, &["--older", "0s", "--dry-run"]));
        found.into_iter().find(|(other, _)| other == id).unwrap().1
    };
    let nowhere = "its result was neither applied nor dropped";
    assert_eq!([stays(&run), stays(&private)], [nowhere; 2]);
    stage.expect(0, &["apply", &run, "--patch", "made.patch"]);
    assert_eq!(stays(&run), nowhere, "a printed patch is no proof that the result is kept");
    for id in [&run, &private] {
        stage.expect(0, &["apply", id, "--branch", &format!("of-{id}")]);
    }
    assert_eq!(
        [stays(&run).as_str(), &stays(&private)],
        ["", nowhere],
        "git does not carry the mode of the key"
    );
    git(&stage, &["branch", "-qD", &format!("of-{run}")]);
    assert_eq!(stays(&run), nowhere, "the commit is on no branch");
    stage.expect(0, &["apply", &run, "--branch", "again"]);
    // Below another commit, under another name.
    git(&stage, &["checkout", "-qf", "-b", "merged", "again"]);
    git(&stage, &["branch", "-qD", "again"]);
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "on top"]);
    let found = deleted(&gc_as_planned(&stage, &["--older", "0s"]));
    assert!(found.contains(&(run.clone(), String::new())), "{found:?}");
    assert!(!ids(&stage).contains(&run) && ids(&stage).contains(&private));
    stage.expect(0, &["doctor"]);
}

/// A request that comes again after its run was deleted starts nothing.
#[test]
fn a_request_whose_run_was_deleted_starts_no_other() {
    let stage = Stage::new();
    let server = Served::start(&stage);
    let client = server.client(server.first.as_deref().unwrap());
    let flow = "flow: once\nsteps:\n  - { id: a, run: 'echo once >> ledger' }\n";
    let digest = client.post("/v1/flows", flow).json()["digest"].clone();
    let body = json!({"flow": digest, "workspace": "shared"}).to_string();
    let ask = || client.call("POST", "/v1/runs", &[("idempotency-key", "k")], body.as_bytes());
    let run = text(&ask().json()["run"]);
    client.wait_until_run_is(&run, "succeeded");
    assert_eq!((ask().status, text(&ask().json()["run"])), (200, run.clone()));
    client.wait_until_run_is(&client.run("flow: other\nsteps:\n  - { id: a, run: 'true' }\n"), "succeeded");
    assert_eq!(deleted(&gc(&stage, &["--older", "0s"]))[0], (run.clone(), String::new()));
    let again = ask();
    assert_eq!((again.status, again.text().contains("was deleted")), (404, true), "{}", again.text());
    assert_eq!((stage.lines("ledger").len(), stage.runs().len()), (1, 1));
    stage.expect(0, &["doctor"]);
}

#[test]
fn nothing_is_removed_through_a_link() {
    let stage = Stage::with_flow(TWO_FILES);
    for _ in 0..2 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let ids = ids(&stage);
    // A step could leave them so: the target of a link has the names, and even the contents, of files that would go.
    let attempts = |id: &str| stage.path(&format!(".envoi/runs/{id}/attempts"));
    let (moved, trash, old) = (stage.path("moved"), stage.path("trash"), stage.path("old"));
    fs::rename(attempts(&ids[0]), &moved).unwrap();
    symlink(&moved, attempts(&ids[0])).unwrap();
    fs::create_dir_all(trash.join(&ids[1])).unwrap();
    fs::write(trash.join(&ids[1]).join("a"), "a").unwrap();
    symlink(&trash, stage.path(".envoi/trash")).unwrap();
    let before = files(&moved);
    let refused = stage.expect(8, &["gc", "--keep-last", "1", "--trash", "0s"]);
    assert!(refused.err.contains("it is no folder of the store"), "{refused:?}");
    assert_eq!((files(&moved), files(&trash)), (before, 1));
    fs::remove_file(stage.path(".envoi/trash")).unwrap();
    // The same with the folders of contents.
    fs::create_dir_all(old.join("sha256")).unwrap();
    fs::write(old.join("sha256").join("0".repeat(64)), "kept").unwrap();
    symlink(&old, stage.path(".envoi/artifacts/old")).unwrap();
    stage.expect(8, &["gc", "--trash", "0s"]);
    assert_eq!(files(&old), 1);
    fs::remove_file(stage.path(".envoi/artifacts/old")).unwrap();
    gc(&stage, &["--keep-last", "1", "--trash", "0s"]);
    assert_eq!((files(&moved), stage.runs().len()), (before, 1));
    let contents = stage.path(".envoi/artifacts/sha256");
    fs::rename(&contents, stage.path("contents")).unwrap();
    symlink(stage.path("contents"), &contents).unwrap();
    let before = files(&stage.path("contents"));
    stage.envoi(&["gc", "--trash", "0s"]);
    assert_eq!(files(&stage.path("contents")), before);
}

#[test]
fn a_run_with_snapshots_is_archived_with_them_and_one_whose_contents_cannot_be_read_stays() {
    let stage = Stage::with_flow(
        "flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'echo $ENVOI_RUN_ID > made' }\n",
    );
    stage.write("work/a", "a");
    stage.write(".envoi/config.yaml", "retention: { keep_last: 0, archive: ../old }\n");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    stage.expect(0, &["run", "flow.yaml"]);
    stage.expect(0, &["run", "flow.yaml"]);
    let ids = ids(&stage);
    let newest = (ids[0].clone(), "it has the newest event of the store".to_owned());
    // Contents that cannot be read are not lost.
    stage.write(".envoi/artifacts/packs/broken.tar", "no pack");
    let done = stage.expect(8, &["gc"]);
    assert!(done.err.contains("is not archived") || done.err.contains("not a whole pack"), "{done:?}");
    assert!(!stage.path(&format!("old/{}.envoi.tar.zst", ids[2])).exists());
    fs::remove_file(stage.path(".envoi/artifacts/packs/broken.tar")).unwrap();
    stage.expect(0, &["diff", &ids[2]]);
    let found = gc_as_planned(&stage, &[]);
    assert_eq!(deleted(&found), [(ids[2].clone(), String::new()), (ids[1].clone(), String::new()), newest]);
    let bundle = format!("old/{}.envoi.tar.zst", ids[2]);
    assert!(stage.expect(0, &["verify", &bundle]).out.contains("2 snapshots of the workspace"));
}

/// A tree that a person has edited is not removed by a rule, however old its run is, and neither is the run.
#[test]
fn an_edited_tree_keeps_its_run() {
    let stage =
        Stage::with_flow("flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n");
    stage.write("work/a", "a");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let isolated = stage.run_id();
    stage.expect(0, &["apply", &isolated]);
    let tree = text(&gc(&stage, &["--dry-run"])["trees"][0]["place"]);
    fs::write(Path::new(&tree).join("made.txt"), "by a person").unwrap();
    stage.expect(0, &["run", "flow.yaml"]);
    let rule = ["--older", "0s", "--trash", "0s"];
    let of = |found: &Value| deleted(found).into_iter().find(|(run, _)| *run == isolated).map(|(_, why)| why);
    let found = gc_as_planned(&stage, &rule);
    assert_eq!(of(&found).as_deref(), Some("the tree that it worked in is there"));
    assert_eq!(fs::read_to_string(Path::new(&tree).join("made.txt")).unwrap(), "by a person");
    let found = gc_as_planned(&stage, &[&rule[..], &["--drop", &isolated]].concat());
    assert_eq!((of(&found).as_deref(), Path::new(&tree).exists()), (Some(""), false));
    stage.expect(0, &["doctor"]);
}

#[test]
fn on_a_full_disk_nothing_is_lost_and_it_goes_on_when_there_is_room() {
    let stage = Stage::new();
    fs::create_dir(stage.path("small")).unwrap();
    stage.write("flow.yaml", TWO_FILES);
    let mount = "mount -t tmpfs -o size=6m small small";
    let is_mounted = can_mount(&stage, mount);
    let (mount, limit) = match is_mounted {
        true => (mount, "cat /dev/zero > filler 2>/dev/null; truncate -s -${left}K filler"),
        // No file may grow beyond that.
        false => ("true", "trap '' XFSZ; ulimit -S -f $left"),
    };
    let rule = "gc --keep-last 1 --trash 0s";
    let script = format!(
        "{mount}; cd small; cp ../flow.yaml .; for n in 1 2 3; do \"$0\" run flow.yaml || exit 1; done; \
         for left in 0 64 128 192 256 384 512; do \
           ({limit}; \"$0\" {rule} > ../first.$left 2>&1 || echo failed >> ../first.$left); rm -f filler; \
           \"$0\" doctor > ../doctor || exit 2; \
         done; \"$0\" {rule} || exit 3; \"$0\" {rule} || exit 4; \
         \"$0\" --json runs > ../after; find .envoi/artifacts -type f | wc -l > ../contents; \
         \"$0\" artifacts cat $(grep -o 'run_[0-9a-z]*' ../after | head -n 1) same.txt > ../same || exit 5; \"$0\" doctor > ../doctor || exit 6"
    );
    let done = script_of(&stage, &script, is_mounted).stdout(Stdio::null()).status().unwrap();
    let said = [0, 64, 128, 192, 256, 384, 512].map(|left| stage.read(&format!("first.{left}")));
    assert!(done.success(), "{done}: {said:?}");
    let after: Value = serde_json::from_str(&stage.read("after")).unwrap();
    assert_eq!(after.as_array().unwrap().len(), 1, "{said:?}");
    assert_eq!(stage.read("contents").trim(), "4");
    // It reports the reason when it cannot.
    let failed = said.iter().filter(|said| said.ends_with("failed\n"));
    assert!(failed.clone().count() > 0, "{said:?}");
    let causes = ["disk full", "disk I/O error", "No space left", "File too large"];
    assert!(failed.clone().all(|said| causes.iter().any(|cause| said.contains(cause))), "{said:?}");
}

/// On a small file system of its own.
#[test]
fn without_room_doctor_warns_and_the_database_is_not_compacted() {
    let stage = Stage::new();
    fs::create_dir(stage.path("small")).unwrap();
    stage.write("flow.yaml", "flow: f\nsteps:\n  - { id: a, run: 'seq 3000' }\n");
    let mount = "mount -t tmpfs -o size=16m small small";
    if !can_mount(&stage, mount) {
        return;
    }
    let script = format!(
        "{mount}; cd small; cp ../flow.yaml .; for n in 1 2 3; do \"$0\" run flow.yaml || exit 1; done; \
         \"$0\" doctor > ../before || exit 2; cat /dev/zero > filler 2>/dev/null; truncate -s -400K filler; \
         \"$0\" doctor > ../doctor; \"$0\" gc --compact > ../compact 2>&1; echo $? > ../code; rm filler; \
         \"$0\" gc --compact || exit 3; \"$0\" doctor > ../after || exit 4"
    );
    let done = script_of(&stage, &script, true).stdout(Stdio::null()).status().unwrap();
    assert!(done.success(), "{done}: {}", stage.read("compact"));
    let size = |name: &str| stage.lines(name).into_iter().find(|line| line.contains(" size ")).unwrap();
    let said = size("doctor");
    assert!(said.starts_with('-') && said.contains("little room") && said.contains("gc --dry-run"), "{said}");
    assert!(size("before").starts_with("ok") && size("after").starts_with("ok"), "{}", size("before"));
    assert_eq!(stage.read("code").trim(), "8");
    assert!(stage.read("compact").contains("bytes are needed to compact it"), "{}", stage.read("compact"));
}

#[test]
fn a_database_that_is_compacted_is_smaller_and_whole() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: a, run: 'seq 3000; seq 900 > small' , artifacts: [small] }\n",
    );
    for _ in 0..12 {
        stage.expect(0, &["run", "flow.yaml"]);
    }
    let before = fs::metadata(stage.path(".envoi/envoi.db")).unwrap().len();
    let found = gc(&stage, &["--keep-last", "1", "--compact"]);
    let after = found["compacted"]["after_bytes"].as_u64().unwrap();
    assert!(after < before, "{found:#}");
    assert_eq!(stage.runs().len(), 1);
    stage.expect(0, &["doctor"]);
    let engine = {
        stage.write(
            "slow.yaml",
            "flow: slow\nsteps:\n  - { id: a, run: 'until test -e go; do sleep 0.01; done' }\n",
        );
        stage.start(&["run", "slow.yaml"])
    };
    wait_until("the step", || stage.attempt("a.1.1").is_some() && stage.runs().len() == 2);
    let refused = stage.expect(6, &["gc", "--compact"]);
    assert!(refused.err.contains("ENGINE_BUSY"), "{refused:?}");
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
}
