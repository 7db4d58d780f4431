//! The source of a run, from its journal, by the fold that streams are made by: who is told and who follows hear the same.
//!
//! A run is heard a moment at a time, so that no more of it is held than is just being told, and so that a receiver of version
//! 0.3, which is sent whole tasks, is sent them as they stood then. Content is read when it is sent.

use super::{
    protocol::{
        model::{StreamItem, Task},
        version::Version,
        write_item,
    },
    task::{
        fold::{TaskUpdate, UpdateKind},
        loader::{self, LoadedTask, ReplyBudget, StoredContent},
        writer::TaskWriter,
    },
};
use crate::{
    push::event_source::{EventSource, EventSources, Notification},
    state::app::App,
};
use envoi_journal::{PushRow, ReadError};
use envoi_kernel::{Record, ids::Seq};
use std::{collections::VecDeque, sync::Arc};

/// Tales of the runs of this server.
pub(crate) struct RunEventSources(pub(crate) Arc<App>);

impl EventSources for RunEventSources {
    fn open(&self, push: &PushRow) -> Result<Box<dyn EventSource>, String> {
        let app = Arc::clone(&self.0);
        let seen =
            loader::load_without_events(&app, &push.run).map_err(|_| "the task cannot be read".to_owned())?;
        Ok(Box::new(RunEvents {
            version: if push.version == Version::V03.word() { Version::V03 } else { Version::V10 },
            base: push.base.clone(),
            from: push.next_seq,
            unheard: VecDeque::new(),
            waiting: VecDeque::new(),
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
    /// Nothing of events before this one is told.
    from: Seq,
    /// What was read and not heard.
    unheard: VecDeque<Record>,
    /// What was heard and not told.
    waiting: VecDeque<TaskUpdate>,
}

impl EventSource for RunEvents {
    fn next(&mut self) -> Result<Option<Notification>, String> {
        while self.waiting.is_empty() {
            let moment = self.moment()?;
            if moment.is_empty() {
                return Ok(None);
            }
            let updates = self.seen.fold.apply(&moment).map_err(|error| error.to_string())?;
            self.waiting.extend(updates.into_iter().filter(|update| update.position.seq() >= self.from));
            if self.version == Version::V03 {
                // The task says all of it at once.
                self.waiting.drain(..self.waiting.len().saturating_sub(1));
            }
        }
        self.waiting.front().map(|update| self.written(update)).transpose()
    }

    fn delivered(&mut self) {
        self.waiting.pop_front();
    }

    fn is_over(&self) -> bool {
        self.seen.fold.standing().state.is_terminal()
    }
}

impl RunEvents {
    /// The events of the next moment; none if there is none yet.
    fn moment(&mut self) -> Result<Vec<Record>, String> {
        if self.unheard.is_empty() {
            let LoadedTask { run, fold, .. } = &self.seen;
            let read = self.app.read(|reader| loader::next_records(reader, run, fold));
            self.unheard = read.map_err(|error: ReadError| error.to_string())?.into();
        }
        let at = self.unheard.front().map(|record| record.at);
        let count = self.unheard.iter().take_while(|record| Some(record.at) == at).count();
        Ok(self.unheard.drain(..count).collect())
    }

    fn written(&self, update: &TaskUpdate) -> Result<Notification, String> {
        let (item, media_type) = match self.version {
            Version::V03 => (StreamItem::Task(self.task()?), "application/json"),
            Version::V10 => (self.item(update), "application/a2a+json"),
        };
        Ok(Notification {
            place: update.position.to_string(),
            next_seq: update.position.next_seq(),
            media_type,
            body: write_item(self.version, &item).compact().into_bytes(),
        })
    }

    /// The task as it stands, with the messages that have come since.
    fn task(&self) -> Result<Task, String> {
        let messages = self.app.read(|reader| reader.messages(&self.seen.run));
        let said: Vec<_> = messages
            .map_err(|error: ReadError| error.to_string())?
            .iter()
            .filter_map(loader::client_message)
            .collect();
        let shelf = StoredContent { app: &self.app, base: &self.base, room: &ReplyBudget::default() };
        Ok(TaskWriter { ids: &self.seen.ids, content: &shelf }.task(&self.seen.fold, &said, true))
    }

    fn item(&self, update: &TaskUpdate) -> StreamItem {
        let last = matches!(&update.kind, UpdateKind::Status(standing) if standing.state.is_terminal());
        let shelf = StoredContent { app: &self.app, base: &self.base, room: &ReplyBudget::default() };
        TaskWriter { ids: &self.seen.ids, content: &shelf }.item(update, last)
    }
}
