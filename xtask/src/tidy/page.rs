//! Checks the layers of the web page, as `layers` and `circles` do for crates: a file in `page/src` imports
//! nothing of a higher layer, and no files import each other in a circle.

use super::{
    circles::reaches,
    problem::Problem,
    tree::{File, Tree},
};
use std::collections::{BTreeMap, BTreeSet};

const SOURCES: &str = "page/src/";

/// The folders in `page/src`, the lowest first.
const LAYERS: &[&str] = &["wire", "model", "state", "parts", "views"];

/// The file above all layers.
const MAIN: &str = "main";

/// An import of another file of the page.
struct Import {
    /// The path of that file in `page/src`, without its ending.
    stem: String,
    /// From 1.
    line: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let files: BTreeMap<&str, &File> =
        tree.files.iter().filter_map(|file| Some((stem(&file.path)?, file))).collect();
    let imports: BTreeMap<&str, Vec<Import>> =
        files.iter().map(|(stem, file)| (*stem, imports(stem, &file.text))).collect();
    let arrows: BTreeMap<&str, BTreeSet<&str>> =
        imports.iter().map(|(stem, imports)| (*stem, targets(imports))).collect();
    let mut problems = Vec::new();
    for (stem, file) in &files {
        let own_imports = imports.get(stem).map_or(&[][..], Vec::as_slice);
        problems.extend(upward(stem, &file.path, own_imports));
        if reaches(&arrows, *stem) {
            let message =
                "the file imports one that, through others, imports it; move what both need below both";
            problems.push(Problem::new(&file.path, 1, message));
        }
    }
    problems
}

/// The imports of a file that lead to a higher layer.
fn upward(stem: &str, path: &str, imports: &[Import]) -> Vec<Problem> {
    let Some(level) = level(stem) else {
        let message = format!("`{stem}` has no layer in `{SOURCES}`; move it into {}", LAYERS.join(", "));
        return vec![Problem::new(path, 1, message)];
    };
    let is_higher = |import: &&Import| self::level(&import.stem).is_some_and(|target| target > level);
    let problem = |import: &Import| {
        let message = format!("`{stem}` is below `{}` and does not know it", import.stem);
        Problem::new(path, import.line, message)
    };
    imports.iter().filter(is_higher).map(problem).collect()
}

/// The path of a source file in `page/src`, without its ending.
fn stem(path: &str) -> Option<&str> {
    let path = path.strip_prefix(SOURCES)?;
    path.strip_suffix(".tsx").or_else(|| path.strip_suffix(".ts"))
}

/// The number of a file's layer, 0 for the lowest. `None` if the file is in no layer.
fn level(stem: &str) -> Option<usize> {
    if stem == MAIN {
        return Some(LAYERS.len());
    }
    let (folder, _) = stem.split_once('/')?;
    LAYERS.iter().position(|layer| *layer == folder)
}

fn imports(stem: &str, text: &str) -> Vec<Import> {
    let folder = stem.rsplit_once('/').map_or("", |(folder, _)| folder);
    let import = |(number, line)| Some(Import { stem: resolved(folder, imported(line)?)?, line: number });
    (1..).zip(text.lines()).filter_map(import).collect()
}

fn targets(imports: &[Import]) -> BTreeSet<&str> {
    imports.iter().map(|import| import.stem.as_str()).collect()
}

/// The relative path that a line imports or exports from.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let is_comment = line.starts_with("//") || line.starts_with('*') || line.starts_with("/*");
    let at = line.find("\"./").or_else(|| line.find("\"../")).filter(|_| !is_comment)?;
    let before = line.get(..at)?.trim_end();
    let is_import = ["from", "import", "import("].iter().any(|word| before.ends_with(word));
    line.get(at..)?.split('"').nth(1).filter(|_| is_import)
}

/// The file of an import in `page/src`, without its ending. `None` if the import leads out of `page/src`, or
/// to no script.
fn resolved(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.strip_suffix(".js")?.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("page/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found = check(&Tree::of(&files));
        found.iter().map(|problem| problem.to_string().replace("page/src/", "")).collect()
    }

    #[test]
    fn a_lower_layer_does_not_import_a_higher_one() {
        for (path, text, count) in [
            ("state/a.ts", "import { b } from \"../wire/b.js\";", 0),
            ("state/a.ts", "import type { B } from \"../views/b.js\";", 1),
            ("state/a.ts", "import {\n  b,\n} from \"../parts/b.js\";", 1),
            ("state/a.ts", "export { b } from \"../parts/b.js\";", 1),
            ("state/a.ts", "import \"../views/b.js\";", 1),
            ("state/a.ts", "const b = await import(\"../views/b.js\");", 1),
            ("state/a.ts", "import { main } from \"../main.js\";", 1),
            ("state/a.ts", "import { b } from \"./b.js\";\nimport { c } from \"preact\";", 0),
            ("state/a.ts", "// import { b } from \"../views/b.js\";", 0),
            ("state/a.ts", "const path = \"../views/b.js\";", 0),
            ("views/a.tsx", "import { b } from \"../parts/b.js\";", 0),
            ("main.tsx", "import { a } from \"./views/a.js\";", 0),
            ("other.ts", "", 1),
            ("other/a.ts", "", 1),
            ("app.css", "", 0),
        ] {
            assert_eq!(problems(&[(path, text)]).len(), count, "{path}: {text}");
        }
        let found = problems(&[("wire/a.ts", "\nimport { b } from \"../model/b.js\";")]);
        assert_eq!(found, ["wire/a.ts:2: `wire/a` is below `model/b` and does not know it"]);
    }

    #[test]
    fn files_do_not_import_each_other_in_a_circle() {
        let (a, b, c) = ("model/a.ts", "model/b.tsx", "model/c.ts");
        let text = |name: &str| format!("import {{ x }} from \"./{name}.js\";");
        let circle = [(a, text("b")), (b, text("c")), (c, text("a"))];
        let circle: Vec<(&str, &str)> = circle.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert_eq!(problems(&circle).len(), 3);
        assert!(problems(&[(a, &text("b")), (b, &text("c")), (c, "")]).is_empty());
    }
}
