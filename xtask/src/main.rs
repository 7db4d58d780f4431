//! Tasks of this repository: `cargo xtask tidy`, `cargo xtask generate`.

#[path = "../../crates/cli/src/process"]
mod process {
    #[expect(
        dead_code,
        unused_imports,
        reason = "the pages of the commands are made of its definitions; nothing is parsed here"
    )]
    pub(crate) mod args;
}
mod generate;
mod tidy;

use std::{error::Error, path::Path, process::ExitCode};

/// Why the tree cannot be read.
type Unusable = Box<dyn Error>;

const USAGE: &str = "\
usage: cargo xtask tidy                 holds the tree to ARCHITECTURE.md and CONTRIBUTING.md
       cargo xtask generate [--check]   writes what is made from the code (spec/schemas, sdk, docs/commands), or says what is stale
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // xtask/ is beside crates/, in whichever folder the command is called.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report("tidy", tidy::check(root)),
        ["generate"] => written(generate::write(root)),
        ["generate", "--check"] => report("generate", generate::check(root)),
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn written(result: Result<Vec<String>, Unusable>) -> ExitCode {
    match result {
        Ok(files) => {
            files.iter().for_each(|file| eprintln!("written: {file}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("generate: {error}");
            ExitCode::from(2)
        }
    }
}

fn report(chore: &str, result: Result<Vec<tidy::Problem>, Unusable>) -> ExitCode {
    match result {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            eprintln!("{chore}: {} to put right", problems.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{chore}: {error}");
            ExitCode::from(2)
        }
    }
}
