//! Sends requests to the server, and repeats them if that is safe.
//!
//! A request changes nothing, or the server executes it only once because of its `Idempotency-Key`. So it is
//! repeated while there is no response, and while the server is busy. The exception: a server keeps no key of
//! a resumption that found nothing to do. If the run fails before the request is repeated, the second request
//! resumes it.

use super::{
    address::Address,
    problem::{failure, not_understood},
};
use crate::process::{failure::Failure, messages};
use envoi_contract::code::Code;
use envoi_http::Client;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use ureq::{
    Agent, AsSendBody, Body, Error,
    http::{self, Response},
};

/// How long a request is repeated if the server has responded before.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The first pause between two attempts. It is doubled each time.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a connection may be silent. A stream without events sends signs of life more often.
const SILENCE: Duration = Duration::from_secs(60);
/// As [`SILENCE`], for requests that make the server process the files of a run, which takes up to 15
/// minutes.
const LONG_SILENCE: Duration = Duration::from_secs(16 * 60);
/// The timeout for connecting.
const CONNECTING: Duration = Duration::from_secs(10);
/// The most bytes of a response that is kept in memory.
const MAX_ANSWER: u64 = 256 * 1024 * 1024;

/// A server and a token. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server {
    agent: Agent,
    long_agent: Agent,
    url: Arc<str>,
    bearer: Arc<str>,
    /// Whether it has responded before. If it does not respond later, it may be restarting.
    was_there: Arc<AtomicBool>,
}

/// A complete response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The wait that the server asked for.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The failure that an unsuccessful response reports.
    pub(crate) fn failure(&self) -> Failure {
        failure(self.status, &self.body)
    }
}

/// A request.
#[derive(Clone, Copy)]
pub(crate) struct HttpRequest<'a> {
    /// Whether it has a body.
    pub(crate) post: bool,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
}

/// The error if no response came.
pub(crate) struct Broken {
    pub(crate) why: String,
}

impl Server {
    pub(crate) fn at(address: &Address) -> Result<Self, Failure> {
        if address.is_in_the_clear() {
            messages::say(&format!(
                "warning: the token goes to {} in the clear, for everybody on the way to read; use https",
                address.url
            ));
        }
        let agent = |max_silence| {
            let client = Client {
                timeout: None,
                connect_timeout: Some(CONNECTING),
                max_silence: Some(max_silence),
                roots: address.roots.as_deref(),
                is_one_request_a_connection: false,
            };
            client.agent()
        };
        let bearer = format!("Bearer {}", address.token);
        Ok(Self {
            agent: agent(SILENCE),
            long_agent: agent(LONG_SILENCE),
            url: address.url.as_str().into(),
            bearer: bearer.into(),
            was_there: Arc::default(),
        })
    }

    /// A client for requests that make the server process the files of a run.
    pub(crate) fn for_files(&self) -> Self {
        Self { agent: self.long_agent.clone(), ..self.clone() }
    }

    /// The address of the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Gets the content of a path.
    pub(crate) fn get(&self, path: &str) -> Result<Vec<u8>, Failure> {
        good(self.any_reply(path, &[])?)
    }

    /// As [`Server::get`], but accepts any status.
    pub(crate) fn any_reply(&self, path: &str, headers: &[(&str, &str)]) -> Result<Reply, Failure> {
        let request = HttpRequest { post: false, path, headers };
        self.patiently(|| self.once(request, ()).and_then(whole))
    }

