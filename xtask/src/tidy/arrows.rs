//! Which crate may use which: the dependencies of ARCHITECTURE.md, and the outside crates that only some
//! crates may use.

use super::{manifest::Crate, problem::Problem};

/// A crate, the crates that its code may use, and those that only its tests may use.
struct Row {
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
}

const BELOW_ENGINE: &[&str] = &[
    "envoi-contract",
    "envoi-durable",
    "envoi-kernel",
    "envoi-flow",
    "envoi-journal",
    "envoi-tree",
    "envoi-step",
    "envoi-http",
    "envoi-notify",
    "envoi-a2a",
    "envoi-agent",
    "envoi-preset",
    "envoi-program",
    "envoi-model",
];
const BELOW_SIM: &[&str] = &[
    "envoi-contract",
    "envoi-durable",
    "envoi-kernel",
    "envoi-flow",
    "envoi-journal",
    "envoi-tree",
    "envoi-step",
    "envoi-http",
    "envoi-notify",
    "envoi-a2a",
    "envoi-agent",
    "envoi-preset",
    "envoi-program",
    "envoi-model",
    "envoi-engine",
    "envoi-testkit",
];
const BELOW_SERVER: &[&str] = &[
    "envoi-contract",
    "envoi-durable",
    "envoi-kernel",
    "envoi-flow",
    "envoi-journal",
    "envoi-api",
    "envoi-tree",
    "envoi-step",
    "envoi-notify",
    "envoi-a2a",
    "envoi-preset",
    "envoi-engine",
    "envoi-bundle",
    "envoi-changes",
];
const BELOW_CLI: &[&str] = &[
    "envoi-contract",
    "envoi-durable",
    "envoi-kernel",
    "envoi-flow",
    "envoi-journal",
    "envoi-api",
    "envoi-tree",
    "envoi-zygote",
    "envoi-step",
    "envoi-http",
    "envoi-notify",
    "envoi-a2a",
    "envoi-agent",
    "envoi-preset",
    "envoi-program",
    "envoi-model",
    "envoi-engine",
    "envoi-bundle",
    "envoi-changes",
    "envoi-machines",
    "envoi-server",
];

