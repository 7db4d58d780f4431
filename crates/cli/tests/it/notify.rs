//! Others are notified: at least once, always with the same id, never of what did not happen, and never in the way.

#[path = "../../../notify/tests/notify/receiver.rs"]
#[allow(dead_code, reason = "the tests of `notify` need more of it")]
pub(crate) mod receiver;

use crate::{
    stage::{Dice, LONG, Process, Stage, state, text, wait_for, wait_until},
    veil::{BELIEFS, Veil},
};
use envoi_testkit::HeldAddress;
use receiver::{Answer, OK, Receiver};
use serde_json::Value;
use std::collections::BTreeSet;

/// The error of a command whose engine did not wait for it.
const CUT_SHORT: &str = "the command was cut short when the engine closed";

/// A step, and these targets.
fn flow(notify: &str) -> String {
    format!(
        "flow: told\nnotify: {notify}\nsteps:\n  - id: work\n    run: echo $ENVOI_ATTEMPT >> ledger; echo $TRACEPARENT > trace\n"
    )
}

/// A loop that is never content: it ends in a question.
fn asking(notify: &str) -> String {
    format!(
        "flow: asking\nnotify: {notify}\nsteps:\n  - id: critic\n    run: \"echo 'Status: POOR'\"\n    \
         routing: {{ kind: microloop, success_values: [GOOD], max_iterations: 1 }}\n"
    )
}

/// The place of the last event of this type in the only run, as the id of its notice.
fn notice_of(stage: &Stage, run: &str, kind: &str) -> String {
    let seq = stage.events(run).iter().rposition(|event| event["type"] == kind).unwrap();
    format!("evt_{}_{seq}", run.strip_prefix("run_").unwrap())
}

fn notices(stage: &Stage, run: &str) -> Vec<Value> {
    stage.json(&["--json", "show", run])["notices"].as_array().unwrap().clone()
}

#[test]
fn an_end_has_one_notice_with_its_event_and_its_variables() {
    let stage = Stage::with_flow(&flow("{ command: 'cat >> told; env >> seen' }"));
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(!done.err.contains("not delivered"), "{done:?}");
    let run = stage.run_id();
    // Another resume is an engine again, with nothing to notify.
    stage.expect(0, &["resume", &run]);
    let told = stage.lines("told");
    assert_eq!(told.len(), 1, "{told:?}");
    let event: Value = serde_json::from_str(&told[0]).unwrap();
    let id = notice_of(&stage, &run, "run_ended");
    assert_eq!(event["id"], *id);
    assert_eq!((&event["specversion"], &event["type"]), (&"1.0".into(), &"dev.envoi.run.ended".into()));
    assert_eq!(
        (&event["source"], &event["subject"]),
        (&format!("/envoi/runs/{run}").into(), &run.clone().into())
    );
    let data = &event["data"];
    assert_eq!(
        (&data["status"], &data["flow"], &data["kind"]),
        (&"succeeded".into(), &"told".into(), &"end".into())
    );
    assert_eq!(data["terminal_reason"], "completed");
    let shown = stage.json(&["--json", "show", &run]);
    assert!(data["head"].is_string() && data["head"] == shown["head"], "{shown:#}");
    let seen = stage.read("seen");
    for line in [
        &format!("ENVOI_HEAD={}", text(&data["head"])),
        &format!("ENVOI_NOTICE_ID={id}"),
        "ENVOI_NOTICE=end",
        &format!("ENVOI_RUN_ID={run}"),
        "ENVOI_FLOW=told",
        "ENVOI_STEP=",
        "ENVOI_INTERRUPT=",
        "ENVOI_QUESTION=",
        "ENVOI_STATUS=succeeded",
        "USER=tester",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line} is not in\n{seen}");
    }
    assert_eq!(notices(&stage, &run), Vec::<Value>::new());
}

