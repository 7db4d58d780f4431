//! A token, or a tenant, does what it can to keep the others out.

use super::client::{Served, token};
use crate::stage::{Stage, wait_until};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::Duration,
};

/// An artifact that is begun and does not end.
pub(super) fn begun_upload(served: &Served, token: &str) -> TcpStream {
    let address = served.address();
    let mut socket = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST /v1/artifacts HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000000\r\n\r\nx"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket
}

/// Adds the data received on a connection; returns whether it is over.
fn is_told(socket: &mut TcpStream, told: &mut Vec<u8>) -> bool {
    socket.set_nonblocking(true).unwrap();
    !matches!(socket.read_to_end(told), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn uploads_that_are_held_open_keep_nobody_else_from_a_connection() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { connections: 8, request: 10m } }\n");
    let served = Served::start(&stage);
    let north = token(&stage, &["n", "--scope", "answer", "--tenant", "north"]);
    // Each comes for the first time: a connection that a client has ended counts as its own until the server sees it.
    let others = ["s", "t", "u"].map(|name| token(&stage, &[name, "--scope", "answer", "--tenant", "south"]));
    let mut held: Vec<_> = (0..20).map(|_| (begun_upload(&served, &north), Vec::new())).collect();
    for other in others {
        let reply = served.client(&other).get("/v1/health");
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let mut over = vec![false; held.len()];
    wait_until("one that is refused", || {
        for ((socket, told), over) in held.iter_mut().zip(&mut over) {
            *over = *over || is_told(socket, told);
        }
        over.contains(&true)
    });
    assert!(over.contains(&false), "some are held");
    for ((_, told), _) in held.iter().zip(&over).filter(|(_, over)| **over) {
        let told = String::from_utf8_lossy(told);
        assert!(told.starts_with("HTTP/1.1 429 ") && told.contains("TOO_MANY_CONNECTIONS"), "{told}");
        assert!(told.to_ascii_lowercase().contains("connection: close"), "{told}");
    }
    drop(held);
    wait_until("a place that was given back", || {
        let again = served.client(&north).try_call("POST", "/v1/artifacts", &[], b"words");
        again.is_ok_and(|reply| [200, 201].contains(&reply.status))
    });
}

#[test]
fn one_token_sends_a_bounded_number_of_bodies_and_another_does_not_wait() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { incoming: 2, request: 10m } }\n");
    let served = Served::start(&stage);
    let (one, other) =
        (token(&stage, &["one", "--scope", "answer"]), token(&stage, &["other", "--scope", "answer"]));
    let mut held = Vec::new();
    let upload = |bearer: &str| served.client(bearer).post("/v1/artifacts", "words");
    // A request beside the other upload is refused itself.
    wait_until("two that are held", || {
        held.push(begun_upload(&served, &one));
        upload(&one).status == 429
    });
    let refused = upload(&one);
    assert_eq!(
        (refused.json()["code"].as_str(), refused.header("retry-after").as_str()),
        (Some("TOO_MANY_REQUESTS"), "1")
    );
    assert_eq!(served.client(&one).get("/v1/runs").status, 200, "what has no body is answered");
    assert!([200, 201].contains(&upload(&other).status));
    drop(held);
    wait_until("a place that was given back", || upload(&one).status == 200);
}

#[test]
fn content_that_only_drips_does_not_come_for_ever() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { request: 2s } }\n");
    let served = Served::start(&stage);
    let mut socket = begun_upload(&served, &token(&stage, &["drip", "--scope", "answer"]));
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut told = Vec::new();
    wait_until("the end of its patience", || {
        let mut piece = [0; 1024];
        match socket.read(&mut piece) {
            Ok(length) => told.extend_from_slice(&piece[..length]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                // Each byte comes in time; bytes after the end do not matter.
                socket.write_all(b"x").unwrap_or_default();
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error}"),
        }
        String::from_utf8_lossy(&told).contains("REQUEST_TIMED_OUT")
    });
    assert!(told.starts_with(b"HTTP/1.1 503 "), "{}", String::from_utf8_lossy(&told));
}

