//! The way from one process to the engine in another: a Unix socket, a JSON line each way at a time.
//!
//! The folder of the socket is readable by its owner alone; secrets pass through it and are never written down.

use crate::{
    commands::{handler::Commands, under_way::UnderWay},
    model::protocol::{Refused, Request, Response},
};
use envoi_contract::code::Code;
use envoi_contract::digest::Digest;
use std::{
    fs, io,
    io::{BufRead, BufReader, BufWriter, Write},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// Longest request: the text of a flow of the largest size, its inputs and the environment.
const MAX_REQUEST_BYTES: u64 = 64 * 1024 * 1024;

/// The engine's end.
pub(super) struct Listener {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    requested: mpsc::Receiver<()>,
    /// The clients that have sent a request and not received the last response.
    clients: UnderWay,
}

/// How long a stopping engine waits for clients to read its last responses. A client that does not read loses
/// them.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Listener {
    /// Listens in a folder for this store below one of `parents`. Only the holder of the lease may call this;
    /// it removes files of earlier holders.
    pub(super) fn bind(parents: &[PathBuf], commands: &Commands) -> io::Result<Self> {
        let mut found =
            Err(io::Error::new(io::ErrorKind::NotFound, "there is no folder for the engine's socket"));
        for parent in parents {
            found = own_folder(parent, commands.layout.root());
            if found.is_ok() {
                break;
            }
        }
        let folder = found?;
        for stale in fs::read_dir(&folder)? {
            fs::remove_file(stale?.path())?;
        }
        let path = folder.join(std::process::id().to_string());
        let listener = UnixListener::bind(&path)?;
        let closing = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&closing);
        let commands = commands.clone();
        let clients = UnderWay::default();
        let served_clients = clients.clone();
        let (notify_request, requested) = mpsc::sync_channel(1);
        thread::Builder::new().name("envoi-socket".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let commands = commands.clone();
                let notify_request = notify_request.clone();
                let clients = served_clients.clone();
                let served = thread::Builder::new().name("client".to_owned()).spawn(move || {
                    serve(&commands, &stream, &clients, &|| {
                        let _ = notify_request.try_send(());
                    });
                });
                drop(served);
            }
        })?;
        Ok(Self { path, closing, requested, clients })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns when the loop knows the first request, or after `longest`.
    pub(super) fn wait_for_request(&self, longest: Duration) {
        let _ = self.requested.recv_timeout(longest);
    }

    /// Closes the socket after the loop has ended. No client gets further responses.
    pub(super) fn close(self) {
        self.close_within(LAST_WORDS);
    }

    fn close_within(self, last_words: Duration) {
        let (tell, inbox) = mpsc::channel();
        if !self.clients.shut(move || {
            let _ = tell.send(());
        }) {
            let _ = inbox.recv_timeout(last_words);
            // Clients that came meanwhile learn that this engine takes no more requests.
            self.clients.end();
        }
        self.closing.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a client.
        UnixStream::connect(&self.path).ok();
        fs::remove_file(&self.path).ok();
        if let Some(folder) = self.path.parent() {
            fs::remove_dir(folder).ok();
        }
    }
}

/// The folder for the sockets of the store at `root`: created for this user alone, or checked to be so. In a
/// folder that everybody may write to, another user may have created it first.
fn own_folder(parent: &Path, root: &Path) -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let store: String = Digest::of(root.as_os_str().as_bytes()).hex().chars().take(16).collect();
    let folder = parent.join(format!("envoi-{user}-{store}"));
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let found = fs::symlink_metadata(&folder)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let message = format!("`{}` is not a folder of this user alone", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(folder)
}

fn serve(commands: &Commands, stream: &UnixStream, clients: &UnderWay, on_request: &dyn Fn()) {
    let mut line = String::new();
    let mut limited = BufReader::new(io::Read::take(stream, MAX_REQUEST_BYTES));
    if limited.read_line(&mut line).is_err() {
        return;
    }
    let request = match serde_json::from_str::<Request>(&line) {
        Ok(request) => request,
        Err(error) => return answer(stream, &not_understood(&line, &error)),
    };
    // A client that connects while the socket closes gets no service.
    let Some(_client) = clients.take() else { return };
    let (client, responses) = mpsc::channel();
    let handler = commands.clone();
    let served =
        thread::Builder::new().name("commands".to_owned()).spawn(move || handler.serve(request, &client));
    if served.is_err() {
        return;
    }
    let mut out = BufWriter::new(stream);
    for response in responses {
        // A client that only checks for an engine may send a request next.
        if !matches!(response, Response::Pong) {
            on_request();
        }
        let last = response.is_last();
        let Ok(mut line) = serde_json::to_vec(&response) else { return };
        line.push(b'\n');
        if out.write_all(&line).and_then(|()| out.flush()).is_err() || last {
            return;
        }
    }
}

