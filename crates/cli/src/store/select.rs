//! Selects the run that a command concerns.

use super::standing::stands;
use crate::process::{clock, failure::Failure, invocation, terminal};
use envoi_contract::code::Code;
use envoi_engine::check_not_aside;
use envoi_journal::{Found, InboxFilter, InboxRow, Layout, Match, Reader, RunFilter, RunRow, RunStatus};
use envoi_kernel::{
    event::EndStatus,
    ids::{FlowId, InterruptId, RunId},
};

/// The run that `text` identifies, or the newest one.
pub(crate) fn run_or_newest(reader: &Reader, text: Option<&str>) -> Result<RunId, Failure> {
    match text {
        Some(text) => run(reader, text),
        None => {
            let newest = RunFilter { limit: Some(1), ..RunFilter::default() };
            let rows = reader.runs(newest).map_err(Failure::store)?;
            rows.into_iter().next().map(|row| row.run).ok_or_else(no_runs)
        }
    }
}

/// The run that `text` identifies. Without a text, the one that `verb` selects.
pub(crate) fn run_or_meant(
    layout: &Layout,
    reader: &Reader,
    text: Option<&str>,
    verb: Verb,
) -> Result<RunId, Failure> {
    let Some(text) = text else {
        let unfinished = RunFilter { unfinished: true, ..RunFilter::default() };
        let newest = RunFilter { limit: Some(RECENT), ..RunFilter::default() };
        let mut unfinished = reader.runs(unfinished).map_err(Failure::store)?;
        envoi_engine::look_at(layout, reader, &mut unfinished).map_err(Failure::store)?;
        return meant_or_agreed(verb, &unfinished, &reader.runs(newest).map_err(Failure::store)?);
    };
    run(reader, text)
}

/// As [`meant`]. If `envoi resume` finds no unfinished run, it selects the newest one after a person at the
/// terminal has agreed, because a failed step runs again only on request.
pub(crate) fn meant_or_agreed(
    verb: Verb,
    unfinished: &[RunRow],
    recent: &[RunRow],
) -> Result<RunId, Failure> {
    let refused = match meant(verb, unfinished, recent) {
        Err(refused) if verb == Verb::Resume && unfinished.is_empty() => refused,
        chosen => return chosen,
    };
    let Some(newest) = recent.first().filter(|newest| has_stopped(newest)) else { return Err(refused) };
    let question = format!(
        "no run is unfinished; the newest is {}\nRun it again from the step that stopped it? [y/N] ",
        described(newest)
    );
    if terminal::agrees(&question)? { Ok(newest.run.clone()) } else { Err(refused) }
}

/// The run for a corrected flow if none is named: the unfinished run of that flow, or the newest one if it
/// has not succeeded. If the flow has no run, all runs are considered, and the comparison reports what does
/// not fit.
pub(crate) fn run_to_correct(
    layout: &Layout,
    reader: &Reader,
    text: Option<&str>,
    flow: &FlowId,
) -> Result<RunId, Failure> {
    if let Some(text) = text {
        return run(reader, text);
    }
    let mut rows = reader.runs(RunFilter::default()).map_err(Failure::store)?;
    let newest = rows.iter().find(|row| row.flow == *flow).or(rows.first()).cloned();
    rows.retain(|row| row.ended.is_none());
    envoi_engine::look_at(layout, reader, &mut rows).map_err(Failure::store)?;
    to_correct(rows, newest, flow)
}

/// See [`run_to_correct`]. `newest` is the newest run of that flow.
pub(crate) fn to_correct(
    mut unfinished: Vec<RunRow>,
    newest: Option<RunRow>,
    flow: &FlowId,
) -> Result<RunId, Failure> {
    if let Some(newest) = newest.as_ref().filter(|newest| newest.flow == *flow) {
        unfinished.retain(|row| row.flow == *flow);
        if newest.ended.is_some() && newest.status() != RunStatus::Ended(EndStatus::Succeeded) {
            unfinished.insert(0, newest.clone());
        }
    }
    meant(Verb::Correct, &unfinished, newest.as_slice())
}

