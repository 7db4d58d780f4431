//! The refusal of a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A problem (RFC 9457), with the error code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct Problem {
    /// `urn:envoi:error:CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What exactly is wrong.
    pub detail: String,
    /// The error code; `envoi explain CODE` says more.
    pub code: String,
    /// What to do; null if the code's page says it.
    pub hint: Option<String>,
    /// With `SCOPE_TOO_SMALL`: the scopes of which the token needs one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// As in `X-Request-Id`: the server's log knows the request by it.
    pub request_id: String,
}

/// A request without a valid token, for the bridge (contract 5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forbidden {
    /// `Forbidden`.
    #[schemars(extend("const" = "Forbidden"))]
    pub error: String,
}

/// Any refusal of the bridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct Refused {
    /// Why, in words or as an object.
    pub error: Value,
}

/// How a command failed: one line on stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct Failure {
    /// The error code; `envoi explain CODE` says more.
    pub code: String,
    /// What exactly is wrong.
    pub message: String,
    /// What to do; null if the code's page says it.
    pub hint: Option<String>,
}

/// Whether the server is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    #[schemars(extend("const" = "ok"))]
    pub status: String,
}
