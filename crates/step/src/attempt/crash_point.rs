//! Where a test may stop or kill a supervisor.

/// A place in the life of a supervisor that brings a result of the cache. No command is started in any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// `cached.json` says that a result comes, and no file of the workspace was touched.
    ResultAnnounced,
    /// The files stand in the workspace.
    FilesBrought,
    /// What the command had written stands in the attempt's folder.
    OutputWritten,
    /// The artifacts are copied there, and `exit.json` is not written.
    ArtifactsCopied,
    /// `exit.json` is durable, and `cached.json` still stands.
    ResultSettled,
}
