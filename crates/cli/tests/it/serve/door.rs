//! The sign-in of the web page: requests without a session, requests with half a session, and the end of a session.

use super::{
    APPROVAL,
    client::{Client, Reply, Served, token},
    served,
    tenants::operations,
};
use crate::stage::{Stage, text, wait_for, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Both halves of a session.
#[derive(Clone)]
struct Session {
    cookie: String,
    key: String,
}

impl Session {
    fn headers(&self) -> [(&str, &str); 2] {
        [("cookie", &self.cookie), ("x-envoi-page", &self.key)]
    }

    fn call(&self, served: &Served, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Reply {
        let all = [&self.headers(), more].concat();
        Client::new(&served.url, None).call(method, path, &all, body.as_bytes())
    }

    fn get(&self, served: &Served, path: &str) -> Reply {
        self.call(served, "GET", path, &[], "")
    }
}

fn sign_in(served: &Served, body: &Value) -> Reply {
    Client::new(&served.url, None).call("POST", "/v1/sessions", &[], body.to_string().as_bytes())
}

fn session_of(reply: &Reply) -> Session {
    assert_eq!(reply.status, 201, "{}", reply.text());
    let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
    Session { cookie, key: text(&reply.json()["key"]) }
}

/// A link of `envoi page`, with these arguments: the address before the code, and the code.
fn link(stage: &Stage, arguments: &[&str]) -> (String, String) {
    let told = stage.expect(0, &[&["page"], arguments].concat()).out;
    let (place, code) = told.trim().split_once("/#/in/").unwrap();
    (place.to_owned(), code.to_owned())
}

#[test]
fn a_link_signs_in_once_as_the_person_of_its_token_and_with_no_more_than_it_says() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    let (place, code) = link(&stage, &["--for", "ann", "--scope", "answer"]);
    assert_eq!(place, served.url, "where the server is that runs");
    let reply = sign_in(&served, &json!({"code": code}));
    let told = reply.header("set-cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Max-Age="] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.starts_with(&format!("envoi_{}=", served.address().rsplit_once(':').unwrap().1)), "{told}");
    assert!(!told.contains("Path") && !told.contains("Domain"), "below /v1 of whatever prefix: {told}");
    assert_eq!([&reply.json()["name"], &reply.json()["scopes"]], [&json!("ann"), &json!(["read", "answer"])]);
    let session = session_of(&reply);
    assert!(!told.contains(&session.key), "the key is in no cookie");
    assert_eq!(sign_in(&served, &json!({"code": code})).status, 401, "the link is good once");
    assert_eq!(session.get(&served, "/v1/token").json()["name"], "ann");
    let start = session.call(&served, "POST", "/v1/runs", &[], r#"{"flow": "publish"}"#);
    assert_eq!((start.status, start.json()["code"].as_str()), (403, Some("SCOPE_TOO_SMALL")));
    let answer = format!("/v1/questions/{question}/answer");
    let answered = session.call(&served, "POST", &answer, &[], r#"{"choice": "approve"}"#);
    assert_eq!((answered.status, answered.json()["answered_by"].as_str()), (200, Some("ann")));
}

#[test]
fn half_a_session_or_a_wrong_one_opens_no_path() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    admin.run(APPROVAL);
    let document = admin.json("/v1/openapi.json");
    let of_first = || session_of(&sign_in(&served, &json!({"token": served.first.clone().unwrap()})));
    let (one, other) = (of_first(), of_first());
    let ended = of_first();
    assert_eq!(ended.call(&served, "POST", "/v1/sessions/end", &[], "").status, 204);
    let revoked = token(&stage, &["lost", "--scope", "admin"]);
    let lost = session_of(&sign_in(&served, &json!({"token": revoked})));
    assert_eq!(lost.get(&served, "/v1/token").status, 200);
    stage.expect(0, &["token", "revoke", "lost"]);
    let (name, value) = one.cookie.split_once('=').unwrap();
    let long = "x".repeat(4000);
    let planted = format!("{name}=planted.{}", "0".repeat(64));
    let elsewhere = format!("envoi_1={value}");
    let swapped = format!("{name}={}", one.key);
    let wrong: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("nothing", vec![]),
        ("a cookie alone", vec![("cookie", &one.cookie)]),
        ("a key alone", vec![("x-envoi-page", &one.key)]),
        ("halves of two sessions", vec![("cookie", &one.cookie), ("x-envoi-page", &other.key)]),
        ("a cookie that was planted", vec![("cookie", &planted), ("x-envoi-page", &one.key)]),
        ("a cookie of another port", vec![("cookie", &elsewhere), ("x-envoi-page", &one.key)]),
        ("the halves exchanged", vec![("cookie", &swapped), ("x-envoi-page", value)]),
        ("empty halves", vec![("cookie", "a="), ("x-envoi-page", "")]),
        ("a long key", vec![("cookie", &one.cookie), ("x-envoi-page", &long)]),
        ("two keys", vec![("cookie", &one.cookie), ("x-envoi-page", &one.key), ("x-envoi-page", &other.key)]),
        ("one that was signed out", ended.headers().to_vec()),
        ("one whose token was revoked", lost.headers().to_vec()),
        ("another site", [&one.headers()[..], &[("sec-fetch-site", "cross-site")]].concat()),
        ("another port", [&one.headers()[..], &[("sec-fetch-site", "same-site")]].concat()),
        ("an address that was typed", [&one.headers()[..], &[("sec-fetch-site", "none")]].concat()),
        ("a token that is not good", [&one.headers()[..], &[("authorization", "Bearer nothing")]].concat()),
        ("a scheme that is none", [&one.headers()[..], &[("authorization", "Basic eDp5")]].concat()),
    ];
    let nobody = Client::new(&served.url, None);
    let id = ("x-request-id", "one");
    let expected = nobody.call("GET", "/v1/health", &[id], &[]);
    assert_eq!(expected.status, 401);
    let before = admin.json("/v1/runs");
    for operation in operations(&document) {
        if operation.path.starts_with("/api/llm-bridge") || operation.id == "createSession" {
            continue;
        }
        let path = operation.path.replace('{', "x").replace('}', "");
        for (what, headers) in &wrong {
            let body = operation.body.unwrap_or_default().as_bytes();
            let reply = nobody.call(&operation.method, &path, &[&headers[..], &[id]].concat(), body);
            assert_eq!((reply.status, &reply.body), (401, &expected.body), "{} with {what}", operation.id);
            assert_eq!(reply.header("set-cookie"), "");
        }
    }
    assert_eq!(admin.json("/v1/runs"), before, "and nothing was done");
    // A cookie of another server of this machine keeps no user out.
    let both = format!("{planted}; {}", one.cookie);
    assert_eq!(
        nobody.call("GET", "/v1/token", &[("cookie", &both), ("x-envoi-page", &one.key)], &[]).status,
        200
    );
    // The page itself is let in, and a session opens neither the bridge nor A2A.
    assert_eq!(one.call(&served, "GET", "/v1/token", &[("sec-fetch-site", "same-origin")], "").status, 200);
    assert_eq!(one.call(&served, "GET", "/v1/token", &[("origin", &served.url)], "").status, 200);
    assert_eq!(one.get(&served, "/api/llm-bridge/models").status, 403);
    assert_eq!(one.get(&served, "/a2a").status, 401);
}

