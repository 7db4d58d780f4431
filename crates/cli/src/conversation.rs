//! The conversation of a command with the person at its terminal: whenever the run waits, its question is asked in place.
//!
//! Owns when a person is asked and what is done with what they say. While they think, the question may be answered from
//! elsewhere, or lapse: that is looked for all the time, and ends the asking. Nobody is asked where stdin or stderr is no
//! terminal.

use crate::{
    command::{question, resume},
    engine_room::End,
    failure::Failure,
    home,
    interrupts::{self, Mode},
    narrate::Narrator,
    prompt::{self, Said},
};
use envoi_engine::{
    load_run,
    protocol::{AnswerRequest, Request, ResumeRequest},
};
use envoi_journal::{InterruptState, Reader, Store};
use envoi_kernel::{
    event::InterruptRaised,
    ids::{InterruptId, RunId},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, BufReader, IsTerminal as _, Read, Write as _},
    time::Duration,
};

/// How often the journal is looked at while a person thinks.
const EVERY: Duration = Duration::from_millis(250);

/// Exit codes of a run that waits: for an answer, or for a word about an attempt in doubt.
const WAITING: [u8; 2] = [WAITS, 5];
const WAITS: u8 = 3;

/// See the module.
pub(crate) struct Conversation {
    run: RunId,
    possible: bool,
    /// Whether anything has been asked yet.
    asked: bool,
}

impl Conversation {
    /// With whoever is at the terminal, if there is one and data does not go there as JSON.
    pub(crate) fn new(run: RunId, json: bool) -> Self {
        let possible = !json && io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { run, possible, asked: false }
    }

    /// Whether there is somebody.
    pub(crate) fn is_possible(&self) -> bool {
        self.possible
    }

    /// With nobody.
    pub(crate) fn none(run: RunId) -> Self {
        Self { run, possible: false, asked: false }
    }

    /// What is to be asked of the engine next, after a request has come to its end; `None` when nobody waits for a person,
    /// or the person leaves it so. A refusal of what was said here is told, and the question asked again.
    pub(crate) fn after(
        &mut self,
        store: &Store,
        end: &End,
        narrator: &mut Narrator,
    ) -> Result<Option<Request>, Failure> {
        let code = match end {
            End::Rest(standing) if WAITING.contains(&standing.exit_code) => standing.exit_code,
            End::Refused(_) if self.asked => WAITS,
            _ => return Ok(None),
        };
        if !self.possible {
            return Ok(None);
        }
        narrator.aside(|| {
            if let End::Refused(failure) = end {
                failure.say(false);
            }
            self.ask(store, code)
        })
    }

    fn ask(&mut self, store: &Store, code: u8) -> Result<Option<Request>, Failure> {
        let reader = store.reader().map_err(Failure::store)?;
        let run = load_run(&reader, &self.run)?;
        let Some(raised) = run.interrupts().next().cloned() else { return Ok(None) };
        interrupts::mean(Mode::Asking { code })?;
        let mut input =
            BufReader::new(Attentive { reader: &reader, run: &self.run, asked: &raised.interrupt });
        self.asked = true;
        let told = |error: io::Error| Failure::machine("the terminal", error);
        loop {
            let mut output = io::stderr().lock();
            writeln!(output).map_err(told)?;
            output.write_all(brief(&reader, &self.run, &raised)?.as_bytes()).map_err(told)?;
            let said =
                prompt::ask(&run, &raised, home::principal(), &mut input, &mut output).map_err(told)?;
            let caller = resume::caller(&reader, &self.run)?;
            match said {
                Said::Show => {
                    let all = question::overview(&reader, &self.run, &raised.interrupt)?;
                    writeln!(output, "\n{all}").map_err(told)?;
                }
                Said::Answer(answer) => {
                    let request =
                        AnswerRequest { run: self.run.clone(), answer: *answer, follow: true, caller };
                    return Ok(Some(Request::Answer(Box::new(request))));
                }
                Said::Later if is_open(&reader, &self.run, &raised.interrupt) => {
                    writeln!(output).map_err(told)?;
                    return Ok(None);
                }
                // Decided elsewhere, or too late: what follows from that is to be seen.
                Said::Later => {
                    let row = reader.question(&self.run, &raised.interrupt).map_err(Failure::store)?;
                    writeln!(
                        output,
                        "\nthe question is closed: {}",
                        super::command::inbox::stands(&row, envoi_engine::now())
                    )
                    .map_err(told)?;
                    let request = ResumeRequest {
                        run: self.run.clone(),
                        choice: None,
                        reopen: false,
                        raise: None,
                        request: None,
                        why: None,
                        by: home::principal(),
                        caller,
                    };
                    return Ok(Some(Request::Resume(Box::new(request))));
                }
            }
        }
    }
}

/// The question with what is most needed to answer it.
fn brief(reader: &Reader, run: &RunId, raised: &InterruptRaised) -> Result<String, Failure> {
    question::brief(reader, run, &raised.interrupt)
}

fn is_open(reader: &Reader, run: &RunId, interrupt: &InterruptId) -> bool {
    reader.question(run, interrupt).is_ok_and(|row| {
        row.state == InterruptState::Open && !super::command::inbox::has_lapsed(&row, envoi_engine::now())
    })
}

/// Lines of the terminal; ends when the question is closed meanwhile.
struct Attentive<'a> {
    reader: &'a Reader,
    run: &'a RunId,
    asked: &'a InterruptId,
}

impl Read for Attentive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let every = Timespec { tv_sec: 0, tv_nsec: i64::from(EVERY.subsec_nanos()) };
        loop {
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut fds, Some(&every)) {
                Ok(0) | Err(rustix::io::Errno::INTR) if is_open(self.reader, self.run, self.asked) => {}
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
                Ok(_) => return rustix::io::read(&stdin, buffer).map_err(io::Error::from),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
