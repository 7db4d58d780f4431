//! Puts the pages of `spec/errors/` into the binary, for `envoi explain`.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let pages = Path::new(&manifest).join("../../spec/errors");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut names: Vec<_> =
        fs::read_dir(&pages)?.collect::<Result<Vec<_>, _>>()?.iter().map(fs::DirEntry::path).collect();
    names.sort();
    let entry = |path: &Path| {
        let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        format!("({code:?}, include_str!({:?})),\n", path.display().to_string())
    };
    let entries: String =
        names.iter().filter(|path| path.extension().is_some_and(|e| e == "md")).map(|p| entry(p)).collect();
    let code = format!(
        "/// Code and page of each error.\npub(crate) const PAGES: &[(&str, &str)] = &[\n{entries}];\n"
    );
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("error_pages.rs"), code)
}
