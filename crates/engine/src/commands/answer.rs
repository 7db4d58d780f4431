//! A person answers: the answer is checked against more than the run itself, it is taken, and the run goes on.
//!
//! Owns two checks. A form is completed with the schema's defaults, and has to fit the schema of its question: here, so that every
//! way in is treated alike. And the files that were shown have to be the files that are there: if an artifact in the workspace
//! differs from the one that was handed over, the yes is not about the file that would be used; the question is put again, about
//! the file of now. Files that a live attempt may be changing are left out: they differ all the time, and are handed over when the
//! attempt is over.

use super::{
    adopt::Adoption,
    handler::{Commands, check_secrets, send},
    restore::note,
};
use crate::model::{
    message::Purpose,
    protocol::{AnswerRequest, CallerWire, Refused, Response, ResumeRequest, Standing},
};
use crate::{attempts::secrets::caller_of, query::load::check_not_aside};
use envoi_contract::code::Code;
use envoi_contract::digest::Digest;
use envoi_journal::{InboxFilter, InboxRow, InterruptState, ReadError, Reader, Store, files};
use envoi_kernel::{
    Input, Run,
    event::{About, Choice, FoundFile, InterruptRaised},
    files::MOST_LISTED,
    ids::{InterruptId, RunId, VisitId},
    input::Answer,
};
use envoi_step::is_artifact;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::mpsc::{self, Sender},
};

/// The most changed artifacts that a refusal names.
const MOST_NAMED: usize = 20;

/// Larger files are not kept only to be shown.
const MAX_SHOWN_BYTES: u64 = 16 * 1024 * 1024;

impl Commands {
    pub(super) fn answer(&self, request: AnswerRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let AnswerRequest { run: id, answer, follow, caller } = request;
        if self.was_done(&id, answer.request.as_deref())? {
            return self.follow_up(id, follow, answer, caller, client);
        }
        let reader = self.store.reader()?;
        check_not_aside(&reader, &id).map_err(not_recorded)?;
        let (mut run, mut tail_bytes) = self.load_with_weight(&reader, &id)?;
        if follow && run.restoring().is_some() {
            let _alone = self.restores();
            let ended = self.end_open_restore(&id, &[], &caller, Purpose::Decide)?;
            note(client, ended.map(|ended| ended.remarks).unwrap_or_default());
            (run, tail_bytes) = self.load_with_weight(&reader, &id)?;
        }
        let Some(raised) = open(&run, &answer.interrupt) else {
            return Err(closed(&self.store, &id, &answer.interrupt));
        };
        let answer = with_form(&run, raised, answer)?;
        if follow {
            let hint = "`--no-resume` records the answer, and the run goes on with it by itself";
            self.check_waits_for_other(&id, &caller, hint)?;
            self.check_start(&run, &caller)?;
        }
        if says_yes(answer.choice, raised)
            && let Some(refused) = self.put_again_if_changed(&run, raised, &caller)
        {
            return Err(refused);
        }
        // The client follows from the commit of the answer on. Events that follow from a refusal, such as an expiry
        // that is applied now, are no answer to this request.
        let (follower, responses) = mpsc::channel();
        if follow {
            self.followers.add(&id, follower);
        }
        let input = Input::Answer(Box::new(answer.clone()));
        let wanted = |_: &Run| Ok(vec![input.clone()]);
        let purpose = if follow { Purpose::GoOn } else { Purpose::Decide };
        let adoption = Adoption { loaded: Some((run, tail_bytes)), ..Adoption::from(purpose) };
        match self.adopt(&id, &caller, adoption, wanted) {
            Ok(_) => {}
            // The same request was under way, and is done by now.
            Err(_) if self.was_done(&id, answer.request.as_deref())? => {
                return self.follow_up(id, follow, answer, caller, client);
            }
            Err(refused) if refused.code == Code::QuestionClosed => {
                return Err(closed(&self.store, &id, &answer.interrupt));
            }
            Err(refused) => return Err(not_recorded(refused)),
        }
        send(client, Response::Accepted { run: id.clone() });
        match follow {
            // A client that has gone away leaves the run to itself.
            true => {
                responses.into_iter().try_for_each(|response| client.send(response)).ok();
            }
            false => send(client, Response::Rest { standing: Standing::answered() }),
        }
        Ok(())
    }

    /// Whether the run may go on in its workspace with what there is; a recorded answer does not need that.
    fn check_start(&self, run: &Run, caller: &CallerWire) -> Result<(), Refused> {
        let only_record = |refused: Refused| {
            let hint =
                refused.hint.as_ref().map(|hint| format!("{hint}; --no-resume only records the answer"));
            refused.with_hint(hint)
        };
        check_secrets(run.flow(), &caller_of(run.flow(), caller)).map_err(only_record)?;
        self.check_entry(run, caller).map_err(only_record)
    }

    /// Whether a request has been done already, by an engine that ended before it could respond.
    pub(super) fn was_done(&self, run: &RunId, request: Option<&str>) -> Result<bool, Refused> {
        let Some(request) = request else { return Ok(false) };
        let reader = self.store.reader()?;
        reader.has_request(run, request).map_err(|error| Refused::from(&error))
    }

