//! Bans: the environment, clocks and disks in the pure crates, sleeping tests, unfinished code.
//!
//! Clippy's `disallowed_*` lints of `contract` and `kernel` resolve aliases; this check covers all crates,
//! and tests.

mod names;

use super::{lexer::Code, problem::Problem, tree::Tree};
use names::{Name, names};

/// A Rust source file of the tree.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: Code,
    /// Whether the whole file is test code.
    is_test: bool,
}

impl Source {
    /// Whether this line is in test code.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test || self.code.is_test(line)
    }

    fn is_below(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

/// All Rust files. Modules that are declared under `#[cfg(test)]` are completely test code.
pub(crate) fn sources(tree: &Tree) -> Vec<Source> {
    let read = |file: &super::tree::File| Source {
        path: file.path.clone(),
        code: Code::read(&file.text),
        is_test: file.path.contains("/tests/")
            || file.path.contains("/benches/")
            || file.path.contains("/examples/"),
    };
    let mut sources: Vec<Source> = tree.files.iter().filter(|file| file.is_rust()).map(read).collect();
    let tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        let stem = source.path.trim_end_matches(".rs");
        source.is_test |= tests.iter().any(|test| stem == test || stem.starts_with(&format!("{test}/")));
    }
    sources
}

/// Paths, without `.rs`, of the test modules that this file declares.
fn test_modules(source: &Source) -> Vec<String> {
    let stem = source.path.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "main")) => folder,
        _ => stem,
    };
    let module = |line: &str| {
        let declared = line.split_whitespace().skip_while(|word| *word != "mod").nth(1)?;
        declared.strip_suffix(';').map(|name| format!("{folder}/{name}"))
    };
    source
        .code
        .numbered()
        .filter(|(line, _)| source.is_test(*line))
        .filter_map(|(_, text)| module(text))
        .collect()
}

/// A banned path, and where the ban applies.
struct Ban {
    /// The banned path, with everything below it. A single word also matches the last component of a path.
    name: &'static str,
    /// Only in these folders; everywhere if empty.
    inside: &'static [&'static str],
    /// Exceptions: not in these folders.
    but_not: &'static [&'static str],
    /// Whether the ban applies in tests too.
    in_tests: bool,
    /// The advice in the message.
    cure: &'static str,
}

/// Crates that get time, ids and contents as values.
const PURE: &[&str] = &[
    "crates/contract/src/",
    "crates/kernel/src/",
    "crates/flow/src/",
    "crates/a2a/src/",
    "crates/preset/src/",
    "crates/cluster/src/",
];

/// Crates whose results must be the same on every machine.
const ORDERED: &[&str] = &["crates/contract/src/", "crates/kernel/src/", "crates/cluster/src/"];

const fn pure(name: &'static str, cure: &'static str) -> Ban {
    Ban { name, inside: PURE, but_not: &[], in_tests: false, cure }
}

const fn ordered(name: &'static str, cure: &'static str) -> Ban {
    Ban { name, inside: ORDERED, but_not: &[], in_tests: false, cure }
}

const BANS: &[Ban] = &[
    pure("std::fs", "take the content as an argument"),
    pure("std::env", "take the value as an argument"),
    pure("std::thread", "leave threads to `engine`"),
    pure("std::process", "leave processes to `step`"),
    pure("std::net", "leave networks to their own crate"),
    pure("SystemTime", "take a `Timestamp` as an argument"),
    pure("Instant", "take a `Timestamp` as an argument"),
    ordered("HashMap", "its order is random; use `BTreeMap` or keep the order of insertion"),
    ordered("HashSet", "its order is random; use `BTreeSet`"),
    pure("rand", "derive it from what is there, by SHA-256"),
    pure("getrandom", "derive it from what is there, by SHA-256"),
    Ban {
        name: "config_builder",
        inside: &["crates/"],
        but_not: &["crates/http/"],
        in_tests: false,
        cure: "make HTTP clients with `envoi_http::Client`, which has what all of them have in common",
    },
    Ban {
        name: "std::env",
        inside: &[],
        // These two start the program itself again, as a supervisor or as a hook.
        but_not: &[
            "crates/cli/",
            "crates/step/src/control/launch.rs",
            "crates/program/src/hook.rs",
            "xtask/",
            "bench/",
        ],
        in_tests: false,
        cure: "only `cli` reads the environment; take the value as an argument",
    },
    Ban {
        name: "rusqlite",
        inside: &[],
        but_not: &["crates/journal/", "bench/"],
        in_tests: true,
        cure: "only `journal` knows SQL; ask it for what is needed",
    },
    Ban {
        name: "saphyr_parser",
        inside: &[],
        but_not: &["crates/flow/"],
        in_tests: true,
        cure: "only `flow` knows YAML",
    },
];

