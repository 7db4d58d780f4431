//! Two hundred seeds in CI; `ENVOI_SIM_SEEDS=5000` for more, `ENVOI_SIM_SEED=17` for one.

use envoi_sim::{Report, check};

/// The first of the seeds.
const FIRST: u64 = 1;

/// How many there are, unless `ENVOI_SIM_SEEDS` sets it.
const SEEDS: u64 = 200;

#[expect(clippy::expect_used, reason = "a mistyped seed must be seen")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

#[test]
fn every_promise_holds_whatever_happens() {
    let seeds = match number("ENVOI_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => FIRST..FIRST + number("ENVOI_SIM_SEEDS").unwrap_or(SEEDS),
    };
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
