//! A POST to an address that a client has named, and the meaning of the answer.
//!
//! The name of the host is resolved once for each POST. Every resulting address is checked, and the
//! connection goes to one of these. If the name resolves to another address afterwards, that changes nothing.
//! The caller decides what is sent.

use crate::{
    EgressPolicy, NotAllowed, Outcome, Target,
    client::{config, failure},
};
use envoi_http::retry_after;
use std::{fmt, time::Duration};
use ureq::{
    Agent, Error,
    config::Config,
    http::{HeaderMap, HeaderValue, StatusCode},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

/// The content of a POST, and the sender's identification.
#[derive(Clone)]
pub struct HttpPost {
    /// The header `Content-Type`.
    pub media_type: &'static str,
    /// Sent as `Idempotency-Key`. The receiver recognizes a repeated POST by it.
    pub id: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// Another header that identifies the sender: its name in lower case, and its value.
    pub token: Option<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Time limit of a try, from the look-up of the name to the head of the answer.
    pub timeout: Duration,
}

/// Shows nothing that only the receiver may know.
impl fmt::Debug for HttpPost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpPost")
            .field("id", &self.id)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl HttpPost {
    /// Sends the POST once, if the policy allows the address.
    #[must_use]
    pub fn post(&self, url: &str, policy: &EgressPolicy) -> Outcome {
        match policy.check_url(url) {
            Ok(target) => self.post_to(&target, policy, DefaultResolver::default()),
            Err(error) => Outcome::failed(error.to_string()),
        }
    }

    fn post_to(&self, target: &Target, policy: &EgressPolicy, names: impl Resolver) -> Outcome {
        let policy = if target.is_allowed_by_name { None } else { Some(policy.clone()) };
        let connector = DefaultConnector::default();
        let agent = Agent::with_parts(config(self.timeout), connector, CheckedResolver { names, policy });
        let mut request = agent
            .post(target.uri.clone())
            .header("content-type", self.media_type)
            .header("idempotency-key", &self.id);
        let authorization = self.authorization.as_ref().map(|value| ("authorization", value));
        let token = self.token.as_ref().map(|(name, value)| (*name, value));
        for (name, value) in authorization.into_iter().chain(token) {
            let Ok(mut value) = HeaderValue::from_bytes(value.as_bytes()) else {
                return Outcome::failed("the token or the credentials cannot be sent in a header");
            };
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        match request.send(self.body.as_slice()) {
            Ok(response) => judge(response.status(), response.headers()),
            Err(Error::Other(error)) if error.is::<NotAllowed>() => Outcome::failed(error.to_string()),
            Err(error) => failure(&error, self.timeout),
        }
    }
}

/// Only 410 is final: any other receiver may accept the same POST later.
fn judge(status: StatusCode, headers: &HeaderMap) -> Outcome {
    let answered = format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..=299 => Outcome::Delivered,
        300..=399 => {
            Outcome::failed(format!("{answered}: redirects are not followed; give the final address"))
        }
        410 => Outcome::Refused { error: format!("{answered}: it is gone") },
        _ => Outcome::Failed { error: answered, wait: retry_after(headers) },
    }
}

/// Resolves names, and checks the addresses. The HTTP client connects only to addresses that its resolver returns.
#[derive(Debug)]
struct CheckedResolver<R> {
    names: R,
    /// `None` for a host that is allowed by name.
    policy: Option<EgressPolicy>,
}

impl<R: Resolver> Resolver for CheckedResolver<R> {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        let Some(policy) = &self.policy else { return Ok(found) };
        // A name that has a forbidden address among others is likely an attack, so it is refused as a whole.
        let refused = found.iter().find_map(|address| policy.check_address(address.ip()).err());
        match refused {
            Some(reason) => Err(Error::Other(Box::new(reason))),
            None => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read as _, Write as _},
        net::{SocketAddr, TcpListener},
        sync::{
            Arc, Mutex,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        thread,
    };

    /// Longer than any operation on loopback takes.
    const AMPLE: Duration = Duration::from_secs(60);

    fn http_post() -> HttpPost {
        HttpPost {
            media_type: "application/json",
            id: "one".to_owned(),
            authorization: None,
            token: None,
            body: b"{}".to_vec(),
            timeout: AMPLE,
        }
    }

    /// Returns these results one after the other, and counts the look-ups.
    #[derive(Debug, Clone)]
    struct Names {
        answers: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
        lookups: Arc<AtomicUsize>,
    }

    impl Names {
        fn new(answers: &[&[SocketAddr]]) -> Self {
            let answers = answers.iter().rev().map(|answer| answer.to_vec()).collect();
            Self { answers: Arc::new(Mutex::new(answers)), lookups: Arc::default() }
        }

        fn lookups(&self) -> usize {
            self.lookups.load(Ordering::Relaxed)
        }
    }

    impl Resolver for Names {
        fn resolve(
            &self,
            _: &ureq::http::Uri,
            _: &Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, Error> {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            let mut found = self.empty();
            self.answers.lock().unwrap().pop().unwrap().into_iter().for_each(|address| found.push(address));
            Ok(found)
        }
    }

    /// Answers every request with 204, and passes on the requests.
    fn receiver(address: &str) -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap();
                let _ = sender.send(String::from_utf8_lossy(&head[..read]).into_owned());
                let _ = stream.write_all(b"HTTP/1.1 204 Done\r\nconnection: close\r\n\r\n");
            }
        });
        (address, requests)
    }

    /// The target of a host that is not allowed by name, as if it needed no TLS.
    fn target(port: u16) -> Target {
        let named = EgressPolicy::new(&["hooks.example".to_owned()], Vec::new());
        Target {
            is_allowed_by_name: false,
            ..named.check_url(&format!("http://hooks.example:{port}/")).unwrap()
        }
    }

    #[test]
    fn the_address_that_was_checked_is_connected_to_though_the_name_changes() {
        let (good, requests) = receiver("127.0.0.1:0");
        let (bad, nothing) = receiver(&format!("127.0.0.2:{}", good.port()));
        let policy = EgressPolicy::new(&[], vec![("127.0.0.1".parse().unwrap(), 32)]);
        let names = Names::new(&[&[good], &[bad], &[bad]]);
        assert_eq!(http_post().post_to(&target(good.port()), &policy, names.clone()), Outcome::Delivered);
        assert!(requests.recv_timeout(AMPLE).unwrap().contains("host: hooks.example"));
        assert_eq!(names.lookups(), 1, "once a post");
        let second = http_post().post_to(&target(good.port()), &policy, names.clone());
        assert_eq!(second, Outcome::failed("the address 127.0.0.2 is of this machine"));
        assert!(nothing.try_recv().is_err());
    }

    #[test]
    fn one_address_that_is_not_allowed_refuses_the_others() {
        let (good, requests) = receiver("127.0.0.1:0");
        let policy = EgressPolicy::new(&[], vec![("127.0.0.1".parse().unwrap(), 32)]);
        let metadata: SocketAddr = "169.254.169.254:80".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:80".parse().unwrap();
        for inside in [metadata, mapped] {
            let outcome = http_post().post_to(&target(good.port()), &policy, Names::new(&[&[good, inside]]));
            assert!(matches!(&outcome, Outcome::Failed { error, .. } if error.starts_with("the address")));
        }
        assert!(requests.try_recv().is_err());
    }

    #[test]
    fn a_host_that_is_allowed_by_name_may_have_any_address() {
        let (good, requests) = receiver("127.0.0.1:0");
        let target = Target { is_allowed_by_name: true, ..target(good.port()) };
        let outcome = http_post().post_to(&target, &EgressPolicy::default(), Names::new(&[&[good]]));
        assert_eq!(outcome, Outcome::Delivered);
        requests.recv_timeout(AMPLE).unwrap();
    }
}
