//! What an `a2a` step tells which agent.

use super::{InnerInput, Template};

/// How the names of secrets begin that agents are shown and commands are not. Nothing in a flow file can have such a name.
pub const AGENT_TOKEN_PREFIX: &str = "ENVOI_A2A_TOKEN.";

/// A message before its templates are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlan {
    /// The agent, `http:` or `https:`.
    pub url: Template,
    /// The text of the first message.
    pub message: Template,
    /// Members of a data part beside it; empty: there is none.
    pub data: Vec<(String, InnerInput)>,
    /// The tenant of the protocol's version 1.0.
    pub tenant: Option<Template>,
    /// The address that is spoken to in place of the one that the agent's card names.
    pub interface: Option<Template>,
    /// The name of the flow's secret for `Authorization: Bearer`.
    pub token: Option<String>,
    /// The file has `on_in_doubt: rerun`: a message is sent again when it is not known whether the agent took it.
    pub resends: bool,
}
