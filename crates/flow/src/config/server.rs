//! `server:` of the configuration: the settings of `envoi serve`.
//!
//! Owns its keys and their values. Whether an address is free and a certificate is valid is checked when the server
//! starts. The server has a default for each setting.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    keys::Vocabulary,
    path,
    read::{self, Fields, refuse},
    yaml::Node,
};
use core::net::{IpAddr, SocketAddr};
use envoi_contract::digest::Digest;
use envoi_kernel::ids::is_key;

pub(crate) const SERVER: Vocabulary = Vocabulary {
    place: "`server`",
    keys: &["listen", "public_url", "hosts", "origins", "tls", "limits", "a2a", "page"],
    later: &[],
};

pub(crate) const TLS: Vocabulary = Vocabulary { place: "`tls`", keys: &["certificate", "key"], later: &[] };

pub(crate) const LIMITS: Vocabulary = Vocabulary {
    place: "`limits` of `server`",
    keys: &[
        "body",
        "artifact",
        "request",
        "streams",
        "starts",
        "starting",
        "incoming",
        "connections",
        "keep_alive",
    ],
    later: &[],
};

pub(crate) const A2A: Vocabulary =
    Vocabulary { place: "`a2a`", keys: &["url", "default_flow", "workspace", "push"], later: &[] };

pub(crate) const PUSH: Vocabulary = Vocabulary { place: "`push` of `a2a`", keys: &["allow"], later: &[] };

/// Enough for any limit; more is probably a mistake in the unit.
const MAX_BYTES: u64 = 1 << 40;
const MAX_COUNT: u64 = 1_000_000;

/// The settings of the server. `None` uses the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The address for others, if it differs from `listen`: scheme, name, and a port if it is not the default.
    pub public_url: Option<String>,
    /// Host names that a request may use, in addition to the address.
    pub hosts: Vec<String>,
    /// Origins of web pages that may send requests.
    pub origins: Vec<String>,
    /// Certificate and key, relative to the folder of the file.
    pub tls: Option<(String, String)>,
    /// Limits for clients.
    pub limits: Limits,
    /// Defaults for messages over A2A.
    pub a2a: A2a,
    /// Whether the web page is enabled; `None` means yes.
    pub page: Option<bool>,
}

impl Server {
    /// True if people can sign in to the web page.
    #[must_use]
    pub fn has_page(&self) -> bool {
        self.page != Some(false)
    }
}

/// See [`Server::a2a`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct A2a {
    /// The address for clients of A2A, if it differs from [`Server::public_url`]. If neither is set, the address of
    /// the request is used.
    pub url: Option<String>,
    /// The flow that a message starts, by its id or digest. A tenant without such a flow gets an error.
    pub default_flow: Option<String>,
    /// How the run uses the workspace.
    pub workspace: Workspace,
    /// Allowed receivers of push notifications, in addition to public addresses.
    pub push: Push,
}

/// See [`A2a::push`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Push {
    /// Hosts by name or address, in any network, and also without TLS.
    pub hosts: Vec<String>,
    /// Networks, each with the length of its prefix in bits.
    pub ranges: Vec<(IpAddr, u8)>,
}

/// How a run uses its workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workspace {
    /// Exclusively: refused while another run has a live attempt in it.
    #[default]
    Alone,
    /// Shared with other runs.
    Shared,
    /// In a copy of its own.
    Copy,
}

/// Limits for clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Largest body in bytes.
    pub body_bytes: Option<u64>,
    /// Largest artifact in bytes.
    pub artifact_bytes: Option<u64>,
    /// Longest request in milliseconds.
    pub request_ms: Option<u64>,
    /// Open streams per token.
    pub streams: Option<u64>,
    /// Started runs per minute and token.
    pub starts: Option<u64>,
    /// Starts in progress per token.
    pub starting: Option<u64>,
    /// Bodies being received per token.
    pub incoming: Option<u64>,
    /// Open connections.
    pub connections: Option<u64>,
    /// Interval between keep-alive messages of a stream, in milliseconds.
    pub keep_alive_ms: Option<u64>,
}

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Server {
    let Some(fields) = Fields::of(node, &SERVER, problems) else { return Server::default() };
    Server {
        listen: fields.get("listen").and_then(|node| address(node, problems)),
        public_url: fields.get("public_url").and_then(|node| origin(node, "`public_url`", problems)),
        hosts: fields.get("hosts").map(|node| hosts(node, problems)).unwrap_or_default(),
        origins: fields.get("origins").map(|node| origins(node, problems)).unwrap_or_default(),
        tls: fields.get("tls").and_then(|node| tls(node, problems)),
        limits: fields.get("limits").map(|node| limits(node, problems)).unwrap_or_default(),
        a2a: fields.get("a2a").map(|node| a2a(node, problems)).unwrap_or_default(),
        page: fields.get("page").and_then(|node| read::boolean(node, "`page`", problems)),
    }
}

