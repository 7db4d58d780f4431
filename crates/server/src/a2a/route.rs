//! The operation of a path below `/a2a`: the routes of both bindings.
//!
//! The paths are parsed here, because `tasks/ID` and `tasks/ID:cancel` differ only at the end of a segment.
//! Each path may begin with a flow. This module does not know what an operation needs or does.

use axum::http;
use envoi_a2a::{card, request::Method};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::is_key;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// The flow that the path names.
    pub(crate) flow: Option<String>,
    /// The operation, or JSON-RPC.
    pub(crate) target: Target,
}

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// JSON-RPC: the body names the operation.
    Rpc,
    /// HTTP+JSON.
    Rest(RestTarget),
}

/// An operation of HTTP+JSON, and the ids in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestTarget {
    /// The operation.
    pub(crate) method: Method,
    /// The task.
    pub(crate) task: Option<String>,
    /// The push configuration.
    pub(crate) config: Option<String>,
}

/// Why a request has no target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// The path does not exist.
    Path,
    /// The path exists for another HTTP method.
    Verb,
}

/// The part of `path` after `/a2a`, if it is below that.
pub(crate) fn below(path: &str) -> Option<&str> {
    path.strip_prefix("/a2a").filter(|below| below.is_empty() || below.starts_with('/'))
}

/// Whether the JSON-RPC binding is at `below`.
pub(crate) fn is_rpc(below: &str) -> bool {
    matches!(find(&http::Method::POST, below), Ok(Route { target: Target::Rpc, .. }))
}

/// Finds the target of `verb` at `below`, the path after `/a2a`.
///
/// # Errors
/// [`RouteError`].
pub(crate) fn find(verb: &http::Method, below: &str) -> Result<Route, RouteError> {
    let below = below.strip_prefix('/').unwrap_or(below);
    let decoded: Option<Vec<String>> = below.split('/').map(decoded).collect();
    let decoded = decoded.ok_or(RouteError::Path)?;
    let segments: Vec<&str> = decoded.iter().map(String::as_str).collect();
    match segments.as_slice() {
        [""] => rpc(verb, None),
        [flow] | [flow, ""] if is_flow(flow) => rpc(verb, Some(flow)),
        [flow, rest @ ..] if is_flow(flow) => rest_of(verb, rest, Some(flow)),
        all => rest_of(verb, all, None),
    }
}

/// The flow of whose card `path` is the address, whether or not the flow exists.
pub(crate) fn flow_of_card(path: &str) -> Option<String> {
    let flow = decoded(path.strip_prefix("/a2a/")?.strip_suffix(card::PATH)?)?;
    is_flow(&flow).then_some(flow)
}

/// Whether a segment is the id or the digest of a flow. Names that HTTP+JSON uses are not ids of flows.
fn is_flow(segment: &str) -> bool {
    segment != "tasks" && (is_key(segment) || Digest::parse(segment).is_some())
}

fn rpc(verb: &http::Method, flow: Option<&str>) -> Result<Route, RouteError> {
    match *verb {
        http::Method::POST => Ok(Route { flow: flow.map(str::to_owned), target: Target::Rpc }),
        _ => Err(RouteError::Verb),
    }
}

fn rest_of(verb: &http::Method, segments: &[&str], flow: Option<&str>) -> Result<Route, RouteError> {
    let get = *verb == http::Method::GET;
    let post = *verb == http::Method::POST;
    let delete = *verb == http::Method::DELETE;
    let when = |fits: bool, method: Method| if fits { Ok(method) } else { Err(RouteError::Verb) };
    let (method, task, config) = match *segments {
        ["message:send"] => (when(post, Method::Send), None, None),
        ["message:stream"] => (when(post, Method::Stream), None, None),
        ["extendedAgentCard"] => (when(get, Method::ExtendedCard), None, None),
        ["tasks"] => (when(get, Method::List), None, None),
        ["tasks", task] => match task.rsplit_once(':') {
            Some((task, "cancel")) => (when(post, Method::Cancel), Some(task), None),
            // The specification's table has POST, its protocol definition has GET. Both are accepted.
            Some((task, "subscribe")) => (when(get || post, Method::Subscribe), Some(task), None),
            _ => (when(get, Method::Get), Some(task), None),
        },
        ["tasks", task, "pushNotificationConfigs"] if post => (Ok(Method::PushSet), Some(task), None),
        ["tasks", task, "pushNotificationConfigs"] => (when(get, Method::PushList), Some(task), None),
        ["tasks", task, "pushNotificationConfigs", config] if delete => {
            (Ok(Method::PushDelete), Some(task), Some(config))
        }
        ["tasks", task, "pushNotificationConfigs", config] => {
            (when(get, Method::PushGet), Some(task), Some(config))
        }
        _ => return Err(RouteError::Path),
    };
    let named = |id: Option<&str>| match id {
        Some("") => Err(RouteError::Path),
        id => Ok(id.map(str::to_owned)),
    };
    let rest = RestTarget { task: named(task)?, config: named(config)?, method: method? };
    Ok(Route { flow: flow.map(str::to_owned), target: Target::Rest(rest) })
}

