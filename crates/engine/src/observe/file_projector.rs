//! The files that show a run: they are written after each commit, before anything that follows from it is started.

use super::{followers::Followers, placing::Placing, run_log};
use crate::model::{crash_point::Point, runner::Observer};
use envoi_journal::{Aside, Layout, Reader, files, with_causes};
use envoi_kernel::{
    Event, Record, Run, Status,
    ids::{FlowId, RunId},
};

/// Writes hand-off files and artifacts, then notifies the followers.
pub struct FileProjector {
    layout: Layout,
    reader: Reader,
    followers: Followers,
    reached: fn(Point),
    /// Where large sets are placed; without it, here.
    placing: Option<Placing>,
}

impl FileProjector {
    /// Files go below `layout`; contents come from `reader`.
    #[must_use]
    pub fn new(layout: Layout, reader: Reader, followers: Followers) -> Self {
        Self { layout, reader, followers, reached: |_| {}, placing: None }
    }

    /// Has large sets of files placed beside the loop.
    #[must_use]
    pub(crate) fn with_placing(mut self, placing: Placing) -> Self {
        self.placing = Some(placing);
        self
    }

    /// Calls `reached` at [`Point::BeforeShow`].
    #[must_use]
    pub fn with_points(mut self, reached: fn(Point)) -> Self {
        self.reached = reached;
        self
    }

    /// An engine that was stopped after its commit, and overtaken, must not put its old files over newer ones.
    fn check_newest(&self, run: &RunId, records: &[Record]) -> Result<(), String> {
        let next = self.reader.next_seq(run).map_err(|error| error.to_string())?;
        match records.last() {
            Some(last) if next > last.seq.saturating_add(1) => {
                Err(format!("another engine has gone on with run `{run}`"))
            }
            _ => Ok(()),
        }
    }
}

impl Observer for FileProjector {
    fn committed(&mut self, run: &Run, records: &[Record]) -> Result<(), String> {
        let Some(started) = run.started() else { return Ok(()) };
        if records.iter().any(|record| matches!(record.event, Event::HandoffWritten(_))) {
            (self.reached)(Point::BeforeShow);
        }
        self.check_newest(&started.run, records)?;
        let shown = Shown {
            layout: self.layout.clone(),
            followers: self.followers.clone(),
            run: started.run.clone(),
            flow: run.flow().id.clone(),
            status: run.status(),
        };
        let id = &started.run;
        match &self.placing {
            // What comes later is shown later: followers get it in the order of the journal.
            Some(placing) if placing.is_behind(id) || records.iter().any(files::are_many) => {
                let records = records.to_vec();
                placing.push(id, Box::new(move |reader| shown.show(reader, &records)))
            }
            _ => shown.show(&self.reader, records),
        }
    }

    fn set_aside(&mut self, run: &RunId, why: &Aside) {
        run_log::set_aside(run, why);
        self.followers.set_aside(run, why);
    }

    fn taken_up(&mut self, run: &RunId) {
        if let Some(placing) = &self.placing {
            placing.forget_failure(run);
        }
        self.followers.taken_up(run);
    }
}

/// A run as it stands after a commit that is to be shown.
struct Shown {
    layout: Layout,
    followers: Followers,
    run: RunId,
    flow: FlowId,
    status: Status,
}

impl Shown {
    /// The files first, then the followers.
    fn show(&self, reader: &Reader, records: &[Record]) -> Result<(), String> {
        for record in records {
            files::project(&self.layout, reader, &self.run, &self.flow, record)
                .map_err(|error| with_causes(&error))?;
        }
        run_log::log(&self.run, records);
        self.followers.notify(&self.run, records);
        self.followers.rest(&self.run, &self.status);
        Ok(())
    }
}
