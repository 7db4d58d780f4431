//! Makes the notifications of a run from its journal. They use the same fold as streams, so that receivers
//! and followers get the same.
//!
//! A run is applied one moment at a time. So only the part that is being sent is in memory. A receiver of
//! version 0.3, which gets whole tasks, gets the task at each of these moments. Content is read when it is
//! sent.
//!
//! The fact that a run is set aside is stored beside its events, and is sent after them. A source that is
//! opened again does not know whether it was sent, and sends it again under the same key.

use super::task::{
    fold::{TaskUpdate, UpdateKind},
    loader::{self, LoadedTask, ReplyBudget, StoredContent},
    writer::TaskWriter,
};
use crate::{
    push::event_source::{EventSource, EventSources, Notification, SourceError},
    state::app::App,
};
use envoi_a2a::{
    model::{StreamItem, Task},
    version::Version,
    write_item,
};
use envoi_contract::time::Timestamp;
use envoi_journal::{Aside, PushRow, RunRow};
use envoi_kernel::{Record, ids::Seq};
use std::{collections::VecDeque, sync::Arc};

/// The event sources of this server's runs.
pub(crate) struct RunEventSources(pub(crate) Arc<App>);

impl EventSources for RunEventSources {
    fn open(&self, push: &PushRow) -> Result<Box<dyn EventSource>, SourceError> {
        let app = Arc::clone(&self.0);
        let seen = loader::load_without_events(&app, &push.run).map_err(|_| SourceError::Task)?;
        Ok(Box::new(RunEvents {
            version: if push.version == Version::V03.word() { Version::V03 } else { Version::V10 },
            base: push.base.clone(),
            from: push.next_seq,
            unread: VecDeque::new(),
            waiting: VecDeque::new(),
            known_aside: None,
            telling_aside: None,
            seen,
            app,
        }))
    }
}

struct RunEvents {
    app: Arc<App>,
    seen: LoadedTask,
    version: Version,
    base: String,
    /// Events before this one are not sent.
    from: Seq,
    /// Records that were read and not yet applied.
    unread: VecDeque<Record>,
    /// Updates that were applied and not yet delivered.
    waiting: VecDeque<TaskUpdate>,
    /// Since when the run is set aside, as the receiver knows it.
    known_aside: Option<Timestamp>,
    /// The value of `known_aside` after the current notification has arrived, if that is about it.
    telling_aside: Option<Option<Timestamp>>,
}

impl EventSource for RunEvents {
    fn next(&mut self) -> Result<Option<Notification>, SourceError> {
        self.telling_aside = None;
        while self.waiting.is_empty() {
            let moment = self.moment()?;
            if moment.is_empty() {
                return self.set_aside_or_taken_up();
            }
            loader::learn_versions(&self.app, &mut self.seen, &moment);
            let updates = self.seen.fold.apply(&moment)?;
            self.waiting.extend(updates.into_iter().filter(|update| update.position.seq() >= self.from));
            if self.version == Version::V03 {
                // The last task of the moment contains all its changes.
                self.waiting.drain(..self.waiting.len().saturating_sub(1));
            }
        }
        self.waiting.front().map(|update| self.written(update)).transpose()
    }

    fn delivered(&mut self) {
        if let Some(since) = self.telling_aside.take() {
            self.known_aside = since;
        } else if let Some(TaskUpdate { kind: UpdateKind::Status(_), .. }) = self.waiting.pop_front() {
            // A status does not include this.
            self.known_aside = None;
        }
    }

    fn is_over(&self) -> bool {
        self.seen.fold.standing().state.is_terminal()
    }
}

impl RunEvents {
    /// The events of the next moment; empty if there are none yet.
    fn moment(&mut self) -> Result<Vec<Record>, SourceError> {
        if self.unread.is_empty() {
            let LoadedTask { run, fold, .. } = &self.seen;
            self.unread = self.app.read(|reader| loader::next_records(reader, run, fold))?.into();
        }
        let at = self.unread.front().map(|record| record.at);
        let count = self.unread.iter().take_while(|record| Some(record.at) == at).count();
        Ok(self.unread.drain(..count).collect())
    }

    /// A notification that the run was set aside, or is no longer set aside, if the receiver does not know
    /// it.
    fn set_aside_or_taken_up(&mut self) -> Result<Option<Notification>, SourceError> {
        let row: RunRow = self.app.read(|reader| reader.run(&self.seen.run))?;
        let aside = row.aside;
        let standing = self.seen.fold.standing();
        let aside = aside.filter(|_| !standing.state.is_terminal());
        let since = aside.as_ref().map(|why| why.since);
        if since == self.known_aside {
            return Ok(None);
        }
        self.telling_aside = Some(since);
        let next_seq = self.seen.fold.next_seq();
        let place = match since {
            Some(since) => format!("{next_seq}.aside.{}", since.as_millis()),
            None => format!("{next_seq}.taken_up.{}", self.known_aside.unwrap_or_default().as_millis()),
        };
        let shelf = StoredContent { app: &self.app, base: &self.base, room: &ReplyBudget::default() };
        let writer = TaskWriter { ids: &self.seen.ids, content: &shelf, aside: aside.as_ref() };
        let item = match self.version {
            Version::V03 => StreamItem::Task(self.task(aside.as_ref())?),
            Version::V10 => writer.status_item(&standing, false),
        };
        Ok(Some(self.notification(place, next_seq, &item)))
    }

    fn written(&self, update: &TaskUpdate) -> Result<Notification, SourceError> {
        let item = match self.version {
            Version::V03 => StreamItem::Task(self.task(None)?),
            Version::V10 => self.item(update),
        };
        Ok(self.notification(update.position.to_string(), update.position.next_seq(), &item))
    }

    fn notification(&self, place: String, next_seq: Seq, item: &StreamItem) -> Notification {
        let media_type = match self.version {
            Version::V03 => "application/json",
            Version::V10 => "application/a2a+json",
        };
        let body = write_item(self.version, item).compact().into_bytes();
        Notification { place, next_seq, media_type, body }
    }

    /// The current task, with the messages that have been sent since.
    fn task(&self, aside: Option<&Aside>) -> Result<Task, SourceError> {
        let messages = self.app.read(|reader| reader.messages(&self.seen.run))?;
        let client_messages: Vec<_> = messages.iter().filter_map(loader::client_message).collect();
        let shelf = StoredContent { app: &self.app, base: &self.base, room: &ReplyBudget::default() };
        Ok(TaskWriter { ids: &self.seen.ids, content: &shelf, aside }.task(
            &self.seen.fold,
            &client_messages,
            true,
        ))
    }

    fn item(&self, update: &TaskUpdate) -> StreamItem {
        let last = matches!(&update.kind, UpdateKind::Status(standing) if standing.state.is_terminal());
        let shelf = StoredContent { app: &self.app, base: &self.base, room: &ReplyBudget::default() };
        TaskWriter { ids: &self.seen.ids, content: &shelf, aside: None }.item(update, last)
    }
}
