//! Which rows a commit gets, for whom, and with which ids.

use super::*;
use envoi_contract::{envelope::TerminalReason, time::Timestamp};
use envoi_kernel::{
    Flow, Input,
    event::{Command, EndStatus, RunEnded},
    ids::Principal,
    input::Start,
};
use std::sync::Arc;

const NOTIFY: &str = "[{ command: ends, on: [end] }, { command: [asks, me], on: [question] }]";

fn flow(notify: &str) -> Arc<Flow> {
    let text = format!("flow: f\n{notify}\nsteps:\n  - {{ id: a, run: [x] }}\n");
    Arc::new(envoi_flow::load("f.yaml", &text).unwrap().flow)
}

fn id() -> RunId {
    RunId::new("run_1").unwrap()
}

/// A start and, although no kernel would, an end, in one commit.
fn records(flow: &Arc<Flow>) -> (Run, Vec<Record>) {
    let start = Start { source: "/project/flows/f.yaml".to_owned(), ..crate::model::sample::start(&id(), 1) };
    let run = Run::new(Arc::clone(flow));
    let mut records = run.decide(Input::Start(Box::new(start)), None, Timestamp::from_millis(5)).unwrap();
    let event = Event::RunEnded(RunEnded {
        status: EndStatus::Failed,
        terminal_reason: TerminalReason::ToolFailedFatally,
        reason: "y".to_owned(),
        stopped_by: None,
    });
    records.push(Record { seq: 7, at: Timestamp::from_millis(6), event });
    (run, records)
}

fn configured(notify: &str) -> Outbox {
    let targets = envoi_flow::config::load("config.yaml", notify).unwrap().notify;
    Outbox { targets, folder: "/project/.envoi".to_owned() }
}

fn told(rows: &[Delivery]) -> Vec<(Seq, Moment, &str, Posting)> {
    let row = |row: &'_ Delivery| serde_json::from_str(&row.target).unwrap();
    rows.iter().map(|one| (one.seq, one.kind, one.id.as_str(), row(one))).collect()
}

#[test]
fn a_flow_s_targets_come_first_each_with_the_folder_of_its_own_file() {
    let (run, records) = records(&flow(&format!("notify: {NOTIFY}")));
    let rows = configured("notify: { command: all }").deliveries(&run, &id(), &records);
    let posting = |folder: &str, script: &str| Posting {
        folder: folder.to_owned(),
        to: Address::Command(Command::Exec(["sh", "-e", "-c", script].map(str::to_owned).to_vec())),
    };
    let expected = [
        (7, Moment::End, "evt_1_7", posting("/project/flows", "ends")),
        (7, Moment::End, "evt_1_7", posting("/project/.envoi", "all")),
    ];
    assert_eq!(told(&rows), expected);
}

#[test]
fn a_run_without_subscribers_has_no_rows() {
    let (run, records) = records(&flow("title: quiet"));
    assert_eq!(Outbox::default().deliveries(&run, &id(), &records), []);
    let (run, records) = self::records(&flow("notify: { command: x, on: [question] }"));
    assert_eq!(Outbox::default().deliveries(&run, &id(), &records), []);
}

#[test]
fn a_row_says_where_a_token_is_and_stays_readable() {
    let webhook = "notify: { webhook: { url: 'https://h/x', token: { env: T }, timeout: 3s } }";
    let (run, records) = records(&flow(webhook));
    let rows = Outbox::default().deliveries(&run, &id(), &records);
    let target = "{\"folder\":\"/project/flows\",\"to\":{\"webhook\":{\"url\":\"https://h/x\",\"token\":{\"env\":\"T\"},\"timeout_ms\":3000}}}";
    assert_eq!(rows[0].target, target, "rows of earlier versions have to be read");
    let command = "{\"folder\":\"/\",\"to\":{\"command\":{\"exec\":[\"asks\",\"me\"]}}}";
    let posting: Posting = serde_json::from_str(command).unwrap();
    assert_eq!(serde_json::to_string(&posting).unwrap(), command);
}

