//! Walks through the commands of a script in their order, and tracks the folder in which each of them runs.
//!
//! Follows `cd`, `pushd` and `popd` if they are literal, into and out of subshells, and into the scripts of `sh -c`,
//! `eval` and here-documents. It also follows what `env -C`, `make -C` and similar options do for one command. It
//! runs nothing. If a change of the folder may or may not happen, both folders are possible.

use super::place::Place;
use super::words::{Piece, Shell, Word};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The option that gives a skill the path of its report.
const OPTION: &str = "--output";

/// Commands that define variables or aliases.
/// Programs that run a script.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// The largest depth of scripts inside scripts.
const MOST_NESTED: usize = 8;

/// Programs that run another program in the same folder.
const TRANSPARENT: [&str; 13] = [
    "command", "builtin", "exec", "nohup", "nice", "ionice", "setsid", "stdbuf", "sudo", "time", "timeout",
    "xargs", "xvfb-run",
];

/// Programs that take a program text with `-c`, `-e` or a here-document.
const INTERPRETERS: [&str; 10] =
    ["python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua"];

/// Programs that change the folder before they work, and the options that name it.
const ENTERS: [(&[&str], &[&str]); 5] = [
    (&["make", "gmake"], &["-C", "--directory"]),
    (&["npm"], &["-C", "--prefix"]),
    (&["pnpm"], &["-C", "--dir"]),
    (&["yarn"], &["--cwd"]),
    (&["uv"], &["--directory"]),
];

/// A value of the option, and the folder in which its command runs.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) value: Word,
    pub(super) place: Place,
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    /// True if the option is in a text that is not followed: that of a program that is not a shell, or a variable.
    is_hidden: bool,
    /// The values in here-documents and in printed text, whatever program reads them.
    mentioned: Vec<String>,
    depth: usize,
    /// The folder in which the arguments after a script are first used.
    passed: Option<Place>,
}

/// The operator between two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    End,
    And,
    Or,
    Pipe,
    Background,
}

/// A command and its input.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<Word>,
    /// Its input, as far as it is in the script.
    documents: Vec<String>,
}

/// The position of the walk in one script.
struct Script {
    place: Place,
    /// The folders outside of the open subshells.
    outside: Vec<Place>,
    /// The number of open loops, conditions and function bodies. Their content may not be run.
    maybe: usize,
    /// For each open brace, whether it is the body of a function.
    braces: Vec<bool>,
    /// For each open `case`, the number of subshells that were open before it.
    cases: Vec<usize>,
    /// True if the next brace begins the body of a function.
    is_function: bool,
    before: Joint,
    /// The folder before the first command of `a && b && c`.
    chain: Option<Place>,
    /// Every folder in which a command of the script may run.
    seen: Place,
    /// The values in function bodies, as indexes in [`Walk::found`]. A function may be called in any of these
    /// folders.
    in_bodies: Vec<usize>,
    /// The output of the command before a pipe, if that command prints its arguments.
    printed: Option<String>,
}

