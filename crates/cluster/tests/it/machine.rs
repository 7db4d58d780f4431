//! A worker: its disk, its supervisors, and its process, which may die while they continue.
//!
//! The disk records every attempt that was ever started or refused on it, so that none is started again. A
//! supervisor ends its command at the end of the lease, whether the process lives or not.

use envoi_cluster::{Place, WorkerId};
use envoi_kernel::{
    event::Outcome,
    ids::{AttemptId, RunId},
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Key = (RunId, AttemptId);

/// The state of a command, according to its folder.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Running {
        ends_at: u64,
        lease_until: u64,
    },
    /// It has ended, or was never started and never will be. Not reported yet.
    Over(Outcome),
    /// Its lease has ended, or its machine has stopped, so it is not known how far it came. Not reported yet.
    Unknown,
    Reported,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) incarnation: u64,
    /// The number of the join request, until it is answered.
    pub(crate) joining: Option<u64>,
    /// The attempts, each with the incarnation that started it.
    pub(crate) attempts: BTreeMap<Key, (u64, Command)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Process {
    /// The number of its join request.
    pub(crate) request: u64,
    pub(crate) place: Option<Place>,
    pub(crate) lost: u64,
    pub(crate) lease_until: u64,
    pub(crate) beats: u64,
    /// Mail that is not handled yet.
    pub(crate) todo: BTreeMap<u64, RunId>,
    done: BTreeSet<u64>,
    last: u64,
}

impl Process {
    /// The mail is handled up to this number.
    pub(crate) fn read(&self) -> u64 {
        self.todo.keys().next().map_or(self.last, |first| first - 1)
    }

    pub(crate) fn gets(&mut self, mail: Vec<(u64, RunId)>) {
        for (number, run) in mail {
            if number > self.read() && !self.done.contains(&number) {
                self.todo.insert(number, run);
            }
            self.last = self.last.max(number);
        }
    }

    pub(crate) fn did(&mut self, mail: &[u64]) {
        for number in mail {
            self.todo.remove(number);
            self.done.insert(*number);
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) id: WorkerId,
    pub(crate) instance: String,
    pub(crate) disk: Disk,
    pub(crate) process: Option<Process>,
    /// Counts its processes: messages to an earlier one are dropped.
    pub(crate) life: u64,
    pub(crate) is_gone: bool,
    pub(crate) cut_until: u64,
}

impl Machine {
    pub(crate) fn running(&self) -> Vec<Key> {
        let running = |command: &Command| matches!(command, Command::Running { .. });
        self.disk
            .attempts
            .iter()
            .filter(|(_, (_, command))| running(command))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Attempts that are still to be reported.
    pub(crate) fn unreported(&self) -> Vec<Key> {
        let is = |command: &Command| matches!(command, Command::Over(_) | Command::Unknown);
        self.disk
            .attempts
            .iter()
            .filter(|(_, (_, command))| is(command))
            .map(|(key, _)| key.clone())
            .collect()
    }

    pub(crate) fn becomes(&mut self, key: &Key, command: Command) {
        if let Some((_, known)) = self.disk.attempts.get_mut(key) {
            *known = command;
        }
    }

    /// Gives the supervisors the new deadline.
    pub(crate) fn renew(&mut self, until: u64) {
        let Some(process) = &mut self.process else { return };
        process.lease_until = process.lease_until.max(until);
        for (_, command) in self.disk.attempts.values_mut() {
            if let Command::Running { lease_until, .. } = command {
                *lease_until = until.max(*lease_until);
            }
        }
    }
}
