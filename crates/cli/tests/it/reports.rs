//! The content of a report counts, through the real supervisor. `contract` tests which file is a report, for any exit;
//! here each kind of file is really left behind.

use crate::stage::{LONG, Process, Stage};
use serde_json::Value;
use std::{os::unix::process::CommandExt as _, process::Command};

/// The report that a command leaves, the code of the attempt that exits 0 with it, and the word for a bad report in its message.
type Left = (&'static str, &'static str, Option<&'static str>, Option<&'static str>);

const INVALID: Option<&str> = Some("SKILL_REPORT_INVALID");

const LEFT: [Left; 16] = [
    (
        "whole",
        r#"printf '{"ok":true,"generatedAt":"t","skillName":"s","data":1}' > "$ENVOI_REPORT""#,
        None,
        None,
    ),
    ("sparse", r#"printf '{"ok":true}' > "$ENVOI_REPORT""#, None, None),
    ("failed", r#"printf '{"ok":false,"data":2}' > "$ENVOI_REPORT""#, Some("SKILL_REPORTED_FAILURE"), None),
    // A skill that was not declared; a plain command may use any name.
    (
        "other",
        r#"printf '{"ok":true,"generatedAt":"t","skillName":"other","data":1}' > "$ENVOI_REPORT""#,
        None,
        None,
    ),
    (
        "nan",
        r#"printf '{"ok":false,"generatedAt":"t","skillName":"s","data":{"loss":NaN}}' > "$ENVOI_REPORT""#,
        INVALID,
        Some("expected "),
    ),
    (
        "mark",
        r#"printf '\357\273\277{"ok":true,"generatedAt":"t","skillName":"s"}' > "$ENVOI_REPORT""#,
        INVALID,
        Some("expected "),
    ),
    (
        "cut",
        r#"printf '{"ok":true,"generatedAt":"t","skillNa' > "$ENVOI_REPORT""#,
        INVALID,
        Some("expected "),
    ),
    ("empty", r#": > "$ENVOI_REPORT""#, INVALID, Some("expected ")),
    ("large", r#"truncate -s 17M "$ENVOI_REPORT""#, INVALID, Some("expected ")),
    ("folder", r#"mkdir "$ENVOI_REPORT""#, INVALID, Some("expected ")),
    ("pipe", r#"mkfifo "$ENVOI_REPORT""#, INVALID, Some("expected ")),
    (
        "socket",
        r#"cd "$(dirname "$ENVOI_REPORT")"; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("report.json")'"#,
        INVALID,
        Some("expected "),
    ),
    (
        "device",
        r#"mknod "$ENVOI_REPORT" c 1 5 2> /dev/null || ln -s /dev/zero "$ENVOI_REPORT""#,
        INVALID,
        Some("expected "),
    ),
    (
        "link",
        r#"printf '{"ok":true,"generatedAt":"t","skillName":"s"}' > whole.json; ln -s "$PWD/whole.json" "$ENVOI_REPORT""#,
        INVALID,
        Some("expected "),
    ),
    ("loop", r#"ln -s report.json "$ENVOI_REPORT""#, INVALID, Some("expected ")),
    ("nowhere", r#"ln -s /nowhere/at/all "$ENVOI_REPORT""#, INVALID, Some("expected ")),
];

/// Only a user without permission finds such a file unreadable: root reads it.
const UNREADABLE: Left = (
    "unreadable",
    r#"printf '{"ok":true,"generatedAt":"t","skillName":"s"}' > "$ENVOI_REPORT"; chmod 0000 "$ENVOI_REPORT""#,
    INVALID,
    Some("expected "),
);

/// How the command ends after that, the end of its step's id, and the code that this has by itself.
const ENDS: [(&str, &str, Option<&str>); 4] = [
    ("exit 0", "zero", None),
    ("exit 1", "one", Some("TOOL_EXIT_NON_ZERO")),
    ("kill -9 $$", "signal", Some("TOOL_EXIT_NON_ZERO")),
    ("exec tail -f /dev/null", "timeout", Some("TOOL_TIMEOUT")),
];

/// Runs each of `left` with each end, in steps that declare a skill and in plain ones, and looks at what each attempt came to.
fn assert_table(left: &[Left], user: Option<u32>) {
    ENDS.iter().for_each(|end| assert_rows(left, *end, user, "10s"));
}

/// How long a command may take where the machine is so busy that a shorter time is over before it has left anything.
const AMPLE: &str = "40s";

fn assert_rows(left: &[Left], how: (&str, &str, Option<&str>), user: Option<u32>, limit: &str) {
    let (end, name, earlier) = how;
    let stage = Stage::new();
    let marks = stage.path("").display().to_string();
    let mut flow = String::from("flow: reports\nsteps:\n");
    let mut expected: Vec<(String, &Left, Option<&str>)> = Vec::new();
    for row in left {
        let (what, leave, code, _) = row;
        for declared in [false, true] {
            let id = format!("{what}-{name}{}", if declared { "-skill" } else { "" });
            let skill = if declared { "    skill: s\n" } else { "" };
            let timeout = if name == "timeout" { format!("    timeout: {limit}\n") } else { String::new() };
            flow.push_str(&format!(
                    "  - id: {id}\n{skill}{timeout}    needs: []\n    continue_on_error: true\n    run: |\n      {leave}\n      : > \"{marks}/$ENVOI_ATTEMPT.left\"\n      {end}\n"
                ));
            let code = if declared && *what == "other" { INVALID } else { *code };
            expected.push((format!("{id}.1.1"), row, earlier.or(code)));
        }
    }
    stage.write("flow.yaml", flow);
    // Those that wait for their timeouts do so at the same time.
    let mut command = stage.command(&["run", "flow.yaml", "--jobs", "48"]);
    if let Some(user) = user {
        let given = Command::new("chown").args(["-R", &user.to_string()]).arg(stage.path("")).status();
        assert!(given.unwrap().success());
        command.uid(user).gid(user);
    }
    let done = Process::spawn(&mut command).done_after(LONG * 3);
    assert_eq!(done.code, Some(0), "{done:?}");
    let has_left = |attempt: &str| stage.path(&format!("{attempt}.left")).exists();
    if limit != AMPLE && !expected.iter().all(|(attempt, ..)| has_left(attempt)) {
        return assert_rows(left, how, user, AMPLE);
    }
    if user.is_some() && rustix::process::geteuid().is_root() {
        // A command that shows a store needs its owner as the user.
        let given = Command::new("chown").args(["-R", "0"]).arg(stage.path("")).status();
        assert!(given.unwrap().success());
    }
    let events = stage.events(&stage.run_id());
    let settled: Vec<&Value> = events.iter().filter(|event| event["type"] == "attempt_settled").collect();
    assert_eq!(settled.len(), expected.len());
    for (attempt, (what, _, _, bad), code) in expected {
        let event = settled.iter().find(|event| event["attempt"] == attempt.as_str()).unwrap();
        assert_eq!(event["error"]["code"].as_str(), code, "{attempt}: {event}");
        assert_eq!(event["ok"], code.is_none(), "{attempt}");
        let message = event["error"]["message"].as_str().unwrap_or_default();
        match bad {
            Some(words) => assert!(message.contains(words), "a bad report is named: {event}"),
            None => assert!(!message.contains("expected ") || *what == "other", "{event}"),
        }
        let filled = match *what {
            "sparse" => 3,
            "failed" => 2,
            _ => 0,
        };
        assert_eq!(event["report_filled"].as_array().map_or(0, Vec::len), filled, "{event}");
    }
}

#[test]
fn whatever_stands_at_the_assigned_path_is_a_report_or_a_failure() {
    assert_table(&LEFT, None);
}

#[test]
fn a_report_that_cannot_be_read_is_a_failure() {
    let is_root = rustix::process::geteuid().is_root();
    assert_table(&[UNREADABLE], is_root.then_some(65534));
}

#[test]
fn a_report_behind_the_output_option_counts_in_a_script_too() {
    let write = r#"import sys; open(sys.argv[-1], "w").write("{\"ok\": false, \"generatedAt\": \"t\", \"skillName\": \"w\", \"data\": 1}")"#;
    let flow = |run: &str| {
        format!(
            "flow: option\nsteps:\n  - id: write\n    {run}\n  - id: deploy\n    run: [touch, deployed]\n"
        )
    };
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().join("report.json");
    let rows = [
        ("run: 'python3 write.py --output out/report.json'".to_owned(), true),
        ("run: [bash, -c, 'python3 write.py --output out/report.json']".to_owned(), true),
        (format!("run: 'python3 write.py --output {}'", outside.display()), false),
        (format!("run: [python3, write.py, --output, '{}']", outside.display()), false),
        ("skill: other\n    run: 'python3 write.py --output out/report.json'".to_owned(), true),
    ];
    for (run, inside) in rows {
        let stage = Stage::with_flow(&flow(&run));
        stage.write("write.py", write);
        std::fs::create_dir(stage.path("out")).unwrap();
        let done = stage.expect(1, &["run", "flow.yaml"]);
        let code = if run.starts_with("skill") { "SKILL_REPORT_INVALID" } else { "SKILL_REPORTED_FAILURE" };
        assert!(done.err.contains(code), "{run}: {done:?}");
        assert!(!done.err.contains(&format!("{code}: {code}")), "the code stands once: {run}: {done:?}");
        assert!(!stage.path("deployed").exists(), "{run}");
        let events = stage.events(&stage.run_id());
        let settled = events.iter().find(|event| event["type"] == "attempt_settled").unwrap();
        let files = settled["files"].as_array().unwrap();
        let paths: Vec<_> = files.iter().filter_map(|file| file["path"].as_str()).collect();
        assert_eq!(paths, if inside { vec!["out/report.json"] } else { vec![] }, "{run}");
    }
}

/// A report in a folder that the command enters counts, also if only the shell knows that folder. A report outside of the workspace
/// is not searched, and the attempt reports that there is none.
#[test]
fn a_report_in_a_folder_that_a_script_enters_counts_and_one_that_is_not_found_is_named() {
    let write = r#"import sys; open(sys.argv[-1], "w").write("{\"ok\": false, \"generatedAt\": \"t\", \"skillName\": \"w\"}")"#;
    let stage_of = |run: &str| {
        let stage = Stage::with_flow(&format!("flow: entered\nsteps:\n  - id: write\n    run: '{run}'\n"));
        stage.write("write.py", write);
        std::fs::create_dir(stage.path("sub")).unwrap();
        stage
    };
    let stage = stage_of("cd sub && python3 ../write.py --output r.json");
    let checked = stage.expect(0, &["check", "flow.yaml"]);
    let warned = "`--output r.json` follows `cd sub`: the report is looked for at `sub/r.json`";
    assert!((checked.out.clone() + &checked.err).contains(warned), "{checked:?}");
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("SKILL_REPORTED_FAILURE"), "{done:?}");
    for run in [
        "D=sub; cd \"$D\"; python3 ../write.py --output r.json",
        "in_sub() { (cd sub; \"$@\"); }; in_sub python3 ../write.py --output r.json",
    ] {
        let stage = stage_of(run);
        let done = stage.expect(1, &["run", "flow.yaml"]);
        assert!(done.err.contains("SKILL_REPORTED_FAILURE"), "{run}: {done:?}");
        let shown = stage.expect(0, &["show", &stage.run_id()]).out;
        assert!(shown.contains("the report at `sub/r.json` counts (`--output r.json`)"), "{run}: {shown}");
    }
    let outside = tempfile::tempdir().unwrap();
    let enter =
        format!("O={}; cd \"$O\"; python3 \"$OLDPWD/write.py\" --output r.json", outside.path().display());
    let stage = stage_of(&enter);
    let checked = stage.expect(0, &["check", "flow.yaml"]);
    assert!((checked.out.clone() + &checked.err).contains("which may lead to another folder"), "{checked:?}");
    stage.expect(0, &["run", "flow.yaml"]);
    assert!(outside.path().join("r.json").exists());
    let shown = stage.expect(0, &["show", &stage.run_id()]).out;
    assert!(shown.contains("no report was found at `r.json` (`--output r.json`)"), "{shown}");
}

/// A report found in a workspace where another step works may be that step's.
#[test]
fn no_report_is_searched_beside_another_step() {
    let write = r#"import sys; open(sys.argv[-1], "w").write("{\"ok\": false, \"generatedAt\": \"t\", \"skillName\": \"w\"}")"#;
    let flow = "flow: beside
steps:
  - id: other
    needs: []
    run: touch began; while [ ! -e go ]; do sleep 0.02; done
  - id: write
    needs: []
    run: while [ ! -e began ]; do sleep 0.02; done; D=sub; cd \"$D\"; python3 ../write.py --output r.json
  - id: open
    needs: [write]
    run: touch go
";
    let stage = Stage::with_flow(flow);
    stage.write("write.py", write);
    std::fs::create_dir(stage.path("sub")).unwrap();
    stage.expect(0, &["run", "flow.yaml"]);
    let shown = stage.expect(0, &["show", &stage.run_id()]).out;
    assert!(shown.contains("no report was found at `r.json` (`--output r.json`)"), "{shown}");
}
