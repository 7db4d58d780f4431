//! Several steps at once, killed at any moment: a done step is not done again, an open one is, and losers end.
//!
//! Owns the whole of a parallel flow over crashes of the engine alone, and of engine and supervisors together. The
//! kernel's tests show how two branches affect each other.

use crate::{
    crash::Shown,
    stage::{Dice, LONG, Stage, lives, signal, text, wait_until},
};
use envoi_journal::{Layout, Store};
use envoi_kernel::{
    Flow, Record, Run,
    ids::{RunId, VisitId},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

const KILLS: usize = 60;
/// So many of one run, then it is left alone to come to its end.
const KILLS_A_RUN: usize = 12;
/// The work of a command for its step: one short write, which the file takes whole.
const MARK: &str = "echo $ENVOI_ATTEMPT >> ledger";

/// A question beside a part that is done twice: a fan, an inner flow, and two of which the first is enough. The one that
/// loses would run for ten minutes, and does not leave at once when it is asked to.
fn flow() -> String {
    format!(
        "
flow: beside
steps:
  - {{ id: start, run: '{MARK}' }}
  - {{ id: approve, needs: [start], ask: 'Publish it?' }}
  - {{ id: prepare, needs: [start], run: '{MARK}' }}
  - id: look
    needs: [prepare]
    for_each: [api, web, app, docs]
    max_parallel: 2
    run: '{MARK}; sleep 0.02; echo $ENVOI_ITEM'
  - {{ id: quick, needs: [prepare], run: '{MARK}; sleep 0.03' }}
  - id: slow
    needs: [prepare]
    run: |
      trap 'sleep 0.1; exit 1' TERM
      {MARK}
      sleep 600 & wait
      echo the loser came to an end >> wrong
  - {{ id: first, needs: [quick, slow], join: any, run: '{MARK}; sleep 0.01' }}
  - {{ id: part, needs: [prepare], flow: part.yaml }}
  - id: judge
    needs: [look, first, part]
    run: '{MARK}; test $ENVOI_ITERATION -ge 1'
    routing:
      {{ kind: microloop, loop_to: prepare, status_from_exit: {{ 0: GOOD, 1: BAD }}, success_values: [GOOD], max_iterations: 3 }}
  - {{ id: publish, needs: [judge, approve], run: '{MARK}' }}
"
    )
}

fn part() -> String {
    format!(
        "flow: part\nsteps:\n  - {{ id: compile, run: '{MARK}; sleep 0.02' }}\n  - {{ id: pack, run: '{MARK}; sleep 0.01' }}\n"
    )
}

fn stage() -> Stage {
    let stage = Stage::with_flow(&flow());
    stage.write("part.yaml", part());
    stage
}

/// Visits of the whole run, but for those of the loser: after any kill, each has exactly one attempt.
fn expected() -> BTreeSet<String> {
    let mut visits: BTreeSet<String> = ["start.1", "publish.1"].map(str::to_owned).into();
    for round in 1..=2 {
        for step in ["prepare", "quick", "first", "judge"] {
            visits.insert(format!("{step}.{round}"));
        }
        visits.extend((0..4).map(|item| format!("{item}.look.{round}")));
        visits.extend(["compile", "pack"].map(|step| format!("part.{round}.{step}.1")));
    }
    visits
}

fn records(stage: &Stage, run: &str) -> Vec<Record> {
    let store = Store::open_read_only(Layout::new(stage.store())).unwrap();
    store.reader().unwrap().records(&RunId::new(run).unwrap(), 0, None).unwrap()
}

fn pinned() -> Arc<Flow> {
    let parts: BTreeMap<String, String> = [("part.yaml".to_owned(), part())].into();
    Arc::new(envoi_flow::load_with("flow.yaml", &flow(), &parts).unwrap().flow)
}

/// The step of a visit as contract 3 names it.
fn stage_of(visit: &VisitId) -> String {
    match visit.scope.strip_prefix("part.") {
        Some(_) => format!("part/{}", visit.step),
        None => visit.step.to_string(),
    }
}

/// The visits that are under way by the events alone: something of them has begun, and their hand-off is not there.
fn under_way(records: &[Record]) -> BTreeSet<String> {
    use envoi_kernel::Event;
    let mut open = BTreeMap::new();
    for record in records {
        let begun = match &record.event {
            Event::AttemptStarted(started) => Some(&started.attempt.visit),
            Event::FannedOut(fanned) => Some(&fanned.visit),
            Event::FlowEntered(entered) => Some(&entered.visit),
            Event::InterruptRaised(raised) => Some(&raised.visit),
            Event::HandoffWritten(written) => {
                open.remove(&written.visit);
                None
            }
            _ => None,
        };
        open.extend(begun.map(|visit| (visit.clone(), stage_of(visit))));
    }
    open.into_values().collect()
}

/// The steps that are done by the events alone: those that have a last hand-off that did not send the run back.
fn done(records: &[Record]) -> BTreeSet<String> {
    use envoi_kernel::{Event, event::Course};
    let again = ["prepare", "look", "quick", "slow", "first", "part", "judge", "publish"];
    let mut done = BTreeSet::new();
    let mut back = false;
    for record in records {
        match &record.event {
            Event::Routed(routed) => back = matches!(routed.course, Course::LoopBack(_)),
            Event::HandoffWritten(written) if written.visit.item().is_some() => {}
            Event::HandoffWritten(_) if core::mem::take(&mut back) => {
                done.retain(|stage: &String| !again.iter().any(|step| stage.split('/').next() == Some(step)));
            }
            Event::HandoffWritten(written) => {
                done.insert(stage_of(&written.visit));
            }
            _ => {}
        }
    }
    done
}

/// Compares the parallel steps in the envelope with the events.
fn assert_envelope(run: &Run, so_far: &[Record]) {
    let envelope = run.envelope();
    let at = so_far.last().map(|record| (record.seq, record.event.name()));
    let active: BTreeSet<String> = envelope.active_stages.keys().map(ToString::to_string).collect();
    let completed: BTreeSet<String> = envelope.completed_stage_set.keys().map(ToString::to_string).collect();
    let begun = under_way(so_far);
    assert!(begun.is_subset(&active), "{at:?}: {begun:?} are under way, not only {active:?}");
    assert_eq!(completed, done(so_far), "{at:?}");
    assert!(envelope.failed_stages.is_empty(), "{at:?}");
    assert!(envelope.parallel_mode, "{at:?}");
    assert!(!envelope.terminated || active.is_empty(), "{at:?}: {active:?}");
    let asked = run.interrupts().count();
    assert_eq!(envelope.interrupt_pending, asked > 0, "{at:?}");
}

/// The envelope as the store gives it is the one that the events make, with the same contents.
fn look(stage: &Stage, run: &str) {
    let records = records(stage, run);
    let lived = Run::replay(pinned(), records.clone()).unwrap();
    assert_envelope(&lived, &records);
    let shown = stage.expect(0, &["show", run, "--envelope"]).out;
    assert_eq!(shown, lived.envelope().to_state_dict().pretty(), "after event {}", records.len());
}

/// The hand-offs of visits, as they are now.
fn handoffs_of_visits(stage: &Stage) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let is_of_a_visit = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        name.rsplit('.').next().unwrap().parse::<u32>().is_ok()
    };
    stage.handoffs().into_iter().filter(move |(path, _)| is_of_a_visit(path))
}