    /// The answer is in the journal: the rest is to go on, if that is wanted.
    fn follow_up(
        &self,
        run: RunId,
        follow: bool,
        answer: Answer,
        caller: CallerWire,
        client: &Sender<Response>,
    ) -> Result<(), Refused> {
        if follow {
            let request = ResumeRequest::follow(run, answer.by, caller);
            return self.resume(request, client);
        }
        send(client, Response::Accepted { run });
        send(client, Response::Rest { standing: Standing::answered() });
        Ok(())
    }

    /// Puts a question again whose artifacts lie otherwise in the workspace than they were shown, and refuses the yes.
    pub(super) fn put_again_if_changed(
        &self,
        run: &Run,
        raised: &InterruptRaised,
        caller: &CallerWire,
    ) -> Option<Refused> {
        let found = match self.changed(run, raised) {
            Ok(found) => found,
            Err(refused) => return Some(refused),
        };
        if found.len() > MOST_LISTED {
            // They would be in an event, and are too many for a person to check.
            let message = format!(
                "{} artifacts changed in the workspace after they were handed over, so what was shown is not what would be used",
                found.len()
            );
            let hint = "they are too many to show again: restore them, deny, or run the step again";
            return Some(Refused::new(Code::SubjectChanged, message, Some(hint)));
        }
        let started = run.started().filter(|_| !found.is_empty())?;
        for file in &found {
            // The content is stored so that it can be shown. A file that cannot be stored is shown by its path only.
            let path = Path::new(&started.workspace).join(&file.path);
            let size =
                path.metadata().map(|metadata| metadata.len()).ok().filter(|size| *size <= MAX_SHOWN_BYTES);
            if let (Some(digest), Some(size)) = (file.digest, size) {
                self.store.blobs().put_file(&path, digest, size).ok();
            }
        }
        Some(self.put_again(&started.run, raised, found, caller))
    }

    /// Artifacts that lie otherwise in the workspace than they were shown. Nothing of the run has begun or ended while they
    /// were looked at: another branch that did makes another look necessary.
    fn changed(&self, run: &Run, raised: &InterruptRaised) -> Result<Vec<FoundFile>, Refused> {
        let mut found = self.changed_since(run, raised)?;
        let mut before = run.next_seq();
        while let (false, Some(started)) = (found.is_empty(), run.started()) {
            // A run that cannot be loaded now is refused when it goes on.
            let Ok(now) = self.load(&started.run) else { break };
            if now.next_seq() == before {
                break;
            }
            (found, before) = (self.changed_since(&now, raised)?, now.next_seq());
        }
        Ok(found)
    }

    fn changed_since(&self, run: &Run, raised: &InterruptRaised) -> Result<Vec<FoundFile>, Refused> {
        changed_since(&self.store.reader()?, run, raised)
    }

    /// Puts the same question again; the refusal names the new one.
    fn put_again(
        &self,
        id: &RunId,
        raised: &InterruptRaised,
        found: Vec<FoundFile>,
        caller: &CallerWire,
    ) -> Refused {
        let mut paths: Vec<String> =
            found.iter().take(MOST_NAMED).map(|file| format!("`{}`", file.path)).collect();
        if found.len() > MOST_NAMED {
            paths.push(format!("and {} more", found.len().saturating_sub(MOST_NAMED)));
        }
        let input = Input::Changed { interrupt: raised.interrupt.clone(), found };
        if let Err(refused) = self.adopt(id, caller, Purpose::Decide.into(), |_| Ok(vec![input.clone()])) {
            return refused;
        }
        let message = format!(
            "{} changed in the workspace after it was handed over, so what was shown is not what would be used",
            paths.join(", ")
        );
        let refused = Refused::new(Code::SubjectChanged, message, None);
        let filter = InboxFilter { run: Some(id.clone()), closed: false };
        let inbox = self.store.reader().and_then(|reader| reader.inbox(&filter));
        refused.with_hint(hint_to_new_question(inbox, &raised.visit))
    }
}

/// Names the question of the visit that is open now. `inbox`: the open questions of its run.
fn hint_to_new_question(inbox: Result<Vec<InboxRow>, ReadError>, visit: &VisitId) -> Option<String> {
    match inbox {
        Ok(rows) => rows.into_iter().find(|row| row.visit == *visit).map(|row| {
            format!("the question is put again as {0}: `envoi show {0}`, then answer that", row.interrupt)
        }),
        Err(error) => Some(format!(
            "the question is put again; `envoi inbox` lists it, because its id cannot be read now: {error}"
        )),
    }
}