fn a2a(node: &Node, problems: &mut Problems) -> A2a {
    const WORKSPACES: &[(&str, Workspace)] =
        &[("alone", Workspace::Alone), ("shared", Workspace::Shared), ("copy", Workspace::Copy)];
    let Some(fields) = Fields::of(node, &A2A, problems) else { return A2a::default() };
    let url = fields.get("url").and_then(|node| origin(node, "`url`", problems));
    let default_flow = fields.get("default_flow").and_then(|node| flow(node, problems));
    let workspace =
        fields.get("workspace").and_then(|node| read::choice(node, "`workspace`", WORKSPACES, problems));
    let push = fields.get("push").map(|node| push(node, problems)).unwrap_or_default();
    A2a { url, default_flow, workspace: workspace.unwrap_or_default(), push }
}

pub(super) fn origin(node: &Node, name: &str, problems: &mut Problems) -> Option<String> {
    let text = read::text(node, name, problems)?;
    if is_origin(text) {
        return Some(text.to_owned());
    }
    refuse(
        problems,
        read::mismatch(node, name, "a scheme, a name and perhaps a port: `https://envoi.example`"),
    )
}

fn push(node: &Node, problems: &mut Problems) -> Push {
    let mut push = Push::default();
    let allow = Fields::of(node, &PUSH, problems).and_then(|fields| fields.get("allow"));
    for allowed in allow.map(|node| read::texts(node, "`allow`", problems)).unwrap_or_default() {
        match (allowed.value.split_once('/'), is_host(&allowed.value)) {
            (Some((network, bits)), _) => match range(network, bits) {
                Some(range) => push.ranges.push(range),
                None => problems.add(
                    Diagnostic::invalid(
                        allowed.span,
                        format!("`{}` is not a range of addresses", allowed.value),
                    )
                    .help("a network and how many of its bits count: `10.0.0.0/8`, `fd00::/8`"),
                ),
            },
            (None, true) => push.hosts.push(allowed.value),
            (None, false) => problems.add(
                Diagnostic::invalid(allowed.span, format!("`{}` is not a host", allowed.value)).help(
                    "a name or an address, without scheme, port and path: `hooks.internal`, `127.0.0.1`",
                ),
            ),
        }
    }
    push
}

fn is_host(text: &str) -> bool {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    bare.parse::<IpAddr>().is_ok() || is_name(text)
}

/// Reads a network. Bits after the prefix must be zero, because otherwise another range was probably meant.
fn range(network: &str, bits: &str) -> Option<(IpAddr, u8)> {
    let network = network.parse::<IpAddr>().ok()?;
    let bits = bits.parse::<u8>().ok()?;
    let left = |width: u32| width.checked_sub(u32::from(bits));
    let is_plain = match network {
        IpAddr::V4(network) => network.to_bits().trailing_zeros() >= left(32)?,
        IpAddr::V6(network) => network.to_bits().trailing_zeros() >= left(128)?,
    };
    is_plain.then_some((network, bits))
}

fn flow(node: &Node, problems: &mut Problems) -> Option<String> {
    let name = read::text(node, "`default_flow`", problems)?;
    if is_key(name) || Digest::parse(name).is_some() {
        return Some(name.to_owned());
    }
    refuse(problems, read::mismatch(node, "`default_flow`", "the id or the digest of a flow"))
}

pub(super) fn address(node: &Node, problems: &mut Problems) -> Option<SocketAddr> {
    let text = read::text(node, "`listen`", problems)?;
    let expected = "an address and a port such as `127.0.0.1:7007` or `[::1]:7007`";
    text.parse().ok().or_else(|| refuse(problems, read::mismatch(node, "`listen`", expected)))
}

