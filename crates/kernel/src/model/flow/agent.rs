//! The plan of an `a2a` step: a message to another agent.

use super::{InnerInput, Template};

/// Prefix of the names of secrets that are sent to agents and not passed to commands. No name in a flow file
/// can begin with it.
pub const AGENT_TOKEN_PREFIX: &str = "ENVOI_A2A_TOKEN.";

/// A message before its templates are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlan {
    /// The agent's URL, `http:` or `https:`.
    pub url: Template,
    /// The text of the first message.
    pub message: Template,
    /// Members of a data part of the message; empty: no data part.
    pub data: Vec<(String, InnerInput)>,
    /// The tenant of the protocol's version 1.0.
    pub tenant: Option<Template>,
    /// An address that replaces the one in the agent's card.
    pub interface: Option<Template>,
    /// The name of the flow's secret for `Authorization: Bearer`.
    pub token: Option<String>,
    /// Whether the flow has `on_in_doubt: rerun`: the message is sent again if it is unknown whether the
    /// agent received it.
    pub resends: bool,
}
