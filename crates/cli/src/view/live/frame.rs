//! The picture of a run: its model at a time, formatted for a terminal of some size.
//!
//! Pure. No line is wider than the terminal, and there are never more lines than the terminal has. If there
//! are more steps than lines, running, failed and asking steps stay visible, and a line after them counts the
//! others ([`fit`]). The last line shows the usage ([`facts`]).

mod facts;
mod fit;
mod tree_rows;

use super::{
    level::Level,
    line::{Line, Role},
    model::{RunModel, State, StepView},
};
use crate::text::{
    columns::{Charset, clip, shown, width},
    duration::{between, passing, took},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::Status;
pub(crate) use facts::used;
use facts::{facts, items, mark};
use fit::{Row, fit};
use tree_rows::{Subject, TreeRow, tree_rows};

/// The parameters of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Columns.
    pub(crate) width: usize,
    /// Lines.
    pub(crate) height: usize,
    pub(crate) charset: Charset,
}

/// The width of a duration.
const DURATION: usize = 7;
/// Below this width the tree uses fewer columns, and a step has no second line.
const NARROW: usize = 32;
/// Text with fewer columns is not useful.
const MIN_TEXT: usize = 10;
/// The least columns of a name.
const MIN_NAME: usize = 4;

/// The picture of a run: its status, its steps, and their usage so far. The final cost is shown elsewhere.
pub(crate) fn frame(model: &RunModel, now: Timestamp, look: Look) -> Vec<Line> {
    let used = used_line(model, now, look);
    let around = if used.width() > 0 { 2 } else { 1 };
    let mut lines = vec![head(model, now, look).clipped(look.width, look.charset)];
    lines.extend(body(model, now, Look { height: look.height.saturating_sub(around).max(1), ..look }));
    lines.extend((used.width() > 0).then_some(used));
    lines.truncate(look.height.max(1));
    lines
}

/// The steps of a run.
pub(crate) fn body(model: &RunModel, now: Timestamp, look: Look) -> Vec<Line> {
    let lines = fit(rows(model, now, look), look.height, look.charset);
    lines.into_iter().map(|line| line.clipped(look.width, look.charset)).collect()
}

/// As much of the usage as fits.
fn used_line(model: &RunModel, now: Timestamp, look: Look) -> Line {
    let mut line = Line::default();
    if model.run().status() == Status::Running {
        for part in used(model, now, look.charset) {
            line = line.with_room(Role::Faint, &part, usize::MAX, look.width);
        }
    }
    line
}

/// The head line of a run.
pub(crate) fn head(model: &RunModel, now: Timestamp, look: Look) -> Line {
    let status = model.status();
    let role = match status {
        "running" => Role::Busy,
        "succeeded" => Role::Good,
        "waiting" | "cancelling" | "stopping" => Role::Warn,
        _ => Role::Bad,
    };
    let title = model.flow().title.as_deref().unwrap_or("");
    let title = format!("  {}", shown(title, look.charset));
    Line::default()
        .with(Role::Strong, model.flow().id.to_string())
        .with(role, format!("  {status}"))
        .with_room(Role::Plain, &format!("  {}", passing(model.elapsed_ms(now))), usize::MAX, look.width)
        .with_room(Role::Faint, &title, MIN_TEXT, look.width)
}

fn rows(model: &RunModel, now: Timestamp, look: Look) -> Vec<Row> {
    let places = tree_rows(&model.level, "", look);
    let name = name_width(&places, look.width);
    let layout = Layout { model, now, look, name };
    places.iter().flat_map(|row| layout.rows_of(row)).collect()
}

/// The width of the names: that of the longest, but at most half of the line. In a short line, everything
/// except the duration.
fn name_width(places: &[TreeRow<'_>], columns: usize) -> usize {
    let needed = |row: &TreeRow<'_>| match &row.of {
        Subject::Step { step, .. } => {
            width(&row.branch).saturating_add(width(&step.name())).saturating_add(2)
        }
        Subject::Loop { .. } => 0,
    };
    let most =
        if columns < NARROW { columns.saturating_sub(DURATION).saturating_sub(1) } else { columns / 2 };
    places.iter().map(needed).max().unwrap_or(0).min(most)
}

struct Layout<'a> {
    model: &'a RunModel,
    now: Timestamp,
    look: Look,
    name: usize,
}