#[test]
fn the_notice_of_a_question_has_the_answering_command_and_goes_to_its_subscribers_only() {
    let stage = Stage::with_flow(&asking(
        "[{ command: 'cat >> asked; echo \"$ENVOI_STEP $ENVOI_STATUS $ENVOI_QUESTION\" > seen', on: [question] }, \
         { command: 'cat >> over', on: [end] }]",
    ));
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let event: Value = serde_json::from_str(&stage.read("asked")).unwrap();
    assert_eq!(event["type"], "dev.envoi.question.raised");
    assert_eq!(event["id"], *notice_of(&stage, &run, "interrupt_raised"));
    let shown = stage.json(&["--json", "show", &run]);
    let question = &shown["questions"][0];
    let data = &event["data"];
    for (member, of_the_row) in [("question", "text"), ("about", "about"), ("interrupt", "question")] {
        assert_eq!(data[member], question[of_the_row], "{member}");
    }
    // By the time it is read others may be open: it names its own.
    let named = format!("envoi answer {} --choice proceed, or stop", text(&question["question"]));
    assert_eq!(text(&data["answer"]), named);
    assert_eq!((&event["subject"], &data["step"]), (&question["question"], &"critic".into()));
    assert_eq!(stage.read("seen").trim_end(), format!("critic waiting {}", text(&question["text"])));
    assert_eq!(stage.read("over"), "");
    stage.expect(1, &["resume", &run, "--review", "stop"]);
    let event: Value = serde_json::from_str(&stage.read("over")).unwrap();
    assert_eq!((&event["data"]["status"], &event["data"]["step"]), (&"failed".into(), &"critic".into()));
}

#[test]
fn an_engine_that_is_killed_anywhere_tells_at_least_once_and_always_the_same() {
    let mut dice = Dice::new();
    let (mut kills, mut twice, mut delivered_later) = (0, 0, false);
    for _ in 0..12 {
        let stage = Stage::with_flow(&flow("{ command: 'echo $ENVOI_NOTICE_ID >> told; sleep 0.01' }"));
        let mut run: Option<String> = None;
        for attempt in 0.. {
            let arguments: Vec<&str> = match &run {
                None => vec!["run", "flow.yaml"],
                Some(run) => vec!["resume", run],
            };
            let engine = stage.start(&arguments);
            // Long enough to get to the notice and often not past it.
            let at = if attempt < 8 { dice.micros(5_000, 60_000) } else { LONG };
            let told = stage.lines("told");
            match engine.done_within(at) {
                Some(done) => {
                    assert_eq!(done.code, Some(0), "{done:?}");
                    break;
                }
                None => kills += 1,
            }
            if run.is_none() {
                run = stage.runs().first().map(|row| text(&row["run"]));
            }
            let is_over = run
                .as_ref()
                .is_some_and(|run| stage.events(run).iter().any(|event| event["type"] == "run_ended"));
            assert!(is_over || told.is_empty(), "told of an end that is not in the journal");
        }
        let run = stage.run_id();
        let notice = notice_of(&stage, &run, "run_ended");
        // Each try that a kill has cut short counts, and the next one comes seconds later: an engine with nothing else to do does not
        // wait for it. It is seen once that a later engine delivers the notice then.
        let pending = notices(&stage, &run);
        assert!(
            pending.iter().all(|row| row["notice"] == notice && row["gave_up_at"].is_null()),
            "{pending:?}"
        );
        // And always where every try was cut short before its command had said anything.
        if !pending.is_empty() && (!delivered_later || stage.lines("told").is_empty()) {
            delivered_later = true;
            wait_until("the notice to be delivered", || {
                stage.expect(0, &["resume", &run]);
                notices(&stage, &run).is_empty()
            });
        }
        let told = stage.lines("told");
        let ids: BTreeSet<_> = told.iter().cloned().collect();
        assert_eq!(ids, BTreeSet::from([notice]));
        twice += usize::from(told.len() > 1);
    }
    eprintln!("{kills} kills, told more than once in {twice} runs");
}

