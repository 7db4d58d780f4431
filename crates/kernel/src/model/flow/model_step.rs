//! The plan of a `model` step: a call of a model.

use super::{InnerInput, OnThrottled, Template};

/// Prefix of the account names of models. Accounts of agent programs do not have it.
const ACCOUNT: &str = "model ";

/// A call of a model before its templates are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    /// The model, by its name in the configuration.
    pub model: String,
    /// The reaction when its provider refuses it temporarily.
    pub on_throttled: OnThrottled,
    /// The prompt.
    pub prompt: Template,
    /// The system prompt.
    pub system: Option<Template>,
    /// Files that are passed to the model: each entry is a path, a list of paths, or the artifacts of a step.
    pub files: Vec<InnerInput>,
    /// As written in the flow; `None`: the provider's default.
    pub temperature: Option<String>,
    /// Maximum number of tokens of an answer; `None`: the provider's default.
    pub max_tokens: Option<u64>,
    /// How often the model is called again after an answer that does not match `outputs`.
    pub repair: u32,
}

impl ModelPlan {
    /// The account that it uses. Providers limit each model separately.
    #[must_use]
    pub fn account(&self) -> String {
        Self::account_of(&self.model)
    }

    /// The account of a model of this name.
    #[must_use]
    pub fn account_of(model: &str) -> String {
        format!("{ACCOUNT}{model}")
    }
}
