//! A POST to an address that a client has named, and the meaning of each answer.

use crate::receiver::{Answer, OK, Receiver};
use envoi_notify::{EgressPolicy, HttpPost, Outcome};
use envoi_testkit::HeldAddress;
use std::time::Duration;

/// Longer than any operation on loopback takes.
const AMPLE: Duration = Duration::from_secs(60);

fn http_post() -> HttpPost {
    HttpPost {
        media_type: "application/a2a+json",
        id: "run_1:7".to_owned(),
        authorization: Some("Bearer s3cret".to_owned()),
        token: Some(("x-a2a-notification-token", "t0ken".to_owned())),
        body: b"{\"task\":{}}".to_vec(),
        timeout: AMPLE,
    }
}

fn policy() -> EgressPolicy {
    EgressPolicy::new(&["127.0.0.1".to_owned()], Vec::new())
}

#[test]
fn a_post_carries_its_body_its_id_and_its_credentials() {
    let receiver = Receiver::new(&[OK]);
    assert_eq!(http_post().post(&receiver.url, &policy()), Outcome::Delivered);
    let request = receiver.next();
    assert!(request.head.starts_with("POST /hook HTTP/1.1\n"), "{}", request.head);
    assert_eq!(request.header("content-type"), Some("application/a2a+json"));
    assert_eq!(request.header("idempotency-key"), Some("run_1:7"));
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("x-a2a-notification-token"), Some("t0ken"));
    assert_eq!(request.body, "{\"task\":{}}");
    let shown = format!("{:?}", http_post());
    assert!(!shown.contains("s3cret") && !shown.contains("t0ken") && !shown.contains("task"), "{shown}");
    let receiver = Receiver::new(&[OK]);
    let bare = HttpPost { authorization: None, token: None, ..http_post() };
    assert_eq!(bare.post(&receiver.url, &policy()), Outcome::Delivered);
    let request = receiver.next();
    assert_eq!((request.header("authorization"), request.header("x-a2a-notification-token")), (None, None));
}

#[test]
fn no_address_that_is_not_public_is_connected_to_unless_it_is_allowed() {
    let receiver = Receiver::new(&[OK]);
    let outcome = http_post().post(&receiver.url, &EgressPolicy::default());
    assert_eq!(outcome, Outcome::failed("`http:` is not taken for `127.0.0.1`; use `https:`"));
    let tls = receiver.url.replace("http:", "https:");
    for url in [tls.clone(), tls.replace("127.0.0.1", "localhost")] {
        let outcome = http_post().post(&url, &EgressPolicy::default());
        assert_eq!(outcome, Outcome::failed("the address 127.0.0.1 is of this machine"), "{url}");
    }
    assert!(receiver.is_quiet());
}

#[test]
fn only_an_answer_of_success_is_one_and_only_what_is_gone_is_given_up() {
    let again = |wait_s: Option<u64>| Some(wait_s.map(Duration::from_secs));
    for (status, headers, expected) in [
        ("301 Moved", "location: http://127.0.0.1:1/\r\n", again(None)),
        ("304 Same", "", again(None)),
        ("400 Bad", "", again(None)),
        ("401 Who", "", again(None)),
        ("404 Where", "", again(None)),
        ("410 Gone", "retry-after: 7\r\n", None),
        ("429 Slow", "retry-after: 120\r\n", again(Some(120))),
        ("500 Oops", "", again(None)),
        ("503 Busy", "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", again(None)),
    ] {
        let receiver = Receiver::new(&[Answer::Says(status, headers)]);
        let (code, _) = status.split_once(' ').unwrap();
        match (http_post().post(&receiver.url, &policy()), expected) {
            (Outcome::Failed { error, wait }, Some(expected)) => {
                assert!(error.contains(code), "{status}: {error}");
                assert_eq!(wait, expected, "{status}");
            }
            (Outcome::Refused { error }, None) => assert!(error.contains("gone"), "{status}: {error}"),
            (outcome, _) => panic!("{status}: {outcome:?}"),
        }
        receiver.next();
    }
}

#[test]
fn a_redirect_is_not_followed_and_the_failure_says_so() {
    let elsewhere = Receiver::new(&[OK]);
    for status in ["301 Moved", "302 Found", "303 See", "307 There", "308 There"] {
        let location = format!("location: {}\r\n", elsewhere.url).leak();
        let receiver = Receiver::new(&[Answer::Says(status, location)]);
        let outcome = http_post().post(&receiver.url, &policy());
        assert!(
            matches!(&outcome, Outcome::Failed { error, .. } if error.contains("redirects are not followed"))
        );
        receiver.next();
    }
    assert!(elsewhere.is_quiet());
}

#[test]
fn a_receiver_that_cannot_be_reached_or_says_nothing_or_too_much_is_tried_again() {
    let closing = Receiver::new(&[Answer::HangsUp]);
    let endless = format!("x: {}\r\n", "x".repeat(100_000)).leak();
    let talking = Receiver::new(&[Answer::Says("200 OK", endless)]);
    let nobody = HeldAddress::take().unwrap();
    let refusing = format!("http://{}/hook", nobody.address());
    for url in [refusing, closing.url.clone(), talking.url.clone()] {
        let outcome = http_post().post(&url, &policy());
        assert!(
            matches!(&outcome, Outcome::Failed { error, .. } if error.starts_with("no connection")),
            "{url}: {outcome:?}"
        );
    }
    let silent = Receiver::new(&[Answer::Hangs]);
    let outcome =
        HttpPost { timeout: Duration::from_millis(200), ..http_post() }.post(&silent.url, &policy());
    assert_eq!(outcome, Outcome::failed("no answer within 0.2 s"));
}

#[test]
fn what_cannot_be_sent_is_not_quoted() {
    let bad = HttpPost { authorization: Some("Bearer two\nlines".to_owned()), ..http_post() };
    let outcome = bad.post("http://127.0.0.1:1/", &policy());
    assert_eq!(outcome, Outcome::failed("the token or the credentials cannot be sent in a header"));
}