/// A percent-decoded segment. `None` if it is not UTF-8, or has a percent sign without two digits after it; a
/// lenient decoder would keep those.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let high = digit()?;
        let low = digit()?;
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(verb: &str, below: &str) -> String {
        let verb = http::Method::from_bytes(verb.as_bytes()).unwrap();
        match find(&verb, below) {
            Err(lost) => format!("{lost:?}"),
            Ok(Route { flow, target }) => {
                let target = match target {
                    Target::Rpc => "Rpc".to_owned(),
                    Target::Rest(RestTarget { method, task, config }) => {
                        let ids = [task, config].into_iter().flatten().collect::<Vec<_>>().join(" ");
                        format!("{method:?} {ids}").trim_end().to_owned()
                    }
                };
                flow.map_or(target.clone(), |flow| format!("{flow}: {target}"))
            }
        }
    }

    #[test]
    fn every_well_formed_flow_has_a_card_below_its_path() {
        let digest = Digest::of(b"flow").to_string();
        let well = |flow: &str| format!("/a2a/{flow}/.well-known/agent-card.json");
        for (path, expected) in [
            (well("fix"), Some("fix")),
            (well(&digest), Some(digest.as_str())),
            (well(&digest.replace(':', "%3A")), Some(digest.as_str())),
            (well("Fix"), None),
            (well("tasks"), None),
            (well("fix/tasks"), None),
            (well("fix%2Ftasks"), None),
            (well(""), None),
            (format!("{}/", well("fix")), None),
            ("/a2a/.well-known/agent-card.json".to_owned(), None),
            ("/v1/fix/.well-known/agent-card.json".to_owned(), None),
        ] {
            assert_eq!(flow_of_card(&path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn every_operation_has_its_place_with_and_without_a_flow() {
        for (verb, below, expected) in [
            ("POST", "", "Rpc"),
            ("POST", "/", "Rpc"),
            ("GET", "/", "Verb"),
            ("POST", "/message:send", "Send"),
            ("GET", "/message:send", "Verb"),
            ("POST", "/message:stream", "Stream"),
            ("POST", "/message:other", "Path"),
            ("GET", "/tasks", "List"),
            ("POST", "/tasks", "Verb"),
            ("GET", "/tasks/", "Path"),
            ("GET", "/tasks/run_1", "Get run_1"),
            ("DELETE", "/tasks/run_1", "Verb"),
            ("POST", "/tasks/run_1:cancel", "Cancel run_1"),
            ("GET", "/tasks/run_1:cancel", "Verb"),
            ("GET", "/tasks/run_1:subscribe", "Subscribe run_1"),
            ("POST", "/tasks/run_1:subscribe", "Subscribe run_1"),
            ("GET", "/tasks/run_1:other", "Get run_1:other"),
            ("POST", "/tasks/:cancel", "Path"),
            ("POST", "/tasks/run_1/pushNotificationConfigs", "PushSet run_1"),
            ("GET", "/tasks/run_1/pushNotificationConfigs", "PushList run_1"),
            ("PUT", "/tasks/run_1/pushNotificationConfigs", "Verb"),
            ("GET", "/tasks/run_1/pushNotificationConfigs/c%2F1%20%c3%A9", "PushGet run_1 c/1 é"),
            ("DELETE", "/tasks/run_1/pushNotificationConfigs/c1", "PushDelete run_1 c1"),
            ("GET", "/tasks/run_1/pushNotificationConfigs/", "Path"),
            ("GET", "/tasks/run_1/pushNotificationConfigs/c1/more", "Path"),
            ("GET", "/tasks/%ff", "Path"),
            ("GET", "/tasks/%4", "Path"),
            ("GET", "/tasks/%zz", "Path"),
            ("GET", "/extendedAgentCard", "ExtendedCard"),
            ("GET", "/nothing/here", "Path"),
            ("GET", "//tasks", "Path"),
        ] {
            assert_eq!(routed(verb, below), expected, "{verb} {below}");
            if below.len() > 1 && expected != "Path" && expected != "Verb" {
                assert_eq!(
                    routed(verb, &format!("/fix{below}")),
                    format!("fix: {expected}"),
                    "{verb} {below}"
                );
            }
        }
        let digest = Digest::of(b"flow").to_string();
        assert_eq!(routed("POST", "/fix"), "fix: Rpc");
        assert_eq!(routed("POST", "/fix/"), "fix: Rpc");
        assert_eq!(routed("POST", &format!("/{digest}")), format!("{digest}: Rpc"));
        assert_eq!(routed("POST", "/Fix"), "Path", "no flow is spelt like that");
        assert_eq!(routed("GET", "/fix"), "Verb");
    }
}