#[test]
fn a_notice_whose_command_kills_its_engine_keeps_no_later_engine_from_its_work() {
    let stage = Stage::with_flow(&flow("{ command: 'echo told >> told; kill -9 $PPID' }"));
    stage.write("other.yaml", "flow: other\nsteps:\n  - { id: a, run: echo a >> did }\n");
    let killed = stage.envoi(&["run", "flow.yaml"]);
    assert_eq!(killed.code, None, "{killed:?}");
    let run = stage.run_id();
    // The next tries may end more engines, after 0, 2, 4, 8 … seconds.
    let is_done = (0..8).any(|_| stage.envoi(&["run", "--share-workspace", "other.yaml"]).code == Some(0));
    assert!(is_done && !stage.lines("did").is_empty(), "{:?}", stage.lines("told"));
    let shown = stage.expect(0, &["show", &run]).out;
    assert!(
        shown.contains("notice of end to command ") && shown.contains("no engine has noted the end of "),
        "{shown}"
    );
}

#[test]
fn a_notice_that_was_delivered_and_not_marked_is_sent_again_with_its_id() {
    let stage =
        Stage::with_flow(&flow("{ command: 'echo $ENVOI_NOTICE_ID >> told; test -e go || kill -9 $PPID' }"));
    assert_eq!(stage.envoi(&["run", "flow.yaml"]).code, None, "killed by its own target");
    let run = stage.run_id();
    stage.write("go", "");
    stage.expect(0, &["resume", &run]);
    let id = notice_of(&stage, &run, "run_ended");
    assert_eq!(stage.lines("told"), [id.as_str(), id.as_str()]);
    assert_eq!(stage.lines("ledger"), ["work.1.1"]);
}

#[test]
fn over_https_a_target_s_certificate_is_checked_against_the_authorities_that_are_named() {
    for (authorities, is_believed) in BELIEFS {
        let receiver = Receiver::new(&[OK]);
        let veil = Veil::before(&receiver.url);
        let webhook = format!("{{ webhook: {{ url: '{}/hook', token: {{ env: TOKEN }} }} }}", veil.url);
        let stage = Stage::with_flow(&flow(&webhook));
        let mut command = stage.believing(authorities, &["run", "flow.yaml"]);
        let done = Process::spawn(command.env("TOKEN", "s3cret")).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        let notices = notices(&stage, &stage.run_id());
        if is_believed {
            let request = receiver.next();
            assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
            let (own, told) = (stage.read("trace"), request.header("traceparent").unwrap_or_default());
            assert_eq!((told.len(), &told[..35]), (own.trim().len(), &own[..35]), "the run's trace");
            assert!(notices.is_empty(), "{notices:?}");
        } else {
            veil.wait_until_refused();
            assert!(text(&notices[0]["last_error"]).starts_with("no connection"), "{notices:?}");
            assert!(receiver.is_quiet());
        }
    }
}

#[test]
fn a_target_that_fails_is_shown_and_tried_again_by_the_next_engine() {
    let held = HeldAddress::take().unwrap();
    let address = held.address().to_string();
    let url = format!("http://{address}/hook");
    let stage = Stage::with_flow(&flow(&format!("{{ webhook: '{url}' }}")));
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    assert!(
        done.err.contains(&format!("1 notice is not delivered; `envoi show {run}` says why")),
        "{done:?}"
    );
    let shown = notices(&stage, &run);
    assert_eq!((shown.len(), &shown[0]["tries"], &shown[0]["gave_up_at"]), (1, &1.into(), &Value::Null));
    assert_eq!(shown[0]["target"], *format!("webhook {address}"));
    assert!(text(&shown[0]["last_error"]).starts_with("no connection"), "{shown:?}");
    let words = stage.expect(0, &["show", &run]).out;
    assert!(
        words.contains(&format!("notice of end to webhook {address}: failed after 1 try, next try at ")),
        "{words}"
    );
    let doctor = stage.expect(0, &["doctor"]).out;
    assert!(
        doctor.contains("1 not delivered yet (1 of them failed, or their engine ended meanwhile, and are tried again), 0 given up"),
        "{doctor}"
    );
    let receiver = Receiver::at(&address, &[OK]);
    // Any engine of the store does it, in any command.
    wait_until("the next try", || {
        stage.expect(0, &["resume", &run]);
        notices(&stage, &run).is_empty()
    });
    let request = receiver.next();
    assert_eq!(request.header("idempotency-key"), Some(notice_of(&stage, &run, "run_ended").as_str()));
    assert!(receiver.is_quiet());
}

