//! An endless stream of events: if the connection breaks, it is requested again from the last received event.
//!
//! Each event is passed on once, in order, also if the connection or the server fails. An event counts as
//! received when it is complete.

use super::call::{Broken, HttpRequest, PATIENCE, Server, first_pause, longer, retry_after, whole};
use crate::process::failure::Failure;
use envoi_contract::code::Code;
use std::{
    io::{BufRead as _, BufReader, Read},
    thread,
    time::Instant,
};
use ureq::{Body, http::Response};

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) id: String,
    pub(crate) data: String,
}

/// Passes on each event until the server reports that there are no more.
///
/// # Errors
/// The server refuses, `take` fails, or the server is unreachable for too long.
pub(crate) fn follow(
    server: &Server,
    path: &str,
    mut last: Option<String>,
    mut take: impl FnMut(SseEvent) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut until = Instant::now() + PATIENCE;
    let mut pause = first_pause();
    loop {
        let mut wait = pause;
        let why = match opened(server, path, last.as_deref()) {
            Ok(response) => match response.status().as_u16() {
                204 => return Ok(()),
                200 if !is_stream(&response) => {
                    let detail = format!("{path} answers with something else than a stream of events");
                    return Err(Failure::new(Code::ServerNotUnderstood, detail).hint(
                        "does the address lead to `envoi serve`, or to a proxy or a login page before it?",
                    ));
                }
                200 => {
                    let mut events = Events::of(response.into_body().into_reader());
                    for event in events.by_ref() {
                        last = Some(event.id.clone());
                        take(event)?;
                    }
                    if events.lived {
                        (until, pause) = (Instant::now() + PATIENCE, first_pause());
                        wait = pause;
                    }
                    "its stream breaks off".to_owned()
                }
                429 | 502 | 503 | 504 => {
                    wait = retry_after(&response).unwrap_or(pause).max(pause);
                    let reply = whole(response).map_err(|broken| server.unreachable(&broken.why))?;
                    let refused = reply.failure();
                    if Instant::now() + wait > until {
                        return Err(refused);
                    }
                    refused.message
                }
                _ => {
                    let reply = whole(response).map_err(|broken| server.unreachable(&broken.why))?;
                    return Err(reply.failure());
                }
            },
            Err(broken) => broken.why,
        };
        if Instant::now() + wait > until {
            return Err(server.unreachable(&why));
        }
        thread::sleep(wait);
        pause = longer(pause);
    }
}

fn opened(server: &Server, path: &str, last: Option<&str>) -> Result<Response<Body>, Broken> {
    let headers: Vec<(&str, &str)> = last.map(|id| ("last-event-id", id)).into_iter().collect();
    server.once(HttpRequest { post: false, path, headers: &headers }, ())
}

fn is_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The events of one connection.
struct Events<R> {
    lines: BufReader<R>,
    /// Whether an event or a sign of life has arrived.
    lived: bool,
}

impl<R: Read> Events<R> {
    fn of(body: R) -> Self {
        Self { lines: BufReader::new(body), lived: false }
    }

    /// The next line without its end. `None` if there is no further complete line.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).ok()?;
        let line = line.strip_suffix('\n').filter(|_| read > 0)?;
        Some(line.strip_suffix('\r').unwrap_or(line).to_owned())
    }
}

impl<R: Read> Iterator for Events<R> {
    type Item = SseEvent;

    fn next(&mut self) -> Option<SseEvent> {
        let mut id = None;
        let mut data = None;
        loop {
            let line = self.line()?;
            self.lived = true;
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => id = Some(value.to_owned()),
                "data" => data = Some(value.to_owned()),
                // A sign of life also ends with an empty line.
                "" if line.is_empty() => {
                    if let (Some(id), Some(data)) = (id.take(), data.take()) {
                        return Some(SseEvent { id, data });
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::fake;

    #[test]
    fn a_page_is_no_stream() {
        let (server, requests) =
            fake::server(&["HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>\n\n"]);
        let failure = follow(&server, "/v1/s", None, |_| Ok(())).unwrap_err();
        assert_eq!(failure.code.known(), Some(Code::ServerNotUnderstood));
        requests.join().unwrap();
    }

    #[test]
    fn a_wait_that_no_clock_can_add_is_no_defect() {
        let (server, requests) = fake::server(&[
            "HTTP/1.1 503 Later\r\nretry-after: 18446744073709551615\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
        ]);
        assert!(follow(&server, "/v1/s", None, |_| Ok(())).is_err());
        requests.join().unwrap();
    }

    #[test]
    fn a_stream_that_breaks_off_goes_on_after_the_last_whole_event() {
        let (server, requests) = fake::server(&[
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nid: 4\ndata: a\n\nid: 5\ndata: b",
            "HTTP/1.1 503 Later\r\nretry-after: 0\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n:\n\nid: 5\ndata: b\n\n",
            "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
        ]);
        let mut events = Vec::new();
        let over = follow(&server, "/v1/runs/run_1/stream", Some("3".to_owned()), |event| {
            events.push((event.id, event.data));
            Ok(())
        });
        assert!(over.is_ok());
        assert_eq!(events, events_of(&[("4", "a"), ("5", "b")]));
        let last = |head: &String| head.split("last-event-id: ").nth(1).map(|rest| rest[..1].to_owned());
        let requests: Vec<_> = requests.join().unwrap().iter().map(last).collect();
        assert_eq!(requests, ["3", "4", "4", "5"].map(|id| Some(id.to_owned())));
    }

    fn read_all(text: &str) -> (Vec<(String, String)>, bool) {
        let mut events = Events::of(text.as_bytes());
        let all = events.by_ref().map(|event| (event.id, event.data)).collect();
        (all, events.lived)
    }

    fn events_of(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(id, data)| ((*id).to_owned(), (*data).to_owned())).collect()
    }

    #[test]
    fn an_event_counts_when_it_is_whole() {
        let whole = "id: 1\nevent: run_started\ndata: {\"a\": 1}\n\n";
        assert_eq!(read_all(whole), (events_of(&[("1", "{\"a\": 1}")]), true));
        assert_eq!(read_all(&whole[..whole.len() - 1]).0, []);
        let two = format!("{whole}:\n\nid: 2\ndata: b");
        assert_eq!(read_all(&two).0, events_of(&[("1", "{\"a\": 1}")]));
        assert_eq!(read_all(&format!("{two}\n\n")).0, events_of(&[("1", "{\"a\": 1}"), ("2", "b")]));
    }

    #[test]
    fn a_sign_of_life_is_no_event_and_counts_as_one_of_life() {
        assert_eq!(read_all(":\n\n:\n\n"), (Vec::new(), true));
        assert_eq!(read_all(""), (Vec::new(), false));
    }
}
