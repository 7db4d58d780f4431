//! The files of the flows that a flow names.
//!
//! Owns that they are read from the folder of the flow. Which paths may be named is the language's.

use crate::process::files;
use envoi_flow::Files;
use std::path::{Path, PathBuf};

/// The files beside a flow file.
pub(crate) struct FlowFolder {
    folder: PathBuf,
}

impl FlowFolder {
    /// Those beside the file at this path.
    pub(crate) fn of(file: &Path) -> Self {
        Self { folder: file.parent().unwrap_or(Path::new("/")).to_owned() }
    }
}

impl Files for FlowFolder {
    fn text(&self, path: &str) -> Result<String, String> {
        files::read_text(&self.folder.join(path)).map_err(|error| error.to_string())
    }
}