/// The purpose for which a command selects a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Only an unfinished run. If there are several, the one that resuming continues. So a scheduled `envoi
    /// resume` never repeats a failed step without a request.
    Resume,
    /// As [`Verb::Resume`], with a decision about an attempt in doubt or a review. Only if exactly one run is
    /// unfinished, so that the choice is the person's.
    Decide,
    /// An unfinished run, or the newest one if it has not succeeded. The consequences are shown first.
    Correct,
    /// Only an unfinished run.
    Cancel,
    /// An unfinished run, or the newest one if a limit ended it.
    Raise,
    /// The newest run, if it has ended.
    Fork,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Resume | Self::Decide | Self::Correct => "resume",
            Self::Cancel => "cancel",
            Self::Raise => "raise",
            Self::Fork => "fork",
        }
    }
}

/// How many recent runs are examined, because a choice lists few.
pub(crate) const RECENT: u32 = 20;

/// The run for a command that names none. `unfinished` and `recent` (the newest of all runs) are both newest
/// first.
pub(crate) fn meant(verb: Verb, unfinished: &[RunRow], recent: &[RunRow]) -> Result<RunId, Failure> {
    let newest = recent.first().ok_or_else(no_runs)?;
    let ended_by_a_limit = newest.status() == RunStatus::Ended(EndStatus::Exhausted);
    let candidates = match verb {
        Verb::Resume | Verb::Decide | Verb::Cancel => unfinished,
        Verb::Correct
            if unfinished.is_empty() && newest.status() != RunStatus::Ended(EndStatus::Succeeded) =>
        {
            core::slice::from_ref(newest)
        }
        Verb::Correct => unfinished,
        Verb::Raise if ended_by_a_limit && unfinished.is_empty() => core::slice::from_ref(newest),
        Verb::Raise => unfinished,
        Verb::Fork if newest.ended.is_some() => core::slice::from_ref(newest),
        Verb::Fork => &[],
    };
    let envoi = invocation::envoi();
    let mut left_at = candidates.iter().filter(|row| verb == Verb::Resume && is_left(row));
    if let (Some(only), None) = (left_at.next(), left_at.next()) {
        return Ok(only.run.clone());
    }
    match candidates {
        [row] => Ok(row.run.clone()),
        [] if verb == Verb::Resume && stopped(recent).nth(1).is_some() => Err(choice_of_stopped(recent)),
        [] => {
            let found = format!("the newest is {}", described(newest));
            let message = match verb {
                Verb::Fork => format!("the newest run is not over: {}", described(newest)),
                _ => format!("no run is unfinished; {found}"),
            };
            let hint = match verb {
                Verb::Resume if newest.status() != RunStatus::Ended(EndStatus::Succeeded) => {
                    format!(
                        "`{envoi} resume {}` runs again from the step that stopped it; `--flow FILE` gives it a corrected flow",
                        newest.run
                    )
                }
                _ => format!("name a run; `{envoi} runs` lists them"),
            };
            let code = if verb == Verb::Fork { Code::NotForkable } else { Code::RunNotFound };
            Err(Failure::new(code, message).hint(hint))
        }
        many @ [first, ..] => {
            let row = |row: &RunRow| format!("\n  {}\n    {}", described(row), ways_on(row, verb));
            let rows: Vec<_> = many.iter().take(MOST_LISTED).map(row).collect();
            let more = many.len().saturating_sub(MOST_LISTED);
            let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
            let message = format!("several runs are unfinished:{}{more}", rows.concat());
            let hint = match verb {
                Verb::Resume => format!("name one, such as `{envoi} resume {}`", first.run),
                Verb::Correct => format!("name one: `{envoi} resume {} --flow FILE`", first.run),
                _ => format!("name one: `{envoi} {} {}`", verb.word(), first.run),
            };
            Err(Failure::new(Code::AmbiguousId, message).hint(hint))
        }
    }
}

