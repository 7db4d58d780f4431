//! Reads a shell script, with just enough accuracy for warnings.
//!
//! Finds the words of a script outside of quotes, comments and here-documents. It expands nothing and has no grammar.
//! If it is not sure, it reports nothing.

use crate::check::quotes::{Quotes, State};
use envoi_kernel::expression::{Segment, segments};

/// A command: its words as written, without quoted parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
}

impl Command {
    fn begins_with(&self, words: &[&str]) -> bool {
        self.words.len() >= words.len() && self.words.iter().zip(words).all(|(word, known)| word == known)
    }
}

/// Words after which a command begins.
const BEFORE_A_COMMAND: [&str; 8] = ["then", "else", "elif", "do", "if", "while", "until", "!"];

/// Commands of bash that `sh` does not have.
const OF_BASH: [&str; 12] = [
    "source",
    "declare",
    "typeset",
    "pushd",
    "popd",
    "shopt",
    "mapfile",
    "readarray",
    "function",
    "let",
    "select",
    "[[",
];

/// Built-in commands of a shell.
const BUILT_IN: [&str; 44] = [
    ".", ":", "[", "alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval", "exec",
    "exit", "export", "false", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "test", "time", "times", "trap", "true", "type", "ulimit", "umask",
    "unalias", "unset", "until", "wait", "while", "{",
];

/// Programs that do not write step data by themselves: neither to `$ENVOI_DATA` nor as a report.
const PLAIN_PROGRAMS: [&str; 26] = [
    "awk", "basename", "cat", "cp", "cut", "date", "dirname", "find", "git", "grep", "head", "jq", "ls",
    "mkdir", "mktemp", "mv", "rm", "sed", "seq", "sleep", "sort", "tail", "tee", "tr", "uniq", "wc",
];

/// A shell script without the content of quotes.
pub(super) struct Script {
    /// The text outside of quotes.
    open: String,
    /// The text in which the shell expands variables, including double quotes.
    expanded: String,
}

impl Script {
    pub(super) fn new(template: &str) -> Self {
        // An expression counts as a reference to a variable, whatever its value is.
        let text: String = segments(template)
            .into_iter()
            .map(|segment| match segment {
                Segment::Text(text) => text,
                Segment::Expression(_) | Segment::Unclosed(_) => "$V",
            })
            .collect();
        let mut open = String::new();
        let mut expanded = String::new();
        let mut quotes = Quotes::default();
        for line in without_documents(&text) {
            for letter in line.chars().chain(['\n']) {
                let before = quotes.state;
                let was_escaped = quotes.escaped;
                quotes.read(letter);
                if was_escaped && letter == '\n' && before == State::Open {
                    // The command continues on the next line.
                    open.pop();
                    open.push(' ');
                    continue;
                }
                let ends_a_line = letter == '\n' && matches!(before, State::Open | State::Comment);
                let is_code = before == State::Open && quotes.state == State::Open && !was_escaped;
                open.push(if is_code || ends_a_line { letter } else { QUOTED });
                let expands = matches!(before, State::Open | State::Double) && !was_escaped;
                expanded.push(if expands && quotes.state != State::Comment { letter } else { QUOTED });
            }
        }
        Self { open, expanded }
    }

    fn commands(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        for part in self.open.split(['\n', ';', '|', '&', '(', ')']) {
            let mut words = Vec::new();
            for word in part.split_whitespace() {
                if BEFORE_A_COMMAND.contains(&word) {
                    commands.push(Command { words: core::mem::take(&mut words) });
                } else {
                    words.push(word.to_owned());
                }
            }
            commands.push(Command { words });
        }
        commands.retain(|command| !command.words.is_empty());
        commands
    }

    /// The words of the first command, if it always runs. Empty if it is inside a condition.
    pub(super) fn first_command(&self) -> Vec<String> {
        let is_whole = |command: &Command| {
            self.open.trim_start().starts_with(command.words.first().map_or("", String::as_str))
        };
        self.commands().into_iter().next().filter(is_whole).map(|command| command.words).unwrap_or_default()
    }

    /// True if there are at least two commands, so that it matters which one determines the result.
    pub(super) fn has_several_commands(&self) -> bool {
        self.commands().len() > 1
    }