fn hosts(node: &Node, problems: &mut Problems) -> Vec<String> {
    let all = read::texts(node, "`hosts`", problems);
    for host in &all {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
        if !host.value.bytes().all(plain) {
            let message = format!("`{}` is not a name, or a name and a port", host.value);
            problems
                .add(Diagnostic::invalid(host.span, message).help("write it as clients do: `envoi.example`"));
        }
    }
    all.into_iter().map(|host| host.value).collect()
}

fn origins(node: &Node, problems: &mut Problems) -> Vec<String> {
    let all = read::texts(node, "`origins`", problems);
    for origin in &all {
        if !is_origin(&origin.value) {
            let message = format!("`{}` is not an origin", origin.value);
            problems.add(
                Diagnostic::invalid(origin.span, message)
                    .help("a scheme, a name and a port if it is not the usual one: `https://app.example`"),
            );
        }
    }
    all.into_iter().map(|origin| origin.value).collect()
}

fn is_origin(text: &str) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['/', '?', '#', '@', '*']))
}

fn tls(node: &Node, problems: &mut Problems) -> Option<(String, String)> {
    let fields = Fields::of(node, &TLS, problems)?;
    let mut file = |name: &str| match fields.get(name) {
        Some(node) => path::fixed(node, &format!("`{name}`"), problems).map(str::to_owned),
        None if fields.misspelt(name, &TLS) => None,
        None => refuse(problems, Diagnostic::invalid(node.span, format!("`tls` without a `{name}`"))),
    };
    let certificate = file("certificate");
    let key = file("key");
    Some((certificate?, key?))
}

