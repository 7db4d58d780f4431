//! An engine is killed while it holds many open runs: how long the next one takes until it holds them all.

use crate::{
    Outcome, processes, raw,
    row::{Row, median, spread},
    stage::{Stage, Steps},
};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Each round opens the same store again.
const ROUNDS: u32 = 5;
/// Most of the runs wait for the only slot. The step in it lives longer than the measurement.
const FLOW: &str = "\
flow: bench
steps:
  - id: work
    run: [sleep, \"300\"]
";

/// Makes the store, prints its path, and waits to be killed.
pub(crate) fn hold(runs: u32) -> Outcome<()> {
    let mut stage = Stage::of(&std::env::temp_dir(), 1, FLOW, Steps::Hang)?;
    stage.begin(runs)?;
    stage.play_until(|stage| stage.begun() >= u64::from(runs))?;
    println!("{}", stage.root().display());
    loop {
        thread::park();
    }
}

/// Time from the start of `envoi serve` until its engine has recorded all runs as its own.
pub(crate) fn known_again(runs: u32) -> Outcome<Row> {
    let mut engine = Command::new(std::env::current_exe()?)
        .args(["hold", &runs.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let home = first_line(&mut engine)?;
    engine.kill()?;
    engine.wait()?;
    let home = Path::new(home.trim());
    let mut seconds = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut server = Server::start(home)?;
        first_line(&mut server.0)?;
        answers.push(began.elapsed().as_secs_f64());
        while held_by_the_newest(home)? < u64::from(runs) {
            thread::sleep(Duration::from_millis(5));
        }
        seconds.push(began.elapsed().as_secs_f64());
    }
    Ok(Row {
        what: format!("{runs} open runs of a killed engine, all held by the next one"),
        spread: spread(&seconds),
        value: format!("{:.2} s", median(seconds)),
        raw: format!("{:.2} ms a commit", raw::commit_s(&std::env::temp_dir(), 150)? * 1e3),
        figure: format!("it answers after {:.2} s", median(answers)),
        target: "<= 2 s",
    })
}

/// An engine that is killed at the end, like the one before.
struct Server(Child);

impl Server {
    fn start(home: &Path) -> Outcome<Self> {
        let log = fs::File::options().append(true).create(true).open(home.with_file_name("serve.log"))?;
        let server = Command::new(processes::binary()?)
            .args(["serve", "--jobs", "1", "--listen", "127.0.0.1:0", "--home"])
            .arg(home)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        Ok(Self(server))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If it has ended already, something is wrong, and the measurement reports that.
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

fn first_line(child: &mut Child) -> Outcome<String> {
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    if line.is_empty() { Err("it ended before its first line".into()) } else { Ok(line) }
}

/// The number of runs that the newest engine of the store holds.
fn held_by_the_newest(home: &Path) -> Outcome<u64> {
    let conn = Connection::open_with_flags(home.join("envoi.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    let held = "SELECT count(*) FROM holders WHERE epoch = (SELECT epoch FROM engine)";
    let held: i64 = conn.query_row(held, [], |row| row.get(0))?;
    Ok(u64::try_from(held)?)
}