#[test]
fn branches_items_losers_and_inner_flows_survive_an_engine_that_is_killed_over_and_over() {
    let mut dice = Dice::new();
    let (mut kills, mut runs) = (0, 0);
    while kills < KILLS {
        kills += one_run(&mut dice);
        runs += 1;
    }
    eprintln!("{kills} kills in {runs} runs");
}

/// Kills the engine of one run over and over; the question is answered after one of the crashes.
fn one_run(dice: &mut Dice) -> usize {
    let stage = stage();
    let mut shown = Shown::default();
    let (mut kills, mut run, mut answered): (_, Option<String>, _) = (0, None, false);
    let answer_after = usize::try_from(dice.between(1, 10)).unwrap();
    let until = Instant::now() + LONG * 2;
    loop {
        assert!(
            Instant::now() < until,
            "it does not come to an end: {:?}",
            run.map(|run| stage.events(&run))
        );
        let question = run.as_ref().and_then(|_| open_question(&stage)).filter(|_| kills >= answer_after);
        let arguments: Vec<&str> = match (&run, &question) {
            (None, _) => vec!["run", "flow.yaml"],
            (Some(_), Some(question)) => vec!["approve", question],
            (Some(run), None) => vec!["resume", run],
        };
        let at = if kills < KILLS_A_RUN { dice.micros(5_000, 220_000) } else { LONG };
        let over = stage.start(&arguments).done_within(at);
        shown.look_at(handoffs_of_visits(&stage));
        if run.is_none() {
            run = stage.runs().first().map(|row| text(&row["run"]));
        }
        let Some(over) = over else {
            kills += 1;
            run.iter().for_each(|run| look(&stage, run));
            continue;
        };
        match over.code {
            Some(0) => break,
            // It waits for the answer only.
            Some(3) => kills = kills.max(answer_after),
            // The answer was in the journal when its engine was killed.
            Some(6) if question.is_some() && over.err.contains("closed") => {}
            _ => panic!("{over:?}"),
        }
        answered = answered || question.is_some();
    }
    assert_whole(&stage, &run.unwrap());
    kills
}

