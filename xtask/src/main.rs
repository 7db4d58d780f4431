//! Chores of this repository. There is one so far: `cargo xtask tidy`.

mod tidy;

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // xtask/ lies beside crates/, wherever the command is called.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report(tidy::check(root)),
        _ => {
            eprintln!("usage: cargo xtask tidy    holds the tree to ARCHITECTURE.md and CONTRIBUTING.md");
            ExitCode::from(2)
        }
    }
}

fn report(result: Result<Vec<tidy::Problem>, String>) -> ExitCode {
    match result {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            eprintln!("tidy: {} to put right", problems.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::from(2)
        }
    }
}
