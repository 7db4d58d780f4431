//! A person answers: what needs more than the run itself is checked, the answer is taken, and the run goes on.
//!
//! Owns two checks. A response has to fit the schema of its question. And what was shown has to be what is there: where an
//! artifact lies otherwise in the workspace than it was handed over, whoever says yes has not seen what would be used; the
//! question is put again, about what is there now.

use super::{Desk, caller_of, check_secrets, read_failed, tell};
use crate::{
    message::{Ask, Purpose},
    protocol::{AnswerRequest, Refused, Response, Standing},
};
use envoi_journal::{InboxFilter, InterruptState, files};
use envoi_kernel::{
    Run,
    event::{About, Choice, FoundFile, InterruptRaised},
    ids::{InterruptId, RunId},
    input::Answer,
};
use std::{
    path::Path,
    sync::mpsc::{self, Sender},
};

impl Desk {
    pub(super) fn answer(&self, request: AnswerRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let AnswerRequest { run: id, answer, follow, caller } = request;
        let run = self.load(&id)?;
        let Some(raised) = open(&run, &answer.interrupt) else {
            return Err(self.closed(&id, &answer.interrupt));
        };
        check_form(&run, raised, &answer)?;
        check_secrets(run.flow(), &caller_of(run.flow(), &caller))?;
        if let Some(started) = run.started().filter(|started| !started.shared) {
            self.check_free(&started.workspace, &id, |other| other)?;
        }
        let found = if says_yes(&answer, raised) { changed(&run, raised) } else { Vec::new() };
        if !found.is_empty() {
            return Err(self.put_again(&id, raised, found, &caller));
        }
        // What follows from the answer is heard from its own commit on. What follows from a refusal, such as an expiry that is
        // applied now, is no answer to this request.
        let (follower, heard) = mpsc::channel();
        if follow {
            self.followers.add(&id, follower);
        }
        let ask = Ask::Answer(Box::new(answer.clone()));
        let wanted = |_: &Run| Ok(vec![ask.clone()]);
        let purpose = if follow { Purpose::GoOn } else { Purpose::Decide };
        self.adopt(&id, &caller, purpose, wanted).map_err(|refused| {
            if refused.code == "QUESTION_CLOSED" { self.closed(&id, &answer.interrupt) } else { refused }
        })?;
        tell(client, Response::Accepted { run: id.clone() });
        match follow {
            true => heard.into_iter().for_each(|response| tell(client, response)),
            false => tell(client, Response::Rest { standing: Standing::answered() }),
        }
        Ok(())
    }

    /// The same question anew; says so, and how the new one is called.
    fn put_again(
        &self,
        id: &RunId,
        raised: &InterruptRaised,
        found: Vec<FoundFile>,
        caller: &crate::protocol::CallerWire,
    ) -> Refused {
        let paths: Vec<String> = found.iter().map(|file| format!("`{}`", file.path)).collect();
        let ask = Ask::Changed { interrupt: raised.interrupt.clone(), found };
        if let Err(refused) = self.adopt(id, caller, Purpose::Decide, |_| Ok(vec![ask.clone()])) {
            return refused;
        }
        let message = format!(
            "{} changed in the workspace after it was handed over, so what was shown is not what would be used",
            paths.join(", ")
        );
        let refused = Refused::new("SUBJECT_CHANGED", message, None);
        let filter = InboxFilter { run: Some(id.clone()), closed: false };
        let anew = self.store.reader().and_then(|reader| reader.inbox(&filter)).unwrap_or_default();
        let anew = anew.into_iter().find(|row| row.visit == raised.visit);
        let hint = anew.map(|row| {
            format!("the question is put again as {0}: `envoi show {0}`, then answer that", row.interrupt)
        });
        Refused { hint, ..refused }
    }

    /// What has become of a question that does not wait any more.
    fn closed(&self, run: &RunId, interrupt: &InterruptId) -> Refused {
        let row = match self.store.reader().and_then(|reader| reader.question(run, interrupt)) {
            Ok(row) => row,
            Err(error) => return read_failed(&error),
        };
        let at = row.closed.as_ref().map_or_else(String::new, |closed| format!(" at {}", closed.at));
        let (answer, by) = row.closed.map(|closed| (closed.answer, closed.by)).unwrap_or_default();
        let what = match row.state {
            InterruptState::Open => "is about to be closed".to_owned(),
            InterruptState::Answered => format!(
                "was answered{at}: {} by {}",
                answer.unwrap_or_default(),
                by.unwrap_or_else(|| "somebody".to_owned())
            ),
            InterruptState::Expired => format!("expired{at}"),
            InterruptState::Changed => format!("was put again{at}, because what it showed had changed"),
            InterruptState::Cancelled => format!("is void since the run was cancelled{at}"),
        };
        let message = format!("question `{interrupt}` {what}");
        Refused::new("QUESTION_CLOSED", message, Some("`envoi inbox` lists the questions that are open"))
    }
}

fn open<'r>(run: &'r Run, interrupt: &InterruptId) -> Option<&'r InterruptRaised> {
    run.interrupts().find(|raised| raised.interrupt == *interrupt)
}

/// The form fits its schema; a run only knows whether there is one.
fn check_form(run: &Run, raised: &InterruptRaised, answer: &Answer) -> Result<(), Refused> {
    let asks = run.flow().step(&raised.visit.step).and_then(|step| step.asks());
    let schema = asks.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.as_ref());
    let (Some(schema), Some(data)) = (schema, &answer.data) else { return Ok(()) };
    envoi_flow::answers::check(schema, data).map_err(|errors| {
        let hint = "see the form with `envoi show`; give it with --data or --field NAME=VALUE";
        Refused::bad_input("ANSWER_INVALID", errors.to_string(), Some(hint))
    })
}

/// Whether an answer makes the run use what was shown.
fn says_yes(answer: &Answer, raised: &InterruptRaised) -> bool {
    let yes = matches!(answer.choice, Choice::Approve | Choice::Respond | Choice::Proceed);
    yes && matches!(raised.about, About::Ask | About::Review | About::Blocked | About::Exhausted)
}

/// Artifacts that lie otherwise in the workspace than they were shown.
fn changed(run: &Run, raised: &InterruptRaised) -> Vec<FoundFile> {
    let Some(started) = run.started() else { return Vec::new() };
    let workspace = Path::new(&started.workspace);
    let mut shown = run.files().clone();
    shown.extend(raised.found.iter().map(|file| (file.path.clone(), file.digest)));
    let now =
        shown.into_iter().map(|(path, digest)| (files::digest_of(&workspace.join(&path)), path, digest));
    let differing = now.filter(|(now, _, shown)| now != shown);
    let mut all: Vec<FoundFile> = differing.map(|(digest, path, _)| FoundFile { path, digest }).collect();
    if !all.is_empty() {
        // What had been found before is still to be compared with, the next time.
        let again = |file: &&FoundFile| !all.iter().any(|found| found.path == file.path);
        let before: Vec<FoundFile> = raised.found.iter().filter(again).cloned().collect();
        all.extend(before);
    }
    all
}
