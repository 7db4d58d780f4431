//! Webhooks: what is posted, and the meaning of each answer.

use crate::{
    event,
    receiver::{Answer, OK, Receiver},
};
use envoi_notify::{Outcome, Webhook};
use envoi_testkit::HeldAddress;
use std::time::Duration;

/// Longer than any operation on loopback takes.
const AMPLE: Duration = Duration::from_secs(60);

fn webhook(url: &str) -> Webhook {
    Webhook { url: url.to_owned(), token: None, trace: None, timeout: AMPLE }
}

#[test]
fn a_post_carries_the_event_its_id_and_the_token() {
    let receiver = Receiver::new(&[OK]);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (token, told) = (Some("s3cret".to_owned()), Some(trace.to_owned()));
    let webhook = Webhook { token, trace: told, ..webhook(&receiver.url) };
    assert_eq!(webhook.post(&event()), Outcome::Delivered);
    let request = receiver.next();
    assert!(request.head.starts_with("POST /hook HTTP/1.1\n"), "{}", request.head);
    assert_eq!(request.header("content-type"), Some("application/cloudevents+json"));
    assert_eq!(request.header("idempotency-key"), Some("evt_1_7"));
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("traceparent"), Some(trace));
    assert_eq!(request.body, event().to_json());
    assert!(receiver.is_quiet());
    assert!(!format!("{webhook:?}").contains("s3cret"));
}

#[test]
fn without_a_token_or_a_trace_no_header_is_sent() {
    let receiver = Receiver::new(&[Answer::Says("204 No Content", "")]);
    assert_eq!(webhook(&receiver.url).post(&event()), Outcome::Delivered);
    let request = receiver.next();
    assert_eq!((request.header("authorization"), request.header("traceparent")), (None, None));
}

#[test]
fn an_answer_says_whether_another_try_makes_sense() {
    let again = |wait_s: Option<u64>| (true, wait_s.map(Duration::from_secs));
    for (status, headers, expected) in [
        ("500 Oops", "", again(None)),
        ("503 Busy", "retry-after: 7\r\n", again(Some(7))),
        ("503 Busy", "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", again(None)),
        ("429 Slow", "retry-after: 120\r\n", again(Some(120))),
        ("408 Slow", "", again(None)),
        ("425 Early", "", again(None)),
        ("400 Bad", "", (false, None)),
        ("401 Who", "", (false, None)),
        ("404 Where", "retry-after: 7\r\n", (false, None)),
        ("410 Gone", "", (false, None)),
    ] {
        let receiver = Receiver::new(&[Answer::Says(status, headers)]);
        let (code, _) = status.split_once(' ').unwrap();
        match (webhook(&receiver.url).post(&event()), expected) {
            (Outcome::Failed { error, wait }, (true, expected)) => {
                assert!(error.contains(code), "{status}: {error}");
                assert_eq!(wait, expected, "{status}");
            }
            (Outcome::Refused { error }, (false, _)) => assert!(error.contains(code), "{status}: {error}"),
            (outcome, _) => panic!("{status}: {outcome:?}"),
        }
        assert_eq!(receiver.next().body, event().to_json());
    }
}

#[test]
fn a_redirect_is_refused_and_the_other_place_hears_nothing() {
    let elsewhere = Receiver::new(&[OK]);
    for status in ["301 Moved", "307 There", "303 See"] {
        let location = format!("location: {}\r\n", elsewhere.url).leak();
        let receiver = Receiver::new(&[Answer::Says(status, location)]);
        let outcome = webhook(&receiver.url).post(&event());
        assert!(matches!(&outcome, Outcome::Refused { error } if error.contains("redirect")), "{outcome:?}");
        receiver.next();
    }
    assert!(elsewhere.is_quiet());
}

#[test]
fn a_receiver_that_cannot_be_reached_or_says_nothing_is_tried_again() {
    let closing = Receiver::new(&[Answer::HangsUp]);
    let nobody = HeldAddress::take().unwrap();
    let refusing = format!("http://{}/hook", nobody.address());
    for url in [refusing, closing.url.clone(), "http://name.invalid/".to_owned()] {
        let outcome = webhook(&url).post(&event());
        assert!(
            matches!(&outcome, Outcome::Failed { error, wait: None } if error.starts_with("no connection")),
            "{url}: {outcome:?}"
        );
    }
    let silent = Receiver::new(&[Answer::Hangs]);
    let outcome = Webhook { timeout: Duration::from_millis(200), ..webhook(&silent.url) }.post(&event());
    assert_eq!(outcome, Outcome::failed("no answer within 0.2 s"));
}

#[test]
fn what_cannot_be_sent_is_refused_without_being_quoted() {
    for (url, token) in
        [("http://", None), ("ftp://127.0.0.1/", None), ("http://127.0.0.1/", Some("two\nlines"))]
    {
        let webhook = Webhook { token: token.map(str::to_owned), ..webhook(url) };
        let outcome = webhook.post(&event());
        assert!(
            matches!(&outcome, Outcome::Refused { error } if !error.contains("lines")),
            "{url}: {outcome:?}"
        );
    }
}
