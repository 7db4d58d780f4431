//! `envoi logs`: shows the output of a run's commands, attempt by attempt, also while they run. `|` marks
//! stdout, `!` marks stderr. With `--json` each line is an object.

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

/// The source of a run's events and outputs.
pub(crate) trait Outputs {
    /// Whether the run is at rest.
    fn is_at_rest(&mut self) -> Result<bool, Failure>;

    /// The events from this one on.
    fn records(&mut self, from: Seq) -> Result<Vec<Record>, Failure>;

    /// The newest [`PAGE`] attempts that were started before this event (`None`: of all), newest first. Each
    /// has its position.
    fn attempts(&mut self, before: Option<Seq>) -> Result<Vec<(Seq, AttemptId)>, Failure>;

    /// The first [`PAGE`] attempts that were started at or after this event, oldest first.
    fn attempts_from(&mut self, from: Seq) -> Result<Vec<(Seq, AttemptId)>, Failure>;

    /// `stdout` or `stderr` of an attempt.
    fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output>;

    /// How long to wait before the next poll.
    fn pause(&self) -> Duration;
}

/// An output of an attempt.
pub(crate) trait Output {
    /// Appends at most [`PIECE_BYTES`] from this offset on, and returns how many bytes it appended.
    fn read(&mut self, from: u64, into: &mut Vec<u8>) -> Result<usize, Failure>;
}

/// How many attempts are read at once. Their output is printed before the next ones are read.
pub(crate) const PAGE: u32 = 200;

/// The most bytes of one output that are read before the next output is read.
pub(crate) const PIECE_BYTES: u64 = 256 * 1024;

/// Selects what is printed, and its format.
pub(crate) struct View {
    /// Only this location.
    pub(crate) place: Option<Location>,
    /// Only stderr.
    pub(crate) stderr: bool,
    /// Only the events of agent programs.
    pub(crate) raw: bool,
    pub(crate) json: bool,
    /// Only the last lines, this many. 0 means no limit.
    pub(crate) limit: Option<usize>,
}

pub(crate) fn logs(home: &Home, run: Option<&str>, view: &View, follow: bool) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    print(&mut Files { reader, layout: store.layout().clone(), run: id }, view, follow)
}

/// Prints the output of a run's attempts. With `follow`, also the output that comes later.
pub(crate) fn print(outputs: &mut dyn Outputs, view: &View, follow: bool) -> Result<u8, Failure> {
    if follow {
        return follow::follow(outputs, view);
    }
    let is_silent = match view.limit.filter(|most| *most > 0) {
        None => all(outputs, view, &mut output::data)?,
        Some(most) => {
            let last = last(outputs, view, most)?;
            output::data(&last.iter().flatten().map(String::as_str).collect::<String>())?;
            last.is_none()
        }
    };
    if is_silent {
        messages::say(view.silence());
    }
    Ok(0)
}

/// Prints everything. Returns whether there was nothing to print.
fn all(
    outputs: &mut dyn Outputs,
    view: &View,
    print: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut is_silent = true;
    // Attempts that start while this prints are left out: later lines of the last one would be missing in the middle.
    let last = outputs.attempts(None)?.first().map(|(seq, _)| *seq);
    let mut page = VecDeque::from(outputs.attempts_from(0)?);
    while let Some((seq, attempt)) = page.pop_front().filter(|(seq, _)| last.is_some_and(|last| *seq <= last))
    {
        let lines = view.written(outputs, &attempt)?;
        is_silent &= lines.is_empty();
        print(&lines.concat())?;
        if page.is_empty() {
            page = outputs.attempts_from(seq.saturating_add(1))?.into();
        }
    }
    Ok(is_silent)
}

/// Returns the last lines, or `None` if nothing was written. Reads attempts from the newest back until there
/// are enough lines.
fn last(outputs: &mut dyn Outputs, view: &View, most: usize) -> Result<Option<Vec<String>>, Failure> {
    let mut newest_first: Vec<Vec<String>> = Vec::new();
    let mut count = 0_usize;
    let mut page = VecDeque::from(outputs.attempts(None)?);
    while let Some((seq, attempt)) = page.pop_front() {
        let lines = view.written(outputs, &attempt)?;
        if !lines.is_empty() {
            count = count.saturating_add(lines.len());
            newest_first.push(lines);
            if count >= most {
                break;
            }
        }
        if page.is_empty() {
            page = outputs.attempts(Some(seq))?.into();
        }
    }
    if newest_first.is_empty() {
        return Ok(None);
    }
    let lines = newest_first.into_iter().rev().flatten();
    Ok(Some(lines.skip(count.saturating_sub(most)).collect()))
}

