//! `envoi logs`: what a run's commands wrote, attempt by attempt; readable while they still run. `|` marks stdout, `!`
//! stderr; with `--json` a line is an object.

use crate::{failure::Failure, home::Home, output, select};
use envoi_kernel::Event;
use std::{
    fs,
    io::{self, IsTerminal as _},
    path::Path,
};

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
            let (attempt, text) = (attempt.to_string(), shown(read(&dir.join(stream))?));
            let lines = text.lines().map(|line| match home.json {
                true => {
                    format!("{}\n", serde_json::json!({"attempt": attempt, "stream": stream, "line": line}))
                }
                false => prefixed(&attempt, stream, line),
            });
            output::data(&lines.collect::<String>())?;
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

/// On a terminal a command's output must not steer it: control characters are left out.
fn shown(text: String) -> String {
    if !io::stdout().is_terminal() {
        return text;
    }
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn prefixed(attempt: &str, stream: &str, line: &str) -> String {
    let mark = if stream == "stderr" { "!" } else { "|" };
    format!("{attempt} {mark} {line}\n")
}
