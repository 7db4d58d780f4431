//! Engine and supervisor die together: an end that cannot be known is called in doubt, and nothing is repeated in silence.

use crate::stage::{Dice, Process, Stage, arguments, lives, signal, state, text, wait_for, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

/// A flow with one step that hangs until `go` exists.
fn hanging(policy: &str) -> Stage {
    Stage::with_flow(&format!(
        "flow: hanging\nsteps:\n  - id: work\n    {policy}\n    run: \"echo $ENVOI_ATTEMPT >> ledger; echo half done; \
         test -e go || sleep 600\"\n"
    ))
}

/// Starts the run and kills engine and supervisor while the step works. Returns the run.
fn killed_both(stage: &Stage) -> String {
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let stdout = stage.attempt("work.1.1").unwrap().join("stdout");
    wait_until("its output", || std::fs::read(&stdout).is_ok_and(|bytes| bytes.ends_with(b"half done\n")));
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.kill();
    signal(supervisor, Signal::KILL);
    wait_until("the supervisor's end", || !lives(supervisor));
    assert!(!stage.step_processes().is_empty(), "the step itself lives on");
    stage.write("go", "");
    stage.run_id()
}

fn outcomes(stage: &Stage, run: &str) -> Vec<(String, Value)> {
    let settled = stage.events(run).into_iter().filter(|event| event["type"] == "attempt_settled");
    settled.map(|event| (text(&event["attempt"]), event["outcome"].clone())).collect()
}

fn is_in_doubt(outcome: &Value) -> bool {
    !outcome["in_doubt"].is_null()
}

#[test]
fn a_step_with_an_unknown_end_waits_for_a_person_and_is_not_repeated() {
    let stage = hanging("timeout: 1h");
    let run = killed_both(&stage);
    let done = stage.expect(5, &["resume", &run]);
    assert!(done.err.contains("--in-doubt"), "{done:?}");
    stage.assert_nothing_left();
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
    // Asking again changes nothing.
    stage.expect(5, &["resume", &run]);
    let row = stage.json(&["--json", "show", &run]);
    assert_eq!((&row["status"], &row["exit_code"]), (&Value::from("waiting"), &Value::from(5)));
    assert!(row.to_string().contains("half done"), "the evidence: {row}");
    // A decision about something else is refused and changes nothing.
    let before = stage.events(&run).len();
    stage.expect(6, &["resume", &run, "--review", "proceed"]);
    assert_eq!(stage.events(&run).len(), before);
    stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("ledger"), ["work.1.1", "work.1.2"]);
    stage.expect(6, &["resume", &run, "--in-doubt", "rerun"]);
}

#[test]
fn a_person_can_let_a_step_in_doubt_fail() {
    let stage = hanging("timeout: 1h");
    let run = killed_both(&stage);
    stage.expect(5, &["resume", &run]);
    stage.expect(1, &["resume", &run, "--in-doubt", "fail"]);
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
    // And a failed run can be reopened: that is a new visit.
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["work.1.1", "work.2.1"]);
}

/// The payment proves nothing about the mail.
#[test]
fn of_two_attempts_in_doubt_each_is_decided_about_by_itself() {
    let step = |name: &str| {
        format!(
            "  - {{ id: {name}, needs: [start], \
             run: 'echo $ENVOI_ATTEMPT >> ledger; test -e go || sleep 600' }}\n"
        )
    };
    let steps = ["pay", "mail"].map(step).concat();
    let stage = Stage::with_flow(&format!("flow: two\nsteps:\n  - {{ id: start, run: 'true' }}\n{steps}"));
    let engine = stage.start(&["run", "flow.yaml", "--jobs", "2"]);
    wait_until("both steps", || stage.lines("ledger").len() == 2);
    let supervisors = ["pay.1.1", "mail.1.1"].map(|attempt| stage.supervisor(attempt).unwrap());
    engine.kill();
    for supervisor in supervisors {
        signal(supervisor, Signal::KILL);
        wait_until("the supervisor's end", || !lives(supervisor));
    }
    stage.write("go", "");
    let run = stage.run_id();
    stage.expect(5, &["resume", &run]);
    let questions = stage.json(&["--json", "show", &run])["questions"].clone();
    let question = |step: &str| {
        let rows = questions.as_array().unwrap();
        text(&rows.iter().find(|row| row["step"] == step).unwrap()["question"])
    };
    let (pay, mail) = (question("pay"), question("mail"));
    let before = stage.events(&run).len();
    for choice in ["rerun", "fail"] {
        let refused = stage.expect(6, &["resume", &run, "--in-doubt", choice]);
        for told in [
            "AMBIGUOUS_ID",
            &format!("{pay} (pay.1)"),
            &format!("{mail} (mail.1)"),
            "envoi answer INT --choice rerun|fail",
        ] {
            assert!(refused.err.contains(told), "{told}: {refused:?}");
        }
    }
    assert_eq!(stage.events(&run).len(), before, "nothing was decided");
    stage.expect(5, &["answer", &pay, "--choice", "rerun"]);
    assert_eq!(stage.lines("ledger")[2..], ["pay.1.2"]);
    // A single attempt in doubt is left, so it needs no name.
    stage.expect(1, &["resume", &run, "--in-doubt", "fail"]);
    assert_eq!(stage.lines("ledger")[2..], ["pay.1.2"]);
    stage.assert_nothing_left();
}

