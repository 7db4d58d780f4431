//! `show` and `why` at a server: copies the run, and prints it as any other.

use super::Remote;
use crate::{
    command::{
        show::{self, Own, View},
        why as decisions,
    },
    process::failure::Failure,
    view::question,
};
use envoi_journal::{Activity, Found};

pub(crate) fn show(remote: &Remote, run: Option<&str>, view: &View) -> Result<u8, Failure> {
    let run = match (view, run) {
        (View::Overview { .. }, Some(text)) => match remote.found(text)? {
            Found::Run(run) => run,
            Found::Interrupt(interrupt, run) => {
                let reader = remote.pull(&run)?;
                remote.bring_what_is_shown(&reader, &run, &interrupt)?;
                return question::show(&reader, &run, &interrupt, &remote.by, remote.json);
            }
        },
        (_, text) => remote.run_or_newest(text)?,
    };
    let reader = remote.pull(&run)?;
    let (row, head) = remote.row_with_head(&run)?;
    let works = row.doing.is_some_and(|doing| doing.activity == Activity::Working);
    // Only the store of an imported run knows the run's origin.
    let own = Own { head, ..Own::default() };
    show::print(&reader, &row, &|_| works, &own, view, remote.json)
}

pub(crate) fn why(remote: &Remote, run: Option<&str>, which: &decisions::Which<'_>) -> Result<u8, Failure> {
    let run = remote.run_or_newest(run)?;
    decisions::print(&remote.pull(&run)?, &run, which, remote.json)
}
