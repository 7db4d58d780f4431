//! Finds the endpoint of an agent by its card.
//!
//! The card is requested below the address first, then at its host. The interface with exactly that address is used
//! if there is one, else the first of version 1.0, else the first of 0.3. The card of a host counts only for
//! interfaces at or below the address: another path of the host may be another agent.
//!
//! If the flow names the interface itself, the card gives only version, tenant and extensions. That is for agents
//! behind a proxy or a forwarded port, whose cards name an address that cannot be reached from here.

use crate::{
    input::mask::{Mask, no_json},
    protocol::{
        client::CallError,
        endpoint::Endpoint,
        http::{Http, RequestError},
    },
};
use envoi_a2a::{
    card::{self, JSON_RPC, PATH},
    extension::{SENT_ONCE, USER_ENVELOPE},
    version::Version,
};
use envoi_contract::json::Value;
use std::net::IpAddr;

/// Requests the card of the agent at `url`. `interface` is the address that replaces the card's; `has_token` says
/// whether requests will carry a token.
pub(crate) fn find(
    url: &str,
    interface: Option<&str>,
    has_token: bool,
    http: &Http,
    mask: &dyn Mask,
) -> Result<Endpoint, CallError> {
    let refused = |message: String| Err(CallError::Refused(message));
    let Some((origin, base)) = split(url) else {
        return refused(format!(
            "`{url}` is no address of an agent: it begins neither `https://` nor `http://`"
        ));
    };
    let mut places = vec![format!("{base}{PATH}"), format!("{origin}{PATH}")];
    places.dedup();
    let mut last_status = String::new();
    for place in places {
        // Even if the request arrived, it changed nothing at the agent, so it counts as not sent.
        let answer = http.get(&place).map_err(|error| match error {
            RequestError::NotSent(message) | RequestError::Unknown(message) => CallError::NotSent(message),
        })?;
        match answer.status {
            200..=299 => {
                let card = Value::parse(&answer.body);
                let card = card.map_err(|_| {
                    let why = no_json(&answer.body, mask);
                    CallError::Refused(format!("the card at {place} cannot be read{why}"))
                })?;
                let Some(interface) = interface else {
                    let within = Some(base).filter(|base| !place.starts_with(base));
                    let endpoint = choose(&card, url, within)?;
                    return checked(endpoint, origin, has_token);
                };
                return at_interface(&card, interface, has_token);
            }
            500..=599 => return Err(CallError::NotSent(format!("{place} answered {}", answer.status))),
            status => last_status = format!("{place} answered {status}"),
        }
    }
    refused(format!("the agent has no card: {last_status}"))
}

/// The interface that the flow names, with the version, tenant and extensions of the card. A token may go to its host, because
/// the flow names it.
fn at_interface(card: &Value, interface: &str, has_token: bool) -> Result<Endpoint, CallError> {
    let Some((origin, _)) = split(interface) else {
        return Err(CallError::Refused(format!("`interface` is `{interface}`, which is no address")));
    };
    let of_card = choose(card, interface, None)?;
    checked(Endpoint { url: interface.to_owned(), ..of_card }, origin, has_token)
}

/// Scheme and host, and the address without query and fragment. `None` if it is not an HTTP address.
fn split(url: &str) -> Option<(&str, &str)> {
    let base = url.split(['?', '#']).next()?.trim_end_matches('/');
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let head = base.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(scheme.len())
    })?;
    let host = base.get(rest..)?;
    let end = host.find('/').map_or(base.len(), |at| at.saturating_add(rest));
    if host.is_empty() { None } else { Some((base.get(..end)?, base)) }
}

/// Returns the endpoint if a token may be sent to it: only to the host that the flow names, and not in clear text.
fn checked(endpoint: Endpoint, origin: &str, has_token: bool) -> Result<Endpoint, CallError> {
    let Some((host, _)) = split(&endpoint.url) else {
        return Err(CallError::Refused(format!("its card names `{}`, which is no address", endpoint.url)));
    };
    if has_token && !host.eq_ignore_ascii_case(origin) {
        let message = format!(
            "its card names another host, {host}, and the token is for {origin}; name in `url` the host that is right, or \
             in `interface` the address that is to be used in place of the card's"
        );
        return Err(CallError::Refused(message));
    }
    if has_token && !is_encrypted_or_local(host) {
        return Err(CallError::Refused(format!("the token would travel to {host} in clear text")));
    }
    Ok(endpoint)
}

