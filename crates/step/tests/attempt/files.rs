//! The files that commands leave besides their output.

use std::fs;

use envoi_step::{AttemptDir, Change, Command, Exit, Given, Outcome, Probe, boot_id, probe};

use crate::stage::{Stage, exec, free_lock, launcher, read, start_in};

pub(crate) fn changed_artifacts_are_copied_and_told_apart() {
    let stage = Stage::new();
    for name in ["same.txt", "old.txt", "gone.txt", "other.md"] {
        fs::write(stage.workspace().join(name), "before").unwrap();
    }
    let mut spec = stage.shell(
        "mkdir -p sub .git; printf new > sub/new.txt; printf after > old.txt; printf before > same.txt; \
         rm gone.txt; printf x > other.md; printf x > .git/x.txt; ln -s /etc/hostname link.txt",
    );
    spec.artifacts = vec!["**/*.txt".to_owned()];
    let exit = stage.run(&spec);
    let told: Vec<_> = exit.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    let expected = [
        ("gone.txt", Change::Deleted),
        ("old.txt", Change::Modified),
        ("same.txt", Change::Unchanged),
        ("sub/new.txt", Change::Created),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        read(&stage.dir.files().join("same.txt")),
        "before",
        "what is there is handed over, changed or not"
    );
    assert_eq!(exit.files[2].before, None);
    assert_eq!(read(&stage.dir.files().join("sub/new.txt")), "new");
    let modified = exit.files[1].file.as_ref().unwrap();
    assert_eq!((modified.path.as_str(), modified.bytes), ("files/old.txt", 5));
    assert_eq!(modified.sha256, "f39592393ef0859cb196a52693d2cea00fb2df784b3c04ae54aa7cadb8e562f8");
    assert_eq!(exit.files[0].file, None);
}

pub(crate) fn what_a_changed_artifact_was_is_handed_over_with_it() {
    let stage = Stage::new();
    fs::create_dir(stage.workspace().join("sub")).unwrap();
    let large = vec![b'x'; 256 * 1024 + 1];
    let before: [(&str, &[u8]); 7] = [
        ("changed.txt", b"one\n"),
        ("gone.txt", b"two\n"),
        ("large.txt", &large),
        ("same.txt", b"three\n"),
        ("secret.txt", b"hunter2"),
        ("sub/binary.txt", b"\0\xff"),
        ("sub/folder.txt", b"file"),
    ];
    for (name, content) in before {
        fs::write(stage.workspace().join(name), content).unwrap();
    }
    let mut spec = stage.shell(
        "printf x > changed.txt; printf xx > changed.txt; rm gone.txt sub/folder.txt; mkdir sub/folder.txt; \
         for name in large new secret sub/binary sub/folder.txt/deep; do printf x > $name.txt; done",
    );
    (spec.artifacts, spec.secrets) = (vec!["**/*.txt".to_owned()], vec!["hunter2".to_owned()]);
    let exit = stage.run(&spec);
    let kept = |path: &str| fs::read(stage.dir.path().join(path)).unwrap();
    let told: Vec<_> = exit
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.before.as_ref().map(|before| kept(&before.path))))
        .collect();
    let expected = [
        ("changed.txt", Some(b"one\n".to_vec())),
        ("gone.txt", Some(b"two\n".to_vec())),
        ("large.txt", None),
        ("new.txt", None),
        ("same.txt", None),
        ("secret.txt", None),
        ("sub/binary.txt", Some(b"\0\xff".to_vec())),
        ("sub/folder.txt", Some(b"file".to_vec())),
        ("sub/folder.txt/deep.txt", None),
    ];
    assert_eq!(told, expected);
    assert_eq!(exit.files[4].change, Change::Unchanged);
    let gone = exit.files[1].before.as_ref().unwrap();
    assert_eq!((gone.path.as_str(), gone.bytes), ("before/gone.txt", 4));
    assert_eq!(gone.sha256, "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a");
    assert_eq!(exit.warnings, Vec::<String>::new(), "nothing is said of what is not kept");
    assert!(!stage.dir.path().join("before.pack").exists());
}

