//! A run that asks a person: how long it takes until the question is shown, and how long until the run
//! continues after an answer.
//!
//! Only the engine is measured: from the message that its loop receives to the event that a follower
//! receives. The command that a person types, and reading the run from the journal when no engine holds it,
//! are not included.

use crate::{
    Outcome, raw,
    row::{Row, median, percentile, spread},
    stage::{Stage, Steps},
};
use envoi_engine::{Message, protocol::Response};
use envoi_kernel::{
    Input,
    event::{Choice, Event},
    ids::{Principal, RunId},
    input::Answer,
};
use std::{
    fs,
    sync::mpsc::{self, Receiver},
    time::Instant,
};

/// Rounds, each between its own raw measurements.
const ROUNDS: u32 = 5;
/// Runs per round, one after the other. Each pauses once and resumes once.
const RUNS: u32 = 80;
/// Raw commits before and after each round.
const RAW_COMMITS: u32 = 150;
/// A question between two no-op steps.
const FLOW: &str = "\
flow: bench
steps:
  - id: draft
    run: [\"true\"]
  - id: approval
    ask: \"Go on?\"
  - id: publish
    run: [\"true\"]
";

/// A pause and a resume, for the median run and the slowest tenth; and the commits of each.
pub(crate) fn pause_and_resume() -> Outcome<Vec<Row>> {
    let (mut pause, mut resume) = (Part::default(), Part::default());
    for _ in 0..ROUNDS {
        let before = raw::commit_s(&std::env::temp_dir(), RAW_COMMITS)?;
        let (pauses, resumes) = round()?;
        let commit = f64::midpoint(before, raw::commit_s(&std::env::temp_dir(), RAW_COMMITS)?);
        pause.add(pauses, commit);
        resume.add(resumes, commit);
    }
    Ok(vec![
        pause.row("pause: a step settles, its question is shown"),
        resume.row("resume: a person's answer, the next attempt is announced"),
    ])
}

/// The same without a clock, between look-ups of missing files (`bench/engine-fsyncs.sh`).
pub(crate) fn between_marks(runs: u32) -> Outcome<()> {
    let mut stage = Stage::of(&std::env::temp_dir(), 1, FLOW, Steps::Settle { text_bytes: 20 })?;
    for _ in 0..runs {
        let mut paused = Paused::begin(&mut stage)?;
        drop(fs::metadata("/envoi-bench-pauses"));
        paused.pause()?;
        drop(fs::metadata("/envoi-bench-ends"));
        let answer = paused.answer()?;
        drop(fs::metadata("/envoi-bench-resumes"));
        paused.resume(answer)?;
        drop(fs::metadata("/envoi-bench-ends"));
        stage.play_to_the_end()?;
    }
    Ok(())
}

/// The cost of one pause or one resume.
struct Took {
    seconds: f64,
    commits: u64,
}

/// All measurements of pauses, or of resumes.
#[derive(Default)]
struct Part {
    all: Vec<f64>,
    commits: u64,
    raws: Vec<f64>,
    ratios: Vec<f64>,
}

impl Part {
    fn add(&mut self, round: Vec<Took>, raw_commit_s: f64) {
        self.commits = round.iter().fold(self.commits, |sum, took| sum.saturating_add(took.commits));
        let seconds: Vec<f64> = round.into_iter().map(|took| took.seconds).collect();
        self.all.extend(&seconds);
        self.raws.push(raw_commit_s);
        self.ratios.push(median(seconds) / raw_commit_s);
    }

    fn row(self, what: &str) -> Row {
        let Self { all, commits, raws, ratios } = self;
        Row {
            what: format!("{what} ({commits} commits for {})", all.len()),
            value: format!("{:.2} ms, p90 {:.2} ms", median(all.clone()) * 1e3, percentile(all, 90) * 1e3),
            raw: format!("{:.2} ms a commit", median(raws) * 1e3),
            spread: spread(&ratios),
            figure: format!("{:.2} x", median(ratios)),
            target: "<= 2 ms",
        }
    }
}

/// The pauses and resumes of one round.
fn round() -> Outcome<(Vec<Took>, Vec<Took>)> {
    let mut stage = Stage::of(&std::env::temp_dir(), 1, FLOW, Steps::Settle { text_bytes: 20 })?;
    let (mut pauses, mut resumes) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut paused = Paused::begin(&mut stage)?;
        pauses.push(paused.pause()?);
        let answer = paused.answer()?;
        resumes.push(paused.resume(answer)?);
        stage.play_to_the_end()?;
    }
    Ok((pauses, resumes))
}

/// A run whose first step has ended. The engine does not know that yet.
struct Paused<'a> {
    stage: &'a mut Stage,
    run: RunId,
    settled: Option<Message>,
}

impl<'a> Paused<'a> {
    fn begin(stage: &'a mut Stage) -> Outcome<Self> {
        let run = stage.begin_one()?;
        let settled = Some(stage.play_until_one_settles()?);
        Ok(Self { stage, run, settled })
    }

    /// Passes the result of the step to the engine, and waits until a follower has the question.
    fn pause(&mut self) -> Outcome<Took> {
        let settled = self.settled.take().ok_or("the run has paused already")?;
        self.until(settled, |event| matches!(event, Event::InterruptRaised(_)))
    }

    /// A person's approval of the open question.
    fn answer(&self) -> Outcome<Message> {
        let question = self.stage.open_question(&self.run).ok_or("the run does not ask")?;
        let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
        let answer = Answer::new(question, Choice::Approve, by);
        // If the answer is refused, no start would follow, and the follower would wait for ever. So exit.
        Ok(Message::Input {
            run: self.run.clone(),
            input: Box::new(Input::Answer(Box::new(answer))),
            reply: Box::new(|taken| {
                if let Err(error) = taken {
                    eprintln!("envoi-bench: the answer was refused: {error}");
                    std::process::exit(1);
                }
            }),
        })
    }

    /// Passes the answer to the engine, and waits until a follower has the start of the next attempt.
    fn resume(&mut self, answer: Message) -> Outcome<Took> {
        self.until(answer, |event| matches!(event, Event::AttemptStarted(_)))
    }

    fn until(&mut self, message: Message, over: impl Fn(&Event) -> bool) -> Outcome<Took> {
        let (follower, heard) = mpsc::channel();
        self.stage.follow(&self.run, follower);
        let commits = self.stage.commits();
        let began = Instant::now();
        self.stage.hand(message)?;
        self.stage.play_until(|_| has_heard(&heard, &over))?;
        let shown = self.stage.shown_at().ok_or("nothing was shown")?;
        Ok(Took {
            seconds: shown.saturating_duration_since(began).as_secs_f64(),
            commits: self.stage.commits().saturating_sub(commits),
        })
    }
}

fn has_heard(heard: &Receiver<Response>, over: impl Fn(&Event) -> bool) -> bool {
    heard.try_iter().any(|response| matches!(response, Response::Record { record } if over(&record.event)))
}
