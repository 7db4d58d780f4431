//! `envoi check`: reports every mistake of a flow file with its location, and warns about probable mistakes.

mod scripts;

use crate::process::stderr;
use crate::text::words::counted;
use crate::{
    process::{
        environment::{self, EnvFileError},
        failure::{BAD_INPUT, Failure},
        output,
    },
    store::{
        config::not_configured,
        flow_files::{FlowFolder, read_flow},
        home::Home,
    },
};
use envoi_api::mistake::Mistake;
use envoi_contract::code::Code;
use envoi_flow::{Diagnostic, Report, Span};
use std::{
    collections::BTreeMap,
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

pub(crate) fn check(home: &Home, flows: &[PathBuf], json: bool) -> Result<u8, Failure> {
    let mut found = Vec::new();
    let mut bad = false;
    for path in flows {
        let (file, text) = read_flow(path)?;
        match envoi_flow::load_with(&path.to_string_lossy(), &text, &FlowFolder::of(&file)) {
            Ok(loaded) => {
                let warnings = envoi_flow::warnings(&loaded.flow).into_iter();
                let folder = file.parent().unwrap_or(Path::new("/"));
                let warnings = warnings.chain(missing_programs(&loaded.flow));
                let warnings = warnings.chain(missing_files(&loaded.flow, folder));
                let warnings = warnings.chain(scripts::that_do_not_parse(&loaded.flow));
                for warning in warnings.chain(not_configured(home, &loaded.flow)) {
                    stderr::line(format_args!("{}: warning: {warning}", path.display()));
                }
                match environment::env_files(&loaded.flow, folder) {
                    Ok(_) => {}
                    Err(ref problem @ EnvFileError::InExpression { ref name }) => {
                        bad = true;
                        let report = in_expression(&path.to_string_lossy(), &text, (name, problem));
                        if json {
                            found.extend(mistakes(&report));
                        } else {
                            stderr::text(format_args!("{}", report.render(colour())));
                        }
                        continue;
                    }
                    Err(problem) => {
                        stderr::line(format_args!("{}: warning: {problem}", path.display()));
                    }
                }
                if !json {
                    let steps = counted(loaded.flow.steps.len(), "step");
                    stderr::line(format_args!("{}: ok, {steps}", path.display()));
                    if let Some(seen) = seen(&loaded.flow) {
                        stderr::line(format_args!("{}: commands also see {seen}", path.display()));
                    }
                }
            }
            Err(report) => {
                bad = true;
                if json {
                    found.extend(mistakes(&report));
                } else {
                    stderr::text(format_args!("{}", report.render(colour())));
                }
            }
        }
    }
    if json {
        output::row(&found)?;
    }
    Ok(if bad { BAD_INPUT } else { 0 })
}

/// The mistake that an expression reads a variable of `env_file`. It has a location only if the expression is
/// in this file.
fn in_expression(file: &str, text: &str, (name, problem): (&str, &EnvFileError)) -> Report {
    let read = format!("env.{name}");
    let ends = |at: &usize| {
        let next = text.get(at.saturating_add(read.len())..).and_then(|rest| rest.chars().next());
        next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '_')
    };
    let start = text.match_indices(&read).map(|(at, _)| at).find(ends);
    let span = start.map_or(Span::default(), |start| Span { start, end: start.saturating_add(read.len()) });
    let diagnostic = Diagnostic {
        code: Code::FlowInvalid,
        span,
        message: problem.to_string(),
        labels: Vec::new(),
        expected: None,
        help: Some(format!("or pass it as an input: `envoi run FLOW --input {}=…`", name.to_lowercase())),
    };
    Report {
        file: file.to_owned(),
        text: text.to_owned(),
        wanted: "a flow that can run",
        diagnostics: vec![diagnostic],
        beyond: 0,
        others: Vec::new(),
    }
}

