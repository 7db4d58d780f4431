//! The bridge: calls models for commands and for other systems, and charges the run that pays.
//!
//! There are several ways to call a model. `POST /api/llm-bridge` takes a text and its attachments, and makes
//! the checks of contract 5 in their order. The others are the protocols of providers, passed through: each
//! is for the models whose providers use that protocol. A call is counted in the journal before a byte goes
//! to a provider. It is charged with the usage that the provider reports, before the end of its answer is
//! passed on. A call is refused before the model is called, or not at all. This module decides nothing about
//! a run: the kernel decides whether a call may begin.

mod caller;
mod chat_request;
mod file_parts;
mod message_request;
mod meter;
mod parse;
mod pass_through;
mod refusal;
mod sse;

use crate::{
    admission,
    http::{
        body::{self, discard},
        problem::Problem,
        response,
        work::{blocking, in_time},
    },
    limits::{
        byte_limit::{ByteLimit, KeptBytes},
        concurrency_limit::Permit,
    },
    models::{
        catalog::{ChosenModel, Models, Provider},
        provider::{PostError, ProviderError, ProviderResponse},
        usage,
    },
    operation::Operation,
    state::{app::App, contexts},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    response::Response,
};
use bytes::Bytes;
use caller::{Account, Caller};
use chat_request::ChatRequest;
use envoi_contract::{time::Timestamp, user_envelope};
use envoi_kernel::event::CallOutcome;
use envoi_preset::{
    Class, Masking,
    protocol::{Protocol, rejection},
};
use file_parts::FileParts;
use message_request::MessageRequest;
use meter::{Denied, Meter};
use parse::parse;
pub(crate) use refusal::SHOULD_RETRY;
use refusal::{ErrorShape, Refusal, TURN_PATH};
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum size of a message's body, in bytes (contract 5).
const MAX_TURN: u64 = 1_000_000;

/// Maximum size of an OpenAI API request, in bytes. It contains whole conversations; the JSON reader accepts
/// no more.
const MAX_CHAT: u64 = 16 * 1024 * 1024;

/// The path, below that of messages, that counts the tokens of a request. It does not call a model, and costs
/// nothing.
const COUNT: &str = "/count_tokens";

/// The caller of this request, if it is allowed to call. Host and origin are checked as for every request,
/// then the token.
pub(crate) async fn admit(app: &Arc<App>, parts: &Parts) -> Result<Option<Caller>, Problem> {
    admission::check_host_and_origin(app, parts)?;
    let Some(token) = caller::token(&parts.headers) else { return Ok(None) };
    let shared = Arc::clone(app);
    blocking(move || caller::of(&shared, &token)).await
}

/// The answer to a request without a valid token.
pub(crate) fn forbidden() -> Response {
    Refusal::Forbidden.into_response(ErrorShape::Chat)
}

