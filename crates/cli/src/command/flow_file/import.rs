//! `envoi import`: converts flow files of the swarm dialect into flow files of Envoi.
//!
//! Nothing is written unless all files can be converted. Existing files are overwritten only on request.

use super::check::{colour, mistakes, number};
use crate::process::stderr;
use crate::process::{
    args::ImportArgs,
    failure::{BAD_INPUT, Failure},
    files, output,
};
use envoi_api::mistake::{ImportFinding, Mistake};
use envoi_contract::code::Code;
use envoi_flow::{
    Report,
    import::{Carried, Command, Finding, ImportError, Imported, import as import_text},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A file that was read, and the result of its conversion.
struct Made {
    name: String,
    imported: Imported,
}

pub(crate) fn import(args: &ImportArgs, json: bool) -> Result<u8, Failure> {
    if args.head.is_some() || args.signers.is_some() {
        let message = "`--head` and `--signers` need a file of `envoi export`; this file is not one";
        return Err(
            Failure::new(Code::RequestInvalid, message).hint("`envoi import FILE` converts other files")
        );
    }
    let command = command(&args.command)?;
    if args.files.len() > 1 && args.output.is_none() {
        let message = "several files cannot all go to stdout, and nothing was written";
        return Err(Failure::new(Code::OutputNeeded, message).hint("name a folder: `--output DIR`"));
    }
    let mut made = Vec::new();
    let mut wrong = Vec::new();
    for path in &args.files {
        let name = path.to_string_lossy().into_owned();
        match import_text(&name, &read(path)?, &command) {
            Ok(imported) => made.push(Made { name, imported }),
            Err(ImportError::Source(report)) => wrong.push(report),
            Err(error @ ImportError::Defect(_)) => return Err(defect(&error)),
        }
    }
    let lost = made.iter().flat_map(|made| &made.imported.findings).filter(|found| found.is_lost()).count();
    let refused = args.strict && lost > 0;
    let writes = wrong.is_empty() && !refused;
    if json {
        print_json(&made, &wrong, writes && args.output.is_none())?;
    } else {
        print_report(&made, &wrong);
    }
    if !wrong.is_empty() {
        return Ok(BAD_INPUT);
    }
    if refused {
        return Err(incomplete(lost));
    }
    match &args.output {
        Some(folder) => write(folder, &made, args.force)?,
        None => made.iter().try_for_each(|made| output::data(&made.imported.text))?,
    }
    Ok(0)
}

fn command(text: &str) -> Result<Command, Failure> {
    Command::parse(text).map_err(|error| {
        Failure::new(Code::CommandInvalid, format!("--command: {error}"))
            .hint("such as 'claude -p {prompt}'; `{agent}` and `{step}` may stand in it too")
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    let bytes = files::read(path)
        .map_err(|error| Failure::new(Code::FileUnreadable, format!("{}: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::new(Code::FlowSyntax, format!("{}: byte {place} is not UTF-8", path.display()))
    })
}

fn defect(error: &ImportError) -> Failure {
    let (ImportError::Defect(report) | ImportError::Source(report)) = error;
    let message = format!("{error}\n{}", report.render(envoi_flow::Colour::Never).trim_end());
    Failure::new(Code::ImportDefect, message).hint("please report it, with the file; nothing was written")
}

fn incomplete(lost: usize) -> Failure {
    let things = if lost == 1 { "1 thing is" } else { &format!("{lost} things are") };
    Failure::new(Code::ImportIncomplete, format!("{things} not converted, and nothing was written"))
        .hint("without `--strict` the rest is written; the report lists what is left out")
}

/// Prints the report for people: one line per finding and one per file.
fn print_report(made: &[Made], wrong: &[Report]) {
    for report in wrong {
        stderr::text(format_args!("{}", report.render(colour())));
    }
    if !wrong.is_empty() && !made.is_empty() {
        stderr::line(format_args!("nothing was written; of the other files:"));
    }
    for Made { name, imported } in made {
        for finding in &imported.findings {
            stderr::line(format_args!("{name}:{}", finding.line()));
        }
        let lost = imported.findings.iter().filter(|finding| finding.is_lost()).count();
        let otherwise = imported.findings.len().saturating_sub(lost);
        let steps =
            if imported.steps == 1 { "1 step".to_owned() } else { format!("{} steps", imported.steps) };
        let flow = &imported.flow;
        stderr::line(format_args!(
            "{name}: flow `{flow}`, {steps}; {otherwise} converted with changes, {lost} not converted"
        ));
    }
}

/// A row of the JSON report.
#[derive(Serialize)]
#[serde(untagged)]
enum Row {
    Finding(ImportFinding),
    Mistake(Mistake),
}

/// Prints one JSON list of all findings and mistakes. It goes to stderr if the flow goes to stdout.
fn print_json(made: &[Made], wrong: &[Report], flow_on_stdout: bool) -> Result<(), Failure> {
    let found =
        made.iter().flat_map(|made| made.imported.findings.iter().map(|found| row(&made.name, found)));
    let mistakes = wrong.iter().flat_map(mistakes).map(Row::Mistake);
    let list: Vec<Row> = found.map(Row::Finding).chain(mistakes).collect();
    if flow_on_stdout {
        stderr::text(format_args!("{}", output::line(&list)));
        return Ok(());
    }
    output::row(&list)
}

fn row(file: &str, found: &Finding) -> ImportFinding {
    ImportFinding {
        file: file.to_owned(),
        line: number(found.place.line),
        column: number(found.place.column),
        what: found.what.clone(),
        carried_as: match &found.carried {
            Carried::As(what) => Some(what.clone()),
            Carried::No => None,
        },
        reason: found.why.clone(),
    }
}

/// Writes each flow into a file with the flow's name.
fn write(folder: &Path, made: &[Made], force: bool) -> Result<(), Failure> {
    let mut places: BTreeMap<PathBuf, &Made> = BTreeMap::new();
    for one in made {
        let place = folder.join(format!("{}.yaml", one.imported.flow));
        if let Some(other) = places.insert(place.clone(), one) {
            let message =
                format!("{} and {} would both be written to {}", other.name, one.name, place.display());
            return Err(exists(message, "import them into different folders"));
        }
    }
    if let Some(place) = places.keys().find(|place| !force && place.exists()) {
        let message = format!("{} exists and is left as it is", place.display());
        return Err(exists(message, "name another folder, or overwrite with `--force`"));
    }
    let failed = |place: &Path, error: io::Error| Failure::machine(place.display(), error);
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (place, one) in &places {
        let file = if force { File::create(place) } else { File::create_new(place) };
        let written = file.and_then(|mut file| file.write_all(one.imported.text.as_bytes()));
        written.map_err(|error| failed(place, error))?;
        stderr::line(format_args!("wrote {}", place.display()));
    }
    Ok(())
}

fn exists(message: String, hint: &str) -> Failure {
    Failure::new(Code::FileExists, format!("{message}; nothing was written")).hint(hint)
}
