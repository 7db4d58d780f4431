//! Documents in Markdown, laid out for the columns of a terminal.
//!
//! Knows what our own documents are made of: titles, paragraphs, lists, tables, blocks of code, links, bold words. It gives no
//! colours and no escape sequences.

use super::columns::width;

/// The title of a document.
pub(crate) fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// Each section of the second level with its title. What is deeper belongs to it.
pub(crate) fn sections(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        match line.strip_prefix("## ").filter(|_| !in_code) {
            Some(title) => all.push((title.to_owned(), format!("{line}\n"))),
            None => {
                if let Some((_, section)) = all.last_mut() {
                    section.push_str(line);
                    section.push('\n');
                }
            }
        }
    }
    all
}

/// The document in lines of at most `columns`. Lines of code stay as they are, indented.
pub(crate) fn laid_out(text: &str, columns: usize) -> String {
    let mut page = Page { columns: columns.max(20), out: String::new(), open: Open::Nothing };
    let mut in_code = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            page.close();
            in_code = !in_code;
        } else if in_code {
            page.line(&format!("    {line}"));
        } else {
            page.take(line, trimmed);
        }
    }
    page.close();
    page.out
}

/// What the next line may go on with.
enum Open {
    Nothing,
    /// Words, how the first line begins, and how the others do.
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
        let mut line = first.to_owned();
        let mut is_fresh = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !is_fresh && width(&line).saturating_add(width(word)).saturating_add(1) > self.columns {
                self.line(&line);
                line = rest.to_owned();
                is_fresh = true;
            }
            if !is_fresh {
                line.push(' ');
            }
            line.push_str(word);
            is_fresh = false;
        }
        self.line(&line);
    }

    /// The last column is wrapped where it has room; else each row stands in lines of its own.
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
            } else {
                self.wrapped(&cells.join("  "), "", "");
                self.wrapped(last, "    ", "    ");
            }
        }
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len().saturating_sub(title.len());
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| (level, title.trim()))
}

/// How an item of a list begins, and its text.
fn item(line: &str) -> Option<(&str, &str)> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let mark = if digits > 0 { digits.saturating_add(2) } else { 2 };
    let (mark, text) = line.split_at_checked(mark)?;
    (matches!(mark, "- " | "* ") || (digits > 0 && mark.ends_with(". "))).then_some((mark, text))
}

/// The cells of a row; `\|` is no border.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let inner = inner.trim_end().trim_end_matches('|');
    inner.split('|').map(|cell| plain(cell.trim()).replace('\u{0}', "|")).collect()
}

/// Without bold marks; of a link to the web the address stays, of another one the text.
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
        let expected = "Limits\n======\n\nA limit bounds a run. See the\nplan and a site\n(https://a.example/).\n\n    \
            limits: [1]  # stays as it is, however long that is\n\nKinds\n-----\n\n- one of several things that\n  are listed\n\
            1. two\n\nkey    means\n`a`    something that is long\n       enough\n`b|c`  or\n\nDeep\n\nOther\n-----\n\nEnd.\n";
        assert_eq!(laid_out(PAGE, 30), expected);
        let narrow = laid_out("| a long first cell | and | the last |\n", 20);
        assert_eq!(narrow, "a long first cell\nand\n    the last\n");
    }

    #[test]
    fn a_document_has_a_title_and_sections() {
        assert_eq!(title(PAGE), "Limits");
        let sections = sections(PAGE);
        let titles: Vec<&str> = sections.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["Kinds", "Other"]);
        assert_eq!(sections[1].1, "## Other\n\nEnd.\n");
        assert!(sections[0].1.contains("### Deep"));
    }

    #[test]
    fn what_only_looks_like_a_link_stays() {
        for text in ["a[0] and (b)", "[x]", "[", "steps: [a, b](", "`a` [b"] {
            assert_eq!(plain(text), text);
        }
    }
}
