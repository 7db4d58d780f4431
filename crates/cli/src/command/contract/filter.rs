//! `envoi handoff` and `envoi route`: the contracts as filters. On bad input, stdout stays empty, stderr has
//! a diagnostic, and the exit code is 2.

use crate::process::{failure::Failure, files, output};
use envoi_contract::{code::Code, error::Diagnostic, handoff, json::Value, routing};
use std::{io, path::Path};

pub(crate) fn handoff(file: Option<&Path>, compact: bool) -> Result<u8, Failure> {
    let written =
        |bytes: &[u8]| handoff::write(handoff::decode_draft(bytes)?).map(|handoff| handoff.to_value());
    filter(file, compact, written)
}

pub(crate) fn route(file: Option<&Path>, compact: bool) -> Result<u8, Failure> {
    let resolved = |bytes: &[u8]| {
        routing::resolve(&routing::decode_input(bytes)?).map(|resolution| resolution.signal.resolver())
    };
    filter(file, compact, resolved)
}

/// Reads a file or stdin, and prints a value on stdout.
fn filter(
    file: Option<&Path>,
    compact: bool,
    make: fn(&[u8]) -> Result<Value, Diagnostic>,
) -> Result<u8, Failure> {
    let name = file.map_or_else(|| "stdin".to_owned(), |path| path.display().to_string());
    let bytes = read(file).map_err(|error| Failure::new(Code::FileUnreadable, format!("{name}: {error}")))?;
    let made = make(&bytes).map_err(|refusal| Failure::in_document(refusal, &name, &bytes))?;
    write(&made, compact)
}

fn read(file: Option<&Path>) -> io::Result<Vec<u8>> {
    file.map_or_else(|| files::bounded(io::stdin().lock()), files::read)
}

fn write(value: &Value, compact: bool) -> Result<u8, Failure> {
    let text = if compact { value.compact() + "\n" } else { value.pretty() };
    output::data(&output::json(text)).map(|()| 0)
}
