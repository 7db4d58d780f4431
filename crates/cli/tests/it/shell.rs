//! A command that is a string, as it really runs: it stops at the first command that fails, under the program that the flow names.

use crate::{
    kept::kept,
    stage::{Stage, text},
};

fn flow(steps: &str) -> Stage {
    Stage::with_flow(&format!("flow: f\nsteps:\n{steps}"))
}

#[test]
fn a_script_whose_first_command_fails_is_a_failed_step() {
    let stage = flow("  - id: deploy\n    run: |\n      cp missing dist/\n      echo deployed > done.txt\n");
    stage.expect(1, &["run", "flow.yaml"]);
    assert!(!stage.path("done.txt").exists());
    let started = &stage.events(&stage.run_id())[0];
    assert_eq!(started["language"], 2, "{started}");
}

#[test]
fn each_shell_runs_its_script_and_reads_values_as_text() {
    let stage = Stage::with_flow(
        "flow: f\ninputs:\n  word: { type: string }\nshell: bash\nsteps:\n  \
         - id: pipe\n    continue_on_error: true\n    run: false | cat; echo bash-went-on >> log\n  \
         - id: list\n    run: |\n      words=(${{ inputs.word }} two); echo \"${#words[@]} ${words[-1]}\" >> log\n  \
         - id: python\n    shell: python\n    run: |\n      open('log', 'a').write(${{ inputs.word }}.upper() + '\\n')\n  \
         - id: own\n    shell: [sh, -c]\n    run: false; echo unchecked \"${{ inputs.word }}\" >> log\n",
    );
    stage.expect(0, &["run", "flow.yaml", "-i", "word=$(x)'\"; exit 7"]);
    assert_eq!(stage.lines("log"), ["4 two", "$(X)'\"; EXIT 7", "unchecked $(x)'\"; exit 7"]);
}

#[test]
fn a_script_of_bash_that_fails_says_which_line_did() {
    let script = "      echo one\n      cat <<END\n      words\n      END\n      cp missing dist/ 2>> errors\n      echo two\n";
    let of = |shell: &str| flow(&format!("  - id: a\n    shell: {shell}\n    run: |\n{script}"));
    let stage = of("bash");
    let said = stage.expect(1, &["run", "flow.yaml"]).err;
    let sentence = "line 5 of the script failed: `cp missing dist/ 2>> errors`";
    assert!(said.contains(&format!("a.1.1              warning: {sentence}")), "{said}");
    let shown = stage.expect(0, &["show", &stage.run_id()]).out;
    assert!(shown.contains(&format!("warning: a.1.1: {sentence}")), "{shown}");
    let logged = stage.expect(0, &["logs", &stage.run_id()]);
    assert_eq!(logged.out, "a.1.1 | one\na.1.1 | words\n", "the script prints what it prints");
    // Bash names the last command of a pipeline, no matter which of them failed.
    let piped = flow("  - id: a\n    shell: bash\n    run: |\n      echo one\n      false | cat\n");
    let said = piped.expect(1, &["run", "flow.yaml"]).err;
    let sentence = "line 2 of the script failed: `false | cat` (exit codes of its pipeline: 1, 0)";
    assert!(said.contains(sentence), "{said}");
    // A false condition in the last line fails the step, and no shell reports it.
    let condition = flow("  - id: a\n    run: |\n      echo one\n      [ -n \"$NO_SUCH\" ] && echo two\n");
    let said = condition.expect(1, &["run", "flow.yaml"]).err;
    let sentence = "the last line of the script has exit code 1 if its condition is false: `[ -n \"$NO_SUCH\" ] && echo two`";
    assert!(said.contains(sentence), "{said}");
    // Bash alone knows.
    let said = of("sh").expect(1, &["run", "flow.yaml"]).err;
    assert!(!said.contains("of the script failed"), "{said}");
    // Nothing has failed that ends the script.
    let fine = flow(
        "  - id: a\n    shell: bash\n    run: |\n      false || true\n      set +e\n      false\n      exit 3\n",
    );
    let said = fine.expect(1, &["run", "flow.yaml"]).err;
    assert!(!said.contains("of the script failed"), "{said}");
}

#[test]
fn a_notification_stops_at_the_first_command_that_fails() {
    let notified = |script: &str| {
        let notify = format!("notify: {{ command: '{script}', on: [end] }}\n");
        Stage::with_flow(&format!("flow: f\n{notify}steps:\n  - id: a\n    run: 'true'\n"))
    };
    let stage = notified("false; echo told >> told.txt");
    stage.expect(0, &["run", "flow.yaml"]);
    let shown = stage.json(&["--json", "show", &stage.run_id()]);
    assert!(text(&shown["notices"][0]["last_error"]).contains('1'), "{shown}");
    assert!(!stage.path("told.txt").exists());
    let stage = notified("true; echo told >> told.txt");
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("told.txt"), ["told"]);
}