pub(crate) fn an_attempt_without_changes_has_no_folder_for_what_was_before() {
    let stage = Stage::new();
    fs::write(stage.workspace().join("same.txt"), "same").unwrap();
    let mut spec = stage.shell("printf same > same.txt; printf x > new.txt");
    spec.artifacts = vec!["*.txt".to_owned()];
    let exit = stage.run(&spec);
    let told: Vec<_> = exit.files.iter().map(|file| file.change).collect();
    assert_eq!(told, [Change::Created, Change::Unchanged]);
    assert!(!stage.dir.before_files().exists());
}

pub(crate) fn a_report_is_found_by_variable_and_by_option() {
    let write = "import os, sys\nopen(sys.argv[-1].removeprefix('--output='), 'w').write('{\"ok\": true}')";
    let by_variable = "import os, sys\nopen(os.environ['ENVOI_REPORT'], 'w').write('{\"ok\": true}')";
    let shell = |script: &str| Command::Shell { script: script.to_owned() };
    let quoted = "python3 -c \"$WRITE\" --output 'a folder/../out.json'";
    // (command, whether the report was at the assigned path, the artifacts); `None` if no report is found
    type Row<'a> = (Command, Option<(bool, &'a [&'a str])>);
    let rows: [Row<'_>; 9] = [
        (exec(&["python3", "-c", by_variable]), Some((true, &[]))),
        (exec(&["python3", "-c", write, "--output", "out.json"]), Some((false, &["out.json"]))),
        (exec(&["python3", "-c", write, "--output=sub/./out.json"]), Some((false, &["sub/out.json"]))),
        // An artifact is named by its path in the workspace, so this file is kept only as the report.
        (exec(&["python3", "-c", write, "--output", "../outside.json"]), Some((false, &[]))),
        (shell("python3 -c \"$WRITE\" --output out.json"), Some((false, &["out.json"]))),
        (shell(quoted), Some((false, &["out.json"]))),
        (shell("OUT=out.json; python3 -c \"$WRITE\" --output \"$OUT\""), None),
        (exec(&["python3", "-c", write, "--to", "out.json"]), None),
        (exec(&["true", "--output", "out.json"]), None),
    ];
    for (command, found) in rows {
        let stage = Stage::new();
        for folder in ["sub", "a folder"] {
            fs::create_dir(stage.workspace().join(folder)).unwrap();
        }
        let mut spec = stage.spec(command);
        spec.env.push(("WRITE".to_owned(), write.to_owned()));
        let exit = stage.run(&spec);
        let files: Vec<_> = exit.files.iter().map(|file| file.path.as_str()).collect();
        let told = exit.report.as_ref().map(|_| (exit.report_assigned, files.as_slice()));
        assert_eq!(told, found, "{:?}", spec.command);
        if let Some(report) = exit.report {
            assert_eq!(
                (report.path.as_str(), read(&stage.dir.report()).as_str()),
                ("report.json", "{\"ok\": true}")
            );
        }
    }
}

pub(crate) fn what_is_no_file_in_the_place_of_the_report_is_said_to_be() {
    for (script, what) in [
        ("mkdir $ENVOI_REPORT", "a folder"),
        ("mkfifo $ENVOI_REPORT", "a named pipe"),
        ("echo '{\"ok\": true}' > r.json; ln -s $PWD/r.json $ENVOI_REPORT", "a symbolic link"),
        ("ln -s $ENVOI_REPORT $ENVOI_REPORT", "a symbolic link"),
        (
            "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind(\"s\"); os.link(\"s\", os.environ[\"ENVOI_REPORT\"])'",
            "a socket",
        ),
    ] {
        let stage = Stage::new();
        let exit = stage.run(&stage.shell(script));
        assert_eq!((exit.report, exit.report_assigned), (None, true), "{script}");
        assert_eq!(exit.report_unreadable.as_deref(), Some(what), "{script}");
    }
}

pub(crate) fn only_a_regular_file_that_this_attempt_wrote_is_a_report_behind_the_option() {
    for (write, found) in [
        ("ln -s /etc/hostname", false),
        ("mkdir", false),
        ("mkfifo", false),
        ("true", false),
        ("echo x >", true),
    ] {
        let stage = Stage::new();
        let exit = stage.run(&stage.shell(&format!("{write} out.json; true --output out.json")));
        assert_eq!((exit.report.is_some(), exit.files.len() == 1), (found, found), "{write}");
        assert_eq!((exit.report_assigned, exit.report_unreadable), (false, None), "{write}");
    }
    let stage = Stage::new();
    let large = "python3 -c 'open(\"out.json\", \"w\").truncate(17 << 20)'; true --output out.json";
    let exit = stage.run(&stage.shell(large));
    assert_eq!(exit.report_unreadable.as_deref(), Some("a file of 17825792 bytes"));
}

/// Writes a report of failure to the path behind `--output`.
const TOOL: &str = "#!/bin/sh
for path; do :; done
mkdir -p \"$(dirname \"${path#--output=}\")\"
printf '{\"ok\":false,\"generatedAt\":\"t\",\"skillName\":\"t\"}' > \"${path#--output=}\"
";

/// A report in a folder that the command enters is found, or there is a warning.
pub(crate) fn a_report_in_a_folder_that_the_command_enters_is_found_or_missed_aloud() {
    let elsewhere = "import subprocess; subprocess.run(['../t', '--output', 'r.json'], cwd='sub')";
    let shell = |script: &str| Command::Shell { script: script.to_owned() };
    let by_hand = "def main(): subprocess.run([\"../t\", \"--output\", \"r.json\"], cwd=\"sub\")";
    let python = format!("python3 - <<'E'\nimport subprocess\n{by_hand}\nmain()\nE\n");
    // The command, the artifacts if a report is found, and the warning.
    type Row<'a> = (Command, Option<&'a [&'a str]>, Option<&'a str>);
    let missed = "no report was found at `r.json` (`--output r.json`)";
    let searched = "the report at `sub/r.json` counts (`--output r.json`)";
    let shell_alone = "no report was looked for at `--output $PWD/r.json`, which only the shell knows";
    let hidden = "`--output` stands in a text that is not followed";
    let rows: [Row<'_>; 34] = [
        (shell("cd sub; ../t --output r.json"), Some(&["sub/r.json"]), None),
        (shell("cd sub && ../t --output=r.json"), Some(&["sub/r.json"]), None),
        (shell("(cd sub; ../t --output o/r.json)"), Some(&["sub/o/r.json"]), None),
        (
            exec(&["bash", "-c", "pushd sub >/dev/null; ../t --output r.json; popd"]),
            Some(&["sub/r.json"]),
            None,
        ),
        (shell("bash -c 'cd sub; ../t --output r.json'"), Some(&["sub/r.json"]), None),
        (exec(&["bash", "-c", "cd sub; ../t --output r.json"]), Some(&["sub/r.json"]), None),
        (shell("env -C sub ../t --output r.json"), Some(&["sub/r.json"]), None),
        (exec(&["env", "-C", "sub", "../t", "--output", "r.json"]), Some(&["sub/r.json"]), None),
        (shell("sh <<E\ncd sub\n../t --output r.json\nE\n"), Some(&["sub/r.json"]), None),
        (shell("eval 'cd sub; ../t --output r.json'"), Some(&["sub/r.json"]), None),
        (shell("x=$(cd sub; ../t --output r.json)"), Some(&["sub/r.json"]), None),
        (shell("if true; then cd sub; fi; ../t --output r.json"), Some(&["sub/r.json"]), None),
        (shell("cd nowhere 2>/dev/null || true; ./t --output r.json"), Some(&["r.json"]), None),
        // It counts, but a file behind a link is not an artifact.
        (shell("cd link; ../t --output r.json"), Some(&[]), None),
        (shell("(cd sub; true); ./t --output r.json"), Some(&["r.json"]), None),
        // The folder is not known, or the text does not show all that happens: the workspace is searched.
        (shell("D=sub; cd \"$D\"; ../t --output r.json"), Some(&["sub/r.json"]), Some(searched)),
        (
            shell("for d in sub; do (cd $d && ../t --output o/r.json); done"),
            Some(&["sub/o/r.json"]),
            Some("the report at `sub/o/r.json` counts (`--output o/r.json`)"),
        ),
        (exec(&["python3", "-c", elsewhere, "--output", "r.json"]), Some(&["sub/r.json"]), Some(searched)),
        (shell("echo 'cd sub' > cds; . ./cds; ../t --output r.json"), Some(&["sub/r.json"]), Some(searched)),
        (
            shell("in_sub() { (cd sub; \"$@\"); }; in_sub ../t --output r.json"),
            Some(&["sub/r.json"]),
            Some(searched),
        ),
        (
            shell("mkdir sub/deep; ln -s sub/deep l; cd -P l/..; ../t --output r.json"),
            Some(&["sub/r.json"]),
            Some(searched),
        ),
        (
            shell(
                "for i in 1 2; do ./sub/../t --output r.json; rm r.json; cd sub; ../t --output r.json; break; done",
            ),
            Some(&["sub/r.json"]),
            None,
        ),
        (shell("ln -s sub/r.json r.json; ./t --output r.json"), Some(&["sub/r.json"]), Some(searched)),
        (
            shell(
                "echo '{\"ok\":0}' > sub/r.json; mkdir -p .git/a; D=.git/a; ./t --output $D/r.json; true --output r.json",
            ),
            None,
            Some(missed),
        ),
        (
            shell(
                "mkdir a b; D=a; cd $D; ../t --output r.json; cd ../b; sed s/false/true/ ../a/r.json > r.json; true --output r.json",
            ),
            Some(&["a/r.json"]),
            Some("the report at `a/r.json` counts (`--output r.json`), and one more does not"),
        ),
        // An earlier file does not become a report because its mode changes.
        (
            shell("chmod 600 sub/old.json; D=sub; cd $D; true --output old.json"),
            None,
            Some("no report was found at `old.json`"),
        ),
        (
            shell("D=/tmp; cd \"$D\"; true --output r.json"),
            None,
            Some("(it is not known where `cd $D` leads)"),
        ),
        (shell("../t --output \"$PWD/r.json\" || ./t --output \"$PWD/r.json\""), None, Some(shell_alone)),
        (exec(&["python3", "-c", elsewhere]), None, Some(hidden)),
        (shell(&python), None, Some(hidden)),
        (shell("echo 'cd sub; ../t --output r.json' > go; sh go"), None, Some(hidden)),
        // No warning is needed.
        (shell("true --output json"), None, None),
        (shell("true --output /dev/null"), None, None),
        (shell("cd sub; ../t --output \"$ENVOI_REPORT\""), Some(&[]), None),
    ];
    for (command, found, said) in rows {
        let stage = Stage::new();
        fs::create_dir(stage.workspace().join("sub")).unwrap();
        std::os::unix::fs::symlink("sub", stage.workspace().join("link")).unwrap();
        let old = r#"{"ok":false,"generatedAt":"t","skillName":"t"}"#;
        fs::write(stage.workspace().join("sub/old.json"), old).unwrap();
        let tool = stage.workspace().join("t");
        // Another process brings it to its place: a program that this one writes may be busy while another test starts a child.
        let written = stage.workspace().join("sub/written");
        fs::write(&written, TOOL).unwrap();
        let placed =
            std::process::Command::new("install").args(["-m", "755"]).args([&written, &tool]).status();
        assert!(placed.unwrap().success());
        fs::remove_file(&written).unwrap();
        let exit = stage.run(&stage.spec(command.clone()));
        assert_eq!(exit.outcome, Outcome::Exited { code: 0 }, "{command:?}");
        assert_eq!(exit.report.is_some(), found.is_some(), "{command:?}: {:?}", exit.warnings);
        let files: Vec<_> = exit.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, found.unwrap_or_default(), "{command:?}");
        let about =
            exit.warnings.iter().filter(|warning| warning.contains("report")).cloned().collect::<String>();
        assert_eq!(about.is_empty(), said.is_none(), "{command:?}: {about}");
        assert!(about.contains(said.unwrap_or_default()), "{command:?}: {about}");
    }
}

