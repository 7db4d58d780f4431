//! Points at which a test may stop or kill a supervisor.

/// A moment at which a supervisor restores a result of the cache. No command is started at any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// `cached.json` is written, and no file of the workspace has been touched.
    ResultAnnounced,
    /// The files are in the workspace.
    FilesBrought,
    /// The output of the command is in the attempt's folder.
    OutputWritten,
    /// The artifacts are copied there, and `exit.json` is not written yet.
    ArtifactsCopied,
    /// `exit.json` is durable, and `cached.json` still exists.
    ResultSettled,
}
