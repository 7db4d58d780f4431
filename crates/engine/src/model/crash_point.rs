//! Points at which a test may stop an engine.

/// A point at which a test may stop an engine: something is durable, and its consequences have not happened
/// yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// `attempt_started` is committed, and the engine has not looked at the attempt's folder.
    BeforeProbe,
    /// The attempt's lock is held, by this engine.
    BeforeSpawn,
    /// A hand-off is committed, and its file not written.
    BeforeShow,
    /// Runs that go are gone from the database, and their folders are there.
    RunDeleted,
    /// The folder of a deleted run has another name, and is there.
    RunFolderRenamed,
    /// Contents that nothing names were laid aside, and removed.
    ContentsSwept,
}