/// Crates that may use unsafe code: an SQLite file system is a table of C functions (for tests), and copying
/// a process is unsafe.
const UNSAFE_HOME: &[&str] = &["crates/testkit/", "crates/zygote/"];

const UNSAFE: &str = "unsafe ";

/// Words that are banned in all code.
const WORDS: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run proves nothing; make it run, or remove it"),
    ("todo!", "finish it, or refuse it with a code"),
    ("unimplemented!", "finish it, or refuse it with a code"),
    (UNSAFE, "use a safe wrapper"),
];

pub(crate) fn check(sources: &[Source]) -> Vec<Problem> {
    sources.iter().flat_map(check_source).collect()
}

fn check_source(source: &Source) -> Vec<Problem> {
    let mut problems = words(source);
    let is_build_script = source.path.ends_with("/build.rs");
    for name in names(&source.code).iter().filter(|_| !is_build_script) {
        problems.extend(BANS.iter().filter(|ban| holds(ban, source, name)).map(|ban| {
            Problem::new(&source.path, name.line, format!("`{}` is not used here; {}", ban.name, ban.cure))
        }));
        if name.is("std::thread::sleep") && source.is_test(name.line) && !in_a_wait(source, name.line) {
            let message =
                "a test sleeps; wait for the event, or look again and again in a function named `wait_…`";
            problems.push(Problem::new(&source.path, name.line, message));
        }
    }
    problems
}

fn holds(ban: &Ban, source: &Source, name: &Name) -> bool {
    name.is(ban.name)
        && (ban.inside.is_empty() || source.is_below(ban.inside))
        && !source.is_below(ban.but_not)
        && (ban.in_tests || !source.is_test(name.line))
}

fn words(source: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, text) in source.code.numbered() {
        let is_banned =
            |word: &str| has_word(text, word) && !(word == UNSAFE && source.is_below(UNSAFE_HOME));
        for (word, cure) in WORDS.iter().filter(|(word, _)| is_banned(word)) {
            let message = format!("`{}` is not used here; {cure}", word.trim());
            problems.push(Problem::new(&source.path, line, message));
        }
    }
    problems
}

