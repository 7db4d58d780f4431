//! The start of a run as tests have it: nothing in it but what every run has.

use envoi_contract::json::Object;
use envoi_kernel::{
    ids::{Principal, RunId},
    input::Start,
    requester::Requester,
};

/// A start of `run` by a user of this machine; a test names only what it is about.
pub(crate) fn start(run: &RunId, language: u32) -> Start {
    Start {
        run: run.clone(),
        inputs: Object::new(),
        source: "/f.yaml".to_owned(),
        workspace: "/".to_owned(),
        shared: false,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/".to_owned(),
        language,
        by: Principal { tenant: "local".to_owned(), actor: "tester".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: Object::new(),
        requester: Requester::default(),
        part: None,
    }
}