/// Used crates come before their users. Tests of every crate may use `envoi-testkit`; of other code only the
/// simulation may.
const TABLE: &[Row] = &[
    // For tests. The only other user here is the simulation, which is itself for tests.
    Row { name: "envoi-testkit", uses: &[], tests_use: &[] },
    Row { name: "envoi-contract", uses: &[], tests_use: &[] },
    // Writes files durably; it knows nothing of their content.
    Row { name: "envoi-durable", uses: &[], tests_use: &[] },
    // Tests of the kernel are easier to read as flow files.
    Row { name: "envoi-kernel", uses: &["envoi-contract"], tests_use: &["envoi-flow"] },
    // Knowledge of agent programs. The type of their costs is in the kernel.
    Row { name: "envoi-preset", uses: &["envoi-contract", "envoi-kernel"], tests_use: &[] },
    Row { name: "envoi-flow", uses: &["envoi-contract", "envoi-kernel", "envoi-preset"], tests_use: &[] },
    Row { name: "envoi-journal", uses: &["envoi-contract", "envoi-durable", "envoi-kernel"], tests_use: &[] },
    // Rows and bodies. The conversions from the journal's rows and from a flow's plan are features.
    Row {
        name: "envoi-api",
        uses: &["envoi-contract", "envoi-kernel", "envoi-flow", "envoi-journal"],
        tests_use: &[],
    },
    // The files of a folder; it knows neither runs nor events.
    Row { name: "envoi-tree", uses: &["envoi-contract", "envoi-durable"], tests_use: &[] },
    // Copies of a process; it does not know what the copies do.
    Row { name: "envoi-zygote", uses: &[], tests_use: &[] },
    // The supervisor takes snapshots, because the engine may not be running.
    Row {
        name: "envoi-step",
        uses: &["envoi-contract", "envoi-durable", "envoi-tree", "envoi-zygote"],
        tests_use: &[],
    },
    Row { name: "envoi-http", uses: &[], tests_use: &[] },
    Row { name: "envoi-notify", uses: &["envoi-contract", "envoi-http"], tests_use: &[] },
    // Used by a client, `agent`, and by a server.
    Row { name: "envoi-a2a", uses: &["envoi-contract"], tests_use: &[] },
    Row {
        name: "envoi-agent",
        uses: &["envoi-contract", "envoi-durable", "envoi-a2a", "envoi-http"],
        tests_use: &[],
    },
    Row {
        name: "envoi-program",
        uses: &["envoi-contract", "envoi-durable", "envoi-kernel", "envoi-preset"],
        tests_use: &[],
    },
    Row {
        name: "envoi-model",
        uses: &["envoi-contract", "envoi-durable", "envoi-kernel", "envoi-http", "envoi-preset"],
        tests_use: &[],
    },
    Row { name: "envoi-engine", uses: BELOW_ENGINE, tests_use: &[] },
    // The rules of which machine may start what; it knows no platform. Its tests simulate one, with real flow
    // files.
    Row { name: "envoi-cluster", uses: &["envoi-contract", "envoi-kernel"], tests_use: &["envoi-flow"] },
    // The same objects on a platform. Its stories load real flow files.
    Row {
        name: "envoi-restate",
        uses: &["envoi-contract", "envoi-kernel", "envoi-http", "envoi-cluster"],
        tests_use: &["envoi-flow"],
    },
    // A process of a cluster: it runs attempts with the engine's runner, and shows runs from a store.
    Row {
        name: "envoi-machines",
        uses: &[
            "envoi-contract",
            "envoi-durable",
            "envoi-kernel",
            "envoi-journal",
            "envoi-step",
            "envoi-cluster",
            "envoi-restate",
            "envoi-engine",
        ],
        tests_use: &["envoi-flow", "envoi-tree"],
    },
    // A run as one file. The engine knows how to load a run.
    Row {
        name: "envoi-bundle",
        uses: &["envoi-contract", "envoi-kernel", "envoi-journal", "envoi-tree", "envoi-engine"],
        tests_use: &[],
    },
    // The changes of a run, which `server` and `cli` show in different ways.
    Row {
        name: "envoi-changes",
        uses: &["envoi-contract", "envoi-kernel", "envoi-journal", "envoi-api", "envoi-tree", "envoi-engine"],
        tests_use: &[],
    },
    // Another interface. It and the simulation do not know each other.
    Row { name: "envoi-server", uses: BELOW_SERVER, tests_use: &[] },
    Row { name: "envoi-sim", uses: BELOW_SIM, tests_use: &[] },
    Row { name: "envoi", uses: BELOW_CLI, tests_use: &[] },
    // Measures the library and the binary; no crate depends on it.
    Row { name: "envoi-bench", uses: BELOW_CLI, tests_use: &[] },
    // Writes the schemas and the OpenAPI document, and loads the flows in the documentation. The command line
    // definitions, from which the commands' pages are made, use `flow` and `kernel`.
    Row {
        name: "xtask",
        uses: &["envoi-api", "envoi-contract", "envoi-kernel", "envoi-flow", "envoi-server"],
        tests_use: &[],
    },
];

/// An outside crate that only the crates in `homes` may use.
struct Home {
    dependency: &'static str,
    homes: &'static [&'static str],
    why: &'static str,
}

const SPANS: &str = "spans are derived in `engine`, and sent by `cli` if it is built for that";

/// Browsers request `br` and `zstd` only over TLS; over plain HTTP they request only gzip. Plain HTTP is for
/// loopback, where 10,000 rows take milliseconds. In a network a proxy is in front of the server, and
/// compresses (docs/server.md).
const NOT_COMPRESSED: &str = "the server compresses no answer, and bundles are compressed with zstd";

