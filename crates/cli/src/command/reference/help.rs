//! `envoi help`: prints the help of a command, a document, or the page of an error code.
//!
//! A terminal gets a document laid out for its columns, in a pager if it has more lines than the terminal; a pipe or a file gets the
//! document as it is.

use super::explain;
use crate::{
    process::{args::Cli, failure::Failure, invocation, output, pager, terminal},
    text::markdown,
};
use clap::CommandFactory as _;
use envoi_api::output::{HelpPage, HelpTopics};
use envoi_contract::{code::Code, suggestion::nearest};

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// The widest lines of prose: longer ones are hard to read.
const MAX_COLUMNS: usize = 100;

pub(crate) fn help(topic: &[String], document: bool, json: bool) -> Result<u8, Failure> {
    let Some((first, rest)) = topic.split_first() else { return list(json) };
    let name = first.trim_end_matches(".md").to_lowercase();
    let found = DOCUMENTS.iter().find(|(known, _)| *known == name);
    let command = help_of_command(topic).filter(|_| !document);
    match (command, found) {
        (Some(help), found) => {
            let more =
                found.map(|_| format!("\nThe document: {} help --document {name}\n", invocation::envoi()));
            let text = help + &more.unwrap_or_default();
            print(&name, &text, json)
        }
        (None, Some((_, text))) => print(&name, &laid_out(&part(text, rest, &name)?), json),
        (None, None) if is_code(first) => explain::explain(first, json),
        (None, None) => Err(unknown(first)),
    }
}

fn print(name: &str, text: &str, json: bool) -> Result<u8, Failure> {
    if json {
        return output::row(&HelpPage { topic: name.to_owned(), text: text.to_owned() }).map(|()| 0);
    }
    if pager::shows(text) {
        return Ok(0);
    }
    output::data(text).map(|()| 0)
}

/// Returns the output of `--help` for the command that these words name.
fn help_of_command(words: &[String]) -> Option<String> {
    let find = |command: clap::Command, word: &String| {
        command.get_subcommands().find(|known| known.get_name() == word && !known.is_hide_set()).cloned()
    };
    words.iter().try_fold(Cli::command(), find)?;
    let arguments = ["envoi"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    let shown = Cli::command().try_get_matches_from(arguments).err()?;
    Some(shown.render().to_string())
}

fn laid_out(text: &str) -> String {
    match terminal::columns_of_stdout() {
        Some(columns) => markdown::laid_out(text, columns.min(MAX_COLUMNS)),
        None => text.to_owned(),
    }
}

/// The sections whose titles have all of `words`, else the rows of tables that these words name; without words the whole document.
fn part(text: &str, words: &[String], name: &str) -> Result<String, Failure> {
    if words.is_empty() {
        return Ok(text.to_owned());
    }
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let sections = markdown::sections(text);
    let is_meant = |title: &str| words.iter().all(|word| title.to_lowercase().contains(word));
    let mut found = String::new();
    // A section inside a found section is already printed with it.
    let mut within = usize::MAX;
    for section in &sections {
        if section.level <= within {
            within = usize::MAX;
        }
        if within == usize::MAX && is_meant(&section.title) {
            found.push_str(&section.text);
            within = section.level;
        }
    }
    if found.is_empty() {
        for section in sections.iter().filter(|section| section.level == 2) {
            let rows = markdown::rows(&section.text, is_meant);
            if !rows.is_empty() {
                found.push_str(&format!("## {}\n\n{rows}\n", section.title));
            }
        }
    }
    if found.is_empty() {
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        let words = words.join(" ");
        let message = format!("no section and no row of a table of `{name}` is called `{words}`");
        let near = nearest(&words, &titles, false).map(|title| format!("did you mean `{title}`? "));
        let hint = format!("{}its sections: {}", near.unwrap_or_default(), titles.join("; "));
        return Err(Failure::new(Code::UnknownTopic, message).hint(hint));
    }
    Ok(found)
}

fn is_code(word: &str) -> bool {
    explain::PAGES.iter().any(|(code, _)| code.eq_ignore_ascii_case(word))
}

/// The documents that have a section about this word, then those that have it most often, as far as a person reads them.
fn speaking_of(word: &str) -> Vec<String> {
    const MOST: usize = 4;
    let word = word.to_lowercase();
    if word.chars().count() < 3 {
        return Vec::new();
    }
    let mut found: Vec<(bool, usize, String)> = Vec::new();
    for (name, text) in DOCUMENTS {
        let section = markdown::sections(text).into_iter().find(|section| has_word(&section.title, &word));
        let count = text.lines().filter(|line| has_word(line, &word)).count();
        let topic = match &section {
            Some(_) if !name.contains(&*word) => format!("{name} {word}"),
            _ => (*name).to_owned(),
        };
        if count > 0 {
            found.push((section.is_none(), usize::MAX.saturating_sub(count), topic));
        }
    }
    found.sort();
    found.into_iter().take(MOST).map(|(.., topic)| topic).collect()
}

/// Whether the text contains this word, in lower case, as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.to_lowercase().split(|c| !is_part(c)).any(|part| part == word)
}

fn unknown(word: &str) -> Failure {
    let root = Cli::command();
    let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = visible.map(clap::Command::get_name);
    let documents = DOCUMENTS.iter().map(|(name, _)| *name);
    let codes = explain::PAGES.iter().map(|(code, _)| *code);
    let known: Vec<&str> = commands.chain(documents).chain(codes).collect();
    let envoi = invocation::envoi();
    let speaking = speaking_of(word);
    let hint = match nearest(word, &known, false) {
        _ if !speaking.is_empty() => {
            let shown = speaking.iter().map(|topic| format!("`{envoi} help {topic}`"));
            format!("{} speak of it", shown.collect::<Vec<_>>().join(", "))
        }
        Some(near) => format!("did you mean `{envoi} help {near}`? `{envoi} help` lists all"),
        None => format!("`{envoi} help` lists all commands and documents"),
    };
    Failure::new(Code::UnknownTopic, format!("no command, document or error code is named `{word}`"))
        .hint(hint)
}

/// The commands with their first lines, and the documents with their titles.
fn list(json: bool) -> Result<u8, Failure> {
    let mut root = Cli::command();
    if json {
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        let commands = visible.map(|command| command.get_name().to_owned()).collect();
        let documents = DOCUMENTS.iter().map(|(name, _)| (*name).to_owned()).collect();
        return output::row(&HelpTopics { commands, documents }).map(|()| 0);
    }
    let envoi = invocation::envoi();
    let rows =
        DOCUMENTS.iter().map(|(name, text)| vec![format!("  {name}"), markdown::title(text).to_owned()]);
    let rows: Vec<Vec<String>> = rows.collect();
    let text = format!(
        "{}\n\nDocuments:\n{}\n{envoi} help TOPIC shows the help of a command, a document or the page of an error code.\n",
        root.render_help().to_string().trim_end(),
        output::table(&rows),
    );
    if pager::shows(&text) {
        return Ok(0);
    }
    output::data(&text).map(|()| 0)
}
