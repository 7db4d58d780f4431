//! Push notifications: receivers that clients have named are told what happens to tasks, at least once and in order.
//!
//! The configurations themselves are set and shown by [`super::pushes`]; here they are carried out. [`board`] says whose turn it
//! is, [`courier`] takes the turns, [`tale`] is what there is to tell and [`story`] how a run
//! becomes that, [`patience`] how long a receiver is waited for. Posting, and
//! where an address may lead, is crate `notify`'s.

mod board;
mod courier;
mod patience;
mod story;
mod tale;

pub(crate) use board::Board;
pub(crate) use courier::{Courier, Means};
pub(crate) use story::Stories;

use crate::app::App;
use envoi_journal::PushRow;

/// From now on this configuration, which was just kept, is told.
pub(crate) fn made(app: &App, row: &PushRow) {
    let tenant = app.read(|reader| reader.tenant_of(&row.run)).unwrap_or_default();
    let whose = courier::whose(tenant, &app.settings.a2a.push, row);
    app.pushes.add((row.run.clone(), row.id.clone()), whose, row.due_at);
}
