//! Which addresses named by a client a POST may go to: public ones, and those that the configuration allows.
//!
//! Checks an address before its name is resolved ([`EgressPolicy::check_url`]) and after
//! ([`EgressPolicy::check_address`]). `ip_ranges` knows which IP addresses are public. [`crate::HttpPost`]
//! connects only to checked addresses.

use crate::ip_ranges::{covers_v4, covers_v6, non_public};
use std::{
    error, fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};
use ureq::http::Uri;

/// The addresses that are allowed. The default allows only public ones.
#[derive(Debug, Clone, Default)]
pub struct EgressPolicy {
    hosts: Vec<String>,
    ranges: Vec<(IpAddr, u8)>,
}

/// A checked URL. The name of its host is not resolved yet.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) uri: Uri,
    /// Whether the host is allowed by name, whatever its IP address is.
    pub(crate) is_allowed_by_name: bool,
    pub(crate) receiver: String,
}

/// The address is not allowed. The text gives the reason, and repeats only the host of the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAllowed(String);

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for NotAllowed {}

impl Target {
    /// Host and port, as `host:port`.
    #[must_use]
    pub fn receiver(&self) -> &str {
        &self.receiver
    }
}

impl EgressPolicy {
    /// Allows these hosts and ranges, besides public addresses. A host is compared with the name in the URL, and may have any IP
    /// address, also without TLS. A range is a network and the length of its prefix.
    #[must_use]
    pub fn new(hosts: &[String], ranges: Vec<(IpAddr, u8)>) -> Self {
        Self { hosts: hosts.iter().map(|host| normalized(host)).collect(), ranges }
    }

