//! `notify:` of a flow and of the configuration: recipients of notices, and the events that cause them.
//!
//! Owns its keys and the form of an address. Whether the address responds is checked when a notice is sent.

use crate::{
    parse::{secret, shell::Shell},
    syntax::{
        diagnostic::{Diagnostic, Problems, Span},
        keys, path,
        read::{self, Fields, listed, refuse},
        yaml::{Kind, Node},
    },
};
use core::net::IpAddr;
use envoi_kernel::{
    event::Command,
    notify::{Address, Moment, Target, Webhook},
};

/// The largest number of targets, because each target costs a row per event.
const MAX_TARGETS: usize = 16;

/// Long enough for any receiver that only stores the notice.
const TIMEOUT_MS: u64 = 10_000;

/// A longer try would delay other notices.
const MAX_TIMEOUT_MS: u64 = 60_000;

/// Reads one target or a list of them. A plain text is an address: a webhook if it begins with a web scheme, else a
/// command. In a list a plain text is not allowed, because `[notify-send, Envoi]` could mean one command or two.
pub(crate) fn read(node: &Node, shell: &Shell, problems: &mut Problems) -> Vec<Target> {
    let items = match &node.kind {
        Kind::Sequence(items) => items.as_slice(),
        Kind::Mapping(_) => core::slice::from_ref(node),
        Kind::Scalar(_) if read::as_text(node).is_some() => {
            return address(node, shell, problems)
                .map(|to| Target { to, on: Moment::ALL.to_vec() })
                .into_iter()
                .collect();
        }
        Kind::Scalar(_) => {
            let expected = "a command, a mapping, or a list of mappings";
            problems.add(read::mismatch(node, "`notify`", expected));
            return Vec::new();
        }
    };
    if items.is_empty() {
        problems.add(Diagnostic::invalid(node.span, "`notify` is empty").help("leave it out"));
    }
    if items.len() > MAX_TARGETS {
        let message = format!("`notify` has at most {MAX_TARGETS} targets");
        problems.add(Diagnostic::invalid(node.span, message));
        return Vec::new();
    }
    items.iter().filter_map(|item| target(item, shell, problems)).collect()
}

/// Reads a plain text as an address.
fn address(node: &Node, shell: &Shell, problems: &mut Problems) -> Option<Address> {
    let text = read::as_text(node).unwrap_or_default().to_ascii_lowercase();
    match ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) {
        true => webhook(node, problems).map(Address::Webhook),
        false => command(node, shell, problems).map(Address::Command),
    }
}

fn target(node: &Node, shell: &Shell, problems: &mut Problems) -> Option<Target> {
    let fields = Fields::of(node, &keys::NOTIFY, problems)?;
    let on = match fields.get("on") {
        Some(node) => moments(node, problems),
        None => Some(Moment::ALL.to_vec()),
    };
    let to = match (fields.pair("command"), fields.pair("webhook")) {
        (Some((_, node)), None) => command(node, shell, problems).map(Address::Command),
        (None, Some((_, node))) => webhook(node, problems).map(Address::Webhook),
        (Some((first, _)), Some((second, _))) => {
            let message = "a target is a `command` or a `webhook`";
            let diagnostic =
                Diagnostic::invalid(second.span, message).label(first.span, "the other one is here");
            refuse(problems, diagnostic.help("make a list of two targets"))
        }
        (None, None) if fields.misspelt("command", &keys::NOTIFY) => None,
        (None, None) if fields.misspelt("webhook", &keys::NOTIFY) => None,
        (None, None) => {
            let message = "this target is neither a `command` nor a `webhook`";
            refuse(
                problems,
                Diagnostic::invalid(node.span, message).help("give its address: `webhook: https://…`"),
            )
        }
    };
    Some(Target { to: to?, on: on? })
}

fn moments(node: &Node, problems: &mut Problems) -> Option<Vec<Moment>> {
    let words = Moment::ALL.map(|moment| (moment.word(), moment));
    let expected = format!("{} or a list of them", listed(&words.map(|(word, _)| word)));
    let items = match &node.kind {
        Kind::Scalar(_) if read::as_text(node).is_some() => core::slice::from_ref(node),
        _ => read::list(node, "`on`", &expected, problems)?,
    };
    if items.is_empty() {
        let message = "`on` is empty: this target would never get a notice";
        return refuse(problems, Diagnostic::invalid(node.span, message).help("leave it out for everything"));
    }
    let mut moments = Vec::new();
    for item in items {
        let moment = read::choice(item, "an item of `on`", &words, problems)?;
        if moments.contains(&moment) {
            let message = format!("`{}` stands twice in `on`", moment.word());
            return refuse(problems, Diagnostic::invalid(item.span, message));
        }
        moments.push(moment);
    }
    Some(moments)
}