#[test]
fn a_target_that_refuses_is_given_up_and_shown_as_such() {
    let receiver = Receiver::new(&[Answer::Says("410 Gone", "")]);
    let stage = Stage::with_flow(&flow(&format!("{{ webhook: '{}' }}", receiver.url)));
    stage.expect(0, &["run", "flow.yaml"]);
    receiver.next();
    let run = stage.run_id();
    let words = stage.expect(0, &["show", &run]).out;
    assert!(words.contains(": given up at ") && words.contains("410"), "{words}");
    assert_eq!(notices(&stage, &run)[0]["next_try_at"], Value::Null);
    assert!(stage.expect(0, &["doctor"]).out.contains("1 given up"));
    stage.expect(0, &["resume", &run]);
    assert!(receiver.is_quiet());
}

#[test]
fn a_receiver_that_hangs_holds_up_neither_the_run_nor_its_exit_code() {
    let receiver = Receiver::new(&[Answer::Hangs, OK]);
    // A try may take a minute, as long as any command of these tests may at most.
    let webhook = format!("{{ webhook: {{ url: '{}', timeout: 1m }} }}", receiver.url);
    let stage = Stage::with_flow(&flow(&webhook));
    stage.expect(0, &["run", "flow.yaml"]);
    let first = receiver.next();
    let run = stage.run_id();
    let cut_short = notices(&stage, &run);
    assert_eq!((cut_short.len(), &cut_short[0]["tries"]), (1, &1.into()), "{cut_short:?}");
    wait_until("the second try", || {
        stage.expect(0, &["resume", &run]);
        notices(&stage, &run).is_empty()
    });
    let second = receiver.next();
    assert_eq!(
        (first.header("idempotency-key"), &first.body),
        (second.header("idempotency-key"), &second.body)
    );
    assert_eq!(notices(&stage, &run), Vec::<Value>::new());
}

#[test]
fn a_notice_may_answer_what_it_tells_of_while_its_engine_ends() {
    let answers = format!(
        "if {} answer --choice approve > said 2>&1; then echo 0 > ends; else echo 1 > ends; fi; mv ends code",
        env!("CARGO_BIN_EXE_envoi")
    );
    let stage = Stage::new();
    stage.write(
        "flow.yaml",
        format!("flow: asking\nnotify: {{ command: '{answers}', on: question }}\nsteps:\n  - {{ id: sure, ask: 'Go on?' }}\n  - {{ id: last, run: touch went }}\n"),
    );
    let done = stage.envoi(&["run", "flow.yaml"]);
    // On a busy machine the engine may have ended before the answer came; then it waits for it.
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    assert_eq!(done.code == Some(0), done.out.contains("succeeded"), "{done:?}");
    wait_until("the end of the command", || stage.path("code").exists());
    assert_eq!(stage.read("code"), "0\n", "{}", stage.read("said"));
    assert!(stage.path("went").exists());
}

#[test]
fn steps_go_on_while_a_receiver_of_another_run_hangs() {
    let receiver = Receiver::new(&[Answer::Hangs]);
    let webhook = format!("{{ webhook: {{ url: '{}', timeout: 1m }} }}", receiver.url);
    let stage = Stage::with_flow(&flow(&webhook));
    stage.write("other/flow.yaml", "flow: other\nsteps:\n  - id: wait\n    run: 'while [ ! -e go ]; do sleep 0.01; done'\n  - id: last\n    run: [\"true\"]\n");
    let engine = stage.start(&["run", "other/flow.yaml"]);
    wait_until("the engine's step", || {
        stage.attempt("wait.1.1").is_some_and(|dir| dir.join("started.json").exists())
    });
    stage.expect(0, &["run", "--share-workspace", "flow.yaml"]);
    receiver.next();
    stage.write("other/go", "");
    // The try would take a minute; a command of these tests that does is killed.
    assert_eq!(engine.done().code, Some(0));
    let run =
        stage.runs().into_iter().find(|row| row["flow"] == "told").map(|row| text(&row["run"])).unwrap();
    assert_eq!(notices(&stage, &run).len(), 1, "nobody has answered");
    assert!(receiver.is_quiet());
}

