//! Handles the limit of file sizes (`ulimit -f`) for this process.

use signal_hook::{consts::SIGXFSZ, flag};
use std::sync::Arc;

/// Makes a write beyond the limit fail instead of ending this process. Uses a handler, because child
/// processes would inherit "ignore".
pub(crate) fn fail_instead_of_ending() {
    // Without the handler, the limit ends the process as usual.
    flag::register(SIGXFSZ, Arc::default()).ok();
}