/// The refusal for a question that does not wait any more.
pub(super) fn closed(store: &Store, run: &RunId, interrupt: &InterruptId) -> Refused {
    let row = match store.reader().and_then(|reader| reader.question(run, interrupt)) {
        Ok(row) => row,
        Err(error) => return Refused::from(&error),
    };
    let at = row.closed.as_ref().map_or_else(String::new, |closed| format!(" at {}", closed.at));
    let answer = row.closed.and_then(|closed| Some((closed.answer?, closed.by)));
    let what = match row.state {
        InterruptState::Open => "is about to be closed".to_owned(),
        InterruptState::Answered => match answer {
            Some((answer, by)) => {
                format!("was answered{at}: {answer} by {}", by.as_deref().unwrap_or("an unknown person"))
            }
            None => format!("was answered{at}"),
        },
        InterruptState::Expired => format!("expired{at}"),
        InterruptState::Changed => format!("was put again{at}, because what it showed had changed"),
        InterruptState::Cancelled => format!("is void since the run was cancelled{at}"),
    };
    let message = format!("question `{interrupt}` {what}");
    Refused::new(Code::QuestionClosed, message, Some("`envoi inbox` lists the questions that are open"))
}

/// The newest version of every artifact of a run, those that manifests list among them.
fn artifacts(reader: &Reader, run: &Run) -> Result<BTreeMap<String, Option<Digest>>, Refused> {
    let Some(started) = run.started().filter(|_| !run.manifests().is_empty()) else {
        return Ok(run.files().clone());
    };
    let records = reader.records(&started.run, 0, None)?;
    let lived = records.iter().take_while(|record| record.seq < run.next_seq());
    reader.newest_files(lived).map_err(|error| Refused::from(&error))
}

/// The artifacts that lie otherwise in the workspace than this question has shown them.
pub(super) fn changed_since(
    reader: &Reader,
    run: &Run,
    raised: &InterruptRaised,
) -> Result<Vec<FoundFile>, Refused> {
    Ok(changed(run, artifacts(reader, run)?, raised))
}

/// Says of a run that is set aside what became of the answer to it.
fn not_recorded(mut refused: Refused) -> Refused {
    if refused.code == Code::RunSetAside {
        refused.message.insert_str(0, "the answer was not recorded: ");
    }
    refused
}

pub(super) fn open<'r>(run: &'r Run, interrupt: &InterruptId) -> Option<&'r InterruptRaised> {
    run.interrupts().find(|raised| raised.interrupt == *interrupt)
}

/// The answer with its form completed by the schema's defaults; a run only knows whether there is a form.
///
/// An answer other than a yes has no form, and the run refuses one that brings it.
pub(super) fn with_form(run: &Run, raised: &InterruptRaised, answer: Answer) -> Result<Answer, Refused> {
    let asks = run.step(&raised.visit).and_then(|step| step.asks());
    let schema = asks.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.as_ref());
    let Some(schema) = schema.filter(|_| says_yes(answer.choice, raised)) else { return Ok(answer) };
    let form = envoi_flow::answers::complete(schema, answer.data.as_ref()).map_err(|errors| {
        let hint = "see the form with `envoi show`; give it with --data or --field NAME=VALUE";
        Refused::new(Code::AnswerInvalid, errors.to_string(), Some(hint))
    })?;
    Ok(Answer { data: Some(form), ..answer })
}

/// Whether an answer makes the run use what was shown.
pub(super) fn says_yes(choice: Choice, raised: &InterruptRaised) -> bool {
    let yes = matches!(choice, Choice::Approve | Choice::Respond | Choice::Proceed);
    yes && matches!(raised.about, About::Ask | About::Review | About::Blocked | About::Exhausted)
}

/// Whether an attempt that is live, or is being ended, may change this file and hand it over.
fn is_being_made(run: &Run, path: &str) -> bool {
    let wants = run.wants();
    let mut steps = wants.attempts.iter().chain(&wants.ending).filter_map(|attempt| run.step(&attempt.visit));
    steps.any(|step| is_artifact(&step.artifacts, path))
}

/// Artifacts that lie otherwise in the workspace than they were shown, but for those that are being made.
fn changed(
    run: &Run,
    mut shown: BTreeMap<String, Option<Digest>>,
    raised: &InterruptRaised,
) -> Vec<FoundFile> {
    let Some(started) = run.started() else { return Vec::new() };
    let workspace = Path::new(&started.workspace);
    shown.extend(raised.found.iter().map(|file| (file.path.clone(), file.digest)));
    let now =
        shown.into_iter().map(|(path, digest)| (files::digest_of(&workspace.join(&path)), path, digest));
    let differing = now.filter(|(now, path, shown)| now != shown && !is_being_made(run, path));
    let mut all: Vec<FoundFile> = differing.map(|(digest, path, _)| FoundFile { path, digest }).collect();
    if !all.is_empty() {
        // The files found before are compared again next time.
        let again = |file: &&FoundFile| !all.iter().any(|found| found.path == file.path);
        let before: Vec<FoundFile> = raised.found.iter().filter(again).cloned().collect();
        all.extend(before);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_kernel::ids::AttemptId;

    #[test]
    fn a_question_that_is_put_again_is_named_and_so_is_the_error_that_hides_its_name() {
        let visit = AttemptId::parse("review.1.1").unwrap().visit;
        assert_eq!(hint_to_new_question(Ok(Vec::new()), &visit), None);
        let error = ReadError::Missing { what: "run", id: "run_1".to_owned() };
        let hint = hint_to_new_question(Err(error), &visit).unwrap();
        assert!(hint.contains("`envoi inbox`") && hint.contains("there is no run `run_1`"), "{hint}");
    }
}