    /// Sends a request that is safe to repeat, or that has a key.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Result<Reply, Failure> {
        let request = HttpRequest { post: true, path, headers };
        self.patiently(|| self.once(request, body.as_bytes()).and_then(whole))
    }

    /// Uploads a file. This is safe to repeat.
    pub(crate) fn upload(&self, path: &str, mime: &str, file: &File) -> Result<Reply, Failure> {
        let headers = [("content-type", mime)];
        let request = HttpRequest { post: true, path, headers: &headers };
        self.patiently(|| {
            io::Seek::rewind(&mut { file }).map_err(|error| broken(&Error::Io(error)))?;
            self.once(request, file).and_then(whole)
        })
    }

    /// Copies the content of a path, of any length. The request is repeated until the content starts to
    /// arrive.
    pub(crate) fn copy(&self, path: &str, target: &mut dyn io::Write) -> Result<(), Failure> {
        let mut came = None;
        let reply = self.patiently(|| {
            let response = self.once(HttpRequest { post: false, path, headers: &[] }, ())?;
            if response.status().as_u16() != 200 {
                return whole(response);
            }
            came = Some(response);
            Ok(Reply { status: 200, retry_after: None, body: Vec::new() })
        })?;
        let Some(mut response) = came else { return Err(reply.failure()) };
        let mut body = response.body_mut().as_reader();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let count = io::Read::read(&mut body, &mut piece)
                .map_err(|error| self.unreachable(&error.to_string()))?;
            if count == 0 {
                return Ok(());
            }
            let piece = piece.get(..count).unwrap_or_default();
            target.write_all(piece).map_err(|error| Failure::machine("the file", error))?;
        }
    }

    /// Sends the request once. The body of the response is not read.
    pub(crate) fn once(
        &self,
        request: HttpRequest<'_>,
        body: impl AsSendBody,
    ) -> Result<Response<Body>, Broken> {
        let method = if request.post { "POST" } else { "GET" };
        let mut sent = http::Request::builder()
            .method(method)
            .uri(format!("{}{}", self.url, request.path))
            .header("authorization", &*self.bearer);
        for (name, value) in request.headers {
            sent = sent.header(*name, *value);
        }
        let sent = sent.body(body).map_err(|error| broken(&Error::Http(error)))?;
        let response = self.agent.run(sent).map_err(|error| broken(&error))?;
        self.was_there.store(true, Ordering::Relaxed);
        Ok(response)
    }

    fn patiently(&self, mut try_once: impl FnMut() -> Result<Reply, Broken>) -> Result<Reply, Failure> {
        let until = Instant::now() + PATIENCE;
        let mut pause = PAUSE;
        loop {
            let wait = match try_once() {
                Ok(reply) if matches!(reply.status, 429 | 502 | 503 | 504) => {
                    let wait = reply.retry_after.unwrap_or(pause);
                    if Instant::now() + wait > until {
                        return Ok(reply);
                    }
                    wait
                }
                Ok(reply) => return Ok(reply),
                Err(broken) => {
                    let was_there = self.was_there.load(Ordering::Relaxed);
                    if !was_there || Instant::now() + pause > until {
                        return Err(self.unreachable(&broken.why));
                    }
                    pause
                }
            };
            thread::sleep(wait);
            pause = longer(pause);
        }
    }

    pub(crate) fn unreachable(&self, why: &str) -> Failure {
        Failure::new(Code::ServerUnreachable, format!("{} does not answer: {why}", self.url))
            .hint("is `envoi serve` running there? Runs that were started go on as soon as it does")
    }
}

/// The pause after this one.
pub(crate) fn longer(pause: Duration) -> Duration {
    pause.saturating_mul(2).min(LONGEST_PAUSE)
}

/// The first pause.
pub(crate) fn first_pause() -> Duration {
    PAUSE
}

/// Returns the body of a successful response. Any other response is a failure.
pub(crate) fn good(reply: Reply) -> Result<Vec<u8>, Failure> {
    if (200..300).contains(&reply.status) { Ok(reply.body) } else { Err(reply.failure()) }
}

/// Reads a complete response.
pub(crate) fn whole(mut response: Response<Body>) -> Result<Reply, Broken> {
    let status = response.status().as_u16();
    let retry_after = retry_after(&response);
    let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
    let body = body.map_err(|error| Broken { why: error.to_string() })?;
    Ok(Reply { status, retry_after, body })
}

