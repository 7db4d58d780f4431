//! `envoi approve`, `deny` and `answer`: record a person's decision, after which the run goes on.

use crate::{
    process::{
        args::{AnswerArgs, ApproveArgs, Decision, DenyArgs, Form, Reply},
        environment,
        failure::Failure,
        files,
    },
    session::{
        background, edited, engine_client,
        interactive::{self, Conversation},
    },
    store::{attachment, home::Home, select},
    view::{amount, form, live::Live, printer::Printer},
};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::{Object, Value},
    user_envelope::{self, AttachmentRef},
};
use envoi_engine::protocol::{AnswerRequest, Request};
use envoi_flow::answers;
use envoi_journal::Reader;
use envoi_kernel::{
    Run,
    event::{About, Choice, InterruptRaised},
    ids::{InterruptId, Principal, RunId},
    input::Answer,
};
use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

/// The options of a command, before the question is known.
pub(crate) struct AnswerOptions<'a> {
    /// The name of the command.
    pub(crate) command: &'static str,
    choice: Option<Choice>,
    text: Option<String>,
    raise: Option<&'a str>,
    envelope: Option<&'a Path>,
    form: Option<&'a Form>,
}

impl<'a> AnswerOptions<'a> {
    /// The options of `envoi approve`.
    pub(crate) fn approve(args: &'a ApproveArgs) -> Self {
        let choice = Some(Choice::Approve);
        let text = args.note.clone();
        Self { command: "approve", choice, text, raise: None, envelope: None, form: Some(&args.form) }
    }

    /// The options of `envoi deny`.
    pub(crate) fn deny(args: &DenyArgs) -> Self {
        let choice = Some(Choice::Deny);
        let text = args.reason.clone();
        Self { command: "deny", choice, text, raise: None, envelope: None, form: None }
    }

    /// The options of `envoi answer`. Reads the text from stdin if it is `-`.
    pub(crate) fn answer(args: &'a AnswerArgs) -> Result<Self, Failure> {
        let text = match args.text.as_deref() {
            Some("-") => Some(read(Path::new("-"))?),
            text => text.map(str::to_owned),
        };
        let raise = args.raise.as_deref();
        let choice = args.choice.map(chosen).or(raise.map(|_| Choice::Raise));
        let envelope = args.envelope.as_deref();
        let form = Some(&args.form);
        Ok(Self { command: "answer", choice, text, raise, envelope, form })
    }
}

pub(crate) fn approve(home: &Home, args: &ApproveArgs) -> Result<u8, Failure> {
    give(home, &args.reply, &AnswerOptions::approve(args))
}

pub(crate) fn deny(home: &Home, args: &DenyArgs) -> Result<u8, Failure> {
    give(home, &args.reply, &AnswerOptions::deny(args))
}

pub(crate) fn answer(home: &Home, args: &AnswerArgs) -> Result<u8, Failure> {
    give(home, &args.reply, &AnswerOptions::answer(args)?)
}

fn chosen(decision: Decision) -> Choice {
    match decision {
        Decision::Approve => Choice::Approve,
        Decision::Deny => Choice::Deny,
        Decision::Respond => Choice::Respond,
        Decision::Proceed => Choice::Proceed,
        Decision::Again => Choice::Again,
        Decision::Ours => Choice::Ours,
        Decision::Theirs => Choice::Theirs,
        Decision::Edit => Choice::Edit,
        Decision::Stop => Choice::Stop,
        Decision::Rerun => Choice::Rerun,
        Decision::Fail => Choice::Fail,
    }
}

fn give(home: &Home, reply: &Reply, given: &AnswerOptions<'_>) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let (interrupt, id) = select::question(&reader, reply.question.as_deref(), given.command)?;
    // Checked first, so that no person fills in a form that cannot be accepted.
    envoi_engine::check_not_aside(&reader, &id)?;
    let run = envoi_engine::load_run(&reader, &id)?;
    let question = Question { reader: &reader, run: &run, id: &id, interrupt: &interrupt };
    let tenant = reader.tenant_of(&id).map_err(Failure::store)?;
    let by =
        tenant.map_or_else(environment::principal, |tenant| Principal { tenant, ..environment::principal() });
    let mut attach = |path: &Path| attachment::attach(&store, &by, path);
    let mut answer = composed(question, &environment::principal(), reply, given, &mut attach)?;
    if answer.choice == Choice::Edit
        && answer.data.is_none()
        && let Some(raised) = run.interrupts().find(|raised| raised.interrupt == interrupt)
    {
        let (data, attached) = edited::data(&store.layout().run(&id), raised, &mut attach)?;
        answer.data = Some(data);
        answer.attachments.extend(attached);
    }
    for file in attachment::unreadable(&reader, &answer.attachments) {
        let name = file.filename.as_deref().unwrap_or(&file.artifact_id);
        crate::process::messages::say(&format!(
            "warning: the store does not have `{name}` ({}); steps will not be able to read it",
            file.digest
        ));
    }
    let caller = crate::session::caller::caller_of(&run);
    drop(reader);
    let follow = !reply.no_resume;
    let request = Request::Answer(Box::new(AnswerRequest { run: id.clone(), answer, follow, caller }));
    if reply.engine.detach {
        let run = background::detach(&store, &request, reply.engine.jobs)?;
        return background::print_run(&run, home.json);
    }
    let mut conversation = Conversation::new(id.clone(), home.json);
    let flow = run.versions().clone();
    let view =
        |run: &RunId| Live::of_run(run, flow.clone(), store.layout(), store.reader().ok()).filter(|_| follow);
    let mut printer = Printer::new(id, home.json)
        .reads(store.reader().ok())
        .live(view)
        .watches(store.layout())
        .asks_in_place(conversation.is_possible());
    engine_client::ask(&store, request, &reply.engine, &mut printer, &mut conversation)
}

