//! What a limit of file sizes (`ulimit -f`) does to this process.

use signal_hook::{consts::SIGXFSZ, flag};
use std::sync::Arc;

/// Has a write beyond the limit fail: it would end this process. A handler, because "ignore" would be inherited by what this process starts.
pub(crate) fn fail_instead_of_ending() {
    // Without the handler, the limit does what it does.
    flag::register(SIGXFSZ, Arc::default()).ok();
}
