//! The configuration of a store, `config.yaml` in its folder, and what it makes of the engine.

use crate::{
    failure::{BAD_INPUT, Failure},
    home,
    narrate::how_to_answer,
};
use envoi_engine::Notices;
use envoi_flow::config::{self, Config};
use envoi_journal::Layout;
use std::{fs, io};

/// How others are told: whom the configuration names, and what this environment has for it.
pub(crate) fn notices(layout: &Layout) -> Result<Notices, Failure> {
    Ok(Notices {
        targets: load(layout)?.notify,
        env: home::allowed(),
        variable: home::variable,
        how_to_answer,
    })
}

/// The configuration, which need not be there.
///
/// # Errors
/// Everything that is wrong with it. Nothing that runs is touched by that.
pub(crate) fn load(layout: &Layout) -> Result<Config, Failure> {
    let path = layout.root().join(config::FILE);
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::new(BAD_INPUT, "FILE_UNREADABLE", format!("{}: {error}", path.display()))
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => return Err(unreadable(&error)),
    };
    config::load(&path.to_string_lossy(), &text).map_err(|report| {
        let code = report.diagnostics.first().map_or("CONFIG_INVALID", |first| first.code);
        let mistakes = report.render(envoi_flow::Colour::Never);
        let message = format!("{} cannot be used\n{}", path.display(), mistakes.trim_end());
        Failure::new(BAD_INPUT, code, message)
            .hint("correct it or rename it; attempts that are running are not touched")
    })
}
