//! The configuration of this program's HTTP clients. A caller states only the differences of its client
//! ([`Client`]).
//!
//! Common to all clients:
//!
//! - No redirect is followed, because a token and a body must not go to an address that no flow and no
//!   configuration names.
//! - No proxy of the environment is used, for the same reason.
//! - Certificates are checked against those that the machine trusts, unless the caller names others.
//! - A status is part of the answer and not an error, because its meaning differs from caller to caller.
//! - Their user agent is [`USER_AGENT`].
//!
//! The caller decides which addresses are allowed, and how much of a body is read. The model calls in
//! `server` are asynchronous and have a client of their own.
//!
//! ```
//! use envoi_http::Client;
//! use std::time::Duration;
//!
//! let client = Client { timeout: Some(Duration::from_secs(5)), ..Client::default() };
//! let config = client.config();
//! assert_eq!(config.timeouts().global, Some(Duration::from_secs(5)));
//! assert_eq!((config.max_redirects(), config.http_status_as_error()), (0, false));
//! ```

mod no_answer;
mod retry_after;

pub use no_answer::NoAnswer;
pub use retry_after::retry_after;

use std::time::Duration;
use ureq::{
    Agent,
    config::Config,
    tls::{Certificate, RootCerts, TlsConfig},
};

/// The header `User-Agent` of all clients.
pub const USER_AGENT: &str = "envoi";

/// The differences of a client from the others. By default it has no time limit, and keeps connections open.
#[derive(Debug, Default)]
pub struct Client<'r> {
    /// Time limit of one request: from the look-up of the name to the end of the answer that is read.
    pub timeout: Option<Duration>,
    /// Time limit for opening a connection.
    pub connect_timeout: Option<Duration>,
    /// Time limit for each single read or write on a connection.
    pub max_silence: Option<Duration>,
    /// The trusted certificates, instead of the machine's.
    pub roots: Option<&'r [Certificate<'static>]>,
    /// Each request has its own connection: if the server closed a reused one, it would be unclear whether
    /// the request arrived.
    pub is_one_request_a_connection: bool,
}

impl Client<'_> {
    /// Makes the client.
    #[must_use]
    pub fn agent(&self) -> Agent {
        self.config().new_agent()
    }

    /// The configuration of the client.
    #[must_use]
    pub fn config(&self) -> Config {
        let roots = match self.roots {
            Some(roots) => RootCerts::new_with_certs(roots),
            None => RootCerts::PlatformVerifier,
        };
        let mut config = Agent::config_builder()
            .timeout_global(self.timeout)
            .timeout_connect(self.connect_timeout)
            .timeout_per_read(self.max_silence)
            .timeout_per_write(self.max_silence)
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(USER_AGENT);
        if self.is_one_request_a_connection {
            config = config.max_idle_connections(0).max_idle_connections_per_host(0);
        }
        config.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };
    use ureq::http::Response;

    /// Answers one request with this head. Returns the URL, and a thread whose result is the request.
    fn answer(head: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut request = Vec::new();
            let mut piece = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                let read = stream.read(&mut piece).unwrap();
                assert_ne!(read, 0, "the request ends with its head");
                request.extend_from_slice(&piece[..read]);
            }
            stream.write_all(head.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        (url, server)
    }

    fn status(response: Result<Response<ureq::Body>, ureq::Error>) -> u16 {
        response.unwrap().status().as_u16()
    }

    #[test]
    fn a_redirect_is_an_answer_and_is_not_followed() {
        let elsewhere = "http://127.0.0.1:9/";
        let head = "HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
        let (url, server) = answer(head);
        let response = Client::default().agent().get(&url).call();
        assert_eq!(response.as_ref().unwrap().headers()["location"], elsewhere);
        assert_eq!(status(response), 307);
        let request = server.join().unwrap().to_ascii_lowercase();
        assert!(request.contains("\r\nuser-agent: envoi\r\n"), "{request}");
    }

    #[test]
    fn a_status_is_no_error() {
        for (head, expected) in [
            ("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", 404),
            ("HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", 503),
        ] {
            let (url, server) = answer(head);
            assert_eq!(status(Client::default().agent().get(&url).call()), expected);
            server.join().unwrap();
        }
    }

    #[test]
    fn no_client_uses_a_proxy_and_each_has_its_own_limits() {
        let seconds = |seconds: u64| Some(Duration::from_secs(seconds));
        let client = Client {
            timeout: seconds(1),
            connect_timeout: seconds(2),
            max_silence: seconds(3),
            is_one_request_a_connection: true,
            ..Client::default()
        };
        let config = client.config();
        let timeouts = config.timeouts();
        assert_eq!((timeouts.global, timeouts.connect), (seconds(1), seconds(2)));
        assert_eq!((config.timeout_per_read(), config.timeout_per_write()), (seconds(3), seconds(3)));
        assert_eq!((config.max_idle_connections(), config.max_idle_connections_per_host()), (0, 0));
        for config in [config, Client::default().config()] {
            assert!(config.proxy().is_none());
            assert_eq!((config.max_redirects(), config.http_status_as_error()), (0, false));
        }
    }
}