#[test]
fn the_flow_s_policy_decides_about_a_step_in_doubt() {
    for (policy, code, ledger) in
        [("on_in_doubt: rerun", 0, vec!["work.1.1", "work.1.2"]), ("on_in_doubt: fail", 1, vec!["work.1.1"])]
    {
        let stage = hanging(policy);
        let run = killed_both(&stage);
        stage.expect(code, &["resume", &run]);
        assert_eq!(stage.lines("ledger"), ledger, "{policy}");
        assert!(is_in_doubt(&outcomes(&stage, &run)[0].1), "{policy}");
        stage.assert_nothing_left();
    }
}

/// Says with exit code `says` whether the attempt happened, and hangs itself while `wait` is there.
fn verifying(says: u8) -> Stage {
    let stage = Stage::with_flow(
        "flow: hanging\nsteps:\n  - id: work\n    artifacts: [\"*.txt\"]\n    on_in_doubt: { verify: [\"sh\", \"verify.sh\"] }\n    \
         run: \"echo $ENVOI_ATTEMPT >> ledger; echo made by $ENVOI_ATTEMPT > made.txt; echo half done; test -e go || sleep 600\"\n  \
         - id: after\n    run: echo after >> ledger\n",
    );
    stage.write(
        "verify.sh",
        format!(
            "echo $ENVOI_ATTEMPT verifies $ENVOI_VERIFIES for $ENVOI_KEY >> verified\n\
             while test -e wait; do sleep 0.01; done\n\
             echo it was there; echo 'no such registry' >&2; exit {says}\n"
        ),
    );
    stage
}

#[test]
fn a_verification_decides_about_a_step_that_was_killed_with_its_supervisor_and_its_engine() {
    for (says, code, ledger) in [
        (0, 0, &["work.1.1", "after"][..]),
        (1, 0, &["work.1.1", "work.1.3", "after"]),
        (7, 5, &["work.1.1"]),
    ] {
        let stage = verifying(says);
        let run = killed_both(&stage);
        let done = stage.expect(code, &["resume", &run]);
        assert_eq!(stage.lines("ledger"), ledger, "{says}: {done:?}");
        let key = format!("work.1.2 verifies work.1.1 for {run}:work.1");
        assert_eq!(stage.lines("verified"), [key], "{says}");
        assert!(done.err.contains("to verify work.1.1"), "{done:?}");
        stage.assert_nothing_left();
        if says == 7 {
            let shown = stage.expect(0, &["show", &run]).out;
            for told in ["work.1.1", "exited with code 7", "no such registry", "half done", "made.txt"] {
                assert!(shown.contains(told), "{told}: {shown}");
            }
            stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
            assert_eq!(stage.lines("ledger"), ["work.1.1", "work.1.3", "after"]);
        }
        let handoff = stage.json(&["show", &run, "--handoff", "work"]);
        let made = stage.read(&format!(".envoi/runs/{run}/{}", text(&handoff["artifacts"]["made.txt"])));
        let (summary, maker) = match says {
            0 => ("it was there", "made by work.1.1\n"),
            _ => ("half done", "made by work.1.3\n"),
        };
        assert_eq!((handoff["summary"].as_str(), made.as_str()), (Some(summary), maker), "{says}");
    }
}