fn not_understood(line: &str, error: &serde_json::Error) -> Response {
    let whole = line.ends_with('\n');
    let message = match whole {
        true => format!("the engine does not understand the request; it may be of another version: {error}"),
        false => format!("the request is over {MAX_REQUEST_BYTES} bytes"),
    };
    let hint =
        "end the engine with Ctrl-C (running steps go on) and ask again, so that this process is the engine";
    Response::Refused(Refused::new(Code::RequestNotUnderstood, message, Some(hint)))
}

fn answer(mut stream: &UnixStream, response: &Response) {
    let Ok(mut line) = serde_json::to_vec(response) else { return };
    line.push(b'\n');
    // A client that has gone away does not need it.
    let _ = stream.write_all(&line);
}

/// A command's end.
pub struct Client {
    stream: UnixStream,
}

/// The engine cannot be reached, or its response cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No engine answers at the socket.
    #[error("no engine answers at `{socket}`")]
    NoAnswer {
        /// The socket.
        socket: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The engine ended before its last response.
    #[error("the engine went away")]
    Gone,
    /// It speaks another version.
    #[error("the engine answered something that this version does not understand: {reason}")]
    Foreign {
        /// The error of the reader.
        reason: String,
    },
}

impl Client {
    /// Reaches the engine.
    ///
    /// # Errors
    /// [`ClientError::NoAnswer`].
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(socket)
            .map_err(|source| ClientError::NoAnswer { socket: socket.to_owned(), source })?;
        Ok(Self { stream })
    }

    /// Whether an engine answers there within `patience`.
    #[must_use]
    pub fn answers(socket: &Path, patience: Duration) -> bool {
        let Ok(client) = Self::connect(socket) else { return false };
        let limited = client
            .stream
            .set_read_timeout(Some(patience))
            .and(client.stream.set_write_timeout(Some(patience)));
        let mut answered = false;
        let ping = client.ask(&Request::Ping, |response| {
            answered = matches!(response, Response::Pong);
            false
        });
        limited.is_ok() && ping.is_ok() && answered
    }

    /// Sends a request, and passes each response to `receive` until the last one, or until that returns false.
    ///
    /// # Errors
    /// [`ClientError::Gone`] when the engine went away before its last word.
    pub fn ask(
        self,
        request: &Request,
        mut receive: impl FnMut(Response) -> bool,
    ) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request)
            .map_err(|error| ClientError::Foreign { reason: error.to_string() })?;
        line.push(b'\n');
        (&self.stream).write_all(&line).map_err(|_| ClientError::Gone)?;
        for line in BufReader::new(&self.stream).lines() {
            let line = line.map_err(|_| ClientError::Gone)?;
            let response: Response = serde_json::from_str(&line)
                .map_err(|error| ClientError::Foreign { reason: error.to_string() })?;
            let last = response.is_last();
            if !receive(response) || last {
                return Ok(());
            }
        }
        Err(ClientError::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(3_600);
    /// Reached only by a test that fails.
    const GIVES_UP: Duration = Duration::from_secs(120);

    fn listener(folder: &Path) -> Listener {
        fs::create_dir(folder).unwrap();
        let path = folder.join("1");
        UnixListener::bind(&path).unwrap();
        let (_, requested) = mpsc::channel();
        Listener { path, closing: Arc::default(), requested, clients: UnderWay::default() }
    }

    /// Closes the socket on its own thread, and reports when it is done.
    fn closed(listener: Listener, last_words: Duration) -> mpsc::Receiver<()> {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            listener.close_within(last_words);
            tell.send(()).unwrap();
        });
        told
    }

    #[test]
    fn a_client_that_does_not_read_keeps_no_engine_from_ending() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("socket");
        let listener = listener(&folder);
        let slow = listener.clients.take().unwrap();
        closed(listener, Duration::ZERO).recv_timeout(GIVES_UP).expect("it does not wait for the client");
        assert!(!folder.exists(), "the folder of the socket is removed");
        drop(slow);
    }

    #[test]
    fn a_client_that_came_while_the_socket_closed_does_not_wait_for_ever() {
        let place = tempfile::tempdir().unwrap();
        let listener = listener(&place.path().join("socket"));
        let clients = listener.clients.clone();
        let slow = clients.take().unwrap();
        let is_closed = closed(listener, NEVER);
        while !clients.waiting().1 {
            thread::yield_now();
        }
        let (tell, told) = mpsc::channel();
        let arriving = clients.clone();
        let late = thread::spawn(move || tell.send(arriving.take().is_some()).unwrap());
        while clients.waiting().0 == 0 && !late.is_finished() {
            thread::yield_now();
        }
        assert!(is_closed.try_recv().is_err(), "the first one reads its last words");
        drop(slow);
        is_closed.recv_timeout(GIVES_UP).unwrap();
        assert!(
            !told.recv_timeout(GIVES_UP).expect("it is told"),
            "the request is not taken; the next engine takes it"
        );
    }
}
