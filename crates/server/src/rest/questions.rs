//! Operations on questions: list them, show one, answer one.

use super::{event_stream::NOTHING_SEEN, rows};
use crate::{
    auth::scope::Scope,
    commands::{
        amount,
        submit::{caller_of, submit},
    },
    http::problem::Problem,
    request::{ApiRequest, text, word},
    state::{app::App, attachments},
};
use axum::response::Response;
use envoi_api::{
    QuestionContext,
    question::{ChangedFile, Question, QuestionDetail, Questions},
};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::{Object, Value},
    user_envelope::{self, AttachmentRef},
};
use envoi_engine::{
    Changed, check_not_aside, load_question, load_run,
    protocol::{AnswerRequest, Request},
};
use envoi_journal::{InboxPage, InboxRow, ReadError};
use envoi_kernel::{
    Run,
    event::{About, Blob, Choice, InterruptRaised},
    files::MOST_LISTED,
    ids::InterruptId,
    input::Answer,
};

/// `listQuestions`.
pub(crate) fn list(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let (closed, newest_first) = (request.truth("closed")?, request.truth("newest")?);
    let limit = request.limit()?;
    let page = InboxPage {
        tenant: request.bearer.tenant.clone(),
        run: request.query("run").map(str::to_owned),
        closed,
        newest_first,
        after: request.query("cursor").map(str::to_owned),
        limit,
    };
    let (newest, rows) = app.read(|reader| {
        // Read before the list, so that a stream from this position has everything that the list lacks.
        let newest = reader.newest_of(&page.tenant)?;
        let rows = reader.inbox_page(&page).map_err(|error| match error {
            ReadError::Missing { .. } => Problem::bad_request("`cursor` is not the `next` of a page"),
            error => error.into(),
        })?;
        Ok::<_, Problem>((newest, rows))
    })?;
    let full = u32::try_from(rows.len()).is_ok_and(|found| found == limit);
    let next = rows.last().filter(|_| full).map(|row| row.interrupt.clone());
    let now = app.now();
    let questions = rows.iter().map(|row| Question::of(row, now)).collect();
    let last_event_id = newest.map_or_else(|| NOTHING_SEEN.to_owned(), |(run, seq)| format!("{run}:{seq}"));
    rows::answer(200, &Questions { questions, next, last_event_id })
}

/// `getQuestion`.
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let row = question_row(app, request)?;
    shown(app, &row.interrupt, request)
}

/// The question in the path, if it belongs to the tenant.
fn question_row(app: &App, request: &ApiRequest) -> Result<InboxRow, Problem> {
    let id = request.param("question");
    let none = || Problem::no_question(id);
    let interrupt = InterruptId::new(id).map_err(|_| none())?;
    app.read(|reader| {
        reader.question_of(&request.bearer.tenant, &interrupt).map_err(|error| match error {
            ReadError::Missing { .. } => none(),
            error => error.into(),
        })
    })
}

fn shown(app: &App, interrupt: &InterruptId, request: &ApiRequest) -> Result<Response, Problem> {
    let detail = app.read(|reader| {
        let row = reader.question_of(&request.bearer.tenant, interrupt)?;
        // If the run cannot be loaded and is set aside, the reason for that is the error.
        let run = row.run.clone();
        let question =
            load_question(reader, row).or_else(|refused| check_not_aside(reader, &run).and(Err(refused)))?;
        let context = QuestionContext {
            raised: question.raised.as_ref(),
            files: question.changed(reader)?.into_iter().take(MOST_LISTED).map(changed_file).collect(),
            last_handoff: question.last_handoff(),
            given: question.given.clone(),
        };
        let by = request.principal();
        let mut detail = QuestionDetail::of(&question.row, &question.run, context, app.now(), &by);
        if question.is_open() && !request.bearer.scopes.allow(&[Scope::Answer]) {
            detail.barred = Some("this token has not the scope `answer`".to_owned());
        }
        Ok::<_, Problem>(detail)
    })?;
    rows::answer(200, &detail)
}