/// Whether `text` contains `word`, and not only as the end of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether the line is in a function for a bounded poll of another process. Such a function shows that by its
/// name.
fn in_a_wait(source: &Source, line: usize) -> bool {
    let named = |text: &str| -> Option<String> {
        let rest = text.split("fn ").nth(1)?;
        Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
    };
    let above = source.code.lines.iter().take(line).rev().find_map(|text| named(text));
    above.is_some_and(|name| ["wait", "until", "poll"].iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = check(&sources(&Tree::of(&[(path, text)])));
        found.into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        told(path, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn the_pure_crates_see_no_world() {
        let rows = [
            "use std::time::SystemTime;",
            "use std::{fmt, time::{Duration, Instant}};",
            "fn f() { std::fs::read(\"x\"); }",
            "use std::{collections::HashMap, thread};",
            "use std::env;",
            "use rand::Rng;",
            "fn f() { let x: HashSet<u8> = y; }",
        ];
        for row in rows {
            for path in ["crates/contract/src/x.rs", "crates/kernel/src/x.rs"] {
                assert!(!told(path, row).is_empty(), "{path}: {row}");
            }
        }
        assert_eq!(
            lines(
                "crates/kernel/src/x.rs",
                "use std::{collections::BTreeMap, fmt, sync::Arc};\nlet operand = 1;"
            ),
            [0_usize; 0]
        );
        assert_eq!(lines("crates/flow/src/x.rs", "use std::fs;"), [1]);
        assert_eq!(lines("crates/engine/src/x.rs", "use std::{fs, time::Instant, thread};"), [0_usize; 0]);
    }

    #[test]
    fn only_the_command_line_reads_the_environment() {
        assert_eq!(lines("crates/engine/src/x.rs", "\nlet x = std::env::var(\"HOME\");"), [2]);
        assert_eq!(lines("crates/step/src/x.rs", "use std::{env, io};"), [1]);
        assert_eq!(lines("crates/cli/src/x.rs", "use std::env;"), [0_usize; 0]);
        assert_eq!(
            lines("crates/step/src/control/launch.rs", "let x = std::env::current_exe();"),
            [0_usize; 0]
        );
        assert_eq!(lines("crates/step/tests/x.rs", "use std::env;"), [0_usize; 0]);
        assert_eq!(lines("crates/journal/build.rs", "use std::env;"), [0_usize; 0]);
    }

    #[test]
    fn sql_and_yaml_stay_where_they_belong() {
        assert_eq!(lines("crates/engine/src/x.rs", "use rusqlite::Connection;"), [1]);
        assert_eq!(lines("crates/cli/tests/x.rs", "let c = rusqlite::Connection::open(x);"), [1]);
        assert_eq!(lines("crates/cli/src/x.rs", "use saphyr_parser::Parser;"), [1]);
        assert_eq!(lines("crates/journal/src/x.rs", "use rusqlite::Connection;"), [0_usize; 0]);
    }

    #[test]
    fn nothing_is_unfinished_unsafe_or_ignored() {
        let rows = ["todo!()", "unimplemented!()", "unsafe { x }", "#[ignore]", "#[ignore = \"slow\"]"];
        for row in rows {
            assert_eq!(lines("crates/cli/tests/x.rs", &format!("fn f() {{\n    {row}\n}}")), [2], "{row}");
        }
        assert_eq!(
            lines("crates/testkit/src/x.rs", "fn f() {\n    unsafe { x }\n    todo!()\n}"),
            [3],
            "only the fault disk"
        );
        assert_eq!(
            lines("crates/a/src/x.rs", "// todo!() unsafe {\nlet x = \"todo!()\"; unsafe_code;"),
            [0_usize; 0]
        );
    }

    #[test]
    fn tests_do_not_sleep() {
        let asleep = "#[test]\nfn it_works() {\n    std::thread::sleep(x);\n}";
        assert_eq!(lines("crates/a/src/x.rs", asleep), [3]);
        assert_eq!(lines("crates/a/tests/x.rs", "use std::thread;\nfn f() { thread::sleep(x) }"), [2]);
        assert_eq!(
            lines("crates/a/tests/x.rs", "fn wait_for() {\n    std::thread::sleep(x)\n}"),
            [0_usize; 0]
        );
        assert_eq!(lines("crates/a/src/x.rs", "fn f() { std::thread::sleep(x) }"), [0_usize; 0]);
    }

    #[test]
    fn a_module_that_is_declared_for_tests_is_a_test() {
        let tree = Tree::of(&[
            ("crates/kernel/src/lib.rs", "#[cfg(test)]\nmod stage;\n"),
            ("crates/kernel/src/stage.rs", "use std::fs;\n"),
            ("crates/kernel/src/stage/more.rs", "use std::fs;\n"),
            ("crates/kernel/src/run.rs", "use std::fs;\n"),
        ]);
        let paths: Vec<String> = check(&sources(&tree)).into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["crates/kernel/src/run.rs"]);
    }
}
