//! Errors of A2A, in the form of each binding of each version.
//!
//! Owns the table of errors ([`Kind`]) and their three forms: the error of a JSON-RPC response in 1.0 and in 0.3, and
//! the body of an HTTP+JSON response (`google.rpc.Status`). It does not decide which error is right.
//!
//! In 1.0 a `google.rpc.ErrorInfo` has the kind of an error, and a `google.rpc.BadRequest` the fields that are wrong.
//! In 0.3 all of that is in `data`.
//!
//! Many clients show the message of an error and nothing else, so in both versions the message begins with the kind
//! and goes on with the reason. Some clients of 0.3 compare a few messages letter by letter
//! ([`Kind::is_literal_in_v03`]): those are not changed.

mod kind;

#[cfg(test)]
mod tests;

pub use kind::Kind;

use super::{object_writer::ObjectWriter, version::Version};
use envoi_contract::{
    code::Code,
    json::{Number, Object, Value},
};

/// The member of [`Fault::note`] with Envoi's own code.
const CODE: &str = "code";

/// The largest number of invalid fields in a message for people.
const MAX_SHOWN_FIELDS: usize = 3;

/// An invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field: `message.parts[0].text`.
    pub field: String,
    /// The reason, as a sentence.
    pub description: String,
}

/// An error of A2A; see the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the error.
    pub kind: Kind,
    /// The HTTP status in any binding, if it is not the usual one for the kind.
    http: Option<u16>,
    /// Seconds to wait before another try.
    retry_after_s: Option<u32>,
    detail: Option<String>,
    notes: Vec<(&'static str, String)>,
    violations: Vec<Violation>,
}

impl Fault {
    /// An error with only a kind.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            http: None,
            retry_after_s: None,
            detail: None,
            notes: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Sets the HTTP status for any binding.
    pub fn over_http(self, status: u16) -> Self {
        Self { http: Some(status), ..self }
    }

    /// Sets the seconds to wait before another try.
    pub fn retry_after(self, seconds: Option<u32>) -> Self {
        Self { retry_after_s: seconds, ..self }
    }

    /// The seconds of [`Fault::retry_after`].
    pub const fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s
    }

    /// The HTTP status of an HTTP+JSON response.
    pub fn http_status(&self) -> u16 {
        self.http.unwrap_or_else(|| self.kind.http_status())
    }

    /// The HTTP status of a response that carries the error as JSON-RPC.
    pub fn http_status_of_rpc(&self) -> u16 {
        self.http.unwrap_or_else(|| self.kind.http_status_of_rpc())
    }

    /// Adds the exact reason: lower case, no final period.
    pub fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Adds a value for programs, such as `taskId`.
    pub fn note(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.notes.push((name, value.into()));
        self
    }

    /// Adds Envoi's own code.
    pub fn code(self, code: Code) -> Self {
        self.note(CODE, code.as_str())
    }

    /// An `InvalidParams` error for these fields.
    pub fn violations(violations: Vec<Violation>) -> Self {
        Self { violations, ..Self::new(Kind::InvalidParams) }
    }

    /// An `InvalidParams` error for one field.
    pub fn violation(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::violations(vec![Violation { field: field.into(), description: description.into() }])
    }

    /// The task does not exist or belongs to another tenant. The answer is the same in both cases, so that it reveals
    /// nothing.
    pub const fn task_not_found() -> Self {
        Self::new(Kind::TaskNotFound)
    }

    /// The `error` of a JSON-RPC response to a request of `version`.
    ///
    /// A version error always has the form of 1.0: 0.3 has no such error, and a client that names versions or methods
    /// of 1.0 does not use 0.3.
    pub fn rpc(&self, version: Version) -> Value {
        match version {
            Version::V03 if self.kind != Kind::VersionNotSupported => {
                let (code, title) = self.kind.in_v03();
                error(code, &self.message_of_v03(title), self.data_of_v03())
            }
            _ => error(self.kind.rpc_code(), &self.message(), self.details()),
        }
    }

    /// The body of an HTTP+JSON response, which only 1.0 has.
    pub fn rest(&self) -> Value {
        let status = ObjectWriter::new()
            .put("code", u64::from(self.http_status()))
            .put("status", self.kind.status_name())
            .put("message", self.message())
            .put("details", self.details());
        ObjectWriter::new().put("error", status.value()).value()
    }

    /// The message of 1.0: the title of the kind, then the exact reason. Invalid fields are in the details, as in the
    /// SDKs.
    fn message(&self) -> String {
        let title = self.kind.title();
        self.detail.as_ref().map_or_else(|| title.to_owned(), |detail| format!("{title}: {detail}"))
    }

    /// The message of 0.3: `title`, then the exact reason, or else the first invalid fields.
    fn message_of_v03(&self, title: &str) -> String {
        let field = |violation: &Violation| format!("{}: {}", violation.field, violation.description);
        let fields =
            || self.violations.iter().take(MAX_SHOWN_FIELDS).map(field).collect::<Vec<_>>().join("; ");
        let reason = self.detail.clone().unwrap_or_else(fields);
        if reason.is_empty() || self.kind.is_literal_in_v03() {
            return title.to_owned();
        }
        format!("{title}: {reason}")
    }

    fn details(&self) -> Value {
        let notes: Object = self.notes.iter().map(|(name, value)| (*name, value.as_str().into())).collect();
        let info = ObjectWriter::new()
            .put("@type", "type.googleapis.com/google.rpc.ErrorInfo")
            .put("reason", self.kind.reason())
            .put("domain", self.kind.domain())
            .put("metadata", notes);
        let mut details = vec![info.value()];
        if !self.violations.is_empty() {
            let bad_request = ObjectWriter::new()
                .put("@type", "type.googleapis.com/google.rpc.BadRequest")
                .put("fieldViolations", self.field_violations());
            details.push(bad_request.value());
        }
        Value::Array(details)
    }

    fn field_violations(&self) -> Vec<Value> {
        let one = |violation: &Violation| {
            let Violation { field, description } = violation;
            ObjectWriter::new().put("field", field.as_str()).put("description", description.as_str()).value()
        };
        self.violations.iter().map(one).collect()
    }

    /// The `data` of 0.3; `null` if there is none.
    fn data_of_v03(&self) -> Value {
        let mut data = ObjectWriter::new().word("reason", self.detail.as_deref());
        for (name, value) in &self.notes {
            data = data.put(name, value.as_str());
        }
        let data = data.list("fieldViolations", self.field_violations());
        if data.is_empty() { Value::Null } else { data.value() }
    }
}

fn error(code: i64, message: &str, data: Value) -> Value {
    ObjectWriter::new().put("code", Number::from(code)).put("message", message).put("data", data).value()
}
