//! Runs as text: each line that begins with `>` is an input; below it are its events, then the wants and the state
//! of the run.

use crate::{
    driver::{Driver, attempt, exited, person, reported, result, settled, slot},
    flows::limits,
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Flow, Input, Run, Status,
    event::{CallOutcome, Choice, Command, Course, FoundFile, Outcome, RunEnded},
    ids::{CallId, InterruptId, TimerId},
    input::{Answer, ModelCall, ModelCalled},
    ledger::{Cost, Ledger},
};
use std::sync::Arc;

/// Plays the inputs of `text` and compares the whole.
pub(crate) fn plays(flow: &Arc<Flow>, text: &str) -> Driver {
    let mut driver = Driver::new(flow);
    let expected: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let inputs = expected.iter().filter_map(|line| line.strip_prefix("> "));
    let lived: Vec<String> = inputs.flat_map(|input| turn(&mut driver, input)).collect();
    assert!(lived == expected, "it went\n{}\nnot\n{}", lived.join("\n"), expected.join("\n"));
    driver
}

/// Plays these inputs and gives the last turn, without its input.
pub(crate) fn ends(flow: &Arc<Flow>, inputs: &[&str]) -> String {
    let mut driver = Driver::new(flow);
    let turns: Vec<_> = inputs.iter().map(|input| turn(&mut driver, input)).collect();
    turns.last().map(|turn| turn[1..].join(" ")).unwrap_or_default()
}

/// Feeds one input, whether it is accepted or refused.
pub(crate) fn feed(driver: &mut Driver, words: &str) -> String {
    turn(driver, words)[1..].join(" ")
}

fn turn(driver: &mut Driver, words: &str) -> Vec<String> {
    let mut lines = vec![format!("> {words}")];
    let (what, slot) = match words.strip_suffix(" without a slot") {
        Some(what) => (what, None),
        None => (words, slot()),
    };
    let Some(input) = input(driver, what) else { return lines };
    match driver.feed_with(input, slot) {
        Ok(records) => {
            let events: Vec<String> = records.iter().map(|record| event(&record.event)).collect();
            lines.push(events.join(", "));
        }
        Err(refusal) => lines.push(numbered(driver, format!("refused: {refusal}"))),
    }
    lines.push(stand(&driver.run));
    lines
}

/// Questions as `#1`, `#2`, in the order in which they were raised: their ids cannot be known beforehand.
fn numbered(driver: &Driver, text: String) -> String {
    let ids = driver.asked();
    (1..).zip(&ids).fold(text, |text, (nth, id)| text.replace(id.as_str(), &format!("#{nth}")))
}

/// `None` for words that only move the clock.
fn input(driver: &mut Driver, words: &str) -> Option<Input> {
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    if let Some(nth) = first.strip_prefix('#') {
        let nth: usize = nth.parse().unwrap();
        return Some(said(rest, driver.asked()[nth - 1].clone()));
    }
    Some(match first {
        "clock" => {
            driver.now = Timestamp::from_millis(driver.now.as_millis() + rest.parse::<i64>().unwrap());
            return None;
        }
        "start" => driver.start(),
        "slot" => Input::SlotFree,
        "answer" => said(rest, question(driver)),
        "expire" => Input::Expire { interrupt: question(driver) },
        "changed" => {
            let path = if rest.is_empty() { "a.py" } else { rest };
            let found = vec![FoundFile { path: path.to_owned(), digest: Some(Digest::of(b"other")) }];
            Input::Changed { interrupt: question(driver), found }
        }
        "restart" => {
            driver.restart();
            return None;
        }
        "due" => {
            let (timer, due) = driver.timer();
            driver.now = driver.now.max(due);
            Input::TimerDue { timer }
        }
        "early" => Input::TimerDue { timer: driver.timer().0 },
        "timer" => Input::TimerDue { timer: TimerId::new(rest).unwrap() },
        "more" => {
            let words: Vec<&str> = rest.split(' ').collect();
            let pairs: Vec<_> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            Input::Raise {
                more: ledger(&pairs),
                by: person("bob"),
                why: None,
                request: None,
                elsewhere: Default::default(),
            }
        }
        "call" => begin_call(rest),
        "called" => end_call(rest),
        "cancel" => Input::Cancel { by: person("bob") },
        "reopen" => {
            Input::Reopen { by: person("bob"), why: None, request: None, elsewhere: Default::default() }
        }
        verb if is_choice(verb.trim_end_matches(':')) => said(words, question(driver)),
        id => attempt_input(id, rest),
    })
}

