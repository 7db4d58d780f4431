//! Checks that each error code has a page in `spec/errors/`, and that each page has a code in the source;
//! this includes the libraries in `sdk/`.

use super::{
    bans::Source,
    problem::Problem,
    tree::{File, Tree},
};

/// Codes of one word. They must be listed because they look like other words.
const ONE_WORD: &[&str] = &["CANCELLING", "DENIED", "REFUSED"];

/// Words in capital letters that are not error codes of Envoi.
const NO_CODES: &[&str] = &["CARGO_PKG_VERSION", "NO_COLOR", "OUT_DIR", "XTERM_VERSION"];

/// Texts of the libraries that are not codes: names of variables without `ENVOI_`.
const NO_CODES_OF_LIBRARIES: &[&str] = &["RUN_BASE", "RUN_ID"];

/// Files with the words of a foreign protocol or program, which look like codes but are not Envoi's.
const WORDS_OF_OTHERS: &[&str] = &[
    "crates/a2a/src/fault/kind.rs",
    "crates/a2a/src/v1/enums.rs",
    "crates/changes/src/git.rs",
    "crates/preset/src/preset.rs",
    "crates/tree/src/git.rs",
];

/// Codes of parts that are not built yet.
const NOT_YET_SAID: &[&str] = &["BUDGET_OVERRUN"];

const PAGES: &str = "spec/errors/";

pub(crate) fn check(tree: &Tree, sources: &[Source]) -> Vec<Problem> {
    let pages: Vec<&str> =
        tree.files.iter().filter_map(|file| file.path.strip_prefix(PAGES)?.strip_suffix(".md")).collect();
    let libraries = tree.files.iter().flat_map(codes_of_library);
    let said: Vec<(&str, usize, &str)> = sources.iter().flat_map(codes).chain(libraries).collect();
    let mut problems = Vec::new();
    for (path, line, code) in &said {
        if !pages.contains(code) {
            let message =
                format!("the code `{code}` has no page; write {PAGES}{code}.md, as short as the others");
            problems.push(Problem::new(path, *line, message));
        }
    }
    for page in pages.iter().filter(|page| !NOT_YET_SAID.contains(page)) {
        if !said.iter().any(|(_, _, code)| code == page) {
            let message = "nothing says this code; remove the page";
            problems.push(Problem::new(&format!("{PAGES}{page}.md"), 1, message));
        }
    }
    problems.extend(tree.files.iter().filter(|file| file.path.starts_with(PAGES)).filter_map(|file| {
        let title = file.path.strip_prefix(PAGES)?.strip_suffix(".md")?;
        let titled = file.text.lines().next() == Some(&format!("# {title}"));
        (!titled).then(|| {
            Problem::new(&file.path, 1, format!("the page does not begin with `# {title}`; begin it so"))
        })
    }));
    problems
}

/// Codes in string literals of shipped code.
fn codes(source: &Source) -> impl Iterator<Item = (&str, usize, &str)> {
    let shipped = source.path.starts_with("crates/")
        && !source.path.ends_with("/build.rs")
        && !WORDS_OF_OTHERS.contains(&source.path.as_str());
    source
        .code
        .literals
        .iter()
        .filter(move |literal| shipped && !source.is_test(literal.line) && is_code(&literal.text))
        .map(|literal| (source.path.as_str(), literal.line, literal.text.as_str()))
}

/// Codes in string literals of the libraries for other languages. In a Python module only the text before
/// `__all__` counts.
fn codes_of_library(file: &File) -> impl Iterator<Item = (&str, usize, &str)> {
    let shipped = file.path.starts_with("sdk/")
        && file.path.contains("/src/")
        && (file.path.ends_with(".py") || file.path.ends_with(".ts"));
    let text = file.text.split("\n__all__ = [").next().unwrap_or("");
    let lines = text.lines().enumerate().filter(move |_| shipped);
    let quoted = lines.flat_map(|(at, line)| line.split('"').map(move |text| (at.saturating_add(1), text)));
    quoted
        .filter(|(_, text)| is_code(text) && !NO_CODES_OF_LIBRARIES.contains(text))
        .map(|(line, text)| (file.path.as_str(), line, text))
}

fn is_code(text: &str) -> bool {
    let words: Vec<&str> = text.split('_').collect();
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_variable = matches!(words.first(), Some(&"ENVOI" | &"XDG" | &"LC" | &"OTEL" | &"CARGO"));
    let looks_so = words.len() > 1 && words.iter().all(is_word) && !is_variable && !NO_CODES.contains(&text);
    looks_so || ONE_WORD.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::{super::bans::sources, *};

    fn told(files: &[(&str, &str)]) -> String {
        let tree = Tree::of(files);
        check(&tree, &sources(&tree)).iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn a_code_without_a_page_is_reported() {
        let told = told(&[("crates/a/src/x.rs", "//! x\nfn f() { refuse(\"STORE_LOST\") }")]);
        assert!(told.starts_with("crates/a/src/x.rs:2: the code `STORE_LOST` has no page"), "{told}");
    }

    #[test]
    fn a_code_of_a_library_needs_a_page_too() {
        let library =
            ("sdk/python/src/envoi/x.py", "CODE = \"SKILL_LOST\"\n__all__ = [\n    \"MAX_BYTES\",\n]\n");
        assert!(
            told(&[library]).starts_with("sdk/python/src/envoi/x.py:1: the code `SKILL_LOST` has no page")
        );
        assert_eq!(told(&[library, ("spec/errors/SKILL_LOST.md", "# SKILL_LOST\n")]), "");
        assert_eq!(told(&[("sdk/python/tests/x.py", "CODE = \"SKILL_LOST\"\n")]), "");
    }

    #[test]
    fn a_page_of_an_unknown_code_is_reported() {
        assert!(told(&[("spec/errors/OLD_CODE.md", "# OLD_CODE\n")]).contains("nothing says this code"));
        assert_eq!(told(&[("spec/errors/BUDGET_OVERRUN.md", "# BUDGET_OVERRUN\n")]), "");
    }

    #[test]
    fn a_page_is_titled_by_its_code() {
        let files = [("spec/errors/A_B.md", "# B_A\n"), ("crates/a/src/x.rs", "\"A_B\"")];
        assert!(told(&files).contains("does not begin with `# A_B`"));
    }

    #[test]
    fn words_of_a_protocol_of_others_are_no_codes_where_they_are_kept() {
        let source = "//! x\nfn f() { g(\"TASK_NOT_FOUND\") }";
        assert_eq!(told(&[("crates/a2a/src/v1/enums.rs", source)]), "");
        assert!(told(&[("crates/a2a/src/v1.rs", source)]).contains("TASK_NOT_FOUND"));
    }

    #[test]
    fn variables_and_texts_of_tests_are_no_codes() {
        let source = "#[test]\nfn t() { f(\"MADE_UP\") }\n";
        assert_eq!(told(&[("crates/a/src/x.rs", source)]), "");
        assert_eq!(
            told(&[("crates/a/src/x.rs", "f(\"ENVOI_HOME\", \"NO_COLOR\", \"PATH\", \"A_b\", \"_\")")]),
            ""
        );
        assert!(told(&[("crates/a/src/x.rs", "f(\"CANCELLING\")")]).contains("CANCELLING"));
    }
}
