//! A full disk.

use crate::child::{Committer, PROGRAM, check};
use envoi_journal::{Layout, Store, conformance};
use std::process::Command;

#[test]
fn without_room_a_commit_is_refused_and_what_was_acknowledged_stays() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    Store::open(layout.clone()).unwrap();
    // The limit applies to a file's size, in blocks of 512 or 1024 bytes. The signal is ignored, so a write
    // past the limit just fails.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\""]).arg(PROGRAM);
    command.arg(layout.root()).args(["a", "3", "1000000000"]);
    let mut committer = Committer::spawn(command);
    assert_eq!(committer.rest().as_deref(), Some("leased"));
    let last = committer.rest().unwrap();
    assert!(last.starts_with("refused, unknown: true: "), "{last}");
    let acknowledged = committer.wait();
    assert_eq!(acknowledged.len(), 3);
    check(&layout, &acknowledged);
    let store = Store::open(layout).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let (run, length) = acknowledged.first_key_value().unwrap();
    let found = u64::try_from(store.reader().unwrap().load(run).unwrap().records.len()).unwrap();
    assert_eq!(usize::try_from(found).unwrap(), *length, "what was refused is not there");
    writer.commit(conformance::commit(run, found, [conformance::timer_set("t").unwrap()])).unwrap();
}
