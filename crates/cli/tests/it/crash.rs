//! The engine is killed, again and again, at any moment: no acknowledged visit is lost, none runs twice.

use crate::stage::{Dice, Stage};
use std::{collections::BTreeMap, path::PathBuf};

const STEPS: usize = 20;
const KILLS: usize = 200;
/// Several short runs see more of beginnings and ends than a long one.
const KILLS_A_RUN: usize = 21;

/// Steps that each write their id to a file outside the store, in one line.
fn ledger_flow() -> String {
    let step = |n: usize| format!("  - id: s{n:02}\n    run: \"echo $ENVOI_STEP >> ledger; sleep 0.01\"\n");
    format!("flow: ledger\nsteps:\n{}", (1..=STEPS).map(step).collect::<String>())
}

/// Contents that were shown once and must never change.
#[derive(Default)]
pub(crate) struct Shown(BTreeMap<PathBuf, Vec<u8>>);

impl Shown {
    fn look(&mut self, stage: &Stage) {
        self.look_at(stage.handoffs());
    }

    pub(crate) fn look_at(&mut self, handoffs: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) {
        for (path, bytes) in handoffs {
            let before = self.0.entry(path.clone()).or_insert_with(|| bytes.clone());
            assert_eq!(*before, bytes, "{} has changed", path.display());
        }
    }
}

#[test]
fn a_run_whose_engine_is_killed_over_and_over_does_every_step_exactly_once() {
    let mut dice = Dice::new();
    let (mut kills, mut runs) = (0, 0);
    while kills < KILLS {
        kills += one_run(&mut dice);
        runs += 1;
    }
    eprintln!("{kills} kills in {runs} runs");
}

fn one_run(dice: &mut Dice) -> usize {
    let stage = Stage::with_flow(&ledger_flow());
    let mut shown = Shown::default();
    let (mut kills, mut run): (_, Option<String>) = (0, None);
    loop {
        let arguments: Vec<&str> = match &run {
            None => vec!["run", "flow.yaml"],
            Some(run) => vec!["resume", run],
        };
        let engine = stage.start(&arguments);
        let at = if kills < KILLS_A_RUN { dice.micros(3_000, 75_000) } else { crate::stage::LONG };
        let done = engine.done_within(at);
        shown.look(&stage);
        if let Some(done) = done {
            assert_eq!(done.code, Some(0), "{done:?}");
            break;
        }
        kills += 1;
        if run.is_none() {
            run = stage.runs().first().map(|row| crate::stage::text(&row["run"]));
        }
    }
    let expected: Vec<_> = (1..=STEPS).map(|n| format!("s{n:02}")).collect();
    assert_eq!(stage.lines("ledger"), expected);
    // A hand-off per visit, and one for the newest visit of each step.
    assert_eq!(stage.handoffs().len(), 2 * STEPS);
    stage.assert_nothing_left();
    kills
}