/// Describes what commands see of the environment besides PATH, HOME and the like.
fn seen(flow: &envoi_kernel::Flow) -> Option<String> {
    let listed =
        |what: &str, names: Vec<&str>| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let of_env = listed("`env`:", flow.env.iter().map(|(name, _)| name.as_str()).collect());
    let secrets = flow.secrets.iter().map(|secret| secret.name.as_str()).filter(|name| !name.contains('.'));
    let secrets = listed("`secrets`:", secrets.collect());
    let passed = listed("`pass_env`:", flow.pass_env.iter().map(String::as_str).collect());
    let files = listed("the variables of `env_file`:", flow.env_files.iter().map(String::as_str).collect());
    let all: Vec<String> = [of_env, secrets, passed, files].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Programs that a command looks up on the PATH of this process and that are missing there.
fn missing_programs(flow: &envoi_kernel::Flow) -> Vec<String> {
    let Some(path) = std::env::var_os("PATH") else { return Vec::new() };
    let is_there = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing = missing_of(envoi_flow::programs(flow), is_there);
    missing.iter().map(|named| format!("{}: `{}` is not on the PATH", named.place, named.program)).collect()
}

/// Returns the missing programs. Each program is looked up once, even if several steps name it.
fn missing_of(
    mut named: Vec<envoi_flow::NamedProgram>,
    is_there: impl Fn(&str) -> bool,
) -> Vec<envoi_flow::NamedProgram> {
    let mut known = BTreeMap::new();
    named.retain(|named| !*known.entry(named.program.clone()).or_insert_with(|| is_there(&named.program)));
    named
}

/// Files that commands run and that are missing from the folder where the run would work. A program that an
/// earlier step may build is reported only if a file with a similar name exists.
fn missing_files(flow: &envoi_kernel::Flow, folder: &Path) -> Vec<String> {
    let sentence = |named: envoi_flow::NamedFile| {
        let path = folder.join(&named.folder).join(&named.path);
        if path.exists() {
            return None;
        }
        let near = near_file(&path).map(|name| format!("; did you mean `{name}`?"));
        if named.may_be_made && !named.is_source && near.is_none() {
            return None;
        }
        let unless = if named.may_be_made { ", unless an earlier step makes it" } else { "" };
        let near = near.unwrap_or_default();
        Some(format!("{}: `{}` is not there now{unless}{near}", named.place, named.path))
    };
    envoi_flow::files(flow).into_iter().filter_map(sentence).collect()
}

/// The most files of a folder that are searched for a similar name.
const MOST_FILES: usize = 1000;

/// Returns the file in the same folder whose name is most similar to that of `path`.
fn near_file(path: &Path) -> Option<String> {
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    let entries = std::fs::read_dir(folder).ok()?.take(MOST_FILES).filter_map(Result::ok);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    envoi_contract::suggestion::nearest(name, &names, false).map(str::to_owned)
}

/// Converts the mistakes of a file into rows.
pub(super) fn mistakes(report: &envoi_flow::Report) -> Vec<Mistake> {
    let located = report.located();
    let row = |at: envoi_flow::Located<'_>| Mistake {
        code: at.diagnostic.code.as_str().to_owned(),
        file: at.file.to_owned(),
        line: number(at.start.line),
        column: number(at.start.column),
        end_line: number(at.end.line),
        end_column: number(at.end.column),
        message: at.diagnostic.message.clone(),
        expected: at.diagnostic.expected.clone(),
        hint: at.diagnostic.help.clone(),
    };
    located.into_iter().map(row).collect()
}

/// Converts a line or column number.
pub(super) fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

pub(super) fn colour() -> envoi_flow::Colour {
    let wanted =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { envoi_flow::Colour::Always } else { envoi_flow::Colour::Never }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_program_is_looked_for_once_however_many_steps_name_it() {
        let named = |place: usize, program: &str| envoi_flow::NamedProgram {
            place: format!("step `s{place}`"),
            program: program.to_owned(),
        };
        let all: Vec<_> = (0..100).map(|place| named(place, ["make", "gone"][place % 2])).collect();
        let looked = RefCell::new(Vec::new());
        let is_there = |program: &str| {
            looked.borrow_mut().push(program.to_owned());
            program == "make"
        };
        let missing = missing_of(all, is_there);
        assert_eq!(missing.len(), 50, "each step is named");
        assert!(missing.iter().all(|named| named.program == "gone"));
        assert_eq!(looked.into_inner(), ["make", "gone"]);
    }
}
