//! The command line of this process, as process lists show it.
//!
//! The kernel records where the command line is in the process's memory, and reads it there. A copy of a
//! process has the command line of the original. Without a name of its own, the supervisors of a run's
//! attempts would also be found by a person who searches for `envoi run` to end it.

#![expect(unsafe_code, reason = "the kernel reads the command line from the memory of the process")]

use std::fs;

/// The memory area with the words that the program was started with, each with a zero byte at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentArea {
    start: usize,
    bytes: usize,
}

/// Index of the field in `/proc/self/stat` with the first address of the command line, counted from the third
/// field, the state. The last address is in the next field (proc(5): `arg_start` and `arg_end` are fields 48
/// and 49).
const FIRST_ADDRESS: usize = 48 - 3;

impl ArgumentArea {
    /// The area of this process, if the kernel reports it.
    pub(crate) fn of_this_process() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the program's name in brackets, which may itself contain spaces and brackets.
        let after_name = stat.get(stat.rfind(')')? + 1..)?;
        let mut addresses = after_name.split_whitespace().skip(FIRST_ADDRESS).map(str::parse);
        let (start, end): (usize, usize) = (addresses.next()?.ok()?, addresses.next()?.ok()?);
        let bytes = end.checked_sub(start)?;
        (start != 0 && bytes != 0).then_some(Self { start, bytes })
    }

    /// Writes `words` there, cut to the size of the area. Call it only in a process that no longer reads its
    /// arguments.
    pub(crate) fn write(self, words: &[&str]) {
        let mut text: Vec<u8> = Vec::with_capacity(self.bytes);
        for word in words {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
        // The last byte must stay zero: otherwise the kernel reads on into the environment.
        text.resize(self.bytes, 0);
        if let Some(last) = text.last_mut() {
            *last = 0;
        }
        // SAFETY: The kernel put the arguments at these addresses when the program was started, in memory
        // that is writable and never freed. `text` is exactly as long as that area. The only other readers
        // are `std::env::args` and the C library's own copy of `argv`; this process has one thread, and no
        // longer reads its arguments.
        unsafe {
            std::ptr::copy_nonoverlapping(
                text.as_ptr(),
                std::ptr::with_exposed_provenance_mut(self.start),
                text.len(),
            );
        }
    }
}
