//! Commits small steps of many runs and prints each one once it is acknowledged.
//!
//! Usage: `journal-commit-loop STORE NAME RUNS STEPS`. The tests that kill an engine start it as a child. It
//! also serves to count fsyncs: `strace -f -y -e trace=fsync,fdatasync journal-commit-loop .envoi a 1 100`.
//! Lines: `leased`, then `RUN LENGTH` for every commit after which the run has so many events; then `done`,
//! `fenced` or `refused`.
//!
//! `journal-commit-loop STORE look` only reads: `RUN LENGTH` for every run, or the reason why it cannot read.

use envoi_contract::digest::Digest;
use envoi_journal::{
    Commit, CommitError, Holder, Layout, Lease, RunFilter, Store, Taken, Writer, conformance,
};
use envoi_kernel::ids::RunId;
use std::{env, error::Error, process, sync::mpsc};

type Outcome = (RunId, u64, Result<(), CommitError>);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let mut next = || args.next().ok_or("usage: commit_loop STORE NAME RUNS STEPS");
    let (store, name) = (next()?, next()?);
    if name == "look" {
        say(&look(store).unwrap_or_else(|error| error.to_string()));
        return Ok(());
    }
    let (runs, steps) = (next()?.parse()?, next()?.parse()?);
    let store = Store::open(Layout::new(store))?;
    let Taken::Lease(lease) = Lease::try_take(store.layout())? else {
        return Err("the store has an engine".into());
    };
    lease.announce(&Holder { pid: process::id(), socket: "".into() })?;
    let writer = store.writer(store.take_epoch()?)?;
    say("leased");
    say(&commit_all(&writer, &name, runs, steps)?);
    writer.close();
    lease.release();
    Ok(())
}

fn look(store: String) -> Result<String, Box<dyn Error>> {
    let reader = Store::open_read_only(Layout::new(store))?.reader()?;
    let runs = reader.runs(RunFilter::default())?;
    let lengths = runs.iter().map(|row| Ok(format!("{} {}", row.run, reader.load(&row.run)?.records.len())));
    Ok(lengths.collect::<Result<Vec<_>, Box<dyn Error>>>()?.join(", "))
}

/// Keeps every run going; returns the word for how it ended.
fn commit_all(writer: &Writer, name: &str, runs: u64, steps: u64) -> Result<String, Box<dyn Error>> {
    let (tell, told) = mpsc::channel();
    for number in 0..runs {
        let run = conformance::run(&format!("{name}{number}"))?;
        let start = [conformance::started(&run)?, conformance::timer_set("t")?];
        submit(writer, with_content(conformance::commit(&run, 0, start)), &tell);
    }
    let mut open = runs;
    while open > 0 {
        let (run, length, outcome) = told.recv()?;
        match outcome {
            Err(CommitError::Fenced { .. }) => return Ok("fenced".to_owned()),
            Err(error) => return Ok(format!("refused, unknown: {}: {error}", error.is_unknown())),
            Ok(()) if length >= steps.saturating_mul(2) => open -= 1,
            Ok(()) => submit(writer, step(&run, length)?, &tell),
        }
        say(&format!("{run} {length}"));
    }
    Ok("done".to_owned())
}

fn step(run: &RunId, length: u64) -> Result<Commit, Box<dyn Error>> {
    let events = [conformance::timer_fired("t")?, conformance::timer_set("t")?];
    Ok(with_content(conformance::commit(run, length, events)))
}

/// Adds what the tests look for: content whose text is the run and its length.
fn with_content(mut commit: Commit) -> Commit {
    let content = format!("{} {}", commit.run, commit.expected + 2).into_bytes();
    commit.blobs = vec![(Digest::of(&content), content)];
    commit
}

fn submit(writer: &Writer, commit: Commit, tell: &mpsc::Sender<Outcome>) {
    let (run, length, tell) = (commit.run.clone(), commit.expected + 2, tell.clone());
    writer.submit(commit, Box::new(move |outcome| drop(tell.send((run, length, outcome.map(|_| ()))))));
}

fn say(line: &str) {
    println!("{line}");
}
