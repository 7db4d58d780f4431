//! `envoi init`: creates the store and a first flow file. Nothing that exists is overwritten.

use crate::process::{
    args::{InitArgs, Template},
    failure::Failure,
    invocation, output, stderr,
};
use crate::{
    store::home::{self, Home},
    text::shell,
};
use clap::ValueEnum as _;
use envoi_api::output::{Initialized, Titled};
use envoi_contract::code::Code;
use envoi_journal::{Layout, Store};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// In the store, so that editors find it wherever the project is.
const SCHEMA: &str = "flow.schema.json";

impl Template {
    fn text(self) -> &'static str {
        match self {
            Self::Hello => include_str!("init/flow.yaml"),
            Self::AgentLoop => include_str!("init/agent-loop.yaml"),
            Self::Review => include_str!("init/review.yaml"),
            Self::FanOut => include_str!("init/fan-out.yaml"),
            Self::Nightly => include_str!("init/nightly.yaml"),
            Self::Release => include_str!("init/release.yaml"),
        }
    }

    fn name_and_help(self) -> (String, String) {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        (value.map(|value| value.get_name().to_owned()).unwrap_or_default(), help.unwrap_or_default())
    }
}

pub(crate) fn init(home: &Home, args: &InitArgs) -> Result<u8, Failure> {
    if args.list {
        return list(home.json);
    }
    let dir = &args.dir;
    let failed = |error| Failure::folder(dir, error);
    fs::create_dir_all(dir).map_err(failed)?;
    let store = home.given().unwrap_or_else(|| dir.join(".envoi"));
    Store::check_owner(&Layout::new(&store)).map_err(|error| home::cannot_open(&store, &error))?;
    Layout::new(&store).create().map_err(|error| Failure::machine(store.display(), error))?;
    let flow = dir.join("flow.yaml");
    let text = args.template.text().replace(".envoi/flow.schema.json", &schema_of(home, dir, &store));
    write_new(&flow, &text).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::new(Code::FileExists, format!("{} exists and is left as it is", flow.display()))
                .hint("name another folder: `envoi init DIR`")
        }
        _ => failed(error),
    })?;
    match write_new(&store.join(SCHEMA), envoi_flow::SCHEMA) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let crontab = (args.template == Template::Nightly).then(|| crontab(dir)).transpose()?;
    let text = if home.json {
        output::line(&Initialized {
            file: flow.display().to_string(),
            folder: store.display().to_string(),
            crontab,
        })
    } else {
        let crontab = crontab.map_or_else(String::new, |line| format!("{line}\n"));
        format!("{}\n{crontab}", flow.display())
    };
    stderr::line(format_args!(
        "wrote {}; try: {} run {}",
        flow.display(),
        invocation::envoi(),
        flow.display()
    ));
    output::data(&text).map(|()| 0)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    File::create_new(path)?.write_all(text.as_bytes())
}

/// The path of the schema as the flow file writes it: relative if the store is in the same folder.
fn schema_of(home: &Home, dir: &Path, store: &Path) -> String {
    let path = match home.given() {
        None => store.strip_prefix(dir).unwrap_or(store).join(SCHEMA),
        Some(_) => std::path::absolute(store).unwrap_or_else(|_| store.to_owned()).join(SCHEMA),
    };
    path.display().to_string()
}

/// A crontab line for every night at three. The output is appended to a file beside the flow.
fn crontab(dir: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::machine(dir.display(), error);
    let dir = fs::canonicalize(dir).map_err(failed)?;
    let envoi = std::env::current_exe().map_err(failed)?;
    // `crontab` reads a percent sign as the end of the line.
    let quoted = |path: &Path| shell::quoted(&path.display().to_string()).replace('%', r"\%");
    Ok(format!("0 3 * * * cd {} && {} run flow.yaml >> nightly.log 2>&1", quoted(&dir), quoted(&envoi)))
}

fn list(json: bool) -> Result<u8, Failure> {
    let rows = Template::value_variants().iter().map(|template| template.name_and_help());
    let text = match json {
        true => output::line(&rows.map(|(name, title)| Titled { name, title }).collect::<Vec<_>>()),
        false => output::table(&rows.map(|(name, title)| vec![name, title]).collect::<Vec<_>>()),
    };
    output::data(&text).map(|()| 0)
}
