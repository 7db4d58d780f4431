//! A child process that commits, and the commits that it has acknowledged.

use envoi_contract::digest::Digest;
use envoi_journal::{Layout, Reader, Store};
use envoi_kernel::ids::RunId;
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

/// The binary that commits until it is stopped.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_journal-commit-loop");

pub(crate) struct Committer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    acknowledged: BTreeMap<RunId, usize>,
}

impl Committer {
    /// Starts a child that commits endless steps of three runs, whose ids begin with `run_<name>`. Returns
    /// when the child is the engine.
    pub(crate) fn start(layout: &Layout, name: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg(layout.root()).args([name, "3", "1000000000"]);
        let mut committer = Self::spawn(command);
        assert_eq!(committer.line().as_deref(), Some("leased"));
        committer
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, acknowledged: BTreeMap::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that is not an acknowledgement. Records the acknowledgements before it.
    pub(crate) fn rest(&mut self) -> Option<String> {
        loop {
            let line = self.line()?;
            if !self.note(&line) {
                return Some(line);
            }
        }
    }

    /// Waits for this many acknowledgements.
    pub(crate) fn acknowledge(&mut self, count: usize) {
        for _ in 0..count {
            let line = self.line().unwrap();
            assert!(self.note(&line), "{line}");
        }
    }

    fn note(&mut self, line: &str) -> bool {
        let Some((run, length)) = line.split_once(' ') else { return false };
        let (Ok(run), Ok(length)) = (RunId::new(run), length.parse()) else { return false };
        self.acknowledged.insert(run, length);
        true
    }

    fn line(&mut self) -> Option<String> {
        self.lines.next().map(|line| line.unwrap())
    }

    /// Kills the child with SIGKILL; returns everything that it had acknowledged.
    pub(crate) fn kill(mut self) -> BTreeMap<RunId, usize> {
        self.child.kill().unwrap();
        assert_eq!(self.rest(), None);
        self.child.wait().unwrap();
        self.acknowledged
    }

    /// Waits until the child ends by itself.
    pub(crate) fn wait(mut self) -> BTreeMap<RunId, usize> {
        assert_eq!(self.rest(), None);
        self.child.wait().unwrap();
        self.acknowledged
    }
}

/// Checks that everything acknowledged is there, at most the one commit in flight is there too, and no commit
/// is partial.
pub(crate) fn check(layout: &Layout, acknowledged: &BTreeMap<RunId, usize>) {
    let store = Store::open(layout.clone()).unwrap();
    let reader = store.reader().unwrap();
    for (run, length) in acknowledged {
        let found = whole_length(&reader, run);
        assert!(found == *length || found == length + 2, "{run}: {length} acknowledged, {found} found");
    }
}

/// The number of a run's events. Also checks that each commit is there with all its content.
pub(crate) fn whole_length(reader: &Reader, run: &RunId) -> usize {
    let loaded = reader.load(run).unwrap();
    let seqs: Vec<u64> = loaded.records.iter().map(|record| record.seq).collect();
    let length = loaded.records.len();
    assert_eq!(seqs, (0..u64::try_from(length).unwrap()).collect::<Vec<_>>());
    assert_eq!(length % 2, 0, "half a commit of {run}");
    for length in (2..=length).step_by(2) {
        let content = format!("{run} {length}").into_bytes();
        assert_eq!(reader.blob(&Digest::of(&content)).unwrap(), content);
    }
    assert_eq!(reader.run(run).unwrap().next_seq, u64::try_from(length).unwrap());
    length
}

/// Copies the database as a crash at this moment would leave it: without the shared-memory file.
pub(crate) fn crashed_copy(layout: &Layout, target: &Path) -> Layout {
    let copy = Layout::new(target);
    copy.create().unwrap();
    for name in ["envoi.db", "envoi.db-wal"] {
        std::fs::copy(layout.root().join(name), target.join(name)).unwrap();
    }
    copy
}
