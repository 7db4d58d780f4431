//! Flow files that a person names, and the files of the flows that they include.
//!
//! Owns that included files are read from the folder of the including one. The language decides which paths
//! are allowed.

use crate::process::{failure::Failure, files};
use envoi_contract::code::Code;
use envoi_engine::ParsedFlow;
use envoi_flow::{FileError, Files};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files beside a flow file.
pub(crate) struct FlowFolder {
    folder: PathBuf,
}

impl FlowFolder {
    /// The folder of the file at this path.
    pub(crate) fn of(file: &Path) -> Self {
        Self { folder: file.parent().unwrap_or(Path::new("/")).to_owned() }
    }
}

impl Files for FlowFolder {
    fn text(&self, path: &str) -> Result<String, FileError> {
        Ok(files::read_text(&self.folder.join(path))?)
    }
}

/// The absolute path and the text of a flow file.
pub(crate) fn read_flow(path: &Path) -> Result<(PathBuf, String), Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(Code::FlowUnreadable, format!("{}: {error}", path.display()))
            .hint("`envoi init` writes a flow file to start from")
    };
    let bytes = files::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::new(Code::FlowSyntax, format!("{}: byte {place} is not UTF-8", path.display()))
    })?;
    Ok((fs::canonicalize(path).map_err(unreadable)?, text))
}

/// Loads the flow of a file with the flows that it includes, or reports everything that is wrong with them.
/// `file` is the resolved path.
pub(crate) fn load(path: &Path, file: &Path, text: &str) -> Result<ParsedFlow, Failure> {
    envoi_engine::flow_parsed_now(&path.to_string_lossy(), text, &FlowFolder::of(file)).map_err(|report| {
        let mistakes = report.render(envoi_flow::Colour::Never);
        Failure::new(Code::FlowInvalid, format!("{} cannot be run\n{}", path.display(), mistakes.trim_end()))
    })
}
