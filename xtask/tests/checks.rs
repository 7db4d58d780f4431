//! The scripts that check everything except Rust: a missing requirement is a failure, and nothing is skipped.

use std::{env, path::Path, process::Command};

#[test]
fn the_typescript_library_is_not_checked_without_a_browser() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A user who is not root cannot install anything.
    let path = format!("{}:{}", own.join("tests/not_root").display(), env::var("PATH").unwrap());
    let mut check = Command::new("sh");
    check.arg(own.join("../sdk/typescript/check.sh")).env("PATH", path);
    let done = check.env("CHROMIUM", "/nowhere/chromium").env("ENVOI", "/bin/sh").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("Chromium is missing"), "{done:?}");
}