/// A report from before the command does not count in that folder either, and there is a warning. A failed
/// command needs none: it reports its own reason.
pub(crate) fn a_report_of_before_the_command_and_one_of_a_failed_command_are_no_surprise() {
    let stage = Stage::new();
    fs::create_dir(stage.workspace().join("sub")).unwrap();
    let old = r#"{"ok":false,"generatedAt":"t","skillName":"t"}"#;
    fs::write(stage.workspace().join("sub/r.json"), old).unwrap();
    let exit = stage.run(&stage.shell("cd sub; true --output r.json"));
    assert!(exit.report.is_none());
    let said =
        ["the report at `sub/r.json` (`--output r.json`) was there before the command, and does not count"];
    assert_eq!(exit.warnings, said);
    let stage = Stage::new();
    let exit = stage.run(&stage.shell("false --output r.json"));
    assert_eq!(exit.warnings, Vec::<String>::new());
}

/// The file counts only if it is a report (CONTRACTS §4). One that was to be a report may say that the work failed.
pub(crate) fn a_file_behind_the_option_that_is_nearly_a_report_has_a_warning() {
    let members = r#""ok":false,"generatedAt":"t","skillName":"t""#;
    let rows: [(&str, Vec<u8>, bool); 14] = [
        ("r.json", format!("{{{members}}}").into(), false),
        ("r.json", format!("{{{members},\"data\":{{\"loss\":NaN}}}}").into(), true),
        ("r.json", format!("\u{feff}{{{members}}}").into(), true),
        ("r.json", format!("{{{members}").into(), true),
        ("r.json", format!("{{{members},\"ok\":true}}").into(), true),
        ("r.json", [b"{\"a\":\"\xe9\",".as_slice(), members.as_bytes(), b"}"].concat(), true),
        ("r.json", format!("{{{members},\"data\":\"{}\"}}", "x".repeat(17 << 20)).into(), true),
        ("r.json", b"".into(), true),
        ("r.json", b"{'ok': False}".into(), true),
        ("r.json", br#"{"ok":false}"#.into(), true),
        ("r.txt", br#"{ "ok" : "false" }"#.into(), true),
        // Most programs that have the option write something else.
        ("r.json", br#"{"tests":12,"passed":12}"#.into(), false),
        ("r.json", br#"["ok"]"#.into(), false),
        ("r.html", b"<p>ok".into(), false),
    ];
    for (name, bytes, has_warning) in rows {
        let stage = Stage::new();
        fs::write(stage.workspace().join("made"), &bytes).unwrap();
        let exit = stage.run(&stage.shell(&format!("cp made {name}; true --output {name}")));
        let row = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert_eq!(exit.outcome, Outcome::Exited { code: 0 }, "{row}");
        let is_about = |warning: &&String| warning.contains("is not a report");
        let about = exit.warnings.iter().find(is_about);
        assert_eq!(about.is_some(), has_warning, "{row}: {:?}", exit.warnings);
        // A command that fails has its own reason.
        let stage = Stage::new();
        fs::write(stage.workspace().join("made"), &bytes).unwrap();
        let exit = stage.run(&stage.shell(&format!("cp made {name}; false --output {name}")));
        assert_eq!(exit.warnings.iter().find(is_about), None, "{row}");
    }
}

pub(crate) fn a_report_of_an_earlier_visit_is_none() {
    let rows = [
        ("true", false),
        ("touch -d '2001-01-01' out.json", true),
        ("printf '{\"ok\": 1}' > out.json", true),
    ];
    for (script, found) in rows {
        let stage = Stage::new();
        fs::write(stage.workspace().join("out.json"), "{\"ok\": true}").unwrap();
        let exit = stage.run(&stage.spec(exec(&["sh", "-c", script, "sh", "--output", "out.json"])));
        assert_eq!(exit.report.is_some(), found, "{script}");
    }
}

pub(crate) fn the_store_is_no_artifact_of_the_workspace_that_it_lies_in() {
    let stage = Stage::new();
    let mut spec =
        stage.shell("mkdir -p store/runs; printf x > store/envoi.db; printf x > store/runs/x; printf x > x");
    fs::create_dir(stage.workspace().join("store")).unwrap();
    (spec.artifacts, spec.never) = (vec!["**/*".to_owned()], vec![stage.workspace().join("store")]);
    let exit = stage.run(&spec);
    assert_eq!(exit.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["x"]);
}

pub(crate) fn a_report_that_is_too_large_is_cut_and_stays_too_large() {
    const LARGEST: u64 = 16 * 1024 * 1024;
    let rows =
        [(LARGEST, LARGEST, false), (LARGEST + 1, LARGEST + 1, true), (3 * LARGEST, LARGEST + 1, true)];
    for (written, kept, cut) in rows {
        let stage = Stage::new();
        let mut spec = stage.python(&format!(
            "import os\nreport = '{{\"data\": \"hunter2\", \"ok\": true}}'\n\
             open(os.environ['ENVOI_REPORT'], 'w').write(report.ljust({written}))"
        ));
        spec.secrets = vec!["hunter2".to_owned()];
        let exit = stage.run(&spec);
        // If it is not cut, the mask makes it four bytes shorter.
        assert_eq!(exit.report.unwrap().bytes, if cut { kept } else { kept - 4 }, "{written}");
        assert_eq!(
            exit.warnings.concat(),
            if cut { "the report has more than 16 MiB and is cut" } else { "" }
        );
        assert!(read(&stage.dir.report()).starts_with("{\"data\": \"***\","));
    }
}

pub(crate) fn artifacts_that_no_handoff_can_name_are_left_out_with_a_warning() {
    let stage = Stage::new();
    let mut spec = stage.python(
        "import os\n\
         os.mkdir('handoff')\n\
         for name in (b'good', b'back\\\\slash', b'new\\nline', b'bad\\xff', b'handoff/x', b'hunter2\\\\'):\n\
         \x20   open(name, 'w').write('x')\n",
    );
    spec.artifacts = vec!["**/*".to_owned()];
    spec.secrets = vec!["hunter2".to_owned()];
    let exit = stage.run(&spec);
    let handed_over: Vec<_> = exit.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(handed_over, ["good"]);
    let expected = [
        "artifact `***\\\\` is left out: its name has a backslash",
        "artifact `back\\\\slash` is left out: its name has a backslash",
        "artifact `bad\u{fffd}` is left out: its name is not UTF-8",
        "artifact `handoff/x` is left out: `handoff` is the folder of the hand-offs",
        "artifact `new\\nline` is left out: its name has a control character",
    ];
    assert_eq!(exit.warnings, expected);
}

pub(crate) fn an_artifact_that_cannot_be_read_is_left_out_with_a_warning() {
    let stage = Stage::new();
    let mut spec = stage.shell("echo text");
    // Even root cannot read the first page of a process.
    (spec.workspace, spec.artifacts) = ("/proc/self".into(), vec!["mem".to_owned()]);
    let exit = stage.run(&spec);
    assert_eq!((exit.outcome, exit.files.len()), (Outcome::Exited { code: 0 }, 0));
    assert_eq!(exit.warnings.len(), 1);
    assert!(
        exit.warnings[0].starts_with("artifact `mem` is left out: it cannot be read: "),
        "{:?}",
        exit.warnings
    );
}

pub(crate) fn many_strange_artifacts_are_few_warnings() {
    let stage = Stage::new();
    let mut spec = stage.python("for n in range(1000): open(f'{n}\\\\', 'w').close()");
    spec.artifacts = vec!["*".to_owned()];
    let exit = stage.run(&spec);
    assert_eq!(exit.warnings.len(), 21);
    assert_eq!(exit.warnings[20], "980 more warnings about artifacts");
}

/// Runs another attempt of the same step, which compares with the state before the stage's own attempt.
fn run_looking_back(stage: &Stage, script: &str, artifacts: &[&str]) -> Exit {
    let dir = AttemptDir::new(stage.run_base().join("attempts/work.1.2"));
    dir.create().unwrap();
    let mut spec = stage.shell(script);
    spec.attempt = "work.1.2".to_owned();
    spec.artifacts = artifacts.iter().map(|glob| (*glob).to_owned()).collect();
    spec.since = Some(stage.dir.path().to_owned());
    let lock = free_lock(&dir);
    launcher().spawn(&dir, &spec, lock).unwrap().wait().unwrap();
    let boot = boot_id().unwrap();
    match probe(&dir, Given::Maybe, start_in(&boot), &boot).unwrap() {
        Probe::Settled(exit) => *exit,
        other => panic!("{other:?}: {}", read(&dir.supervisor_log())),
    }
}

pub(crate) fn an_attempt_that_looks_back_hands_over_what_both_have_changed() {
    let stage = Stage::new();
    for name in ["first", "second", "both", "none", "undone"] {
        fs::write(stage.workspace().join(name), format!("{name} before\n")).unwrap();
    }
    let mut spec = stage.shell("for name in first both undone new; do echo x > $name; done");
    spec.artifacts = vec!["*".to_owned()];
    stage.run(&spec);
    // All that is left of an attempt whose supervisor was killed.
    fs::remove_file(stage.dir.exit()).unwrap();
    let exit =
        run_looking_back(&stage, "echo y > second; echo y > both; echo undone before > undone", &["*"]);
    let told: Vec<_> =
        exit.files.iter().map(|file| (file.path.as_str(), file.change, file.before.is_some())).collect();
    let expected = [
        ("both", Change::Modified, false),
        ("first", Change::Modified, false),
        ("new", Change::Created, false),
        ("none", Change::Unchanged, false),
        ("second", Change::Modified, true),
        ("undone", Change::Unchanged, false),
    ];
    assert_eq!(told, expected, "what a file was before the first of the two is known of `second` alone");
    assert_eq!(exit.warnings, Vec::<String>::new());
}

pub(crate) fn an_attempt_that_cannot_look_back_hands_over_its_own_changes_and_says_so() {
    for (damage, artifacts, warned) in [
        ("rm", &["*"][..], true),
        ("echo '{' >", &["*"], true),
        ("true", &["*.txt"], true),
        ("rm", &[], false),
    ] {
        let stage = Stage::new();
        let mut spec = stage.shell("echo x > first");
        spec.artifacts = vec!["*".to_owned()];
        stage.run(&spec);
        crate::stage::shell(&format!("{damage} {}", stage.dir.path().join("before.json").display()));
        let exit = run_looking_back(&stage, "echo y > second.txt", artifacts);
        let told: Vec<_> = exit.files.iter().map(|file| file.path.as_str()).collect();
        let expected: &[&str] = match artifacts {
            [] => &[],
            ["*"] => &["first", "second.txt"],
            _ => &["second.txt"],
        };
        assert_eq!(told, expected, "{damage}");
        assert_eq!(exit.warnings.len(), usize::from(warned), "{damage} {artifacts:?}: {:?}", exit.warnings);
    }
}

/// Rows: exit code, codes that count as success, files handed over, warnings.
pub(crate) fn a_step_that_succeeded_hands_over_what_matches_and_says_what_does_not() {
    let (nothing, same) = (Vec::<(&str, Change)>::new(), vec![("app.bin", Change::Unchanged)]);
    let unmatched = ["no file matches `artifacts: dist/**`", "no file matches `artifacts: *.zip`"];
    for (code, success_codes, files, warnings) in
        [(0, vec![], &same, &unmatched[..]), (1, vec![], &nothing, &[]), (1, vec![1], &same, &unmatched)]
    {
        let stage = Stage::new();
        fs::write(stage.workspace().join("app.bin"), "the same").unwrap();
        let mut spec = stage.shell(&format!("printf 'the same' > app.bin; exit {code}"));
        spec.artifacts = ["app.bin", "dist/**", "*.zip"].map(str::to_owned).to_vec();
        spec.success_codes = success_codes;
        let exit = stage.run(&spec);
        let told: Vec<_> = exit.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
        assert_eq!(
            (&told, exit.warnings.as_slice()),
            (files, warnings.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>().as_slice()),
            "{code}"
        );
    }
}

pub(crate) fn many_artifacts_are_handed_over_whole() {
    let stage = Stage::new();
    let mut spec = stage.python(
        "import os\nos.mkdir('out')\nfor n in range(2500):\n    open(f'out/{n:04}', 'w').write(str(n))\n",
    );
    spec.artifacts = vec!["out/**".to_owned()];
    let exit = stage.run(&spec);
    assert_eq!(exit.files.len(), 2500);
    for place in [0, 999, 2499] {
        let file = exit.files[place].file.as_ref().unwrap();
        assert_eq!(file.path, format!("files/out/{place:04}"));
        assert_eq!(read(&stage.dir.path().join(&file.path)), place.to_string());
    }
}