#[test]
fn a_page_that_may_use_the_server_with_a_token_may_not_use_a_session_of_a_person() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { origins: ['https://app.example'] }\n");
    let (served, _admin) = served(&stage);
    let session = session_of(&sign_in(&served, &json!({"token": served.first.clone().unwrap()})));
    let from = [("origin", "https://app.example")];
    assert_eq!(session.call(&served, "GET", "/v1/token", &from, "").status, 401);
    let preflight = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "GET"),
        ("access-control-request-headers", "x-envoi-page"),
    ];
    let told = Client::new(&served.url, None).call("OPTIONS", "/v1/token", &preflight, &[]);
    assert!(!told.header("access-control-allow-headers").contains("x-envoi-page"));
    assert_eq!(told.header("access-control-allow-credentials"), "");
}

#[test]
fn who_signs_in_brings_one_thing_that_is_good_from_the_page_of_the_server() {
    let stage = Stage::new();
    let (served, _admin) = served(&stage);
    let (_, code) = link(&stage, &[]);
    for (body, status) in [
        (json!({}), 400),
        (json!([]), 400),
        (json!({"code": code, "token": served.first}), 400),
        (json!({"code": 7}), 400),
        (json!({"code": code, "more": 1}), 400),
        (json!({"code": ""}), 401),
        (json!({"code": "0".repeat(32)}), 401),
        (json!({"code": code.to_uppercase()}), 401),
        (json!({"code": "x".repeat(1000)}), 401),
        (json!({"code": "x".repeat(10_000)}), 413),
        (json!({"token": "evt_0_0"}), 401),
        (json!({"token": ""}), 401),
    ] {
        let reply = sign_in(&served, &body);
        assert_eq!(reply.status, status, "{body}: {}", reply.text());
        assert_eq!(reply.header("set-cookie"), "");
    }
    let nobody = Client::new(&served.url, None);
    let body = json!({"code": code}).to_string();
    for (header, value, status) in [("host", "rebound.example", 421), ("origin", "https://evil.example", 403)]
    {
        let reply = nobody.call("POST", "/v1/sessions", &[(header, value)], body.as_bytes());
        assert_eq!(reply.status, status, "{header}");
    }
    assert_eq!(nobody.call("GET", "/v1/sessions", &[], &[]).status, 401);
    // After all of this the code is still valid.
    let session = session_of(&sign_in(&served, &json!({"code": code})));
    assert_eq!(session.get(&served, "/v1/token").json()["scopes"], json!(["read", "admin"]));
    // If several clients use one link at the same time, one is signed in.
    let (_, code) = link(&stage, &[]);
    let body = json!({"code": code});
    let statuses = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| sign_in(&served, &body).status)).collect();
        all.into_iter().map(|each| each.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
}

