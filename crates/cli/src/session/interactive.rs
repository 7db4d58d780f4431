//! The conversation of a command with the person at its terminal: when the run waits, its question is shown.
//!
//! Owns when a question is shown and how the answer is used. While the person thinks, the question may expire
//! or be answered elsewhere. The journal is polled for that, and then the conversation ends. If stdin or
//! stderr is not a terminal, no question is shown.

use crate::{
    process::{
        environment,
        failure::Failure,
        interrupts::{self, Mode},
    },
    session::{caller, edited, outcome::End},
    store::attachment,
    view::{
        form,
        keyboard::{Keyboard, Screen},
        printer::Printer,
        prompt::{self, Reply},
        question,
        questions::{is_open, open, stands},
    },
};
use envoi_api::preview;
use envoi_contract::{code::Code, json::Value, user_envelope::AttachmentRef};
use envoi_engine::{
    load_run,
    protocol::{AnswerRequest, Request, ResumeRequest},
};
use envoi_journal::{Reader, Store};
use envoi_kernel::{
    Run,
    event::{Choice, InterruptRaised},
    ids::{Principal, RunId},
};
use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
};

/// Exit codes of a waiting run: for an answer, or for a decision about an attempt in doubt.
const WAITING: [u8; 2] = [WAITS, 5];
/// The exit code of a run that waits for an answer.
pub(super) const WAITS: u8 = 3;

/// The conversation about one run.
pub(crate) struct Conversation {
    run: RunId,
    possible: bool,
    /// Whether a question was shown.
    has_shown_question: bool,
    by: Principal,
}

impl Conversation {
    /// A conversation with the person at the terminal. It needs a terminal, and no JSON output.
    pub(crate) fn new(run: RunId, json: bool) -> Self {
        let possible = !json && io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { run, possible, has_shown_question: false, by: environment::principal() }
    }

    /// Whether a person is at the terminal.
    pub(crate) fn is_possible(&self) -> bool {
        self.possible
    }

    /// A conversation without a person.
    pub(crate) fn none(run: RunId) -> Self {
        Self { run, possible: false, has_shown_question: false, by: environment::principal() }
    }

    /// Sets the name of the person who answers.
    pub(crate) fn with(self, by: &Principal) -> Self {
        Self { by: by.clone(), ..self }
    }

    /// Returns the next request after one has ended. `None` if no question is open, or the person leaves it
    /// open. If an answer from here was refused, the refusal is printed and the question is shown again.
    pub(crate) fn after(
        &mut self,
        store: &Store,
        end: &End,
        printer: &mut Printer,
    ) -> Result<Option<Request>, Failure> {
        let code = match end {
            End::Rest(standing) if WAITING.contains(&standing.exit_code) => standing.exit_code,
            End::Refused(_) if self.has_shown_question => WAITS,
            _ => return Ok(None),
        };
        if !self.possible {
            if let End::Rest(_) = end {
                let reader = store.reader().map_err(Failure::store)?;
                printer.waits(&open(&load_run(&reader, &self.run)?));
            }
            return Ok(None);
        }
        printer.aside(|| {
            let refused = matches!(end, End::Refused(_));
            match self.next(store, refused)? {
                // No question is left, so only the state of the run matters.
                Next::Followed(request) => Ok(Some(request)),
                Next::Nothing => Ok(None),
                Next::Ask(raised) => {
                    if let End::Refused(failure) = end {
                        failure.say(false);
                    }
                    interrupts::meanwhile(Mode::Asking { code }, || self.ask(store, &raised))?
                }
            }
        })
    }

    /// Returns the next action for this person.
    fn next(&mut self, store: &Store, refused: bool) -> Result<Next, Failure> {
        let reader = store.reader().map_err(Failure::store)?;
        let run = load_run(&reader, &self.run)?;
        let failed = |error: io::Error| Failure::machine("the terminal", error);
        let mut theirs = Vec::new();
        for raised in open(&run) {
            match preview::not_for(&run, raised, &self.by) {
                None => return Ok(Next::Ask(Box::new(raised.clone()))),
                Some(why) => theirs.push((raised, why)),
            }
        }
        for (raised, why) in &theirs {
            let brief = question::brief(&reader, &self.run, &raised.interrupt, &self.by)?;
            write!(Screen, "\n{brief}  not to be answered by you: {why}\n").map_err(failed)?;
        }
        // Another answer was first.
        if theirs.is_empty() && refused {
            self.has_shown_question = false;
            return Ok(Next::Followed(self.follow(&reader)?));
        }
        Ok(Next::Nothing)
    }

    /// A request that follows the run.
    fn follow(&self, reader: &Reader) -> Result<Request, Failure> {
        let caller = caller::caller(reader, &self.run)?;
        let request = ResumeRequest::follow(self.run.clone(), self.by.clone(), caller);
        Ok(Request::Resume(Box::new(request)))
    }

