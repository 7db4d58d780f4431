//! All unfinished runs of a store in one picture. It only reads: it polls the journal, and never takes the
//! engine's lock.

use super::{
    frame::{Look, body, head},
    line::{Line, Role},
    model::{RunModel, State, StepView},
    roster::Roster,
    run_view::RunView,
};
use crate::{
    process::invocation,
    text::{
        columns::shown,
        duration::{between, took},
    },
};
use envoi_contract::time::Timestamp;
use envoi_engine::load_run;
use envoi_journal::{Layout, ReadError, Reader, RunRow};
use envoi_kernel::ids::{RunId, Seq};
use std::collections::BTreeMap;

/// The least lines for a tree.
const MIN_TREE: usize = 3;
/// The end of an id that identifies a run among a few.
const SHORT_ID: usize = 6;

/// A view of a store's runs.
pub(crate) struct StoreView {
    layout: Layout,
    reader: Reader,
    roster: Roster,
    runs: BTreeMap<RunId, RunView>,
    /// Runs that cannot be shown, and why.
    unreadable: BTreeMap<RunId, Unreadable>,
}

/// A run that cannot be loaded.
struct Unreadable {
    why: String,
    /// It is tried again only when it has more events than this.
    next_seq: Seq,
}

impl StoreView {
    pub(crate) fn new(layout: Layout, reader: Reader) -> Self {
        Self {
            layout,
            reader,
            roster: Roster::new(envoi_engine::now()),
            runs: BTreeMap::new(),
            unreadable: BTreeMap::new(),
        }
    }

    /// Reads new records. Returns the permanent lines and the picture.
    pub(super) fn look(&mut self, now: Timestamp, look: Look) -> (Vec<String>, Vec<Line>) {
        let mut messages = Vec::new();
        if let Err(error) = self.read(&mut messages) {
            tracing::debug!(error = %error, "the store could not be read for the live picture; the next look reads it");
        }
        self.runs.values_mut().for_each(RunView::look);
        (messages, self.picture(now, look))
    }

    /// Reads what was committed since the last poll. A busy store is read at the next poll. A permanent line
    /// is kept even if a later run cannot be read, because it is returned only once.
    fn read(&mut self, messages: &mut Vec<String>) -> Result<(), ReadError> {
        let rows = self.roster.rows(&self.reader)?;
        self.unreadable.retain(|run, _| rows.iter().any(|row| row.run == *run));
        for row in rows.iter().rev() {
            messages.extend(self.read_run(row));
        }
        for run in self.runs.keys().cloned().collect::<Vec<_>>() {
            if rows.iter().all(|row| row.run != run || row.ended.is_some()) {
                messages.extend(self.bury(&run)?);
            }
        }
        Ok(())
    }

    /// Removes a run that is not followed any more: it has ended, or there are too many runs.
    fn bury(&mut self, run: &RunId) -> Result<Vec<String>, ReadError> {
        let is_over = self.reader.run(run)?.ended.is_some();
        let Some(mut view) = self.runs.remove(run).filter(|_| is_over) else { return Ok(Vec::new()) };
        let mut messages = view.catch_up(&self.reader);
        messages.push(epitaph(&view));
        self.roster.remove_ended(run);
        Ok(messages)
    }

    fn read_run(&mut self, row: &RunRow) -> Vec<String> {
        if !self.runs.contains_key(&row.run) {
            if self.unreadable.get(&row.run).is_some_and(|known| known.next_seq == row.next_seq) {
                return Vec::new();
            }
            let run = match load_run(&self.reader, &row.run) {
                Ok(run) => run,
                Err(refused) => {
                    let why = row.aside.as_ref().map_or(refused.message, |aside| aside.reason.clone());
                    self.unreadable.insert(row.run.clone(), Unreadable { why, next_seq: row.next_seq });
                    return Vec::new();
                }
            };
            self.unreadable.remove(&row.run);
            let mut view = RunView::new(row.run.clone(), run.versions().clone(), self.layout.clone());
            view.catch_up(&self.reader);
            self.runs.insert(row.run.clone(), view);
        }
        let Some(view) = self.runs.get_mut(&row.run) else { return Vec::new() };
        let is_behind = row.next_seq > view.model.next();
        let messages = if is_behind { view.catch_up(&self.reader) } else { Vec::new() };
        messages.into_iter().map(|text| format!("{}  {text}", short(&row.run))).collect()
    }

