//! The one loop: read, decide, commit, reconcile.
