//! The requests that an engine works on, so that an engine that is to close finishes those that it has taken.
//!
//! A request is taken or it is not: a taken request is done to its end, and a later one gets the answer that the engine stops, before
//! anything of it was done. While an engine that is to close waits for those that are under way, others wait with it: as long as new ones
//! came, it would not end. The loop owns the consequences of a request (the steps of a run, say).

use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// See the module. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct UnderWay {
    state: Arc<Mutex<State>>,
    /// Notified when requests that wait may be taken, or are not taken any more.
    decided: Arc<Condvar>,
    /// As in the state, for a look that does not wait.
    count: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    requests: usize,
    /// Requests that wait until it is decided whether they are taken.
    waiting: usize,
    /// The engine closes if those that are under way cause nothing more.
    is_closing: bool,
    /// No request is taken any more.
    is_shut: bool,
    /// Called when the last request is done.
    on_last: Option<Box<dyn FnOnce() + Send>>,
}

/// A request that was taken. It is under way until this is dropped.
#[must_use]
pub(crate) struct Taken(UnderWay);

impl UnderWay {
    /// Takes a request, unless the engine takes none any more. Waits while that is not decided.
    pub(crate) fn take(&self) -> Option<Taken> {
        let mut state = self.lock();
        state.waiting = state.waiting.saturating_add(1);
        while state.is_closing && !state.is_shut {
            state = self.decided.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting = state.waiting.saturating_sub(1);
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

    /// Takes no request from now on, if none is under way. Else `on_last` is called when none is, and others wait until then.
    pub(crate) fn shut(&self, on_last: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.lock();
        state.is_closing = true;
        match state.requests {
            0 => state.is_shut = true,
            _ => state.on_last = Some(Box::new(on_last)),
        }
        self.decided.notify_all();
        state.is_shut
    }

    /// Takes requests again: one that was under way has led to work.
    pub(crate) fn open(&self) {
        let mut state = self.lock();
        if state.is_closing {
            state.is_closing = false;
            self.decided.notify_all();
        }
    }

    /// Takes no request any more, no matter what is under way: there is no loop that could do it.
    pub(crate) fn end(&self) {
        self.lock().is_shut = true;
        self.decided.notify_all();
    }

    /// How many requests wait, and whether the engine is about to close.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> (usize, bool) {
        let state = self.lock();
        (state.waiting, state.is_closing)
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
    use std::{
        sync::mpsc,
        thread::{self, JoinHandle},
    };

    /// A request that arrives while the engine waits for another one.
    fn arrives(under_way: &UnderWay) -> JoinHandle<bool> {
        let arriving = under_way.clone();
        let arrived = thread::spawn(move || arriving.take().is_some());
        while under_way.waiting().0 == 0 && !arrived.is_finished() {
            thread::yield_now();
        }
        arrived
    }

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
        let third = arrives(&under_way);
        assert_eq!(under_way.count(), 1, "it would not end as long as others come");
        drop(second);
        told.try_recv().unwrap();
        assert!(look(), "none is under way");
        assert!(!third.join().unwrap(), "the next engine does it");
        assert!(under_way.take().is_none() && under_way.count() == 0);
    }

    /// A step that was started may send a request of its own, and the engine waits for the step.
    #[test]
    fn a_request_that_waits_is_taken_if_those_under_way_led_to_work() {
        let under_way = UnderWay::default();
        let first = under_way.take().unwrap();
        assert!(!under_way.shut(|| {}));
        let second = arrives(&under_way);
        under_way.open();
        assert!(second.join().unwrap());
        drop(first);
    }

    #[test]
    fn nobody_waits_for_a_loop_that_has_ended() {
        let under_way = UnderWay::default();
        let _first = under_way.take().unwrap();
        assert!(!under_way.shut(|| {}));
        let second = arrives(&under_way);
        under_way.end();
        assert!(!second.join().unwrap());
    }
}