pub(super) fn changed_file(Changed { path, before, created, after }: Changed) -> ChangedFile {
    let digest = |blob: Option<Blob>| blob.map(|blob| blob.digest.to_string());
    ChangedFile {
        path,
        created,
        before_digest: digest(before),
        size_bytes: after.as_ref().map(|blob| blob.size),
        after_digest: digest(after),
    }
}

/// `answerQuestion`.
pub(crate) fn answer(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let members = request.members(&[
        "choice",
        "text",
        "data",
        "attachments",
        "user_envelope",
        "seen",
        "raise",
        "resume",
    ])?;
    let follow = match members.get("resume") {
        None => true,
        Some(Value::Bool(resume)) => *resume,
        Some(_) => return Err(Problem::bad_request("`resume` is neither `true` nor `false`")),
    };
    let row = question_row(app, request)?;
    if !request.was_done(app, "answerQuestion", &row.run)? {
        app.read(|reader| check_not_aside(reader, &row.run).map_err(Problem::from))?;
    }
    let run = app.read(|reader| load_run(reader, &row.run).map_err(Problem::from))?;
    let raised = run.interrupts().find(|raised| raised.interrupt == row.interrupt);
    let by = request.principal();
    let (text, references) = answer_text(&members)?;
    let attachments = match resolved(app, &request.bearer.tenant, references.clone()) {
        Ok(resolved) => resolved,
        // The content of the first request may no longer exist. Its answer is valid, and the engine accepts
        // no other one.
        Err(_) if request.was_done(app, "answerQuestion", &row.run)? => references,
        Err(problem) => return Err(problem),
    };
    let answer = Answer {
        text,
        data: members.get("data").filter(|data| **data != Value::Null).cloned(),
        attachments,
        raise: members.get("raise").map(|more| amount::read("raise", more)).transpose()?,
        seen: seen(&members)?,
        channel: "rest".to_owned(),
        request: Some(request.request_id(app, "answerQuestion", &row.run)?),
        ..Answer::new(row.interrupt.clone(), choice(&members, &run, raised)?, by)
    };
    let answer = AnswerRequest { run: row.run.clone(), answer, follow, caller: caller_of(app, &run) };
    submit(app, Request::Answer(Box::new(answer)))?;
    shown(app, &row.interrupt, request)
}

/// The decision. Without one, text or a form is the answer, if the question accepts that.
fn choice(members: &Object, run: &Run, raised: Option<&InterruptRaised>) -> Result<Choice, Problem> {
    const CHOICES: [Choice; 12] = [
        Choice::Approve,
        Choice::Deny,
        Choice::Respond,
        Choice::Proceed,
        Choice::Again,
        Choice::Ours,
        Choice::Theirs,
        Choice::Edit,
        Choice::Stop,
        Choice::Rerun,
        Choice::Fail,
        Choice::Raise,
    ];
    if let Some(word) = word(members, "choice")? {
        let found = CHOICES.into_iter().find(|choice| choice.word() == word);
        return found.ok_or_else(|| Problem::bad_request(format!("`{word}` is no choice")));
    }
    let Some(raised) = raised else { return Ok(Choice::Respond) };
    let is_filled_in = members.get("data").is_some_and(|data| *data != Value::Null) && has_form(run, raised);
    implied(&run.accepts(raised), is_filled_in)
        .ok_or_else(|| answer_invalid("this question takes a decision: say which as `choice`"))
}

fn has_form(run: &Run, raised: &InterruptRaised) -> bool {
    let asks = run.step(&raised.visit).and_then(|step| step.asks());
    raised.about == About::Ask && asks.is_some_and(|plan| plan.schema.is_some())
}

/// The decision of an answer that gives none: `respond` if the question accepts text, or a yes if a form was
/// filled in.
fn implied(accepts: &[Choice], is_filled_in: bool) -> Option<Choice> {
    let of_form: &[Choice] = if is_filled_in { &[Choice::Approve, Choice::Proceed] } else { &[] };
    core::iter::once(&Choice::Respond).chain(of_form).copied().find(|choice| accepts.contains(choice))
}

