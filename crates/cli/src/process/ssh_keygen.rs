//! Makes and verifies signatures with `ssh-keygen -Y` and the SSH keys that people already have.

use crate::{process::failure::Failure, text::diff::printable};
use envoi_contract::code::Code;
use std::{
    io::{self, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
};
use tempfile::NamedTempFile;

const PROGRAM: &str = "ssh-keygen";

/// Signs `bytes` for this namespace. The key file has the private key, or the public key of a private key in
/// an SSH agent.
///
/// # Errors
/// The program is missing, or it failed with a message.
pub(crate) fn sign(key: &Path, namespace: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "sign", "-q", "-n", namespace, "-f"]).arg(key);
    let done = run(&mut command, bytes);
    let done = done.map_err(|error| io::Error::new(error.kind(), format!("{PROGRAM}: {error}")))?;
    if done.status.success() { Ok(done.stdout) } else { Err(io::Error::other(last_words(&done))) }
}

/// The result of verifying a signature.
pub(crate) enum Signer {
    /// An allowed signer made it. The name is that in the file of allowed signers.
    Known(String),
    /// No allowed signer made it, or it is for other bytes. The text is the message of `ssh-keygen`.
    Unknown(String),
}

/// Returns which signer in the file `allowed` made the signature.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn signer(
    allowed: &Path,
    namespace: &str,
    signature: &[u8],
    bytes: &[u8],
) -> Result<Signer, Failure> {
    let machine = |error| Failure::machine(PROGRAM, error);
    let mut file = NamedTempFile::with_prefix("envoi-signature-").map_err(machine)?;
    file.write_all(signature).map_err(machine)?;
    let not_there = |error| {
        Failure::new(Code::SigningFailed, format!("{PROGRAM}: {error}")).hint("install OpenSSH 8.2 or newer")
    };
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "find-principals", "-f"]).arg(allowed).arg("-s").arg(file.path());
    let found = run(&mut command, &[]).map_err(not_there)?;
    let names = String::from_utf8_lossy(&found.stdout).into_owned();
    let Some(name) = names.lines().next().filter(|_| found.status.success()) else {
        return Ok(Signer::Unknown(last_words(&found)));
    };
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "verify", "-n", namespace, "-I", name, "-f"]).arg(allowed).arg("-s").arg(file.path());
    let done = run(&mut command, bytes).map_err(not_there)?;
    Ok(if done.status.success() {
        Signer::Known(printable(name))
    } else {
        Signer::Unknown(last_words(&done))
    })
}

/// Runs the program and waits for its end. It asks for the passphrase of a key at the terminal.
fn run(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.env("LC_ALL", "C").spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it ends early, its stderr has the reason.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}

fn last_words(done: &Output) -> String {
    let text = String::from_utf8_lossy(if done.stderr.is_empty() { &done.stdout } else { &done.stderr });
    printable(text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason"))
}