    /// True if the script itself sets the option to stop at a failed command.
    pub(super) fn stops_by_itself(&self) -> bool {
        let sets = |command: &Command| {
            command.begins_with(&["set", "-o", "errexit"])
                || command.begins_with(&["set"])
                    && command.words.get(1).is_some_and(|word| word.starts_with('-') && word.contains('e'))
        };
        self.commands().iter().any(sets)
    }

    /// True if the script has an `exit`.
    pub(super) fn names_an_exit_code(&self) -> bool {
        self.commands().iter().any(|command| command.begins_with(&["exit"]))
    }

    /// True if the script continues after failed commands: at least two commands follow a `set +e`.
    pub(super) fn goes_on_after_failures(&self) -> bool {
        let commands = self.commands();
        let off = |command: &Command| {
            command.begins_with(&["set", "+e"]) || command.begins_with(&["set", "+o", "errexit"])
        };
        let on = |command: &Command| {
            command.begins_with(&["set", "-e"]) || command.begins_with(&["set", "-o", "errexit"])
        };
        let Some(at) = commands.iter().position(off) else { return false };
        commands.iter().skip(at.saturating_add(1)).take_while(|command| !on(command)).count() > 1
    }

    /// The first piece of syntax that bash supports and `sh` does not.
    pub(super) fn bash_syntax(&self) -> Option<String> {
        let signs = ["<<<", "<(", ">(", "&>", "|&"];
        let sign = signs.into_iter().find(|sign| self.open.contains(sign)).map(str::to_owned);
        sign.or_else(|| self.commands().iter().find_map(of_bash))
            .or_else(|| double_bracket(&self.open).then(|| "((".to_owned()))
            .or_else(|| array(&self.open).then(|| "NAME=(…)".to_owned()))
            .or_else(|| expansion(&self.expanded))
    }

    /// True if all commands are known to write no step data by themselves.
    pub(super) fn is_all_plain(&self) -> bool {
        let plain = |word: &&String| {
            let is_known = |known: &[&str]| known.contains(&word.as_str());
            is_known(&PLAIN_PROGRAMS)
                || is_known(&BUILT_IN) && !matches!(word.as_str(), "." | "eval" | "exec" | "command")
        };
        self.commands().iter().all(|command| command.words.first().is_some_and(|word| plain(&word)))
    }

    /// The program of a script that is one plain command.
    pub(super) fn program(&self) -> Option<String> {
        let line = self.open.trim_end_matches('\n');
        let commands = self.commands();
        let [command] = commands.as_slice() else { return None };
        let name = command.words.first()?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.+-".contains(letter);
        let is_one = !line.contains(['\n', ';', '|', '&', '(', ')', '`', '<', '>']);
        let known = is_one && name.chars().all(plain) && !BUILT_IN.contains(&name.as_str());
        known.then(|| name.clone())
    }
}

/// Replaces a quoted character.
const QUOTED: char = '\u{1}';

