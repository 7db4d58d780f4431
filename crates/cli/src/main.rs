//! The `envoi` command: composition root, the only reader of environment, home and terminal.
fn main() {}