/// True if requests to this origin are encrypted, or stay on this machine.
fn is_encrypted_or_local(origin: &str) -> bool {
    let lower = origin.to_ascii_lowercase();
    let Some(host) = lower.strip_prefix("http://") else { return true };
    let host = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => host,
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The interface of the card for `url`. If the card is that of the host, `within` is the path whose interfaces count.
fn choose(card: &Value, url: &str, within: Option<&str>) -> Result<Endpoint, CallError> {
    let envelope = card::has_extension(card, USER_ENVELOPE);
    let once = card::has_extension(card, SENT_ONCE);
    let mut all: Vec<Endpoint> = card::interfaces(card)
        .into_iter()
        .filter(|interface| interface.binding == JSON_RPC)
        .map(|interface| Endpoint {
            url: interface.url,
            version: interface.version,
            tenant: interface.tenant,
            envelope,
            once,
        })
        .collect();
    let same = |one: &&Endpoint| one.url.trim_end_matches('/') == url.trim_end_matches('/');
    let newest = |some: Vec<&Endpoint>| {
        let first = some.iter().find(|one| one.version == Version::V10).or(some.first());
        first.map(|one| Endpoint::clone(one))
    };
    if let (Some(base), false) = (within, all.is_empty()) {
        let below = |url: &str| {
            url.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        };
        all.retain(|one| below(&one.url));
        if all.is_empty() {
            return Err(CallError::Refused(format!(
                "there is no card below `{base}`, and the card of its host names no JSON-RPC interface there; name in \
                 `url` the host, or in `interface` the address that is meant"
            )));
        }
    }
    newest(all.iter().filter(same).collect()).or_else(|| newest(all.iter().collect())).ok_or_else(|| {
        CallError::Refused("its card names no JSON-RPC interface of A2A 1.0 or 0.3".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(card: &str, url: &str) -> Result<(String, &'static str), String> {
        chosen_from(card, url, None)
    }

    fn chosen_from(card: &str, url: &str, within: Option<&str>) -> Result<(String, &'static str), String> {
        let endpoint =
            choose(&Value::parse_str(card).unwrap(), url, within).map_err(|error| error.to_string())?;
        Ok((endpoint.url, endpoint.version.word()))
    }

    #[test]
    fn the_interface_is_that_of_the_address_else_the_newest() {
        let both = r#"{"url":"https://a/old","supportedInterfaces":[
            {"url":"https://a/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},
            {"url":"https://a/03","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
            {"url":"https://a/one","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
            {"url":"https://a/two","protocolBinding":"JSONRPC","protocolVersion":"1.1"}]}"#;
        for (url, expected) in [
            ("https://a", ("https://a/one", "1.0")),
            ("https://a/two/", ("https://a/two", "1.0")),
            ("https://a/03", ("https://a/03", "0.3")),
            ("https://a/old", ("https://a/old", "0.3")),
        ] {
            assert_eq!(chosen(both, url), Ok((expected.0.to_owned(), expected.1)), "{url}");
        }
        let old = r#"{"url":"https://a/rpc","name":"no version"}"#;
        assert_eq!(chosen(old, "https://a"), Ok(("https://a/rpc".to_owned(), "0.3")));
        let rest = r#"{"url":"https://a/rest","preferredTransport":"HTTP+JSON",
            "additionalInterfaces":[{"transport":"JSONRPC","url":"https://a/rpc"}]}"#;
        assert_eq!(chosen(rest, "https://a"), Ok(("https://a/rpc".to_owned(), "0.3")));
        for none in [
            "{}",
            "[]",
            r#"{"supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}"#,
        ] {
            assert!(chosen(none, "https://a").is_err(), "{none}");
        }
    }

    #[test]
    fn extensions_of_a_card_name_what_its_agent_takes_and_that_it_handles_a_message_once() {
        for (uri, envelope, once) in
            [(USER_ENVELOPE, true, false), (SENT_ONCE, false, true), ("urn:other", false, false)]
        {
            for place in [
                r#""url":"https://a""#,
                r#""supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]"#,
            ] {
                let card = format!(r#"{{{place},"capabilities":{{"extensions":[{{"uri":"{uri}"}}]}}}}"#);
                let found = choose(&Value::parse_str(&card).unwrap(), "https://a", None).unwrap();
                assert_eq!((found.envelope, found.once), (envelope, once), "{card}");
            }
        }
    }

    #[test]
    fn the_card_of_a_host_counts_for_a_path_only_if_it_names_it() {
        let card = r#"{"supportedInterfaces":[
            {"url":"https://a/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
            {"url":"https://a/a2a/fix/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}"#;
        for (url, expected) in [
            ("https://a/a2a", Ok("https://a/a2a")),
            ("https://a/a2a/", Ok("https://a/a2a")),
            ("https://a/a2a/fix", Ok("https://a/a2a/fix/old")),
            ("https://a/a2a/review", Err(())),
            ("https://a/a2", Err(())),
        ] {
            let found = chosen_from(card, url, Some(url.trim_end_matches('/')));
            assert_eq!(found.as_ref().map(|(url, _)| url.as_str()).map_err(|_| ()), expected, "{url}");
        }
        assert!(
            chosen_from(card, "https://a/a2a/review", Some("https://a/a2a/review"))
                .unwrap_err()
                .contains("no card below")
        );
        assert!(
            chosen_from("{}", "https://a/x", Some("https://a/x")).unwrap_err().contains("names no JSON-RPC")
        );
    }

    #[test]
    fn an_interface_that_the_flow_names_takes_the_place_of_the_cards_address() {
        let card = Value::parse_str(
            r#"{"capabilities":{"extensions":[{"uri":"urn:envoi:a2a:sent-once:v1"}]},"supportedInterfaces":[
            {"url":"http://inside:8080/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
            {"url":"http://inside:8080/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"}]}"#,
        )
        .unwrap();
        let found = at_interface(&card, "https://a.test/agent", true).unwrap();
        assert_eq!((found.url.as_str(), found.version.word()), ("https://a.test/agent", "1.0"));
        assert!(
            found.tenant.as_deref() == Some("t") && found.once,
            "tenant and extensions are those of the card"
        );
        let of_v03 = at_interface(&card, "http://inside:8080/old", false).unwrap();
        assert_eq!(of_v03.version.word(), "0.3", "the version is that of the interface in the card");
        for (interface, why) in [("http://a.test/agent", "in clear text"), ("a.test", "no address")] {
            let Err(CallError::Refused(message)) = at_interface(&card, interface, true) else {
                panic!("{interface}")
            };
            assert!(message.contains(why), "{message}");
        }
        assert!(at_interface(&Value::parse_str("{}").unwrap(), "https://a.test", true).is_err());
    }

    #[test]
    fn a_token_goes_to_the_host_that_the_flow_names_and_never_in_clear_text() {
        let at = |url: &str| {
            let url = url.to_owned();
            Endpoint { url, version: Version::V10, tenant: None, envelope: false, once: false }
        };
        for (url, origin, has_token, expected) in [
            ("https://a.test/rpc", "https://a.test", true, true),
            ("https://b.test/rpc", "https://a.test", true, false),
            ("https://b.test/rpc", "https://a.test", false, true),
            ("http://a.test/rpc", "http://a.test", true, false),
            ("http://a.test/rpc", "https://a.test", true, false),
            ("http://127.0.0.1:8080/rpc", "http://127.0.0.1:8080", true, true),
            ("http://[::1]:8080/rpc", "http://[::1]:8080", true, true),
            ("http://localhost/rpc", "http://localhost", true, true),
            ("file:///etc/passwd", "https://a.test", false, false),
        ] {
            assert_eq!(checked(at(url), origin, has_token).is_ok(), expected, "{url}");
        }
        assert_eq!(split("https://a.test:1/x/y/?q=1"), Some(("https://a.test:1", "https://a.test:1/x/y")));
        assert_eq!(split("https://a.test"), Some(("https://a.test", "https://a.test")));
        assert_eq!((split("ftp://a"), split("https://"), split("")), (None, None, None));
    }
}
