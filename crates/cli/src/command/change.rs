//! Commands that start a run or change what it does.

pub(crate) mod answer;
pub(crate) mod cancel;
pub(crate) mod correct;
pub(crate) mod fork;
pub(crate) mod raise;
pub(crate) mod resume;
pub(crate) mod run;