impl Layout<'_> {
    fn rows_of(&self, row: &TreeRow<'_>) -> Vec<Row> {
        match &row.of {
            Subject::Loop { level, at } => self.loop_row(row, level, *at).into_iter().collect(),
            Subject::Step { step, round } => self.step_rows(row, step, round.clone()),
        }
    }

    fn loop_row(&self, row: &TreeRow<'_>, level: &Level, at: usize) -> Option<Row> {
        let found = level.rounds.loops.get(at)?;
        let closing = level.flow.steps.get(found.last)?;
        let until = closing.routing.success_values.join("|");
        let sign = if self.look.charset == Charset::Unicode { "↺ " } else { "@ " };
        let body = level.steps.iter().take(found.last.saturating_add(1)).skip(found.first);
        let matters = body.clone().any(|step| step.stands().matters());
        let begun = body.clone().any(|step| step.visit > 0);
        let mut line = Line::default().with(Role::Faint, row.branch.clone()).with(Role::Plain, sign);
        line = line.with(if begun { Role::Plain } else { Role::Faint }, found.label());
        if !until.is_empty() {
            let until = shown(&format!("  until {} says {until}", closing.id), self.look.charset);
            line = line.with_room(Role::Faint, &until, MIN_TEXT, self.look.width);
        }
        Some(Row { line, step: None, explains: matters })
    }

    fn step_rows(&self, row: &TreeRow<'_>, step: &StepView, round: Option<String>) -> Vec<Row> {
        let charset = self.look.charset;
        let stands = step.stands();
        let (sign, role) = mark(step, charset);
        let before = width(&row.branch).saturating_add(2);
        let room = self.name.saturating_sub(before).max(MIN_NAME);
        let name_role = if stands == State::Waiting { Role::Faint } else { Role::Plain };
        let mut line = Line::default()
            .with(Role::Faint, row.branch.clone())
            .with(role, format!("{sign} "))
            .with(name_role, clip(&step.name(), room, charset))
            .filled_to(self.name)
            .with(Role::Plain, format!(" {:>DURATION$}", self.duration(step)));
        let progress = self.model.run().progress(&step.visit_id()).filter(|_| step.state == State::Running);
        for part in progress.map(|progress| items(progress, step)).unwrap_or_default() {
            let before = line.width();
            line = line.with_room(Role::Plain, &part, usize::MAX, self.look.width);
            if line.width() == before {
                break;
            }
        }
        for (role, fact) in facts(step, self.now, round) {
            line = line.with_room(role, &format!("  {fact}"), usize::MAX, self.look.width);
        }
        let role = if stands == State::Failed { Role::Bad } else { Role::Faint };
        line = line.with_room(role, &self.text(step), MIN_TEXT, self.look.width);
        // An item only adds detail to the row of its step.
        let mut rows =
            vec![Row { line, step: (!row.is_of_item).then_some(stands), explains: row.is_of_item }];
        rows.extend(self.below(row, step));
        rows
    }

    /// The separate line below a step: its last output, or its question.
    fn below(&self, row: &TreeRow<'_>, step: &StepView) -> Option<Row> {
        let (role, text) = match (&step.question, step.state) {
            // A question may have several lines with indentation.
            (Some((_, question)), _) => {
                (Role::Warn, question.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            (None, State::Running) => (Role::Faint, step.output.clone()),
            _ => return None,
        };
        let text = shown(&text, self.look.charset);
        if text.trim().is_empty() || self.look.width < NARROW {
            return None;
        }
        let line =
            Line::default().with(Role::Faint, row.stem.clone()).with(Role::Plain, "  ").with(role, text);
        Some(Row { line, step: None, explains: true })
    }

    fn text(&self, step: &StepView) -> String {
        let remark = match step.stands() {
            State::Running | State::Ready | State::Waiting | State::Ending => "",
            _ if step.question.is_some() => "",
            _ => step.remark.as_str(),
        };
        let first = remark.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if first.is_empty() { String::new() } else { format!("  {}", shown(first, self.look.charset)) }
    }

    fn duration(&self, step: &StepView) -> String {
        match step.stands() {
            State::Waiting | State::Ready | State::Skipped => String::new(),
            _ if step.state == State::Running => between(step.began, self.now),
            State::Ending => between(step.began, self.now),
            _ => took(step.took_ms),
        }
    }
}

#[cfg(test)]
mod tests;