/// Its starts never end on a server with the failpoint [`HANGING`].
const HANGS: &str = "flow: hangs\nsteps:\n  - id: a\n    run: 'true'\n";
const HANGING: &str = "start-of-hangs:wait";
const QUICK: &str = "flow: quick\nsteps:\n  - id: a\n    run: 'true'\n";

#[test]
fn a_repeated_start_request_takes_one_turn() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { request: 10m } }\n");
    let served = Served::failing(&stage, HANGING);
    let of = |name: &str, scope: &str| {
        served.client(&token(&stage, &[name, "--scope", scope, "--tenant", "north"]))
    };
    let (first, second) = (of("first", "admin"), of("second", "run"));
    assert_eq!(first.post("/v1/flows", HANGS).status, 201);
    assert_eq!(first.post("/v1/flows", QUICK).status, 201);
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..20 {
            let (tell, first) = (tell.clone(), first.clone());
            scope.spawn(move || {
                let body = br#"{"flow": "hangs", "workspace": "shared"}"#;
                let reply = first.try_call("POST", "/v1/runs", &[("idempotency-key", "same")], body);
                tell.send(reply.ok()).unwrap_or_default();
            });
        }
        // More than a token may have under way: from now on all its places are taken.
        let refused = told.recv().unwrap().unwrap();
        assert_eq!(refused.json()["code"], "TOO_MANY_STARTS");
        let begun = second.post("/v1/runs", r#"{"flow": "quick", "workspace": "shared"}"#);
        assert_eq!(begun.status, 201, "{}", begun.text());
        served.process.kill();
    });
}

#[test]
fn hanging_starts_delay_no_other_request() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { starting: 40, request: 10m } }\n");
    let served = Served::failing(&stage, HANGING);
    let admin_of = |tenant: &str| token(&stage, &["admin", "--scope", "admin", "--tenant", tenant]);
    let (north, south) = (served.client(&admin_of("north")), served.client(&admin_of("south")));
    assert_eq!(north.post("/v1/flows", HANGS).status, 201);
    assert_eq!(north.post("/v1/flows", QUICK).status, 201);
    let second = served.client(&token(&stage, &["second", "--scope", "run", "--tenant", "north"]));
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for key in 0..41 {
            let (tell, north) = (tell.clone(), north.clone());
            scope.spawn(move || {
                let key = [("idempotency-key", format!("{key}"))];
                let headers = [(key[0].0, key[0].1.as_str())];
                let body = br#"{"flow": "hangs", "workspace": "shared"}"#;
                tell.send(north.try_call("POST", "/v1/runs", &headers, body).ok()).unwrap_or_default();
            });
        }
        let refused = told.recv().unwrap().unwrap();
        assert_eq!(
            (refused.status, refused.header("retry-after").as_str()),
            (429, "1"),
            "{}",
            refused.text()
        );
        assert_eq!(refused.json()["code"], "TOO_MANY_STARTS");
        let message = r#"{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
            {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}}}"#;
        let over_a2a = north.call("POST", "/a2a", &[("a2a-version", "1.0")], message.as_bytes());
        assert_eq!(over_a2a.status, 429, "{}", over_a2a.text());
        assert!(over_a2a.text().contains("TOO_MANY_STARTS"), "{}", over_a2a.text());
        // The same keys are another tenant's own.
        for key in ["0", "1", "2", "40"] {
            assert_eq!(south.get("/v1/health").status, 200);
            let run = south.run(QUICK);
            south.wait_until_run_is(&run, "succeeded");
            let headers = [("idempotency-key", key)];
            let body = br#"{"flow": "quick", "workspace": "shared"}"#;
            assert_eq!(south.call("POST", "/v1/runs", &headers, body).status, 201);
        }
        assert_eq!(second.get("/v1/runs").status, 200, "its own tenant looks on");
        served.process.kill();
    });
}
