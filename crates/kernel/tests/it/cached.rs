//! A result of the cache is like any other: its consequences are decided anew, and it costs nothing.

use crate::{
    driver::{Driver, exited, reported, settled},
    flows::{flow, step},
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use envoi_kernel::{
    CACHE, Input, Status,
    event::{CacheUse, CachedFrom, LateFile},
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

#[test]
fn what_files_of_the_cache_have_displaced_is_known_also_of_an_attempt_in_doubt() {
    let mut driver = Driver::new(&flow([step("a")]));
    let start = driver.start();
    driver.feed(start).unwrap();
    let late = LateFile { path: "out".to_owned(), digest: Some(Digest::of(b"late")), size: 4 };
    let stood = Some(Digest::of(b"stood"));
    let displaced = CacheUse { stood, late: vec![late], ..CacheUse::default() };
    let text = serde_json::to_string(&displaced).unwrap();
    let evidence = Object::from([(CACHE, Value::parse_str(&text).unwrap())]);
    let attempt = crate::driver::attempt("a.1.1");
    driver.ok(Input::InDoubt { attempt, evidence: Value::Object(evidence) });
    driver.restart();
    assert_eq!(driver.settlement("a.1.1").cache.as_deref(), Some(&displaced));
}