impl Walk {
    /// Collects the values in a script that begins in `place`. Sets `place` to the folder in which the script ends.
    pub(super) fn script(&mut self, text: &str, place: &mut Place) {
        if self.depth == MOST_NESTED {
            return;
        }
        self.depth = self.depth.saturating_add(1);
        let mut script = Script {
            place: place.clone(),
            outside: Vec::new(),
            maybe: 0,
            braces: Vec::new(),
            cases: Vec::new(),
            is_function: false,
            before: Joint::End,
            chain: None,
            seen: place.clone(),
            in_bodies: Vec::new(),
            printed: None,
        };
        let mut pieces = Shell::new(text).pieces().into_iter().peekable();
        let mut command = Simple::default();
        while let Some(piece) = pieces.next() {
            let joint = match piece {
                Piece::Word(word) => {
                    command.words.push(word);
                    continue;
                }
                Piece::Document(text) => {
                    self.mentioned.extend(mentioned(&text));
                    command.documents.push(text);
                    continue;
                }
                Piece::HereString => {
                    if let Some(Piece::Word(word)) = pieces.next_if(|next| matches!(next, Piece::Word(_))) {
                        self.text(&word.written);
                        command.documents.push(word.written);
                    }
                    continue;
                }
                Piece::Operator('<' | '>') => {
                    if matches!(pieces.peek(), Some(Piece::Operator('('))) {
                        continue;
                    }
                    while pieces
                        .next_if(|next| matches!(next, Piece::Operator('<' | '>' | '&' | '|')))
                        .is_some()
                    {}
                    pieces.next_if(|next| matches!(next, Piece::Word(_)));
                    continue;
                }
                Piece::Operator('&') if matches!(pieces.peek(), Some(Piece::Operator('>'))) => continue,
                Piece::Operator('&') if follows(&mut pieces, '&') => Joint::And,
                Piece::Operator('&') => Joint::Background,
                Piece::Operator('|') if follows(&mut pieces, '|') => Joint::Or,
                Piece::Operator('|') => {
                    follows(&mut pieces, '&');
                    Joint::Pipe
                }
                Piece::Operator('(') => {
                    if !command.words.is_empty() && follows(&mut pieces, ')') {
                        command = Simple::default();
                        script.is_function = true;
                        continue;
                    }
                    self.end(&mut script, &mut command, Joint::End, false);
                    script.outside.push(script.place.clone());
                    // The operator before the subshell applies to the whole subshell.
                    script.before = Joint::End;
                    continue;
                }
                Piece::Operator(')') => {
                    self.end(&mut script, &mut command, Joint::End, false);
                    let within_case = script.cases.last().copied().unwrap_or_default();
                    if script.outside.len() > within_case
                        && let Some(outside) = script.outside.pop()
                    {
                        script.place = outside;
                    }
                    continue;
                }
                Piece::Operator(_) => Joint::End,
            };
            let leaves = |word: &Word| matches!(word.written.as_str(), "exit" | "return" | "{");
            let is_left = matches!(pieces.peek(), Some(Piece::Word(word)) if leaves(word));
            self.end(&mut script, &mut command, joint, joint == Joint::Or && is_left);
        }
        self.end(&mut script, &mut command, Joint::End, false);
        for nth in script.in_bodies {
            if let Some(found) = self.found.get_mut(nth) {
                found.place.or(&script.seen);
            }
        }
        *place = script.place;
        self.depth = self.depth.saturating_sub(1);
    }

    /// Handles the end of a command. `or_leaves` means that the script ends if the command fails.
    fn end(&mut self, script: &mut Script, command: &mut Simple, joint: Joint, or_leaves: bool) {
        let Simple { words, mut documents } = core::mem::take(command);
        let goes_on = matches!(script.before, Joint::And | Joint::Or | Joint::Pipe);
        if words.is_empty() && documents.is_empty() && joint == Joint::End && goes_on {
            // A line break after `&&`, `||` or `|`.
            return;
        }
        let before = core::mem::replace(&mut script.before, joint);
        for inner in words.iter().flat_map(|word| &word.inner) {
            self.script(inner, &mut script.place.clone());
        }
        let begins_group =
            words.first().is_some_and(|word| matches!(word.written.as_str(), "{" | "if" | "while" | "until"));
        self.indirect(&words);
        let words = script.structure(words);
        documents.extend(script.printed.take().filter(|_| before == Joint::Pipe));
        let printed = printed(&words);
        self.mentioned.extend(printed.iter().flat_map(|text| mentioned(text)));
        script.printed = printed.filter(|_| joint == Joint::Pipe);
        if joint == Joint::And && script.chain.is_none() {
            script.chain = Some(script.place.clone());
        }
        if !words.is_empty() {
            // A group after a pipe also has its own folder, for the rest of the group.
            let is_apart =
                before == Joint::Pipe && !begins_group || matches!(joint, Joint::Pipe | Joint::Background);
            let is_sure = script.maybe == 0
                && !matches!(before, Joint::Or | Joint::Pipe)
                && (joint != Joint::Or || or_leaves);
            let mut place = script.place.clone();
            let first = self.found.len();
            let names_it =
                |word: &Word| word.literal.as_deref() == Some(OPTION) || after_equals(word).is_some();
            match words.first().is_some_and(names_it) {
                // The words of an array: `args=(--output r.json)`.
                true => self.values(&words, &place),
                false => self.command(&words, &documents, &mut place),
            }
            if script.braces.contains(&true) {
                script.in_bodies.extend(first..self.found.len());
            }
            if !is_apart {
                if !is_sure {
                    place.or(&script.place);
                }
                script.place = place;
                script.seen.or(&script.place);
            }
        }
        if joint != Joint::And
            && let Some(start) = script.chain.take()
        {
            // If a command of `a && cd b` fails, the script may still continue.
            if start != script.place && !or_leaves {
                script.place.or(&start);
            }
        }
    }