#[test]
fn the_events_that_a_fork_took_over_have_no_second_notice() {
    let (run, mut records) = records(&flow("notify: { command: ends, on: [end] }"));
    let forked = envoi_kernel::event::RunForked {
        from: RunId::new("run_0").unwrap(),
        root: RunId::new("run_0").unwrap(),
        step: envoi_kernel::ids::StepId::new("a").unwrap(),
        at: 7,
        by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
        why: None,
        family: envoi_kernel::family::Share::default(),
    };
    let ended = records.last().unwrap().clone();
    records.push(Record { seq: 8, at: ended.at, event: Event::RunForked(Box::new(forked)) });
    assert_eq!(Outbox::default().deliveries(&run, &id(), &records), []);
    records.push(Record { seq: 9, ..ended });
    let rows = Outbox::default().deliveries(&run, &id(), &records);
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [9]);
    assert_eq!(told(&rows)[0].3.folder, "/project/flows");
}

/// These events after a start and an end, in the same commit; the first flow is corrected by the second one.
fn corrected(first: &str, second: &str, later: Vec<Event>) -> Vec<Delivery> {
    let first = flow(first);
    let second = flow(second);
    let (mut run, mut records) = records(&first);
    run.learn(Arc::clone(&second));
    let by = Principal { tenant: "local".to_owned(), actor: "bob".to_owned() };
    let correction = envoi_kernel::event::Correction {
        before: first.digest,
        after: second.digest,
        language: second.language,
        source: "/project/fixed/f.yaml".to_owned(),
        from: None,
        by,
        why: None,
        request: None,
        yes_void: Vec::new(),
    };
    let corrected = Event::FlowCorrected(Box::new(correction));
    let events = core::iter::once(corrected).chain(later);
    let place = |(event, seq)| Record { seq, at: Timestamp::from_millis(7), event };
    records.extend(events.zip(8..).map(place));
    Outbox::default().deliveries(&run, &id(), &records)
}

fn reopened() -> Event {
    Event::RunReopened(Box::new(envoi_kernel::event::RunReopened {
        by: Principal { tenant: "local".to_owned(), actor: "bob".to_owned() },
        why: None,
        step: envoi_kernel::ids::StepId::new("a").unwrap(),
        decides: None,
        elsewhere: envoi_kernel::family::Share::default(),
        request: None,
    }))
}

#[test]
fn an_end_after_which_the_run_goes_on_in_the_same_commit_has_no_notice() {
    let told_to = "notify: { command: ends, on: [end] }";
    assert_eq!(corrected(told_to, told_to, vec![reopened()]), []);
    let ended = Event::RunEnded(RunEnded {
        status: EndStatus::Failed,
        terminal_reason: TerminalReason::ToolFailedFatally,
        reason: "again".to_owned(),
        stopped_by: None,
    });
    let rows = corrected(told_to, told_to, vec![reopened(), ended]);
    assert_eq!(
        rows.iter().map(|row| row.seq).collect::<Vec<_>>(),
        [10],
        "but that it has failed again is news"
    );
}

#[test]
fn a_question_that_is_withdrawn_at_once_has_no_notice_and_the_corrected_flow_names_the_targets() {
    let raised = |name: &str| {
        let interrupt = envoi_kernel::ids::InterruptId::new(name).unwrap();
        let raised = serde_json::json!({
            "type": "interrupt_raised", "interrupt": interrupt, "about": "ask",
            "visit": { "step": "a", "visit": 1 }, "question": "Fine?", "evidence": "null", "raised_at": 7,
        });
        serde_json::from_value::<Event>(raised).unwrap()
    };
    let withdrawn =
        serde_json::json!({ "type": "interrupt_cancelled", "interrupt": "int_1", "changed": true });
    let withdrawn = serde_json::from_value(withdrawn).unwrap();
    let rows = corrected(
        "notify: { command: old, on: [question] }",
        "notify: { command: new, on: [question] }",
        vec![raised("int_1"), withdrawn, raised("int_2")],
    );
    let told = told(&rows);
    assert_eq!(told.iter().map(|row| row.0).collect::<Vec<_>>(), [11]);
    assert_eq!(told[0].3.folder, "/project/fixed", "where the corrected file is");
    let Address::Command(Command::Exec(argv)) = &told[0].3.to else { panic!("{:?}", told[0].3) };
    assert_eq!(argv.last().map(String::as_str), Some("new"));
}