fn open_question(stage: &Stage) -> Option<String> {
    let inbox = stage.json(&["--json", "inbox"]);
    inbox.as_array().unwrap().first().map(|row| text(&row["question"]))
}

/// Everything was done as often as in the journal, and nothing is left.
fn assert_whole(stage: &Stage, run: &str) {
    stage.assert_nothing_left();
    assert_eq!(stage.read("wrong"), "");
    let events = stage.events(run);
    let of = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
    let is_slow = |id: &str| id.starts_with("slow.");
    let started: Vec<String> = of("attempt_started").iter().map(|event| text(&event["attempt"])).collect();
    let ledger = stage.lines("ledger");
    let unique: BTreeSet<&String> = ledger.iter().collect();
    assert_eq!(unique.len(), ledger.len(), "twice: {ledger:?}");
    // It is not known how far a loser came; for everything else it is.
    let expected: BTreeSet<String> = expected().iter().map(|visit| format!("{visit}.1")).collect();
    let without_loser =
        |ids: &[String]| ids.iter().filter(|id| !is_slow(id)).cloned().collect::<BTreeSet<_>>();
    assert_eq!(without_loser(&ledger), expected);
    assert_eq!(without_loser(&started), expected);
    assert!(ledger.iter().all(|id| started.contains(id)), "{ledger:?} of {started:?}");
    assert_eq!(started.len(), of("attempt_settled").len(), "each ends once");
    for settled in of("attempt_settled") {
        let id = text(&settled["attempt"]);
        assert_eq!(settled["given_up"] == true, is_slow(&id), "{settled}");
        assert!(settled["outcome"]["in_doubt"].is_null() || is_slow(&id), "{settled}");
    }
    assert_eq!((of("interrupt_raised").len(), of("interrupt_answered").len()), (1, 1));
    assert_handoffs(stage, run, &events);
    let records = records(stage, run);
    let mut lived = Run::new(pinned());
    for (at, record) in records.iter().enumerate() {
        lived.apply(record).unwrap();
        // Within a commit a step may be neither done nor to be done.
        let ends_commit = records.get(at + 1).is_none_or(|next| next.at != record.at);
        if ends_commit {
            assert_envelope(&lived, &records[..=at]);
        }
    }
}

/// A hand-off for each visit, in the journal and as a file.
fn assert_handoffs(stage: &Stage, run: &str, events: &[Value]) {
    let name = |visit: &Value| {
        let scope = visit["scope"].as_str().map_or_else(String::new, |scope| format!("{scope}."));
        format!("{scope}{}.{}", text(&visit["step"]), visit["visit"])
    };
    let written = events.iter().filter(|event| event["type"] == "handoff_written");
    let written: Vec<String> = written.map(|event| name(&event["visit"])).collect();
    let wholes =
        ["look", "slow", "part"].iter().flat_map(|step| [1, 2].map(|round| format!("{step}.{round}")));
    let mut all: BTreeSet<String> = expected();
    all.extend(wholes.chain(["approve.1".to_owned()]));
    assert_eq!(written.iter().cloned().collect::<BTreeSet<_>>(), all);
    assert_eq!(written.len(), all.len(), "one a visit");
    for visit in &all {
        let folder = stage.store().join("runs").join(run);
        let flows =
            ["beside", "part"].map(|flow| folder.join(flow).join("handoff").join(format!("{visit}.json")));
        assert_eq!(flows.iter().filter(|path| path.is_file()).count(), 1, "{visit}");
    }
}

/// Engine and supervisors die in the midst of a fan of three, two at a time. Returns the run.
fn fan_in_doubt(stage: &Stage) -> String {
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("two items", || stage.lines("ledger").len() == 2);
    let supervisors = ["0.look.1.1", "1.look.1.1"].map(|attempt| stage.supervisor(attempt).unwrap());
    engine.kill();
    for supervisor in supervisors {
        signal(supervisor, Signal::KILL);
        wait_until("the supervisor's end", || !lives(supervisor));
    }
    stage.write("go", "");
    stage.run_id()
}

