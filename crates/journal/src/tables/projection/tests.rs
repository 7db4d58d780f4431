//! Events in, rows out.

use crate::{
    InboxFilter, InterruptState,
    model::rows::RunRow,
    testing::{
        TestStore, answered, attempt, cancelled, changed_raise, commit, denied, ended, entered, expired,
        handoff, interrupt, late, out_of_date, place, raised, reopened, run, settled, started, timer_fired,
        timer_set, visit, vote,
    },
};
use envoi_contract::{envelope::InterruptKind, time::Timestamp};
use envoi_kernel::event::{About, EndStatus, Event};

fn lived(events: Vec<Event>) -> TestStore {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let run = run("a");
    let first = commit(&run, 0, [started(&run)]);
    writer.commit(first).unwrap();
    // A commit for each event: the content of a row must not depend on how events were committed.
    for (seq, event) in (1..).zip(events) {
        writer.commit(commit(&run, seq, [event])).unwrap();
    }
    place
}

fn shown(row: &RunRow) -> (u32, u32, u32, u32, Option<&str>, &str) {
    let step = row.step.as_ref().map(|step| step.as_str());
    (row.live_attempts, row.open_interrupts, row.in_doubt, row.pending_timers, step, row.status().word())
}

#[test]
fn a_runs_row_follows_its_events() {
    let rows = [
        (vec![], (0, 0, 0, 0, None, "running")),
        (vec![attempt("a", 1)], (1, 0, 0, 0, Some("a"), "running")),
        (vec![attempt("a", 1), attempt("b", 1)], (2, 0, 0, 0, Some("b"), "running")),
        (vec![attempt("a", 1), settled("a", 1, &[])], (0, 0, 0, 0, Some("a"), "running")),
        (vec![attempt("a", 1), settled("a", 1, &[]), entered("b")], (0, 0, 0, 0, Some("b"), "running")),
        (
            vec![attempt("a", 1), settled("a", 1, &[]), attempt("a", 2), late("a", 1)],
            (1, 0, 0, 0, Some("a"), "running"),
        ),
        (vec![timer_set("x"), timer_set("y"), timer_fired("x")], (0, 0, 0, 1, None, "running")),
        (vec![raised("x", About::Review)], (0, 1, 0, 0, None, "waiting")),
        (vec![raised("x", About::InDoubt), raised("y", About::Review)], (0, 2, 1, 0, None, "waiting")),
        (
            vec![raised("x", About::InDoubt), raised("y", About::Review), answered("x")],
            (0, 1, 0, 0, None, "waiting"),
        ),
        (vec![raised("x", About::InDoubt), attempt("b", 1)], (1, 1, 1, 0, Some("b"), "running")),
        (vec![raised("x", About::Review), answered("x")], (0, 0, 0, 0, None, "running")),
        (
            vec![raised("x", About::Review), cancelled("x"), ended(EndStatus::Cancelled)],
            (0, 0, 0, 0, None, "cancelled"),
        ),
        (
            vec![attempt("a", 1), timer_set("x"), ended(EndStatus::Exhausted)],
            (0, 0, 0, 0, Some("a"), "exhausted"),
        ),
        (vec![ended(EndStatus::Failed), reopened("b")], (0, 0, 0, 0, Some("b"), "running")),
    ];
    for (events, expected) in rows {
        let names: Vec<_> = events.iter().map(Event::name).collect();
        let next_seq = u64::try_from(events.len()).unwrap() + 1;
        let place = lived(events);
        let row = place.reader.run(&run("a")).unwrap();
        assert_eq!(shown(&row), expected, "{names:?}");
        assert_eq!(row.next_seq, next_seq);
        assert_eq!(row.updated_at.as_millis(), i64::try_from(next_seq - 1).unwrap() * 1_000);
    }
}

#[test]
fn a_question_keeps_its_place_after_it_was_answered() {
    let place =
        lived(vec![raised("y", About::Review), raised("x", About::InDoubt), answered("y"), cancelled("x")]);
    let open = place.reader.inbox(&InboxFilter { run: Some(run("a")), closed: false }).unwrap();
    assert_eq!(open, []);
    let all = place.reader.inbox(&InboxFilter { run: Some(run("a")), closed: true }).unwrap();
    let states: Vec<_> = all.iter().map(|row| (row.interrupt.clone(), row.about, row.state)).collect();
    let expected = [
        (interrupt("y"), About::Review, InterruptState::Answered),
        (interrupt("x"), About::InDoubt, InterruptState::Cancelled),
    ];
    assert_eq!(states, expected);
    assert_eq!((all[0].run.clone(), all[0].visit.clone()), (run("a"), visit("critic", 1)));
}

