//! The configuration of a store, `config.yaml` in its folder, and what it makes of the engine.

use crate::{process::failure::Failure, store::home::Home};
use envoi_contract::code::Code;
use envoi_flow::config::{self, Config};
pub(crate) use envoi_flow::server::{A2a, Limits, Server, Workspace};
use envoi_journal::Layout;
use envoi_kernel::Flow;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The configuration, which need not be there.
///
/// # Errors
/// Everything that is wrong with it. Nothing that runs is touched by that.
pub(crate) fn load(layout: &Layout) -> Result<Config, Failure> {
    let path = layout.root().join(config::FILE);
    let text = match read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Config::default()),
        Err(error) => {
            let message = format!("{} cannot be used: {error}", path.display());
            return Err(Failure::new(Code::ConfigInvalid, message)
                .hint("make it a plain file that can be read, or rename it"));
        }
    };
    config::load(&path.to_string_lossy(), &text).map_err(|report| {
        let first = report.diagnostics.first().map(|first| first.code);
        let mistakes = report.render(envoi_flow::Colour::Never);
        let message = format!("{} cannot be used\n{}", path.display(), mistakes.trim_end());
        Failure::new(first.unwrap_or(Code::ConfigInvalid), message)
            .hint("correct it or rename it; attempts that are running are not touched")
    })
}

/// Models and accounts that steps name and the configuration of the store here does not have. Without such steps it is not read.
pub(crate) fn not_configured(home: &Home, flow: &Flow) -> Vec<String> {
    if envoi_flow::missing(&Config::default(), flow).is_empty() {
        return Vec::new();
    }
    let Ok(folder) = home.dir() else { return Vec::new() };
    match load(&Layout::new(folder)) {
        Ok(configured) => envoi_flow::missing(&configured, flow),
        Err(failure) => vec![failure.message],
    }
}

/// The text, if there is one. What is no plain file is not opened for longer than it takes to see that: a pipe would hold
/// up every engine until another process writes to it, and a device may never end.
fn read(path: &Path) -> io::Result<Option<String>> {
    let opened = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some(text))
}
