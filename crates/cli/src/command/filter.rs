//! `envoi handoff` and `envoi route`: the contracts as filters. Bad input: nothing on stdout, a diagnostic on stderr, exit 2.

use crate::{
    failure::{BAD_INPUT, Failure},
    output,
};
use envoi_contract::{handoff, json::Value, routing};
use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

pub(crate) fn handoff(file: Option<&Path>, compact: bool) -> Result<u8, Failure> {
    let draft = handoff::decode_draft(&read(file)?)?;
    write(&handoff::write(draft)?.to_value(), compact)
}

pub(crate) fn route(file: Option<&Path>, compact: bool) -> Result<u8, Failure> {
    let input = routing::decode_input(&read(file)?)?;
    write(&routing::resolve(&input)?.signal.resolver(), compact)
}

fn read(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match file {
        Some(path) => fs::read(path).map(|read| bytes = read),
        None => io::stdin().lock().read_to_end(&mut bytes).map(drop),
    };
    let name = file.map_or_else(|| "stdin".to_owned(), |path| path.display().to_string());
    read.map_err(|error| Failure::new(BAD_INPUT, "FILE_UNREADABLE", format!("{name}: {error}")))?;
    Ok(bytes)
}

fn write(value: &Value, compact: bool) -> Result<u8, Failure> {
    let text = if compact { value.compact() + "\n" } else { value.pretty() };
    output::data(&text).map(|()| 0)
}