fn text(output: &mut dyn Output) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    while output.read(bytes.len() as u64, &mut bytes)? > 0 {}
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl View {
    /// Returns the attempt that this record started, if its output is wanted.
    fn started<'r>(&self, record: &'r Record) -> Option<&'r AttemptId> {
        match &record.event {
            Event::AttemptStarted(started) if self.wants(&started.attempt) => Some(&started.attempt),
            _ => None,
        }
    }

    fn wants(&self, attempt: &AttemptId) -> bool {
        self.place.as_ref().is_none_or(|place| place.has_attempt(attempt))
    }

    /// Returns the output of an attempt as printed lines, if it is wanted.
    fn written(&self, outputs: &mut dyn Outputs, attempt: &AttemptId) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        if self.wants(attempt) {
            for stream in self.streams() {
                let text = text(outputs.output(attempt, stream).as_mut())?;
                lines.extend(text.lines().map(|line| self.line(attempt, stream, line)));
            }
        }
        Ok(lines)
    }

    /// The message for an empty output. Without it, the command could seem not to work.
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

    /// Formats one line of output. On a terminal, control characters of a command must have no effect.
    fn line(&self, attempt: &AttemptId, stream: &str, line: &str) -> String {
        let attempt = attempt.to_string();
        if self.json {
            let stream = if self.raw { "events" } else { stream };
            return output::line(&LogLine { attempt, stream: stream.to_owned(), line: line.to_owned() });
        }
        let mark = if stream == "stderr" { "!" } else { "|" };
        // An event is a line of JSON for programs, so it gets no prefix.
        let head = if self.raw { String::new() } else { format!("{attempt} {mark} ") };
        match io::stdout().is_terminal() {
            true => format!("{head}{}\n", shown(line, Charset::Unicode)),
            false => format!("{head}{line}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Attempts with their output, by their position among the events.
    struct Written(BTreeMap<Seq, (AttemptId, String)>);

    impl Written {
        fn of(texts: &[&str]) -> Self {
            let attempt = |nth: usize| AttemptId::parse(&format!("step.{nth}.1")).unwrap();
            let place = |nth: usize| Seq::try_from(nth).unwrap();
            let all = texts
                .iter()
                .enumerate()
                .map(|(nth, text)| (place(nth), (attempt(nth + 1), (*text).to_owned())));
            Self(all.collect())
        }
    }

    struct Text(String);

    impl Output for Text {
        fn read(&mut self, from: u64, into: &mut Vec<u8>) -> Result<usize, Failure> {
            let rest = self.0.as_bytes().get(usize::try_from(from).unwrap()..).unwrap_or_default();
            into.extend_from_slice(rest);
            Ok(rest.len())
        }
    }

    impl Outputs for Written {
        fn is_at_rest(&mut self) -> Result<bool, Failure> {
            Ok(true)
        }

        fn records(&mut self, _: Seq) -> Result<Vec<Record>, Failure> {
            Ok(Vec::new())
        }

        fn attempts(&mut self, before: Option<Seq>) -> Result<Vec<(Seq, AttemptId)>, Failure> {
            let before = self.0.range(..before.unwrap_or(Seq::MAX)).rev();
            // The test uses short pages.
            Ok(before.map(|(seq, (attempt, _))| (*seq, attempt.clone())).take(2).collect())
        }

        fn attempts_from(&mut self, from: Seq) -> Result<Vec<(Seq, AttemptId)>, Failure> {
            let from = self.0.range(from..);
            Ok(from.map(|(seq, (attempt, _))| (*seq, attempt.clone())).take(2).collect())
        }

        fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output> {
            let found = self.0.values().find(|(each, _)| each == attempt).filter(|_| stream == "stdout");
            Box::new(Text(found.map(|(_, text)| text.clone()).unwrap_or_default()))
        }

        fn pause(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn the_last_lines_are_the_end_of_all_lines() {
        let view = View { place: None, stderr: false, raw: false, json: true, limit: None };
        for texts in [
            &["a\nb\n", "", "c\n", "", "", "d\ne\nf", "", "\n", ""][..],
            &["", "", "", "", "only\n"],
            &["first\n", "", "", "", ""],
        ] {
            let mut written = Written::of(texts);
            let attempts: Vec<AttemptId> = written.0.values().map(|(attempt, _)| attempt.clone()).collect();
            let all: Vec<String> =
                attempts.iter().flat_map(|attempt| view.written(&mut written, attempt).unwrap()).collect();
            let mut printed = String::new();
            let is_silent = super::all(&mut written, &view, &mut |text| {
                printed.push_str(text);
                Ok(())
            });
            assert_eq!((is_silent.unwrap(), printed), (all.is_empty(), all.concat()), "{texts:?}");
            for most in 0..=all.len() + 1 {
                let expected = &all[all.len().saturating_sub(most)..];
                let last = last(&mut written, &view, most).unwrap().expect("something was written");
                assert_eq!(last, expected, "{most} of {texts:?}");
            }
        }
        assert_eq!(last(&mut Written::of(&["", "", ""]), &view, 5).unwrap(), None);
        assert_eq!(last(&mut Written::of(&[]), &view, 0).unwrap(), None);
    }
}
