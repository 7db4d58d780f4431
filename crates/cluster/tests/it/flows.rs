//! The flows of a world, as texts that the real reader accepts. Their results do not depend on the order of
//! events.

use envoi_kernel::{Flow, flow::Versions};
use std::{collections::BTreeMap, sync::Arc};

const TEXTS: [&str; 6] = [
    // Steps one after another. A person is asked about a step in doubt.
    "flow: plain\nsteps:\n  - id: plan\n    run: [work]\n  - id: build\n    run: [work]\n  - id: report\n    run: [work]\n",
    // Reruns a step in doubt automatically.
    "flow: rerun\nsteps:\n  - id: plan\n    run: [work]\n    on_in_doubt: rerun\n  - id: build\n    run: [work]\n    on_in_doubt: rerun\n",
    // Steps in parallel.
    "flow: wide\nsteps:\n  - id: plan\n    run: [work]\n    needs: []\n  - id: one\n    run: [work]\n    needs: [plan]\n    on_in_doubt: rerun\n  - id: two\n    run: [work]\n    needs: [plan]\n  - id: three\n    run: [work]\n    needs: [plan]\n    on_in_doubt: rerun\n  - id: last\n    run: [work]\n    needs: [one, two, three]\n",
    // A question of its own.
    "flow: asks\nsteps:\n  - id: plan\n    run: [work]\n  - id: sure\n    ask: Go on?\n  - id: report\n    run: [work]\n    on_in_doubt: rerun\n",
    // Retries after a wait.
    "flow: again\nsteps:\n  - id: plan\n    run: [work]\n    retry: { attempts: 3, backoff: 1s..3s }\n    on_in_doubt: rerun\n  - id: report\n    run: [work]\n",
    // Fails.
    "flow: fails\nsteps:\n  - id: plan\n    run: [work]\n  - id: build\n    run: [work]\n    on_in_doubt: rerun\n",
];

/// A flow of a world, by number.
pub(crate) fn flow(number: usize) -> (Arc<Flow>, Versions) {
    let loaded = envoi_flow::load_with("flow.yaml", TEXTS[number % TEXTS.len()], &BTreeMap::new());
    let flow = Arc::new(loaded.unwrap_or_else(|errors| panic!("{number}: {errors:?}")).flow);
    (Arc::clone(&flow), Versions::from(flow))
}
