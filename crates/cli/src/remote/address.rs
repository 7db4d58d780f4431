//! The address, token and certificates of the server: read from the command line, the environment and files,
//! and checked before anything is sent.

use crate::{
    process::{environment, failure::Failure, files, invocation},
    text::shell,
};
use envoi_contract::code::Code;
use std::path::{Path, PathBuf};
use ureq::{
    http::Uri,
    tls::{Certificate, PemItem, parse_pem},
};

/// The longest token that is accepted. No server makes longer ones.
const MAX_TOKEN: usize = 4096;

/// The options of the command line about the server.
#[derive(Debug)]
pub(crate) struct Options {
    /// Its address.
    pub(crate) server: Option<String>,
    /// A file with the token.
    pub(crate) token_file: Option<PathBuf>,
    /// A file with the trusted certificates.
    pub(crate) ca: Option<PathBuf>,
    /// Whether a store was named.
    pub(crate) has_home: bool,
}

/// The address and the credentials of a server.
pub(crate) struct Address {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) token: String,
    /// The trusted certificates, instead of those of the machine.
    pub(crate) roots: Option<Vec<Certificate<'static>>>,
}

impl Address {
    /// Returns the server, or `None` for a local store. The command line has priority over the environment.
    /// In the environment, a server has priority over a store.
    ///
    /// # Errors
    /// The address, the token or a certificate is invalid.
    pub(crate) fn of(options: &Options) -> Result<Option<Self>, Failure> {
        let from_option = options.server.as_deref().map(str::trim);
        if from_option.is_some_and(|url| !url.is_empty()) && options.has_home {
            return Err(
                bad("--server and --home name two places where the runs are").hint("give one of them")
            );
        }
        let known =
            environment::variable("ENVOI_SERVER").filter(|_| from_option.is_none() && !options.has_home);
        let Some(url) = from_option.or(known.as_deref().map(str::trim)).filter(|url| !url.is_empty()) else {
            return match options.token_file.is_some() || options.ca.is_some() {
                true => {
                    Err(bad("--token-file and --server-ca go with a server").hint("name it with --server"))
                }
                false => Ok(None),
            };
        };
        let url = checked(url)?;
        let token = token(options.token_file.as_deref())?;
        let roots = options.ca.as_deref().map(certificates).transpose()?;
        if from_option.is_some() {
            invocation::with(&again(&url, options));
        }
        Ok(Some(Self { url, token, roots }))
    }

    /// Whether the network can read what is sent.
    pub(crate) fn is_in_the_clear(&self) -> bool {
        let host = self.url.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or(rest));
        host.is_some_and(|host| {
            let name =
                host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
            !(name == "localhost" || name == "[::1]" || name.starts_with("127."))
        })
    }
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(Code::ServerOptionsInvalid, message)
}

fn checked(url: &str) -> Result<String, Failure> {
    let wrong = || {
        bad(format!("`{url}` is not the address of a server"))
            .hint("expected http://HOST:PORT or https://HOST, without a user, a query or a fragment")
    };
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if !known || authority.is_empty() || authority.contains('@') || uri.query().is_some() || url.contains('#')
    {
        return Err(wrong());
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Reads the token. It is never an argument, because other users of the machine can read arguments.
fn token(file: Option<&Path>) -> Result<String, Failure> {
    let needed = |message: String| {
        Failure::new(Code::TokenNeeded, message)
            .hint("set ENVOI_TOKEN, or name a file with --token-file; `envoi token create` makes one, at the server")
    };
    let text = match file {
        Some(path) => files::read_text(path)
            .map_err(|error| needed(format!("the token cannot be read: {}: {error}", path.display())))?,
        None => environment::variable("ENVOI_TOKEN")
            .ok_or_else(|| needed("a server takes a token, and none is given".to_owned()))?,
    };
    let token = text.trim();
    let is_one = (1..=MAX_TOKEN).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_one { Ok(token.to_owned()) } else { Err(needed("what is given is not a token".to_owned())) }
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, Failure> {
    let wrong = |why: String| bad(format!("{}: {why}", path.display())).hint("expected certificates in PEM");
    let bytes = files::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&bytes) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(error.to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(wrong("it has no certificate".to_owned())) } else { Ok(found) }
}

/// The options that reach the same server again, quoted for a shell.
fn again(url: &str, options: &Options) -> String {
    let named = [("--token-file", &options.token_file), ("--server-ca", &options.ca)];
    let files = named.into_iter().filter_map(|(name, path)| {
        let path = path.as_deref()?;
        Some(format!(" {name} {}", shell::word(&path.to_string_lossy())))
    });
    format!("--server {}{}", shell::word(url), files.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_host_and_no_more_than_a_path() {
        for (url, expected) in [
            ("http://127.0.0.1:7007", Some("http://127.0.0.1:7007")),
            ("https://envoi.example/", Some("https://envoi.example")),
            ("https://envoi.example/team/", Some("https://envoi.example/team")),
            ("http://[::1]:7007", Some("http://[::1]:7007")),
            ("127.0.0.1:7007", None),
            ("ftp://envoi.example", None),
            ("https://ann:secret@envoi.example", None),
            ("https://envoi.example/?a=b", None),
            ("https://envoi.example/#x", None),
            ("http://", None),
            ("run", None),
        ] {
            assert_eq!(checked(url).ok().as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn what_crosses_a_network_in_the_clear_is_known() {
        let of = |url: &str| {
            let address = Address { url: url.to_owned(), token: String::new(), roots: None };
            address.is_in_the_clear()
        };
        for url in ["http://envoi.example", "http://10.0.0.7:7007", "http://[2001:db8::1]:80/x"] {
            assert!(of(url), "{url}");
        }
        for url in ["https://envoi.example", "http://127.0.0.1:7007", "http://localhost", "http://[::1]:7007"]
        {
            assert!(!of(url), "{url}");
        }
    }

    #[test]
    fn options_are_repeated_as_a_shell_takes_them() {
        let options = Options {
            server: None,
            token_file: Some("it's here".into()),
            ca: Some("/etc/ca.pem".into()),
            has_home: false,
        };
        let expected = r"--server https://envoi.example --token-file 'it'\''s here' --server-ca /etc/ca.pem";
        assert_eq!(again("https://envoi.example", &options), expected);
    }
}
