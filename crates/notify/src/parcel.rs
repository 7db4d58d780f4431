//! A parcel: one POST of anything to an address that somebody else has named, and what the answer means.
//!
//! Names are looked up once a post; every address that the answer has is looked at, and one of these, no other, is connected
//! to. A name whose answer changes afterwards leads nowhere else by it. What is sent is the caller's.

use crate::{
    Outcome, Place, Reach,
    client::{config, failure, retry_after},
};
use std::{error, fmt, time::Duration};
use ureq::{
    Agent, Error,
    config::Config,
    http::{HeaderMap, HeaderValue, StatusCode},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

/// See the module.
#[derive(Clone)]
pub struct Parcel {
    /// For `Content-Type`.
    pub media_type: &'static str,
    /// By which a receiver knows a parcel that it has had already; sent as `Idempotency-Key`.
    pub id: String,
    /// All of `Authorization`.
    pub authorization: Option<String>,
    /// Another header by which the receiver knows the sender: its name, in lower case, and its value.
    pub token: Option<(&'static str, String)>,
    /// What is posted.
    pub body: Vec<u8>,
    /// Longest duration of a try, from the look-up of the name to the head of the answer.
    pub timeout: Duration,
}

/// Without what only the receiver may know.
impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel")
            .field("id", &self.id)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Parcel {
    /// Posts it once, if `reach` allows it now.
    #[must_use]
    pub fn post(&self, url: &str, reach: &Reach) -> Outcome {
        match reach.place(url) {
            Ok(place) => self.post_to(&place, reach, DefaultResolver::default()),
            Err(error) => Outcome::failed(error),
        }
    }

    fn post_to(&self, place: &Place, reach: &Reach, names: impl Resolver) -> Outcome {
        let reach = if place.named { None } else { Some(reach.clone()) };
        let connector = DefaultConnector::default();
        let agent = Agent::with_parts(config(self.timeout), connector, Looking { names, reach });
        let mut request = agent
            .post(place.uri.clone())
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
            Err(Error::Other(error)) if error.is::<Barred>() => Outcome::failed(error.to_string()),
            Err(error) => failure(&error, self.timeout),
        }
    }
}

/// Only one that is gone says for good that it wants nothing.
fn judge(status: StatusCode, headers: &HeaderMap) -> Outcome {
    let told = format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..=299 => Outcome::Delivered,
        300..=399 => Outcome::failed(format!("{told}: redirects are not followed, name the place itself")),
        410 => Outcome::Refused { error: format!("{told}: it is gone") },
        _ => Outcome::Failed { error: told, wait: retry_after(headers) },
    }
}

/// Looks names up, and looks at what is found. The client connects to what a resolver gives it, and to nothing else.
#[derive(Debug)]
struct Looking<R> {
    names: R,
    /// `None` for a host that may be anywhere.
    reach: Option<Reach>,
}

impl<R: Resolver> Resolver for Looking<R> {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        let Some(reach) = &self.reach else { return Ok(found) };
        // One that is inside among others is no accident.
        let barred = found.iter().find_map(|address| reach.may(address.ip()).err());
        match barred {
            Some(why) => Err(Error::Other(Box::new(Barred(why)))),
            None => Ok(found),
        }
    }
}

/// Where a name leads, nobody may be led.
#[derive(Debug)]
struct Barred(String);

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Barred {}

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

    /// Longer than anything on loopback takes.
    const AMPLE: Duration = Duration::from_secs(60);

    fn parcel() -> Parcel {
        Parcel {
            media_type: "application/json",
            id: "one".to_owned(),
            authorization: None,
            token: None,
            body: b"{}".to_vec(),
            timeout: AMPLE,
        }
    }

    /// Gives these answers one after the other, and counts how often it was asked.
    #[derive(Debug, Clone)]
    struct Names {
        answers: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
        asked: Arc<AtomicUsize>,
    }

    impl Names {
        fn new(answers: &[&[SocketAddr]]) -> Self {
            let answers = answers.iter().rev().map(|answer| answer.to_vec()).collect();
            Self { answers: Arc::new(Mutex::new(answers)), asked: Arc::default() }
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    impl Resolver for Names {
        fn resolve(
            &self,
            _: &ureq::http::Uri,
            _: &Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, Error> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let mut found = self.empty();
            self.answers.lock().unwrap().pop().unwrap().into_iter().for_each(|address| found.push(address));
            Ok(found)
        }
    }

    /// Says 204 to everybody, and tells whom it has heard.
    fn receiver(address: &str) -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, heard) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut head) = (stream.unwrap(), [0; 4096]);
                let read = stream.read(&mut head).unwrap();
                tell.send(String::from_utf8_lossy(&head[..read]).into_owned()).unwrap_or_default();
                stream.write_all(b"HTTP/1.1 204 Done\r\nconnection: close\r\n\r\n").unwrap_or_default();
            }
        });
        (address, heard)
    }

    /// An address of a name that is not allowed by name, as if it needed no TLS.
    fn place(port: u16) -> Place {
        let named = Reach::new(&["hooks.example".to_owned()], Vec::new());
        Place { named: false, ..named.place(&format!("http://hooks.example:{port}/")).unwrap() }
    }

    #[test]
    fn what_was_looked_at_is_connected_to_though_the_answer_changes() {
        let (good, heard) = receiver("127.0.0.1:0");
        let (bad, nothing) = receiver(&format!("127.0.0.2:{}", good.port()));
        let reach = Reach::new(&[], vec![("127.0.0.1".parse().unwrap(), 32)]);
        let names = Names::new(&[&[good], &[bad], &[bad]]);
        assert_eq!(parcel().post_to(&place(good.port()), &reach, names.clone()), Outcome::Delivered);
        assert!(heard.recv_timeout(AMPLE).unwrap().contains("host: hooks.example"));
        assert_eq!(names.asked(), 1, "once a post");
        let second = parcel().post_to(&place(good.port()), &reach, names.clone());
        assert_eq!(second, Outcome::failed("the address 127.0.0.2 is of this machine"));
        assert!(nothing.try_recv().is_err());
    }

    #[test]
    fn one_address_inside_bars_the_others() {
        let (good, heard) = receiver("127.0.0.1:0");
        let reach = Reach::new(&[], vec![("127.0.0.1".parse().unwrap(), 32)]);
        let metadata: SocketAddr = "169.254.169.254:80".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:80".parse().unwrap();
        for inside in [metadata, mapped] {
            let outcome = parcel().post_to(&place(good.port()), &reach, Names::new(&[&[good, inside]]));
            assert!(matches!(&outcome, Outcome::Failed { error, .. } if error.starts_with("the address")));
        }
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn a_host_that_is_allowed_by_name_may_be_anywhere() {
        let (good, heard) = receiver("127.0.0.1:0");
        let place = Place { named: true, ..place(good.port()) };
        let outcome = parcel().post_to(&place, &Reach::default(), Names::new(&[&[good]]));
        assert_eq!(outcome, Outcome::Delivered);
        heard.recv_timeout(AMPLE).unwrap();
    }
}