/// Whether a path belongs to the bridge, even if it has no operation.
pub(crate) fn is_below(path: &str) -> bool {
    path.strip_prefix(TURN_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The answer at `path` to a problem outside the bridge: the request was not admitted, or has the wrong
/// method.
pub(crate) fn refused(path: &str, problem: Problem) -> Response {
    Refusal::from(problem).into_response(ErrorShape::of(path))
}

/// Carries out an operation of the bridge.
pub(crate) async fn perform(app: Arc<App>, operation: &'static Operation, mut request: Request) -> Response {
    let Some(caller) = request.extensions_mut().remove::<Caller>() else { return forbidden() };
    let tenant = caller.tenant.clone();
    let (parts, mut body) = request.into_parts();
    let permit = app.model_calls.acquire(&format!("{tenant}/{}", caller.name));
    let request = BridgeRequest { app: Arc::clone(&app), caller, headers: parts.headers };
    let (shape, done) = match (operation.id, permit) {
        ("listModels", _) => (ErrorShape::Chat, Ok(request.list())),
        ("callModel", Some(permit)) => (ErrorShape::Bridge, request.turn(&mut body, permit).await),
        ("callModel", None) => (ErrorShape::Bridge, Err(Refusal::TooMany)),
        (id, permit) => {
            let (protocol, shape) = match id {
                "createMessage" | "countMessageTokens" => (Protocol::Messages, ErrorShape::Messages),
                "createResponse" => (Protocol::Responses, ErrorShape::Chat),
                _ => (Protocol::Chat, ErrorShape::Chat),
            };
            let done = match permit {
                Some(permit) if id == "countMessageTokens" => request.count(&mut body, permit).await,
                Some(permit) => request.pass_on(protocol, &mut body, permit).await,
                None => Err(Refusal::TooMany),
            };
            (shape, done)
        }
    };
    let response = match done {
        Ok(response) => response,
        Err(refusal) => {
            if let Refusal::Problem(problem) = &refusal {
                app.note(problem);
            }
            let mut response = refusal.into_response(shape);
            if discard(body).await {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    };
    app.request_counts.count(&tenant, operation.id, response.status().as_u16());
    response
}

/// A request with a valid token.
struct BridgeRequest {
    app: Arc<App>,
    caller: Caller,
    headers: HeaderMap,
}

impl BridgeRequest {
    /// `listModels`.
    fn list(&self) -> Response {
        let models = &self.app.settings.models;
        let there = models.offer.iter().filter(|(_, offer)| models.providers.contains_key(&offer.provider));
        let data: Vec<Value> = there
            .map(|(id, offer)| json!({"id": id, "object": "model", "created": 0, "owned_by": offer.provider}))
            .collect();
        response::json(200, json!({"object": "list", "data": data}).to_string())
    }

    /// `callModel`. The order of the checks is that of contract 5.
    async fn turn(self, body: &mut Body, permit: Permit) -> Result<Response, Refusal> {
        let (body, mut kept) = self.body(body, MAX_TURN).await?;
        let body_bytes = body.len();
        let read = |models: &Models, body: &[u8]| {
            let turn = MessageRequest::read(body)?;
            let chosen = models.choose(turn.model.as_deref(), Protocol::Chat).map_err(Refusal::NoModel)?;
            let envelope = user_envelope::parse(&turn.user, turn.user_envelope, &turn.attachments)
                .map_err(|refused| Refusal::Envelope(refused.reason))?;
            Ok((turn, chosen, envelope))
        };
        let (turn, chosen, envelope) = self.parse(body, read).await?;
        let account = self.account().await?;
        let files = self.files(&account, &turn, envelope.attachments);
        // The files get memory before the call is counted.
        let weight = self.weight(&files).await?;
        if !kept.add(weight) {
            return Err(no_room(&self.app.model_bodies, size(body_bytes).saturating_add(weight)));
        }
        // The files are read only after that, so that a caller without budget causes no reading.
        let mut meter = self.meter(account, chosen, permit).await?;
        let given = match self.read_files(files).await {
            Ok(given) => given,
            Err(refusal) => {
                meter.end_unasked().await;
                return Err(refusal);
            }
        };
        let request = message(&meter.chosen().offer.name, &envelope.text, turn.system.as_deref(), given);
        // Besides the files, the request contains the text of the body again, and escapes make it longer.
        let bytes = size(body_bytes).saturating_add(size(request.len()));
        if !kept.set(bytes) {
            meter.end_unasked().await;
            return Err(no_room(&self.app.model_bodies, bytes));
        }
        let mut answer = self.ask(&mut meter, Protocol::Chat, request).await?;
        drop(kept);
        let whole = self.whole(&mut meter, &mut answer).await?;
        let document: Value = serde_json::from_slice(&whole).unwrap_or(Value::Null);
        meter.used(usage::read(&document));
        let text = document.pointer("/choices/0/message/content").and_then(Value::as_str);
        let text = text.map(|text| meter.chosen().provider.text_without_key(text));
        let answer = match text {
            Some(text) if answer.status.is_success() => Ok(text),
            _ if answer.status.is_success() => Err("its answer is no chat completion".to_owned()),
            _ => Err(format!("it answered with status {}", answer.status.as_u16())),
        };
        meter.end(if answer.is_ok() { CallOutcome::Ok } else { CallOutcome::Failed }).await;
        let text = answer.map_err(|reason| Refusal::Provider(format!("the model's provider: {reason}")))?;
        let usage = meter.usage();
        let cost = usage.and_then(|usage| meter.chosen().offer.cost(usage));
        let usage = json!({
            "tokens_in": usage.map(|usage| usage.tokens_in),
            "tokens_out": usage.map(|usage| usage.tokens_out),
            "cost_usd": cost.map(|cost| cost.to_string()),
        });
        Ok(response::json(
            200,
            json!({"text": text, "model": meter.chosen().model, "usage": usage}).to_string(),
        ))
    }

    /// `completeChat`, `createResponse` and `createMessage`.
    async fn pass_on(self, protocol: Protocol, body: &mut Body, permit: Permit) -> Result<Response, Refusal> {
        let (body, kept) = self.body(body, MAX_CHAT).await?;
        let read: Read = match protocol {
            Protocol::Chat => |models, body| for_provider(Protocol::Chat, models, body),
            Protocol::Responses => |models, body| for_provider(Protocol::Responses, models, body),
            Protocol::Messages => |models, body| for_provider(Protocol::Messages, models, body),
        };
        let ForProvider { chosen, streams, wants_usage, request } = self.parse(body, read).await?;
        let account = self.account().await?;
        if account.astray {
            // A client of this API would not notice that no run pays for the call.
            return Err(Refusal::one(contexts::HEADER, "names no run of this tenant, or several"));
        }
        let mut meter = self.meter(account, chosen, permit).await?;
        let mut answer = self.ask(&mut meter, protocol, request).await?;
        drop(kept);
        let kind = answer.kind.clone();
        let provider = meter.chosen().provider.clone();
        let limits = core::mem::take(&mut answer.limits);
        let is_stream = kind.as_ref().is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = if streams && answer.status.is_success() && is_stream {
            let status = answer.status;
            let events = pass_through::stream(answer, meter, wants_usage, self.app.stopping.clone());
            (status, None, Body::from_stream(events))
        } else {
            let mut whole = self.whole(&mut meter, &mut answer).await?;
            meter.used(usage::read(&serde_json::from_slice(&whole).unwrap_or(Value::Null)));
            let ok = answer.status.is_success();
            if !ok {
                meter.refused(refused_until(&answer, &limits, &whole, self.app.now()));
            }
            meter.end(if ok { CallOutcome::Ok } else { CallOutcome::Failed }).await;
            whole = without_key(&provider, whole, is_stream).await?;
            (answer.status, answer.retry_after.take(), Body::from(whole))
        };
        let (status, retry_after, body) = body;
        let mut response = response::of(status.as_u16(), "application/json", body);
        let own = [(header::CONTENT_TYPE, kind), (header::RETRY_AFTER, retry_after)];
        for (name, value) in own.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            if let Some(value) = provider.header_without_key(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response.headers_mut().extend(limits_without_key(&provider, limits));
        Ok(response)
    }

    /// `countMessageTokens`.
    async fn count(self, body: &mut Body, _permit: Permit) -> Result<Response, Refusal> {
        let (body, _kept) = self.body(body, MAX_CHAT).await?;
        let read: Read = |models, body| for_provider(Protocol::Messages, models, body);
        let ForProvider { chosen, request, .. } = self.parse(body, read).await?;
        let path = format!("{}{COUNT}", Protocol::Messages.path());
        let given = given(&self.headers);
        let counting = async {
            let mut answer = self.app.providers.post(&chosen.provider, &path, &given, None, request).await?;
            let whole = answer.whole().await?;
            Ok::<_, PostError>((answer, whole))
        };
        let mut stopping = self.app.stopping.clone();
        let done = tokio::select! {
            done = counting => done,
            () = pass_through::stop_requested(&mut stopping) => return Err(Refusal::BrokenOff),
        };
        let (answer, whole) = done.map_err(|failed| self.failed(&chosen.offer.provider, failed))?;
        let whole = without_key(&chosen.provider, whole, false).await?;
        let mut response = response::of(answer.status.as_u16(), "application/json", Body::from(whole));
        response.headers_mut().extend(limits_without_key(&chosen.provider, answer.limits));
        Ok(response)
    }

    /// Logs why a provider gave no answer, and makes the refusal for the client.
    fn failed(&self, provider: &str, failed: PostError) -> Refusal {
        let (ProviderError(reason), refusal) = match failed {
            PostError::Unreached(failed) => (failed, Refusal::Unreached),
            PostError::Reached(failed) => {
                let message =
                    "the model's provider received the request, and broke off or did not answer in time";
                (failed, Refusal::Provider(message.to_owned()))
            }
        };
        (self.app.settings.log)(&format!("provider {provider}: {reason}"));
        refusal
    }

    /// Reads the body. Its bytes count as kept until the second value is dropped, that is, until a provider
    /// has answered.
    async fn body(&self, body: &mut Body, limit: u64) -> Result<(Bytes, KeptBytes), Refusal> {
        let mut kept = self.app.model_bodies.begin(&self.caller.tenant, &self.caller.name);
        let may_keep = |bytes| if kept.add(size(bytes)) { Ok(()) } else { Err(Refusal::TooManyBytes) };
        let whole = in_time(self.app.settings.limits.request, body::whole_if(body, limit, may_keep)).await?;
        Ok((whole.ok_or(Refusal::TooLarge(limit))?, kept))
    }

    /// Parses a body, in turns of tenants.
    async fn parse<T: Send + 'static>(
        &self,
        body: Bytes,
        read: fn(&Models, &[u8]) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let app = Arc::clone(&self.app);
        let longest = self.app.settings.limits.request;
        parse(&self.app.parse_turns, &self.caller.tenant, longest, body, move |body| {
            read(&app.settings.models, body)
        })
        .await
    }

    async fn account(&self) -> Result<Account, Refusal> {
        let app = Arc::clone(&self.app);
        let caller = self.caller.clone();
        let headers = self.headers.clone();
        Ok(blocking(move || caller.account(&app, &headers)).await?)
    }

    /// The files of a message. They must belong to the tenant. No file is used if no run pays, or if the request
    /// names two different runs.
    fn files(
        &self,
        account: &Account,
        turn: &MessageRequest,
        references: Vec<user_envelope::AttachmentRef>,
    ) -> NamedFiles {
        let run = account.run.as_ref().map(|run| run.as_str());
        let agrees = turn.agent_run.as_deref().is_none_or(|named| Some(named) == run);
        let tenant = match run {
            None => Err("the request names no run"),
            Some(_) if account.contradicted || !agrees => Err("the request names two different runs"),
            Some(_) => Ok(self.caller.tenant.clone()),
        };
        NamedFiles { tenant, references }
    }

    /// The approximate size of the files in a request, in bytes. Reads no file.
    async fn weight(&self, files: &NamedFiles) -> Result<u64, Refusal> {
        let Some(files) = files.clone().filled() else { return Ok(0) };
        let app = Arc::clone(&self.app);
        Ok(blocking(move || Ok(file_parts::weight(&app, files.tenant(), &files.references))).await?)
    }

    /// Reads the files as parts for the model.
    async fn read_files(&self, files: NamedFiles) -> Result<FileParts, Refusal> {
        let Some(files) = files.filled() else { return Ok(FileParts::default()) };
        // The semaphore is never closed.
        let _reading = self.app.file_reads.acquire().await;
        let app = Arc::clone(&self.app);
        Ok(blocking(move || Ok(file_parts::read(&app, files.tenant(), &files.references))).await?)
    }

    /// Counts the call.
    async fn meter(&self, account: Account, chosen: ChosenModel, permit: Permit) -> Result<Meter, Refusal> {
        Meter::begin(&self.app, account, chosen, permit).await.map_err(|denied| match denied {
            Denied::Exhausted(detail) => Refusal::Exhausted(detail),
            Denied::AttemptOver => Refusal::Forbidden,
            Denied::RunOver(detail) => Refusal::RunOver(detail),
            Denied::Failed(problem) => Refusal::Problem(problem),
        })
    }

    /// Sends the request to the provider, and waits for the head of the response.
    async fn ask(
        &self,
        meter: &mut Meter,
        protocol: Protocol,
        request: Bytes,
    ) -> Result<ProviderResponse, Refusal> {
        let provider = meter.chosen().provider.clone();
        let given = if protocol == Protocol::Messages { given(&self.headers) } else { Vec::new() };
        let answer = self.app.providers.post(&provider, protocol.path(), &given, meter.trace(), request);
        self.unless_stopping(meter, answer).await
    }

    async fn whole(&self, meter: &mut Meter, answer: &mut ProviderResponse) -> Result<Bytes, Refusal> {
        self.unless_stopping(meter, answer.whole()).await
    }

    /// Waits for a provider. If it fails, or the server stops, the call ends.
    async fn unless_stopping<T>(
        &self,
        meter: &mut Meter,
        work: impl Future<Output = Result<T, impl Into<PostError>>>,
    ) -> Result<T, Refusal> {
        let mut stopping = self.app.stopping.clone();
        let done = tokio::select! {
            done = work => Some(done),
            () = pass_through::stop_requested(&mut stopping) => None,
        };
        match done {
            Some(Ok(done)) => Ok(done),
            None => {
                meter.end(CallOutcome::BrokenOff).await;
                Err(Refusal::BrokenOff)
            }
            Some(Err(failed)) => {
                meter.end(CallOutcome::Failed).await;
                Err(self.failed(&meter.chosen().offer.provider, failed.into()))
            }
        }
    }
}

/// The refusal of a request that does not fit into memory. Sending it again helps only if it can ever fit.
fn no_room(limit: &ByteLimit, bytes: u64) -> Refusal {
    let most = limit.most_alone();
    if bytes > most { Refusal::TooLargeWithFiles { bytes, most } } else { Refusal::TooManyBytes }
}

/// The files that a message refers to.
#[derive(Clone)]
struct NamedFiles {
    /// The tenant to which they must belong, or why none is used.
    tenant: Result<String, &'static str>,
    references: Vec<user_envelope::AttachmentRef>,
}

impl NamedFiles {
    fn filled(self) -> Option<Self> {
        Some(self).filter(|files| !files.references.is_empty())
    }

    fn tenant(&self) -> Result<&str, &str> {
        self.tenant.as_deref().map_err(|reason| *reason)
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The body of an answer without the provider's key, made on a blocking thread because the body may be large.
async fn without_key(provider: &Provider, body: Bytes, is_stream: bool) -> Result<Bytes, Refusal> {
    let provider = provider.clone();
    let clean = move || {
        Ok(match is_stream {
            true => provider.events_without_key(body),
            false => provider.without_key(body),
        })
    };
    Ok(blocking(clean).await?)
}

/// The headers about limits, without the provider's key.
fn limits_without_key(
    provider: &Provider,
    limits: Vec<(HeaderName, HeaderValue)>,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    limits.into_iter().filter_map(|(name, value)| Some((name, provider.header_without_key(value)?)))
}

/// Until when the provider's account is blocked, if it refuses a call for that reason and states a time.
fn refused_until(
    answer: &ProviderResponse,
    limits: &[(HeaderName, HeaderValue)],
    body: &[u8],
    now: Timestamp,
) -> Option<Timestamp> {
    let is_limit =
        rejection::failure(answer.status.as_u16(), body, Masking::default()).class == Class::Throttled;
    let header = |name: &str| {
        let of_limits = limits.iter().find(|(found, _)| found == name).map(|(_, value)| value);
        let after = answer.retry_after.as_ref().filter(|_| name == header::RETRY_AFTER.as_str());
        of_limits.or(after)?.to_str().ok()
    };
    is_limit.then(|| rejection::reset(header, body, now)).flatten()
}

type Read = fn(&Models, &[u8]) -> Result<ForProvider, Refusal>;

/// A request in the form that the provider gets.
struct ForProvider {
    chosen: ChosenModel,
    streams: bool,
    /// Whether the client gets the event that contains only usage.
    wants_usage: bool,
    request: Bytes,
}

fn for_provider(protocol: Protocol, models: &Models, body: &[u8]) -> Result<ForProvider, Refusal> {
    let request = ChatRequest::read(protocol, body)?;
    let chosen = models.choose(request.model.as_deref(), protocol).map_err(Refusal::NoModel)?;
    let streams = request.streams;
    let wants_usage = request.wants_usage;
    let request = request.for_provider(&chosen.offer.name);
    Ok(ForProvider { chosen, streams, wants_usage, request })
}

/// The headers of an Anthropic client that are meant for the provider: the version of the protocol, and its
/// beta features.
fn given(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let names = ["anthropic-version", "anthropic-beta"].map(HeaderName::from_static);
    let values = |name: HeaderName| {
        let values: Vec<_> = headers.get_all(&name).iter().cloned().collect();
        values.into_iter().map(move |value| (name.clone(), value))
    };
    names.into_iter().flat_map(values).collect()
}

/// The request for one message. Only `text` has the role of the user.
fn message(model: &str, text: &str, system: Option<&str>, given: FileParts) -> Bytes {
    let instructions: Vec<&str> = given.manifest.as_deref().into_iter().chain(system).collect();
    let content = if given.parts.is_empty() {
        Value::from(text)
    } else {
        [json!({"type": "text", "text": text})].into_iter().chain(given.parts).collect()
    };
    let system =
        (!instructions.is_empty()).then(|| json!({"role": "system", "content": instructions.join("\n\n")}));
    let messages: Vec<Value> =
        system.into_iter().chain([json!({"role": "user", "content": content})]).collect();
    json!({"model": model, "messages": messages}).to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_never_fits_is_not_to_be_sent_again() {
        let limit = ByteLimit::new(256);
        assert!(matches!(no_room(&limit, 96), Refusal::TooManyBytes));
        assert!(matches!(no_room(&limit, 97), Refusal::TooLargeWithFiles { bytes: 97, most: 96 }));
    }
}
