//! Resolves which run or question at the server is meant: an id, or a unique beginning or end of one, as
//! locally.
//!
//! A whole id is requested directly. Everything else is searched in the lists, newest runs first, up to a
//! maximum. If the lists are longer, a partial id is not known to be unique.

use super::{
    Remote,
    call::{good, segment},
    rows::{self, Listed},
};
use crate::{
    process::failure::Failure,
    store::select::{self, Verb},
};
use envoi_contract::code::Code;
use envoi_journal::{Found, InboxRow, RunRow};
use envoi_kernel::ids::{FlowId, InterruptId, RunId};

/// The rows per page, which is the maximum of the server.
const PAGE: u32 = 200;
/// The most pages that are searched.
const MOST_PAGES: usize = 50;
/// The length of a whole id with its prefix.
const WHOLE: usize = 30;

impl Remote {
    /// The run that `text` identifies, or the newest one.
    pub(crate) fn run_or_newest(&self, text: Option<&str>) -> Result<RunId, Failure> {
        match text {
            Some(text) => self.run_named(text),
            None => {
                let (rows, _) = rows::runs(&self.server.get("/v1/runs?limit=1")?)?;
                rows.into_iter().next().map(|row| row.run).ok_or_else(select::no_runs)
            }
        }
    }

    /// The run that `text` identifies. Without a text, the one that `verb` selects.
    pub(crate) fn run_or_meant(&self, text: Option<&str>, verb: Verb) -> Result<RunId, Failure> {
        let Some(text) = text else {
            let (newest, _) = rows::runs(&self.server.get(&format!("/v1/runs?limit={}", select::RECENT))?)?;
            return select::meant_or_agreed(verb, &self.unfinished(usize::MAX)?, &newest);
        };
        self.run_named(text)
    }

    /// The run that `text` identifies. Without a text, the one that a corrected flow is for.
    pub(crate) fn run_to_correct(&self, text: Option<&str>, flow: &FlowId) -> Result<RunId, Failure> {
        let Some(text) = text else {
            let newest = |query: &str| {
                let (rows, _) = rows::runs(&self.server.get(&format!("/v1/runs?limit=1{query}"))?)?;
                Ok::<_, Failure>(rows.into_iter().next())
            };
            let of_flow = newest(&format!("&flow={}", segment(flow.as_str())))?;
            let newest = of_flow.map_or_else(|| newest(""), |row| Ok(Some(row)))?;
            return select::to_correct(self.unfinished(usize::MAX)?, newest, flow);
        };
        self.run_named(text)
    }

    /// The question that `text` identifies: by its id, or by that of a run with one open question. Without a
    /// text, the only open one. If there are several, the message suggests the command `answer`.
    pub(crate) fn question_named(
        &self,
        text: Option<&str>,
        answer: &str,
    ) -> Result<(InterruptId, RunId), Failure> {
        let run = match text {
            None => None,
            Some(text) => match self.found(text)? {
                Found::Interrupt(interrupt, run) => return Ok((interrupt, run)),
                Found::Run(run) => {
                    self.check_not_aside(&run)?;
                    Some(run)
                }
            },
        };
        let (rows, _) = self.questions(run.as_ref(), false)?;
        select::the_open(&rows.into_iter().map(|listed| listed.row).collect::<Vec<InboxRow>>(), answer)
    }

    /// The run whose id is `text`, or begins or ends with it.
    pub(crate) fn run_named(&self, text: &str) -> Result<RunId, Failure> {
        match self.found(text)? {
            Found::Run(run) | Found::Interrupt(_, run) => Ok(run),
        }
    }

    /// Finds what an id, or the beginning or end of one, identifies.
    pub(crate) fn found(&self, text: &str) -> Result<Found, Failure> {
        if let Some(whole) = self.whole(text)? {
            return Ok(whole);
        }
        let mut found = Vec::new();
        self.each_run("", |row| {
            if fits(row.run.as_str(), text) {
                found.push(Found::Run(row.run));
            }
            true
        })?;
        // Oldest first, as in the store.
        found.reverse();
        let (questions, _) = self.questions(None, true)?;
        let questions = questions.into_iter().map(|listed| listed.row);
        found.extend(
            questions
                .filter(|row| fits(row.interrupt.as_str(), text))
                .map(|row| Found::Interrupt(row.interrupt, row.run)),
        );
        match found.as_slice() {
            [] => Err(select::no_such(text)),
            [_] => found.pop().ok_or_else(|| select::no_such(text)),
            several => Err(select::several(text, several)),
        }
    }

