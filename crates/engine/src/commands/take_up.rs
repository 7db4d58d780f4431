//! An engine takes up what the one before it has left: many runs, one after the other.
//!
//! It comes to the same as a [`ResumeRequest`](crate::protocol::ResumeRequest) that follows each run, and does what is the same for all
//! of them once: one connection reads, the environment of a flow is read for all of its runs, and the processes of the machine are looked through for
//! all attempts whose supervisors are gone. Each run is loaded once, at one moment, and the
//! loop has it before the next one is looked at; its reply is not waited for, so that the journal takes many in one commit. Owns no refusal:
//! a run that does not simply go on is left to a request, which does what is needed or reports the reason.

use super::{
    adopt::check_places,
    handler::{Commands, check_secrets},
};
use crate::{
    attempts::{presence::Manner, secrets::caller_of},
    model::{
        claim::Claim,
        message::{Adopt, Message, Purpose, Reply},
        protocol::{CallerWire, Refused},
        runner::Caller,
    },
    query::load::{LoadError, flow_folder, load_with_weight},
};
use envoi_journal::{FileError, ReadError, Reader, files};
use envoi_kernel::{
    Flow, Run, Status,
    ids::{AttemptId, RunId},
};
use envoi_step::{AttemptDir, ProcessesLeft};
use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
};

/// See the module.
pub struct TakingUp<'c> {
    commands: &'c Commands,
    reader: Reader,
    /// The values that commands may see, by the flow and its folder.
    callers: RefCell<BTreeMap<(usize, PathBuf), Given>>,
    /// The folders with a live attempt at the moment when the first run that does not share its workspace was taken up.
    live: OnceCell<Vec<Claim>>,
    /// Processes that attempts left whose supervisors are gone.
    left: ProcessesLeft,
}

/// The values that the commands of a flow may see.
#[derive(Clone)]
struct Given {
    /// As long as it is kept, no other flow has its address.
    _flow: Arc<Flow>,
    wire: Arc<CallerWire>,
    caller: Arc<Caller>,
}

/// A run does not simply go on: it is set aside, is over, cannot be read, or has to wait. A request finds the same, and does what follows from it.
struct NeedsRequest;

impl From<ReadError> for NeedsRequest {
    fn from(_: ReadError) -> Self {
        Self
    }
}

impl From<FileError> for NeedsRequest {
    fn from(_: FileError) -> Self {
        Self
    }
}

impl From<LoadError> for NeedsRequest {
    fn from(_: LoadError) -> Self {
        Self
    }
}

impl From<Refused> for NeedsRequest {
    fn from(_: Refused) -> Self {
        Self
    }
}

impl Commands {
    /// Begins to take up runs, on one thread.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn taking_up(&self) -> Result<TakingUp<'_>, Refused> {
        let reader = self.store.reader()?;
        let (callers, live) = (RefCell::default(), OnceCell::new());
        Ok(TakingUp { commands: self, reader, callers, live, left: ProcessesLeft::default() })
    }
}

