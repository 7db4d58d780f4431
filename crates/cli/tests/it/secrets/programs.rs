//! Agent programs that put a secret into every text that they may write: their events, sessions, texts, data, refused calls, figures and
//! questions.

use super::{BEARER, Leaky, seeds};
use crate::stage::wait_until;
use std::fs;

const PROGRAMS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// A stage whose four programs are the same script, and a flow with these steps.
fn with_programs(seed: u64, steps: &str) -> Leaky {
    let leaky = Leaky::new(seed, "");
    for program in PROGRAMS {
        leaky.stage.write_program(&format!("bin/{program}"), include_str!("program.py"));
    }
    let config = format!(
        "accounts:\n  spare: {{ use: claude, program: '{}', secrets: {{ ANTHROPIC_API_KEY: {{ env: BEARER }} }} }}\n",
        leaky.stage.path("bin/claude").display()
    );
    leaky.stage.write(".envoi/config.yaml", config);
    let path = std::env::var("PATH").unwrap();
    leaky.stage.write(
        "flow.yaml",
        format!(
            "flow: agents\nenv: {{ PATH: '{}:{path}' }}\nsecrets: {{ TOKEN: {{ env: MY_TOKEN }}, KEY: {{ file: key.txt }} }}\n\
             notify: {{ command: [python3, tell.py] }}\nsteps:\n{steps}",
            leaky.stage.path("bin").display()
        ),
    );
    leaky
}

/// Some of the seeds: others for the next program, so that all together have tried each.
fn seeds_of(program: &str) -> Vec<u64> {
    let nth = PROGRAMS.iter().position(|one| *one == program).unwrap();
    let seeds = seeds();
    seeds.iter().cycle().skip(nth).take(seeds.len().min(2)).copied().collect()
}

#[test]
fn what_an_agent_program_says_of_a_secret_reaches_the_disk_masked() {
    for program in PROGRAMS {
        let mut steps = String::new();
        for (what, keys) in [
            ("reply", "denials: 9"),
            ("fail", "retry: { attempts: 2, backoff: 1ms..2ms }"),
            ("crash", "timeout: 1m"),
            ("data", "denials: 9, outputs: { type: object, required: [first] }"),
            (
                "misfits",
                "denials: 9, outputs: { type: object, required: [never], properties: { all: { items: { type: integer } } } }",
            ),
        ] {
            let says = if what == "misfits" { "data" } else { what };
            steps.push_str(&format!(
                "  - {{ id: {what}, needs: [], agent: {{ use: {program}, prompt: 'do: {says}' }}, {keys}, continue_on_error: true }}\n"
            ));
        }
        for seed in seeds_of(program) {
            let leaky = with_programs(seed, &steps);
            let done = leaky.command(&["--json", "run", "flow.yaml"]).done();
            assert_eq!(done.code, Some(0), "{done:?}");
            leaky.assert_clean(&[&done]);
            let events = leaky.stage.attempt("reply.1.1").unwrap().join("events.jsonl");
            assert!(fs::read_to_string(events).unwrap().contains("***"), "{program}");
            leaky.assert_shown_clean();
        }
    }
}

/// The key of the account is a secret too, and outputs become inputs: values, failures, the text of a critic.
#[test]
fn what_comes_out_of_an_agent_program_goes_masked_into_the_next_prompt() {
    for seed in seeds() {
        let leaky = with_programs(
            seed,
            "  - { id: first, agent: { use: claude, account: spare, prompt: 'do: data' }, denials: 9, outputs: { type: object } }\n  \
             - id: again\n    denials: 9\n    agent: { use: codex, prompt: 'Before: ${{ steps.first.summary }} ${{ steps.first.data.first }} \
             ${{ steps.first.data.document }} do: reply' }\n  - id: critic\n    run: [python3, leak.py, critic]\n    routing: { kind: microloop, \
             loop_to: again, success_values: [VERIFIED], max_iterations: 3 }\n",
        );
        let done = leaky.command(&["--json", "run", "flow.yaml"]).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        leaky.assert_clean(&[&done]);
        let prompt = leaky.stage.attempt("again.2.1").unwrap().join("prompt.txt");
        assert!(fs::read_to_string(prompt).unwrap().contains("Feedback on your last result"));
        leaky.assert_shown_clean();
    }
}

#[test]
fn a_call_of_a_tool_that_a_person_decides_is_shown_and_kept_masked() {
    for seed in seeds() {
        let leaky = with_programs(
            seed,
            "  - id: asks\n    denials: 9\n    agent: { use: claude, prompt: 'do: ask', ask: ['Bash(*)'] }\n",
        );
        let asked = leaky.command(&["--json", "run", "flow.yaml"]).done();
        assert_eq!(asked.code, Some(3), "{asked:?}");
        let question = leaky.stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
        let shown = leaky.stage.expect(0, &["show", &question]);
        assert!(shown.out.contains("***"), "{shown:?}");
        leaky.assert_clean(&[&asked, &shown]);
        let done = leaky.command(&["--json", "approve", &question]).done();
        assert_eq!(done.code, Some(0), "the call that was decided is the one that is made: {done:?}");
        leaky.assert_clean(&[&done]);
        leaky.assert_shown_clean();
    }
}

#[test]
fn what_a_killed_agent_program_left_is_masked_by_the_next_engine() {
    for program in PROGRAMS {
        for seed in seeds_of(program) {
            let leaky = with_programs(
                seed,
                &format!("  - id: work\n    agent: {{ use: {program}, prompt: 'do: hang' }}\n"),
            );
            let engine = leaky.command(&["run", "flow.yaml"]);
            wait_until("the program", || leaky.stage.path("hung").exists());
            let folder = leaky.stage.attempt("work.1.1").unwrap();
            // The events are written by the process of the program, the output by its supervisor: either may be behind.
            let has =
                |name: &str| fs::read_to_string(folder.join(name)).is_ok_and(|text| text.contains("***"));
            wait_until("its events and its output", || has("events.jsonl") && has("stdout"));
            leaky.kill(engine, "work.1.1");
            let asked = leaky.command(&["--json", "resume", &leaky.stage.run_id()]).done();
            assert_eq!(asked.code, Some(5), "{asked:?}");
            leaky.assert_clean(&[&asked]);
            leaky.assert_shown_clean();
        }
    }
}

/// A session whose id is a secret cannot be gone on with, and is written nowhere.
#[test]
fn a_session_whose_id_is_a_secret_is_kept_nowhere() {
    let leaky =
        with_programs(1, "  - id: work\n    agent: { use: codex, prompt: 'do: reply' }\n    denials: 9\n");
    let script =
        include_str!("program.py").replace("01a20652-7423-7802-bbb7-0dd00d025238", "b3arer-of-the-agent");
    leaky.stage.write_program("bin/codex", script);
    let mut command = leaky.stage.command(&["run", "flow.yaml"]);
    let done =
        crate::stage::Process::spawn(command.env("MY_TOKEN", "b3arer-of-the-agent").env("BEARER", BEARER))
            .done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!leaky.stage.attempt("work.1.1").unwrap().join("session").exists());
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", "b3arer-of-the-agent"])
        .arg(leaky.stage.store())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