fn answer_invalid(detail: impl Into<String>) -> Problem {
    Problem::new(Code::AnswerInvalid, detail)
}

fn seen(members: &Object) -> Result<Option<Digest>, Problem> {
    let read = |text: &str| Digest::parse(text).ok_or_else(|| Problem::bad_request("`seen` is not a digest"));
    word(members, "seen")?.map(read).transpose()
}

/// The text and the files of an answer, unchanged. With `user_envelope` the text is contract 5's envelope,
/// and its files come first.
fn answer_text(members: &Object) -> Result<(Option<String>, Vec<AttachmentRef>), Problem> {
    let beside = references(members)?;
    let text = text(members, "text")?;
    let enabled = match members.get("user_envelope") {
        None => false,
        Some(Value::Bool(enabled)) => *enabled,
        Some(_) => return Err(Problem::bad_request("`user_envelope` is neither `true` nor `false`")),
    };
    if enabled && text.is_none() {
        return Err(Problem::bad_request("`user_envelope` is true, and `text` is missing"));
    }
    let envelope = user_envelope::parse(text.unwrap_or_default(), enabled, &beside)
        .map_err(|refusal| Problem::new(refusal.code(), refusal.reason))?;
    Ok((text.is_some().then_some(envelope.text), envelope.attachments))
}

/// The references outside the text, unchanged.
fn references(members: &Object) -> Result<Vec<AttachmentRef>, Problem> {
    let Some(value) = members.get("attachments") else { return Ok(Vec::new()) };
    let values = value.as_array().ok_or_else(|| Problem::bad_request("`attachments` is not a list"))?;
    let read = |(place, value): (usize, &Value)| {
        AttachmentRef::decode(value).map_err(|error| {
            let detail = format!("`attachments`, number {}: {error}", place.saturating_add(1));
            Problem::new(user_envelope::INVALID_USER_ENVELOPE, detail)
        })
    };
    values.iter().enumerate().map(read).collect()
}

/// The references with the size and the type from the store, whatever the caller states. An error if any of
/// them cannot be resolved.
fn resolved(
    app: &App,
    tenant: &str,
    mut references: Vec<AttachmentRef>,
) -> Result<Vec<AttachmentRef>, Problem> {
    for (place, reference) in references.iter_mut().enumerate() {
        let resolved = attachments::resolve(app, tenant, reference).map_err(|unreadable| {
            let detail = format!(
                "attachment {} (`{}`) cannot be read: {}",
                place.saturating_add(1),
                reference.artifact_id,
                unreadable.reason
            );
            Problem::new(Code::AttachmentUnreadable, detail)
                .hint("`POST /v1/artifacts` brings content, and returns the reference; nothing was answered")
        })?;
        (reference.size, reference.mime) = (Some(resolved.size), resolved.mime);
    }
    Ok(references)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_filled_in_needs_no_choice() {
        for (accepts, is_filled_in, expected) in [
            (&[Choice::Approve, Choice::Deny][..], true, Some(Choice::Approve)),
            (&[Choice::Approve, Choice::Deny], false, None),
            (&[Choice::Proceed, Choice::Stop], true, Some(Choice::Proceed)),
            (&[Choice::Respond, Choice::Deny], true, Some(Choice::Respond)),
            (&[Choice::Respond, Choice::Deny], false, Some(Choice::Respond)),
            (&[Choice::Approve, Choice::Respond, Choice::Deny], true, Some(Choice::Respond)),
            // A file in conflict, an attempt in doubt, a limit: these need a decision.
            (&[Choice::Ours, Choice::Theirs], true, None),
            (&[Choice::Rerun, Choice::Fail], true, None),
            (&[Choice::Raise, Choice::Stop], true, None),
            (&[], true, None),
        ] {
            assert_eq!(implied(accepts, is_filled_in), expected, "{accepts:?} {is_filled_in}");
        }
    }
}