const HOMES: &[Home] = &[
    Home {
        dependency: "rusqlite",
        homes: &["envoi-journal", "envoi-bench"],
        why: "only `journal` knows SQL",
    },
    Home { dependency: "tar", homes: &["envoi-bundle"], why: "only `bundle` knows archives" },
    // The tests of the whole binary unpack a bundle with other code than the product's.
    Home {
        dependency: "zstd",
        homes: &["envoi-bundle", "envoi-tree", "envoi"],
        why: "only `bundle` and the packs of `tree` are compressed",
    },
    Home { dependency: "flate2", homes: &[], why: NOT_COMPRESSED },
    Home { dependency: "brotli", homes: &[], why: NOT_COMPRESSED },
    Home { dependency: "async-compression", homes: &[], why: NOT_COMPRESSED },
    Home { dependency: "saphyr-parser", homes: &["envoi-flow"], why: "only `flow` knows YAML" },
    Home { dependency: "serde-saphyr", homes: &["envoi-flow"], why: "only `flow` knows YAML" },
    Home { dependency: "serde_yaml", homes: &["envoi-flow"], why: "only `flow` knows YAML" },
    // `xtask` makes pages from the same definitions.
    Home { dependency: "clap", homes: &["envoi", "xtask"], why: "only `cli` reads the command line" },
    Home { dependency: "clap_mangen", homes: &["envoi"], why: "only `cli` reads the command line" },
    // Commands may be sent to a server elsewhere; the tests of the whole binary are clients of its server;
    // with `otel` it posts spans.
    Home {
        dependency: "ureq",
        homes: &["envoi-http", "envoi-notify", "envoi-agent", "envoi-restate", "envoi"],
        why: "only `notify`, `agent`, `restate` and `cli` know HTTP as clients",
    },
    Home { dependency: "restate-sdk", homes: &["envoi-restate"], why: "only `restate` knows Restate" },
    Home {
        dependency: "tokio",
        homes: &["envoi-server", "envoi-restate"],
        why: "only `server` and `restate` are asynchronous",
    },
    Home {
        dependency: "hyper",
        homes: &["envoi-server", "envoi-restate"],
        why: "only `server` and `restate` answer HTTP",
    },
    Home { dependency: "axum", homes: &["envoi-server"], why: "only `server` answers HTTP" },
    Home {
        dependency: "reqwest",
        homes: &[],
        why: "only `notify`, `agent`, `restate` and `cli` know HTTP as clients, and have one",
    },
    Home {
        dependency: "tracing",
        homes: &["envoi-engine", "envoi-server", "envoi"],
        why: "what is below the engine tells nobody what it does",
    },
    Home { dependency: "tracing-subscriber", homes: &["envoi"], why: "only `cli` says who reads the log" },
    Home { dependency: "opentelemetry", homes: &["envoi"], why: SPANS },
    Home { dependency: "opentelemetry-http", homes: &["envoi"], why: SPANS },
    Home { dependency: "opentelemetry-otlp", homes: &["envoi"], why: SPANS },
    Home { dependency: "opentelemetry_sdk", homes: &["envoi"], why: SPANS },
];

pub(crate) fn check(crates: &[Crate]) -> Vec<Problem> {
    crates.iter().flat_map(check_crate).collect()
}

fn check_crate(one: &Crate) -> Vec<Problem> {
    let Some(row) = TABLE.iter().find(|row| row.name == one.name) else {
        let message = format!(
            "`{}` has no arrows; give it a row in ARCHITECTURE.md and in xtask/src/tidy/arrows.rs",
            one.name
        );
        return vec![Problem::new(&one.path, 1, message)];
    };
    let mut problems = Vec::new();
    for used in one.uses.iter().filter(|used| is_ours(used) && !row.uses.contains(&used.as_str())) {
        let message = if used == "envoi-testkit" {
            "`envoi-testkit` is for tests; move it to [dev-dependencies]".to_owned()
        } else {
            format!("`{}` may not use `{used}`: the arrows go the other way; see ARCHITECTURE.md", one.name)
        };
        problems.push(Problem::new(&one.path, one.line_of(used), message));
    }
    let tests_may = |used: &str| {
        row.uses.contains(&used)
            || row.tests_use.contains(&used)
            || used == "envoi-testkit"
            || used == one.name
    };
    for used in one.tests_use.iter().filter(|used| is_ours(used) && !tests_may(used)) {
        let message = format!(
            "tests of `{}` may not use `{used}`; test it from a crate that may, or allow it in arrows.rs",
            one.name
        );
        problems.push(Problem::new(&one.path, one.line_of(used), message));
    }
    problems.extend(HOMES.iter().filter_map(|home| check_home(one, home)));
    problems
}