/// Whether no engine works on it, and it needs neither a person nor a repair first.
fn is_left(row: &RunRow) -> bool {
    row.status() == RunStatus::Running && row.doing.is_some_and(|doing| doing.needs_resume())
}

/// Whether it has ended without success.
fn has_stopped(row: &RunRow) -> bool {
    row.ended.is_some() && row.status() != RunStatus::Ended(EndStatus::Succeeded)
}

/// The runs that have ended without success.
fn stopped(recent: &[RunRow]) -> impl Iterator<Item = &RunRow> {
    recent.iter().filter(|row| has_stopped(row))
}

/// If no run is unfinished and several have stopped, the person must choose one.
fn choice_of_stopped(recent: &[RunRow]) -> Failure {
    let envoi = invocation::envoi();
    let line = |row: &RunRow| format!("\n  {}\n    {envoi} resume {}", described(row), row.run);
    let lines: Vec<String> = stopped(recent).take(MOST_LISTED).map(line).collect();
    let message = format!("no run is unfinished; these have not succeeded:{}", lines.concat());
    Failure::new(Code::RunNotFound, message).hint(
        "name one: it runs again from the step that stopped it; `--flow FILE` gives it a corrected flow",
    )
}

/// The command for one of several runs. Resuming a run that waits for an answer would only show its question.
fn ways_on(row: &RunRow, verb: Verb) -> String {
    let envoi = invocation::envoi();
    let run = &row.run;
    match (verb, row.status()) {
        (Verb::Resume, RunStatus::Waiting) if row.in_doubt == 0 => {
            format!("{envoi} show {run}   (it waits for an answer)")
        }
        (Verb::Correct, _) => format!("{envoi} resume {run} --flow FILE"),
        (verb, _) => format!("{envoi} {} {run}", verb.word()),
    }
}

/// The most rows of a choice.
const MOST_LISTED: usize = 10;

fn described(row: &RunRow) -> String {
    let step = row.step.as_ref().map_or_else(String::new, |step| format!(" at `{step}`"));
    format!(
        "{} ({}, {}{step}, since {})",
        row.run,
        row.flow,
        stands(row, envoi_engine::now()),
        clock::local(row.updated_at)
    )
}

/// The question that `text` identifies: by its id, or by that of a run with one open question. Without a
/// text, the only open one. If there are several, the message suggests the command `answer`.
pub(crate) fn question(
    reader: &Reader,
    text: Option<&str>,
    answer: &str,
) -> Result<(InterruptId, RunId), Failure> {
    let filter = match text {
        None => InboxFilter::default(),
        Some(text) => match found(reader, text)? {
            Found::Interrupt(interrupt, run) => return Ok((interrupt, run)),
            Found::Run(run) => {
                // Damage could be the reason that it has no question.
                check_not_aside(reader, &run)?;
                InboxFilter { run: Some(run), closed: false }
            }
        },
    };
    the_open(&reader.inbox(&filter).map_err(Failure::store)?, answer)
}

/// The only open question. If there are several, the message suggests the command `answer`.
pub(crate) fn the_open(rows: &[InboxRow], answer: &str) -> Result<(InterruptId, RunId), Failure> {
    match rows {
        [] => Err(Failure::new(Code::QuestionClosed, "nothing waits for a person there")
            .hint("`envoi inbox --all`")),
        [row] => Ok((row.interrupt.clone(), row.run.clone())),
        many => {
            let envoi = invocation::envoi();
            let line = |row: &InboxRow| {
                let first = row.question.lines().next().unwrap_or("");
                format!("\n  {} of {}: {first}\n    {envoi} {answer} {}", row.visit, row.run, row.interrupt)
            };
            let lines: Vec<String> = many.iter().take(MOST_LISTED).map(line).collect();
            let more = many.len().saturating_sub(MOST_LISTED);
            let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
            let message = format!("several questions are open:{}{more}", lines.concat());
            Err(Failure::new(Code::AmbiguousId, message).hint("name one, as above"))
        }
    }
}