#[test]
fn the_configuration_names_targets_of_every_run_and_tokens_are_kept_nowhere() {
    let receiver = Receiver::new(&[OK]);
    let stage = Stage::with_flow(&flow("{ command: 'pwd > flow-told' }"));
    let url = &receiver.url;
    stage.write(
        ".envoi/config.yaml",
        format!("notify:\n  - command: [sh, -c, 'pwd > told']\n  - webhook: {{ url: '{url}', token: {{ env: HOOK_TOKEN }} }}\n"),
    );
    let done =
        Process::spawn(stage.command(&["run", "flow.yaml"]).env("HOOK_TOKEN", "hunter2-hunter2")).done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(receiver.next().header("authorization"), Some("Bearer hunter2-hunter2"));
    let folder = |name: &str| std::fs::canonicalize(stage.read(name).trim_end()).unwrap();
    assert_eq!(folder("flow-told"), std::fs::canonicalize(stage.path("")).unwrap());
    assert_eq!(folder(".envoi/told"), std::fs::canonicalize(stage.store()).unwrap());
    for name in ["envoi.db", "envoi.db-wal"] {
        let bytes = std::fs::read(stage.store().join(name)).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{name} holds the token");
    }
}

#[test]
fn a_notice_links_to_its_question_on_the_page_and_signs_no_one_in() {
    let stage =
        Stage::with_flow(&asking("{ command: 'cat >> told; echo $ENVOI_LINK >> links', on: question }"));
    stage.write(".envoi/config.yaml", "server: { public_url: 'https://envoi.example' }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let event: Value = serde_json::from_str(&stage.lines("told")[0]).unwrap();
    let link = format!("https://envoi.example/#/q/{}", text(&event["subject"]));
    assert_eq!(
        (event["data"]["link"].as_str(), stage.lines("links")),
        (Some(link.as_str()), vec![link.clone()])
    );
    // Without a page there is nothing to lead to.
    stage.write(".envoi/config.yaml", "server: { public_url: 'https://envoi.example', page: false }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let event: Value = serde_json::from_str(&stage.lines("told")[1]).unwrap();
    assert_eq!((event["data"].get("link"), stage.lines("links")[1].as_str()), (None, ""));
}

#[test]
fn a_variable_that_has_a_token_is_read_by_no_expression() {
    let hook = "webhook: { url: 'https://hooks.example', token: { env: HOOK_TOKEN } }";
    let read = "steps:\n  - { id: a, run: [echo, '${{ env.HOOK_TOKEN }}'] }\n";
    for (flow, config) in [
        (format!("flow: told\nnotify: {{ {hook} }}\n{read}"), String::new()),
        (format!("flow: told\n{read}"), format!("notify: {{ {hook} }}\n")),
        (
            format!("flow: told\n{read}"),
            "models: { providers: { lab: { url: 'https://lab.example/v1', key: { env: HOOK_TOKEN } } }, offer: { small: { provider: lab, name: m } } }\n".to_owned(),
        ),
    ] {
        let stage = Stage::with_flow(&flow);
        stage.write(".envoi/config.yaml", &config);
        let mut command = stage.command(&["run", "flow.yaml"]);
        let done = Process::spawn(command.env("HOOK_TOKEN", "hunter2-hunter2")).done();
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.err.contains("FLOW_INVALID") && done.err.contains("`env.HOOK_TOKEN`"), "{done:?}");
        assert!(stage.runs().is_empty());
    }
}

#[test]
fn a_missing_token_is_reported_and_the_notice_waits_for_it() {
    let receiver = Receiver::new(&[OK]);
    let webhook = format!("{{ webhook: {{ url: '{}', token: {{ file: token }} }} }}", receiver.url);
    let stage = Stage::with_flow(&flow(&webhook));
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    assert!(text(&notices(&stage, &run)[0]["last_error"]).starts_with("`token`: "));
    stage.write("token", "abc\n");
    wait_until("the next try", || {
        stage.expect(0, &["resume", &run]);
        notices(&stage, &run).is_empty()
    });
    assert_eq!(receiver.next().header("authorization"), Some("Bearer abc"));
}

#[test]
fn the_notice_of_a_handed_over_run_has_the_token_of_its_own_caller() {
    let receiver = Receiver::new(&[OK]);
    let webhook = format!("{{ webhook: {{ url: '{}', token: {{ env: MINE }} }} }}", receiver.url);
    let stage = Stage::with_flow(&flow(&webhook));
    stage.write(
        "other/flow.yaml",
        "flow: other\nsteps:\n  - id: wait\n    run: 'while [ ! -e go ]; do sleep 0.01; done'\n",
    );
    let engine = stage.start(&["run", "other/flow.yaml"]);
    wait_until("the engine's step", || {
        stage.attempt("wait.1.1").is_some_and(|dir| dir.join("started.json").exists())
    });
    let done = Process::spawn(
        stage.command(&["run", "--share-workspace", "flow.yaml"]).env("MINE", "of-the-caller"),
    )
    .done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(receiver.next().header("authorization"), Some("Bearer of-the-caller"));
    stage.write("other/go", "");
    assert_eq!(engine.done().code, Some(0));
}

#[test]
fn a_broken_configuration_refuses_the_command_and_stops_no_attempt() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: work\n    run: 'echo $ENVOI_ATTEMPT >> ledger; while [ ! -e go ]; do sleep 0.01; done; echo done >> ledger'\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the step", || !stage.lines("ledger").is_empty());
    let run = stage.run_id();
    engine.kill();
    stage.write(".envoi/config.yaml", "notify: { comand: tell }\n");
    for arguments in
        [&["resume", &run][..], &["run", "flow.yaml", "--copy"], &["run", "flow.yaml", "--copy", "--detach"]]
    {
        let done = stage.expect(2, arguments);
        for words in ["error[CONFIG_INVALID]", "config.yaml:1:11", "did you mean `command`?"] {
            assert!(done.err.contains(words), "{words}: {done:?}");
        }
    }
    assert_eq!(stage.runs().len(), 1, "nothing was begun");
    let doctor = stage.expect(8, &["doctor"]).out;
    assert!(
        doctor.contains("BAD  configuration") && doctor.contains("config.yaml cannot be used"),
        "{doctor}"
    );
    let supervisor = stage.supervisor("work.1.1").unwrap();
    assert!(matches!(state(supervisor), Some('S' | 'R' | 'D')), "the attempt goes on");
    stage.write("go", "");
    wait_for("the end of the attempt", || {
        stage.attempt("work.1.1").filter(|dir| dir.join("exit.json").exists())
    });
    stage.write(".envoi/config.yaml", "# nothing\n");
    stage.expect(0, &["resume", &run]);
    assert_eq!(stage.lines("ledger"), ["work.1.1", "done"]);
}

