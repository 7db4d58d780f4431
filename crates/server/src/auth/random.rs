//! Random bytes of the system, and ids made from them.

use envoi_contract::time::Timestamp;
use envoi_kernel::ids::uuid_v7_text;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// `N` random bytes.
///
/// # Errors
/// The system returns none.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    let mut filled = 0;
    // The system may return fewer bytes than requested.
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// A new id: `prefix`, then the time and random bits as a UUID of version 7.
///
/// # Errors
/// There are no random bytes.
pub(crate) fn id(prefix: &str, now: Timestamp) -> io::Result<String> {
    Ok(format!("{prefix}{}", uuid_v7_text(now, &bytes::<32>()?)))
}