/// The steps done since then.
fn done_since(stage: &Stage) -> Vec<String> {
    stage.lines("ledger").split_off(2)
}

/// A fan of three, two at a time, that hangs until `go` exists.
const FAN: &str = "
flow: fan
steps:
  - id: look
    for_each: [api, web, docs]
    max_parallel: 2
    run: 'echo $ENVOI_ATTEMPT >> ledger; test -e go || sleep 600'
  - { id: tell, run: 'echo $ENVOI_ATTEMPT >> ledger' }
";

#[test]
fn of_items_in_doubt_each_is_asked_about_and_nothing_else_is_done_again() {
    let stage = Stage::with_flow(FAN);
    let run = fan_in_doubt(&stage);
    stage.expect(5, &["resume", &run]);
    stage.assert_nothing_left();
    assert_eq!(stage.lines("ledger").len(), 2, "nothing is repeated in silence");
    let asked = |stage: &Stage| -> BTreeMap<String, String> {
        let questions = stage.json(&["--json", "show", &run])["questions"].as_array().unwrap().clone();
        let visit = |row: &Value| format!("{}.{}.{}", text(&row["scope"]), text(&row["step"]), row["visit"]);
        questions.iter().map(|row| (visit(row), text(&row["question"]))).collect()
    };
    let questions = asked(&stage);
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["0.look.1", "1.look.1"]);
    let ambiguous = stage.expect(6, &["answer", "--choice", "rerun"]);
    assert!(questions.values().all(|id| ambiguous.err.contains(id)), "{ambiguous:?}");
    // The third item takes the place of the first, while the second still waits.
    stage.expect(5, &["answer", &questions["0.look.1"], "--choice", "rerun"]);
    assert_eq!(asked(&stage).keys().collect::<Vec<_>>(), ["1.look.1"]);
    let failed = stage.expect(1, &["answer", &questions["1.look.1"], "--choice", "fail"]);
    assert!(failed.err.contains("1 of 3 items failed: 1"), "{failed:?}");
    assert_eq!(done_since(&stage), ["0.look.1.2", "2.look.1.1"]);
    // Steps that have succeeded are kept.
    stage.expect(0, &["resume", &run]);
    assert_eq!(done_since(&stage), ["0.look.1.2", "2.look.1.1", "1.look.2.1", "tell.1.1"]);
    stage.assert_nothing_left();
}

/// A loser that does not care about being asked to end.
const LOSER: &str = "
flow: loser
steps:
  - { id: quick, run: 'until [ -e at-it ]; do sleep 0.01; done' }
  - { id: slow, run: \"trap '' TERM; touch at-it; while :; do sleep 0.1; done\" }
  - { id: first, needs: [quick, slow], join: any, run: 'echo $ENVOI_ATTEMPT >> ledger' }
";

#[test]
fn a_loser_with_an_unknown_end_is_ended_without_a_question() {
    let stage = Stage::with_flow(LOSER);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the run", || stage.path("at-it").exists());
    let run = stage.run_id();
    let given_up = |stage: &Stage| stage.events(&run).iter().any(|event| event["type"] == "steps_given_up");
    wait_until("the winner", || given_up(&stage));
    let supervisor = stage.supervisor("slow.1.1").unwrap();
    engine.kill();
    signal(supervisor, Signal::KILL);
    wait_until("the supervisor's end", || !lives(supervisor));
    assert_eq!(stage.lines("ledger"), Vec::<String>::new(), "nothing begins before the loser has ended");
    let done = stage.expect(0, &["resume", &run]);
    stage.assert_nothing_left();
    assert_eq!(stage.lines("ledger"), ["first.1.1"]);
    let events = stage.events(&run);
    let slow: Vec<_> = events.iter().filter(|event| event["attempt"] == "slow.1.1").collect();
    let kinds: Vec<_> = slow.iter().map(|event| text(&event["type"])).collect();
    assert_eq!(kinds, ["attempt_started", "attempt_settled"], "{done:?}");
    assert_eq!((&slow[1]["given_up"], &slow[1]["late"]), (&Value::from(true), &Value::from(true)));
    assert!(!events.iter().any(|event| event["type"] == "interrupt_raised"));
}