#[test]
fn a_configuration_that_is_no_plain_file_is_refused_and_not_waited_for() {
    let stage = Stage::with_flow(&flow("{ command: 'true' }"));
    std::fs::create_dir_all(stage.store()).unwrap();
    let config = stage.store().join("config.yaml");
    let make = |what: &str| match what {
        "a pipe" => assert!(std::process::Command::new("mkfifo").arg(&config).status().unwrap().success()),
        "a device" => std::os::unix::fs::symlink("/dev/zero", &config).unwrap(),
        _ => std::fs::create_dir(&config).unwrap(),
    };
    for what in ["a pipe", "a device", "a folder"] {
        make(what);
        let done = stage.expect(2, &["run", "flow.yaml"]);
        for words in ["error[CONFIG_INVALID]", "config.yaml cannot be used: it is not a plain file"] {
            assert!(done.err.contains(words), "{what}: {done:?}");
        }
        std::fs::remove_file(&config).or_else(|_| std::fs::remove_dir(&config)).unwrap();
    }
    stage.expect(0, &["run", "flow.yaml"]);
}

#[test]
fn ctrl_c_leaves_the_command_of_a_notice_and_the_next_engine_sends_it_again() {
    let stage =
        Stage::with_flow(&asking("{ command: 'echo $ENVOI_NOTICE_ID >> told; test -e go || sleep 600' }"));
    stage.write("other/flow.yaml", "flow: other\nsteps:\n  - id: wait\n    run: 'while [ ! -e go ]; do sleep 0.01; done'\n  - id: last\n    run: [\"true\"]\n");
    let engine = stage.start(&["run", "other/flow.yaml"]);
    wait_until("the engine's step", || {
        stage.attempt("wait.1.1").is_some_and(|dir| dir.join("started.json").exists())
    });
    stage.expect(3, &["run", "--share-workspace", "flow.yaml"]);
    wait_until("the notice", || stage.lines("told").len() == 1);
    engine.signal(rustix::process::Signal::INT);
    wait_until("its hearing that", || engine.said().contains("starting nothing new"));
    stage.write("other/go", "");
    assert_eq!(engine.done_within(LONG).and_then(|done| done.code), Some(7));
    // What was killed may take a moment to be gone.
    wait_until("the command to end with its engine", || stage.processes().is_empty());
    stage.write("go", "");
    let run =
        stage.runs().into_iter().find(|row| row["flow"] == "asking").map(|row| text(&row["run"])).unwrap();
    let notice = &notices(&stage, &run)[0];
    assert_eq!((&notice["tries"], &notice["last_error"]), (&1.into(), &CUT_SHORT.into()), "it counts");
    wait_until("the second try", || {
        stage.expect(3, &["resume", &run]);
        stage.lines("told").len() > 1
    });
    let told = stage.lines("told");
    assert_eq!((told.len(), &told[0]), (2, &told[1]));
}