#[test]
fn who_signs_out_is_out_everywhere_and_their_streams_end() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    admin.question(&run);
    let session = session_of(&sign_in(&served, &json!({"token": served.first.clone().unwrap()})));
    let copied = session.clone();
    let mut stream =
        Client::new(&served.url, None).open("GET", "/v1/stream", &copied.headers(), &[]).unwrap();
    let out = session.call(&served, "POST", "/v1/sessions/end", &[], "");
    assert_eq!((out.status, out.header("set-cookie").contains("Max-Age=0")), (204, true));
    assert_eq!(copied.get(&served, "/v1/token").status, 401, "what was copied of it is no good either");
    assert_eq!(session.call(&served, "POST", "/v1/sessions/end", &[], "").status, 401);
    // The stream ends with the next commit, without what that has brought.
    admin.run(APPROVAL.replace("publish\n", "other\n").as_str());
    assert!(stream.next().is_none());
    assert_eq!(admin.post("/v1/sessions/end", "").status, 400, "a token is no session");
    wait_until("the token itself is as good as before", || admin.get("/v1/token").status == 200);
}

#[test]
fn the_files_of_the_page_show_nothing_of_the_store_and_run_nothing_of_others() {
    let stage = Stage::new();
    let (served, _admin) = served(&stage);
    let nobody = Client::new(&served.url, None);
    let index = nobody.get("/");
    assert_eq!((index.status, index.header("content-type").as_str()), (200, "text/html; charset=utf-8"));
    let policy = index.header("content-security-policy");
    for part in ["default-src 'none'", "script-src 'self'", "trusted-types 'none'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for (path, kind) in
        [("app.js", "text/javascript"), ("app.css", "text/css"), ("icon.svg", "image/svg+xml")]
    {
        // As the page names it: relative, and with its version.
        let named =
            index.text().split(['"', ' ', '>']).find(|word| word.starts_with(path)).unwrap().to_owned();
        let file = nobody.get(&format!("/{named}"));
        assert_eq!(file.status, 200, "{named}");
        assert!(file.header("content-type").starts_with(kind), "{}", file.header("content-type"));
        assert!(file.header("cache-control").contains("immutable"), "{named}");
        let tag = file.header("etag");
        assert_eq!(nobody.call("GET", &format!("/{path}"), &[("if-none-match", &tag)], &[]).status, 304);
        assert_eq!(nobody.get(&format!("/{path}?v=other")).header("cache-control"), "no-cache");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(file.header(name), value, "{path}: {name}");
        }
    }
    assert_eq!(index.header("cache-control"), "no-cache");
    for (header, value, status) in [("host", "rebound.example", 421), ("origin", "https://evil.example", 403)]
    {
        assert_eq!(nobody.call("GET", "/", &[(header, value)], &[]).status, status, "{header}");
    }
    for path in ["/index.html", "/app.js/", "/page", "/x/app.js", "/..%2fapp.js"] {
        assert_eq!(nobody.get(path).status, 401, "{path}");
    }
}

#[test]
fn where_the_browser_speaks_tls_the_cookie_goes_to_this_host_alone_and_never_in_the_clear() {
    let stage = Stage::new();
    stage.write(".envoi/chain.pem", include_str!("certificate.pem"));
    stage.write(".envoi/key.pem", include_str!("key.pem"));
    let tls = "tls: { certificate: chain.pem, key: key.pem }";
    // TLS of the server itself, and of a proxy before it, which the browser's `Origin` shows.
    for (configured, origin) in [(tls, None), ("hosts: [envoi.example]", Some("https://envoi.example"))] {
        stage.write(".envoi/config.yaml", format!("server: {{ {configured} }}\n"));
        let served = Served::start(&stage);
        let (_, code) = link(&stage, &["--for", "ann", "--scope", "answer"]);
        let from: Vec<(&str, &str)> = origin.map(|origin| ("origin", origin)).into_iter().collect();
        let door = Client::new(&served.url, None);
        let told = door.call("POST", "/v1/sessions", &from, json!({"code": code}).to_string().as_bytes());
        let cookie = told.header("set-cookie");
        assert!(cookie.starts_with("__Host-envoi="), "{configured}: {cookie}");
        for part in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict"] {
            assert!(cookie.contains(part), "{configured}: {cookie}");
        }
        assert!(!cookie.contains("Domain"), "browsers refuse the name otherwise: {cookie}");
        let session = session_of(&told);
        assert_eq!(session.call(&served, "GET", "/v1/token", &from, "").json()["name"], "ann");
        let out = session.call(&served, "POST", "/v1/sessions/end", &from, "");
        let gone = out.header("set-cookie");
        assert!(gone.starts_with("__Host-envoi=;") && gone.contains("; Secure"), "{configured}: {gone}");
    }
}

