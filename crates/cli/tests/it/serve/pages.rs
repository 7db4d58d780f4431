//! Pages of a browser: pages of allowed origins may send requests, and their browsers learn that; others may not.

use super::{
    APPROVAL,
    client::{Client, Reply, Served, token},
    served,
    tenants::operations,
};
use crate::stage::Stage;

const APP: &str = "https://app.example";

fn land() -> (Stage, Served, Client) {
    let stage = Stage::new();
    let config = format!("server: {{ hosts: [envoi.example], origins: ['{APP}'] }}\n");
    stage.write(".envoi/config.yaml", config);
    let (served, admin) = served(&stage);
    (stage, served, admin)
}

/// A browser's question before a page may send more than a form could.
fn preflight(client: &Client, path: &str, headers: &[(&str, &str)]) -> Reply {
    let asks =
        [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")];
    client.call("OPTIONS", path, &[&asks, headers].concat(), &[])
}

/// The words of a header that is a list.
fn list(reply: &Reply, name: &str) -> Vec<String> {
    reply.header(name).split(',').map(|word| word.trim().to_lowercase()).collect()
}

#[test]
fn the_preflight_of_a_configured_origin_is_answered_without_a_token() {
    let (_stage, served, admin) = land();
    let nobody = Client::new(&served.url, None);
    let document = admin.json("/v1/openapi.json");
    for operation in operations(&document) {
        let told = preflight(&nobody, &operation.path.replace(['{', '}'], ""), &[("origin", APP)]);
        assert_eq!((told.status, told.body.len()), (204, 0), "{}: {}", operation.id, told.text());
        assert_eq!(told.header("access-control-allow-origin"), APP);
        assert!(list(&told, "access-control-allow-methods").contains(&operation.method.to_lowercase()));
        let allowed = list(&told, "access-control-allow-headers");
        let path = &document["paths"][&operation.path][operation.method.to_lowercase()];
        let params = path["parameters"].as_array().unwrap().iter().filter(|param| param["in"] == "header");
        let named = params.filter_map(|param| param["name"].as_str().map(str::to_lowercase));
        for name in named.chain(["authorization", "content-type", "x-request-id"].map(str::to_owned)) {
            assert!(allowed.contains(&name), "{}: {name}: {allowed:?}", operation.id);
        }
        assert_ne!(told.header("access-control-max-age"), "");
        assert_eq!(told.header("access-control-allow-credentials"), "", "tokens are not cookies");
        assert!(list(&told, "vary").contains(&"origin".to_owned()));
    }
    let nothing = preflight(&nobody, "/v1/nothing", &[("origin", APP)]);
    assert_eq!(nothing.status, 204, "not even which paths there are");
    for path in ["/a2a", "/a2a/v1/message:send", "/.well-known/agent-card.json"] {
        let told = preflight(&nobody, path, &[("origin", APP)]);
        assert_eq!(told.status, 204, "{path}");
        for name in ["a2a-version", "a2a-extensions"] {
            assert!(list(&told, "access-control-allow-headers").contains(&name.to_owned()), "{path}: {name}");
        }
    }
}

#[test]
fn a_page_that_is_named_reads_every_answer_refusals_and_streams_too() {
    let (stage, served, admin) = land();
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    let person = served.client(&token(&stage, &["ann", "--scope", "answer"]));
    let nobody = Client::new(&served.url, None);
    let of_page = [("origin", APP)];
    let answer = format!("/v1/questions/{question}/answer");
    let approve = br#"{"choice": "approve"}"#;
    for (who, client, method, path, body, status) in [
        ("admin", &admin, "GET", "/v1/runs", &[][..], 200),
        ("a person", &person, "POST", &answer, approve, 200),
        ("a person", &person, "POST", "/v1/runs", b"{}", 403),
        ("nobody", &nobody, "GET", "/v1/runs", &[], 401),
        ("nobody", &nobody, "POST", "/api/llm-bridge", b"{}", 403),
        ("nobody", &nobody, "GET", "/.well-known/agent-card.json", &[], 200),
        ("admin", &admin, "GET", "/v1/nothing", &[], 404),
    ] {
        let reply = client.call(method, path, &of_page, body);
        assert_eq!(reply.status, status, "{who} {path}: {}", reply.text());
        assert_eq!(reply.header("access-control-allow-origin"), APP, "{who} {path}");
        let shown = list(&reply, "access-control-expose-headers");
        for name in ["etag", "retry-after", "x-request-id", "content-range", "x-should-retry"] {
            assert!(shown.contains(&name.to_owned()), "{name}: {shown:?}");
        }
        let vary = reply.headers.get_all("vary").iter().any(|value| {
            value.to_str().unwrap().split(',').any(|name| name.trim().eq_ignore_ascii_case("origin"))
        });
        assert!(vary, "{who} {path}");
    }
    admin.wait_until_run_is(&run, "succeeded");
    let stream = admin.call("GET", &format!("/v1/runs/{run}/stream"), &of_page, &[]);
    assert_eq!((stream.status, stream.header("content-type").as_str()), (200, "text/event-stream"));
    assert_eq!(stream.header("access-control-allow-origin"), APP);
    let outside = admin.call("GET", "/v1/runs", &[], &[]);
    assert_eq!(outside.header("access-control-allow-origin"), "", "who is no page needs none");
    assert_eq!(outside.header("vary"), "origin", "and is not mistaken for one by a cache");
}

#[test]
fn origins_that_are_not_configured_get_nothing() {
    let (_stage, served, _admin) = land();
    let nobody = Client::new(&served.url, None);
    let own = served.url.clone();
    for (headers, status) in [
        (vec![("origin", "https://evil.example")], 403),
        (vec![("origin", "null")], 403),
        (vec![("origin", "https://app.example.evil")], 403),
        (vec![("origin", APP), ("origin", "https://evil.example")], 403),
        (vec![("origin", APP), ("host", "evil.example")], 421),
        (vec![("origin", own.as_str())], 401),
        (vec![], 401),
    ] {
        let told = preflight(&nobody, "/v1/runs", &headers);
        assert_eq!(told.status, status, "{headers:?}: {}", told.text());
        for name in ["access-control-allow-methods", "access-control-allow-headers"] {
            assert_eq!(told.header(name), "", "{headers:?}");
        }
        if status != 421 {
            assert_eq!(told.header("access-control-allow-origin"), "", "{headers:?}");
        }
    }
    let no_preflight = nobody.call("OPTIONS", "/v1/runs", &[("origin", APP)], &[]);
    assert_eq!(no_preflight.status, 401, "what is no question of a browser is asked with a token");
}

#[test]
fn the_server_s_own_page_may_ask_behind_a_proxy_that_speaks_tls() {
    let (stage, served, admin) = land();
    for origin in ["https://envoi.example", "http://envoi.example", "https://ENVOI.example"] {
        let reply = admin.call("GET", "/v1/health", &[("host", "envoi.example"), ("origin", origin)], &[]);
        assert_eq!(reply.status, 200, "{origin}: {}", reply.text());
        assert_eq!(reply.header("access-control-allow-origin"), "", "it is no other origin");
    }
    let other = [("host", "envoi.example"), ("origin", "https://envoi.example:8443")];
    assert_eq!(admin.call("GET", "/v1/health", &other, &[]).status, 403, "another port is another page");
    drop(served);
    // A page over plain HTTP is not the page of a server that speaks TLS alone.
    stage.write(".envoi/chain.pem", include_str!("certificate.pem"));
    stage.write(".envoi/key.pem", include_str!("key.pem"));
    stage.write(
        ".envoi/config.yaml",
        "server: { hosts: [envoi.example], tls: { certificate: chain.pem, key: key.pem } }\n",
    );
    let encrypted = Served::start(&stage);
    let client = encrypted.client(&token(&stage, &["ann"]));
    for (origin, status) in [("https://envoi.example", 200), ("http://envoi.example", 403)] {
        let headers = [("host", "envoi.example"), ("origin", origin)];
        assert_eq!(client.call("GET", "/v1/health", &headers, &[]).status, status, "{origin}");
    }
}