    /// Each run as a tree if there is room, otherwise in one line. Newest first.
    fn picture(&self, now: Timestamp, look: Look) -> Vec<Line> {
        let count = self.runs.len();
        if count == 0 && self.unreadable.is_empty() {
            let text = "no run is unfinished; the next one shows here (Ctrl-C ends this)";
            return vec![Line::default().with(Role::Faint, text).clipped(look.width, look.charset)];
        }
        let shares = self.shares(now, look);
        let mut lines: Vec<Line> =
            self.unreadable.iter().rev().map(|(run, known)| cannot_be_read(run, &known.why)).collect();
        for (view, share) in self.runs.values().rev().zip(shares) {
            let title = Line::default().with(Role::Faint, format!("{}  ", short(&view.run)));
            let title = title.and(head(&view.model, now, look));
            if share == 0 {
                lines.push(title.and(now_doing(&view.model, now, look)));
            } else {
                lines.push(title);
                lines.extend(body(&view.model, now, Look { height: share, ..look }));
            }
        }
        if lines.len() > look.height {
            let kept = look.height.saturating_sub(1);
            let more = format!("and {} more runs", lines.len().saturating_sub(kept));
            lines.truncate(kept);
            lines.push(Line::default().with(Role::Faint, more));
        }
        lines.into_iter().map(|line| line.clipped(look.width, look.charset)).collect()
    }
}

impl StoreView {
    /// How many lines each run gets for its steps, newest first: the lines that it needs, or its share of the
    /// rest. If that is too little, no run gets any.
    fn shares(&self, now: Timestamp, look: Look) -> Vec<usize> {
        let count = self.runs.len();
        let mut room = look.height.saturating_sub(count).saturating_sub(self.unreadable.len());
        if room < count.saturating_mul(MIN_TREE) {
            return vec![0; count];
        }
        let all = Look { height: usize::MAX, ..look };
        let needs: Vec<usize> =
            self.runs.values().rev().map(|view| body(&view.model, now, all).len()).collect();
        let mut order: Vec<(usize, usize)> =
            needs.iter().copied().enumerate().map(|(at, need)| (need, at)).collect();
        order.sort_unstable();
        let mut shares = needs;
        for (served, (need, at)) in order.into_iter().enumerate() {
            let share = need.min(room.checked_div(count.saturating_sub(served)).unwrap_or(0));
            room = room.saturating_sub(share);
            if let Some(place) = shares.get_mut(at) {
                *place = share;
            }
        }
        shares
    }
}

/// The line for a run that cannot be loaded.
fn cannot_be_read(run: &RunId, why: &str) -> Line {
    let why = why.lines().next().unwrap_or("");
    let text = format!("cannot be read: {why}; {} show {run}", invocation::envoi());
    Line::default().with(Role::Faint, format!("{}  ", short(run))).with(Role::Bad, text)
}

/// The most important step now, for a run with one line.
fn now_doing(model: &RunModel, now: Timestamp, look: Look) -> Line {
    let busy: Vec<&StepView> =
        model.level.leaves().into_iter().rev().filter(|step| step.stands().matters()).collect();
    let Some((step, others)) = busy.split_first() else { return Line::default() };
    let line = match step.stands() {
        State::Running => format!("{} {}", step.id, between(step.began, now)),
        State::Retry { due } => format!("{} next try in {}", step.id, between(now, due)),
        State::AwaitsAnswer => format!("{} asks", step.id),
        State::InDoubt => format!("{} is in doubt", step.id),
        _ => step.id.to_string(),
    };
    let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    Line::plain(format!("  {line}{others}"))
        .with(Role::Faint, format!("  {}", shown(&step.output, look.charset)))
}

/// The line for a run that has ended.
fn epitaph(view: &RunView) -> String {
    let model = &view.model;
    let time = took(model.elapsed_ms(model.run().last_at()));
    format!("{} {} {} in {time}", view.run, model.flow().id, model.status())
}

fn short(run: &RunId) -> &str {
    let id = run.as_str();
    id.get(id.len().saturating_sub(SHORT_ID)..).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns::Charset;
    use envoi_journal::{Store, conformance};

    #[test]
    fn a_run_that_cannot_be_read_is_a_line_of_the_picture() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        // This run is pinned to a text that is not a flow.
        let run = conformance::run("a").unwrap();
        writer.commit(conformance::commit(&run, 0, [conformance::started(&run).unwrap()])).unwrap();
        let mut view = StoreView::new(store.layout().clone(), store.reader().unwrap());
        let look = Look { width: 200, height: 5, charset: Charset::Unicode };
        for _ in 0..2 {
            let (said, lines) = view.look(envoi_engine::now(), look);
            let shown: Vec<String> = lines.iter().map(|line| line.render(false)).collect();
            assert_eq!((said.len(), shown.len()), (0, 1), "{shown:?}");
            assert!(shown[0].contains("cannot be read: ") && shown[0].contains(run.as_str()), "{shown:?}");
        }
    }
}
