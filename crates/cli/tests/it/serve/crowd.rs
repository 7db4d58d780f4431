//! A thousand readers of one run: their cost for the server, and their events across a kill and a restart.
//!
//! They are sockets in one thread. Each sends an HTTP/1.0 request, so that a stream is everything after the
//! head.

use super::{
    client::{Served, token},
    served,
    streams::{peak_kib, rounds},
};
use crate::stage::{LONG, Stage};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{
    io::{BufRead as _, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Instant,
};

const READERS: usize = 1_000;

/// The memory of a stream (docs/server.md): a page with the event that makes it full, and the unsent part of the page
/// before; then the memory of a connection.
const STREAM_KIB: u64 = 64 + 64 + 40;
/// Whatever the number of readers is: connections to the database with their caches, and threads.
const SERVER_KIB: u64 = 64 * 1024;

/// Both ends of every stream are in need of a descriptor, each in a process of its own.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(READERS * 2).unwrap();
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).unwrap();
    }
}

/// A reader that comes back until the server reports that there is nothing more.
#[derive(Default)]
struct Reader {
    socket: Option<TcpStream>,
    /// The received part of the incomplete line.
    line: Vec<u8>,
    /// The id of the incomplete event.
    id: Option<u64>,
    seen: Vec<u64>,
    in_head: bool,
    status: String,
    done: bool,
}

impl Reader {
    fn connect(&mut self, address: &str, path: &str, token: &str) {
        let mut socket = TcpStream::connect(address).unwrap();
        let last = self.seen.last().map_or_else(String::new, |seq| format!("Last-Event-ID: {seq}\r\n"));
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{last}\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        socket.set_nonblocking(true).unwrap();
        *self = Self {
            socket: Some(socket),
            in_head: true,
            seen: std::mem::take(&mut self.seen),
            ..Self::default()
        };
    }

    /// Takes what there is, at most a piece. `false` at the end of the connection.
    fn read(&mut self, piece: &mut [u8]) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        match socket.read(piece) {
            Ok(0) => false,
            Ok(length) => {
                let mut rest = &piece[..length];
                while rest.read_until(b'\n', &mut self.line).unwrap() > 0 {
                    if self.line.last() == Some(&b'\n') {
                        let line = std::mem::take(&mut self.line);
                        self.take(line.trim_ascii_end());
                    }
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(_) => false,
        }
    }

    fn take(&mut self, line: &[u8]) {
        if self.in_head {
            if self.status.is_empty() {
                self.status = String::from_utf8(line.to_vec()).unwrap();
            }
            self.in_head = !line.is_empty();
        } else if let Some(id) = line.strip_prefix(b"id: ") {
            self.id = Some(std::str::from_utf8(id).unwrap().parse().unwrap());
        } else if line.is_empty() {
            // An event counts once it is whole.
            self.seen.extend(self.id.take());
        }
    }
}

/// Reads for the `wanted` readers, until `enough`. A reader whose connection has ended has no socket any more.
fn read_until(
    readers: &mut [Reader],
    wanted: impl Fn(&Reader) -> bool,
    mut enough: impl FnMut(&mut [Reader]) -> bool,
) {
    let (began, mut piece) = (Instant::now(), vec![0; 64 * 1024]);
    while !enough(readers) {
        assert!(began.elapsed() < LONG * 10, "still reading");
        let places: Vec<usize> = (0..readers.len())
            .filter(|&place| readers[place].socket.is_some() && wanted(&readers[place]))
            .collect();
        let sockets = places.iter().map(|&place| readers[place].socket.as_ref().unwrap());
        let mut polled: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        poll(&mut polled, Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).unwrap();
        let ready: Vec<bool> = polled.iter().map(|socket| !socket.revents().is_empty()).collect();
        drop(polled);
        for (&place, _) in places.iter().zip(&ready).filter(|(_, ready)| **ready) {
            if !readers[place].read(&mut piece) {
                readers[place].socket = None;
            }
        }
    }
}

#[test]
fn a_thousand_readers_cost_a_page_each_and_see_each_event_once_across_a_kill_and_a_restart() {
    allow_descriptors();
    let stage = Stage::new();
    stage.write(
        ".envoi/config.yaml",
        "server: { limits: { streams: 1000, connections: 1100, keep_alive: 1d, request: 10m } }\n",
    );
    let (before, admin) = served(&stage);
    let address = before.address();
    let bearer = token(&stage, &["crowd"]);
    // The run has come to its last step, which waits.
    let run = admin.run(&rounds(9, 20));
    crate::stage::wait_until("its last step", || stage.supervisor("last.1.1").is_some());
    let path = format!("/v1/runs/{run}/stream");
    let so_far = stage.events(&run).len();

    // All of them begin, and none reads on: the whole story would take more room than they may have.
    let whole_kib = u64::try_from(stage.expect(0, &["show", &run, "--events"]).out.len()).unwrap() / 1024;
    let readers_kib = u64::try_from(READERS).unwrap() * STREAM_KIB;
    let base = peak_kib(before.process.pid());
    let mut readers: Vec<Reader> = (0..READERS).map(|_| Reader::default()).collect();
    readers.iter_mut().for_each(|reader| reader.connect(&address, &path, &bearer));
    let has_begun = |reader: &Reader| !reader.seen.is_empty();
    read_until(&mut readers, |reader| !has_begun(reader), |all| all.iter().all(has_begun));
    let grown = peak_kib(before.process.pid()).saturating_sub(base);
    eprintln!("{grown} KiB for {READERS} readers of {whole_kib} KiB each");
    assert!(grown < SERVER_KIB + readers_kib, "{grown} KiB for {READERS} readers of {whole_kib} KiB each");

    // It is killed while they read, and they come back to another one.
    let half = so_far * READERS / 2;
    let seen = |all: &mut [Reader]| all.iter().map(|reader| reader.seen.len()).sum::<usize>();
    read_until(&mut readers, |_| true, |all| seen(all) >= half);
    before.process.kill();
    read_until(&mut readers, |_| true, |all| all.iter().all(|reader| reader.socket.is_none()));
    assert!(readers.iter().any(|reader| reader.seen.len() < so_far), "nobody was broken off");
    let after = Served::on(&stage, &address);
    readers.iter_mut().for_each(|reader| reader.connect(&address, &path, &bearer));
    read_until(&mut readers, |_| true, |all| all.iter().all(|reader| reader.seen.len() >= so_far));

    // Later events are committed while they wait for them.
    stage.write("go", "");
    read_until(
        &mut readers,
        |_| true,
        |all| {
            for reader in all.iter_mut().filter(|reader| reader.socket.is_none() && !reader.done) {
                match reader.status.contains(" 204 ") {
                    true => reader.done = true,
                    false => reader.connect(&address, &path, &bearer),
                }
            }
            all.iter().all(|reader| reader.done)
        },
    );
    let grown = peak_kib(after.process.pid());
    assert!(grown < SERVER_KIB + base + readers_kib, "{grown} KiB after the restart");
    let whole: Vec<u64> = (0..u64::try_from(stage.events(&run).len()).unwrap()).collect();
    assert!(whole.len() > so_far);
    for reader in readers {
        assert_eq!(reader.seen, whole);
    }
}
