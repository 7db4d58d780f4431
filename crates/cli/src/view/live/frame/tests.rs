//! Compares pictures of runs in all states with files in `golden/`, and checks properties of every size.

use super::*;
use crate::view::live::{
    ending::ending,
    fixture::{Fixture, assert_golden},
};
use envoi_kernel::event::Choice;
use std::path::Path;

const SHOP: &str = "flow: shop\ntitle: Repair the shop until its tests pass\nlimits: { iterations: 12, cost_usd: \"5.00\" }\nsteps:\n  \
    - id: prepare\n    run: x\n  \
    - id: repair\n    run: x\n    artifacts: [\"**\"]\n  \
    - id: fetch-the-rates\n    run: x\n    retry: { attempts: 3, backoff: 8s..30s }\n  \
    - id: critic\n    run: x\n    routing: { kind: microloop, loop_to: repair, status_from_exit: {0: VERIFIED, 1: UNVERIFIED}, \
      success_values: [VERIFIED], max_iterations: 3 }\n  \
    - id: never\n    if: ${{ steps.critic.status == 'failed' }}\n    run: x\n  \
    - id: report\n    run: x\n";

const CHARSETS: [(Charset, &str); 2] = [(Charset::Unicode, "unicode"), (Charset::Ascii, "ascii")];

fn album(name: &str, height: usize, fixture: &Fixture) {
    for (charset, word) in CHARSETS {
        assert_golden(&format!("{name}.{word}.txt"), &fixture.album(height, charset));
    }
}

/// A run in the second round of the loop, where a step waits for its next try.
fn under_way() -> Fixture {
    let mut fixture = Fixture::of(SHOP);
    fixture.ends(1_234, 0, "Prepared 3 files\n", &[]);
    fixture.ends(62_000, 0, "改善した pricing.py — as the critic wanted\n", &["out/pricing.py"]);
    fixture.ends(900, 0, "rates of 2026\n", &[]).ends(5_000, 1, "2 of 17 tests fail\n", &[]);
    fixture.ends(3_000, 0, "\x1b[31mChanged\x1b[0m\trates.py\n", &["out/rates.py"]);
    fixture.ends(800, 7, "upstream said 503\n", &[]);
    fixture
}

#[test]
fn a_run_with_a_loop_and_a_retry() {
    let mut fixture = under_way();
    fixture.wait(1_500);
    album("retry", 24, &fixture);
    fixture.timer_is_due().wait(12_345);
    fixture.writes("compiling 日本語のモジュール (3 of 40) with a line that is longer than most terminals are wide, and then some more");
    album("running", 24, &fixture);
}

#[test]
fn what_a_live_attempt_has_used_so_far_stands_beside_it_until_it_is_over() {
    let used = "41 calls, 1.2M tokens, $3.15";
    let mut fixture = Fixture::of("flow: f\nsteps:\n  - { id: fix, run: x }\n  - { id: test, run: x }\n");
    fixture.wait(2_000).has_used("fix.1.1", "> Edit web/index.html", used);
    for (width, is_there) in [(80, true), (20, false)] {
        let picture = fixture.picture(width, 10, Charset::Unicode);
        assert_eq!(picture.contains(used), is_there, "{picture}");
    }
    fixture.ends(3_000, 0, "done\n", &[]);
    let picture = fixture.picture(80, 10, Charset::Unicode);
    assert!(!picture.contains(used), "{picture}");
}

#[test]
fn a_question_of_several_lines_stands_in_one_row_without_gaps() {
    let ask = "\"The agent wants to run a command:\\n\\n    git push\\n\\ndescription: send\"";
    let mut fixture = Fixture::of(&format!("flow: f\nsteps:\n  - {{ id: ask, ask: {ask} }}\n"));
    let picture = fixture.wait(1_000).picture(80, 10, Charset::Unicode);
    assert!(picture.contains("The agent wants to run a command: git push description: send"), "{picture}");
}

