//! The wish that a look at a folder is given up.

use std::{fmt, sync::Arc};

/// Says whether to give up what is under way, because an attempt was cancelled or an engine ends. Cheap to clone. It may be called often,
/// from any thread.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// Wanted as soon as `is_wanted` returns true. The default is never.
    pub fn when(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_wanted)))
    }

    /// Whether it is wanted now.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|is_wanted| is_wanted())
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stop").finish_non_exhaustive()
    }
}

/// It is no part of what an order asks for.
impl PartialEq for Stop {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Stop {}
