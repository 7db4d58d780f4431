//! Checks that links between markdown files have a target: the file exists, and so does the heading.

use super::{
    problem::Problem,
    tree::{File, Tree},
};

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.files.iter().filter(|file| file.is_markdown());
    pages
        .flat_map(|page| {
            links(page).into_iter().filter_map(|(line, target)| check_link(tree, page, line, &target))
        })
        .collect()
}

fn check_link(tree: &Tree, page: &File, line: usize, target: &str) -> Option<Problem> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) =
        target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let path = if file.is_empty() { Some(page.path.clone()) } else { resolve(&page.path, file) };
    let there = path.filter(|path| path.is_empty() || tree.paths.iter().any(|there| there == path));
    let Some(there) = there else {
        return Some(Problem::new(
            &page.path,
            line,
            format!("the link to `{target}` leads nowhere; correct or remove it"),
        ));
    };
    let to = tree.files.iter().find(|file| file.path == there && file.is_markdown())?;
    let found = heading.is_none_or(|heading| headings(to).iter().any(|there| there == heading));
    (!found).then(|| {
        Problem::new(
            &page.path,
            line,
            format!("`{there}` has no heading `#{}`; correct the link", heading.unwrap_or_default()),
        )
    })
}

/// The path of `target` on the page at `from`. `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Lines outside of fences, with their numbers.
fn prose(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((at.saturating_add(1), line))
    })
}

/// Targets of `[text](target)`, outside of code.
fn links(page: &File) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(page) {
        let spoken: String =
            line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "x" }).collect();
        for rest in spoken.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// Headings in the form that links use: lower case, hyphens for spaces, no other punctuation.
fn headings(page: &File) -> Vec<String> {
    let slug = |(_, line): (usize, &str)| {
        let title = line.trim_start_matches('#').trim();
        let letters = title.to_lowercase().replace(' ', "-");
        line.starts_with('#')
            .then(|| letters.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect())
    };
    prose(page).filter_map(slug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let files = [("docs/a.md", text), ("docs/b.md", "# Two words, one line\n"), ("README.md", "# x\n")];
        check(&Tree::of(&files)).iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_reported_at_its_line() {
        assert!(told("x\n[c](c.md)\n").starts_with("docs/a.md:2: the link to `c.md` leads nowhere"));
        assert!(told("[c](../../c.md)\n").contains("leads nowhere"));
        assert!(told("[b](b.md) and [c](d/c.md)\n").contains("`d/c.md`"));
    }

    #[test]
    fn a_heading_that_is_not_there_is_reported() {
        assert!(told("[b](b.md#three)\n").contains("no heading `#three`"));
    }

    #[test]
    fn links_that_lead_somewhere_are_left_alone() {
        assert_eq!(
            told(
                "[b](b.md) [r](../README.md) [d](../docs/) [h](b.md#two-words-one-line) [w](https://a.b/c)\n"
            ),
            ""
        );
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(told("`[c](c.md)`\n```\n[c](c.md)\n```\n"), "");
    }
}
