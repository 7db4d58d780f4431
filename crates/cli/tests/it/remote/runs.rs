//! Runs that are started, answered, resumed and ended from afar.

use super::{Afar, abandoned, mirrors, served};
use crate::{
    serve::{APPROVAL, client::Served},
    stage::{Process, Stage, text, wait_for, wait_until},
    terminal::Terminal,
};
use rustix::process::Signal;
use std::path::PathBuf;

#[test]
fn a_pause_is_answered_with_a_file_which_the_next_step_reads() {
    let flow = "
flow: publish
steps:
  - { id: draft, run: echo words > notes.md, artifacts: [notes.md] }
  - { id: approve, ask: 'Publish it?' }
  - { id: publish, run: 'cat $ENVOI_RUN_BASE/answers/*/files/minutes.txt > did.txt' }
";
    let stage = Stage::with_flow(flow);
    let (served, afar) = served(&stage);
    let done = afar.expect(3, &["run", "flow.yaml"]);
    let question = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    assert!(
        done.err.contains(&format!("answer: envoi approve {question}, or envoi deny {question}")),
        "{done:?}"
    );
    stage.write("minutes.txt", "as agreed\n");
    let ann = Afar::with(&stage, &served, &["ann", "--scope", "answer"]);
    ann.expect(0, &["approve", "-f", "minutes.txt", "--note", "fine"]);
    assert_eq!(stage.read("did.txt"), "as agreed\n");
    let given = stage.json(&["--json", "show", &question])["given"].clone();
    assert_eq!([&given["by"], &given["text"], &given["channel"]], ["ann", "fine", "rest"]);
    let file = &given["attachments"][0];
    assert_eq!([&file["filename"], &file["mime"]], ["minutes.txt", "text/plain"], "{given}");
    // A late answer to a closed question.
    let late = ann.expect(6, &["deny", &question]);
    assert!(late.err.contains("QUESTION_CLOSED"), "{late:?}");
}

#[test]
fn a_run_is_at_rest_when_nothing_beside_its_question_goes_on() {
    let mut flow = "flow: beside\nsteps:\n  - { id: ask, ask: 'Publish it?', needs: [] }\n".to_owned();
    for n in 0..8 {
        let needs = if n == 0 { String::new() } else { format!("s{}", n - 1) };
        flow += &format!("  - {{ id: s{n}, run: echo {n} >> did.txt, needs: [{needs}] }}\n");
    }
    let stage = Stage::with_flow(&flow);
    let (_served, afar) = served(&stage);
    let done = afar.expect(3, &["run", "flow.yaml"]);
    assert_eq!(stage.lines("did.txt").len(), 8, "{done:?}");
    assert!(done.err.contains("s7.1 "), "{done:?}");
}