#[test]
fn a_run_that_waits_for_a_person() {
    let mut fixture = under_way();
    fixture.timer_is_due().wait(2_000);
    fixture.doubt("{\"output_tail\": \"fetching EUR\", \"ran_ms\": 2000}");
    album("doubt", 24, &fixture);
    fixture.answer(Choice::Rerun);
    fixture.ends(700, 0, "rates of 2026\n", &[]).ends(5_000, 0, "17 tests pass\n", &[]);
    fixture.ends(10, 0, "All is well\nwith five files\n", &["report.html"]);
    album("done", 24, &fixture);
}

#[test]
fn a_run_of_more_steps_than_lines() {
    let steps: String = (1..=40).map(|n| format!("  - id: step-{n}\n    run: x\n")).collect();
    let mut fixture = Fixture::of(&format!("flow: many\nsteps:\n{steps}"));
    for n in 1..20 {
        fixture.ends(100 * n, 0, "ok\n", &[]);
    }
    fixture.wait(61_000).writes("still there");
    album("many", 12, &fixture);
}

const BESIDE: &str = "flow: beside\ntitle: Look at everything at once\nsteps:\n  \
    - id: prepare\n    run: x\n  \
    - id: ask\n    needs: [prepare]\n    ask: Publish it?\n  \
    - id: look\n    needs: [prepare]\n    for_each: [api, web, app, docs, site]\n    max_parallel: 3\n    run: x\n  \
    - id: quick\n    needs: [prepare]\n    run: x\n  \
    - id: slow\n    needs: [prepare]\n    run: x\n  \
    - id: first\n    needs: [quick, slow]\n    join: any\n    run: x\n  \
    - id: build\n    needs: [prepare]\n    flow: build.yaml\n  \
    - id: judge\n    needs: [look, first, build]\n    run: x\n    \
      routing: { kind: microloop, loop_to: prepare, status_from_exit: {0: GOOD, 1: BAD}, success_values: [GOOD], \
      max_iterations: 3 }\n";

const BUILD: &str = "flow: build\nsteps:\n  - { id: compile, run: x }\n  - id: pack\n    for_each: [deb, rpm]\n    run: x\n  \
    - { id: sign, run: x }\n";

/// Several things at once: items in all states, a loser that is being ended, an inner flow.
fn beside() -> Fixture {
    let mut fixture = Fixture::of_parts(BESIDE, &[("build.yaml", BUILD)]);
    fixture.ends(1_200, 0, "Prepared 3 files\n", &[]);
    fixture.fills().wait(12_000);
    fixture.ended("0.look.1.1", 12_000, 0, "api is fine\n").fills();
    fixture.wrote("1.look.1.1", "reading web/index.html").wrote("slow.1.1", "step 3 of 900");
    fixture.wrote("build.1.compile.1.1", "compiling 3 of 40");
    fixture
}

#[test]
fn a_run_that_does_several_things_at_once() {
    let mut fixture = beside();
    album("beside", 30, &fixture);
    // A loser, a failed item, one in doubt, and a fan within the inner flow.
    fixture.wait(3_000).ended("quick.1.1", 15_000, 0, "quick it was\n");
    fixture.ended("1.look.1.1", 15_000, 7, "web is broken\n").doubts("2.look.1.1");
    fixture.ended("build.1.compile.1.1", 15_000, 0, "compiled 40\n").fills();
    fixture.wrote("build.1.0.pack.1.1", "packing").wait(61_000);
    album("losers", 30, &fixture);
    for (charset, word) in CHARSETS {
        let pictures =
            [5, 8, 11].map(|height| format!("--- {height} lines\n{}", fixture.picture(60, height, charset)));
        assert_golden(&format!("losers-low.{word}.txt"), &pictures.concat());
    }
}

