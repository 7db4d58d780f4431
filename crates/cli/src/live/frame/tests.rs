//! Pictures of runs in all their states, against files in `golden/`, and what holds for every size.

use super::*;
use crate::live::{
    ending::ending,
    stage::{Play, assert_golden},
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

fn album(name: &str, height: usize, play: &Play) {
    for (charset, word) in CHARSETS {
        assert_golden(&format!("{name}.{word}.txt"), &play.album(height, charset));
    }
}

/// In the second round of the loop, where a step waits for its next try.
fn under_way() -> Play {
    let mut play = Play::of(SHOP);
    play.ends(1_234, 0, "Prepared 3 files\n", &[]);
    play.ends(62_000, 0, "改善した pricing.py — as the critic wanted\n", &["out/pricing.py"]);
    play.ends(900, 0, "rates of 2026\n", &[]).ends(5_000, 1, "2 of 17 tests fail\n", &[]);
    play.ends(3_000, 0, "\x1b[31mChanged\x1b[0m\trates.py\n", &["out/rates.py"]);
    play.ends(800, 7, "upstream said 503\n", &[]);
    play
}

#[test]
fn a_run_with_a_loop_and_a_retry() {
    let mut play = under_way();
    play.wait(1_500);
    album("retry", 24, &play);
    play.timer_is_due().wait(12_345);
    play.writes("compiling 日本語のモジュール (3 of 40) with a line that is longer than most terminals are wide, and then some more");
    album("running", 24, &play);
}

#[test]
fn a_run_that_waits_for_a_person() {
    let mut play = under_way();
    play.timer_is_due().wait(2_000);
    play.doubt("{\"output_tail\": \"fetching EUR\", \"ran_ms\": 2000}");
    album("doubt", 24, &play);
    play.answer(Choice::Rerun);
    play.ends(700, 0, "rates of 2026\n", &[]).ends(5_000, 0, "17 tests pass\n", &[]);
    play.ends(10, 0, "All is well\nwith five files\n", &["report.html"]);
    album("done", 24, &play);
}

#[test]
fn a_run_of_more_steps_than_lines() {
    let steps: String = (1..=40).map(|n| format!("  - id: step-{n}\n    run: x\n")).collect();
    let mut play = Play::of(&format!("flow: many\nsteps:\n{steps}"));
    for n in 1..20 {
        play.ends(100 * n, 0, "ok\n", &[]);
    }
    play.wait(61_000).writes("still there");
    album("many", 12, &play);
}

#[test]
fn a_step_that_failed_for_good() {
    let flow = "flow: fails\nsteps:\n  - id: fetch\n    run: x\n    retry: { attempts: 2, backoff: 1s..1s }\n  - id: after\n    run: x\n";
    let mut play = Play::of(flow);
    play.ends(100, 7, "no route to host\n", &[]).timer_is_due().ends(200, 7, "no route to host\n", &[]);
    album("failed", 24, &play);
}

#[test]
fn what_came_out_is_said_at_the_end() {
    let told = |play: &Play, reason| {
        let lines = ending(&play.board, reason, Path::new("/w"), Charset::Unicode);
        lines.iter().map(|line| line.render(false) + "\n").collect::<String>()
    };
    let mut play = under_way();
    play.timer_is_due().wait(2_000);
    play.doubt("{\"output_tail\": \"fetching EUR\", \"ran_ms\": 2000, \"files_changed\": []}");
    let doubt = told(&play, None);
    play.answer(Choice::Rerun);
    play.ends(700, 0, "ok\n", &[]).ends(5_000, 0, "17 tests pass\n", &[]);
    play.ends(10, 0, "All is well\x1b[2J\n\nwith files\n", &["a", "b", "c", "d"]);
    let failed = told(&play, Some("a step failed"));
    assert_golden("ending.txt", &format!("{doubt}---\n{}---\n{failed}", told(&play, None)));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_there_are_no_more_lines_than_it_has() {
    let mut running = under_way();
    running.timer_is_due().wait(12_345).writes("日本語日本語\u{301}👨‍👩‍👧❤\u{fe0f} ".repeat(30).as_str());
    let (retry, mut doubt) = (under_way(), under_way());
    doubt.timer_is_due().doubt("{}");
    for (charset, _) in CHARSETS {
        for width in 1..=200 {
            for height in [1, 2, 3, 5, 24] {
                for play in [&running, &doubt, &retry] {
                    let lines = frame(&play.board, play.now(), Look { width, height, charset });
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
