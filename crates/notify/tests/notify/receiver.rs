//! A receiver of webhooks on loopback: gives a fixed answer to each request, and records the requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver as Heard, Sender},
    thread,
    time::Duration,
};

/// The answer to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// The rest of the status line, and further header lines, each with its line end.
    Says(&'static str, &'static str),
    /// No answer: the connection stays open until the receiver is dropped.
    Hangs,
    /// No answer: the connection is closed.
    HangsUp,
}

pub(crate) const OK: Answer = Answer::Says("200 OK", "");

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Request line and headers, their names in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| line.split_once(": ").map(|(name, _)| name.to_owned());
        let line = self.head.lines().find(|line| of(line).as_deref() == Some(name))?;
        line.split_once(": ").map(|(_, value)| value)
    }
}

/// A running receiver.
pub(crate) struct Receiver {
    pub(crate) url: String,
    heard: Heard<Request>,
}

impl Receiver {
    /// Answers requests with these in order, and all further ones with the last.
    pub(crate) fn new(answers: &[Answer]) -> Self {
        Self::at("127.0.0.1:0", answers)
    }

    /// Like [`Receiver::new`], at this address.
    pub(crate) fn at(address: &str, answers: &[Answer]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (tell, heard) = mpsc::channel();
        let answers = answers.to_vec();
        thread::spawn(move || serve(&listener, &answers, &tell));
        Self { url, heard }
    }

    /// The next request. Fails if none arrives.
    pub(crate) fn next(&self) -> Request {
        self.heard.recv_timeout(Duration::from_secs(60)).expect("a request")
    }

    /// Whether no further request has arrived.
    pub(crate) fn is_quiet(&self) -> bool {
        self.heard.try_recv().is_err()
    }
}

fn serve(listener: &TcpListener, answers: &[Answer], tell: &Sender<Request>) {
    let mut open = Vec::new();
    for (place, stream) in listener.incoming().enumerate() {
        let mut stream = stream.unwrap();
        let Some(request) = read(&mut stream) else { continue };
        let answer = answers.get(place).or(answers.last()).copied().unwrap();
        match answer {
            Answer::Says(status, headers) => {
                let head =
                    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n{headers}\r\n");
                stream.write_all(head.as_bytes()).unwrap_or_default();
            }
            Answer::Hangs => open.push(stream),
            Answer::HangsUp => {}
        }
        if tell.send(request).is_err() {
            return;
        }
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        let line = line.trim_end();
        head.push_str(&match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}\n", name.to_ascii_lowercase()),
            None => format!("{line}\n"),
        });
    }
    let request = Request { head, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { body: String::from_utf8(body).unwrap(), ..request })
}