#[test]
fn an_unanswered_question_has_a_notice_when_it_is_asked_and_when_it_expires() {
    let stage = Stage::with_flow(
        "flow: asking\nnotify: { command: 'e=$(cat); printf \"%s\\n\" \"$e\" >> told' }\nsteps:\n  - id: approve\n    \
         ask: { kind: confirmation, message: 'Go?', expires_in: 100ms }\n",
    );
    let first = stage.envoi(&["run", "flow.yaml"]);
    assert!(matches!(first.code, Some(3 | 1)), "{first:?}");
    let run = stage.run_id();
    // Resumed after its end it would ask again.
    let is_over = || stage.events(&run).iter().any(|event| event["type"] == "run_ended");
    wait_until("the expiry", || {
        is_over() || {
            stage.envoi(&["resume", &run]);
            is_over()
        }
    });
    // An engine that ended while a command was at work leaves it, and the next one gives the same notice again.
    let lines = || BTreeSet::from_iter(stage.lines("told"));
    wait_until("the notices", || lines().len() >= 3);
    let told: Vec<Value> = lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    let of = |kind: &str| told.iter().find(|event| event["type"] == kind).unwrap();
    let (raised, expired) = (of("dev.envoi.question.raised"), of("dev.envoi.question.expired"));
    assert_eq!(expired["id"], *notice_of(&stage, &run, "interrupt_expired"));
    assert_eq!(
        (&raised["subject"], &raised["data"]["question"]),
        (&expired["subject"], &expired["data"]["question"])
    );
    assert_eq!(expired["data"]["status"], "expired");
    assert!(raised["data"]["answer"].is_string() && expired["data"]["answer"].is_null());
    assert_eq!(of("dev.envoi.run.ended")["data"]["status"], "failed");
}

#[test]
fn a_question_that_was_answered_in_advance_has_no_notice() {
    let flow =
        "flow: sure\nnotify: { command: 'echo $ENVOI_NOTICE >> told' }\nsteps:\n  - { id: go, ask: 'Go?' }\n";
    let stage = Stage::with_flow(flow);
    stage.expect(0, &["run", "flow.yaml", "--yes-to", "go"]);
    assert_eq!(stage.lines("told"), ["end"]);
    let stage = Stage::with_flow(flow);
    stage.expect(3, &["run", "flow.yaml"]);
    stage.expect(0, &["approve"]);
    assert_eq!(stage.lines("told"), ["question", "end"]);
}
