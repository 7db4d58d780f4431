//! Finds scripts of a flow that their own interpreter cannot parse. A missing `fi` in the last step would
//! otherwise fail a run after hours.
//!
//! The interpreter parses the script and executes nothing: a shell with its option `-n`, Python with its
//! module `ast`. A script of plain commands is not parsed, so a flow of such steps starts no process.

use envoi_flow::NamedScript;
use envoi_kernel::flow::ScriptValues;
use std::process::{Command, Stdio};

/// Shells whose option `-n` parses a script without executing it.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];

/// Parses the script that is its argument. Python gets it with `-I -c`, so it loads no file of the folder.
const PARSE: &str = "import ast, sys; ast.parse(sys.argv[1], 'script')";

/// The most characters of an interpreter's message that are shown.
const MOST_CHARS: usize = 200;

/// Returns a sentence for each script that does not parse. A program that cannot be started is ignored here,
/// because another warning names it.
pub(super) fn that_do_not_parse(flow: &envoi_kernel::Flow) -> Vec<String> {
    let sentence = |named: &NamedScript| {
        let mistake = mistake(named)?;
        Some(format!("{}: the script does not parse: {mistake}", named.place))
    };
    envoi_flow::scripts(flow).iter().filter_map(sentence).collect()
}

/// Returns the interpreter's message about the script. `None` if the script parses, or if the interpreter is
/// unknown or cannot be started.
fn mistake(named: &NamedScript) -> Option<String> {
    let program = named.interpreter.first()?;
    let name = program.rsplit('/').next()?;
    let mut command = Command::new(program);
    match named.values {
        ScriptValues::Shell if SHELLS.contains(&name) => command.args(["-n", "-c"]),
        ScriptValues::Python if name.starts_with("python") => command.args(["-I", "-c", PARSE]),
        ScriptValues::Shell | ScriptValues::Python => return None,
    };
    // Without the environment, no variable can make the shell load a file when it starts.
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("LC_ALL", "C").env("PYTHONIOENCODING", "utf-8");
    let output = command.arg(&named.script).stdin(Stdio::null()).stdout(Stdio::null()).output().ok()?;
    if output.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let line = match named.values {
        // `bash: -c: line 3: syntax error: unexpected end of file`; the line after it only repeats the script.
        ScriptValues::Shell => lines.next(),
        // The last line of a traceback: `SyntaxError: '(' was never closed`.
        ScriptValues::Python => lines.next_back(),
    };
    line.map(|line| line.trim().chars().filter(|letter| !letter.is_control()).take(MOST_CHARS).collect())
}
