//! Standard error of the program, and its end, which shows why it failed.

use super::LEFT_OPEN;
use std::{
    io::{self, Read, Write as _},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
};

/// Bytes that are kept of the end of standard error. They show why a program failed.
const STDERR_BYTES: usize = 16 * 1024;

/// Standard error of the program. It is forwarded as it arrives, and its end is kept.
pub(super) struct Tail {
    end: Arc<Mutex<End>>,
    is_over: Receiver<()>,
}

impl Tail {
    pub(super) fn of(mut stderr: impl Read + Send + 'static) -> Self {
        let end = Arc::new(Mutex::new(End::default()));
        let kept = Arc::clone(&end);
        let (over, is_over) = mpsc::channel();
        let reader = thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            let mut piece = vec![0; 8 * 1024];
            loop {
                let bytes = match stderr.read(&mut piece) {
                    Ok(bytes @ 1..) => bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(_) | Err(_) => break,
                };
                let piece = piece.get(..bytes).unwrap_or_default();
                let _unread = io::stderr().write_all(piece);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
            }
            let _gone = over.send(());
        });
        // If the thread could not start, the channel is closed and nothing waits.
        drop(reader);
        Self { end, is_over }
    }

    /// The text at the end of the program. A process that it left running may hold the pipe open, so the wait is
    /// limited.
    pub(super) fn text(self) -> String {
        let _left_open = self.is_over.recv_timeout(LEFT_OPEN);
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.text()
    }
}

/// The last bytes of some output.
#[derive(Default)]
struct End {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl End {
    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        let surplus = self.bytes.len().saturating_sub(STDERR_BYTES);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    /// The complete lines. A secret in the line that was cut may have lost its beginning, and would not be masked.
    fn text(&self) -> String {
        let cut = self.is_cut.then(|| self.bytes.iter().position(|byte| *byte == b'\n'));
        let from = cut.map_or(0, |line_end| line_end.map_or(self.bytes.len(), |at| at + 1));
        String::from_utf8_lossy(self.bytes.get(from..).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_some_output_begins_with_a_whole_line() {
        let mut end = End::default();
        end.push(b"one\ntwo");
        assert_eq!(end.text(), "one\ntwo");
        end.push(&[b'x'; STDERR_BYTES - 2]);
        assert_eq!(end.text(), "", "of one long line only the end is kept");
        end.push(b"\nlast\n");
        assert_eq!(end.text(), "last\n");
    }
}