#[test]
fn a_step_that_failed_for_good() {
    let flow = "flow: fails\nsteps:\n  - id: fetch\n    run: x\n    retry: { attempts: 2, backoff: 1s..1s }\n  - id: after\n    run: x\n";
    let mut fixture = Fixture::of(flow);
    fixture.ends(100, 7, "no route to host\n", &[]).timer_is_due().ends(200, 7, "no route to host\n", &[]);
    album("failed", 24, &fixture);
}

#[test]
fn the_result_is_printed_at_the_end() {
    let told = |fixture: &Fixture, reason| {
        let lines = ending(&fixture.model, reason, Path::new("/w"), Charset::Unicode);
        lines.iter().map(|line| line.render(false) + "\n").collect::<String>()
    };
    let mut fixture = under_way();
    fixture.timer_is_due().wait(2_000);
    fixture.doubt("{\"output_tail\": \"fetching EUR\", \"ran_ms\": 2000, \"files_changed\": []}");
    let doubt = told(&fixture, None);
    fixture.answer(Choice::Rerun);
    fixture.ends(700, 0, "ok\n", &[]).ends(5_000, 0, "17 tests pass\n", &[]);
    fixture.ends(10, 0, "All is well\x1b[2J\n\nwith files\n", &["a", "b", "c", "d"]);
    let failed = told(&fixture, Some("a step failed"));
    assert_golden("ending.txt", &format!("{doubt}---\n{}---\n{failed}", told(&fixture, None)));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_there_are_no_more_lines_than_it_has() {
    let mut running = under_way();
    running.timer_is_due().wait(12_345).writes("日本語日本語\u{301}👨‍👩‍👧❤\u{fe0f} ".repeat(30).as_str());
    let retry = under_way();
    let mut doubt = under_way();
    let beside = beside();
    doubt.timer_is_due().doubt("{}");
    for (charset, _) in CHARSETS {
        for width in 1..=200 {
            for height in [1, 2, 3, 5, 24] {
                for fixture in [&running, &doubt, &retry, &beside] {
                    let lines = frame(&fixture.model, fixture.now(), Look { width, height, charset });
                    assert!(lines.len() <= height, "{} lines of {height}", lines.len());
                    for line in lines {
                        let text = line.render(false);
                        assert!(line.width() <= width, "{width}: {text}");
                        assert!(!text.contains(char::is_control), "{text:?}");
                        assert!(charset == Charset::Unicode || text.is_ascii(), "{text}");
                        assert_eq!(text.trim_end(), text);
                    }
                }
            }
        }
    }
}

#[test]
fn a_step_that_has_items_has_no_attempt_of_its_own() {
    let mut fixture = Fixture::of(
        "flow: f\nsteps:\n  - { id: look, for_each: [api, web], run: x, retry: { attempts: 2 } }\n",
    );
    fixture.fills();
    let look = Look { width: 80, height: 24, charset: Charset::Unicode };
    let lines = frame(&fixture.model, fixture.now(), look);
    let text: String = lines.iter().map(|line| line.render(false) + "\n").collect();
    assert!(
        text.contains("0.look") && text.contains("api  attempt 1 of 2") && !text.contains("attempt 0"),
        "{text}"
    );
}

#[test]
fn a_loop_that_a_person_ended_is_shown_as_such() {
    let mut fixture = Fixture::of(
        "flow: f\nsteps:\n  - id: c\n    run: x\n    routing: { kind: microloop, loop_to: c, \
         status_from_exit: {0: OK, 1: BAD}, success_values: [OK], max_iterations: 0 }\n",
    );
    let look = Look { width: 80, height: 24, charset: Charset::Unicode };
    let text = |fixture: &Fixture| -> String {
        let lines = frame(&fixture.model, fixture.now(), look);
        lines.iter().map(|line| line.render(false) + "\n").collect()
    };
    fixture.ends(1, 1, "bad", &[]);
    assert!(!text(&fixture).contains("passed by a person"));
    fixture.answer(Choice::Proceed);
    let text = text(&fixture);
    assert!(text.contains("✓ c") && text.contains("passed by a person"), "{text}");
}
