//! Formats Markdown documents for the columns of a terminal.
//!
//! Supports what our own documents use: titles, paragraphs, lists, tables, code blocks, links, bold words. It
//! emits no colours and no escape sequences.

use super::columns::{self, width};

/// The title of a document.
pub(crate) fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// A part of a document under one heading.
#[derive(Debug, PartialEq)]
pub(crate) struct Section {
    /// 2 for `##`, and so on.
    pub(crate) level: usize,
    pub(crate) title: String,
    /// The heading and the text, including deeper sections.
    pub(crate) text: String,
}

/// The sections of the second level and below, in the order of their headings.
pub(crate) fn sections(text: &str) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if let Some((level, title)) = heading(line).filter(|(level, _)| !in_code && *level > 1) {
            open.retain(|at| all.get(*at).is_some_and(|section| section.level < level));
            open.push(all.len());
            all.push(Section { level, title: title.to_owned(), text: String::new() });
        }
        for at in &open {
            if let Some(section) = all.get_mut(*at) {
                section.text.push_str(line);
                section.text.push('\n');
            }
        }
    }
    all
}

/// The tables of a text, each with its heading rows and only those other rows whose first cell `is_meant`.
pub(crate) fn rows(text: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let mut found = String::new();
    let mut head: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !line.trim_start().starts_with('|') {
            head.clear();
            continue;
        }
        if head.len() < 2 {
            head.push(line);
        } else if cells(line).first().is_some_and(|cell| is_meant(cell)) {
            // The heading of a table is printed before its first row.
            let missing = head.iter().filter(|line| !line.is_empty());
            missing.chain([&line]).for_each(|line| {
                found.push_str(line);
                found.push('\n');
            });
            head.fill("");
        }
    }
    found
}

/// The indentation of a code block that begins with the first line: four columns, or fewer if the block is
/// too wide.
fn indent_of_code<'a>(lines: impl Iterator<Item = &'a str>, columns: usize) -> usize {
    let longest = lines.take_while(|line| !line.trim_start().starts_with("```")).map(width).max();
    columns.saturating_sub(longest.unwrap_or(0)).min(4)
}

/// The document in lines of at most `columns`. Lines of code are unchanged, and indented if there is room.
pub(crate) fn laid_out(text: &str, columns: usize) -> String {
    let mut page = Page { columns: columns.max(20), out: String::new(), open: Open::Nothing };
    let mut in_code = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            page.close();
            in_code = match in_code {
                None => Some(" ".repeat(indent_of_code(lines.clone(), page.columns))),
                Some(_) => None,
            };
        } else if let Some(indent) = &in_code {
            page.line(&format!("{indent}{line}"));
        } else {
            page.take(line, trimmed);
        }
    }
    page.close();
    page.out
}

/// The open element that the next line can continue.
enum Open {
    Nothing,
    /// The words, the start of the first line, and the start of the other lines.
    Words {
        text: String,
        first: String,
        rest: String,
    },
    Table(Vec<Vec<String>>),
}

struct Page {
    columns: usize,
    out: String,
    open: Open,
}

impl Page {
    fn take(&mut self, line: &str, trimmed: &str) {
        if trimmed.is_empty() {
            self.close();
            return self.line("");
        }
        if trimmed.starts_with('|') {
            return self.row(trimmed);
        }
        if let Some((level, title)) = heading(line) {
            self.close();
            let title = plain(title);
            self.line(&title);
            let rule = if level == 1 { "=" } else { "-" };
            if level < 3 {
                self.line(&rule.repeat(width(&title)));
            }
            return;
        }
        if let Some((mark, text)) = item(trimmed) {
            self.close();
            let indent = " ".repeat(line.len().saturating_sub(trimmed.len()));
            let rest = format!("{indent}{}", " ".repeat(mark.len()));
            self.open = Open::Words { text: text.to_owned(), first: format!("{indent}{mark}"), rest };
            return;
        }
        match &mut self.open {
            Open::Words { text, .. } => {
                text.push(' ');
                text.push_str(trimmed);
            }
            _ => {
                self.close();
                let text = trimmed.to_owned();
                self.open = Open::Words { text, first: String::new(), rest: String::new() };
            }
        }
    }

    fn row(&mut self, line: &str) {
        if !matches!(self.open, Open::Table(_)) {
            self.close();
            self.open = Open::Table(Vec::new());
        }
        let cells = cells(line);
        let is_rule =
            cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')));
        if let (Open::Table(rows), false) = (&mut self.open, is_rule) {
            rows.push(cells);
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Words { text, first, rest } => self.wrapped(&plain(&text), &first, &rest),
            Open::Table(rows) => self.table(&rows),
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn wrapped(&mut self, text: &str, first: &str, rest: &str) {
        for line in columns::wrapped(text, first, rest, self.columns) {
            self.line(&line);
        }
    }

    /// The last column is wrapped if there is room. Otherwise each row gets its own lines.
    fn table(&mut self, rows: &[Vec<String>]) {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let column =
            |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count.saturating_sub(1)).map(column).collect();
        let before: usize = widths.iter().map(|width| width.saturating_add(2)).sum();
        let has_room = before <= self.columns / 2;
        for row in rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())) {
            let Some((last, cells)) = row.split_last() else { continue };
            if has_room {
                let padded = cells.iter().zip(&widths).map(|(cell, most)| {
                    format!("{cell}{}", " ".repeat(most.saturating_sub(width(cell)).saturating_add(2)))
                });
                self.wrapped(last, &padded.collect::<String>(), &" ".repeat(before));
            } else if let Some((names, false)) = rows.first().map(|head| (head, rows.len() < 2)) {
                self.labelled(row, names);
            } else {
                self.wrapped(&cells.join("  "), "", "");
                self.wrapped(last, "    ", "    ");
            }
        }
    }

    /// A row of a table that is too wide: the first cell, and below it the other cells with their column
    /// names.
    fn labelled(&mut self, row: &[String], names: &[String]) {
        let Some((first, others)) = row.split_first().filter(|_| row != names) else { return };
        self.wrapped(first, "", "");
        let most = names.iter().skip(1).map(|name| width(name)).max().unwrap_or(0);
        let indent = " ".repeat(most.saturating_add(6));
        for (cell, name) in others.iter().zip(names.iter().skip(1)).filter(|(cell, _)| !cell.is_empty()) {
            let label =
                format!("    {name}{}", " ".repeat(most.saturating_sub(width(name)).saturating_add(2)));
            self.wrapped(cell, &label, &indent);
        }
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len().saturating_sub(title.len());
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| (level, title.trim()))
}

