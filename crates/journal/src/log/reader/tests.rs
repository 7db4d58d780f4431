//! Finding runs, reading a part of them, and reporting their faults.

use super::*;
use crate::{
    Class, Found, Match, Writer,
    testing::{
        TestStore, attempt, commit, ended, flow, handoff, interrupt, pinned, place, raised, run, settled,
        started, step, timer_set, visit,
    },
};
use crate::{Commit, PinnedFlow, TaskPage};
use envoi_contract::{digest::Digest, json::Value, time::Timestamp};
use envoi_kernel::{
    Event,
    event::{About, AccountsTried, Correction, EndStatus, RunStarted},
    ids::{Principal, RunId},
    part::{Part, Selection, TakenHandOff},
    throttle::Throttled,
};

fn lived() -> (TestStore, Writer) {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    for name in ["0aa1", "0aa2", "0bb1"] {
        let run = run(name);
        writer.commit(commit(&run, 0, [started(&run), timer_set("x")])).unwrap();
    }
    writer
        .commit(commit(&run("0bb1"), 2, [raised("0cc1", About::Review), raised("0bb9", About::Review)]))
        .unwrap();
    (place, writer)
}

#[test]
fn an_id_is_found_by_a_unique_prefix_or_suffix() {
    let (place, _writer) = lived();
    let run_of = |name| Match::One(Found::Run(run(name)));
    let question = |name| Match::One(Found::Interrupt(interrupt(name), run("0bb1")));
    let rows = [
        ("run_0aa1", run_of("0aa1")),
        ("run_0b", run_of("0bb1")),
        ("0aa2", run_of("0aa2")),
        ("aa2", run_of("0aa2")),
        ("b1", run_of("0bb1")),
        ("0c", question("0cc1")),
        ("int_0b", question("0bb9")),
        ("9", question("0bb9")),
        ("zz", Match::None),
        ("", Match::None),
        ("run%", Match::None),
        ("run_0aa", Match::Many(vec![Found::Run(run("0aa1")), Found::Run(run("0aa2"))])),
        ("0bb", Match::Many(vec![Found::Run(run("0bb1")), Found::Interrupt(interrupt("0bb9"), run("0bb1"))])),
    ];
    for (text, expected) in rows {
        assert_eq!(place.reader.find(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_whole_id_wins_over_those_it_begins() {
    let (place, writer) = lived();
    let longer = run("0aa12");
    writer.commit(commit(&longer, 0, [started(&longer)])).unwrap();
    assert_eq!(place.reader.find("run_0aa1").unwrap(), Match::One(Found::Run(run("0aa1"))));
    let asked = Match::One(Found::Interrupt(interrupt("0cc1"), run("0bb1")));
    assert_eq!(place.reader.find(interrupt("0cc1").as_str()).unwrap(), asked);
}

/// No row of the others is read: a store keeps its runs for ever.
#[test]
fn a_whole_id_is_found_by_an_index_and_a_part_of_one_by_the_index_of_ids() {
    let (place, _writer) = lived();
    let plan = |sql: &str| -> Vec<String> {
        let mut statement = place.reader.conn().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let parameters = statement.parameter_count();
        let rows =
            statement.query_map(rusqlite::params_from_iter(vec!["run_0aa1"; parameters]), |row| row.get(3));
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    let scans = |sql: &str| plan(sql).into_iter().filter(|line| line.starts_with("SCAN")).collect::<Vec<_>>();
    // A row that is made, of one column.
    let made = |line: &String| line.contains("CONSTANT ROW") || line.contains("wanted");
    assert!(scans(&runs::whole_question()).iter().all(made), "{:?}", plan(&runs::whole_question()));
    let part = runs::names_like_their_entry();
    let others: Vec<_> = scans(&part).into_iter().filter(|line| !made(line)).collect();
    assert!(others.iter().all(|line| line.contains("COVERING INDEX")), "{others:?}");
}

#[test]
fn a_part_of_a_run_is_read_from_where_one_says() {
    let (place, _writer) = lived();
    let seqs = |from, limit| {
        let records = place.reader.records(&run("0bb1"), from, limit).unwrap();
        records.iter().map(|record| record.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(0, None), [0, 1, 2, 3]);
    assert_eq!(seqs(1, Some(2)), [1, 2]);
    assert!(seqs(4, None).is_empty());
}

#[test]
fn a_handoff_is_the_bytes_of_its_file_and_by_default_the_newest() {
    let (place, writer) = lived();
    writer
        .commit(commit(&run("0aa1"), 2, [handoff("repair", 1, "one"), handoff("repair", 2, "two")]))
        .unwrap();
    let read = |visit| {
        String::from_utf8(place.reader.handoff(&run("0aa1"), "", &step("repair"), visit).unwrap()).unwrap()
    };
    assert!(read(Some(1)).contains("\n  \"summary\": \"one\","), "{}", read(Some(1)));
    assert!(read(None).contains("\"two\""));
    assert!(read(None).starts_with("{\n  \"step_id\": \"repair\",\n") && read(None).ends_with("}\n"));
    let rows = place.reader.handoffs(&run("0aa1")).unwrap();
    assert_eq!(
        rows.iter().map(|row| (row.visit.visit, row.flow.clone())).collect::<Vec<_>>(),
        [(1, flow()), (2, flow())]
    );
    let missing = place.reader.handoff(&run("0aa1"), "", &step("critic"), None).unwrap_err();
    assert_eq!(missing.to_string(), "there is no hand-off of step `critic`");
}

#[test]
fn the_place_of_the_next_event_is_that_of_the_runs_row() {
    let (place, _writer) = lived();
    for (name, next) in [("0aa1", 2), ("0bb1", 4)] {
        assert_eq!(place.reader.next_seq(&run(name)).unwrap(), next);
        assert_eq!(place.reader.run(&run(name)).unwrap().next_seq, next);
    }
    let missing = place.reader.next_seq(&run("none")).unwrap_err();
    assert!(matches!(missing, ReadError::Missing { what: "run", .. }), "{missing}");
}

#[test]
fn a_handoff_is_the_newest_until_a_later_visit_of_that_step_of_that_run_leaves_one() {
    let (place, writer) = lived();
    let newest = |name, nth| place.reader.is_newest(&run(name), &visit("repair", nth)).unwrap();
    writer.commit(commit(&run("0aa1"), 2, [handoff("repair", 1, ""), handoff("critic", 2, "")])).unwrap();
    writer.commit(commit(&run("0aa2"), 2, [handoff("repair", 3, "")])).unwrap();
    assert!(newest("0aa1", 1));
    writer.commit(commit(&run("0aa1"), 4, [handoff("repair", 2, "")])).unwrap();
    assert_eq!([newest("0aa1", 1), newest("0aa1", 2), newest("0aa2", 3)], [false, true, true]);
    let missing = place.reader.is_newest(&run("none"), &visit("repair", 1)).unwrap_err();
    assert!(matches!(missing, ReadError::Missing { what: "run", .. }), "{missing}");
}

#[test]
fn an_event_that_cannot_be_understood_is_called_damaged() {
    let (place, _writer) = lived();
    let other = schema::connect(&place.store.layout().db()).unwrap();
    other
        .execute("UPDATE events SET body = '{\"type\":\"nonsense\"}' WHERE run = 1 AND seq = 1", [])
        .unwrap();
    let error = place.reader.load(&run("0aa1")).unwrap_err();
    assert!(matches!(&error, ReadError::Damaged { what, .. } if what == "event 1"), "{error}");
    assert!(error.to_string().starts_with("event 1 is damaged: unknown variant `nonsense`"), "{error}");
    assert_eq!(error.class(), Class::Bug);
    place.reader.load(&run("0aa2")).unwrap();
}

#[test]
fn a_reader_cannot_write() {
    let (place, _writer) = lived();
    assert!(place.reader.conn.execute("DELETE FROM events", []).is_err());
}

#[test]
fn a_row_says_which_part_of_its_flow_a_run_does() {
    let (place, writer) = lived();
    let run = run("0cc1");
    let selection = Selection { from: Some(step("build")), skip: vec![step("lint")], ..Selection::default() };
    let taken = |name: &str| TakenHandOff {
        visit: visit(name, 1),
        summary: "words".to_owned(),
        data: Value::Null,
        data_kept: None,
        text: None,
        report: None,
        files: Vec::new(),
        manifest: None,
    };
    let with = RunId::new("run_0aa1").ok();
    let part =
        Part { selection: selection.clone(), with: with.clone(), taken: vec![taken("lint"), taken("plan")] };
    let Event::RunStarted(begun) = started(&run) else { panic!("a start") };
    let begun = Event::RunStarted(Box::new(RunStarted { part: Some(Box::new(part)), ..*begun }));
    writer.commit(commit(&run, 0, [begun])).unwrap();
    let row = place.reader.run(&run).unwrap();
    assert_eq!(row.part.as_deref(), Some(&Part { selection, with, taken: Vec::new() }));
    let listed = place.reader.runs(crate::RunFilter { unfinished: false, limit: None }).unwrap();
    assert_eq!(
        listed.iter().filter(|row| row.part.is_some()).map(|row| &row.run).collect::<Vec<_>>(),
        [&run]
    );
}

#[test]
fn a_run_is_live_while_an_attempt_of_it_is_not_settled() {
    let (place, writer) = lived();
    let live = || place.reader.live_runs().unwrap().into_iter().map(|row| row.run).collect::<Vec<_>>();
    assert_eq!(live(), [], "timers and questions are no attempts");
    for name in ["0aa1", "0aa2"] {
        writer.commit(commit(&run(name), 2, [attempt("a", 1)])).unwrap();
    }
    assert_eq!(live(), [run("0aa2"), run("0aa1")]);
    writer.commit(commit(&run("0aa2"), 3, [settled("a", 1, &[])])).unwrap();
    assert_eq!(live(), [run("0aa1")]);
    writer.commit(commit(&run("0aa1"), 3, [ended(EndStatus::Failed)])).unwrap();
    assert_eq!(live(), [], "an ended run has none");
}

#[test]
fn a_corrected_run_is_one_of_each_digest_that_its_flow_has_had() {
    let (place, writer) = lived();
    let corrected = run("0aa1");
    let text = "flow: fix # corrected\n";
    let second = PinnedFlow { digest: Digest::of(text.as_bytes()), text: text.to_owned(), ..pinned() };
    let correction = Correction {
        before: pinned().digest,
        after: second.digest,
        language: 1,
        source: "/project/flow.yaml".to_owned(),
        from: None,
        by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
        why: None,
        request: None,
        yes_void: Vec::new(),
    };
    let event = Event::FlowCorrected(Box::new(correction));
    writer.commit(Commit { pinned: Some(second.clone()), ..commit(&corrected, 2, [event]) }).unwrap();
    let row = |name| place.reader.run(&run(name)).unwrap();
    let tasks = |flow: &str| {
        let page = TaskPage {
            tenant: "local".to_owned(),
            context: None,
            flow: Some(flow.to_owned()),
            statuses: Vec::new(),
            changed_after: None,
            behind: None,
            limit: 10,
        };
        place.reader.task_page(&page).unwrap().0.len()
    };
    let first = pinned().digest.to_string();
    let second = second.digest.to_string();
    for (flow, of_corrected, of_other, listed) in [
        ("fix", true, true, 3),
        (&first, true, true, 3),
        (&second, true, false, 1),
        ("other", false, false, 0),
    ] {
        let is_of = |name| place.reader.is_of_flow(&row(name), flow).unwrap();
        assert_eq!((is_of("0aa1"), is_of("0aa2"), tasks(flow)), (of_corrected, of_other, listed), "{flow}");
    }
}

/// An attempt that begins with an account which has refused so many before.
fn tries(name: &str, account: &str, refusals: u32) -> Event {
    let Event::AttemptStarted(mut started) = attempt(name, 1) else { unreachable!() };
    let call =
        serde_json::json!({"model": {"model": "m", "account": account, "refusals": refusals, "prompt": "p"}});
    started.command = serde_json::from_value(call).unwrap();
    Event::AttemptStarted(started)
}

/// The account refuses it until then.
fn refused(name: &str, account: &str, until_ms: i64, refusals: u32) -> Event {
    let Event::AttemptSettled(mut settled) = settled(name, 1, &[]) else { unreachable!() };
    settled.throttled = Some(Throttled {
        account: account.to_owned(),
        resets_at: None,
        until: Timestamp::from_millis(until_ms),
        refusals,
        instead: None,
    });
    Event::AttemptSettled(settled)
}

#[test]
fn an_account_is_closed_as_its_newest_refusal_says_until_an_attempt_after_that_has_passed() {
    let late = || {
        let Event::AttemptSettled(mut settled) = settled("b", 1, &[]) else { unreachable!() };
        settled.late = true;
        Event::AttemptSettled(settled)
    };
    let let_be_tried = || {
        let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
        Event::AccountsTried(AccountsTried {
            accounts: vec!["claude".to_owned()],
            by,
            why: None,
            request: None,
        })
    };
    // The events of two runs after the refusal of `a` in the first one, at 1 s, and the state of the account then: since when and until
    // when, how often it has refused, and whether it is tried.
    let closed_ms = 90_000;
    type Said = Option<(i64, i64, u32, bool)>;
    let rows: [(&str, Vec<Event>, Vec<Event>, Said); 10] = [
        ("nothing", vec![], vec![], Some((1_000, closed_ms, 2, false))),
        (
            "the last try begins",
            vec![timer_set("x"), tries("b", "claude", 2)],
            vec![],
            Some((3_000, 3_000, 2, true)),
        ),
        (
            "in another run",
            vec![],
            vec![timer_set("x"), tries("b", "claude", 2)],
            Some((2_000, 2_000, 2, true)),
        ),
        ("it passes", vec![tries("b", "claude", 2), settled("b", 1, &[])], vec![], None),
        (
            "it passes in another run",
            vec![],
            vec![timer_set("x"), tries("b", "claude", 2), settled("b", 1, &[])],
            None,
        ),
        ("it was late", vec![tries("b", "claude", 2), late()], vec![], None),
        (
            "it is refused",
            vec![tries("b", "claude", 2), refused("b", "claude", 99_000, 3)],
            vec![],
            Some((3_000, 99_000, 3, false)),
        ),
        // It does not know of the refusal.
        (
            "one from before passes",
            vec![refused("b", "claude", 99_000, 3)],
            vec![tries("c", "claude", 1), settled("c", 1, &[])],
            Some((2_000, 99_000, 3, false)),
        ),
        ("a person lets it be tried", vec![let_be_tried()], vec![], Some((2_000, 2_000, 1, false))),
        (
            "with another account",
            vec![tries("b", "codex", 0), settled("b", 1, &[])],
            vec![],
            Some((1_000, closed_ms, 2, false)),
        ),
    ];
    for (case, first, second, expected) in rows {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        let [one, two] = ["0aa1", "0aa2"].map(run);
        let began = [started(&one), refused("a", "claude", closed_ms, 2)];
        writer.commit(commit(&one, 0, began.into_iter().chain(first))).unwrap();
        writer.commit(commit(&two, 0, std::iter::once(started(&two)).chain(second))).unwrap();
        let found = place.reader.closed_accounts().unwrap();
        let said =
            found.first().map(|row| (row.at.as_millis(), row.until.as_millis(), row.refusals, row.is_tried));
        assert_eq!((found.len(), said), (usize::from(expected.is_some()), expected), "{case}");
    }
}