/// The run whose id is `text`, or begins or ends with it.
pub(crate) fn run(reader: &Reader, text: &str) -> Result<RunId, Failure> {
    match found(reader, text)? {
        Found::Run(run) | Found::Interrupt(_, run) => Ok(run),
    }
}

/// Finds what an id, or the beginning or end of one, identifies.
pub(crate) fn found(reader: &Reader, text: &str) -> Result<Found, Failure> {
    match reader.find(text).map_err(Failure::store)? {
        Match::One(found) => Ok(found),
        Match::None => Err(was_deleted(reader, text)?.unwrap_or_else(|| no_such(text))),
        Match::Many(found) => Err(several(text, &found)),
    }
}

/// A shorter text is too ambiguous for a deleted run.
const SHORTEST: usize = 4;

/// The failure if a deleted run has the id `text`, or is the only one whose id begins or ends with it.
fn was_deleted(reader: &Reader, text: &str) -> Result<Option<Failure>, Failure> {
    let whole = match RunId::new(text) {
        Ok(id) => reader.tombstone(&id).map_err(Failure::store)?,
        Err(_) => None,
    };
    let left = match whole {
        Some(left) => Some(left),
        None if text.len() < SHORTEST => None,
        None => {
            let is_meant = |run: &RunId| run.as_str().starts_with(text) || run.as_str().ends_with(text);
            let all = reader.tombstones().map_err(Failure::store)?;
            let mut meant = all.into_iter().filter(|left| is_meant(&left.run));
            meant.next().filter(|_| meant.next().is_none())
        }
    };
    Ok(left.map(|left| {
        let id = &left.run;
        let message = format!("run `{id}` was deleted at {}: {}", left.deleted_at, left.why);
        let hint = match left.archive {
            Some(folder) => format!("its bundle was written to `{folder}`"),
            None => "`envoi runs` lists those that are there".to_owned(),
        };
        Failure::new(Code::RunNotFound, message).hint(&hint)
    }))
}

/// No run or question has this name.
pub(crate) fn no_such(text: &str) -> Failure {
    Failure::new(Code::RunNotFound, format!("no run or question is named `{text}`"))
        .hint("`envoi runs` and `envoi inbox` list them")
}

/// Several runs or questions have this name.
pub(crate) fn several(text: &str, found: &[Found]) -> Failure {
    let ids = found.iter().map(|found| match found {
        Found::Run(run) => run.to_string(),
        Found::Interrupt(interrupt, _) => interrupt.to_string(),
    });
    let message = format!("`{text}` is ambiguous; it matches: {}", ids.collect::<Vec<_>>().join(", "));
    Failure::new(Code::AmbiguousId, message).hint("give more of the id")
}