    fn ask(&mut self, store: &Store, raised: &InterruptRaised) -> Result<Option<Request>, Failure> {
        let reader = store.reader().map_err(Failure::store)?;
        let run = load_run(&reader, &self.run)?;
        let by = self.by.clone();
        let mut output = Screen;
        let mut input = Keyboard::new(&reader, &self.run, &raised.interrupt);
        let folder = edited::folder(&store.layout().run(&self.run), raised).filter(|folder| folder.is_dir());
        self.has_shown_question = true;
        let failed = |error: io::Error| Failure::machine("the terminal", error);
        loop {
            let brief = question::brief(&reader, &self.run, &raised.interrupt, &self.by)?;
            write!(output, "\n{brief}").map_err(failed)?;
            let mut outcome =
                put(&run, raised, (&by, folder.is_some()), &mut input, &mut output).map_err(failed)?;
            if outcome == Reply::Edit {
                let edited = match self.edit(store, raised, folder.as_deref()) {
                    Ok(edited) => edited,
                    Err(failure) => {
                        failure.say(false);
                        continue;
                    }
                };
                input.begin();
                outcome = prompt::finish(&run, raised, Choice::Edit, by.clone(), &mut input, &mut output)
                    .map_err(failed)?;
                if let Reply::Answer(answer) = &mut outcome {
                    (answer.data, answer.attachments) = (Some(edited.0), edited.1);
                }
            }
            match outcome {
                // The files were edited above.
                Reply::Edit => {}
                Reply::Show => {
                    let all = question::overview(&reader, &self.run, &raised.interrupt, &self.by)?;
                    writeln!(output, "\n{all}").map_err(failed)?;
                }
                Reply::Answer(answer) => {
                    let caller = caller::caller(&reader, &self.run)?;
                    let request =
                        AnswerRequest { run: self.run.clone(), answer: *answer, follow: true, caller };
                    return Ok(Some(Request::Answer(Box::new(request))));
                }
                Reply::Later if is_open(&reader, &self.run, &raised.interrupt) => {
                    writeln!(output).map_err(failed)?;
                    return Ok(None);
                }
                // Decided elsewhere, or too late: follow the run to show the result.
                Reply::Later => {
                    writeln!(output, "\n{}", closed(&reader, &self.run, raised)?).map_err(failed)?;
                    return Ok(Some(self.follow(&reader)?));
                }
            }
        }
    }
}

impl Conversation {
    /// If the person has edited the files in conflict: returns the data of the answer and its attachments.
    fn edit(
        &self,
        store: &Store,
        raised: &InterruptRaised,
        folder: Option<&Path>,
    ) -> Result<(Value, Vec<AttachmentRef>), Failure> {
        interrupts::meanwhile(Mode::Editing { code: WAITS }, || edited::in_editor(folder, raised))??;
        let mut attach = |path: &Path| attachment::attach(store, &self.by, path);
        edited::data(&store.layout().run(&self.run), raised, &mut attach)
    }
}

/// The next action for the questions of a run.
enum Next {
    /// Show this question.
    Ask(Box<InterruptRaised>),
    /// No question is open: follow the run.
    Followed(Request),
    /// No question is for this person.
    Nothing,
}

fn put(
    run: &Run,
    raised: &InterruptRaised,
    (by, can_edit): (&Principal, bool),
    input: &mut Keyboard<'_>,
    output: &mut Screen,
) -> io::Result<Reply> {
    let mut choices = preview::choices(run, raised, by);
    // Files can be edited only where the store is.
    choices.retain(|(choice, _)| *choice != Choice::Edit || can_edit);
    prompt::put(&choices, output)?;
    input.begin();
    prompt::ask(run, raised, &choices, by.clone(), input, output)
}

/// Describes what happened to a closed question.
fn closed(reader: &Reader, run: &RunId, raised: &InterruptRaised) -> Result<String, Failure> {
    let row = reader.question(run, &raised.interrupt).map_err(Failure::store)?;
    Ok(format!("the question is closed: {}", stands(&row, envoi_engine::now())))
}

/// Asks for the form of a question when the rest of the answer is known. Shows what is needed to fill it in.
pub(crate) fn form(
    reader: &Reader,
    run: &RunId,
    raised: &InterruptRaised,
    schema: &Value,
    by: &Principal,
) -> Result<Value, Failure> {
    let failed = |error: io::Error| Failure::machine("the terminal", error);
    let form_given = interrupts::meanwhile(Mode::Asking { code: WAITS }, || {
        let mut input = Keyboard::new(reader, run, &raised.interrupt);
        write!(Screen, "{}", question::brief(reader, run, &raised.interrupt, by)?).map_err(failed)?;
        input.begin();
        form::ask(schema, &mut input, &mut Screen).map_err(failed)
    })?;
    if let Some(form) = form_given? {
        return Ok(form);
    }
    if is_open(reader, run, &raised.interrupt) {
        let message = "the form was not filled in; nothing was answered";
        return Err(Failure::new(Code::AnswerInvalid, message));
    }
    Err(Failure::new(Code::QuestionClosed, closed(reader, run, raised)?))
}