fn command(node: &Node, shell: &Shell, problems: &mut Problems) -> Option<Command> {
    let Kind::Sequence(items) = &node.kind else {
        if read::as_text(node).is_none() {
            return refuse(problems, read::mismatch(node, "`command`", "a string or a list of strings"));
        }
        let script = path::fixed(node, "`command`", problems)?;
        return Some(shell.command(script));
    };
    let mut arguments = Vec::new();
    for item in items {
        let text = read::token(item, "an argument of `command`", problems)?;
        arguments.push(path::without_expression(item.span, text, "`command`", problems)?.to_owned());
    }
    if arguments.first().is_none_or(|program| program.trim().is_empty()) {
        return refuse(problems, Diagnostic::invalid(node.span, "`command` names no program"));
    }
    Some(Command::Exec(arguments))
}

/// Reads an address, or a mapping with one.
fn webhook(node: &Node, problems: &mut Problems) -> Option<Webhook> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        return Some(Webhook { url: url(node, "`webhook`", problems)?, token: None, timeout_ms: TIMEOUT_MS });
    }
    let fields = Fields::of(node, &keys::WEBHOOK, problems)?;
    let url = match fields.get("url") {
        Some(node) => url(node, "`url`", problems),
        None if fields.misspelt("url", &keys::WEBHOOK) => None,
        None => refuse(problems, Diagnostic::invalid(node.span, "`webhook` without a `url`")),
    };
    let token =
        fields.pair("token").map(|(key, node)| secret::source(node, "`token`", "NAME", key.span, problems));
    let timeout = fields.get("timeout").map(|node| timeout(node, problems));
    // An invalid value was already reported.
    let token = match token {
        Some(source) => Some(source?),
        None => None,
    };
    let url = url?;
    if let Some((key, _)) = fields.pair("token").filter(|_| !keeps_secrets(&url)) {
        return refuse(problems, in_clear_text(key.span));
    }
    Some(Webhook { url, token, timeout_ms: timeout.map_or(Some(TIMEOUT_MS), |timeout| timeout)? })
}

fn timeout(node: &Node, problems: &mut Problems) -> Option<u64> {
    let millis = read::duration(node, "`timeout`", problems)?;
    if millis > MAX_TIMEOUT_MS {
        let message = "`timeout` of a webhook is at most 1m";
        return refuse(problems, Diagnostic::invalid(node.span, message));
    }
    Some(millis)
}

const URL: &str = "an address such as `https://example.org/hook`";

/// Reads an address, and checks it without a connection.
pub(crate) fn url(node: &Node, name: &str, problems: &mut Problems) -> Option<String> {
    let text = path::fixed(node, name, problems)?;
    if let Some(problem) = bad_url(node.span, text, name) {
        return refuse(problems, problem);
    }
    Some(text.to_owned())
}

/// The mistake in an address, as far as it can be found without a connection.
pub(crate) fn bad_url(span: Span, text: &str, name: &str) -> Option<Diagnostic> {
    let bad = |why: &str| Some(Diagnostic::invalid(span, format!("{name} {why}")).expecting(URL));
    let lower = text.to_ascii_lowercase();
    let Some(rest) = ["http://", "https://"].iter().find_map(|scheme| lower.strip_prefix(scheme)) else {
        return bad("begins neither `https://` nor `http://`");
    };
    if text.bytes().any(|byte| !byte.is_ascii_graphic() || b"\"<>\\^`{|}".contains(&byte)) {
        return bad("holds a character that has to be written as `%..`");
    }
    let authority = authority(rest);
    if authority.contains('@') {
        return bad("holds a user or a password")
            .map(|problem| problem.help("a flow holds no secrets: use `token: { env: NAME }`"));
    }
    let (host, port) = host_and_port(authority);
    if host.is_empty() {
        return bad("names no host");
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return bad("has a port that is no port");
    }
    None
}

/// The part of an address between its scheme and its path.
fn authority(rest: &str) -> &str {
    rest.split_once(['/', '?', '#']).map_or(rest, |(first, _)| first)
}

fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// The mistake of a token for an address without encryption.
pub(crate) fn in_clear_text(span: Span) -> Diagnostic {
    let message = "`token` would travel in clear text: the address begins with `http://`";
    let help = "use `https://`; without it a token is sent to this machine alone, such as `http://127.0.0.1`";
    Diagnostic::invalid(span, message).help(help)
}

/// True if data sent to this address stays private: it is encrypted, or does not leave the machine.
pub(crate) fn keeps_secrets(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("http://") else { return true };
    let (host, _) = host_and_port(authority(rest));
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