fn limits(node: &Node, problems: &mut Problems) -> Limits {
    let Some(fields) = Fields::of(node, &LIMITS, problems) else { return Limits::default() };
    let number = |name: &str, most: u64, problems: &mut Problems| {
        fields.get(name).and_then(|node| read::integer(node, &format!("`{name}`"), 1..=most, problems))
    };
    let time = |name: &str, problems: &mut Problems| {
        fields.get(name).and_then(|node| read::duration(node, &format!("`{name}`"), problems))
    };
    Limits {
        body_bytes: number("body", MAX_BYTES, problems),
        artifact_bytes: number("artifact", MAX_BYTES, problems),
        request_ms: time("request", problems),
        streams: number("streams", MAX_COUNT, problems),
        starts: number("starts", MAX_COUNT, problems),
        starting: number("starting", MAX_COUNT, problems),
        incoming: number("incoming", MAX_COUNT, problems),
        connections: number("connections", MAX_COUNT, problems),
        keep_alive_ms: time("keep_alive", problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, tests::fits_schema};
    use envoi_contract::json::Value;

    #[test]
    fn every_form_of_an_answer_is_read() {
        let text = "server:\n  listen: '[::1]:80'\n  public_url: 'https://p.example:8443'\n  hosts: [envoi.example, 'a:1']\n  origins: ['https://app.example']\n  \
                    tls: { certificate: chain.pem, key: key.pem }\n  limits: { body: 1, artifact: 2, request: 3s, streams: 4, \
                    starts: 5, connections: 6, keep_alive: 7ms, starting: 8, incoming: 9 }\n  a2a:\n    url: 'https://e.example'\n    default_flow: triage\n    workspace: copy\n    \
                    push: { allow: [hooks.internal, 127.0.0.1, '::1', 10.0.0.0/8, 'fd00::/8', 0.0.0.0/0] }\n  page: false\n";
        assert!(fits_schema(text));
        let server = config::load("c.yaml", text).unwrap().server;
        let limits = Limits {
            body_bytes: Some(1),
            artifact_bytes: Some(2),
            request_ms: Some(3_000),
            streams: Some(4),
            starts: Some(5),
            starting: Some(8),
            incoming: Some(9),
            connections: Some(6),
            keep_alive_ms: Some(7),
        };
        let expected = Server {
            listen: Some("[::1]:80".parse().unwrap()),
            public_url: Some("https://p.example:8443".to_owned()),
            hosts: vec!["envoi.example".to_owned(), "a:1".to_owned()],
            origins: vec!["https://app.example".to_owned()],
            tls: Some(("chain.pem".to_owned(), "key.pem".to_owned())),
            limits,
            a2a: A2a {
                url: Some("https://e.example".to_owned()),
                default_flow: Some("triage".to_owned()),
                workspace: Workspace::Copy,
                push: Push {
                    hosts: ["hooks.internal", "127.0.0.1", "::1"].map(str::to_owned).into(),
                    ranges: vec![
                        ("10.0.0.0".parse().unwrap(), 8),
                        ("fd00::".parse().unwrap(), 8),
                        ("0.0.0.0".parse().unwrap(), 0),
                    ],
                },
            },
            page: Some(false),
        };
        assert_eq!(server, expected);
        assert!(!server.has_page());
        let usual = config::load("c.yaml", "server: {}\n").unwrap().server;
        assert_eq!((usual.has_page(), usual), (true, Server::default()));
    }

    #[test]
    fn mistakes_are_reported_all_at_once_and_the_schema_refuses_their_shapes() {
        for (text, words) in [
            ("{ port: 1 }", "unknown key `port` in `server`"),
            ("{ listen: localhost }", "an address and a port"),
            ("{ public_url: envoi.example }", "expected a scheme, a name"),
            ("{ public_url: 'https://envoi.example/envoi' }", "expected a scheme, a name"),
            ("{ hosts: ['https://x'] }", "is not a name"),
            ("{ origins: ['app.example'] }", "is not an origin"),
            ("{ tls: { key: k } }", "`tls` without a `certificate`"),
            ("{ limits: { streams: 0 } }", "a whole number from 1"),
            ("{ limits: { request: 30 } }", "a duration such as"),
            ("{ a2a: { default_flow: 'Not a flow' } }", "the id or the digest of a flow"),
            ("{ a2a: { workspace: mine } }", "`alone`"),
            ("{ a2a: { url: 'https://e.example/a2a' } }", "a scheme, a name"),
            ("{ a2a: { flow: f } }", "unknown key `flow`"),
            ("{ a2a: { push: { deny: [] } } }", "unknown key `deny`"),
            ("{ a2a: { push: { allow: ['http://x'] } } }", "`http://x` is not a range of addresses"),
            ("{ a2a: { push: { allow: ['x:80'] } } }", "`x:80` is not a host"),
            ("{ a2a: { push: { allow: ['10.0.0.0/33'] } } }", "is not a range of addresses"),
            ("{ a2a: { push: { allow: ['x/8'] } } }", "is not a range of addresses"),
            ("{ page: 'off' }", "did you mean `false`?"),
        ] {
            let text = format!("server: {text}\n");
            let report = config::load("c.yaml", &text).unwrap_err().render(crate::Colour::Never);
            assert!(report.contains(words), "{text}: {report}");
            assert!(!fits_schema(&text), "the schema lets this pass: {text}");
        }
        // A pattern cannot check the bits after the prefix.
        let text = "server: { a2a: { push: { allow: [10.0.0.1/8, 'fd00::1/8'] } } }\n";
        assert_eq!(config::load("c.yaml", text).unwrap_err().diagnostics.len(), 2);
        let two = config::load("c.yaml", "server: { listen: x, tls: {} }\n").unwrap_err();
        assert_eq!(two.diagnostics.len(), 3, "{}", two.render(crate::Colour::Never));
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read_and_no_others() {
        let schema = Value::parse_str(config::SCHEMA).unwrap();
        let server = schema.get("$defs").and_then(|defs| defs.get("server")).unwrap();
        let of = |name: &str| server.get("properties").and_then(|all| all.get(name)).unwrap();
        let push = of("a2a").get("properties").and_then(|all| all.get("push")).unwrap();
        for (vocabulary, described) in
            [(&SERVER, server), (&TLS, of("tls")), (&LIMITS, of("limits")), (&A2A, of("a2a")), (&PUSH, push)]
        {
            let properties = described.get("properties").and_then(Value::as_object).unwrap();
            assert!(properties.keys().eq(vocabulary.keys.iter().copied()), "{}", vocabulary.place);
            assert!(properties.values().all(|property| property.get("description").is_some()));
        }
    }
}