#[test]
fn a_verification_that_is_a_script_stops_at_the_first_command_that_fails() {
    // Its last command alone would confirm that the step happened.
    for policy in [
        r#"on_in_doubt: { verify: "echo looks\nfalse\necho found >> verified\n" }"#,
        "shell: bash\n    on_in_doubt: { verify: \"false | cat\\necho found >> verified\\n\" }",
    ] {
        let stage = hanging(policy);
        let run = killed_both(&stage);
        stage.expect(0, &["resume", &run]);
        assert_eq!(stage.lines("ledger"), ["work.1.1", "work.1.3"], "{policy}");
        assert!(!stage.path("verified").exists(), "{policy}");
    }
}

#[test]
fn a_verification_that_is_killed_too_is_in_doubt_itself_and_a_person_is_asked() {
    let stage = verifying(0);
    let run = killed_both(&stage);
    stage.write("wait", "");
    let engine = stage.start(&["resume", &run]);
    wait_until("the verification", || !stage.lines("verified").is_empty());
    let supervisor = stage.supervisor("work.1.2").unwrap();
    engine.kill();
    signal(supervisor, Signal::KILL);
    wait_until("the supervisor's end", || !lives(supervisor));
    let done = stage.expect(5, &["resume", &run]);
    assert!(done.err.contains("`work.1.2` is in doubt itself"), "{done:?}");
    assert_eq!((stage.lines("ledger").len(), stage.lines("verified").len()), (1, 1), "nothing is repeated");
    stage.assert_nothing_left();
    stage.expect(1, &["resume", &run, "--in-doubt", "fail"]);
}

#[test]
fn a_verification_outlives_its_engine_like_any_attempt() {
    let stage = verifying(0);
    let run = killed_both(&stage);
    stage.write("wait", "");
    let engine = stage.start(&["resume", &run]);
    wait_until("the verification", || !stage.lines("verified").is_empty());
    engine.kill();
    std::fs::remove_file(stage.path("wait")).unwrap();
    stage.expect(0, &["resume", &run]);
    assert_eq!(
        (stage.lines("ledger"), stage.lines("verified").len()),
        (vec!["work.1.1".to_owned(), "after".to_owned()], 1)
    );
}

#[test]
fn a_supervisor_that_dies_alone_leaves_its_step_in_doubt_at_once() {
    let stage = hanging("timeout: 1h");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    signal(stage.supervisor("work.1.1").unwrap(), Signal::KILL);
    assert_eq!(engine.done().code, Some(5));
    stage.assert_nothing_left();
}