#[test]
fn a_page_that_is_switched_off_has_no_files_and_no_sessions_and_tokens_are_as_good_as_ever() {
    let stage = Stage::with_flow(APPROVAL);
    let session = {
        let (served, _) = served(&stage);
        session_of(&sign_in(&served, &json!({"token": served.first.clone().unwrap()})))
    };
    let (_, code) = link(&stage, &[]);
    stage.write(".envoi/config.yaml", "server: { page: false, public_url: 'https://envoi.example' }\n");
    let served = Served::start(&stage);
    let admin = served.client(&token(&stage, &["other", "--scope", "admin"]));
    let nobody = Client::new(&served.url, None);
    let unknown = nobody.call("GET", "/nothing", &[("x-request-id", "one")], &[]);
    assert_eq!(unknown.status, 401);
    for path in ["/", "/app.js", "/app.css", "/icon.svg"] {
        let reply = nobody.call("GET", path, &[("x-request-id", "one")], &[]);
        assert_eq!((reply.status, &reply.body), (401, &unknown.body), "{path}");
        assert_eq!(admin.get(path).status, 404, "{path}");
    }
    assert_eq!(sign_in(&served, &json!({"code": code})).status, 401);
    assert_eq!(admin.post("/v1/sessions", &json!({"code": code}).to_string()).status, 404);
    assert_eq!(session.get(&served, "/v1/token").status, 401, "one that was begun before");
    assert_eq!(admin.get("/v1/token").status, 200);
    // A link that leads nowhere is never given.
    for arguments in [&["page"][..], &["run", "flow.yaml", "--web"]] {
        let done = stage.envoi(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}: {done:?}");
        assert!(
            done.err.contains("SERVER_OPTIONS_INVALID") && done.err.contains("`page: false`"),
            "{done:?}"
        );
    }
    assert_eq!(admin.json("/v1/runs")["runs"], json!([]), "nothing was started");
}

#[test]
fn a_link_says_so_when_no_server_is_there_also_after_one_was_killed() {
    let stage = Stage::new();
    let (served, _) = served(&stage);
    let url = served.url.clone();
    let at_work = stage.expect(0, &["page"]);
    assert!(!at_work.err.contains("no server runs"), "{}", at_work.err);
    served.process.kill();
    assert!(stage.store().join("server.url").exists(), "what was killed could not tidy up");
    let left = stage.expect(0, &["page"]);
    assert!(left.err.contains("no server runs on this store"), "{}", left.err);
    assert!(!left.out.starts_with(&url), "nothing is there: {}", left.out);
}

#[test]
fn a_run_with_a_page_is_answered_there_and_stays_until_it_is_stopped() {
    let stage = Stage::with_flow(APPROVAL);
    let mut process = stage.start(&["run", "flow.yaml", "--web"]);
    let link = wait_for("the link", || {
        let said = process.said();
        let (_, link) = said.split_once("good once: ")?;
        link.split_once('\n').map(|(link, _)| link.trim().to_owned())
    });
    let (place, rest) = link.split_once("/#/in/").unwrap();
    let (code, run) = rest.split_once("/r/").unwrap();
    assert!(place.starts_with("http://127.0.0.1:"), "{place}");
    let door = Client::new(place, None);
    let session =
        session_of(&door.call("POST", "/v1/sessions", &[], json!({"code": code}).to_string().as_bytes()));
    let get = |path: &str| door.call("GET", path, &session.headers(), b"").json();
    let question = wait_for("the question", || {
        get(&format!("/v1/questions?run={run}"))["questions"][0]["question"].as_str().map(str::to_owned)
    });
    assert!(stage.expect(0, &["page"]).out.starts_with(place), "it is the server of the store");
    let answer = format!("/v1/questions/{question}/answer");
    let answered = door.call("POST", &answer, &session.headers(), br#"{"choice": "approve"}"#);
    assert_eq!(answered.status, 200, "{}", answered.text());
    wait_until("the end of the run", || get(&format!("/v1/runs/{run}"))["status"] == "succeeded");
    assert!(!process.is_over(), "the page stays");
    wait_until("the page to be on its own", || process.said().contains("the page stays until Ctrl-C"));
    process.signal(Signal::TERM);
    let done = process.done();
    assert_eq!(done.code, Some(0), "how the run stands at the end: {}", done.err);
    assert!(stage.expect(0, &["page"]).err.contains("no server runs"));
}
