//! The pages in `docs/commands/`: one for each command, and a list of them all. They are made from the
//! definitions that also give `--help`.

use crate::process::args::Cli;
use clap::{Arg, Command, CommandFactory as _};

const MADE: &str = "<!-- Made by `cargo xtask generate` from crates/cli/src/process/args.rs. -->";

/// The name and text of each page.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut root = Cli::command();
    // Only then usage lines and names of nested commands are complete.
    root.build();
    let visible: Vec<&Command> = root.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let pages = visible.iter().map(|command| (command.get_name().to_owned(), page(command)));
    std::iter::once(("README".to_owned(), list(&root, &visible))).chain(pages).collect()
}

fn list(root: &Command, commands: &[&Command]) -> String {
    let row = |command: &&Command| {
        let name = command.get_name();
        format!("| [`envoi {name}`]({name}.md) | {} |\n", about(command))
    };
    let rows: String = commands.iter().map(row).collect();
    let after = root.get_after_help().map(|text| text.to_string()).unwrap_or_default();
    format!(
        "# Commands\n\n{MADE}\n\nEach command has a page. `envoi COMMAND --help` and `envoi help COMMAND` print the same.\n\n\
         | command | |\n|---|---|\n{rows}\n## Options of every command\n\n{}\n## Exit codes\n\n{}\n\n\
         [exit-codes.md](../exit-codes.md) has them with examples.\n",
        arguments(root.get_arguments().filter(|arg| arg.is_global_set())),
        one_line(&after),
    )
}

fn page(command: &Command) -> String {
    format!(
        "# envoi {}\n\n{MADE}\n\n{}The [options of every command](README.md#options-of-every-command) apply too.\n",
        command.get_name(),
        body(command, "##")
    )
}

/// The purpose of a command, its usage and arguments, and its subcommands with headings of this level.
fn body(command: &Command, level: &str) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let mut text = format!("{}\n\n```\n{usage}\n```\n\n", sentence(&about(command)));
    let own = arguments(command.get_arguments().filter(|arg| !arg.is_global_set()));
    if !own.is_empty() {
        text.push_str(&own);
        text.push('\n');
    }
    for nested in command.get_subcommands().filter(|nested| nested.get_name() != "help") {
        let name = format!("{} {}", command.get_name(), nested.get_name());
        text.push_str(&format!("{level} envoi {name}\n\n{}", body(nested, &format!("{level}#"))));
    }
    text
}

/// A table of arguments; empty if there are none.
fn arguments<'a>(args: impl Iterator<Item = &'a Arg>) -> String {
    let shown = args.filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"));
    let rows: String = shown.map(|arg| format!("| {} | {} |\n", name(arg), meaning(arg))).collect();
    if rows.is_empty() { rows } else { format!("| argument | |\n|---|---|\n{rows}") }
}

fn name(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
    let takes_values = arg.get_action().takes_values();
    let value = if takes_values { values.collect::<Vec<_>>().join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let text = [names.join(", "), value].join(" ").trim().replace('|', "\\|");
    format!("`{text}`")
}

fn meaning(arg: &Arg) -> String {
    let help = arg
        .get_long_help()
        .or_else(|| arg.get_help())
        .map(|help| {
            help.to_string().split("\n\n").map(|part| sentence(&one_line(part))).collect::<Vec<_>>().join(" ")
        })
        .unwrap_or_default();
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    let is_choice = arg.get_action().takes_values() && !values.is_empty();
    let choices = values.iter().map(|value| match value.get_help() {
        Some(help) => format!("`{}` ({help})", value.get_name()),
        None => format!("`{}`", value.get_name()),
    });
    let choices = is_choice.then(|| format!("One of {}", choices.collect::<Vec<_>>().join(", ")));
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    let default = (arg.get_action().takes_values() && !defaults.is_empty())
        .then(|| format!("Default: {}", defaults.join(" ")));
    let parts = [Some(help).filter(|help| !help.is_empty()), choices, default];
    parts.into_iter().flatten().map(|part| sentence(&part)).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn about(command: &Command) -> String {
    command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(|about| paragraphs(&about.to_string()))
        .unwrap_or_default()
}

/// All paragraphs on one line. The terminal shows the first one without a full stop, so one is added.
fn paragraphs(text: &str) -> String {
    let mut all: Vec<String> = text.split("\n\n").map(one_line).collect();
    let last = all.pop().unwrap_or_default();
    all.iter().map(|text| sentence(text)).chain([last]).collect::<Vec<_>>().join(" ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', ':', '?', ']']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_arguments_of_its_command_and_no_hidden_command_has_one() {
        let pages = pages();
        let page = |name: &str| pages.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
        let run = page("run").unwrap();
        assert!(
            run.contains("envoi run [OPTIONS] <FLOW>") && run.contains("| `-i, --input NAME=VALUE` |"),
            "{run}"
        );
        assert!(!run.contains("--server"), "that is of every command: {run}");
        let token = page("token").unwrap();
        assert!(token.contains("## envoi token create") && token.contains("`admin` ("), "{token}");
        let list = page("README").unwrap();
        assert!(list.contains("| [`envoi run`](run.md) | ") && list.contains("`--home DIR`"), "{list}");
        assert!(
            page("page").unwrap().contains("page of `envoi serve`. The link"),
            "paragraphs are sentences"
        );
        assert!(pages.iter().all(|(name, _)| !name.starts_with('_')));
    }
}