#[test]
fn a_step_whose_exit_stands_is_committed_though_everybody_died() {
    let stage = Stage::with_flow(
        "flow: done\nsteps:\n  - id: work\n    run: \"echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.01; done\"\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let supervisor = stage.supervisor("work.1.1").unwrap();
    engine.signal(Signal::STOP);
    stage.write("go", "");
    wait_until("exit.json", || stage.attempt("work.1.1").unwrap().join("exit.json").exists());
    signal(supervisor, Signal::KILL);
    engine.kill();
    stage.expect(0, &["resume"]);
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
}

#[test]
fn a_step_that_was_announced_and_never_started_is_started() {
    for point in ["before-probe", "before-spawn"] {
        let stage =
            Stage::with_flow("flow: early\nsteps:\n  - id: work\n    run: echo $ENVOI_ATTEMPT >> ledger\n");
        let engine = Process::spawn(
            stage.command(&["run", "flow.yaml"]).env("ENVOI_FAILPOINT", format!("{point}:stop")),
        );
        wait_until("the engine's stop", || state(engine.pid()) == Some('T'));
        engine.kill();
        assert!(stage.events(&stage.run_id()).iter().any(|event| event["type"] == "attempt_started"));
        assert_eq!(stage.supervisor("work.1.1"), None);
        stage.expect(0, &["resume"]);
        assert_eq!(stage.lines("ledger"), ["work.1.1"], "{point}");
    }
}

const STEPS: usize = 12;
const KILLS: usize = 50;
const KILLS_A_RUN: usize = 12;

#[test]
fn a_line_too_many_belongs_to_an_attempt_that_the_journal_calls_in_doubt() {
    let mut dice = Dice::new();
    let (mut kills, mut doubts) = (0, 0);
    while kills < KILLS || doubts == 0 {
        assert!(kills < 20 * KILLS, "no kill hit a step at work");
        let (killed, doubted) = one_run(&mut dice);
        kills += killed;
        doubts += doubted;
    }
    eprintln!("{kills} kills of all, {doubts} attempts in doubt");
}

fn one_run(dice: &mut Dice) -> (usize, usize) {
    let step = |n: usize| {
        format!(
            "  - id: s{n:02}\n    on_in_doubt: rerun\n    run: \"echo $ENVOI_ATTEMPT >> ledger; sleep 0.02\"\n"
        )
    };
    let stage =
        Stage::with_flow(&format!("flow: both\nsteps:\n{}", (1..=STEPS).map(step).collect::<String>()));
    let (mut kills, mut run): (_, Option<String>) = (0, None);
    let mut asked = false;
    loop {
        let arguments: Vec<&str> = match &run {
            None => vec!["run", "flow.yaml"],
            // After three reruns of a visit a person is asked.
            Some(run) if asked => vec!["resume", run, "--in-doubt", "rerun"],
            Some(run) => vec!["resume", run],
        };
        let mut engine = stage.start(&arguments);
        if kills < KILLS_A_RUN {
            // Half of the kills meet an engine that starts, the others a step at work, however slow the machine is.
            let moment = if dice.between(0, 2) == 0 {
                dice.micros(10_000, 120_000)
            } else {
                let begun = stage.lines("ledger").len();
                wait_until("a step or the end", || engine.is_over() || stage.lines("ledger").len() > begun);
                dice.micros(0, 40_000)
            };
            let at = std::time::Instant::now() + moment;
            wait_until("the moment", || std::time::Instant::now() >= at);
            if !engine.is_over() {
                kill_all(&stage, engine);
                (kills, asked) = (kills + 1, false);
                run = run.or_else(|| stage.runs().first().map(|row| text(&row["run"])));
                continue;
            }
        }
        let done = engine.done();
        asked = done.code == Some(5);
        if !asked {
            assert_eq!(done.code, Some(0), "{done:?}");
            break;
        }
    }
    (kills, accounted_for(&stage))
}

/// The engine is stopped first, so that it starts no further supervisor while they are looked for.
fn kill_all(stage: &Stage, engine: Process) {
    engine.signal(Signal::STOP);
    wait_for("the stop", || matches!(state(engine.pid()), None | Some('T' | 'Z')).then_some(()));
    let supervisors = stage.supervisors();
    supervisors.iter().for_each(|pid| signal(*pid, Signal::KILL));
    engine.kill();
    let all_gone = || supervisors.iter().all(|pid| !lives(*pid));
    wait_until(&format!("{:?}", supervisors.iter().map(|pid| arguments(*pid)).collect::<Vec<_>>()), all_gone);
}

/// Checks every line of the ledger against the journal; returns how many attempts were in doubt.
fn accounted_for(stage: &Stage) -> usize {
    let outcomes: BTreeMap<_, _> = outcomes(stage, &stage.run_id()).into_iter().collect();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in stage.lines("ledger") {
        *lines.entry(line).or_default() += 1;
    }
    for (attempt, count) in &lines {
        assert_eq!(*count, 1, "`{attempt}` ran twice");
        assert!(outcomes.contains_key(attempt), "`{attempt}` ran and the journal knows nothing of it");
    }
    for n in 1..=STEPS {
        let of_step = outcomes.iter().filter(|(attempt, _)| attempt.starts_with(&format!("s{n:02}.")));
        let (doubtful, known): (Vec<_>, Vec<_>) = of_step.partition(|(_, outcome)| is_in_doubt(outcome));
        assert_eq!(known.len(), 1, "step {n}: {known:?} beside {doubtful:?}");
        assert!(lines.contains_key(known[0].0), "the attempt that counts ran");
    }
    stage.assert_nothing_left();
    outcomes.values().filter(|outcome| is_in_doubt(outcome)).count()
}
