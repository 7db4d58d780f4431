//! A worker: its disk, its supervisors, and the process that may die while they go on.
//!
//! The disk has every attempt that was ever started or refused on it, so that none is started again. A supervisor ends its command at
//! the end of the lease, whether there is a process or not.

use envoi_cluster::{Place, WorkerId};
use envoi_kernel::{
    event::Outcome,
    ids::{AttemptId, RunId},
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Key = (RunId, AttemptId);

/// How a command stands, as its folder says.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Running {
        ends_at: u64,
        lease_until: u64,
    },
    /// It is over, or was never started and never will be. Not reported yet.
    Over(Outcome),
    /// Its lease was over, or its machine was: not known how far it came. Not reported yet.
    Unknown,
    Reported,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) incarnation: u64,
    /// The number of the call by which it wants to join, until it has joined.
    pub(crate) joining: Option<u64>,
    /// With the incarnation that each was started in.
    pub(crate) attempts: BTreeMap<Key, (u64, Command)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Process {
    /// The number of its request to join.
    pub(crate) request: u64,
    pub(crate) place: Option<Place>,
    pub(crate) lost: u64,
    pub(crate) lease_until: u64,
    pub(crate) beats: u64,
    /// Mail that is not done.
    pub(crate) todo: BTreeMap<u64, RunId>,
    done: BTreeSet<u64>,
    last: u64,
}

impl Process {
    /// Up to here the mail is done.
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
    /// Counts its processes: what was meant for an earlier one is void.
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

    /// What is to be reported.
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

    /// The supervisors keep the new end.
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
