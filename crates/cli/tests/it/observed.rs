//! The traces of runs that are visible from outside: the trace that commands are part of, and the log of the process.

use crate::stage::{Process, Stage};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Two attempts of one step, and a step; each leaves its `TRACEPARENT`.
const TWICE: &str = "
flow: f
steps:
  - id: flaky
    run: echo \"$TRACEPARENT\" >> told.txt; test -e once || { touch once; exit 1; }
    retry: { attempts: 2, backoff: 1ms }
  - id: last
    run: echo \"$TRACEPARENT\" >> told.txt
";

/// The parts of each `TRACEPARENT` of a run.
fn told(stage: &Stage) -> Vec<Vec<String>> {
    stage.lines("told.txt").iter().map(|line| line.split('-').map(str::to_owned).collect()).collect()
}

#[test]
fn every_attempt_is_a_span_of_its_own_in_the_trace_of_its_run() {
    let stage = Stage::with_flow(TWICE);
    stage.expect(0, &["run", "flow.yaml"]);
    let own = told(&stage);
    assert_eq!(own.len(), 3);
    for parts in &own {
        let lengths: Vec<usize> = parts.iter().map(String::len).collect();
        assert_eq!((lengths, parts[0].as_str(), parts[3].as_str()), (vec![2, 32, 16, 2], "00", "01"));
        assert_eq!(parts[1], own[0][1], "one trace");
    }
    assert!(own[0][2] != own[1][2] && own[1][2] != own[2][2], "{own:?}");
}

#[test]
fn a_run_belongs_to_the_trace_of_its_caller() {
    let rows = [
        (CALLER, Some("01")),
        // The caller of the trace does not want it recorded.
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", Some("00")),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", None),
        ("", None),
    ];
    for (caller, flags) in rows {
        let stage = Stage::with_flow(TWICE);
        let mut command = stage.command(&["run", "flow.yaml"]);
        let done = Process::spawn(command.env("TRACEPARENT", caller)).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        let told = told(&stage);
        let is_callers = |parts: &Vec<String>| parts[1] == "4bf92f3577b34da6a3ce929d0e0e4736";
        assert!(told.iter().all(|parts| is_callers(parts) == flags.is_some()), "{caller}: {told:?}");
        assert!(told.iter().all(|parts| parts[2] != "00f067aa0ba902b7"), "{told:?}");
        assert!(told.iter().all(|parts| parts[3] == flags.unwrap_or("01")), "{caller}: {told:?}");
        let kept = &stage.events(&stage.run_id())[0]["trace"];
        assert_eq!(kept.as_str(), flags.map(|_| caller), "what is not well formed is not kept");
    }
}