/// The wait that the server asks for, at most an hour: a larger one could overflow the clock and end the
/// process.
pub(crate) fn retry_after(response: &Response<Body>) -> Option<Duration> {
    envoi_http::retry_after(response.headers()).map(|wait| wait.min(Duration::from_secs(3_600)))
}

fn broken(error: &Error) -> Broken {
    let why = match error {
        Error::Timeout(_) => "it takes too long".to_owned(),
        // The messages of both errors can quote what was sent, which can include the token.
        Error::BadUri(_) | Error::Http(_) => "the address or the token cannot be sent".to_owned(),
        other => other.to_string(),
    };
    Broken { why }
}

/// The characters to encode in a path segment: all except the unreserved characters (RFC 3986 §2.3) and the
/// colon of a digest.
const ENCODED_IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// Encodes a path segment.
pub(crate) fn segment(text: &str) -> String {
    match text {
        // A segment of one or two dots would be read as a relative path.
        "." | ".." => text.replace('.', "%2E"),
        text => utf8_percent_encode(text, ENCODED_IN_PATHS).to_string(),
    }
}

/// Parses a JSON body.
pub(crate) fn read<'b, T: serde::Deserialize<'b>>(body: &'b [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(not_understood)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::fake;

    const DONE: &str = "HTTP/1.1 201 Created\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    const BUSY: &str =
        "HTTP/1.1 503 Later\r\nretry-after: 0\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

    #[test]
    fn a_request_that_is_done_once_is_sent_again_with_its_key_until_a_reply_comes() {
        // The server first closes without a response, then is busy, then succeeds.
        let (server, requests) = fake::server(&[DONE, "", BUSY, DONE]);
        assert!(server.get("/v1/token").is_ok());
        let key = [("idempotency-key", "once")];
        let reply = server.post("/v1/runs", &key, "{\"flow\":1}");
        assert!(reply.is_ok_and(|reply| reply.status == 201));
        let requests = requests.join().unwrap();
        assert!(
            requests[1].contains("idempotency-key: once") && requests[1].ends_with("{\"flow\":1}"),
            "{requests:?}"
        );
        assert_eq!([&requests[2], &requests[3]], [&requests[1]; 2]);
    }

    #[test]
    fn work_on_files_is_waited_for_longer_than_a_server_takes_for_it() {
        let address =
            Address { url: "http://127.0.0.1:1".to_owned(), token: "evt_x".to_owned(), roots: None };
        let Ok(server) = Server::at(&address) else { panic!("a client") };
        let silence = |server: &Server| server.agent.config().timeout_per_read();
        assert_eq!(silence(&server), Some(SILENCE));
        assert!(silence(&server.for_files()) > Some(Duration::from_secs(15 * 60)));
    }

    #[test]
    fn a_server_that_was_never_there_is_not_waited_for() {
        let nowhere = envoi_testkit::HeldAddress::take().unwrap();
        let address =
            Address { url: format!("http://{}", nowhere.address()), token: "evt_x".to_owned(), roots: None };
        let Ok(server) = Server::at(&address) else { panic!("a client") };
        let mut tries = 0;
        let failure = server.patiently(|| {
            tries += 1;
            server.once(HttpRequest { post: false, path: "/v1/token", headers: &[] }, ()).and_then(whole)
        });
        assert_eq!(failure.err().map(|failure| failure.exit_code), Some(8));
        assert_eq!(tries, 1);
    }

    #[test]
    fn whatever_is_a_name_is_one_piece_of_a_path() {
        for (text, expected) in [
            ("run_01ab", "run_01ab"),
            ("0.build.2.compile.1.1", "0.build.2.compile.1.1"),
            ("sha256:ab", "sha256:ab"),
            ("a/b?c#d e", "a%2Fb%3Fc%23d%20e"),
            ("..", "%2E%2E"),
            ("\u{e9}", "%C3%A9"),
        ] {
            assert_eq!(segment(text), expected);
        }
    }
}