#[test]
fn an_answer_counts_for_what_was_seen_only() {
    let stage = Stage::with_flow(APPROVAL);
    let (_served, afar) = served(&stage);
    afar.expect(3, &["run", "flow.yaml"]);
    let other = format!("sha256:{}", "0".repeat(64));
    let refused = afar.expect(6, &["approve", "--seen", &other]);
    assert!(refused.err.contains("SUBJECT_CHANGED"), "{refused:?}");
    stage.write("notes.md", "other words\n");
    let refused = afar.expect(6, &["approve"]);
    assert!(refused.err.contains("SUBJECT_CHANGED"), "{refused:?}");
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    let question = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    let shown = afar.expect(0, &["show", &question]);
    assert!(shown.out.contains("+other words"), "{shown:?}");
    afar.expect(0, &["approve"]);
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn an_answer_may_only_be_recorded_and_the_run_resumed_later() {
    let stage = Stage::with_flow(APPROVAL);
    let (_served, afar) = served(&stage);
    afar.expect(3, &["run", "flow.yaml"]);
    let recorded = afar.expect(0, &["approve", "--no-resume"]);
    assert_eq!(recorded.out, format!("{} answered\n", stage.run_id()));
    let resumed = afar.expect(0, &["resume", &stage.run_id()]);
    assert_eq!(resumed.out, format!("{} succeeded\n", stage.run_id()));
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn a_run_that_failed_is_resumed_and_one_that_is_live_is_cancelled() {
    let flow = "flow: one\nsteps:\n  - id: a\n    run: echo a >> did.txt; test -e go && while [ ! -e stop ]; do sleep 0.02; done\n";
    let stage = Stage::with_flow(flow);
    let (served, afar) = served(&stage);
    afar.expect(1, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("go", "");
    let resumed = afar.expect(0, &["resume", &run, "--detach", "--reason", "it can go on"]);
    assert_eq!(resumed.out, format!("{run}\n"));
    wait_until("the second attempt", || stage.lines("did.txt").len() == 2);
    let follower = afar.start(&["resume", &run]);
    // A request that arrived after the cancellation would open the run again.
    let server = served.client(served.first.as_deref().unwrap());
    wait_until("the follower's request", || {
        server.get("/v1/metrics").text().contains("{operation=\"resumeRun\",status=\"202\"} 2\n")
    });
    let cancelled = afar.expect(0, &["cancel", &run[run.len() - 6..]]);
    assert_eq!(cancelled.out, format!("{run} cancelled\n"));
    let followed = follower.done();
    assert_eq!((followed.code, followed.out), (Some(130), format!("{run} cancelled\n")));
    stage.assert_nothing_left();
    let why = afar.expect(0, &["why"]).out;
    assert!(why.contains("it can go on") && why.contains("by first"), "{why}");
}

#[test]
fn a_flow_is_registered_by_those_who_may_and_run_by_its_name_by_others() {
    let stage = Stage::with_flow(APPROVAL);
    let (served, admin) = served(&stage);
    let ann = Afar::with(&stage, &served, &["ann", "--scope", "run", "--scope", "answer"]);
    let refused = ann.expect(6, &["run", "flow.yaml"]);
    assert!(refused.err.contains("SCOPE_TOO_SMALL") && refused.err.contains("not registered"), "{refused:?}");
    assert_eq!(stage.runs(), Vec::<serde_json::Value>::new());
    let unknown = ann.expect(2, &["run", "publish"]);
    assert!(unknown.err.contains("FLOW_NOT_FOUND"), "{unknown:?}");
    admin.expect(0, &["run", "flow.yaml", "--yes-to", "approve"]);
    // A known flow is not registered anew; a comment does not change it.
    stage.write("flow.yaml", format!("# the same\n{APPROVAL}"));
    let digest = text(&stage.runs()[0]["flow_digest"]);
    for flow in ["flow.yaml", "publish", &digest] {
        let detached = ann.expect(0, &["run", flow, "--detach", "--yes-to", "approve"]);
        let run = detached.out.trim().to_owned();
        wait_until("its end", || stage.json(&["--json", "show", &run])["status"] == "succeeded");
    }
    assert_eq!(stage.lines("did.txt").len(), 8);
}

#[test]
fn a_bound_is_raised_and_a_run_is_forked_from_afar() {
    let flow = "
flow: one
limits: { agent_hops: 2 }
steps:
  - { id: a, run: echo a >> did.txt }
  - { id: b, run: echo b >> did.txt }
  - { id: c, run: echo c >> did.txt }
";
    let stage = Stage::with_flow(flow);
    let (_served, afar) = served(&stage);
    afar.expect(4, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let nothing = afar.expect(6, &["raise", &run, "--llm-calls", "1"]);
    assert!(nothing.err.contains("NOT_RAISED"), "{nothing:?}");
    let raised = afar.expect(0, &["raise", &run, "--agent-hops", "4", "--reason", "it is worth it"]);
    assert_eq!(raised.out, format!("{run} succeeded\n"));
    let forked = afar.expect(0, &["fork", &run[run.len() - 6..], "--from", "b", "--reason", "otherwise"]);
    let newest = text(&stage.runs()[0]["run"]);
    assert_eq!(forked.out, format!("{newest} succeeded\n"));
    // Earlier events are not shown again.
    assert!(forked.err.contains("  b.1 ") && !forked.err.contains("  a.1 "), "{forked:?}");
    assert_eq!(stage.lines("did.txt"), ["a", "b", "c", "b", "c"]);
    let detached = afar.expect(0, &["--json", "fork", &run, "--from", "c", "--detach"]);
    let detached: serde_json::Value = serde_json::from_str(&detached.out).unwrap();
    wait_until("its end", || {
        stage.json(&["--json", "show", &text(&detached["run"])])["status"] == "succeeded"
    });
    assert!(afar.expect(0, &["why", &newest]).out.contains("otherwise"));
}

#[test]
fn a_flow_is_registered_with_those_that_it_names() {
    let stage = Stage::with_flow(
        "flow: outer\nsteps:\n  - { id: a, flow: parts/inner.yaml, inputs: { word: '${{ inputs.word }}' } }\ninputs: { word: { type: string } }\n",
    );
    stage.write(
        "parts/inner.yaml",
        "flow: inner\ninputs: { word: { type: string } }\nsteps:\n  - { id: say, run: ['sh', '-c', 'echo $0 >> did.txt', '${{ inputs.word }}'] }\n",
    );
    let (_served, afar) = served(&stage);
    afar.expect(0, &["run", "flow.yaml", "-i", "word=one"]);
    std::fs::remove_dir_all(stage.path("parts")).unwrap();
    afar.expect(0, &["run", "outer", "-i", "word=two"]);
    assert_eq!(stage.lines("did.txt"), ["one", "two"]);
    let missing = afar.expect(2, &["run", "outer"]);
    assert!(missing.err.contains("INPUT_INVALID"), "{missing:?}");
}

#[test]
fn an_attempt_in_doubt_is_decided_about_from_afar() {
    let stage = Stage::with_flow(
        "flow: one\nsteps:\n  - id: a\n    run: echo a >> did.txt; test -e go || kill -9 $PPID; sleep 0.1\n",
    );
    let (_served, afar) = served(&stage);
    let doubt = afar.expect(5, &["run", "flow.yaml"]);
    assert!(doubt.err.contains("--in-doubt rerun, or fail"), "{doubt:?}");
    stage.write("go", "");
    afar.expect(0, &["resume", "--in-doubt", "rerun"]);
    assert_eq!(stage.lines("did.txt"), ["a", "a"]);
}

#[test]
fn a_prompt_at_the_terminal_ends_when_another_person_answers() {
    let flow = "
flow: plain
steps:
  - { id: draft, run: 'echo words > notes.md', artifacts: [notes.md] }
  - { id: first, ask: 'Print it?' }
  - { id: second, ask: 'Publish it?' }
  - { id: publish, run: 'echo published > did.txt' }
";
    let stage = Stage::with_flow(flow);
    let (served, afar) = served(&stage);
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &afar.env());
    let prompts = |words: &str| {
        wait_until(words, || {
            let shown = terminal.shows();
            shown.contains(words) && shown.trim_end().ends_with("approve, deny, show, later?")
        });
    };
    prompts("Print it?");
    assert!(terminal.shows().contains("created notes.md +1 -0"), "{}", terminal.shows());
    terminal.types("approve\n");
    wait_until("its note", || terminal.shows().contains("note (Enter for none)"));
    terminal.types("\n");
    prompts("Publish it?");
    let other = Afar::with(&stage, &served, &["ann", "--scope", "answer"]);
    assert_eq!(other.start(&["approve"]).done().code, Some(0));
    let (text, code, emulator) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        emulator.shows().contains("the question is closed: answered: approve by ann"),
        "{}",
        emulator.shows()
    );
    assert_eq!(stage.lines("did.txt"), ["published"]);
    assert_eq!(mirrors(&stage), Vec::<PathBuf>::new());
}

#[test]
fn what_a_command_has_brought_that_is_killed_is_removed_by_the_next_one_and_what_is_in_use_is_not() {
    let stage =
        Stage::with_flow("flow: one\nsteps:\n  - { id: a, run: 'while [ ! -e go ]; do sleep 0.02; done' }\n");
    let (_served, afar) = served(&stage);
    let mut killed = afar.start(&["--json", "run", "flow.yaml"]);
    while !killed.line().contains("attempt_started") {}
    killed.kill();
    let left = abandoned(&stage);
    assert_eq!((left.len(), mirrors(&stage).len()), (1, 1), "{left:?}");
    let run = stage.run_id();
    let follower = afar.start(&["resume", &run]);
    let held = wait_for("its folder, alone", || {
        let here = mirrors(&stage);
        // While it is made it has another name.
        let is_made = |place: &PathBuf| {
            place.extension().is_none()
                && place.file_name().is_some_and(|name| name.to_string_lossy().starts_with("envoi-mirror-"))
        };
        let is_its = here.len() == 1 && is_made(&here[0]) && here != left;
        (is_its && abandoned(&stage).is_empty()).then_some(here)
    });
    afar.expect(0, &["show", &run]);
    assert_eq!(mirrors(&stage), held);
    stage.write("go", "");
    assert_eq!(follower.done().code, Some(0));
    assert_eq!(mirrors(&stage), Vec::<PathBuf>::new());
}

#[test]
fn ctrl_c_leaves_the_run_going_and_says_so() {
    let stage =
        Stage::with_flow("flow: one\nsteps:\n  - { id: a, run: 'while [ ! -e go ]; do sleep 0.02; done' }\n");
    let (_served, afar) = served(&stage);
    let mut following = afar.start(&["--json", "run", "flow.yaml"]);
    while !following.line().contains("attempt_started") {}
    following.signal(Signal::INT);
    let done = following.done();
    assert_eq!(done.code, Some(7), "{done:?}");
    let run = stage.run_id();
    for words in [
        "the run goes on at http://127.0.0.1:",
        &format!("envoi cancel {run}"),
        &format!("envoi resume {run}"),
    ] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    assert_eq!(mirrors(&stage), Vec::<PathBuf>::new());
    stage.write("go", "");
    let resumed = afar.expect(0, &["resume", &run]);
    assert_eq!(resumed.out, format!("{run} succeeded\n"));
}

#[test]
fn the_suggested_command_reaches_the_same_server() {
    let stage = Stage::with_flow(APPROVAL);
    let served = Served::start(&stage);
    stage.write("my token", format!("{}\n", served.first.clone().unwrap()));
    let options = ["--server", &served.url, "--token-file", "my token"];
    let arguments = |command: &[&'static str]| -> Vec<String> {
        options.iter().chain(command).map(|argument| (*argument).to_owned()).collect()
    };
    let call = |command: &[&'static str]| {
        let arguments = arguments(command);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Process::spawn(stage.command(&arguments).env("ENVOI_HOME", stage.path("nowhere"))).done()
    };
    let done = call(&["run", "flow.yaml"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    let again = format!("envoi --server {} --token-file 'my token' approve int_", served.url);
    assert!(done.err.contains(&again), "{done:?}");
    assert!(call(&["show"]).out.contains(&again));
    assert_eq!(call(&["approve"]).code, Some(0));
}

#[test]
fn over_https_the_certificate_is_checked_against_those_that_are_named() {
    let stage = Stage::with_flow(APPROVAL);
    stage.write(".envoi/chain.pem", include_str!("certificate.pem"));
    stage.write(".envoi/key.pem", include_str!("key.pem"));
    stage.write(".envoi/config.yaml", "server: { tls: { certificate: chain.pem, key: key.pem } }\n");
    stage.write("authority.pem", include_str!("authority.pem"));
    stage.write("other.pem", include_str!("../serve/certificate.pem"));
    let (_served, afar) = served(&stage);
    assert!(afar.url.starts_with("https://"), "{}", afar.url);
    afar.expect(3, &["--server-ca", "authority.pem", "run", "flow.yaml"]);
    afar.expect(0, &["--server-ca", "authority.pem", "approve"]);
    for trusted in [&["--server-ca", "other.pem"][..], &[]] {
        let arguments: Vec<&str> = trusted.iter().chain(&["runs"]).copied().collect();
        let refused = afar.expect(8, &arguments);
        assert!(refused.err.contains("SERVER_UNREACHABLE"), "{refused:?}");
    }
}

#[test]
fn a_start_is_one_start_wherever_the_server_is_killed() {
    let stage = Stage::with_flow("flow: tick\nsteps:\n  - { id: a, run: echo a >> did.txt }\n");
    let (first, afar) = served(&stage);
    let address = first.address();
    afar.expect(0, &["run", "flow.yaml"]);
    let mut dice = crate::stage::Dice::new();
    let mut server = Some(first);
    let rounds = 5;
    for _ in 0..rounds {
        let starting = afar.start(&["run", "tick", "--share-workspace"]);
        std::thread::park_timeout(dice.micros(2_000, 60_000));
        server.take().unwrap().process.kill();
        server = Some(Served::on(&stage, &address));
        let done = starting.done();
        // A request that did not arrive is reported so, and starts nothing.
        let unheard = done.code == Some(8) && done.err.contains("SERVER_UNREACHABLE");
        assert!(done.code == Some(0) || unheard, "{done:?}");
        if unheard {
            afar.expect(0, &["run", "tick", "--share-workspace"]);
        }
    }
    wait_for("every run's end", || stage.runs().iter().all(|run| run["status"] == "succeeded").then_some(()));
    assert_eq!(stage.runs().len(), rounds + 1);
    assert_eq!(stage.lines("did.txt").len(), rounds + 1);
}

/// `make` is dear, `use` has a typo.
fn typo(command: &str) -> String {
    format!(
        "flow: fix\nsteps:\n  - id: make\n    run: echo made >> did.txt\n  - id: use\n    run: {command}\n  - id: last\n    \
         run: while [ -e hold ]; do sleep 0.02; done; echo last >> did.txt\n"
    )
}

#[test]
fn a_flow_is_corrected_from_afar_by_those_who_may() {
    let stage = Stage::with_flow(&typo("ehco used"));
    let (served, admin) = served(&stage);
    admin.expect(1, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.write("fixed.yaml", typo("echo used >> did.txt"));
    let ann = Afar::with(&stage, &served, &["ann", "--scope", "run"]);
    let refused = ann.expect(6, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    assert!(
        refused.err.contains("SCOPE_TOO_SMALL") && refused.err.contains("not registered there"),
        "{refused:?}"
    );
    let asked = admin.expect(2, &["resume", &run, "--flow", "fixed.yaml"]);
    for row in
        ["make  kept", "use   changed: run", "runs again", "goes on at `use`", "--flow fixed.yaml --yes"]
    {
        assert!(asked.err.contains(row), "{row}: {asked:?}");
    }
    assert_eq!(stage.lines("did.txt"), ["made"]);
    // The run is the one of that flow, also if others wait.
    stage.write("other.yaml", "flow: other\nsteps:\n  - id: ok\n    ask: OK?\n  - id: b\n    run: 'true'\n");
    let other = admin.expect(0, &["run", "other.yaml", "--detach"]);
    let past = ann.expect(6, &["run", "other.yaml", "--skip", "ok"]);
    assert!(past.err.contains("SCOPE_TOO_SMALL") && !past.err.contains("registered"), "{past:?}");
    assert!(past.err.contains("the question of `ok` is not asked"), "{past:?}");
    let done = admin.expect(0, &["resume", "--flow", "fixed.yaml", "--yes", "--reason", "a typo"]);
    admin.expect(0, &["cancel", other.out.trim()]);
    assert!(done.err.contains("flow corrected by first"), "{done:?}");
    assert_eq!(done.out, format!("{run} succeeded\n"));
    assert_eq!(stage.lines("did.txt"), ["made", "used", "last"]);
    let over = admin.expect(6, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert!(over.err.contains("NOT_REOPENABLE"), "{over:?}");
    // By its digest who may only start runs corrects one, too; and forks one.
    admin.expect(1, &["run", "flow.yaml"]);
    let second = text(&stage.runs()[0]["run"]);
    register(&served, &typo("echo used >> did.txt"));
    ann.expect(0, &["fork", &second, "--flow", "fixed.yaml"]);
    let same = ann.expect(1, &["resume", &second, "--flow", "flow.yaml", "--yes"]);
    assert!(same.err.contains("nothing to correct"), "{same:?}");
    ann.expect(0, &["resume", &second, "--flow", "fixed.yaml", "--from", "make", "--yes"]);
    let expected = ["made", "used", "last", "made", "used", "last", "made", "used", "last"];
    assert_eq!(stage.lines("did.txt"), expected);
}

#[test]
fn an_inner_flow_is_corrected_from_afar_and_goes_on_where_it_stopped() {
    let inner = |command: &str| {
        format!(
            "flow: inner\nsteps:\n  - {{ id: one, run: echo one >> did.txt }}\n  - {{ id: two, run: {command} }}\n"
        )
    };
    let stage = Stage::with_flow(
        "flow: outer\nsteps:\n  - { id: a, run: echo a >> did.txt }\n  - { id: sub, flow: ./inner.yaml }\n  - { id: z, run: echo z >> did.txt }\n",
    );
    stage.write("inner.yaml", inner("ehco two"));
    let (_served, admin) = served(&stage);
    admin.expect(1, &["run", "flow.yaml"]);
    let run = stage.run_id();
    // The step at which it stopped cannot go: the correction is refused, and nothing has changed.
    stage.write("inner.yaml", inner("echo two >> did.txt").replace("id: two", "id: other"));
    let refused = admin.expect(6, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert!(refused.err.contains("step `two` of flow `inner` is gone"), "{refused:?}");
    stage.write("inner.yaml", inner("echo two >> did.txt"));
    let asked = admin.expect(2, &["resume", &run, "--flow", "flow.yaml"]);
    for row in ["a     kept", "sub   changed: flow inner (two)", "z     kept", "goes on at `sub`"] {
        assert!(asked.err.contains(row), "{row}: {asked:?}");
    }
    assert_eq!(stage.lines("did.txt"), ["a", "one"]);
    admin.expect(0, &["resume", &run, "--flow", "flow.yaml", "--yes"]);
    assert_eq!(stage.lines("did.txt"), ["a", "one", "two", "z"]);
}

fn register(served: &Served, flow: &str) {
    let admin = served.client(served.first.as_deref().unwrap());
    assert_eq!(admin.call("POST", "/v1/flows", &[], flow.as_bytes()).status, 201);
}

#[test]
fn a_follower_of_a_run_at_a_server_continues_after_a_correction() {
    let stage = Stage::with_flow(&typo("ehco used"));
    let (_served, admin) = served(&stage);
    stage.write("hold", "");
    let asks =
        typo("ehco used").replace("run: ehco used", "ask: Use it?") + "  - { id: fin, run: ehco fin }\n";
    stage.write("asks.yaml", &asks);
    let started = admin.expect(0, &["run", "asks.yaml", "--detach"]);
    let run = started.out.trim().to_owned();
    wait_until("the question", || {
        stage.json(&["--json", "show", &run])["questions"] != serde_json::json!([])
    });
    stage.write("fixed.yaml", asks.replace("Use it?", "Use this?").replace("id: last", "id: later"));
    admin.expect(3, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    let follower = admin.start(&["approve"]);
    wait_until("the last step", || stage.json(&["--json", "show", &run])["running"] != serde_json::json!([]));
    let fixed = asks.replace("Use it?", "Use this?").replace("id: last", "id: later");
    stage.write("again.yaml", fixed.replace("ehco fin", "echo fin >> did.txt"));
    admin.expect(0, &["resume", &run, "--flow", "again.yaml", "--yes", "--detach"]);
    std::fs::remove_file(stage.path("hold")).unwrap();
    let followed = follower.done();
    assert_eq!((followed.code, followed.out), (Some(0), format!("{run} succeeded\n")), "{}", followed.err);
    assert!(followed.err.contains("fin.1 "), "{}", followed.err);
    assert_eq!(stage.lines("did.txt"), ["made", "last", "fin"]);
}
