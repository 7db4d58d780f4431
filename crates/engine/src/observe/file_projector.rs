//! The files that show a run: they are written after each commit, before anything that follows from it is started.

use super::{followers::Followers, placing::Placing, run_log, step_cache};
use crate::model::{
    crash_point::Point,
    runner::{Observer, ShowError},
};
use envoi_journal::{Aside, Epoch, FileError, Layout, Reader, files};
use envoi_kernel::{
    Event, Record, Run, Status,
    ids::{FlowId, RunId},
};

/// Writes hand-off files and artifacts, then notifies the followers.
pub struct FileProjector {
    layout: Layout,
    reader: Reader,
    epoch: Epoch,
    followers: Followers,
    reached: fn(Point),
    /// Puts large sets in their places; without it, they are put there directly.
    placing: Option<Placing>,
}

impl FileProjector {
    /// For the engine that has taken `epoch`. Files go below `layout`; contents come from `reader`.
    #[must_use]
    pub fn new(layout: Layout, reader: Reader, epoch: Epoch, followers: Followers) -> Self {
        Self { layout, reader, epoch, followers, reached: |_| {}, placing: None }
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

    /// How the files of these records are to be written. Another engine takes an epoch before it commits anything: with the newest
    /// one, nothing later than these records can be there.
    fn way(&self, run: &RunId, records: &[Record]) -> Result<Project, ShowError> {
        match self.reader.check_epoch(self.epoch) {
            Ok(()) => Ok(files::project_next),
            Err(_) => self.check_newest(run, records).map(|()| files::project as Project),
        }
    }

    /// An engine that was stopped after its commit, and overtaken, must not put its old files over newer ones.
    fn check_newest(&self, run: &RunId, records: &[Record]) -> Result<(), ShowError> {
        let next = self.reader.next_seq(run)?;
        match records.last() {
            Some(last) if next > last.seq.saturating_add(1) => Err(ShowError::Overtaken { run: run.clone() }),
            _ => Ok(()),
        }
    }
}

impl Observer for FileProjector {
    fn committed(&mut self, run: &Run, records: &[Record]) -> Result<(), ShowError> {
        let Some(started) = run.started() else { return Ok(()) };
        if records.iter().any(|record| matches!(record.event, Event::HandoffWritten(_))) {
            (self.reached)(Point::BeforeShow);
        }
        let way = self.way(&started.run, records)?;
        let shown = Shown {
            layout: self.layout.clone(),
            followers: self.followers.clone(),
            run: started.run.clone(),
            flow: run.flow().id.clone(),
            tenant: started.by.tenant.clone(),
            status: run.status(),
            lapses: run.interrupts().next().is_some()
                && run.wants().expiries.iter().any(|(_, at)| *at <= run.last_at()),
        };
        let id = &started.run;
        match &self.placing {
            // Later records are shown later: followers get them in the order of the journal.
            Some(placing) if placing.is_behind(id) || records.iter().any(files::are_many) => {
                let records = records.to_vec();
                placing.push(id, Box::new(move |reader| shown.show(reader, &records, files::project)))
            }
            _ => shown.show(&self.reader, records, way),
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

/// How the files of a record are written.
type Project = fn(&Layout, &Reader, &RunId, &FlowId, &Record) -> Result<(), FileError>;

/// A run after a commit that is to be shown.
struct Shown {
    layout: Layout,
    followers: Followers,
    run: RunId,
    flow: FlowId,
    tenant: String,
    status: Status,
    /// Whether the time of a question is over: the loop closes it next, and the run rests, if it does, after that.
    lapses: bool,
}

impl Shown {
    /// The files first, then the followers.
    fn show(&self, reader: &Reader, records: &[Record], project: Project) -> Result<(), ShowError> {
        for record in records {
            project(&self.layout, reader, &self.run, &self.flow, record)?;
            step_cache::make_known(&self.layout, &self.tenant, &self.run, &self.flow, record);
        }
        run_log::log(&self.run, records);
        self.followers.notify(&self.run, records);
        match self.lapses {
            true => self.followers.goes_on(&self.run),
            false => self.followers.rest(&self.run, &self.status),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protocol::Response;
    use envoi_contract::time::Timestamp;
    use envoi_journal::{Commit, PinnedFlow, Store, Writer};
    use envoi_kernel::{
        Input,
        event::Outcome,
        ids::AttemptId,
        input::{AttemptResult, Slot},
    };
    use std::sync::Arc;

    const FLOW: &str = "\
flow: f
limits: { iterations: 9 }
steps:
  - { id: a, run: [\"true\"] }
  - { id: b, run: [\"true\"], routing: { kind: microloop, loop_to: a, success_values: [VERIFIED] } }
";

    /// A run, and its records up to the second hand-off of its first step, one list a commit.
    fn lived(run: &RunId) -> (Run, PinnedFlow, Vec<Vec<Record>>) {
        let loaded = envoi_flow::load("f.yaml", FLOW).unwrap();
        let flow = Arc::new(loaded.flow);
        let pinned = PinnedFlow {
            digest: flow.digest,
            language: loaded.language,
            name: "f.yaml".to_owned(),
            text: FLOW.to_owned(),
            parts: loaded.parts,
            earlier: Vec::new(),
        };
        let start = Input::Start(Box::new(crate::model::sample::start(run, loaded.language)));
        let at = Timestamp::from_millis(1_000);
        let settled = |attempt: &str| {
            let text = format!("{attempt}\nStatus: UNVERIFIED");
            let attempt = AttemptId::parse(attempt).unwrap();
            let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, at);
            Input::Settled(Box::new(AttemptResult { text, ..result }))
        };
        let mut run = Run::new(flow);
        let inputs = [start, settled("a.1.1"), settled("b.1.1"), settled("a.2.1")];
        let commits = inputs.map(|input| {
            let records = run.decide(input, Some(Slot::new("boot")), at).unwrap();
            records.iter().for_each(|record| run.apply(record).unwrap());
            records
        });
        (run, pinned, commits.into())
    }

    fn commit(writer: &Writer, id: &RunId, pinned: &PinnedFlow, records: &[Record]) {
        let expected = records.first().unwrap().seq;
        let commit = Commit {
            run: id.clone(),
            expected,
            records: records.to_vec(),
            pinned: (expected == 0).then(|| pinned.clone()),
            blobs: Vec::new(),
            deliveries: Vec::new(),
            snapshot: None,
        };
        writer.commit(commit).unwrap();
    }

    /// Something else was decided before the question's expiry was applied.
    #[test]
    fn a_run_whose_question_has_lapsed_is_not_at_rest() {
        const ASKS: &str = "flow: f\nlimits: { agent_hops: 5 }\nsteps:\n  - { id: q, ask: { message: Go?, expires_in: 1s } }\n";
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path().join(".envoi"))).unwrap();
        let id = RunId::new("run_1").unwrap();
        let loaded = envoi_flow::load("f.yaml", ASKS).unwrap();
        let mut run = Run::new(Arc::new(loaded.flow));
        let epoch = store.take_epoch().unwrap();
        let followers = Followers::default();
        let mut projector =
            FileProjector::new(store.layout().clone(), store.reader().unwrap(), epoch, followers.clone());
        let mut commit = |input, at| {
            let (client, heard) = std::sync::mpsc::channel();
            followers.add(&id, client);
            let records = run.decide(input, None, Timestamp::from_millis(at)).unwrap();
            records.iter().for_each(|record| run.apply(record).unwrap());
            projector.committed(&run, &records).unwrap();
            let rests = heard.try_iter().any(|told| matches!(told, Response::Rest { .. }));
            (rests, run.interrupts().next().map(|raised| raised.interrupt.clone()))
        };
        let start = Input::Start(Box::new(crate::model::sample::start(&id, loaded.language)));
        let (rests, question) = commit(start, 1_000);
        assert!(rests, "it waits for a person");
        let interrupt = question.unwrap();
        let changed = |at| (Input::Changed { interrupt: interrupt.clone(), found: Vec::new() }, at);
        let (input, at) = changed(1_999);
        let (rests, question) = commit(input, at);
        assert!(rests, "it still does");
        let raise = Input::Raise {
            more: envoi_kernel::ledger::Ledger { agent_hops: 1, ..Default::default() },
            by: envoi_kernel::ids::Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
            why: None,
            request: None,
            elsewhere: Default::default(),
        };
        assert!(!commit(raise, 2_000).0, "its expiry is due");
        assert!(commit(Input::Expire { interrupt: question.unwrap() }, 2_000).0, "it is over");
    }

    /// An engine wakes up after its commit; another one has taken over meanwhile.
    #[test]
    fn an_engine_that_was_overtaken_shows_what_it_committed_unless_the_run_has_gone_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path().join(".envoi"))).unwrap();
        let id = RunId::new("run_1").unwrap();
        let (run, pinned, commits) = lived(&id);
        let [start, first, critic, second] = commits.as_slice() else { panic!("{commits:?}") };
        let epoch = store.take_epoch().unwrap();
        let writer = store.writer(epoch).unwrap();
        let mut projector =
            FileProjector::new(store.layout().clone(), store.reader().unwrap(), epoch, Followers::default());
        for records in [start, first] {
            commit(&writer, &id, &pinned, records);
        }
        let next = store.take_epoch().unwrap();
        projector.committed(&run, start).unwrap_err();
        projector.committed(&run, first).unwrap();
        let handoffs = store.layout().flow(&id, &FlowId::new("f").unwrap()).join("handoff");
        let read = |name: &str| std::fs::read_to_string(handoffs.join(name)).unwrap();
        assert_eq!(read("a.json"), read("a.1.json"));
        let writer = store.writer(next).unwrap();
        let mut newest =
            FileProjector::new(store.layout().clone(), store.reader().unwrap(), next, Followers::default());
        for records in [critic, second] {
            commit(&writer, &id, &pinned, records);
            newest.committed(&run, records).unwrap();
        }
        assert_ne!(read("a.json"), read("a.1.json"));
        let refused = projector.committed(&run, first).unwrap_err();
        assert_eq!(refused.to_string(), "another engine has gone on with run `run_1`");
        assert_eq!(read("a.json"), read("a.2.json"));
    }
}
