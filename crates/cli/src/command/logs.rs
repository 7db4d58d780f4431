//! `envoi logs`: what a run's commands wrote, attempt by attempt; readable while they still run. `|` marks stdout, `!`
//! stderr; with `--json` a line is an object.

use crate::{failure::Failure, home::Home, output, select};
use envoi_kernel::Event;
use std::{fs, io, path::Path};

pub(crate) fn logs(home: &Home, run: Option<&str>, step: Option<&str>, stderr: bool) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    for record in reader.records(&id, 0, None).map_err(Failure::store)? {
        let Event::AttemptStarted(started) = &record.event else { continue };
        let attempt = &started.attempt;
        if step.is_some_and(|step| step != attempt.visit.step.as_str()) {
            continue;
        }
        let dir = store.layout().attempt(&id, attempt);
        let streams: &[&str] = if stderr { &["stderr"] } else { &["stdout", "stderr"] };
        for stream in streams {
            let text = read(&dir.join(stream))?;
            let write = if home.json { as_json } else { prefixed };
            output::data(&write(&attempt.to_string(), stream, &text))?;
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

fn as_json(attempt: &str, stream: &str, text: &str) -> String {
    let line =
        |line: &str| format!("{}\n", serde_json::json!({"attempt": attempt, "stream": stream, "line": line}));
    text.lines().map(line).collect()
}

fn prefixed(attempt: &str, stream: &str, text: &str) -> String {
    let mark = if stream == "stderr" { "!" } else { "|" };
    text.lines().map(|line| format!("{attempt} {mark} {line}\n")).collect()
}