/// Amounts by the names of bounds.
fn ledger(pairs: &[(&str, &str)]) -> Ledger {
    let rounds = pairs
        .iter()
        .filter(|(name, _)| *name == "rounds")
        .map(|(_, count)| count.parse::<u64>().unwrap())
        .sum();
    let bounds: Vec<_> = pairs.iter().filter(|(name, _)| *name != "rounds").copied().collect();
    let more = limits(&bounds);
    Ledger {
        rounds,
        agent_hops: more.agent_hops.unwrap_or(0),
        iterations: more.iterations.unwrap_or(0),
        llm_calls: more.llm_calls.unwrap_or(0),
        wall_time_ms: more.wall_time_ms.unwrap_or(0),
        cost: more.cost.unwrap_or_default(),
        ..Ledger::default()
    }
}

/// `CHOICE[: words] [by NAME]`, or `raise BOUND N [by NAME]`; bob, unless a name is given.
fn said(words: &str, about: InterruptId) -> Input {
    let (words, by) = words.rsplit_once(" by ").unwrap_or((words, "bob"));
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    let text = first.ends_with(':').then(|| rest.to_owned());
    let raise = rest.split_once(' ').filter(|_| first == "raise").map(|(name, more)| ledger(&[(name, more)]));
    let answer = Answer::new(about, choice(first.trim_end_matches(':')), person(by));
    Input::Answer(Box::new(Answer { text, raise, ..answer }))
}

