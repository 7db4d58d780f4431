//! A result of the cache is a result as any other: what follows from it is decided anew, and it costs nothing.

use crate::{
    driver::{Driver, exited, reported, settled},
    flows::{flow, step},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Input, Status,
    event::{CacheUse, CachedFrom},
    ids::RunId,
    input::AttemptResult,
};

fn brought() -> Box<CacheUse> {
    let from =
        CachedFrom { run: RunId::new("run_earlier").unwrap(), attempt: crate::driver::attempt("a.1.1") };
    let kept = Some(Digest::of(b"kept"));
    Box::new(CacheUse { key: "k".to_owned(), from: Some(from), kept, ..CacheUse::default() })
}

fn cached(result: AttemptResult) -> Input {
    settled(AttemptResult { cache: Some(brought()), ..result })
}

#[test]
fn a_brought_result_leads_on_is_recorded_and_replays() {
    let mut driver = Driver::new(&flow([step("a"), step("b")]));
    let start = driver.start();
    driver.feed(start).unwrap();
    driver.ok(cached(exited("a.1.1", 0)));
    driver.restart();
    assert_eq!(driver.settlement("a.1.1").cache, Some(brought()));
    driver.ok(settled(exited("b.1.1", 0)));
    assert!(matches!(driver.run.status(), Status::Ended(_)));
}

#[test]
fn what_an_earlier_run_has_paid_for_is_not_counted_again() {
    let figures = r#""metrics":{"llm_calls":3,"cost_usd":"0.5"}"#;
    for (is_cached, counted) in [(false, true), (true, false)] {
        let mut driver = Driver::new(&flow([step("a"), step("b")]));
        let start = driver.start();
        driver.feed(start).unwrap();
        let result = reported("a.1.1", figures);
        driver.ok(if is_cached { cached(result) } else { settled(result) });
        assert_eq!(!driver.settlement("a.1.1").metrics.is_empty(), counted);
    }
}
