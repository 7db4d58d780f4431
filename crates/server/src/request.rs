//! A request in the form for operations: its sender, its parameters, its headers and its body.

use crate::{
    auth::{
        random,
        scope::{Scope, Scopes},
        token::Bearer,
    },
    http::{body, only_header::only, problem::Problem},
    operation::{MAX_NUMBER, MAX_PAGE, Operation},
    state::app::App,
};
use axum::{
    body::Body,
    extract::{FromRequestParts as _, RawPathParams},
    http::{HeaderMap, HeaderName, request::Parts},
};
use bytes::Bytes;
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use envoi_journal::StartKey;
use envoi_kernel::ids::{Principal, RunId};
use envoi_tree::Stop;

/// Default number of rows in a page.
const PAGE: u32 = 50;

/// Maximum length of an `Idempotency-Key`. The pattern of its parameter in [`crate::operation`] has the same
/// length.
const MAX_KEY: usize = 200;

/// A request of an admitted client.
#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub(crate) bearer: Bearer,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Requested when the client no longer waits for the answer; used only by operations that may take long.
    pub(crate) stop: Stop,
    params: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

impl Default for ApiRequest {
    /// A request without a sender, for operations that do not use it.
    fn default() -> Self {
        let bearer = Bearer {
            id: String::new(),
            name: String::new(),
            tenant: String::new(),
            scopes: Scopes::new([]),
            session: None,
        };
        Self {
            bearer,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            stop: Stop::default(),
            params: Vec::new(),
            query: Vec::new(),
        }
    }
}

