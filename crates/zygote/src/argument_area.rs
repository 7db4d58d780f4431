//! The command line of this process, as lists of processes show it.
//!
//! The kernel keeps where a process's command line stands in its memory, and reads it there. A copy has that of the original; without a
//! name of its own, who looks for `envoi run` in order to end it would find the supervisors of its attempts too.

#![expect(unsafe_code, reason = "the kernel reads the command line from the memory of the process")]

use std::fs;

/// Where the words that the program was started with stand in memory, each with a zero byte at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentArea {
    start: usize,
    bytes: usize,
}

/// Which fields of `/proc/self/stat` hold the first and the last address of the command line, counted from the third field, the
/// state (proc(5): `arg_start` and `arg_end` are fields 48 and 49).
const FIRST_ADDRESS: usize = 48 - 3;

impl ArgumentArea {
    /// The one of this process, if the kernel says where it is.
    pub(crate) fn of_this_process() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the name of the program in brackets, which may hold spaces and brackets.
        let after_name = stat.get(stat.rfind(')')? + 1..)?;
        let mut addresses = after_name.split_whitespace().skip(FIRST_ADDRESS).map(str::parse);
        let (start, end): (usize, usize) = (addresses.next()?.ok()?, addresses.next()?.ok()?);
        let bytes = end.checked_sub(start)?;
        (start != 0 && bytes != 0).then_some(Self { start, bytes })
    }

    /// Puts `words` there; what has no room is cut. To be called by a process that does not look at its arguments any more.
    pub(crate) fn write(self, words: &[&str]) {
        let mut text: Vec<u8> = Vec::with_capacity(self.bytes);
        for word in words {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
        // The last byte stays zero: otherwise the kernel reads on into the environment.
        text.resize(self.bytes, 0);
        if let Some(last) = text.last_mut() {
            *last = 0;
        }
        // SAFETY: The kernel has put the arguments at these addresses when the program was started, in memory that is never given back
        // and can be written. `text` is exactly as long as that area. The only other readers are `std::env::args` and the
        // C library's own copy of `argv`; this process has one thread, and does not ask for its arguments any more.
        unsafe {
            std::ptr::copy_nonoverlapping(
                text.as_ptr(),
                std::ptr::with_exposed_provenance_mut(self.start),
                text.len(),
            );
        }
    }
}
