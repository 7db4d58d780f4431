//! A message: it starts a task, or answers the question of one that waits.
//!
//! It is kept before the engine is asked for what it wants, under an id that the engine knows as the id of the request. So a
//! message that comes again, after whatever has happened in between, is found, and what it wanted is done if it was not:
//! once. One that is refused is forgotten, and the task is as it was.

use super::{
    answer,
    asking::{Asking, broken},
    card, envelope,
    fault::{Fault, Kind},
    fold::Question,
    inputs, look,
    model::{Content, Message, Part, PushConfig, Role},
    pushes,
    request::{Reply, SendRequest},
    task::{FLOW, QUESTION},
    version::Version,
};
use crate::{
    app::App,
    attachments,
    begin::{self, new_run},
    call::random_seed,
    problem::Problem,
    runs::{ask, caller},
    scope::Scope,
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    user_envelope::AttachmentRef,
};
use envoi_engine::{
    load_run,
    protocol::{AnswerRequest, Request, StartRequest, WorkspaceUse},
};
use envoi_journal::{MessageRow, ReadError, RegisteredFlow, TaskRow, Upload};
use envoi_kernel::{
    Run, Status,
    ids::{InterruptId, RunId, uuid_v7_text},
    input::Answer,
};

/// The channel of answers, in the journal.
const CHANNEL: &str = "a2a";

/// Metadata of a first message: how the run uses its workspace.
const WORKSPACE: &str = "urn:envoi:a2a:workspace";

/// Longest id that a client may make.
const MAX_ID_BYTES: usize = 256;

/// What has come of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The run.
    pub(crate) run: RunId,
    /// Where whoever follows the message begins.
    pub(crate) from: From,
}

/// See [`Sent::from`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// It began the run.
    TheStart,
    /// It is the answer with this id of its request.
    Request(String),
    /// It was known: from how things stand.
    Now,
}

/// Does what a message wants. What follows from it is in the journal.
///
/// # Errors
/// It was refused, and nothing has changed.
pub(crate) fn send(app: &App, asking: &Asking, request: &SendRequest) -> Result<Sent, Fault> {
    let message = &request.message;
    check(message)?;
    let push = request.configuration.push_config.as_ref();
    push.map_or(Ok(()), |push| pushes::check(app, push))?;
    let sent = match about(app, asking, message)? {
        About::Known(sent) => sent,
        About::Task(run) => go_on(app, asking, message, &run)?,
        About::Nothing => begin(app, asking, message)?,
    };
    if let Some(push) = push {
        asking.may(&[Scope::Run])?;
        let push = PushConfig { task_id: Some(sent.run.to_string()), ..push.clone() };
        pushes::keep(app, &sent.run, &push, sent.from == From::TheStart)?;
    }
    Ok(sent)
}

fn check(message: &Message) -> Result<(), Fault> {
    if message.role != Role::User {
        return Err(Fault::violation("message.role", "Must be the user's: a client speaks for one."));
    }
    let ids = [("messageId", Some(&message.id)), ("contextId", message.context_id.as_ref())];
    for (name, id) in ids {
        if id.is_some_and(|id| id.len() > MAX_ID_BYTES) {
            let description = format!("May have {MAX_ID_BYTES} bytes.");
            return Err(Fault::violation(format!("message.{name}"), description));
        }
    }
    for (at, part) in message.parts.iter().enumerate() {
        if !is_read(part) {
            let detail =
                format!("part {at} is said to be `{}`", part.media_type.as_deref().unwrap_or_default());
            return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
        }
    }
    Ok(())
}

/// Whether a part is of a type that the card names, where it says one. A file may be of any.
fn is_read(part: &Part) -> bool {
    match part.content {
        Content::Text(_) | Content::Data(_) => part.media_type.as_deref().is_none_or(card::takes),
        Content::Raw(_) | Content::Url(_) => true,
    }
}