/// The question that is answered.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) run: &'a Run,
    pub(crate) id: &'a RunId,
    pub(crate) interrupt: &'a InterruptId,
}

/// Builds the answer from the options. `attach` copies a file to where the answer is sent.
pub(crate) fn composed(
    question: Question<'_>,
    by: &Principal,
    reply: &Reply,
    given: &AnswerOptions<'_>,
    attach: &mut dyn FnMut(&Path) -> Result<AttachmentRef, Failure>,
) -> Result<Answer, Failure> {
    let raised = question.run.interrupts().find(|raised| raised.interrupt == *question.interrupt);
    let mut answer = Answer {
        text: given.text.clone(),
        seen: reply.seen.as_deref().map(digest).transpose()?,
        channel: "cli".to_owned(),
        ..Answer::new(question.interrupt.clone(), given.choice.unwrap_or(Choice::Respond), by.clone())
    };
    // If the question is closed, the engine reports how it was closed.
    if let Some(raised) = raised {
        answer.choice = given.choice.map_or_else(|| presumed(question.run, raised), Ok)?;
        answer.raise = given
            .raise
            .map(|more| amount::read_amount(raised, more))
            .transpose()
            .map_err(|error| misfit(error.to_string()))?;
        answer.data = filled(question, raised, answer.choice, given.form, by)?;
    }
    for path in &reply.files {
        answer.attachments.push(attach(path)?);
    }
    if let Some(path) = given.envelope {
        let envelope = user_envelope::parse(&read(path)?, true, &answer.attachments).map_err(|refusal| {
            let message = format!("{}: {}", path.display(), refusal.reason);
            Failure::new(refusal.code(), message).hint("nothing was answered; `envoi schema user-envelope`")
        })?;
        (answer.text, answer.attachments) = (Some(envelope.text), envelope.attachments);
    }
    Ok(answer)
}

fn misfit(message: String) -> Failure {
    Failure::new(Code::AnswerInvalid, message)
}

fn digest(text: &str) -> Result<Digest, Failure> {
    Digest::parse(text).ok_or_else(|| {
        let message = format!("`{text}` is not `sha256:` and 64 hexadecimal digits");
        Failure::new(Code::AnswerInvalid, message).hint("`envoi show INT` prints the digest of what is shown")
    })
}

/// Returns the choice that a text implies. Only a question that accepts text needs no explicit decision.
fn presumed(run: &Run, raised: &InterruptRaised) -> Result<Choice, Failure> {
    let accepted = run.accepts(raised);
    if accepted.contains(&Choice::Respond) {
        return Ok(Choice::Respond);
    }
    let words: Vec<&str> = accepted.iter().map(|choice| choice.word()).collect();
    let message = format!("question `{}` takes a decision: {}", raised.interrupt, words.join(", "));
    Err(Failure::new(Code::AnswerInvalid, message)
        .hint("give the decision with --choice; --text may go with it"))
}

/// Returns the form, if the question has one: from the options, or from the person at the terminal.
fn filled(
    question: Question<'_>,
    raised: &InterruptRaised,
    choice: Choice,
    given: Option<&Form>,
    by: &Principal,
) -> Result<Option<Value>, Failure> {
    let asks = question.run.step(&raised.visit).and_then(|step| step.asks());
    let schema = asks.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.as_ref());
    let says_yes = matches!(choice, Choice::Approve | Choice::Respond | Choice::Proceed);
    let given_any = given.is_some_and(|form| form.data.is_some() || !form.fields.is_empty());
    let Some(schema) = schema.filter(|_| says_yes) else {
        // These answers take any data: a reply to another agent, a changed tool call, and a decision about files in
        // conflict.
        let is_free = raised.about == About::Agent && says_yes || choice == Choice::Edit;
        let free = given.filter(|_| is_free);
        if let Some(given) = free.filter(|_| given_any) {
            let any = Value::Object(Object::from([("type", Value::from("object"))]));
            return form::given(&any, given);
        }
        return match given_any {
            false => Ok(None),
            true => Err(Failure::new(
                Code::AnswerInvalid,
                "this choice takes no form; leave out --field and --data",
            )),
        };
    };
    let form = given.map(|given| form::given(schema, given)).transpose()?.flatten();
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    // Without a form, the defaults may be enough. If they are not, a person at a terminal fills in the form.
    // Without a terminal, the engine refuses the answer.
    if form.is_some() || !is_terminal || answers::complete(schema, None).is_ok() {
        return Ok(form);
    }
    interactive::form(question.reader, question.id, raised, schema, by).map(Some)
}

/// Reads a file as text, or stdin for `-`.
fn read(path: &Path) -> Result<String, Failure> {
    let bad = |reason: String| Failure::new(Code::AnswerInvalid, format!("{}: {reason}", path.display()));
    let is_stdin = path == Path::new("-");
    let read = if is_stdin { files::bounded(io::stdin().lock()) } else { files::read(path) };
    let bytes = read.map_err(|error| bad(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8".to_owned()))
}
