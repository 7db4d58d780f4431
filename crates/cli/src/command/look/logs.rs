//! `envoi logs`: what a run's commands wrote, attempt by attempt; readable while they still run. `|` marks stdout, `!`
//! stderr; with `--json` a line is an object.

mod files;
mod follow;

use crate::{
    process::{failure::Failure, messages, output},
    store::{home::Home, select},
    text::{
        columns::{Charset, shown},
        location::Location,
    },
};
use envoi_api::log::LogLine;
use envoi_kernel::{
    Event, Record,
    ids::{AttemptId, Seq},
};
use files::Files;
use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _},
    time::Duration,
};

/// Where the events and the outputs of a run are.
pub(crate) trait Outputs {
    /// Whether the run is at rest.
    fn is_at_rest(&mut self) -> Result<bool, Failure>;

    /// What has happened from this event on.
    fn records(&mut self, from: Seq) -> Result<Vec<Record>, Failure>;

    /// `stdout` or `stderr` of an attempt.
    fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output>;

    /// How long to wait before looking again.
    fn pause(&self) -> Duration;
}

/// One output of one attempt.
pub(crate) trait Output {
    /// Adds what there is from this byte on, at most [`PIECE_BYTES`], and says how much that is.
    fn read(&mut self, from: u64, into: &mut Vec<u8>) -> Result<usize, Failure>;
}

/// Most bytes of an output that are read before the next one gets its turn.
pub(crate) const PIECE_BYTES: u64 = 256 * 1024;

/// What is to be printed, and how.
pub(crate) struct View {
    /// Only what belongs there.
    pub(crate) place: Option<Location>,
    /// Only stderr.
    pub(crate) stderr: bool,
    /// The events of agent programs, and nothing else.
    pub(crate) raw: bool,
    pub(crate) json: bool,
    /// Only the last so many lines.
    pub(crate) limit: Option<usize>,
}

pub(crate) fn logs(home: &Home, run: Option<&str>, view: &View, follow: bool) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    print(&mut Files { reader, layout: store.layout().clone(), run: id }, view, follow)
}

/// Prints what the attempts of a run have written, and what they go on to write if that is wanted.
pub(crate) fn print(outputs: &mut dyn Outputs, view: &View, follow: bool) -> Result<u8, Failure> {
    if follow {
        return follow::follow(outputs, view);
    }
    let mut is_silent = true;
    let mut last = VecDeque::new();
    for record in outputs.records(0)? {
        let Some(attempt) = view.started(&record) else { continue };
        for stream in view.streams() {
            let text = all(outputs.output(attempt, stream).as_mut())?;
            let lines = text.lines().map(|line| view.line(attempt, stream, line));
            is_silent &= text.is_empty();
            match view.limit {
                None => output::data(&lines.collect::<String>())?,
                Some(most) => {
                    last.extend(lines);
                    last.drain(..last.len().saturating_sub(most));
                }
            }
        }
    }
    output::data(&last.into_iter().collect::<String>())?;
    if is_silent {
        messages::say(view.silence());
    }
    Ok(0)
}

fn all(output: &mut dyn Output) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    while output.read(bytes.len() as u64, &mut bytes)? > 0 {}
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl View {
    /// The attempt that began with this record, if its output is wanted.
    fn started<'r>(&self, record: &'r Record) -> Option<&'r AttemptId> {
        let Event::AttemptStarted(started) = &record.event else { return None };
        let is_wanted = self.place.as_ref().is_none_or(|place| place.has_attempt(&started.attempt));
        is_wanted.then_some(&started.attempt)
    }

    /// The message for an empty output. Without it a person could think that the command did not work.
    fn silence(&self) -> &'static str {
        match (&self.place, self.stderr) {
            _ if self.raw => "no agent program has written events there",
            (Some(_), _) => "nothing was written there",
            (None, true) => "the commands of this run have written nothing to stderr",
            (None, false) => "the commands of this run have written nothing",
        }
    }

    fn streams(&self) -> &'static [&'static str] {
        match (self.raw, self.stderr) {
            (true, _) => &[envoi_program::EVENTS_FILE],
            (false, true) => &["stderr"],
            (false, false) => &["stdout", "stderr"],
        }
    }

    /// One line of output as it is printed. On a terminal a command's output must not steer it.
    fn line(&self, attempt: &AttemptId, stream: &str, line: &str) -> String {
        let attempt = attempt.to_string();
        if self.json {
            let stream = if self.raw { "events" } else { stream };
            return output::line(&LogLine { attempt, stream: stream.to_owned(), line: line.to_owned() });
        }
        let mark = if stream == "stderr" { "!" } else { "|" };
        // An event is a line of JSON, for programs that read JSON: nothing stands before it.
        let head = if self.raw { String::new() } else { format!("{attempt} {mark} ") };
        match io::stdout().is_terminal() {
            true => format!("{head}{}\n", shown(line, Charset::Unicode)),
            false => format!("{head}{line}\n"),
        }
    }
}