/// What a message is about.
enum About {
    /// Something that it has done already.
    Known(Sent),
    /// A task that there is.
    Task(RunId),
    /// One that there will be.
    Nothing,
}

fn about(app: &App, asking: &Asking, message: &Message) -> Result<About, Fault> {
    if let Some(id) = &message.task_id {
        let run = look::run_of(app, asking, id)?;
        let context = app
            .read(|reader| look::context_of(reader, &run))
            .map_err(|error: ReadError| broken(app, error))?;
        if message.context_id.as_ref().is_some_and(|named| *named != context) {
            return Err(Fault::violation("message.contextId", "Must be the context of the task."));
        }
        return Ok(About::Task(run));
    }
    // Clients of 0.3 answer in a context, without the id of the task.
    match (&message.context_id, asking.version) {
        (Some(context), Version::V03) => about_context(app, asking, message, context),
        _ => Ok(About::Nothing),
    }
}

fn about_context(app: &App, asking: &Asking, message: &Message, context: &str) -> Result<About, Fault> {
    let token = &asking.bearer.id;
    let (known, waiting) = app
        .read(|reader| {
            let known = reader.message_in_context(token, context, &message.id, &digest(message))?;
            Ok((known, reader.waiting_in_context(token, context)?))
        })
        .map_err(|error: ReadError| broken(app, error))?;
    match (known, waiting.as_slice()) {
        // It began a task, or answered one: the same again.
        (Some(row), _) if row.task.is_empty() => Ok(About::Nothing),
        (Some(row), _) if was_done(app, &row)? => Ok(About::Known(Sent { run: row.run, from: From::Now })),
        (Some(row), _) => Ok(About::Task(row.run)),
        (None, []) => Ok(About::Nothing),
        (None, [one]) => Ok(About::Task(one.run.clone())),
        (None, several) => {
            let ids: Vec<String> = several.iter().map(|row| format!("`{}`", row.run)).collect();
            let detail =
                format!("several tasks of this context wait; say with `taskId` which: {}", ids.join(", "));
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
    }
}

/// Of what a message says; not of where it is said.
fn digest(message: &Message) -> Digest {
    let content = Message { context_id: None, task_id: None, ..message.clone() };
    Digest::of(written(&content).as_bytes())
}

/// A message as it is kept: `{"message": …}` in JSON of 1.0, as [`look`] reads it.
fn written(message: &Message) -> String {
    super::write(Version::V10, &Reply::SentMessage(message.clone())).compact()
}

fn was_done(app: &App, row: &MessageRow) -> Result<bool, Fault> {
    let done = app.read(|reader| reader.has_request(&row.run, &row.request));
    done.map_err(|error: ReadError| broken(app, error))
}

/// Starts a run.
fn begin(app: &App, asking: &Asking, message: &Message) -> Result<Sent, Fault> {
    asking.may(&[Scope::Run])?;
    let registered = flow(app, asking, message)?;
    let loaded = envoi_flow::load_with(&registered.file, &registered.text, &registered.parts)
        .map_err(|report| broken(app, format!("a registered flow cannot be read: {report}")))?;
    let inputs = inputs::read(&loaded.flow, message)?;
    let workspace = workspace_use(app, message)?;
    let fresh = new_run(app)?;
    let context = match &message.context_id {
        Some(context) => context.clone(),
        None => format!("ctx_{}", uuid_v7_text(app.now(), &random_seed()?)),
    };
    let task = TaskRow {
        run: fresh.clone(),
        tenant: asking.bearer.tenant.clone(),
        token: asking.bearer.id.clone(),
        context: context.clone(),
        at: app.now(),
    };
    let row = kept_as(app, asking, message, (&fresh, &context, ""), fresh.to_string());
    // The same message twice at once: the second one waits until the run of the first is there to be found.
    let _turn = app.starts.turn(&format!("{}\n{context}\n{}", row.token, row.message_id));
    let kept = app.store.keep_task(&task, &row).map_err(|error| broken(app, error))?;
    let begun =
        app.read(|reader| reader.tenant_of(&kept.run)).map_err(|error: ReadError| broken(app, error))?;
    if begun.is_some() {
        return Ok(Sent { run: kept.run, from: From::Now });
    }
    let started = app.starts.count(&asking.bearer.id, app.now()).map_err(|_| {
        let detail = "this token has started as many runs in a minute as it may";
        Fault::new(Kind::TooMuch).detail(detail).code("TOO_MANY_STARTS")
    });
    let started = started
        .and_then(|()| start(app, asking, &kept.run, registered, (inputs, workspace)).map_err(Fault::from));
    match started {
        Ok(()) => Ok(Sent { run: kept.run, from: From::TheStart }),
        Err(fault) => Err(forgotten(app, &kept, fault)),
    }
}

fn start(
    app: &App,
    asking: &Asking,
    run: &RunId,
    registered: RegisteredFlow,
    (inputs, workspace): (Object, WorkspaceUse),
) -> Result<(), Problem> {
    let request = begin::of_flow(app, run.clone(), registered, asking.principal())?;
    let request = StartRequest { inputs, workspace, trace: asking.trace.clone(), ..request };
    ask(app, Request::Start(Box::new(request))).map(drop)
}

/// A message that was refused is forgotten, unless it may still be done: by whoever is the engine next, when it comes again.
fn forgotten(app: &App, row: &MessageRow, fault: Fault) -> Fault {
    if fault.kind != Kind::Unavailable && fault.kind != Kind::Internal {
        drop(app.store.forget_message(row).map_err(|error| broken(app, error)));
    }
    fault
}

fn kept_as(
    app: &App,
    asking: &Asking,
    message: &Message,
    (run, context, task): (&RunId, &str, &str),
    request: String,
) -> MessageRow {
    MessageRow {
        run: run.clone(),
        token: asking.bearer.id.clone(),
        context: context.to_owned(),
        task: task.to_owned(),
        message_id: message.id.clone(),
        digest: digest(message),
        request,
        body: written(message),
        at: app.now(),
    }
}

/// The flow that a message starts: the one that it names, else that of the path or of `tenant`, else the configured one,
/// else the only one.
fn flow(app: &App, asking: &Asking, message: &Message) -> Result<RegisteredFlow, Fault> {
    let tenant = &asking.bearer.tenant;
    let named = match message.metadata.get(FLOW) {
        None => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => {
            return Err(Fault::violation(format!("message.metadata[\"{FLOW}\"]"), "Must be a string."));
        }
    };
    let usual = || app.settings.a2a.default_flow.clone();
    if let Some(name) = named.or_else(|| asking.flow.clone()).or_else(usual) {
        let found = app.read(|reader| reader.registered_flow(tenant, &name));
        let none = || {
            Fault::new(Kind::InvalidParams)
                .detail(format!("there is no flow `{name}`"))
                .code("FLOW_NOT_FOUND")
        };
        return found.map_err(|error: ReadError| broken(app, error))?.ok_or_else(none);
    }
    let all =
        app.read(|reader| reader.registered_flows(tenant)).map_err(|error: ReadError| broken(app, error))?;
    let mut ids: Vec<&str> = all.iter().map(|flow| flow.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    match (ids.as_slice(), all.first()) {
        ([_], Some(newest)) => Ok(newest.clone()),
        ([], _) => {
            let detail = "there is no flow yet; `POST /v1/flows` registers one";
            Err(Fault::new(Kind::InvalidParams).detail(detail).code("FLOW_NOT_FOUND"))
        }
        (several, _) => {
            let detail = format!(
                "which flow? Say it as `{FLOW}` in the message's metadata, in the path or as `tenant`: {}",
                several.join(", ")
            );
            Err(Fault::new(Kind::InvalidParams).detail(detail).code("FLOW_NOT_FOUND"))
        }
    }
}

fn workspace_use(app: &App, message: &Message) -> Result<WorkspaceUse, Fault> {
    match message.metadata.get(WORKSPACE).map(Value::as_str) {
        None => Ok(app.settings.a2a.workspace),
        Some(Some("alone")) => Ok(WorkspaceUse::Alone),
        Some(Some("shared")) => Ok(WorkspaceUse::Shared),
        Some(Some("copy")) => Ok(WorkspaceUse::Copy),
        Some(_) => {
            let field = format!("message.metadata[\"{WORKSPACE}\"]");
            Err(Fault::violation(field, "Must be one of alone, shared, copy."))
        }
    }
}

/// Answers a question of a task.
fn go_on(app: &App, asking: &Asking, message: &Message, run: &RunId) -> Result<Sent, Fault> {
    asking.may(&[Scope::Answer])?;
    let context =
        app.read(|reader| look::context_of(reader, run)).map_err(|error: ReadError| broken(app, error))?;
    let request = request_id(asking, &context, run, message);
    let _turn = app.starts.turn(&request);
    let row = kept_as(app, asking, message, (run, &context, run.as_str()), request);
    let from = |from: From| Ok(Sent { run: run.clone(), from });
    if was_done(app, &row)? {
        return from(From::Now);
    }
    let loaded = app.read(|reader| load_run(reader, run).map_err(Problem::from))?;
    let question = asked(&loaded, message)?;
    let files = carried(app, asking, message)?;
    let references: Vec<AttachmentRef> = files.iter().map(|file| file.reference.clone()).collect();
    let envelope = envelope::open(message, &asking.extensions, &references)?;
    let has_words = message.parts.iter().any(|part| matches!(part.content, Content::Text(_)));
    let wanted = answer::read(&question, message, has_words.then_some(envelope.text.as_str()))?;
    keep_uploads(app, asking, &files)?;
    let attachments = resolved(app, asking, envelope.attachments)?;
    let answer = Answer {
        text: wanted.text,
        data: wanted.data,
        attachments,
        raise: wanted.raise,
        seen: seen(message)?,
        channel: CHANNEL.to_owned(),
        request: Some(row.request.clone()),
        ..Answer::new(question.raised.interrupt.clone(), wanted.choice, asking.principal())
    };
    app.store.keep_message(&row).map_err(|error| broken(app, error))?;
    let caller = caller(app, run)?;
    let order = AnswerRequest { run: run.clone(), answer, follow: true, caller };
    match ask(app, Request::Answer(Box::new(order))) {
        Ok(_) => from(From::Request(row.request)),
        Err(_) if was_done(app, &row)? => from(From::Now),
        Err(problem) => {
            app.note(&problem);
            Err(forgotten(app, &row, problem.into()))
        }
    }
}

/// The id under which the engine knows an answer: the same for the same message, wherever and whenever it comes.
fn request_id(asking: &Asking, context: &str, run: &RunId, message: &Message) -> String {
    let of = [&asking.bearer.id, context, run.as_str(), &message.id, &digest(message).to_string()].join("\n");
    format!("msg_{}", Digest::of(of.as_bytes()).hex())
}

/// The question that a message is about: the one that it names, else the only one.
fn asked(run: &Run, message: &Message) -> Result<Question, Fault> {
    if let Status::Ended(ended) = run.status() {
        let detail = format!("the task is over ({}), and takes no more messages", ended.status.word());
        return Err(Fault::new(Kind::UnsupportedOperation).detail(detail).code("RUN_OVER"));
    }
    let open: Vec<_> = run.interrupts().collect();
    let named = match message.metadata.get(QUESTION) {
        None => None,
        Some(named) => {
            let id = named.as_str().or_else(|| named.get("id").and_then(Value::as_str));
            let field = format!("message.metadata[\"{QUESTION}\"]");
            let id = id.and_then(|id| InterruptId::new(id).ok());
            Some(id.ok_or_else(|| Fault::violation(field, "Must be the id of a question."))?)
        }
    };
    let found = match (&named, open.as_slice()) {
        (Some(id), all) => all.iter().find(|raised| raised.interrupt == *id),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    match (found, named, open.as_slice()) {
        (Some(raised), _, _) => Ok(Question::of(run, raised)),
        (None, None, []) => {
            let detail = "the task is at work, and asks nothing now";
            Err(Fault::new(Kind::UnsupportedOperation).detail(detail))
        }
        (None, Some(id), _) => {
            let detail = format!("question `{id}` is not open");
            Err(Fault::new(Kind::InvalidParams).detail(detail).code("QUESTION_CLOSED"))
        }
        (None, None, several) => {
            let ids: Vec<String> = several
                .iter()
                .map(|raised| format!("`{}` ({})", raised.interrupt, raised.visit.step))
                .collect();
            let detail = format!(
                "which question? Say it as `{QUESTION}` in the message's metadata: {}",
                ids.join(", ")
            );
            Err(Fault::new(Kind::InvalidParams).detail(detail))
        }
    }
}

/// What was shown to whoever answers, if the message says so: the question's metadata, given back.
fn seen(message: &Message) -> Result<Option<Digest>, Fault> {
    let subject =
        message.metadata.get(QUESTION).and_then(|named| named.get("subject")).and_then(Value::as_str);
    let field = || format!("message.metadata[\"{QUESTION}\"].subject");
    let read = |text: &str| Digest::parse(text).ok_or_else(|| Fault::violation(field(), "Must be a digest."));
    subject.map(read).transpose()
}

/// A file that a message carries.
struct Carried<'m> {
    upload: Upload,
    bytes: &'m [u8],
    reference: AttachmentRef,
}

/// The files that a message carries. Nothing is fetched from an address.
fn carried<'m>(app: &App, asking: &Asking, message: &'m Message) -> Result<Vec<Carried<'m>>, Fault> {
    let mut files = Vec::new();
    for (at, part) in message.parts.iter().enumerate() {
        let bytes = match &part.content {
            Content::Text(_) | Content::Data(_) => continue,
            Content::Raw(bytes) => bytes.as_slice(),
            Content::Url(_) => {
                let detail = format!("part {at} is an address, and none is asked; send its bytes as `raw`");
                return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
            }
        };
        let named = part.filename.as_deref().map(attachments::type_of);
        let upload = Upload {
            digest: Digest::of(bytes),
            size_bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            mime: part.media_type.clone().or(named).unwrap_or_else(|| attachments::UNKNOWN.to_owned()),
            uploaded_at: app.now(),
            uploaded_by: asking.bearer.name.clone(),
        };
        let reference = AttachmentRef { filename: part.filename.clone(), ..attachments::reference(&upload) };
        files.push(Carried { upload, bytes, reference });
    }
    Ok(files)
}

/// Keeps what a message carries as content of the tenant.
fn keep_uploads(app: &App, asking: &Asking, files: &[Carried<'_>]) -> Result<(), Fault> {
    for Carried { upload, bytes, .. } in files {
        app.store.blobs().put(bytes).map_err(|error| broken(app, error))?;
        app.store.keep_upload(&asking.bearer.tenant, upload).map_err(|error| broken(app, error))?;
    }
    Ok(())
}

/// References with the size and the type that the store knows, whatever the client says; all of them, or none.
fn resolved(
    app: &App,
    asking: &Asking,
    mut references: Vec<AttachmentRef>,
) -> Result<Vec<AttachmentRef>, Fault> {
    for (place, reference) in references.iter_mut().enumerate() {
        let resolved = attachments::resolve(app, &asking.bearer.tenant, reference).map_err(|unreadable| {
            let (place, id) = (place.saturating_add(1), &reference.artifact_id);
            let detail = format!("attachment {place} (`{id}`) cannot be read: {}", unreadable.reason);
            Fault::new(Kind::InvalidParams).detail(detail).code("ATTACHMENT_UNREADABLE")
        })?;
        (reference.size, reference.mime) = (Some(resolved.size), resolved.mime);
    }
    Ok(references)
}
