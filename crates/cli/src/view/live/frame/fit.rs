//! Selects the rows of a picture if there is no room for all.

use crate::{
    text::columns::Charset,
    view::live::{
        line::{Line, Role},
        model::State,
    },
};

/// A row.
pub(super) struct Row {
    pub(super) line: Line,
    /// The state of the row's step. `None` for a row that only explains.
    pub(super) step: Option<State>,
    /// Whether it explains a step that matters.
    pub(super) explains: bool,
}

impl Row {
    fn matters(&self) -> bool {
        self.step.is_some_and(State::matters)
    }
}

/// At most `room` rows, in their order: first those of steps that matter, then those that explain them, then
/// those nearest to one that matters.
pub(super) fn fit(rows: Vec<Row>, room: usize, charset: Charset) -> Vec<Line> {
    if rows.len() <= room {
        return rows.into_iter().map(|row| row.line).collect();
    }
    // A line counts the other rows.
    let kept = room.saturating_sub(1);
    let rank = |(row, far): (&Row, usize)| if row.explains { 1 } else { far.saturating_mul(2) };
    let ranks = rows.iter().zip(distances(&rows)).map(rank);
    let mut order: Vec<(usize, usize)> = ranks.enumerate().map(|(at, rank)| (rank, at)).collect();
    order.sort_unstable();
    let mut chosen: Vec<usize> = order.into_iter().take(kept).map(|(_, at)| at).collect();
    chosen.sort_unstable();
    let mut left_out = Vec::new();
    let mut lines = Vec::with_capacity(room);
    for (at, row) in rows.into_iter().enumerate() {
        match chosen.binary_search(&at) {
            Ok(_) => lines.push(row.line),
            Err(_) => left_out.extend(row.step),
        }
    }
    lines.push(Line::default().with(Role::Faint, rest(&left_out, charset)));
    lines
}

/// The distance of each row to the nearest one that matters. If none matters, the distance to the first row.
fn distances(rows: &[Row]) -> Vec<usize> {
    let far = rows.len();
    let none = !rows.iter().any(Row::matters);
    let near = |at: usize, row: &Row, before: usize| match row.matters() || (none && at == 0) {
        true => 0,
        false => before.saturating_add(1),
    };
    let mut last = far;
    let mut down = Vec::with_capacity(far);
    for (at, row) in rows.iter().enumerate() {
        last = near(at, row, last);
        down.push(last);
    }
    last = far;
    for (at, row) in rows.iter().enumerate().rev() {
        last = near(at, row, last);
        if let Some(distance) = down.get_mut(at) {
            *distance = last.min(*distance);
        }
    }
    down
}

fn rest(states: &[State], charset: Charset) -> String {
    let count = |is: fn(&State) -> bool| states.iter().filter(|state| is(state)).count();
    let done = count(|state| matches!(state, State::Done | State::Skipped));
    let waiting = count(|state| *state == State::Waiting);
    let other = states.len().saturating_sub(done).saturating_sub(waiting);
    let counts = [(done, "done"), (waiting, "waiting"), (other, "under way or failed")];
    let parts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let dots = if charset == Charset::Unicode { "…" } else { "..." };
    match parts.is_empty() {
        true => dots.to_owned(),
        false => format!("{dots} {} more: {}", states.len(), parts.join(", ")),
    }
}
