//! The source of a secret. The value itself is never part of a flow or of an event.

/// See [`Secret`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A variable of the engine's environment (or of the caller that handed the run over).
    Env(String),
    /// A file, relative to the flow file; one trailing newline is not part of the value.
    File(String),
}