impl ApiRequest {
    /// Everything except the body.
    pub(crate) async fn of(parts: &mut Parts, bearer: Bearer) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, &())
            .await
            .map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
        let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| Problem::bad_request(error.body_text()))?
            .0;
        Ok(Self {
            bearer,
            headers: parts.headers.clone(),
            body: Bytes::new(),
            stop: Stop::default(),
            params,
            query,
        })
    }

    /// Reads the body, of at most `limit` bytes.
    pub(crate) async fn read_body(&mut self, body: &mut Body, limit: u64) -> Result<(), Problem> {
        self.body = body::whole(body, limit).await?.ok_or_else(|| Problem::too_large(limit))?;
        Ok(())
    }

    /// A parameter of the path.
    pub(crate) fn param(&self, name: &str) -> &str {
        find(&self.params, name).unwrap_or_default()
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }

    /// All parameters of the query.
    pub(crate) fn queries(&self) -> &[(String, String)] {
        &self.query
    }

    /// Checks that `operation` knows each query parameter, and that none occurs twice: a parameter that is
    /// not read would change the answer unnoticed.
    pub(crate) fn check_query(&self, operation: &Operation) -> Result<(), Problem> {
        let is_known = |name: &str| operation.query_names().any(|known| known == name);
        for (nth, (name, _)) in self.query.iter().enumerate() {
            if !is_known(name) {
                let known: Vec<String> = operation.query_names().map(|name| format!("`{name}`")).collect();
                let expected = match known.is_empty() {
                    true => "it takes none".to_owned(),
                    false => format!("expected {}", known.join(", ")),
                };
                let detail = format!("`{}` has no parameter `{name}` in its query; {expected}", operation.id);
                return Err(Problem::bad_request(detail));
            }
            if self.query.iter().skip(nth.saturating_add(1)).any(|(other, _)| other == name) {
                return Err(Problem::bad_request(format!(
                    "the parameter `{name}` stands twice in the query"
                )));
            }
        }
        Ok(())
    }

    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A number in the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let read = |text: &str| {
            let bad = || Problem::bad_request(format!("`{name}` is not a whole number"));
            text.parse::<u64>().map_err(|_| bad())
        };
        self.query(name).map(read).transpose()
    }

    /// The number of rows in a page.
    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        let Some(number) = self.number("limit")? else { return Ok(PAGE) };
        let fitting = u32::try_from(number).ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
        fitting.ok_or_else(|| Problem::bad_request(format!("`limit` is not from 1 to {MAX_PAGE}")))
    }

    /// The first event that the client has not seen, for lists of a run's events.
    pub(crate) fn after(&self) -> Result<u64, Problem> {
        let after = self.number("after")?;
        if after.is_some_and(|after| after > MAX_NUMBER) {
            return Err(Problem::bad_request(format!("`after` is not from 0 to {MAX_NUMBER}")));
        }
        Ok(after.map_or(0, |after| after.saturating_add(1)))
    }

    /// A parameter of the query that is `true` or `false`; false by default.
    pub(crate) fn truth(&self, name: &str) -> Result<bool, Problem> {
        match self.query(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::bad_request(format!("`{name}` is neither `true` nor `false`"))),
        }
    }

    /// Whether events are requested in the form that the journal stores.
    pub(crate) fn wants_stored(&self) -> Result<bool, Problem> {
        match self.query("form") {
            None | Some("shown") => Ok(false),
            Some("stored") => Ok(true),
            Some(_) => Err(Problem::bad_request("`form` is neither `shown` nor `stored`")),
        }
    }

    /// The id of the last event that the client of a stream has received.
    pub(crate) fn last_event_id(&self) -> Option<&str> {
        self.headers.get("last-event-id").map(|value| value.to_str().unwrap_or(""))
    }

    /// The client's trace. `None` if there are several headers.
    pub(crate) fn traceparent(&self) -> Option<&str> {
        only(&self.headers, "traceparent")?.to_str().ok()
    }

    /// The idempotency key of a request.
    pub(crate) fn key(&self) -> Result<Option<&str>, Problem> {
        let Some(value) = self.headers.get("idempotency-key") else { return Ok(None) };
        let printable = |key: &&str| key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let key = value.to_str().ok().filter(|key| (1..=MAX_KEY).contains(&key.len())).filter(printable);
        key.map(Some).ok_or_else(|| {
            Problem::bad_request(format!("`Idempotency-Key` is not 1 to {MAX_KEY} printable characters"))
        })
    }

    /// The id, for the engine, of a decision about `run` that a client may send twice. It is made from the
    /// key, if there is one, and the operation.
    ///
    /// # Errors
    /// `KEY_REUSED`: the key was used before with another body.
    pub(crate) fn request_id(&self, app: &App, operation: &str, run: &RunId) -> Result<String, Problem> {
        let Some(of) = self.request_of(operation)? else {
            return Ok(random::id("req_", app.now())?);
        };
        let id = known_as(&of);
        let body_text = Value::Object(self.object()?).compact();
        let wanted = StartKey {
            tenant: self.bearer.tenant.clone(),
            key: of,
            body: Digest::of(body_text.as_bytes()),
            run: run.clone(),
        };
        let kept = app.store.keep_start(&wanted, app.now())?;
        if kept.body == wanted.body { Ok(id) } else { Err(Problem::key_reused()) }
    }

    /// Whether the journal has the decision of this request, which was sent before with the same key.
    pub(crate) fn was_done(&self, app: &App, operation: &str, run: &RunId) -> Result<bool, Problem> {
        let Some(of) = self.request_of(operation)? else { return Ok(false) };
        app.read(|reader| reader.has_request(run, &known_as(&of)).map_err(Problem::from))
    }

    /// The identity of this request, independent of its body. `None` without a key. A key belongs to the
    /// token that sends it.
    fn request_of(&self, operation: &str) -> Result<Option<String>, Problem> {
        let params: Vec<&str> = self.params.iter().map(|(_, value)| value.as_str()).collect();
        let of = |key| format!("{operation}\n{}\n{}\n{key}", self.bearer.id, params.join("\n"));
        Ok(self.key()?.map(of))
    }

    /// The members of a JSON body, after a check that all are known; empty for an empty body. Older clients send
    /// `reason` as `why`.
    pub(crate) fn members(&self, known: &[&str]) -> Result<Object, Problem> {
        let mut members = self.object()?;
        let takes_a_reason = known.contains(&"reason") && !members.contains_key("reason");
        if takes_a_reason && let Some(reason) = members.remove("why") {
            members.insert("reason", reason);
        }
        if let Some(unknown) = members.keys().find(|name| !known.contains(name)) {
            let expected = match known {
                [] => "no body".to_owned(),
                known => known.join(", "),
            };
            let detail = format!("unknown member `{unknown}`; expected {expected}");
            return Err(Problem::bad_request(detail));
        }
        Ok(members)
    }

    fn object(&self) -> Result<Object, Problem> {
        if self.body.is_empty() {
            return Ok(Object::new());
        }
        match Value::parse(&self.body).map_err(|error| Problem::bad_request(error.to_string()))? {
            Value::Object(members) => Ok(members),
            _ => Err(Problem::bad_request("the body is not a JSON object")),
        }
    }

    /// The sender in the form for the journal.
    pub(crate) fn principal(&self) -> Principal {
        Principal { tenant: self.bearer.tenant.clone(), actor: self.bearer.name.clone() }
    }

    /// Checks that the sender may answer questions, because `what` has the same effect.
    pub(crate) fn require_answer(&self, what: &str) -> Result<(), Problem> {
        if self.bearer.scopes.allow(&[Scope::Answer]) {
            return Ok(());
        }
        Err(Problem::scope_too_small(&format!("{what}: that also"), [Scope::Answer.word()]))
    }

    /// The run in the path, if it belongs to the tenant.
    pub(crate) fn run(&self, app: &App) -> Result<RunId, Problem> {
        self.run_named(app, self.param("run"))
    }

    /// The run with this id, if it belongs to the tenant. Another tenant's run gives the same error as a
    /// missing one.
    pub(crate) fn run_named(&self, app: &App, id: &str) -> Result<RunId, Problem> {
        let run = RunId::new(id).map_err(|_| Problem::no_run(id))?;
        let tenant = app.read(|reader| reader.tenant_of(&run).map_err(Problem::from))?;
        match tenant {
            Some(tenant) if tenant == self.bearer.tenant => Ok(run),
            _ => Err(Problem::no_run(id)),
        }
    }
}

