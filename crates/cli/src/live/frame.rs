//! The picture of a run: its board at a moment, laid out for a terminal of some size.
//!
//! Pure. No line is wider than the terminal and there are never more lines than it has; when there are more steps than
//! lines, those that run, failed or ask stay in view, and a last line counts the others.

mod facts;
mod fit;

use super::{
    board::{Board, State, StepView},
    columns::{Charset, clip, shown, width},
    line::{Line, Role},
    tree::{Node, Of, has_row, tree},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::Status;
use facts::{facts, mark};
pub(crate) use facts::{passing, took, used};
use fit::{Row, fit};

/// What a picture is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Columns.
    pub(crate) width: usize,
    /// Lines.
    pub(crate) height: usize,
    pub(crate) charset: Charset,
}

/// Columns of a duration.
const DURATION: usize = 6;
/// Below this the tree spares columns, and there is no room for a second line about a step.
const NARROW: usize = 32;
/// Fewer columns than this tell nothing.
const MIN_TEXT: usize = 10;
/// Columns of a name that are always left.
const MIN_NAME: usize = 4;

/// The picture of a run: how it stands, its steps, and what they have used so far. What a run has cost in the end is
/// said elsewhere.
pub(crate) fn frame(board: &Board, now: Timestamp, look: Look) -> Vec<Line> {
    let used = used_line(board, look);
    let around = if used.width() > 0 { 2 } else { 1 };
    let mut lines = vec![head(board, now, look).clipped(look.width, look.charset)];
    lines.extend(body(board, now, Look { height: look.height.saturating_sub(around).max(1), ..look }));
    lines.extend((used.width() > 0).then_some(used));
    lines.truncate(look.height.max(1));
    lines
}

/// The steps of a run.
pub(crate) fn body(board: &Board, now: Timestamp, look: Look) -> Vec<Line> {
    let lines = fit(rows(board, now, look), look.height, look.charset);
    lines.into_iter().map(|line| line.clipped(look.width, look.charset)).collect()
}

/// As much of what has been used as fits.
fn used_line(board: &Board, look: Look) -> Line {
    let mut line = Line::default();
    if board.run().status() == Status::Running {
        for part in used(board, look.charset) {
            line = line.with_room(Role::Faint, &part, usize::MAX, look.width);
        }
    }
    line
}

/// One line about a run.
pub(crate) fn head(board: &Board, now: Timestamp, look: Look) -> Line {
    let status = board.status();
    let role = match status {
        "running" => Role::Busy,
        "succeeded" => Role::Good,
        "waiting" | "cancelling" => Role::Warn,
        _ => Role::Bad,
    };
    let title = board.flow().title.as_deref().unwrap_or_default();
    let title = format!("  {}", shown(title, look.charset));
    Line::default()
        .with(Role::Strong, board.flow().id.to_string())
        .with(role, format!("  {status}"))
        .with_room(Role::Plain, &format!("  {}", passing(board.elapsed_ms(now))), usize::MAX, look.width)
        .with_room(Role::Faint, &title, MIN_TEXT, look.width)
}

fn rows(board: &Board, now: Timestamp, look: Look) -> Vec<Row> {
    let nodes = tree(board.steps.len(), &board.rounds.loops, look.charset, look.width < NARROW);
    let name = name_width(board, &nodes, look.width);
    let layout = Layout { board, now, look, name, nodes: &nodes };
    nodes.iter().flat_map(|node| layout.rows_of(node)).collect()
}

/// Columns up to the end of the names: as many as the longest needs, at most half of the line; of a short line, all but
/// the duration.
fn name_width(board: &Board, nodes: &[Node], columns: usize) -> usize {
    let needed = |node: &Node| match node.of {
        Of::Step(at) => {
            let name = board.steps.get(at).map_or(0, |step| width(step.id.as_str()));
            width(&node.branch).saturating_add(name).saturating_add(2)
        }
        Of::Loop(_) => 0,
    };
    let most =
        if columns < NARROW { columns.saturating_sub(DURATION).saturating_sub(1) } else { columns / 2 };
    nodes.iter().map(needed).max().unwrap_or(0).min(most)
}

struct Layout<'a> {
    board: &'a Board,
    now: Timestamp,
    look: Look,
    name: usize,
    nodes: &'a [Node],
}

