//! The lines below the last picture of a run at rest: its result, the location of the result, its cost, and
//! the next command.

use super::{
    frame::used,
    line::{Line, Role},
    model::RunModel,
};
use crate::{
    text::{
        columns::{Charset, shown},
        duration::took,
    },
    view::{
        describe::{how_to_answer, more_rounds},
        last_words::last_words,
    },
};
use envoi_kernel::{
    Run,
    event::{Change, InterruptRaised},
};
use std::path::Path;

/// The most lines of the last summary, and the most files, that are shown.
const MOST: usize = 5;

/// Formats the lines. `here` is the current folder: paths below it are shown relative to it.
pub(crate) fn ending(model: &RunModel, reason: Option<&str>, here: &Path, charset: Charset) -> Vec<Line> {
    let Some(started) = model.run().started() else { return Vec::new() };
    let mut lines = Vec::new();
    let mut say = |role: Role, text: &str| {
        lines.push(Line::default().with(role, shown(text, charset)));
    };
    // The end of a command's stderr can have several lines.
    reason.into_iter().flat_map(str::lines).for_each(|line| say(Role::Bad, line));
    let is_alone = model.questions().len() == 1;
    for raised in model.questions() {
        question(model.run(), raised, is_alone).iter().for_each(|line| say(Role::Warn, line));
    }
    if let (Some((visit, result)), None) = (&model.last, reason) {
        let mut result = result.lines().map(str::trim_end).filter(|line| !line.is_empty());
        if let Some(first) = result.next() {
            say(Role::Plain, &format!("{}: {first}", visit.step));
        }
        result.by_ref().take(MOST).for_each(|line| say(Role::Plain, &format!("  {line}")));
        if result.next().is_some() {
            say(Role::Faint, &format!("  and more: envoi show --handoff {}", visit.step));
        }
    }
    let files = Path::new(&started.run_base).join(model.flow().id.as_str());
    let files = files.strip_prefix(here).unwrap_or(&files);
    say(Role::Plain, &format!("files: {}", files.display()));
    for (path, change) in model.files.iter().take(MOST) {
        say(Role::Plain, &format!("  {path} ({})", word(*change)));
    }
    if model.files.len() > MOST {
        say(Role::Faint, &format!("  and {} more", model.files.len().saturating_sub(MOST)));
    }
    for (list, total) in &model.lists {
        say(Role::Plain, &format!("  {list} lists {total} files"));
    }
    let time = took(model.elapsed_ms(model.run().last_at()));
    let used = match used(model, model.run().last_at(), charset).concat() {
        nothing if nothing.is_empty() => "nothing".to_owned(),
        used => used,
    };
    say(Role::Plain, &format!("cost: {used}; {time}"));
    lines
}

/// A question with its details, and how to answer it.
pub(crate) fn question(run: &Run, raised: &InterruptRaised, is_alone: bool) -> Vec<String> {
    let Some(started) = run.started() else { return Vec::new() };
    let mut lines: Vec<String> = raised.question.lines().map(str::to_owned).collect();
    for (name, value) in raised.evidence.as_object().into_iter().flat_map(|members| members.iter()) {
        let shown = envoi_api::words::head(&envoi_api::words::plain(value));
        if !matches!(shown.as_str(), "" | "null" | "[]" | "0") {
            lines.push(format!("  {name}: {shown}"));
        }
    }
    lines.extend(last_words(Path::new(&started.run_base), raised));
    let step = run.step(&raised.visit);
    lines.push(format!("  answer: {}", how_to_answer(&started.run, raised, is_alone, step)));
    lines.extend(more_rounds(&started.run, raised).map(|more| format!("  {more}")));
    lines
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Created => "new",
        Change::Modified => "changed",
        Change::Deleted => "deleted",
        Change::Unchanged => "unchanged",
    }
}