/// The engine's id of a request with a key.
fn known_as(of: &str) -> String {
    format!("req_{}", Digest::of(of.as_bytes()).hex())
}

fn find<'c>(pairs: &'c [(String, String)], name: &str) -> Option<&'c str> {
    pairs.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

/// The boolean value of a member; `false` if it is missing.
pub(crate) fn flag(members: &Object, name: &str) -> Result<bool, Problem> {
    match members.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Problem::bad_request(format!("`{name}` is neither `true` nor `false`"))),
    }
}

/// The string value of a member. `None` if it is missing or null.
pub(crate) fn text<'m>(members: &'m Object, name: &str) -> Result<Option<&'m str>, Problem> {
    if members.get(name).is_some_and(Value::is_null) { Ok(None) } else { word(members, name) }
}

/// A string with a particular form, such as one of several values. Null is not such a value, and not the same
/// as absence.
pub(crate) fn word<'m>(members: &'m Object, name: &str) -> Result<Option<&'m str>, Problem> {
    match members.get(name) {
        None => Ok(None),
        Some(value) => {
            let bad = || Problem::bad_request(format!("`{name}` is not a string"));
            value.as_str().map(Some).ok_or_else(bad)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation;

    #[test]
    fn a_parameter_that_is_not_read_is_refused_and_named() {
        let said = |id: &str, query: &[(&str, &str)]| {
            let operation = operation::ALL.iter().find(|operation| operation.id == id).unwrap();
            let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let request = ApiRequest { query, ..ApiRequest::default() };
            request.check_query(operation).err().map(|problem| problem.detail)
        };
        assert_eq!(said("listRuns", &[("status", "failed"), ("limit", "3")]), None);
        assert_eq!(said("getRun", &[]), None);
        let unknown = said("listRuns", &[("limit", "3"), ("stauts", "failed")]).unwrap();
        assert!(unknown.contains("`stauts`") && unknown.contains("`status`, "), "{unknown}");
        let none = said("getRun", &[("full", "")]).unwrap();
        assert!(none.contains("`full`") && none.ends_with("it takes none"), "{none}");
        let twice = said("listRuns", &[("status", "failed"), ("status", "succeeded")]).unwrap();
        assert!(twice.contains("`status` stands twice"), "{twice}");
    }

    #[test]
    fn the_reason_of_an_older_client_is_read_where_a_reason_is_taken() {
        let read = |body: &str, known: &[&str]| {
            let request = ApiRequest { body: body.to_owned().into(), ..ApiRequest::default() };
            request.members(known).map(|members| Value::Object(members).compact()).map_err(|no| no.detail)
        };
        assert_eq!(read(r#"{"why":"a"}"#, &["choice", "reason"]).unwrap(), r#"{"reason":"a"}"#);
        assert_eq!(read(r#"{"reason":"a"}"#, &["choice", "reason"]).unwrap(), r#"{"reason":"a"}"#);
        for (body, known) in
            [(r#"{"reason":"a","why":"b"}"#, &["reason"][..]), (r#"{"why":"a"}"#, &["choice"])]
        {
            let refused = read(body, known).unwrap_err();
            assert!(refused.starts_with("unknown member `why`"), "{refused}");
        }
    }

    #[test]
    fn one_key_is_another_request_for_another_operation_and_for_another_token() {
        let mut request = ApiRequest::default();
        assert_eq!(request.request_of("raiseRun").unwrap(), None);
        request.headers.insert("idempotency-key", "k".parse().unwrap());
        let of = |operation: &str| request.request_of(operation).unwrap().unwrap();
        assert_eq!(of("raiseRun"), of("raiseRun"));
        assert_ne!(of("raiseRun"), of("resumeRun"));
        let first = of("raiseRun");
        request.bearer.id = "another".to_owned();
        assert_ne!(request.request_of("raiseRun").unwrap().unwrap(), first, "nor is it another token's");
    }
}