/// The run of `kept/` that failed has `run: "echo trying >> tries.txt; [ -e mended ] || exit 3"`.
#[test]
fn a_run_of_an_older_build_and_its_forks_keep_the_old_meaning() {
    let stage = kept();
    // It brings the store to the present form, which showing runs does not.
    stage.expect(0, &["doctor"]);
    let failed = stage.runs().into_iter().find(|run| run["flow"] == "fails").unwrap();
    let run = text(&failed["run"]);
    assert_eq!(stage.events(&run)[0]["language"], 1);
    stage.write("mended", "");
    stage.expect(0, &["fork", &run]);
    let fork = stage.runs().into_iter().find(|run| run["flow"] == "fails").unwrap();
    assert_ne!(fork["run"], failed["run"], "the newest one stands first");
    let events = stage.events(&text(&fork["run"]));
    assert_eq!(events[0]["language"], 1);
    let commands: Vec<String> = events.iter().map(|event| event["command"].to_string()).collect();
    assert!(commands.iter().any(|command| command.contains("\"shell\"")), "{commands:?}");
}

#[test]
fn a_run_of_an_older_build_has_the_new_meaning_once_its_flow_is_corrected() {
    let stage = kept();
    stage.expect(0, &["doctor"]);
    let failed = stage.runs().into_iter().find(|run| run["flow"] == "fails").unwrap();
    let run = text(&failed["run"]);
    let script = "false; echo went on >> went.txt";
    stage.write("fails.yaml", format!("flow: fails\nsteps:\n  - {{ id: broken, run: '{script}' }}\n"));
    stage.expect(1, &["resume", &run, "--flow", "fails.yaml", "--yes"]);
    assert!(!stage.path("went.txt").exists());
    let events = stage.events(&run);
    let corrected = events.iter().find(|event| event["type"] == "flow_corrected").unwrap();
    assert_eq!((&events[0]["language"], &corrected["language"]), (&1.into(), &2.into()));
    // The old meaning goes with the old text only.
    stage.expect(1, &["fork", &run]);
    assert!(!stage.path("went.txt").exists());
}

#[test]
fn check_warns_of_what_is_probably_not_meant() {
    let stage = flow(
        "  - id: a\n    run: [no-such-program-anywhere, x]\n  - id: b\n    run: |\n      set +e\n      a\n      b\n  \
         - id: c\n    run: if [[ -f x ]]; then make; fi\n  - id: d\n    shell: bash\n    run: '[[ -f x ]]'\n",
    );
    let said = stage.expect(0, &["check", "flow.yaml"]).err;
    for warning in [
        "step `a`: `no-such-program-anywhere` is not on the PATH",
        "step `b`: after `set +e`",
        "step `c`: `[[` is syntax of bash",
    ] {
        assert!(said.contains(warning), "{warning}\n{said}");
    }
    assert_eq!(said.matches("warning:").count(), 3, "{said}");
}

#[test]
fn check_warns_of_files_that_a_command_runs_and_that_are_not_there() {
    let stage = Stage::with_flow(
        "flow: f\nnotify: ./tell.sh\nsteps:\n  - { id: a, run: ./nofile }\n  - { id: there, run: [python3, there.py] }\n  \
         - { id: b, run: [python3, made/nofile.py, x] }\n  - { id: built, run: ./built }\n  - { id: cond, run: '[ -f c.sh ] && ./c.sh' }\n  \
         - { id: own, cwd: sub, run: ./in-sub.sh }\n  - { id: last, run: [./push.hs, x] }\n",
    );
    stage.write("push.sh", "");
    stage.write("there.py", "");
    std::fs::create_dir(stage.path("sub")).unwrap();
    stage.write("sub/in-sub.sh", "");
    let said = stage.expect(0, &["check", "flow.yaml"]).err;
    for warning in [
        "`notify`: `./tell.sh` is not there now\n",
        "step `a`: `./nofile` is not there now\n",
        "step `b`: `made/nofile.py` is not there now, unless an earlier step makes it\n",
        "step `last`: `./push.hs` is not there now, unless an earlier step makes it; did you mean `push.sh`?\n",
    ] {
        assert!(said.contains(warning), "{warning}\n{said}");
    }
    assert_eq!(said.matches("warning:").count(), 4, "{said}");
}

/// A mistake in the last step is seen before the first one runs. Nothing of a script runs when it is checked.
#[test]
fn check_warns_of_scripts_that_their_program_cannot_parse() {
    let stage = flow(
        "  - { id: fine, run: 'if [ -e x ]; then echo \"$(cat x)\"; fi; touch ran' }\n  - id: open\n    run: |\n      if [ -e x ]; then\n        y\n  \
         - { id: quote, shell: bash, run: \"echo 'a\" }\n  - { id: shown, run: 'echo \"${{ run.id }}\"' }\n  \
         - { id: python, shell: python, run: 'print(${{ run.id }}' }\n  - { id: right, shell: python, run: 'print(${{ run.id }})' }\n",
    );
    let said = stage.expect(0, &["check", "flow.yaml"]).err;
    for warning in [
        "step `open`: the script does not parse: ",
        "step `quote`: the script does not parse: ",
        "step `python`: the script does not parse: SyntaxError: '(' was never closed",
    ] {
        assert!(said.contains(warning), "{warning}\n{said}");
    }
    assert_eq!(said.matches("warning:").count(), 3, "{said}");
    assert!(!stage.path("ran").exists());
}