    /// Finds the option in words that become arguments of a command elsewhere, which is not followed: the value of a variable or an alias,
    /// the list of a `for`, the default in `${A:-…}`, the alternatives of `{…,…}`. A quoted argument of several words does not count,
    /// because it is usually a message or a prompt.
    fn indirect(&mut self, words: &[Word]) {
        let begins =
            |names: &[&str]| words.first().is_some_and(|word| names.contains(&word.written.as_str()));
        let is_list = begins(&["for", "select"]);
        for word in words {
            let is_argument = word.written == OPTION || after_equals(word).is_some();
            let is_one_word = !word.written.contains(char::is_whitespace);
            if is_list || is_assignment(word) || is_one_word && !is_argument {
                self.text(&word.written);
            } else if word.literal.is_none() {
                let defaults = word.written.split("${").skip(1).filter_map(|rest| rest.split('}').next());
                for default in defaults {
                    self.text(default);
                }
            }
        }
    }

    /// Records a text that may become the option and its path when it is used.
    fn text(&mut self, text: &str) {
        self.mentioned.extend(mentioned(text));
        // The path may be in another text, or follow this one.
        let ends = |rest: &str| rest.is_empty() || rest.starts_with([',', '}', ')', ']', '"', '\'', '\\']);
        let is_open = |rest: &str| ends(rest) || rest.strip_prefix('=').is_some_and(ends);
        self.is_hidden |= text.split(OPTION).skip(1).any(is_open);
    }

    fn command(&mut self, words: &[Word], documents: &[String], place: &mut Place) {
        let Some((program, arguments)) = words.split_first() else { return };
        if self.passed.is_none() && words.iter().any(passes_arguments_on) {
            self.passed = Some(place.clone());
        }
        let name = program.literal.as_deref().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or(name);
        let written = || written(words);
        match name {
            "cd" | "chdir" => place.enter(operand(arguments), written()),
            "pushd" => place.push(operand(arguments), written()),
            "popd" => place.pop(written()),
            "trap" => {
                if let Some(word) = arguments.first() {
                    self.script(&word.written, &mut place.clone());
                }
            }
            "eval" => {
                let text: Vec<&str> = arguments.iter().map(|word| word.written.as_str()).collect();
                self.script(&text.join(" "), place);
            }
            "env" => self.env(arguments, documents, &mut place.clone()),
            _ if TRANSPARENT.contains(&name) => self.transparent(arguments, documents, place),
            _ if is_interpreter(name) => self.interpreter(arguments, documents, place),
            _ => self.program(name, words, documents, place),
        }
    }

    /// Handles a program: a shell, a program that changes the folder first, or any other.
    fn program(&mut self, name: &str, words: &[Word], documents: &[String], place: &Place) {
        let written: Vec<String> = words.iter().map(|word| word.written.clone()).collect();
        if let Some((script, behind)) = script_of(&written) {
            let script = script.to_owned();
            let behind = words.len().saturating_sub(behind.len());
            let passed = self.passed.take();
            let mut ends = place.clone();
            self.script(&script, &mut ends);
            let at = core::mem::replace(&mut self.passed, passed).unwrap_or(ends);
            // The first argument is the name of the script.
            self.values(words.get(behind..).unwrap_or_default().get(1..).unwrap_or_default(), &at);
            return;
        }
        if SHELLS.contains(&name) {
            let reads_input = words.iter().skip(1).all(|word| word.written.starts_with('-'));
            for document in documents.iter().filter(|_| reads_input) {
                self.script(document, &mut place.clone());
            }
        }
        let arguments = words.get(1..).unwrap_or_default();
        let enters = ENTERS.iter().find(|(names, _)| names.contains(&name));
        match enters.and_then(|(_, options)| value_of(arguments, options)) {
            Some((folder, written)) => {
                let mut entered = place.clone();
                entered.enter(Some(&folder), format!("{name} {written}"));
                entered.or(place);
                self.values(arguments, &entered);
            }
            None => self.values(arguments, place),
        }
    }