impl TakingUp<'_> {
    /// Has the loop go on with a run that no engine goes on with. `caller` returns the values that its commands may see, and is called for
    /// the first run of each flow. `done` is called with whether the loop goes on with it, from this thread or from that of the loop; if it
    /// does not, a request to resume the run does or reports the reason. It is dropped if the engine ends before that.
    pub fn take_up(
        &self,
        run: &RunId,
        caller: impl FnOnce(&Run) -> CallerWire,
        done: impl FnOnce(bool) + Send + 'static,
    ) {
        // Files that the run needs may be in a file system that does not respond. An engine that is to end does not wait for that.
        let Ok(loaded) = self.load(run, caller) else { return done(false) };
        let Some(taken) = self.commands.under_way.take() else { return done(false) };
        let _in_progress = self.commands.requests.begin();
        let Ok(ready) = self.ready(run, loaded) else { return done(false) };
        let reply: Reply = Box::new(move |result| {
            done(result.is_ok());
            drop(taken);
        });
        // An engine that has ended drops the message, and with it what waits for its reply.
        self.commands.mailbox.send(Message::Adopt(Box::new(Adopt { reply, ..ready }))).ok();
    }

    /// The run, the bytes of its events after the snapshot, and the values that its commands may see.
    fn load(
        &self,
        id: &RunId,
        caller: impl FnOnce(&Run) -> CallerWire,
    ) -> Result<(Run, u64, Given), NeedsRequest> {
        if self.reader.imported(id)?.is_some() {
            return Err(NeedsRequest);
        }
        let (run, tail_bytes) = load_with_weight(&self.reader, id)?;
        if matches!(run.status(), Status::Ended(_)) || run.restoring().is_some() {
            return Err(NeedsRequest);
        }
        let given = self.given(&run, caller)?;
        Ok((run, tail_bytes, given))
    }

    /// The run as the loop is to have it, with its files made good.
    fn ready(&self, id: &RunId, (run, tail_bytes, given): (Run, u64, Given)) -> Result<Adopt, NeedsRequest> {
        // Not at one moment: these touch files, whose file system may not respond, and a moment that does not end keeps the journal growing.
        files::restore_run(&self.commands.layout, &self.reader, id)?;
        check_places(&self.reader, id)?;
        let is_inside = self.is_inside(id, &run);
        self.check_entry(&run, &given, is_inside)?;
        self.commands.callers.learn(id, run.flow(), &given.wire);
        Ok(Adopt {
            run,
            inputs: Vec::new(),
            corrected: None,
            purpose: Purpose::GoOn,
            again: None,
            request: None,
            is_inside,
            tail_bytes,
            caller: given.caller,
            reply: Box::new(|_| {}),
        })
    }

    /// The values that the commands of the run may see. Its secrets are available.
    fn given(&self, run: &Run, caller: impl FnOnce(&Run) -> CallerWire) -> Result<Given, NeedsRequest> {
        let flow = run.flow();
        let key = (Arc::as_ptr(flow).addr(), flow_folder(run).to_owned());
        if let Some(given) = self.callers.borrow().get(&key) {
            return Ok(given.clone());
        }
        let wire = caller(run);
        let caller = caller_of(flow, &wire);
        check_secrets(flow, &caller)?;
        let given = Given { _flow: Arc::clone(flow), wire: Arc::new(wire), caller };
        self.callers.borrow_mut().insert(key, given.clone());
        Ok(given)
    }

    /// As [`Commands::is_inside`].
    fn is_inside(&self, id: &RunId, run: &Run) -> bool {
        let layout = &self.commands.layout;
        let is_at_work = |attempt: &AttemptId| {
            self.left.is_at_work(&AttemptDir::new(layout.attempt(id, attempt)), &layout.run(id))
        };
        let wants = run.wants();
        wants.attempts.iter().chain(&wants.ending).any(is_at_work)
    }

    /// As [`Commands::check_entry`].
    fn check_entry(&self, run: &Run, given: &Given, is_inside: bool) -> Result<(), NeedsRequest> {
        let Some(started) = run.started() else { return Err(NeedsRequest) };
        // It may be beside others, and enters when something of it is started.
        if started.shared || is_inside {
            return Ok(());
        }
        let claim = Claim::of(started);
        let within = &given.wire.within;
        let may_be_in_the_way =
            |other: &Claim| claim.collides(other) && !Claim::is_called_by(within, &other.run);
        // Attempts that have begun since are of this engine, whose loop knows them.
        if self.live()?.iter().any(may_be_in_the_way) {
            return Err(NeedsRequest);
        }
        Ok(self.commands.enter_for_now(&claim, Manner::of(false, within))?)
    }

    fn live(&self) -> Result<&[Claim], ReadError> {
        if let Some(live) = self.live.get() {
            return Ok(live);
        }
        let live = self.commands.live_claims(&self.reader)?.map(|(_, claim)| claim).collect();
        Ok(self.live.get_or_init(|| live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attempts::presence::Presences,
        commands::under_way::UnderWay,
        delivery::callers::Callers,
        model::{message::EngineError, sample},
        observe::followers::Followers,
    };
    use envoi_journal::{Commit, Layout, PinnedFlow, Store, Writer};
    use envoi_kernel::{Input, ids::Principal, input::Start};
    use envoi_tree::Stop;
    use std::{
        cell::Cell,
        sync::mpsc::{self, Receiver},
    };

    /// Open runs in a journal, as an engine that was killed has left them.
    struct Place {
        commands: Commands,
        to_loop: Receiver<Message>,
        writer: Arc<Writer>,
        folder: tempfile::TempDir,
    }

    const FLOW: &str = "flow: taken_up\nsteps:\n  - id: a\n    run: [\"true\"]\n";

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let store = Arc::new(Store::open(layout.clone()).unwrap());
        let writer = Arc::new(store.writer(store.take_epoch().unwrap()).unwrap());
        let (mailbox, to_loop) = mpsc::channel();
        let commands = Commands {
            presences: Arc::new(Presences::new(layout.root(), |_| {})),
            store,
            layout,
            mailbox,
            followers: Followers::default(),
            callers: Callers::default(),
            families: Arc::default(),
            restores: Arc::default(),
            under_way: UnderWay::default(),
            beginnings: Arc::default(),
            collections: Arc::default(),
            requests: Arc::default(),
            writer: Arc::downgrade(&writer),
            reached: |_| {},
            stop: Stop::default(),
            bounds: envoi_tree::Bounds::default(),
        };
        Place { commands, to_loop, writer, folder }
    }

    impl Place {
        /// An open run of the flow, alone in a folder of its own.
        fn open(&self, name: &str, text: &str, also: Option<Input>) -> RunId {
            let loaded = envoi_flow::load("f.yaml", text).unwrap();
            let flow = Arc::new(loaded.flow);
            let id = RunId::new(name).unwrap();
            let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
            let workspace = self.folder.path().join(format!("workspace of {name}"));
            std::fs::create_dir_all(&workspace).unwrap();
            let workspace = workspace.to_str().unwrap().to_owned();
            let run_base = self.folder.path().join("runs").join(name).to_str().unwrap().to_owned();
            let start = Start { by, workspace, run_base, ..sample::start(&id, loaded.language) };
            let mut run = Run::new(Arc::clone(&flow));
            let mut records = Vec::new();
            for input in [Some(Input::Start(Box::new(start))), also].into_iter().flatten() {
                let decided = run.decide(input, None, crate::model::clock::now()).unwrap();
                decided.iter().for_each(|record| run.apply(record).unwrap());
                records.extend(decided);
            }
            let pinned = PinnedFlow {
                digest: flow.digest,
                language: loaded.language,
                name: "f.yaml".to_owned(),
                text: text.to_owned(),
                parts: loaded.parts,
                earlier: Vec::new(),
            };
            let commit = Commit {
                run: id.clone(),
                expected: 0,
                records,
                pinned: Some(pinned),
                blobs: Vec::new(),
                deliveries: Vec::new(),
                snapshot: None,
            };
            self.writer.commit(commit).unwrap();
            id
        }

        fn adopts(&self) -> Vec<Adopt> {
            let adopt = |message| match message {
                Message::Adopt(adopt) => *adopt,
                _ => panic!("the loop is asked to adopt runs"),
            };
            self.to_loop.try_iter().map(adopt).collect()
        }
    }

    #[test]
    fn for_many_runs_one_connection_is_opened_and_a_flow_and_its_environment_are_read_once() {
        let place = place();
        let runs: Vec<RunId> = (0..30).map(|nth| place.open(&format!("run_{nth:02}"), FLOW, None)).collect();
        let before = place.commands.store.connections_opened();
        let taking_up = place.commands.taking_up().unwrap();
        let environments = Cell::new(0);
        let (done, replies) = mpsc::channel();
        for run in &runs {
            let done = done.clone();
            let caller = |_: &Run| {
                environments.set(environments.get() + 1);
                CallerWire::default()
            };
            taking_up.take_up(run, caller, move |goes_on| done.send(goes_on).unwrap());
        }
        assert!(place.commands.store.connections_opened() - before <= 1);
        assert_eq!(environments.get(), 1);
        // The loop has all of them although it has not replied to the first.
        let adopts = place.adopts();
        let adopted: Vec<&RunId> = adopts.iter().map(|adopt| &adopt.run.started().unwrap().run).collect();
        assert_eq!(adopted, runs.iter().collect::<Vec<_>>());
        assert!(adopts.iter().all(|adopt| Arc::ptr_eq(adopt.run.flow(), adopts[0].run.flow())));
        assert!(adopts.iter().all(|adopt| Arc::ptr_eq(&adopt.caller, &adopts[0].caller)));
        assert!(replies.try_recv().is_err() && place.commands.under_way.count() == runs.len());
        adopts.into_iter().for_each(|adopt| (adopt.reply)(Ok(())));
        assert_eq!(replies.try_iter().collect::<Vec<_>>(), vec![true; runs.len()]);
        assert_eq!(place.commands.under_way.count(), 0);
    }

    #[test]
    fn a_run_that_does_not_simply_go_on_is_left_to_a_request() {
        let place = place();
        let open = place.open("run_open", FLOW, None);
        let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
        let over = place.open("run_over", FLOW, Some(Input::Cancel { by }));
        let secret = "flow: secret\nsecrets: { KEY: { env: MISSING_ENVOI_SECRET } }\nsteps:\n  - id: a\n    run: [\"true\"]\n";
        let without_secret = place.open("run_secret", secret, None);
        let unknown = RunId::new("run_unknown").unwrap();
        let taking_up = place.commands.taking_up().unwrap();
        let (done, replies) = mpsc::channel();
        let take_up = |run: &RunId| {
            let done = done.clone();
            taking_up.take_up(run, |_| CallerWire::default(), move |goes_on| done.send(goes_on).unwrap());
        };
        for run in [&over, &without_secret, &unknown] {
            take_up(run);
            assert_eq!((replies.try_recv(), place.adopts().len()), (Ok(false), 0), "{run}");
        }
        // The loop refuses a run, and an engine ends before it replies.
        take_up(&open);
        let adopt = place.adopts().pop().unwrap();
        (adopt.reply)(Err(EngineError::Stale { run: open.clone() }));
        assert_eq!(replies.try_recv(), Ok(false));
        take_up(&open);
        drop(place.adopts());
        assert!(replies.try_recv().is_err());
        assert_eq!(place.commands.under_way.count(), 0);
    }
}
