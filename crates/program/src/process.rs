//! Starts the program as a process, reads its output line by line, and waits for it.

mod ending;
mod output;
mod stderr_tail;

use self::{ending::Ending, stderr_tail::Tail};
use crate::{
    Mask, ORDER_VARIABLE, Order, SECRET_VARIABLES, files,
    hook::{self, Policy},
    prompt,
};
use envoi_kernel::event::CallAnswer;
use envoi_preset::{
    Asks, Class, Exit, Failure, Invocation, Masking, May, NO_BACKGROUND_WORK, Outcome, Preset, Reading,
    Resume,
};
use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

/// The file with the prompt, in the attempt's folder.
const PROMPT_FILE: &str = "prompt.txt";

/// How long to wait for the end of the output after the program has ended, while nothing arrives. A child process
/// that it left running may hold the pipe open.
const LEFT_OPEN: Duration = Duration::from_secs(2);

/// One running attempt.
pub(crate) struct Work<'o> {
    pub(crate) order: &'o Order,
    pub(crate) preset: Preset,
    pub(crate) mask: &'o dyn Mask,
}

/// The result of an attempt.
pub(crate) enum Finished {
    /// The program ran.
    Ran {
        /// Its result.
        outcome: Box<Outcome>,
        /// True if the session to resume did not exist, so that a new one began.
        began_anew: bool,
    },
    /// The program could not be started.
    NotStarted(io::Error),
}