/// The lines of a script that are code, without the content of here-documents.
fn without_documents(text: &str) -> Vec<&str> {
    let mut end: Option<String> = None;
    let mut kept = Vec::new();
    for line in text.lines() {
        if let Some(word) = &end {
            if line.trim_start_matches('\t') == word.as_str() {
                end = None;
            }
            continue;
        }
        kept.push(line);
        let Some((_, after)) = line.split_once("<<").filter(|(_, after)| !after.starts_with('<')) else {
            continue;
        };
        let word = after.trim_start_matches('-').trim_start();
        let word: String = word
            .chars()
            .filter(|letter| !matches!(letter, '\'' | '"' | '\\'))
            .take_while(|letter| is_name(*letter))
            .collect();
        end = Some(word).filter(|word| !word.is_empty());
    }
    kept
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn of_bash(command: &Command) -> Option<String> {
    let first = command.words.first()?;
    if OF_BASH.contains(&first.as_str()) {
        return Some(first.clone());
    }
    if command.begins_with(&["set"]) && command.words.iter().any(|word| word == "pipefail") {
        return Some("set -o pipefail".to_owned());
    }
    (first == "[" && command.words.iter().any(|word| word == "==")).then(|| "[ … == … ]".to_owned())
}

/// True for `((` that begins an arithmetic command. Every shell supports `$((`.
fn double_bracket(open: &str) -> bool {
    open.match_indices("((").any(|(at, _)| {
        let before = open.get(..at).unwrap_or_default().trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', ';', '&', '|'])
    })
}

fn array(open: &str) -> bool {
    open.match_indices("=(").any(|(at, _)| {
        let before = open.get(..at).unwrap_or_default();
        before.strip_suffix('+').unwrap_or(before).ends_with(is_name)
    })
}

/// Finds `$'…'`, `${NAME^^}`, `${NAME//a/b}`, `${NAME:1:2}`, `${NAME[0]}` or `${!NAME}`.
fn expansion(expanded: &str) -> Option<String> {
    if expanded.contains("$'") {
        return Some("$'…'".to_owned());
    }
    expanded.match_indices("${").find_map(|(at, _)| {
        let inside = expanded.get(at.saturating_add(2)..)?;
        if inside.starts_with('!') {
            return Some("${!NAME}".to_owned());
        }
        let after = inside.trim_start_matches(is_name);
        let of_bash = after.starts_with(['^', ',', '/', '['])
            || after
                .strip_prefix(':')
                .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
        let piece: String =
            inside.chars().take_while(|letter| *letter != '}' && *letter != '\n').take(40).collect();
        (of_bash && after.len() < inside.len()).then(|| format!("${{{piece}}}"))
    })
}

#[cfg(test)]
mod tests {
    use super::Script;

    #[test]
    fn syntax_of_bash_is_found_outside_quotes_comments_and_documents() {
        for (script, found) in [
            ("[[ -f x ]] && echo y", Some("[[")),
            ("if [[ -f x ]]; then echo y; fi", Some("[[")),
            ("cat <<< word", Some("<<<")),
            ("diff <(a) <(b)", Some("<(")),
            ("make &> log", Some("&>")),
            ("source ./env", Some("source")),
            ("a; function f { b; }", Some("function")),
            ("set -euo pipefail\nmake", Some("set -o pipefail")),
            ("if [ \"$a\" == b ]; then c; fi", Some("[ … == … ]")),
            ("(( n++ ))", Some("((")),
            ("files=(a b)", Some("NAME=(…)")),
            ("echo \"${name^^}\"", Some("${name^^}")),
            ("echo ${name//a/b}", Some("${name//a/b}")),
            ("echo ${name:1:2} ${list[0]}", Some("${name:1:2}")),
            ("echo ${!name}", Some("${!NAME}")),
            ("printf $'a\\n'", Some("$'…'")),
            ("echo '[[ ]]' \"[[ ]]\" # [[ ]]", None),
            ("cat <<END\n[[ ${x^^} ]]\nEND\necho \"${name:-[[}\" ${name%/*} ${name#a}", None),
            ("echo $((1 + 2)) $(date) ${name:-a} \"$(a)\"", None),
            ("awk '{ print $1 == 2 }' < in > out 2>&1 && [ a = b ]", None),
            ("echo ${{ steps['a'].data[0] }}", None),
        ] {
            assert_eq!(Script::new(script).bash_syntax().as_deref(), found, "{script}");
        }
    }

    #[test]
    fn a_script_that_goes_on_after_failures_is_found() {
        for (script, goes_on) in [
            ("set +e; a; b", true),
            ("set +e\na\nset -e\nb", false),
            ("set +e\na", false),
            ("a; b", false),
            ("echo 'set +e'; a; b", false),
            ("set +o errexit\nif a; then b; fi", true),
        ] {
            assert_eq!(Script::new(script).goes_on_after_failures(), goes_on, "{script}");
        }
    }

    #[test]
    fn the_program_of_one_plain_command_is_known() {
        for (script, program) in [
            ("make -j 4 \"${{ inputs.target }}\"", Some("make")),
            ("make \\\n  test\n", Some("make")),
            ("./make", None),
            ("echo a", None),
            ("A=1 make", None),
            ("$MAKE", None),
            ("'make'", None),
            ("make; test", None),
            ("make > log", None),
        ] {
            assert_eq!(Script::new(script).program().as_deref(), program, "{script}");
        }
    }
}