impl Layout<'_> {
    fn rows_of(&self, node: &Node) -> Vec<Row> {
        match node.of {
            Of::Loop(at) => self.loop_row(node, at).into_iter().collect(),
            Of::Step(at) => {
                self.board.steps.get(at).map(|step| self.step_rows(node, at, step)).unwrap_or_default()
            }
        }
    }

    fn loop_row(&self, node: &Node, at: usize) -> Option<Row> {
        let found = self.board.rounds.loops.get(at)?;
        let closing = self.board.flow().steps.get(found.last)?;
        let until = closing.routing.success_values.join("|");
        let sign = if self.look.charset == Charset::Unicode { "↺ " } else { "@ " };
        let body = self.board.steps.iter().take(found.last.saturating_add(1)).skip(found.first);
        let matters = body.clone().any(|step| step.state.matters());
        let begun = body.clone().any(|step| step.visit > 0);
        let mut line = Line::default().with(Role::Faint, node.branch.clone()).with(Role::Plain, sign);
        line = line.with(if begun { Role::Plain } else { Role::Faint }, found.told());
        if !until.is_empty() {
            let until = shown(&format!("  until {} says {until}", closing.id), self.look.charset);
            line = line.with_room(Role::Faint, &until, MIN_TEXT, self.look.width);
        }
        Some(Row { line, step: None, explains: matters })
    }

    fn step_rows(&self, node: &Node, at: usize, step: &StepView) -> Vec<Row> {
        let charset = self.look.charset;
        let (sign, role) = mark(step.state, charset);
        let before = width(&node.branch).saturating_add(2);
        let room = self.name.saturating_sub(before).max(MIN_NAME);
        let name_role = if step.state == State::Waiting { Role::Faint } else { Role::Plain };
        let mut line = Line::default()
            .with(Role::Faint, node.branch.clone())
            .with(role, format!("{sign} "))
            .with(name_role, clip(step.id.as_str(), room, charset))
            .filled_to(self.name)
            .with(Role::Plain, format!(" {:>DURATION$}", self.duration(step)));
        for (role, fact) in facts(step, self.now, self.own_loop(at)) {
            line = line.with_room(role, &format!("  {fact}"), usize::MAX, self.look.width);
        }
        let role = if step.state == State::Failed { Role::Bad } else { Role::Faint };
        line = line.with_room(role, &self.text(step), MIN_TEXT, self.look.width);
        let mut rows = vec![Row { line, step: Some(step.state), explains: false }];
        rows.extend(self.below(node, step));
        rows
    }

    /// What is written in a line of its own below a step: what it says just now, or what it asks.
    fn below(&self, node: &Node, step: &StepView) -> Option<Row> {
        let (role, text) = match (&step.question, step.state) {
            (Some((_, question)), _) => (Role::Warn, question.as_str()),
            (None, State::Running) => (Role::Faint, step.output.as_str()),
            _ => return None,
        };
        let text = shown(text, self.look.charset);
        if text.trim().is_empty() || self.look.width < NARROW {
            return None;
        }
        let line =
            Line::default().with(Role::Faint, node.stem.clone()).with(Role::Plain, "  ").with(role, text);
        Some(Row { line, step: None, explains: true })
    }

    fn text(&self, step: &StepView) -> String {
        let told = match step.state {
            State::Running | State::Ready | State::Waiting => "",
            _ if step.question.is_some() => "",
            _ => step.told.as_str(),
        };
        let first = told.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if first.is_empty() { String::new() } else { format!("  {}", shown(first, self.look.charset)) }
    }

    fn duration(&self, step: &StepView) -> String {
        match step.state {
            State::Running => passing(super::board::since(step.began, self.now)),
            State::Waiting | State::Ready | State::Skipped => String::new(),
            _ => took(step.took_ms),
        }
    }

    /// The round of a loop that has no row of its own, told where it closes.
    fn own_loop(&self, step: usize) -> Option<String> {
        let mut loops = self.board.rounds.loops.iter().enumerate();
        let (at, found) = loops.find(|(_, found)| found.last == step)?;
        let begun = self.board.steps.get(step).is_some_and(|step| step.visit > 0);
        (begun && !has_row(self.nodes, at)).then(|| found.told())
    }
}

#[cfg(test)]
mod tests;