/// The store has no runs.
pub(crate) fn no_runs() -> Failure {
    Failure::new(Code::RunNotFound, "there are no runs").hint("`envoi run flow.yaml` starts one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::time::Timestamp;
    use envoi_journal::Activity;
    use envoi_journal::Ended;
    use envoi_kernel::ids::{FlowId, StepId};

    fn row(run: &str, ended: Option<EndStatus>) -> RunRow {
        let (run, flow) = (RunId::new(format!("run_{run:0>26}")).unwrap(), FlowId::new("shop").unwrap());
        let digest = envoi_contract::digest::Digest::of(b"");
        RunRow {
            workspace: "/w".to_owned(),
            step: Some(StepId::new("publish").unwrap()),
            ended: ended.map(|status| Ended {
                status,
                terminal_reason: "x".to_owned(),
                reason: String::new(),
            }),
            ..RunRow::begun(run, flow, digest, Timestamp::from_millis(0))
        }
    }

    #[test]
    fn a_command_without_a_run_takes_the_only_one_that_it_can_mean() {
        use EndStatus::{Exhausted, Failed, Succeeded};
        let open = row("1", None);
        let other = row("2", None);
        let both = [open.clone(), other.clone()];
        let over = |status| row("3", Some(status));
        type Case<'c> = (Verb, &'c [RunRow], Option<RunRow>, Result<&'c str, &'c str>);
        let alone = [open.clone()];
        let cases: [Case<'_>; 14] = [
            (Verb::Resume, &[], None, Err("there are no runs")),
            (Verb::Resume, &alone, Some(over(Failed)), Ok("1")),
            (Verb::Resume, &both, Some(open.clone()), Err("several runs are unfinished:\n  run_")),
            (Verb::Resume, &[], Some(over(Failed)), Err("no run is unfinished; the newest is run_")),
            (Verb::Resume, &[], Some(over(Succeeded)), Err("no run is unfinished")),
            (Verb::Cancel, &alone, Some(open.clone()), Ok("1")),
            (Verb::Cancel, &[], Some(over(Failed)), Err("no run is unfinished")),
            (Verb::Raise, &alone, Some(over(Exhausted)), Ok("1")),
            (Verb::Raise, &[], Some(over(Exhausted)), Ok("3")),
            (Verb::Raise, &[], Some(over(Failed)), Err("no run is unfinished")),
            (Verb::Raise, &both, Some(over(Exhausted)), Err("several runs")),
            (Verb::Fork, &alone, Some(over(Failed)), Ok("3")),
            (Verb::Fork, &[], Some(over(Succeeded)), Ok("3")),
            (Verb::Fork, &alone, Some(open.clone()), Err("the newest run is not over")),
        ];
        for (verb, unfinished, newest, expected) in cases {
            let chosen = meant(verb, unfinished, newest.as_slice());
            match (&chosen, expected) {
                (Ok(run), Ok(end)) => assert!(run.as_str().ends_with(end), "{verb:?}: {run}"),
                (Err(failure), Err(text)) => assert!(failure.message.contains(text), "{verb:?}: {failure:?}"),
                _ => panic!("{verb:?} of {} unfinished: {chosen:?}", unfinished.len()),
            }
        }
    }

    #[test]
    fn of_several_runs_the_only_one_that_nothing_works_on_is_resumed() {
        let doing = |activity| {
            Some(envoi_journal::Doing { activity, since: Timestamp::from_millis(0), step_works: false })
        };
        let left = |end| RunRow { doing: doing(Activity::Stopped), live_attempts: 1, ..row(end, None) };
        let waits = RunRow { open_interrupts: 1, live_attempts: 0, ..left("1") };
        let works = RunRow { doing: doing(Activity::Working), ..left("2") };
        let aside = RunRow { doing: doing(Activity::SetAside), ..left("3") };
        let several = [waits, works, aside, left("4")];
        assert!(meant(Verb::Resume, &several, &several).unwrap().as_str().ends_with('4'));
        let more = [left("5"), left("4")];
        let none = &several[..3];
        for (verb, rows) in
            [(Verb::Resume, none), (Verb::Resume, &more), (Verb::Cancel, &several), (Verb::Decide, &several)]
        {
            let refused = meant(verb, rows, rows).unwrap_err();
            assert!(refused.message.starts_with("several runs are unfinished"), "{verb:?}: {refused:?}");
        }
    }

    #[test]
    fn a_corrected_flow_is_for_a_run_of_its_own() {
        use EndStatus::{Failed, Succeeded};
        let of =
            |flow: &str, end: &str, ended| RunRow { flow: FlowId::new(flow).unwrap(), ..row(end, ended) };
        let (waits, failed) = (of("other", "1", None), of("w", "2", Some(Failed)));
        let (open, over) = (of("w", "4", None), of("w", "5", Some(Succeeded)));
        let flow = FlowId::new("w").unwrap();
        type Case = (Vec<RunRow>, Option<RunRow>, Result<&'static str, &'static str>);
        let cases: [Case; 6] = [
            (vec![waits.clone()], Some(failed.clone()), Ok("2")),
            (vec![waits.clone(), open.clone()], Some(open.clone()), Ok("4")),
            (vec![open.clone()], Some(failed), Err(" --flow FILE")),
            (vec![waits.clone()], Some(over), Err("no run is unfinished; the newest is run_")),
            // No run has that flow.
            (vec![waits.clone()], Some(waits), Ok("1")),
            (Vec::new(), None, Err("there are no runs")),
        ];
        for (number, (unfinished, newest, expected)) in cases.into_iter().enumerate() {
            match (to_correct(unfinished, newest, &flow), expected) {
                (Ok(run), Ok(end)) => assert!(run.as_str().ends_with(end), "{number}: {run}"),
                (Err(failure), Err(text)) => assert!(failure.message.contains(text), "{number}: {failure:?}"),
                (chosen, _) => panic!("{number}: {chosen:?}"),
            }
        }
    }

    #[test]
    fn a_failed_run_is_named_with_the_command_that_continues_it() {
        let newest = row("3", Some(EndStatus::Failed));
        let refused = meant(Verb::Resume, &[], core::slice::from_ref(&newest)).unwrap_err();
        let hint = format!(
            "`envoi resume {}` runs again from the step that stopped it; `--flow FILE` gives it a corrected flow",
            newest.run
        );
        assert_eq!(refused.hint, Some(hint));
        assert!(refused.message.contains("(shop, failed at `publish`, since "), "{}", refused.message);
    }

    #[test]
    fn of_several_runs_that_have_stopped_each_is_listed_with_its_command() {
        use EndStatus::{Cancelled, Failed, Succeeded};
        let recent = [row("9", Some(Succeeded)), row("3", Some(Failed)), row("2", Some(Cancelled))];
        let refused = meant(Verb::Resume, &[], &recent).unwrap_err();
        assert_eq!((refused.code.known(), refused.exit_code), (Some(Code::RunNotFound), 2));
        for run in &recent[1..] {
            let command = format!("\n    envoi resume {}", run.run);
            assert!(refused.message.contains(&command), "{}", refused.message);
        }
        assert!(!refused.message.contains(recent[0].run.as_str()), "{}", refused.message);
        let one = meant(Verb::Cancel, &[], &recent).unwrap_err();
        assert!(one.message.starts_with("no run is unfinished; the newest is "), "{}", one.message);
    }

    #[test]
    fn of_several_questions_each_is_listed_with_its_command() {
        let asked = |id: &str| InboxRow {
            interrupt: InterruptId::new(format!("int_{id:0>26}")).unwrap(),
            run: RunId::new(format!("run_{id:0>26}")).unwrap(),
            about: envoi_kernel::event::About::Ask,
            visit: envoi_kernel::ids::VisitId {
                scope: String::new(),
                step: StepId::new("ok").unwrap(),
                visit: 1,
            },
            question: "Publish it?\nIt is large.".to_owned(),
            raised_at: Timestamp::from_millis(0),
            kind: envoi_contract::envelope::InterruptKind::Confirmation,
            expires_at: None,
            state: envoi_journal::InterruptState::Open,
            closed: None,
        };
        let rows = [asked("1"), asked("2")];
        let refused = the_open(&rows, "approve").unwrap_err();
        for row in &rows {
            let lines = format!("\n  ok.1 of {}: Publish it?\n    envoi approve {}", row.run, row.interrupt);
            assert!(refused.message.contains(&lines), "{}", refused.message);
        }
        let rows = [asked("1")];
        assert_eq!(the_open(&rows, "deny").unwrap().0, rows[0].interrupt);
    }

    #[test]
    fn of_many_runs_ten_are_listed() {
        let many: Vec<_> = (0..12).map(|number| row(&number.to_string(), None)).collect();
        let refused = meant(Verb::Cancel, &many, &many).unwrap_err();
        assert_eq!((refused.code.known(), refused.exit_code), (Some(Code::AmbiguousId), 6));
        assert_eq!(refused.message.lines().count(), 22, "{}", refused.message);
        let command = format!("\n    envoi cancel {}", many[0].run);
        assert!(refused.message.contains(&command), "{}", refused.message);
        assert!(refused.message.ends_with("and 2 more"), "{}", refused.message);
    }
}