fn attempt_input(id: &str, words: &str) -> Input {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let plain = |outcome| result(id, outcome, "");
    let result = match verb {
        "doubt" => return Input::InDoubt { attempt: attempt(id), evidence: evidence(rest) },
        "exit" => exited(id, rest.parse().unwrap()),
        "says" => result(id, Outcome::Exited { code: 0 }, rest),
        "reports" => reported(id, rest),
        "asks" => agent_said(id, true, &format!(r#""asks","question":"{rest}","evidence":{{"task":"t"}}"#)),
        "over" => agent_said(id, false, r#""over""#),
        "unclear" => agent_said(id, false, r#""unclear""#),
        "signal" => plain(Outcome::Signalled { signal: rest.parse().unwrap() }),
        "timeout" => plain(Outcome::TimedOut),
        "cancelled" => plain(Outcome::Cancelled),
        "unstartable" => plain(Outcome::CannotStart { reason: "no such file".to_owned() }),
        other => panic!("nothing is called {other}"),
    };
    settled(result)
}

/// The evidence for an attempt in doubt: `nothing sent`, `copied`, `copied and nothing sent`, or nothing.
fn evidence(words: &str) -> Value {
    let member = |word: &str, name: &'static str| words.contains(word).then(|| (name, Value::from(true)));
    let members =
        [member("copied", envoi_kernel::COPIED), member("nothing sent", envoi_kernel::NOTHING_SENT)];
    let known: Object = members.into_iter().flatten().collect();
    if words.is_empty() { Value::Null } else { Value::Object(known) }
}

/// `NAME[ ATTEMPT]`: a model is called, by an attempt or beside all.
fn begin_call(words: &str) -> Input {
    let (name, by) = words.split_once(' ').map_or((words, None), |(name, by)| (name, Some(by)));
    let (model, provider) = ("small".to_owned(), "lab".to_owned());
    Input::ModelCall(Box::new(ModelCall { call: call(name), attempt: by.map(attempt), model, provider }))
}

/// `NAME lost`, `NAME failed`, or `NAME COST`, with 10 tokens in and 2 out.
fn end_call(words: &str) -> Input {
    let (name, how) = words.split_once(' ').unwrap();
    let lost = ModelCalled::lost(call(name));
    Input::ModelCalled(Box::new(match how {
        "lost" => lost,
        "failed" => ModelCalled { outcome: CallOutcome::Failed, duration_ms: 3, ..lost },
        cost => ModelCalled {
            outcome: CallOutcome::Ok,
            tokens_in: Some(10),
            tokens_out: Some(2),
            cost: Some(Cost::parse(cost).unwrap()),
            duration_ms: 3,
            ..lost
        },
    }))
}

pub(crate) fn call(name: &str) -> CallId {
    CallId::new(format!("call_{name}")).unwrap()
}

/// The result of the agent of an `a2a` step.
pub(crate) fn agent_said(id: &str, ok: bool, said: &str) -> envoi_kernel::input::AttemptResult {
    let error = if ok { "" } else { r#","error":{"code":"AGENT_FAILED","message":"no luck"}"# };
    reported(id, &format!(r#""ok":{ok},"agent":{{"said":{said}}}{error}"#))
}

/// The open question, or one that is not.
fn question(driver: &Driver) -> InterruptId {
    let open = driver.run.wants().interrupts.first().cloned();
    open.unwrap_or_else(|| InterruptId::new("int_none").unwrap())
}

/// All there are.
pub(crate) const CHOICES: [Choice; 9] = [
    Choice::Rerun,
    Choice::Fail,
    Choice::Proceed,
    Choice::Again,
    Choice::Stop,
    Choice::Approve,
    Choice::Deny,
    Choice::Respond,
    Choice::Raise,
];

fn is_choice(word: &str) -> bool {
    CHOICES.iter().any(|choice| choice.word() == word)
}

fn choice(word: &str) -> Choice {
    CHOICES.into_iter().find(|choice| choice.word() == word).unwrap()
}

pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::RunStarted(_) => "started".to_owned(),
        Event::StepEntered(event) => format!("{} entered", scoped(&event.scope, event.step.as_str())),
        Event::StepsGivenUp(event) => {
            let steps: Vec<&str> = event.steps.iter().map(|step| step.as_str()).collect();
            format!("{} does without {}", scoped(&event.scope, event.by.as_str()), steps.join(" "))
        }
        Event::FannedOut(event) => format!("{} has {} items", event.visit, event.items.len()),
        Event::FlowEntered(event) => {
            let at = event.at.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
            format!("{} {} {}{at}", event.visit, if event.resumes { "takes up" } else { "runs" }, event.flow)
        }
        Event::GoalsSet(event) => format!("goals {}", event.goals.join(" ")),
        Event::GoalsReached(event) => {
            let unknown = if event.unknown.is_empty() { "" } else { " (and unknown ones)" };
            format!("{} reaches {}{unknown}", event.visit, event.goals.join(" "))
        }
        Event::FlowReturned(event) => format!("{} returns {}", event.visit, event.data.compact()),
        Event::RunStopping(event) => format!("stopping: {}", event.terminal_reason),
        Event::AttemptStarted(event) if event.verifies.is_some() => {
            format!("{} verifies {}", event.attempt, event.verifies.as_ref().unwrap())
        }
        Event::AttemptStarted(event) if event.iteration > 0 => {
            format!("{} begins (round {})", event.attempt, event.iteration)
        }
        Event::AttemptStarted(event) => match &event.command {
            Command::A2a(call) => {
                let no = if call.denied { " no" } else { "" };
                let again = if call.resend { " again" } else { "" };
                format!("{} calls {}.{}{no}{again}", event.attempt, call.task, call.turn)
            }
            Command::Agent(call) => {
                let how = if call.resumes { "resumes" } else { "opens" };
                let id = call.session.as_deref().map_or("a session", |id| id.get(..4).unwrap_or(id));
                format!("{} {how} {id}", event.attempt)
            }
            Command::Merge(_) => format!("{} merges", event.attempt),
            Command::Exec(_) | Command::Shell(_) | Command::Model(_) => format!("{} begins", event.attempt),
        },
        Event::AttemptSettled(event) => {
            let word = event.error.as_ref().map_or("ok", |error| error.code.as_str());
            format!("{} {}", event.attempt, if event.late { "late" } else { word })
        }
        Event::ModelCallStarted(event) => {
            let by = event.attempt.as_ref().map(|attempt| format!(" of {attempt}")).unwrap_or_default();
            format!("{}{by}", event.call)
        }
        Event::ModelCallEnded(event) => format!("{} {}", event.call, event.outcome.word()),
        Event::Routed(event) => format!("{} {}", event.visit, course(&event.course)),
        Event::HandoffWritten(event) => format!("{} {}", event.visit, event.handoff.status.word()),
        Event::InterruptRaised(event) => format!("asks {:?} of {}", event.about, event.visit),
        Event::InterruptAnswered(event) => format!("answered {}", event.choice.word()),
        Event::VoteCast(event) => format!("{} votes {}", event.by.actor, event.choice.word()),
        Event::InterruptExpired(_) => "question expired".to_owned(),
        Event::InterruptCancelled(event) if event.changed => "question out of date".to_owned(),
        Event::InterruptCancelled(_) => "question void".to_owned(),
        Event::TimerSet(event) => match &event.account {
            Some(wait) => format!("{} waits for {}", event.visit, wait.account),
            None => format!("timer for {}", event.visit),
        },
        Event::TimerFired(_) => "timer fires".to_owned(),
        Event::AccountsTried(event) => format!("{} tried by {}", event.accounts.join(", "), event.by.actor),
        Event::LimitsRaised(_) => "limits raised".to_owned(),
        Event::CancelRequested(event) => format!("cancel by {}", event.by.actor),
        Event::RunReopened(event) => match &event.decides {
            Some(visit) => format!("reopened behind {visit}"),
            None => format!("reopened at {}", event.step),
        },
        Event::RunForked(event) => format!("forked from {} at {}", event.from, event.step),
        Event::CorrectionRequested(_) => "correction waits".to_owned(),
        Event::FlowCorrected(event) => {
            let from = event.from.as_ref().map(|step| format!(" from {step}")).unwrap_or_default();
            format!("flow corrected{from}")
        }
        Event::CorrectionDropped(_) => "correction dropped".to_owned(),
        Event::FilesRestoring(_) => "files restoring".to_owned(),
        Event::FilesRestored(_) => "files restored".to_owned(),
        Event::FilesKeptAsTheyWere(_) => "files kept as they were".to_owned(),
        Event::RunEnded(event) => over(event),
    }
}

fn scoped(scope: &str, step: &str) -> String {
    if scope.is_empty() { step.to_owned() } else { format!("{scope}.{step}") }
}

fn course(course: &Course) -> String {
    match course {
        Course::Done(done) => format!("is {done:?}").to_lowercase(),
        Course::Gathered => "is an item".to_owned(),
        Course::Enter(step) => format!("-> {step}"),
        Course::Round(step) => format!("next round at {step}"),
        Course::LoopBack(step) => format!("back to {step}"),
        Course::Complete => "-> end".to_owned(),
        Course::Hold => "holds".to_owned(),
        Course::Stop => "stops".to_owned(),
    }
}

fn over(event: &RunEnded) -> String {
    let at = event.stopped_by.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
    format!("over: {}{at}", event.terminal_reason)
}

/// The wants of the run, and its status with its exit code.
pub(crate) fn stand(run: &Run) -> String {
    let wants = run.wants();
    let mut parts: Vec<String> = wants.attempts.iter().map(|id| format!("{id} live")).collect();
    parts.extend(wants.ending.iter().map(|id| format!("{id} ending")));
    parts.extend(wants.ready.iter().map(|id| format!("{id} ready")));
    parts.extend(wants.timers.iter().map(|_| "timer".to_owned()));
    parts.extend(wants.interrupts.iter().map(|_| "question".to_owned()));
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    if wants.cancelling {
        parts.push("cancelling".to_owned());
    }
    let status = run.status();
    let code = status.exit_code().map(|code| format!(" {code}")).unwrap_or_default();
    let word =
        if matches!(status, Status::Running) { String::new() } else { format!(" [{}{code}]", status.word()) };
    format!("= {}{word}", parts.join(", "))
}
