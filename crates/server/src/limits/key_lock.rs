//! Locks by key: requests with the same key are handled one at a time.

use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, PoisonError},
};

/// All locked keys.
#[derive(Default)]
pub(crate) struct KeyLocks {
    locked: Mutex<BTreeSet<String>>,
    freed: Condvar,
}

/// Holds one key until it is dropped.
pub(crate) struct KeyLock<'l> {
    locks: &'l KeyLocks,
    key: String,
}

impl KeyLocks {
    /// Waits until `key` is free, and locks it. Blocks the thread. Does not wait for other keys.
    pub(crate) fn lock(&self, key: &str) -> KeyLock<'_> {
        let locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.freed.wait_while(locked, |locked| locked.contains(key));
        free.unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        KeyLock { locks: self, key: key.to_owned() }
    }
}

impl Drop for KeyLock<'_> {
    fn drop(&mut self) {
        self.locks.locked.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locks.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn one_key_is_waited_for_and_no_other() {
        let locks = KeyLocks::default();
        let held: Vec<KeyLock<'_>> = (0..1_000).map(|key| locks.lock(&format!("k{key}"))).collect();
        drop(held);
        let inside = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _lock = locks.lock("k7");
                        assert!(!inside.swap(true, Ordering::SeqCst), "two with one key");
                        std::thread::yield_now();
                        inside.store(false, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(locks.locked.lock().unwrap().is_empty());
    }
}
