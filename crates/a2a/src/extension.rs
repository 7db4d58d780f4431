//! The URIs that are specific to Envoi: extensions of A2A, and members of metadata.

/// An agent with this extension in its card accepts a user envelope (contract 5).
pub const USER_ENVELOPE: &str = envoi_contract::user_envelope::EXTENSION_URI;

/// An agent with this extension in its card handles a message once, even if it arrives several times.
pub const SENT_ONCE: &str = "urn:envoi:a2a:sent-once:v1";

/// Metadata: the question that a task asks, and the question that a message answers.
pub const QUESTION: &str = "urn:envoi:a2a:question";