/// The marker of a list item, and its text.
fn item(line: &str) -> Option<(&str, &str)> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let mark = if digits > 0 { digits.saturating_add(2) } else { 2 };
    let (mark, text) = line.split_at_checked(mark)?;
    (matches!(mark, "- " | "* ") || (digits > 0 && mark.ends_with(". "))).then_some((mark, text))
}

/// The cells of a row. `\|` is not a border.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let inner = inner.trim_end().trim_end_matches('|');
    inner.split('|').map(|cell| plain(cell.trim()).replace('\u{0}', "|")).collect()
}

/// Removes bold marks. A link to the web becomes its address, any other link its text.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(name, after)| {
            let (to, after) = after.split_once(')')?;
            (!name.contains('[')).then_some((name, to, after))
        });
        out.push_str(before);
        match link {
            Some((name, to, after)) => {
                out.push_str(name);
                if to.starts_with("http") && to != name {
                    out.push_str(&format!(" ({to})"));
                }
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    (out + rest).replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Limits\n\nA limit **bounds** a run. See [the plan](plan.md) and\n[a site](https://a.example/).\n\n\
        ```yaml\nlimits: [1]  # stays as it is, however long that is\n```\n\n## Kinds\n\n- one of several things that are\n  listed\n\
        1. two\n\n| key | means |\n|---|---|\n| `a` | something that is long enough |\n| `b\\|c` | or |\n\n### Deep\n\n## Other\n\nEnd.\n";

    #[test]
    fn a_document_is_laid_out_for_its_columns() {
        let expected = "Limits\n======\n\nA limit bounds a run. See the\nplan and a site\n(https://a.example/).\n\n\
        limits: [1]  # stays as it is, however long that is\n\nKinds\n-----\n\n- one of several things that\n  are listed\n\
            1. two\n\nkey    means\n`a`    something that is long\n       enough\n`b|c`  or\n\nDeep\n\nOther\n-----\n\nEnd.\n";
        assert_eq!(laid_out(PAGE, 30), expected);
        let narrow = laid_out("| a long first cell | and | the last |\n", 20);
        assert_eq!(narrow, "a long first cell\nand\n    the last\n");
    }

    #[test]
    fn code_is_indented_only_where_it_fits() {
        let narrow = "```sh\necho short\n```\n";
        assert_eq!(laid_out(narrow, 40), "    echo short\n");
        let wide = format!("```sh\necho a\necho {}\n```\n\n```\nb\n```\n", "x".repeat(33));
        assert_eq!(laid_out(&wide, 40), format!("  echo a\n  echo {}\n\n    b\n", "x".repeat(33)));
        let widest = format!("```\n{}\n```\n", "x".repeat(41));
        assert_eq!(laid_out(&widest, 40), format!("{}\n", "x".repeat(41)));
    }

    #[test]
    fn a_document_has_a_title_and_sections() {
        assert_eq!(title(PAGE), "Limits");
        let sections = sections(PAGE);
        let titles: Vec<(usize, &str)> =
            sections.iter().map(|section| (section.level, section.title.as_str())).collect();
        assert_eq!(titles, [(2, "Kinds"), (3, "Deep"), (2, "Other")]);
        assert_eq!(sections[2].text, "## Other\n\nEnd.\n");
        assert_eq!(sections[1].text, "### Deep\n\n");
        assert!(sections[0].text.contains("### Deep"));
    }

    #[test]
    fn rows_are_found_by_their_first_cell_below_the_heading_of_their_table() {
        let found = rows(PAGE, |cell| cell.contains("b|c"));
        assert_eq!(found, "| key | means |\n|---|---|\n| `b\\|c` | or |\n");
        assert_eq!(rows(PAGE, |cell| cell == "means"), "");
    }

    #[test]
    fn a_table_that_is_too_wide_keeps_the_names_of_its_columns() {
        let table = "| key | meaning | default |\n|---|---|---|\n| `retry` | when it is tried again, and more words | one try |\n| `a` | b | |\n";
        let expected = "`retry`\n    meaning  when it is tried\n             again, and more\n             words\n    default  one try\n\
            `a`\n    meaning  b\n";
        assert_eq!(laid_out(table, 30), expected);
    }

    #[test]
    fn what_only_looks_like_a_link_stays() {
        for text in ["a[0] and (b)", "[x]", "[", "steps: [a, b](", "`a` [b"] {
            assert_eq!(plain(text), text);
        }
    }
}
