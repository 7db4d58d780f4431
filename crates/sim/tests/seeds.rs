//! Two hundred seeds in CI, and forty of the nights; `ENVOI_SIM_SEEDS=5000` for more, `ENVOI_SIM_SEED=17` for one.

use envoi_sim::{MINUTES, Report, check, check_nights};
use std::collections::BTreeMap;

/// The first of the seeds.
const FIRST: u64 = 1;

/// How many there are, unless `ENVOI_SIM_SEEDS` sets it.
const SEEDS: u64 = 200;

/// As `SEEDS`, of the nights.
const NIGHTS: u64 = 40;

#[expect(clippy::expect_used, reason = "a mistyped seed must be seen")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

fn seeds(as_many: u64) -> std::ops::Range<u64> {
    match number("ENVOI_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => FIRST..FIRST + number("ENVOI_SIM_SEEDS").unwrap_or(as_many),
    }
}

#[test]
fn every_promise_holds_whatever_happens() {
    let seeds = seeds(SEEDS);
    let single = seeds.end - seeds.start == 1;
    let mut reports = Vec::new();
    for seed in seeds {
        reports.push(check(seed).unwrap_or_else(|failure| panic!("{failure}")));
    }
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let reached = [
        ("worlds", sum(|report| report.worlds)),
        ("commits", sum(|report| report.commits)),
        ("starts", sum(|report| report.starts)),
        ("engines", sum(|report| report.engines)),
        ("take-overs", sum(|report| report.take_overs)),
        ("in doubt", sum(|report| report.in_doubt)),
        ("votes", sum(|report| report.votes)),
        ("expired", sum(|report| report.expired)),
        ("snapshots", sum(|report| report.snapshots)),
        ("given up", sum(|report| report.given_up)),
        ("items", sum(|report| report.items)),
        ("inner flows", sum(|report| report.inner)),
        ("left out", sum(|report| report.left_out)),
        ("corrected", sum(|report| report.corrected)),
        ("crashes after the commit of a correction", sum(|report| report.died_correcting)),
        ("crashes after a commit that leaves out steps", sum(|report| report.died_leaving_out)),
        ("model calls", sum(|report| report.model_calls)),
        ("set aside", sum(|report| report.set_aside)),
    ];
    println!("{reached:?}");
    for (what, count) in reached {
        assert!(single || count > 0, "no {what}: these seeds reach too little");
    }
}

#[test]
fn a_seed_does_the_same_each_time() {
    assert_eq!(check(FIRST).unwrap(), check(FIRST).unwrap());
}

/// The situations that every night must reach.
const IN_ALL: [&str; 12] = [
    "refusals",
    "refusals without a time",
    "refusals with a wrong time",
    "refusals after the reset",
    "waits for an account",
    "attempts that went first",
    "waits for the one that goes first",
    "attempts with another account or program",
    "items that went on with another account",
    "sessions that went on after a limit",
    "attempts in a session that several visits share",
    "steps that failed at the limit of waiting",
];

/// The purpose of each world of a night.
const IN_ONE: [(&str, &[&str]); 5] = [
    (
        "night: a crash after every commit",
        &[
            "engines that died after the commit of a refusal",
            "engines that came up while an account was closed",
            "engines that came up while an attempt went first",
        ],
    ),
    (
        "night: machine restarts",
        &["machines that restarted while an account was closed", "sessions that went on after a doubt"],
    ),
    (
        "night: clocks",
        &[
            "clocks that were set back while an account was closed",
            "clocks that were set forward while an account was closed",
            "last tries of a wait",
        ],
    ),
    (
        "night: tries before a reset",
        &[
            "tries before the reset",
            "tries before the reset that were refused",
            "engines that came up while an account was closed",
        ],
    ),
    (
        "night: everything",
        &[
            "tries before the reset",
            "engines that died after the commit of a refusal",
            "machines that restarted while an account was closed",
            "clocks that were set back while an account was closed",
            "clocks that were set forward while an account was closed",
            "sessions that went on after a doubt",
            "last tries of a wait",
        ],
    ),
];

#[test]
fn a_night_of_agents_with_limits_ends_by_itself_and_starts_nothing_while_an_account_is_closed() {
    let seeds = seeds(NIGHTS);
    let single = seeds.end - seeds.start == 1;
    let mut sums: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for seed in seeds {
        for (world, reached) in check_nights(seed).unwrap_or_else(|failure| panic!("{failure}")) {
            let sums = sums.entry(world).or_default();
            for (what, count) in reached {
                let sum = sums.entry(what).or_default();
                *sum = if what == MINUTES { count.max(*sum) } else { *sum + count };
            }
        }
    }
    for (world, reached) in &sums {
        println!("{world}: {reached:?}");
        let own = IN_ONE.iter().filter(|(name, _)| name == world).flat_map(|(_, whats)| *whats);
        for what in IN_ALL.iter().chain(own) {
            let count = reached.get(what).copied().unwrap_or(0);
            assert!(single || count > 0, "{world}: no {what}: these seeds reach too little");
        }
    }
    assert!(IN_ONE.iter().all(|(world, _)| sums.contains_key(world)), "{:?}", sums.keys());
}
