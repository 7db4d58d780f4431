//! The tale of a run, from its journal, by the fold that streams are made by: who is told and who follows hear the same.
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
        fold::{Told, What},
        loader::{self, Room, Seen, Store},
        writer::Scribe,
    },
};
use crate::{
    push::event_source::{Item, Tale, Tales},
    state::app::App,
};
use envoi_journal::{PushRow, ReadError};
use envoi_kernel::{Record, ids::Seq};
use std::{collections::VecDeque, sync::Arc};

/// Tales of the runs of this server.
pub(crate) struct Stories(pub(crate) Arc<App>);

impl Tales for Stories {
    fn open(&self, push: &PushRow) -> Result<Box<dyn Tale>, String> {
        let app = Arc::clone(&self.0);
        let seen = loader::unheard(&app, &push.run).map_err(|_| "the task cannot be read".to_owned())?;
        Ok(Box::new(Story {
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

struct Story {
    app: Arc<App>,
    seen: Seen,
    version: Version,
    base: String,
    /// Nothing of events before this one is told.
    from: Seq,
    /// What was read and not heard.
    unheard: VecDeque<Record>,
    /// What was heard and not told.
    waiting: VecDeque<Told>,
}

impl Tale for Story {
    fn next(&mut self) -> Result<Option<Item>, String> {
        while self.waiting.is_empty() {
            let moment = self.moment()?;
            if moment.is_empty() {
                return Ok(None);
            }
            let told = self.seen.fold.hear(&moment).map_err(|error| error.to_string())?;
            self.waiting.extend(told.into_iter().filter(|told| told.place.seq() >= self.from));
            if self.version == Version::V03 {
                // The task says all of it at once.
                self.waiting.drain(..self.waiting.len().saturating_sub(1));
            }
        }
        self.waiting.front().map(|told| self.written(told)).transpose()
    }

    fn told(&mut self) {
        self.waiting.pop_front();
    }

    fn is_over(&self) -> bool {
        self.seen.fold.standing().state.is_terminal()
    }
}

impl Story {
    /// The events of the next moment; none if there is none yet.
    fn moment(&mut self) -> Result<Vec<Record>, String> {
        if self.unheard.is_empty() {
            let Seen { run, fold, .. } = &self.seen;
            let read = self.app.read(|reader| loader::news(reader, run, fold));
            self.unheard = read.map_err(|error: ReadError| error.to_string())?.into();
        }
        let at = self.unheard.front().map(|record| record.at);
        let count = self.unheard.iter().take_while(|record| Some(record.at) == at).count();
        Ok(self.unheard.drain(..count).collect())
    }

    fn written(&self, told: &Told) -> Result<Item, String> {
        let (item, media_type) = match self.version {
            Version::V03 => (StreamItem::Task(self.task()?), "application/json"),
            Version::V10 => (self.item(told), "application/a2a+json"),
        };
        Ok(Item {
            place: told.place.to_string(),
            next_seq: told.place.next_seq(),
            media_type,
            body: write_item(self.version, &item).compact().into_bytes(),
        })
    }

    /// The task as it stands, with the messages that have come since.
    fn task(&self) -> Result<Task, String> {
        let messages = self.app.read(|reader| reader.messages(&self.seen.run));
        let said: Vec<_> =
            messages.map_err(|error: ReadError| error.to_string())?.iter().filter_map(loader::said).collect();
        let shelf = Store { app: &self.app, base: &self.base, room: &Room::default() };
        Ok(Scribe { names: &self.seen.names, shelf: &shelf }.task(&self.seen.fold, &said, true))
    }

    fn item(&self, told: &Told) -> StreamItem {
        let last = matches!(&told.what, What::Stands(standing) if standing.state.is_terminal());
        let shelf = Store { app: &self.app, base: &self.base, room: &Room::default() };
        Scribe { names: &self.seen.names, shelf: &shelf }.item(told, last)
    }
}
