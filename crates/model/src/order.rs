//! The order of one attempt: the engine composes it and writes it as a file into the attempt's folder.

use envoi_contract::json::Value;
use envoi_kernel::ledger::{Cost, TokenPrice};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The instructions for one attempt. Contains no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The name of the model in the configuration.
    pub model: String,
    /// How the model is called. `None` when it cannot be called; [`Order::problem`] then gives the reason.
    #[serde(default)]
    pub access: Option<Access>,
    /// The reason why the model cannot be called.
    #[serde(default)]
    pub problem: Option<Problem>,
    /// The prompt.
    pub prompt: String,
    /// The system instructions.
    #[serde(default)]
    pub system: Option<String>,
    /// The files to send to the model.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// The folders that may contain these files.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// A folder within `roots` that may not be read, unless one of the roots is inside this folder.
    #[serde(default)]
    pub never: Option<PathBuf>,
    /// The temperature, spelled as in the flow.
    #[serde(default)]
    pub temperature: Option<String>,
    /// The largest number of tokens of an answer.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// How many times the model may repair an answer that does not fit.
    #[serde(default)]
    pub repair: u32,
    /// The JSON Schema of the answer.
    #[serde(default)]
    pub schema: Option<Value>,
    /// A file with feedback from the critic, or from the person who sent the run back.
    #[serde(default)]
    pub feedback: Option<PathBuf>,
    /// The reason why the previous try failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// The largest number of calls that are answered.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The budget in billionths of a US dollar. No further call is made once the cost may have reached it.
    #[serde(default)]
    pub max_nano_usd: Option<u64>,
    /// The folder of the attempt.
    pub folder: PathBuf,
    /// The path of the report file.
    pub report: PathBuf,
    /// The path of the text file.
    pub output: PathBuf,
    /// The number of secrets to mask. Each one is in its own variable ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// True if a secret cannot be read. Then no output of the model is written to a file.
    #[serde(default)]
    pub hides: bool,
}

/// How a model is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The name of the provider in the configuration.
    pub provider: String,
    /// The protocol of the provider.
    pub protocol: String,
    /// The base URL. The path of the protocol is appended to it.
    pub url: String,
    /// The provider's name for the model.
    pub name: String,
    /// The longest time to wait for an answer.
    pub timeout_ms: u64,
    /// The price, if it is known.
    #[serde(default)]
    pub price: Option<Price>,
}

/// The price in billionths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Input tokens.
    pub given: u64,
    /// Input tokens read from the provider's prompt cache. The `given` price applies when this is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written to that cache. The `given` price applies when this is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output tokens.
    pub gotten: u64,
}

impl From<Price> for TokenPrice {
    fn from(price: Price) -> Self {
        let of_cache = |price_of: Option<u64>| Cost::from_nano_usd(price_of.unwrap_or(price.given));
        Self {
            given: Cost::from_nano_usd(price.given),
            cache_read: of_cache(price.cache_read),
            cache_write: of_cache(price.cache_write),
            gotten: Cost::from_nano_usd(price.gotten),
        }
    }
}

/// Why a model cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The error code.
    pub code: String,
    /// The message for people.
    pub message: String,
}
