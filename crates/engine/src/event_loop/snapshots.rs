//! Writes the state of a run as the bytes of a snapshot, beside the loop.
//!
//! The state of a long run takes longer to write than the loop may take for one message, because the loop serves all runs. So the loop
//! copies the state, and one thread writes all snapshots, one after the other. It does not know when one is due, and stores none.

use envoi_journal::Snapshot;
use envoi_kernel::{Run, ids::Seq};
use std::{
    sync::mpsc::{Receiver, Sender, TryRecvError, channel},
    thread,
};

/// See the module.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The thread, once there was a snapshot to write.
    thread: Option<Sender<Job>>,
    within_loop: bool,
}

/// A state to be written.
struct Job {
    run: Run,
    seq: Seq,
    to: Sender<Snapshot>,
}

/// A snapshot that is being written.
pub(crate) struct Writing(Receiver<Snapshot>);

/// The state could not be written.
#[derive(Debug)]
pub(crate) struct NotWritten;

impl Snapshots {
    /// Writes each at once, in the caller's thread: the same calls give the same snapshots.
    pub(crate) fn within_loop() -> Self {
        Self { thread: None, within_loop: true }
    }

    /// Begins to write the state that the run has now. None for a run that has not begun.
    pub(crate) fn begin(&mut self, run: &Run) -> Option<Writing> {
        let seq = run.next_seq().checked_sub(1)?;
        let (to, written) = channel();
        let job = Job { run: run.clone(), seq, to };
        match self.within_loop {
            true => job.write(),
            false => self.send(job),
        }
        Some(Writing(written))
    }

    fn send(&mut self, job: Job) {
        let job = match &self.thread {
            None => job,
            Some(thread) => match thread.send(job) {
                Ok(()) => return,
                // A state that could not be written has ended the thread.
                Err(error) => error.0,
            },
        };
        let (thread, jobs) = channel::<Job>();
        let spawned = thread::Builder::new()
            .name("envoi-snapshots".to_owned())
            .spawn(move || jobs.into_iter().for_each(Job::write));
        // Without a thread there is no snapshot now. The waiting callers get an error.
        if spawned.is_ok() {
            thread.send(job).ok();
            self.thread = Some(thread);
        }
    }
}

impl Job {
    fn write(self) {
        if let Ok(state) = self.run.snapshot() {
            // The run may be over by now.
            self.to.send(Snapshot { seq: self.seq, state }).ok();
        }
    }
}

impl Writing {
    /// The result; `None` while it is still being written.
    pub(crate) fn written(&self) -> Option<Result<Snapshot, NotWritten>> {
        match self.0.try_recv() {
            Ok(snapshot) => Some(Ok(snapshot)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(NotWritten)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::time::Timestamp;
    use envoi_kernel::{Input, ids::RunId, input::Start};
    use std::sync::Arc;

    fn run() -> Run {
        let loaded = envoi_flow::load("f.yaml", "flow: f\nsteps:\n  - { id: only, run: [work] }\n").unwrap();
        let mut run = Run::new(Arc::new(loaded.flow));
        let start = Start {
            run_base: "/run_1".to_owned(),
            ..crate::model::sample::start(&RunId::new("run_1").unwrap(), loaded.language)
        };
        let records = run.decide(Input::Start(Box::new(start)), None, Timestamp::from_millis(1)).unwrap();
        records.iter().for_each(|record| run.apply(record).unwrap());
        run
    }

    fn wait_for(writing: &Writing) -> Result<Snapshot, NotWritten> {
        loop {
            match writing.written() {
                Some(written) => return written,
                None => thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_snapshot_is_of_the_state_that_it_was_begun_with() {
        let run = run();
        let expected = Snapshot { seq: run.next_seq() - 1, state: run.snapshot().unwrap() };
        let (gone, _) = channel();
        for mut snapshots in [
            Snapshots::default(),
            Snapshots::within_loop(),
            Snapshots { thread: Some(gone), within_loop: false },
        ] {
            for _ in 0..2 {
                let writing = snapshots.begin(&run).unwrap();
                assert_eq!(wait_for(&writing).unwrap(), expected);
                assert!(wait_for(&writing).is_err(), "there is one of it");
            }
            assert!(snapshots.begin(&Run::new(Arc::clone(run.flow()))).is_none(), "it has not begun");
        }
    }
}
