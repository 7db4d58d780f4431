//! The extensions of A2A that an Envoi knows.

/// An agent whose card names it takes a user envelope (contract 5).
pub(crate) const USER_ENVELOPE: &str = "urn:envoi:a2a:user-envelope:v1";

/// An agent whose card names it handles a message once, even if the message arrives several times.
pub(crate) const SENT_ONCE: &str = "urn:envoi:a2a:sent-once:v1";

/// Metadata of an agent that is an Envoi: the question that its task asks, and the question that a message answers.
pub(crate) const QUESTION: &str = "urn:envoi:a2a:question";
