//! Every complete flow in a page of the documentation is accepted by `envoi check`.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn pages(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", ".envoi", "node_modules"].contains(&name.as_str()) {
                pages(&entry.path(), found);
            }
        } else if name.ends_with(".md") {
            found.push(entry.path());
        }
    }
}

/// Contents of the ```` ```yaml ```` fences, with the line where each begins.
fn fences(text: &str) -> Vec<(usize, String)> {
    let mut fences = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        match &mut open {
            Some((_, body)) if line.trim_end() != "```" => body.push_str(&format!("{line}\n")),
            Some(_) => fences.extend(open.take()),
            None if line.trim_end() == "```yaml" => open = Some((at + 2, String::new())),
            None => {}
        }
    }
    fences
}

#[test]
fn every_flow_in_the_documentation_can_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    pages(root, &mut found);
    let mut checked = 0;
    for page in found {
        let text = fs::read_to_string(&page).unwrap();
        let fences = fences(&text);
        // A flow that another one on the page refers to has its file name in its first line.
        let file = |body: &String| Some((body.lines().next()?.strip_prefix("# ")?.to_owned(), body.clone()));
        let parts: BTreeMap<String, String> = fences.iter().filter_map(|(_, body)| file(body)).collect();
        for (line, flow) in
            fences.into_iter().filter(|(_, body)| body.lines().any(|line| line.starts_with("flow:")))
        {
            let name = format!("{}:{line}", page.strip_prefix(root).unwrap().display());
            if let Err(report) = envoi_flow::load_with(&name, &flow, &parts) {
                panic!("{name} is no flow:\n{}", report.render(envoi_flow::Colour::Never));
            }
            checked += 1;
        }
    }
    assert!(checked > 0, "no page shows a whole flow: this test looks at the wrong place");
}
