//! Many runs on many machines, in a simulated world where messages arrive late, twice, out of order or not at
//! all.
//!
//! The objects are the real ones, and so are the kernel and the reader of flows. [`world`] is the platform:
//! it stores the states and delivers messages at least once. [`machine`] is a worker with its disk and its
//! supervisors. [`books`] checks what must never happen. A seed determines everything: `ENVOI_CLUSTER_SEED=7
//! cargo test -p envoi-cluster` tries another one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod books;
mod faults;
mod fence;
mod flows;
mod join;
mod machine;
mod next;
mod objects;
mod wire;
mod world;

use faults::Faults;
use world::{End, World};

/// Runs one world for each seed. A seed in the environment replaces those of the test.
fn live(faults: Faults, seeds: std::ops::Range<u64>) -> Vec<End> {
    let asked = std::env::var("ENVOI_CLUSTER_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = asked.map_or(seeds, |seed| seed..seed + 1);
    seeds.map(|seed| World::new(seed, faults).live()).collect()
}

fn total(ends: &[End], of: impl Fn(&End) -> u64) -> u64 {
    ends.iter().map(of).sum()
}

/// Checks that something occurred at least this often: otherwise the worlds would show nothing. A single
/// world that a person asks for need not show everything.
fn reaches(ends: &[End], of: impl Fn(&End) -> u64, least: u64) {
    assert!(ends.len() == 1 || total(ends, of) >= least, "{}", sums(ends));
}

/// The sums over these worlds, for an error message.
fn sums(ends: &[End]) -> String {
    let mut sum = End::default();
    for end in ends {
        sum.starts += end.starts;
        sum.in_doubt += end.in_doubt;
        sum.kills += end.kills;
        sum.lost += end.lost;
        sum.lease_over += end.lease_over;
        sum.gone += end.gone;
        sum.copies_refused += end.copies_refused;
    }
    format!("{sum:?}")
}

#[test]
fn in_a_calm_world_every_run_ends_and_nothing_is_in_doubt() {
    let ends = live(Faults::CALM, 0..8);
    assert_eq!(total(&ends, |end| end.in_doubt), 0);
    reaches(&ends, |end| end.starts, 150);
}

#[test]
fn messages_that_come_late_twice_or_in_another_order_change_no_outcome() {
    for (calm, lossy) in live(Faults::CALM, 0..10).into_iter().zip(live(Faults::LOSSY, 0..10)) {
        assert_eq!(lossy.outcomes, calm.outcomes);
        assert_eq!(lossy.in_doubt, 0);
    }
}

#[test]
fn workers_that_are_killed_and_come_back_repeat_nothing() {
    let ends = live(Faults::KILLS, 0..12);
    reaches(&ends, |end| end.kills, 20);
    // Their leases hold: they are back before they are lost.
    assert_eq!(total(&ends, |end| end.lost), 0);
    assert_eq!(total(&ends, |end| end.in_doubt), 0);
}

#[test]
fn a_worker_that_is_cut_off_ends_what_it_runs_before_another_one_begins_it() {
    let ends = live(Faults::CUTS, 0..12);
    reaches(&ends, |end| end.lost, 10);
    reaches(&ends, |end| end.in_doubt, 10);
    reaches(&ends, |end| end.lease_over, 5);
}

#[test]
fn machines_that_are_gone_for_ever_stop_no_run() {
    let ends = live(Faults::GONE, 0..12);
    reaches(&ends, |end| end.gone, 10);
    reaches(&ends, |end| end.in_doubt, 5);
}

#[test]
fn all_of_it_at_once() {
    let ends = live(Faults::ALL, 0..20);
    reaches(&ends, |end| end.in_doubt, 20);
}

#[test]
fn a_disk_that_was_copied_is_refused() {
    reaches(&live(Faults::COPIES, 0..6), |end| end.copies_refused, 5);
}

#[test]
fn one_seed_gives_one_course() {
    let [one, other] = [(); 2].map(|()| World::new(3, Faults::ALL).live());
    assert_eq!(one, other);
}