    /// `env -C FOLDER NAME=VALUE PROGRAM …`.
    fn env(&mut self, arguments: &[Word], documents: &[String], place: &mut Place) {
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            rest = behind;
            match word.written.as_str() {
                option @ ("-C" | "--chdir") => {
                    place.enter(
                        behind.first(),
                        format!("env {option} {}", written(behind.get(..1).unwrap_or_default())),
                    );
                    rest = behind.get(1..).unwrap_or_default();
                }
                "-u" | "--unset" => rest = behind.get(1..).unwrap_or_default(),
                "-S" | "--split-string" => {
                    if let Some(text) = behind.first() {
                        self.script(&text.written, place);
                    }
                    return;
                }
                option => match attached(word, &["-C", "--chdir"]) {
                    Some(folder) => place.enter(Some(&folder), format!("env {option}")),
                    None if option.starts_with('-') || is_assignment(word) => {}
                    None => {
                        return self.command(
                            &[core::slice::from_ref(word), behind].concat(),
                            documents,
                            place,
                        );
                    }
                },
            }
        }
    }

    /// Handles `timeout 5 PROGRAM …`: the program's own options and their values come before the other program.
    fn transparent(&mut self, arguments: &[Word], documents: &[String], place: &mut Place) {
        let is_known = |word: &Word| {
            let name = word.literal.as_deref().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or(name);
            ["cd", "chdir", "pushd", "popd", "eval", "env"].contains(&name)
                || SHELLS.contains(&name)
                || is_interpreter(name)
                || TRANSPARENT.contains(&name)
                || ENTERS.iter().any(|(names, _)| names.contains(&name))
        };
        match arguments.iter().position(is_known) {
            Some(nth) => self.command(arguments.get(nth..).unwrap_or_default(), documents, place),
            None => self.values(arguments, place),
        }
    }

    fn interpreter(&mut self, arguments: &[Word], documents: &[String], place: &Place) {
        let texts = arguments.windows(2).filter_map(|pair| match pair {
            [option, text] if matches!(option.written.as_str(), "-c" | "-e" | "--eval") => {
                Some(&text.written)
            }
            _ => None,
        });
        self.is_hidden |= texts.chain(documents).any(|text| names_the_option(text));
        self.values(arguments, place);
    }

    /// The values of the option among these words, in order.
    fn values(&mut self, arguments: &[Word], place: &Place) {
        let mut arguments = arguments.iter();
        while let Some(word) = arguments.next() {
            let value = match word.literal.as_deref() {
                Some(OPTION) => {
                    let value = arguments.next().cloned();
                    // `xargs tool --output`, `$(echo --output)`: the path comes from somewhere else.
                    self.is_hidden |= value.is_none();
                    value
                }
                _ => after_equals(word),
            };
            self.found.extend(value.map(|value| Found { value, place: place.clone() }));
        }
    }

    /// True if the option is in a text that was not examined.
    pub(super) fn has_missed_some(&self) -> bool {
        let is_found = |value: &String| self.found.iter().any(|found| found.value.written.contains(value));
        self.is_hidden || !self.mentioned.iter().all(is_found)
    }

    /// The values in a command that is a list.
    pub(super) fn list(&mut self, argv: &[String]) {
        let words: Vec<Word> = argv.iter().map(|argument| Word::literal(argument)).collect();
        self.command(&words, &[], &mut Place::beginning());
    }
}

impl Script {
    /// Removes the words of the grammar at the beginning of a command, and assignments. Returns the remaining words.
    fn structure(&mut self, words: Vec<Word>) -> Vec<Word> {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.peek() {
            match word.written.as_str() {
                "if" | "while" | "until" => self.maybe = self.maybe.saturating_add(1),
                "then" | "else" | "elif" | "do" | "!" => {}
                "fi" | "done" => self.maybe = self.maybe.saturating_sub(1),
                "for" | "select" => {
                    self.maybe = self.maybe.saturating_add(1);
                    return Vec::new();
                }
                "case" => {
                    self.maybe = self.maybe.saturating_add(1);
                    self.cases.push(self.outside.len());
                    return Vec::new();
                }
                "esac" => {
                    self.maybe = self.maybe.saturating_sub(1);
                    self.cases.pop();
                }
                "function" => {
                    words.next();
                    self.is_function = true;
                }
                "{" => {
                    let is_body = core::mem::take(&mut self.is_function);
                    self.maybe = self.maybe.saturating_add(usize::from(is_body));
                    self.braces.push(is_body);
                }
                "}" => {
                    let was_body = self.braces.pop().unwrap_or_default();
                    self.maybe = self.maybe.saturating_sub(usize::from(was_body));
                }
                _ if is_assignment(word) => {}
                _ => break,
            }
            words.next();
        }
        words.collect()
    }
}