    fn whole(&self, text: &str) -> Result<Option<Found>, Failure> {
        if text.len() != WHOLE {
            return Ok(None);
        }
        if let Ok(run) = RunId::new(text) {
            let reply = self.server.any_reply(&format!("/v1/runs/{}", segment(text)), &[])?;
            return if reply.status == 404 { Ok(None) } else { good(reply).map(|_| Some(Found::Run(run))) };
        }
        if InterruptId::new(text).is_err() {
            return Ok(None);
        }
        let reply = self.server.any_reply(&format!("/v1/questions/{}", segment(text)), &[])?;
        if reply.status == 404 {
            return Ok(None);
        }
        let Listed { row, .. } = rows::question(&good(reply)?)?;
        Ok(Some(Found::Interrupt(row.interrupt, row.run)))
    }

    /// Passes the runs to `take`, newest first, until it stops. `filter` is empty or begins with `&`.
    pub(crate) fn each_run(
        &self,
        filter: &str,
        mut wanted: impl FnMut(RunRow) -> bool,
    ) -> Result<(), Failure> {
        let mut cursor = String::new();
        for _ in 0..MOST_PAGES {
            let body = self.server.get(&format!("/v1/runs?limit={PAGE}{filter}{cursor}"))?;
            let (rows, next) = rows::runs(&body)?;
            for row in rows {
                if !wanted(row) {
                    return Ok(());
                }
            }
            let Some(next) = next else { return Ok(()) };
            cursor = format!("&cursor={}", segment(&next));
        }
        Err(too_many())
    }

    /// The unfinished runs, newest first, at most this many.
    pub(crate) fn unfinished(&self, most: usize) -> Result<Vec<RunRow>, Failure> {
        let mut all: Vec<RunRow> = Vec::new();
        for status in ["running", "waiting"] {
            let mut taken = 0;
            self.each_run(&format!("&status={status}"), |row| {
                taken += 1;
                // A run that started to wait between the two requests is in both lists.
                if all.iter().all(|known| known.run != row.run) {
                    all.push(row);
                }
                taken < most
            })?;
        }
        all.sort_by(|one, other| (other.started_at, &other.run).cmp(&(one.started_at, &one.run)));
        all.truncate(most);
        Ok(all)
    }

    /// Questions, oldest first, and the last event before the first page.
    pub(crate) fn questions(
        &self,
        run: Option<&RunId>,
        closed: bool,
    ) -> Result<(Vec<Listed>, String), Failure> {
        let filter = run.map_or_else(String::new, |run| format!("&run={}", segment(run.as_str())));
        let mut all = Vec::new();
        let mut cursor = String::new();
        let mut last = None;
        for _ in 0..MOST_PAGES {
            let path = format!("/v1/questions?limit={PAGE}&closed={closed}{filter}{cursor}");
            let (rows, next, before) = rows::questions(&self.server.get(&path)?)?;
            all.extend(rows);
            let last = last.get_or_insert(before);
            let Some(next) = next else { return Ok((all, last.clone())) };
            cursor = format!("&cursor={}", segment(&next));
        }
        Err(too_many())
    }
}

fn too_many() -> Failure {
    let message = format!(
        "there is more at the server than the {} rows that are looked through",
        PAGE as usize * MOST_PAGES
    );
    Failure::new(Code::AmbiguousId, message).hint("give the whole id")
}

/// Compares as the store does: the beginning of an id may omit `run_` or `int_`.
fn fits(id: &str, text: &str) -> bool {
    let without_prefix = id.get(4..).unwrap_or_default();
    !text.is_empty() && (id.starts_with(text) || without_prefix.starts_with(text) || id.ends_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_or_an_end_of_an_id_stands_for_it() {
        let id = "run_01k9abcdef";
        for text in ["run_01k9abcdef", "run_01k", "01k9", "def", "run_"] {
            assert!(fits(id, text), "{text}");
        }
        for text in ["", "k9ab", "run_02", "RUN_"] {
            assert!(!fits(id, text), "{text}");
        }
    }
}
