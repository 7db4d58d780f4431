//! `envoi init`: a flow file to start from, and the store. Nothing that exists is overwritten.

use crate::process::stderr;
use crate::{
    process::{failure::Failure, output},
    store::home::Home,
};
use envoi_contract::code::Code;
use envoi_journal::Layout;
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
};

const FLOW: &str = include_str!("init/flow.yaml");

pub(crate) fn init(home: &Home, dir: &Path) -> Result<u8, Failure> {
    let failed = |error| Failure::machine(dir.display(), error);
    fs::create_dir_all(dir).map_err(failed)?;
    let store = home.given().unwrap_or_else(|| dir.join(".envoi"));
    Layout::new(&store).create().map_err(|error| Failure::machine(store.display(), error))?;
    let flow = dir.join("flow.yaml");
    let mut file = File::create_new(&flow).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(Code::FileExists, format!("{} exists and is left as it is", flow.display()))
                .hint("name another folder: `envoi init DIR`")
        }
        _ => failed(error),
    })?;
    file.write_all(FLOW.as_bytes()).map_err(failed)?;
    let text = if home.json {
        format!("{}\n", serde_json::json!({"flow": flow, "store": store}))
    } else {
        format!("{}\n", flow.display())
    };
    stderr::line(format_args!("wrote {}; try: envoi run {}", flow.display(), flow.display()));
    output::data(&text).map(|()| 0)
}