    /// Checks a URL without resolving its host.
    ///
    /// # Errors
    /// [`NotAllowed`]: it is not a URL, has no TLS, or names a non-public address.
    pub fn check_url(&self, url: &str) -> Result<Target, NotAllowed> {
        let refused = |reason: &str| Err(NotAllowed(reason.to_owned()));
        let Ok(uri) = url.parse::<Uri>() else { return refused("it is not an address") };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return refused("it has to be a whole address: `https://host/path`");
        };
        if authority.as_str().contains('@') {
            return refused("it may not contain a name and a password");
        }
        let port = match (authority.port_u16(), scheme) {
            (Some(0), _) => return refused("port 0 cannot be used"),
            (Some(port), _) => port,
            (None, "http") => 80,
            (None, "https") => 443,
            (None, _) => return refused("it has to begin with `https://`"),
        };
        let host = normalized(authority.host());
        // A colon without a port, or a port that is not a number.
        let has_bad_port =
            authority.port_u16().is_none() && authority.as_str().len() != authority.host().len();
        if host.is_empty() || has_bad_port {
            return refused("its host or its port is missing");
        }
        let is_allowed_by_name = self.hosts.contains(&host);
        match scheme {
            "https" => {}
            "http" if is_allowed_by_name => {}
            "http" => return refused(&format!("`http:` is not taken for `{host}`; use `https:`")),
            _ => return refused("it has to begin with `https://`"),
        }
        if !is_allowed_by_name {
            self.check_host(&host)?;
        }
        Ok(Target { is_allowed_by_name, receiver: format!("{host}:{port}"), uri })
    }

    /// Checks the IP address of a host.
    ///
    /// # Errors
    /// [`NotAllowed`]: it is not public, and in no allowed range.
    pub fn check_address(&self, address: IpAddr) -> Result<(), NotAllowed> {
        match non_public(address) {
            Some(what) if !self.is_in_range(address) => {
                Err(NotAllowed(format!("the address {address} is {what}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a host that is a non-public address, or that always means this machine.
    fn check_host(&self, host: &str) -> Result<(), NotAllowed> {
        if let Some(address) = ip_address(host) {
            return self.check_address(address);
        }
        if host == "localhost" || host.ends_with(".localhost") {
            let v6 = self.check_address(Ipv6Addr::LOCALHOST.into());
            return v6.or_else(|_| self.check_address(Ipv4Addr::LOCALHOST.into()));
        }
        // No name ends in a number. Resolvers read such a text as an address, and differ in how they do it.
        let last = host.rsplit('.').next().unwrap_or(host);
        let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || host.starts_with('[') {
            return Err(NotAllowed(format!("`{host}` is neither a name nor an address in its usual form")));
        }
        Ok(())
    }

    fn is_in_range(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|(network, prefix)| match (network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => covers_v4(*network, *prefix, address),
            (IpAddr::V6(network), IpAddr::V6(address)) => covers_v6(*network, *prefix, address),
            _ => false,
        })
    }
}

/// A host in the form that is compared: in lower case, without a final dot, and an address in its usual form.
fn normalized(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match ip_address(&host) {
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        Some(IpAddr::V4(address)) => address.to_string(),
        None => host.strip_suffix('.').map(str::to_owned).unwrap_or(host),
    }
}

fn ip_address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> EgressPolicy {
        let ranges = vec![("10.1.0.0".parse().unwrap(), 16), ("fd00:1::".parse().unwrap(), 32)];
        EgressPolicy::new(&["Hooks.Example".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()], ranges)
    }

    #[test]
    fn addresses_are_taken_by_their_scheme_and_host() {
        for (url, receiver) in [
            ("https://agents.example/a2a?x=1", "agents.example:443"),
            ("https://Agents.Example.:8443/", "agents.example:8443"),
            ("HTTPS://agents.example", "agents.example:443"),
            ("https://8.8.8.8/", "8.8.8.8:443"),
            ("https://[2606:4700::1111]:1/", "[2606:4700::1111]:1"),
            ("http://hooks.example/", "hooks.example:80"),
            ("http://HOOKS.example.:81/", "hooks.example:81"),
            ("http://127.0.0.1:9/", "127.0.0.1:9"),
            ("http://[0:0::1]:9/", "[::1]:9"),
            ("https://10.1.255.255/", "10.1.255.255:443"),
            ("https://[::ffff:10.1.0.9]/", "[::ffff:10.1.0.9]:443"),
            ("https://[fd00:1::9]/", "[fd00:1::9]:443"),
            // Its name is resolved only at the POST.
            ("https://internal.example/", "internal.example:443"),
        ] {
            assert_eq!(policy().check_url(url).unwrap().receiver(), receiver, "{url}");
        }
        assert!(policy().check_url("http://hooks.example/").unwrap().is_allowed_by_name);
        assert!(!policy().check_url("https://agents.example/").unwrap().is_allowed_by_name);
    }

    #[test]
    fn addresses_that_are_not_public_or_not_usable_are_refused_with_the_reason() {
        for (url, reason) in [
            ("", "it is not an address"),
            ("/path", "a whole address"),
            ("agents.example", "a whole address"),
            ("https://", "it is not an address"),
            ("https://a b/", "it is not an address"),
            ("file:///etc/passwd", "it is not an address"),
            ("file://host/etc/passwd", "begin with `https://`"),
            ("gopher://agents.example:70/", "begin with `https://`"),
            ("socks5://agents.example:70/", "begin with `https://`"),
            ("https://me:secret@agents.example/", "a name and a password"),
            ("https://agents.example@10.0.0.1/", "a name and a password"),
            ("https://agents.example:0/", "port 0"),
            ("https://agents.example:/", "its port is missing"),
            ("https://agents.example:99999/", "its port"),
            ("http://agents.example/", "`http:` is not taken for `agents.example`"),
            ("http://10.1.0.9/", "`http:` is not taken for `10.1.0.9`"),
            ("https://10.0.0.9/", "the address 10.0.0.9 is private"),
            ("https://10.2.0.0/", "the address 10.2.0.0 is private"),
            ("https://127.0.0.2/", "the address 127.0.0.2 is of this machine"),
            ("https://169.254.169.254/latest/meta-data", "the address 169.254.169.254 is link-local"),
            ("https://[::ffff:7f00:2]/", "is of this machine"),
            ("https://[fd00:2::9]/", "is private"),
            ("https://localhost/", "the address 127.0.0.1 is of this machine"),
            ("https://LOCALHOST./", "the address 127.0.0.1 is of this machine"),
            ("https://x.localhost/", "the address 127.0.0.1 is of this machine"),
            ("https://2130706433/", "neither a name nor an address"),
            ("https://127.1/", "neither a name nor an address"),
            ("https://0x7f000001/", "neither a name nor an address"),
            ("https://0177.0.0.1/", "neither a name nor an address"),
            ("https://[fe80::1%25eth0]/", "neither a name nor an address"),
        ] {
            let error = policy().check_url(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
            assert!(!error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn this_machine_can_be_allowed_as_a_range() {
        let policy = EgressPolicy::new(&[], vec![("127.0.0.0".parse().unwrap(), 8)]);
        assert!(policy.check_url("https://localhost/").is_ok());
        assert!(policy.check_address("127.0.0.9".parse().unwrap()).is_ok());
        assert!(policy.check_address("::1".parse().unwrap()).is_err());
        let all = EgressPolicy::new(&[], vec![("0.0.0.0".parse().unwrap(), 0), ("::".parse().unwrap(), 0)]);
        assert!(
            all.check_address("::1".parse().unwrap()).is_ok()
                && all.check_address("10.0.0.1".parse().unwrap()).is_ok()
        );
    }
}
