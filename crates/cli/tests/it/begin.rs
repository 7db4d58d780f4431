//! The first minutes: a flow file to start from, and the next command in a folder.

use crate::stage::{Process, Stage, text};
use serde_json::Value;
use std::fs;

/// The commands that `envoi` alone suggests.
fn advised(stage: &Stage) -> Vec<String> {
    let advice = stage.json(&["--json"]);
    advice.as_array().unwrap().iter().map(|next| text(&next["command"])).collect()
}

#[test]
fn each_template_is_without_a_mistake_and_runs_as_it_is_written() {
    let listed = Stage::new().json(&["--json", "init", "--list"]);
    let names: Vec<String> = listed.as_array().unwrap().iter().map(|row| text(&row["name"])).collect();
    assert_eq!(names, ["hello", "agent-loop", "review", "fan-out", "nightly", "release"]);
    for name in names {
        let stage = Stage::new();
        // A folder in which everything of a person lies is too wide for a snapshot, so the home is another one than the project.
        let home = tempfile::tempdir().unwrap();
        let expect = |code: i32, arguments: &[&str]| {
            let done = Process::spawn(stage.command(arguments).env("HOME", home.path())).done();
            assert_eq!(done.code, Some(code), "{name}: envoi {arguments:?}: {done:?}");
            done
        };
        expect(0, &["init", "--template", &name]);
        let schema = fs::read_to_string(stage.store().join("flow.schema.json")).unwrap();
        assert!(serde_json::from_str::<Value>(&schema).unwrap()["properties"]["steps"].is_object());
        assert_eq!(stage.lines("flow.yaml")[0], "# yaml-language-server: $schema=.envoi/flow.schema.json");
        let checked = expect(0, &["check", "flow.yaml"]);
        assert!(!checked.out.contains("warning") && !checked.err.contains("warning"), "{name}: {checked:?}");
        let asks = ["review", "release"].contains(&name.as_str());
        // No agent of this name is installed anywhere: a stand-in works.
        let inputs: &[&str] = if name == "agent-loop" { &["-i", "agent=no-such-agent"] } else { &[] };
        expect(if asks { 3 } else { 0 }, &[&["run", "flow.yaml"], inputs].concat());
        if asks {
            expect(0, &["approve"]);
        }
        if name == "agent-loop" {
            assert!(!stage.path("sea.txt").exists(), "it works in a tree of its own");
            expect(0, &["apply"]);
        }
        let made = match name.as_str() {
            "hello" => "files.txt",
            "agent-loop" => "sea.txt",
            "review" => "published.txt",
            "release" => "published/app-0.1.0.txt",
            _ => "report.txt",
        };
        assert!(!stage.read(made).is_empty(), "{name}: {made}");
        // An existing file is not changed.
        let before = stage.read("flow.yaml");
        assert!(expect(2, &["init", "--template", "hello"]).err.contains("FILE_EXISTS"));
        assert_eq!(stage.read("flow.yaml"), before);
    }
}

#[test]
fn the_nightly_template_prints_the_line_for_the_crontab() {
    let stage = Stage::new();
    let done = stage.expect(0, &["init", "--template", "nightly", "it's here"]);
    let line = done.out.lines().nth(1).unwrap();
    assert!(line.starts_with("0 3 * * * cd '") && line.contains(r"it'\''s here' && '"), "{line}");
    assert!(line.ends_with("/envoi' run flow.yaml >> nightly.log 2>&1"), "{line}");
    let command = line.split_once("* * * ").unwrap().1;
    let ran = std::process::Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(ran.success());
    assert!(stage.read("it's here/nightly.log").contains("succeeded"));
    assert_eq!(stage.lines("it's here/nightly.txt"), ["nightly: succeeded"]);
}

#[test]
fn envoi_alone_says_what_to_do_next_in_this_folder() {
    let stage = Stage::new();
    assert_eq!(advised(&stage), ["envoi init", "envoi init --list", "envoi --help"]);
    assert!(!stage.store().exists(), "it only looks");
    stage.write(
        "flow.yaml",
        "flow: asks\nsteps:\n  - { id: a, ask: Go on? }\n  - { id: b, run: \"false\" }\n",
    );
    stage.write("other.yaml", "name: no flow\n");
    assert_eq!(advised(&stage), ["envoi run flow.yaml", "envoi --help"]);
    stage.expect(3, &["run", "flow.yaml"]);
    let asked = advised(&stage);
    assert!(asked[0].starts_with("envoi show int_") && asked.len() == 3, "{asked:?}");
    assert!(stage.expect(0, &[]).out.contains("a question waits for an answer: Go on?"));
    stage.expect(1, &["approve"]);
    assert_eq!(advised(&stage)[0], format!("envoi show {}", stage.run_id()));
    // A newer failure is named beside a question that waits, a newer success is not.
    stage.write("failing.yaml", "flow: fails\nsteps:\n  - { id: a, run: \"false\" }\n");
    stage.write("good.yaml", "flow: good\nsteps:\n  - { id: a, run: \"true\" }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(1, &["run", "failing.yaml"]);
    let failed = text(&stage.runs()[0]["run"]);
    let advice = advised(&stage);
    assert!(
        advice[0].starts_with("envoi show int_") && advice[1] == format!("envoi show {failed}"),
        "{advice:?}"
    );
    stage.expect(0, &["run", "good.yaml"]);
    assert!(!advised(&stage)[1].starts_with("envoi show run_"), "{:?}", advised(&stage));
    // A store that cannot be read is reported. The log of the database may be there, and would be used for it.
    for log in ["envoi.db-wal", "envoi.db-shm"] {
        fs::remove_file(stage.store().join(log)).ok();
    }
    fs::write(stage.store().join("envoi.db"), "no database").unwrap();
    assert_eq!(advised(&stage)[0], "envoi doctor");
}

#[test]
fn a_flow_file_with_mistakes_is_to_be_checked_before_it_is_run() {
    let stage = Stage::with_flow("flow: good\nsteps:\n  - { id: a, run: make }\n");
    stage.write("bad.yaml", "flow: bad\nsteps:\n  - { id: a, rum: make }\n");
    let advice = advised(&stage);
    let has = |command: &str| advice.iter().any(|advised| advised.ends_with(command));
    assert!(has(" check bad.yaml") && has(" run flow.yaml") && !has(" run bad.yaml"), "{advice:?}");
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named_as_the_mistake_that_it_is() {
    let stage = Stage::new();
    stage.write("file", "theirs");
    for arguments in [["manual", "file"], ["init", "file"], ["manual", "file/below"], ["init", "file/below"]]
    {
        let refused = stage.expect(2, &arguments);
        assert!(
            refused.err.contains("FILE_EXISTS") && refused.err.contains("file is not a folder"),
            "{refused:?}"
        );
    }
    assert_eq!(stage.read("file"), "theirs");
}

#[test]
fn the_store_of_another_user_gets_nothing_from_init() {
    let stage = Stage::new();
    stage.write("flow.yaml", "flow: f\nsteps: [{ id: s, run: 'true' }]\n");
    stage.expect(0, &["run", "flow.yaml"]);
    fs::remove_file(stage.path("flow.yaml")).unwrap();
    // Only root can give a file away.
    if std::os::unix::fs::chown(stage.store().join("envoi.db"), Some(65534), None).is_err() {
        return;
    }
    let refused = stage.expect(8, &["init"]);
    assert!(refused.err.contains("belongs to user 65534"), "{refused:?}");
    assert!(!stage.path("flow.yaml").exists() && !stage.store().join("flow.schema.json").exists());
}