#[test]
fn late_results_place_nothing_and_later_visits_replace_earlier_places() {
    let files = |content: &'static [u8]| [("a.py", Some(content))];
    let events = vec![
        settled("a", 1, &files(b"one")),
        settled("a", 2, &files(b"two")),
        late("a", 1),
        handoff("a", 2, "s"),
    ];
    let place = lived(events);
    let places = place.reader.artifacts(&run("a")).unwrap();
    assert_eq!(places.len(), 1);
    assert_eq!(places[0].digest, Some(envoi_contract::digest::Digest::of(b"two")));
    assert_eq!(places[0].visit, visit("a", 2));
}

#[test]
fn a_list_shows_the_head_of_a_long_summary() {
    let place = lived(vec![handoff("a", 1, &"ä".repeat(300))]);
    let row = place.reader.handoffs(&run("a")).unwrap().remove(0);
    assert_eq!((row.summary, row.status.as_str(), row.seq), ("ä".repeat(200), "succeeded", 1));
}

#[test]
fn the_inbox_shows_each_question_and_its_result() {
    let asks = |name, kind, expires_at_ms: Option<i64>| {
        changed_raise(name, |raised| {
            (raised.about, raised.kind) = (About::Ask, Some(kind));
            raised.expires_at = expires_at_ms.map(Timestamp::from_millis);
        })
    };
    let place = lived(vec![
        asks("a", InterruptKind::Clarification, Some(9_000)),
        vote("a", "bob"),
        asks("b", InterruptKind::Checkpoint, Some(9_500)),
        denied("b", "carl"),
        asks("c", InterruptKind::AgentReview, None),
        expired("c"),
        asks("d", InterruptKind::Confirmation, None),
        out_of_date("d"),
        raised("e", About::Limit),
        cancelled("e"),
    ]);
    let all = place.reader.inbox(&InboxFilter { run: Some(run("a")), closed: true }).unwrap();
    let shown: Vec<String> = all
        .iter()
        .map(|row| {
            let closed = row.closed.as_ref().map(|closed| {
                let told = |text: &Option<String>| text.clone().unwrap_or_default();
                format!(
                    " at {} #{} {} {}",
                    closed.at.as_millis(),
                    closed.seq,
                    told(&closed.answer),
                    told(&closed.by)
                )
            });
            let expires = row.expires_at.map(|at| format!(" until {}", at.as_millis())).unwrap_or_default();
            let closed = closed.unwrap_or_default();
            format!(
                "{} {:?} {}{expires} {}{closed}",
                row.interrupt,
                row.about,
                row.kind.word(),
                row.state.word()
            )
        })
        .collect();
    let expected = [
        "int_a Ask clarification until 9000 open",
        "int_b Ask checkpoint until 9500 answered at 4000 #4 deny carl",
        "int_c Ask agent_review expired at 6000 #6  ",
        "int_d Ask confirmation changed at 8000 #8  ",
        "int_e Limit resource_exhausted cancelled at 10000 #10  ",
    ];
    assert_eq!(shown, expected);
    let row = place.reader.run(&run("a")).unwrap();
    assert_eq!(
        (row.open_interrupts, row.status().word()),
        (1, "waiting"),
        "a vote does not close a question"
    );
    let open = place.reader.inbox(&InboxFilter { run: Some(run("a")), closed: false }).unwrap();
    assert_eq!(open, all[..1]);
    assert_eq!(place.reader.question(&run("a"), &interrupt("b")).unwrap(), all[1]);
    let (at, answer) = place.reader.answer(&run("a"), &all[1]).unwrap();
    assert_eq!((at.as_millis(), answer.by.actor.as_str()), (4_000, "carl"));
    for unanswered in [&all[0], &all[2], &all[3], &all[4]] {
        assert!(place.reader.answer(&run("a"), unanswered).is_err(), "{}", unanswered.interrupt);
    }
}
