//! Makes a request and follows its run until it is at rest. If a person is at the terminal, the questions of
//! the run are shown there.
//!
//! A run is at rest if the kernel says so for the received events and the server has no more events. Between
//! the events of one commit, a run can look as if it waited.

use super::{
    Remote,
    call::good,
    problem::not_understood,
    request,
    tail::{RunUpdate, Tail},
};
use crate::{
    process::{
        failure::{Failure, MACHINE},
        interrupts::{self, Mode},
    },
    session::{
        interactive::Conversation,
        outcome::End,
        sent_request::{identified, is_enough},
    },
    view::printer::Printer,
};
use envoi_engine::protocol::{Request, Standing};
use envoi_journal::{Reader, RunStatus};
use envoi_kernel::{Event, Record, Run, ids::RunId};
use std::{sync::Arc, time::Duration};

/// After this long without an event, the row of the run is read: it may have been set aside.
const QUIET: Duration = Duration::from_secs(5);

/// A run that this command follows.
pub(crate) struct Attended<'r> {
    remote: &'r Remote,
    id: RunId,
    reader: Reader,
    run: Run,
    tail: Option<Tail>,
}

impl<'r> Attended<'r> {
    /// Follows a run, with its events so far.
    pub(crate) fn new(remote: &'r Remote, id: &RunId) -> Result<Self, Failure> {
        let (reader, run) = remote.loaded(id)?;
        let mut attended = Self { remote, id: id.clone(), reader, run, tail: None };
        attended.listen()?;
        Ok(attended)
    }

    /// The events so far.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Failure> {
        self.reader.records(&self.id, 0, None).map_err(Failure::store)
    }

    /// Makes the request and the requests that follow from a person's answers, prints the progress, and
    /// returns the exit code.
    pub(crate) fn ask(
        &mut self,
        request: Request,
        printer: &mut Printer,
        conversation: &mut Conversation,
    ) -> Result<u8, Failure> {
        let mut request = Some(request);
        loop {
            let end = match request.take().map(identified) {
                Some(question) => self.done(&question, printer)?,
                None => self.rest(printer)?,
            };
            if conversation.is_possible() {
                self.remote.pull(&self.id)?;
                self.remote.bring_files_of_questions(&self.reader, &self.id)?;
            }
            let store = self.remote.mirror()?.store();
            match conversation.after(store, &end, printer)? {
                Some(next) => request = Some(next),
                None => return end.report(printer),
            }
        }
    }

    /// As [`Attended::ask`], for a run whose request was already made.
    pub(crate) fn follow(
        &mut self,
        printer: &mut Printer,
        conversation: &mut Conversation,
    ) -> Result<u8, Failure> {
        let end = self.rest(printer)?;
        if conversation.is_possible() {
            self.remote.bring_files_of_questions(&self.reader, &self.id)?;
        }
        let next = conversation.after(self.remote.mirror()?.store(), &end, printer)?;
        match next {
            Some(next) => self.ask(next, printer, conversation),
            None => end.report(printer),
        }
    }

    fn done(&mut self, request: &Request, printer: &mut Printer) -> Result<End, Failure> {
        self.is_left_going()?;
        match send(self.remote, request) {
            Ok(()) if is_enough(request) => {
                printer.accepted();
                Ok(End::Rest(Standing::answered()))
            }
            Ok(()) => {
                printer.accepted();
                self.rest(printer)
            }
            Err(failure) if failure.exit_code == MACHINE => Err(failure),
            Err(failure) => Ok(End::Refused(failure)),
        }
    }

    /// From now on, an interrupted command prints that the run continues.
    pub(crate) fn is_left_going(&self) -> Result<(), Failure> {
        interrupts::mean(self.mode())
    }

    fn mode(&self) -> Mode {
        Mode::Afar { server: self.remote.server.url().to_owned(), run: self.id.clone() }
    }

    fn listen(&mut self) -> Result<(), Failure> {
        self.tail = Some(Tail::of(self.remote, &self.id, self.run.next_seq())?);
        Ok(())
    }

    /// Receives events until the run is at rest.
    fn rest(&mut self, printer: &mut Printer) -> Result<End, Failure> {
        self.is_left_going()?;
        loop {
            while let Some(update) = self.tail.as_ref().and_then(Tail::ready) {
                self.on_update(update, printer)?;
            }
            if let Some(standing) = self.standing()? {
                return Ok(End::Rest(standing));
            }
            if self.tail.is_none() {
                self.goes_on()?;
                self.listen()?;
            }
            let Some(tail) = &self.tail else { continue };
            match tail.next_within(QUIET) {
                Some(update) => self.on_update(update, printer)?,
                // Setting a run aside writes no event, so the row is read.
                None => {
                    if let Some(why) = self.remote.row(&self.id)?.aside {
                        return Ok(End::Rest(Standing::set_aside(&why)));
                    }
                }
            }
        }
    }

    /// The run had ended, and was reopened.
    fn goes_on(&self) -> Result<(), Failure> {
        match self.remote.row(&self.id)?.next_seq > self.run.next_seq() {
            true => Ok(()),
            false => Err(not_understood("the run is over on the server, but its events do not show that")),
        }
    }

    fn on_update(&mut self, update: RunUpdate, printer: &mut Printer) -> Result<(), Failure> {
        match update {
            RunUpdate::Record(record) => {
                if record.seq >= self.run.next_seq() {
                    if let Event::FlowCorrected(_) = &record.event {
                        self.learn_versions()?;
                    }
                    self.run.apply(&record).map_err(Failure::store)?;
                    printer.record(&record);
                }
                Ok(())
            }
            RunUpdate::Over => {
                self.tail = None;
                Ok(())
            }
            RunUpdate::Lost(failure) => Err(failure),
        }
    }

    /// Loads the corrected flow, which was copied with the event that names it.
    fn learn_versions(&mut self) -> Result<(), Failure> {
        let loaded = self.reader.load(&self.id).map_err(Failure::store)?;
        let versions = envoi_engine::flow_versions(&loaded.pinned).map_err(not_understood)?;
        versions.all().for_each(|flow| self.run.learn(Arc::clone(flow)));
        Ok(())
    }

    /// Returns the state of the run if it is at rest and has no more events.
    fn standing(&self) -> Result<Option<Standing>, Failure> {
        let Some(standing) = Standing::of(&self.run.status()) else { return Ok(None) };
        let row = self.remote.row(&self.id)?;
        if row.next_seq != self.run.next_seq() {
            return Ok(None);
        }
        // By the server's clock, a question that has expired is closed in a moment.
        let waits = row.status() == RunStatus::Waiting && !self.run.wants().expiries.is_empty();
        let lapsed =
            waits && self.remote.questions(Some(&self.id), false)?.0.iter().any(|question| question.lapsed);
        Ok(Some(standing).filter(|_| !lapsed))
    }
}

/// Makes a request, and returns once it is accepted.
pub(crate) fn send(remote: &Remote, request: &Request) -> Result<(), Failure> {
    let Some(post) = request::post(request)? else { return Ok(()) };
    let headers = [("idempotency-key", post.key.as_str()), ("content-type", "application/json")];
    good(remote.server.post(&post.path, &headers, &post.body)?).map(drop)
}