fn check_home(one: &Crate, home: &Home) -> Option<Problem> {
    let used = one.uses.iter().chain(&one.tests_use).any(|used| used == home.dependency);
    if !used || home.homes.contains(&one.name.as_str()) {
        return None;
    }
    let message =
        format!("`{}` may not use `{}`: {}; see ARCHITECTURE.md", one.name, home.dependency, home.why);
    Some(Problem::new(&one.path, one.line_of(home.dependency), message))
}

fn is_ours(name: &str) -> bool {
    name == "envoi" || name == "xtask" || name.starts_with("envoi-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, uses: &[&str], tests_use: &[&str]) -> String {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let text = format!(
            "[package]\n{}",
            uses.iter().chain(tests_use).map(|used| format!("{used} = \"1\"\n")).collect::<String>()
        );
        let one = Crate {
            name: name.to_owned(),
            path: "Cargo.toml".to_owned(),
            text,
            uses: owned(uses),
            tests_use: owned(tests_use),
            ..Crate::default()
        };
        check(&[one]).iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn an_arrow_the_other_way_is_reported_at_its_line() {
        let told = found("envoi-kernel", &["serde", "envoi-journal"], &[]);
        assert!(told.starts_with("Cargo.toml:3: `envoi-kernel` may not use `envoi-journal`"), "{told}");
    }

    #[test]
    fn journal_flow_step_notify_and_agent_do_not_know_each_other() {
        let five = ["envoi-journal", "envoi-flow", "envoi-step", "envoi-notify", "envoi-agent"];
        for (one, other) in
            five.iter().flat_map(|one| five.iter().map(move |other| (one, other))).filter(|(a, b)| a != b)
        {
            assert!(found(one, &[other], &[]).contains("may not use"), "{one} -> {other}");
        }
    }

    #[test]
    fn the_table_has_no_way_back() {
        let place = |name: &str| TABLE.iter().position(|row| row.name == name).unwrap();
        for row in TABLE {
            for used in row.uses {
                assert!(place(used) < place(row.name), "{} -> {used}", row.name);
            }
        }
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert!(found("envoi-journal", &["envoi-testkit"], &[]).contains("[dev-dependencies]"));
        assert_eq!(found("envoi-journal", &[], &["envoi-testkit"]), "");
    }

    #[test]
    fn tests_may_use_more_but_not_anything() {
        assert_eq!(found("envoi-kernel", &[], &["envoi-flow"]), "");
        assert!(found("envoi-kernel", &[], &["envoi-engine"]).contains("tests of"));
    }

    #[test]
    fn sql_yaml_http_and_the_log_have_one_home() {
        assert!(found("envoi-engine", &["ureq"], &[]).contains("know HTTP as clients"));
        assert!(
            found("envoi-engine", &["tokio"], &[]).contains("only `server` and `restate` are asynchronous")
        );
        assert_eq!(found("envoi-server", &["tokio", "axum"], &[]), "");
        assert_eq!(found("envoi-notify", &["ureq"], &[]), "");
        assert!(found("envoi-kernel", &["tracing"], &[]).contains("tells nobody"));
        assert!(found("envoi-engine", &["opentelemetry_sdk"], &[]).contains("derived in `engine`"));
        assert!(found("envoi-server", &["tracing-subscriber"], &[]).contains("only `cli`"));
        assert!(found("envoi-engine", &["rusqlite"], &[]).contains("only `journal` knows SQL"));
        assert!(found("envoi", &[], &["saphyr-parser"]).contains("only `flow` knows YAML"));
        assert_eq!(found("envoi-journal", &["rusqlite"], &[]), "");
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_reported() {
        assert!(found("envoi-magic", &[], &[]).contains("has no arrows"));
    }
}
