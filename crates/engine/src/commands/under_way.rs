//! The requests that an engine works on, so that one which is to close finishes what it has taken.
//!
//! A request is taken or it is not: one that is taken is done to its end, and one that comes after the last look is answered that the engine
//! stops before anything of it was done. What follows from a request (the steps of a run, say) is the loop's.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// See the module. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct UnderWay {
    state: Arc<Mutex<State>>,
    /// As in the state, for a look that does not wait.
    count: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    requests: usize,
    /// No request is taken any more.
    is_shut: bool,
    /// Called when the last request is done.
    on_last: Option<Box<dyn FnOnce() + Send>>,
}

/// A request that was taken. It is under way until this is dropped.
#[must_use]
pub(crate) struct Taken(UnderWay);

impl UnderWay {
    /// Takes a request, unless the engine takes none any more.
    pub(crate) fn take(&self) -> Option<Taken> {
        let mut state = self.lock();
        if state.is_shut {
            return None;
        }
        state.requests = state.requests.saturating_add(1);
        self.count.store(state.requests, Ordering::Relaxed);
        Some(Taken(self.clone()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes no request from now on, if none is under way. Else `on_last` is called when none is, and others may come until then.
    pub(crate) fn shut(&self, on_last: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.lock();
        match state.requests {
            0 => state.is_shut = true,
            _ => state.on_last = Some(Box::new(on_last)),
        }
        state.is_shut
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.requests = state.requests.saturating_sub(1);
        self.0.count.store(state.requests, Ordering::Relaxed);
        let on_last = if state.requests == 0 { state.on_last.take() } else { None };
        drop(state);
        if let Some(on_last) = on_last {
            on_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_request_is_taken_and_waited_for_or_it_is_not_taken() {
        let under_way = UnderWay::default();
        let (tell, told) = mpsc::channel();
        let first = under_way.take().unwrap();
        let second = under_way.take().unwrap();
        let look = || {
            let tell = tell.clone();
            under_way.shut(move || tell.send(()).unwrap())
        };
        assert!(!look(), "two are under way");
        drop(first);
        assert!(told.try_recv().is_err() && under_way.count() == 1);
        let third = under_way.take();
        assert!(third.is_some(), "it waits for one, so it takes others");
        drop((second, third));
        told.try_recv().unwrap();
        assert!(look(), "none is under way");
        assert!(under_way.take().is_none() && under_way.count() == 0);
    }
}