impl Work<'_> {
    /// Runs the program to its end. If its session no longer exists, the same attempt begins a new session.
    pub(crate) fn to_the_end(&self) -> io::Result<Finished> {
        let order = self.order;
        let answer = order.answer.as_deref().filter(|_| order.resumes);
        let feedback = order.feedback.as_deref().map(files::text).transpose()?;
        let task = match order.schema.as_ref().filter(|_| !self.preset.takes_schema()) {
            Some(schema) => &prompt::with_schema(&order.prompt, &schema.compact()),
            None => &order.prompt,
        };
        let prompt =
            prompt::compose(task, prompt::Before::of(order), order.failure.as_deref(), feedback.as_deref());
        // The decided call is the only input with which the session goes on.
        put_prompt(order, if answer.is_some() { "" } else { &prompt })?;
        if let Some(schema) = &order.schema {
            envoi_durable::renew(&order.folder.join("schema.json"), schema.compact().as_bytes())?;
        }
        let id = order.session.as_deref();
        let session = match id {
            Some(id) if order.resumes => Resume::From(id),
            id => self.beginning(id),
        };
        let mut first = self.run(session, answer)?;
        if let (Finished::Ran { outcome, .. }, Resume::From(id)) = (&first, session)
            && outcome.nothing_waits
        {
            self.show(&[
                "the call that was decided is not in the session any more: the agent goes on, and asks again"
                    .to_owned(),
            ]);
            let before = prompt::Before::CutOff;
            let feedback = feedback.as_deref();
            let prompt = prompt::compose(task, before, order.failure.as_deref(), feedback);
            put_prompt(order, &prompt)?;
            first = self.run(Resume::From(id), None)?;
        }
        let Finished::Ran { outcome, .. } = &first else { return Ok(first) };
        let mut lost = match session {
            Resume::From(id) | Resume::Fork { of: id, .. } if outcome.lost => id,
            _ => return Ok(first),
        };
        put_prompt(order, &prompt)?;
        let new = id.filter(|_| self.preset.frees_lost_id());
        if let (Resume::From(_), Resume::Fork { of, .. }) = (session, self.beginning(new)) {
            // The earlier attempt was interrupted before the fork began, so the fork is made again.
            let again = self.run(self.beginning(new), None)?;
            match &again {
                Finished::Ran { outcome, .. } if outcome.lost => lost = of,
                _ => return Ok(again),
            }
        }
        self.show(&[format!("session {lost} is not there any more: a new one begins")]);
        let again = self.run(Resume::New(new), None)?;
        Ok(match again {
            Finished::Ran { outcome, .. } => Finished::Ran { outcome, began_anew: true },
            not_started => not_started,
        })
    }

    /// Begins the session with this id.
    fn beginning<'a>(&'a self, id: Option<&'a str>) -> Resume<'a> {
        match (id, &self.order.fork_of) {
            (Some(id), Some(fork)) => Resume::Fork { id, of: &fork.id, last: &fork.last },
            (id, _) => Resume::New(id),
        }
    }

    fn run(&self, session: Resume<'_>, answer: Option<&CallAnswer>) -> io::Result<Finished> {
        let hook = match self.order.ask.is_empty() && answer.is_none() {
            true => None,
            false => Some(Policy::write(self.order, answer)?),
        };
        let mut child = match self.command(session, hook.as_deref())?.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Finished::NotStarted(error)),
        };
        let ending = Ending::of(&child)?;
        let stderr = child.stderr.take().map(Tail::of);
        let mask = |text: &str| self.mask.text(text);
        let mut reading = Reading::of(self.preset, Masking::with(&mask));
        let read = self.read(&mut child, &mut reading);
        if let Ok(Some(_)) | Err(_) = &read {
            ending.end(&mut child)?;
        }
        let status = child.wait()?;
        ending.is_over.store(true, Ordering::SeqCst);
        let ended = read?;
        let stderr = stderr.map(Tail::text).unwrap_or_default();
        let (put_off, refused) = match hook {
            Some(_) => hook::decided(&self.order.folder)?,
            None => Default::default(),
        };
        refused.iter().for_each(|call| reading.excuse(call));
        reading.allow_denials(self.order.denials);
        let mut outcome = reading.finish(exit(status), &stderr, self.order.schema.is_some());
        settle_put_off_call(&mut outcome, put_off.as_deref(), exit(status), self.order.denials);
        if let Some(failure) = ended {
            outcome.failure = Some(failure);
        }
        Ok(Finished::Ran { outcome: Box::new(outcome), began_anew: false })
    }

    fn command(&self, session: Resume<'_>, hook: Option<&str>) -> io::Result<Command> {
        let order = self.order;
        let schema = order.schema.as_ref().map(|schema| schema.compact());
        let schema_file = order.folder.join("schema.json").to_string_lossy().into_owned();
        let invocation = Invocation {
            session,
            may: May::of(&order.may).ok_or_else(|| {
                io::Error::other(format!(
                    "the order says `may: {}`, which this program does not know",
                    order.may
                ))
            })?,
            model: order.model.as_deref(),
            turns: order.turns,
            max_cost: order.max_cost.as_deref(),
            schema: schema.as_deref().map(|schema| (schema, schema_file.as_str())),
            bridge: order.bridge.as_deref(),
            asks: hook.map(|hook| Asks { hook, own_questions: hook::has_own_questions(order) }),
            args: &order.args,
        };
        let mut command = Command::new(&order.program);
        if hook.is_some() {
            // Background work would go on after a call was deferred, and the deferred call would be lost.
            command.env(NO_BACKGROUND_WORK, "1");
        }
        command.args(invocation.arguments(self.preset));
        // This process writes the report and the text itself.
        command
            .env_remove(ORDER_VARIABLE)
            .env_remove("ENVOI_REPORT")
            .env_remove("ENVOI_OUTPUT")
            .env_remove("ENVOI_DATA");
        for number in 0..order.secrets {
            command.env_remove(format!("{SECRET_VARIABLES}{number}"));
        }
        // An open pipe would make some programs wait for ever; a file has an end.
        command.stdin(envoi_durable::open_regular(&order.folder.join(PROMPT_FILE))?);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// Writes the file that the program gets as standard input.
fn put_prompt(order: &Order, prompt: &str) -> io::Result<()> {
    envoi_durable::renew(&order.folder.join(PROMPT_FILE), prompt.as_bytes())
}

/// Corrects the outcome for a deferred call. A deferred call is not a failure. A success that ignored a deferred call
/// is not a success. Other calls that were refused count as in a success.
fn settle_put_off_call(outcome: &mut Outcome, put_off: Option<&str>, exit: Exit, denials: u32) {
    let Some(digest) = put_off else { return };
    let is_last = outcome.deferred.as_ref().is_some_and(|call| call.digest().to_string() == digest);
    match (is_last, exit) {
        (true, Exit::Code(0)) => outcome.failure = outcome.refused_too_often(denials),
        _ => {
            outcome.deferred = None;
            let message = "a call that a person is to decide was passed over by the program";
            outcome.failure.get_or_insert_with(|| Failure::new(Class::Denied, message));
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests;
