//! The order of one attempt: the engine composes it and writes it as a file into the attempt's folder.

use envoi_contract::json::Value;
use envoi_kernel::ledger::{Cost, TokenPrice};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What one attempt has to do. Holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The model, as the configuration names it.
    pub model: String,
    /// How it is called; none: it cannot be, and [`Order::problem`] says why.
    #[serde(default)]
    pub access: Option<Access>,
    /// Why it cannot be called.
    #[serde(default)]
    pub problem: Option<Problem>,
    /// The prompt.
    pub prompt: String,
    /// Its instructions.
    #[serde(default)]
    pub system: Option<String>,
    /// Files that are given to it.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// The folders that they may be in.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// A folder within those that they may not be in, unless one of the folders is within this one.
    #[serde(default)]
    pub never: Option<PathBuf>,
    /// A number, as it is written in the flow.
    #[serde(default)]
    pub temperature: Option<String>,
    /// The most tokens of an answer.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// How often the model gets another try after an answer that does not fit.
    #[serde(default)]
    pub repair: u32,
    /// The JSON Schema of its answer.
    #[serde(default)]
    pub schema: Option<Value>,
    /// A file with the words of the critic, or of the person who sent the run back.
    #[serde(default)]
    pub feedback: Option<PathBuf>,
    /// Why the try before it failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// The most calls that are answered.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// When it may have cost so much, in billionths of a US dollar, no further call is made.
    #[serde(default)]
    pub max_nano_usd: Option<u64>,
    /// The folder of the attempt.
    pub folder: PathBuf,
    /// The file for the report.
    pub report: PathBuf,
    /// The file for the text.
    pub output: PathBuf,
    /// How many secrets are to be masked. Each is in a variable of its own ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// A secret cannot be read: nothing from the model is written to a file.
    #[serde(default)]
    pub hides: bool,
}

/// How a model is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The provider, as the configuration names it.
    pub provider: String,
    /// The protocol in which it is called.
    pub protocol: String,
    /// The address that the path of the protocol is added to.
    pub url: String,
    /// What the provider calls the model.
    pub name: String,
    /// The longest time for an answer.
    pub timeout_ms: u64,
    /// What it costs, if that is known.
    #[serde(default)]
    pub price: Option<Price>,
}

/// Billionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Of tokens that the model is given.
    pub given: u64,
    /// Of those of them that come from the provider's prompt cache; as `given` if it is not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Of those of them that are written to it; as `given` if it is not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Of tokens that it gives.
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
    /// The code of the error.
    pub code: String,
    /// In words.
    pub message: String,
}
