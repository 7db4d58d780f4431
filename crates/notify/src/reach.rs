//! How far a post may go whose address somebody else has named: to the outside, and to what is allowed by name or by range.
//!
//! Owns what is looked at before a name is looked up ([`Reach::place`]) and after ([`Reach::may`]). Whose addresses these are is
//! [`crate::outside`]'s; that nothing else is connected to, [`crate::Parcel`]'s.

use crate::outside::{covers_v4, covers_v6, inside};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ureq::http::Uri;

/// See the module. The default reaches the outside alone.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    hosts: Vec<String>,
    ranges: Vec<(IpAddr, u8)>,
}

/// Where to post: an address that was looked at, of a host that was not looked up yet.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) uri: Uri,
    /// Whether the host is allowed by name, wherever it is.
    pub(crate) named: bool,
    pub(crate) receiver: String,
}

impl Place {
    /// Whose it is: host and port.
    #[must_use]
    pub fn receiver(&self) -> &str {
        &self.receiver
    }
}

impl Reach {
    /// Besides the outside, these hosts, as an address names them and wherever they are, also without TLS; and addresses of
    /// these ranges, each a network and how many of its bits count.
    #[must_use]
    pub fn new(hosts: &[String], ranges: Vec<(IpAddr, u8)>) -> Self {
        Self { hosts: hosts.iter().map(|host| plain(host)).collect(), ranges }
    }

    /// Looks at an address without asking anybody.
    ///
    /// # Errors
    /// A sentence that does not repeat the address beyond its host: it is none, wants no TLS, or leads inside.
    pub fn place(&self, url: &str) -> Result<Place, String> {
        let uri: Uri = url.parse().map_err(|_| "it is not an address".to_owned())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err("it has to be a whole address: `https://host/path`".to_owned());
        };
        if authority.as_str().contains('@') {
            return Err("it may not carry a name and a password".to_owned());
        }
        let port = match (authority.port_u16(), scheme) {
            (Some(0), _) => return Err("nobody has port 0".to_owned()),
            (Some(port), _) => port,
            (None, "http") => 80,
            (None, "https") => 443,
            (None, _) => return Err("it has to begin with `https://`".to_owned()),
        };
        let (host, written) = (plain(authority.host()), authority.as_str().len());
        if host.is_empty() || (authority.port_u16().is_none() && written != authority.host().len()) {
            return Err("its host or its port is missing".to_owned());
        }
        let named = self.hosts.contains(&host);
        match scheme {
            "https" => {}
            "http" if named => {}
            "http" => return Err(format!("`http:` is not taken for `{host}`; use `https:`")),
            _ => return Err("it has to begin with `https://`".to_owned()),
        }
        if !named {
            self.look_at(&host)?;
        }
        Ok(Place { named, receiver: format!("{host}:{port}"), uri })
    }

    /// Whether this address may be connected to.
    ///
    /// # Errors
    /// A sentence: it is inside.
    pub fn may(&self, address: IpAddr) -> Result<(), String> {
        match inside(address) {
            Some(what) if !self.is_in_range(address) => Err(format!("the address {address} is {what}")),
            _ => Ok(()),
        }
    }

    /// A host that is an address, or that is always this machine.
    fn look_at(&self, host: &str) -> Result<(), String> {
        if let Some(address) = literal(host) {
            return self.may(address);
        }
        if host == "localhost" || host.ends_with(".localhost") {
            let v6 = self.may(Ipv6Addr::LOCALHOST.into());
            return v6.or_else(|_| self.may(Ipv4Addr::LOCALHOST.into()));
        }
        // Names do not end in a number: resolvers read such things as addresses, each in its way.
        let last = host.rsplit('.').next().unwrap_or(host);
        let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || host.starts_with('[') {
            return Err(format!("`{host}` is neither a name nor an address as one writes it"));
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

/// A host as it is compared: in lower case, without the dot that ends a whole name, addresses as they are usually written.
fn plain(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match literal(&host) {
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        Some(IpAddr::V4(address)) => address.to_string(),
        None => host.strip_suffix('.').map(str::to_owned).unwrap_or(host),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach() -> Reach {
        let ranges = vec![("10.1.0.0".parse().unwrap(), 16), ("fd00:1::".parse().unwrap(), 32)];
        Reach::new(&["Hooks.Example".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()], ranges)
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
            // Looked up when it is posted to.
            ("https://internal.example/", "internal.example:443"),
        ] {
            assert_eq!(reach().place(url).unwrap().receiver(), receiver, "{url}");
        }
        assert!(reach().place("http://hooks.example/").unwrap().named);
        assert!(!reach().place("https://agents.example/").unwrap().named);
    }

    #[test]
    fn addresses_that_lead_inside_or_nowhere_are_refused_with_the_reason() {
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
            let told = reach().place(url).unwrap_err();
            assert!(told.contains(reason), "{url}: {told}");
            assert!(!told.contains("secret"), "{url}: {told}");
        }
    }

    #[test]
    fn this_machine_can_be_allowed_as_a_range() {
        let reach = Reach::new(&[], vec![("127.0.0.0".parse().unwrap(), 8)]);
        assert!(reach.place("https://localhost/").is_ok());
        assert!(reach.may("127.0.0.9".parse().unwrap()).is_ok());
        assert!(reach.may("::1".parse().unwrap()).is_err());
        let all = Reach::new(&[], vec![("0.0.0.0".parse().unwrap(), 0), ("::".parse().unwrap(), 0)]);
        assert!(all.may("::1".parse().unwrap()).is_ok() && all.may("10.0.0.1".parse().unwrap()).is_ok());
    }
}
