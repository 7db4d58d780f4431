//! The configuration of a store, `config.yaml` in its folder, and the engine settings from it.

use crate::{process::failure::Failure, store::home::Home};
use envoi_contract::code::Code;
use envoi_flow::config::{self, Config, trees::Trees};
pub(crate) use envoi_flow::server::{A2a, Limits, Server, Workspace};
use envoi_journal::Layout;
use envoi_kernel::Flow;
use envoi_tree::Bounds;
use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The most bytes of a configuration, the same as of a flow file.
const MOST_BYTES: u64 = 1024 * 1024;

/// The configuration that this process uses.
static OF_PROCESS: ReadOnce = ReadOnce(OnceLock::new());

/// A configuration and the file that it was read from. The warnings of a command and its engine use the same
/// configuration, even if the file changes in the meantime.
struct ReadOnce(OnceLock<(PathBuf, Config)>);

impl ReadOnce {
    fn load(&self, path: PathBuf) -> Result<Config, Failure> {
        if let Some((_, config)) = self.0.get().filter(|(read, _)| *read == path) {
            return Ok(config.clone());
        }
        // A failed read is not kept: one caller only warns of it, another ends the command.
        let config = parsed(&path)?;
        // The first configuration stays. That of any further store is read each time.
        let _ = self.0.set((path, config.clone()));
        Ok(config)
    }
}

/// Loads the configuration, which may be missing. It is read once.
///
/// # Errors
/// Everything that is wrong with it. Running steps are not affected.
pub(crate) fn load(layout: &Layout) -> Result<Config, Failure> {
    OF_PROCESS.load(layout.root().join(config::FILE))
}

/// The maximum size of a snapshot, from the configuration of this store.
pub(crate) fn snapshot_bounds(layout: &Layout) -> Result<Bounds, Failure> {
    load(layout).map(|configured| bounds(&configured.trees))
}

/// Values that the configuration omits have their defaults.
pub(crate) fn bounds(configured: &Trees) -> Bounds {
    let default = Bounds::default();
    Bounds {
        max_file_bytes: configured.max_file_bytes.unwrap_or(default.max_file_bytes),
        max_new_bytes: configured.max_new_bytes.unwrap_or(default.max_new_bytes),
        max_files: configured
            .max_files
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default.max_files),
    }
}

fn parsed(path: &Path) -> Result<Config, Failure> {
    let text = match read(path) {
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

/// The models and accounts that steps name and the local configuration lacks. If no step names any, the
/// configuration is not read.
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

/// Returns the text, if the file exists.
fn read(path: &Path) -> io::Result<Option<String>> {
    let Some(bytes) = envoi_durable::read_plain(path, MOST_BYTES)? else { return Ok(None) };
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8 text");
    String::from_utf8(bytes).map(Some).map_err(no_text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;

    #[test]
    fn a_command_works_with_the_configuration_that_it_read_first() {
        let folder = tempfile::tempdir().unwrap();
        let config = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let bytes = |read: &ReadOnce, path: &Path| {
            read.load(path.to_owned())
                .map(|config| config.output.stream_bytes)
                .map_err(|failure| failure.message)
        };
        let read = ReadOnce(OnceLock::new());
        let here = config("here.yaml", "output: { stream: x }");
        assert!(bytes(&read, &here).unwrap_err().contains("cannot be used"));
        config("here.yaml", "output: { stream: 8192 }");
        assert_eq!(bytes(&read, &here), Ok(Some(8192)), "a mistake that was corrected is over");
        config("here.yaml", "output: { stream: 16384 }");
        assert_eq!(bytes(&read, &here), Ok(Some(8192)));
        let elsewhere = config("elsewhere.yaml", "output: { stream: 32768 }");
        assert_eq!(bytes(&read, &elsewhere), Ok(Some(32768)), "another store has its own");
        assert_eq!(bytes(&read, &here), Ok(Some(8192)));
    }
}