/// Takes the next piece if it is this operator.
fn follows(pieces: &mut core::iter::Peekable<alloc::vec::IntoIter<Piece>>, operator: char) -> bool {
    pieces.next_if(|next| matches!(next, Piece::Operator(other) if *other == operator)).is_some()
}

/// True if the text contains the option itself, and not only a longer option with the same beginning.
fn names_the_option(text: &str) -> bool {
    let is_it =
        |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_'));
    text.split(OPTION).skip(1).any(is_it)
}

/// The output of `echo` or `printf`, accurate enough to read its lines as a script.
fn printed(words: &[Word]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    if !matches!(program.literal.as_deref(), Some("echo" | "printf")) {
        return None;
    }
    let lines: Vec<String> = arguments.iter().map(|word| word.written.replace("\\n", "\n")).collect();
    Some(lines.join(if program.written == "echo" { " " } else { "\n" }))
}

/// The values after the option in a text that any program may read, if they look like the path of a file.
fn mentioned(text: &str) -> Vec<String> {
    let ends = |next: char| next.is_whitespace() || "\"'`;|&()<>,}\\".contains(next);
    let value = |rest: &str| {
        let rest = rest.strip_prefix([' ', '\t', '=', ','])?.trim_start();
        rest.split(ends).next().filter(|value| super::is_path_of_a_file(value)).map(str::to_owned)
    };
    text.split(OPTION).skip(1).filter_map(value).collect()
}

/// `NAME=VALUE`.
fn is_assignment(word: &Word) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'+')
    };
    word.written.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// True for `"$@"` and similar words.
fn passes_arguments_on(word: &Word) -> bool {
    word.literal.is_none() && ["$@", "$*", "${@", "${*"].iter().any(|all| word.written.contains(all))
}

fn is_interpreter(name: &str) -> bool {
    // Also `python3.12`.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

/// The first word that is not an option.
fn operand(arguments: &[Word]) -> Option<&Word> {
    arguments.iter().find(|word| word.written == "-" || !word.written.starts_with('-'))
}

/// The value of one of these options, and both as written.
fn value_of(arguments: &[Word], options: &[&str]) -> Option<(Word, String)> {
    let mut found = None;
    for (nth, word) in arguments.iter().enumerate() {
        if options.contains(&word.written.as_str()) {
            let value = arguments.get(nth.saturating_add(1))?;
            found = Some((value.clone(), format!("{} {}", word.written, value.written)));
        } else if let Some(value) = attached(word, options) {
            found = Some((value, word.written.clone()));
        }
    }
    found
}

/// The value in `--option=VALUE`, or in `-oVALUE`.
fn attached(word: &Word, options: &[&str]) -> Option<Word> {
    let value = |text: &str| {
        options.iter().find_map(|option| {
            let rest = text.strip_prefix(option).filter(|rest| !rest.is_empty())?;
            match option.starts_with("--") {
                true => rest.strip_prefix('='),
                false => Some(rest),
            }
            .map(str::to_owned)
        })
    };
    let written = value(&word.written)?;
    Some(Word { literal: word.literal.as_deref().and_then(value), written, inner: Vec::new() })
}

fn written(words: &[Word]) -> String {
    words.iter().map(|word| word.written.as_str()).collect::<Vec<_>>().join(" ")
}

/// The script in `[bash, -c, SCRIPT]`, and the arguments after it. Options are letters after a single `-` (`-ec`).
fn script_of(argv: &[String]) -> Option<(&str, &[String])> {
    let (program, arguments) = argv.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !SHELLS.contains(&name) {
        return None;
    }
    let mut rest = arguments;
    loop {
        let (option, behind) = rest.split_first().filter(|(option, _)| is_letters(option))?;
        rest = match behind.split_first() {
            Some((script, arguments)) if option.ends_with('c') => return Some((script, arguments)),
            // `-euo pipefail`: the name of the option follows.
            Some((_, behind)) if option.ends_with('o') => behind,
            _ => behind,
        };
    }
}

/// True for `-` and letters, such as `-e`.
fn is_letters(argument: &str) -> bool {
    argument
        .strip_prefix('-')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_alphabetic()))
}

/// The value in `--output=VALUE`.
fn after_equals(word: &Word) -> Option<Word> {
    let value = |text: &str| Some(text.strip_prefix(OPTION)?.strip_prefix('=')?.to_owned());
    let written = value(&word.written)?;
    Some(Word { literal: word.literal.as_deref().and_then(value), written, inner: Vec::new() })
}
