//! What a `model` step asks a model.

use super::{InnerInput, OnThrottled, Template};

/// What stands before the name of a model in the name of its account. Agent programs have names without it.
const ACCOUNT: &str = "model ";

/// A call of a model before its templates are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    /// The model, as the configuration names it.
    pub model: String,
    /// What follows when its provider refuses it for a while.
    pub on_throttled: OnThrottled,
    /// The prompt.
    pub prompt: Template,
    /// Its instructions.
    pub system: Option<Template>,
    /// Files that are given to it: a path, a list of paths, or the artifacts of a step each.
    pub files: Vec<InnerInput>,
    /// As it is written in the flow; `None`: the provider's own.
    pub temperature: Option<String>,
    /// The most tokens of an answer; `None`: the provider's own.
    pub max_tokens: Option<u64>,
    /// How often the model gets another try after an answer that does not fit `outputs`.
    pub repair: u32,
}

impl ModelPlan {
    /// The account that it uses. Providers limit each model by itself.
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
