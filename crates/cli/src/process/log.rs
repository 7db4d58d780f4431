//! The log of the process, on stderr. It is off by default.
//!
//! Owns the filter and the line format. The code that logs decides what is logged. No line holds a secret.

use crate::process::{args::LogFormat, environment, failure::Failure, messages};
use envoi_contract::code::Code;
use std::{io, mem};
use tracing::{level_filters::LevelFilter, subscriber};
use tracing_subscriber::{
    Layer as _,
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt as _,
    registry,
};

/// The variable with the filter, if the command line has none.
const VARIABLE: &str = "ENVOI_LOG";

/// Starts the log on stderr if `wanted` or the variable sets a filter.
pub(crate) fn begin(wanted: Option<&str>, format: LogFormat) -> Result<(), Failure> {
    let filters = wanted.map(str::to_owned).or_else(|| environment::variable(VARIABLE)).unwrap_or_default();
    if filters.trim().is_empty() {
        return Ok(());
    }
    let filter = filter(&filters)?;
    let lines = match format {
        LogFormat::Text => fmt::layer().with_ansi(false).with_writer(Above).boxed(),
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(Above).boxed(),
    };
    let all = registry().with(lines.with_filter(filter));
    subscriber::set_global_default(all).map_err(|error| Failure::machine("the log", error))
}

/// Parses `LEVEL`, or `TARGET=LEVEL` for a part of the program, separated by commas.
fn filter(filters: &str) -> Result<Targets, Failure> {
    let mut filter = Targets::new();
    for directive in filters.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        let (target, level) = match directive.split_once('=') {
            Some((target, level)) => (Some(target.trim()), level.trim()),
            None => (None, directive),
        };
        let level = level.parse::<LevelFilter>().map_err(|_| unknown(directive))?;
        filter = match target {
            Some(target) => filter.with_target(target, level),
            None => filter.with_default(level),
        };
    }
    Ok(filter)
}

fn unknown(directive: &str) -> Failure {
    let message = format!("`{directive}` is neither a level nor TARGET=LEVEL");
    Failure::new(Code::LogInvalid, message)
        .hint("a level: error, warn, info, debug, trace or off; or TARGET=LEVEL; with commas between several")
}

/// Writes complete lines to stderr, above the live picture if there is one.
struct Above;

impl<'w> MakeWriter<'w> for Above {
    type Writer = Line;

    fn make_writer(&'w self) -> Line {
        Line(Vec::new())
    }
}

/// The text of one event. It is printed when it is complete.
struct Line(Vec<u8>);

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let bytes = mem::take(&mut self.0);
        let text = String::from_utf8_lossy(&bytes);
        if !text.trim_end().is_empty() {
            messages::say(text.trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_filter_is_levels_and_parts_of_the_program_with_levels() {
        let server = |directives: &str, level: Level| {
            filter(directives).unwrap().would_enable("envoi_server::request_log", &level)
        };
        assert!(server("info", Level::INFO) && !server("info", Level::DEBUG));
        assert!(
            server("warn, envoi_server=debug", Level::DEBUG)
                && !server("warn,envoi_engine=debug", Level::INFO)
        );
        assert!(!server("off", Level::ERROR) && !server("", Level::ERROR));
        for wrong in ["loud", "envoi_server", "envoi_server=loud", "info;debug", "info,,loud"] {
            assert_eq!(filter(wrong).unwrap_err().code.known(), Some(Code::LogInvalid), "{wrong}");
        }
    }
}
