//! `envoi logs`: what a run's commands wrote, attempt by attempt; readable while they still run. `|` marks stdout, `!`
//! stderr; with `--json` a line is an object.

mod follow;

use crate::{
    failure::Failure,
    home::Home,
    live::columns::{Charset, shown},
    output,
    place::Place,
    select,
};
use envoi_kernel::{Event, Record, ids::AttemptId};
use std::{
    fs,
    io::{self, IsTerminal as _},
    path::Path,
};

/// What is to be printed, and how.
pub(crate) struct View {
    /// Only what belongs there.
    pub(crate) place: Option<Place>,
    /// Only stderr.
    pub(crate) stderr: bool,
    pub(crate) json: bool,
}

pub(crate) fn logs(home: &Home, run: Option<&str>, view: &View, follow: bool) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    if follow {
        return follow::follow(&reader, store.layout(), &id, view);
    }
    for record in reader.records(&id, 0, None).map_err(Failure::store)? {
        let Some(attempt) = view.started(&record) else { continue };
        let dir = store.layout().attempt(&id, attempt);
        for stream in view.streams() {
            let text = read(&dir.join(stream))?;
            let lines: String = text.lines().map(|line| view.line(attempt, stream, line)).collect();
            output::data(&lines)?;
        }
    }
    Ok(0)
}

fn read(path: &Path) -> Result<String, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::machine(path.display(), error)),
    }
}

impl View {
    /// The attempt that began with this record, if its output is wanted.
    fn started<'r>(&self, record: &'r Record) -> Option<&'r AttemptId> {
        let Event::AttemptStarted(started) = &record.event else { return None };
        let is_wanted = self.place.as_ref().is_none_or(|place| place.has_attempt(&started.attempt));
        is_wanted.then_some(&started.attempt)
    }

    fn streams(&self) -> &'static [&'static str] {
        if self.stderr { &["stderr"] } else { &["stdout", "stderr"] }
    }

    /// One line of output as it is printed. On a terminal a command's output must not steer it.
    fn line(&self, attempt: &AttemptId, stream: &str, line: &str) -> String {
        let attempt = attempt.to_string();
        if self.json {
            return format!("{}\n", serde_json::json!({"attempt": attempt, "stream": stream, "line": line}));
        }
        let mark = if stream == "stderr" { "!" } else { "|" };
        match io::stdout().is_terminal() {
            true => format!("{attempt} {mark} {}\n", shown(line, Charset::Unicode)),
            false => format!("{attempt} {mark} {line}\n"),
        }
    }
}
