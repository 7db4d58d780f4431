//! Puts the pages of `spec/errors/` and `docs/` into the binary, for `envoi explain` and `envoi help`, and what it is built from, for `envoi --version`.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    version()?;
    pages("spec/errors", "error_pages.rs", "PAGES", "Code and page of each error.")?;
    pages("docs", "documents.rs", "DOCUMENTS", "Name and text of each document.")
}

/// Writes the code of a list of the pages in a folder of the repository.
fn pages(folder: &str, file: &str, list: &str, about: &str) -> io::Result<()> {
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let pages = Path::new(&manifest).join("../..").join(folder);
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
    let code = format!("/// {about}\npub(crate) const {list}: &[(&str, &str)] = &[\n{entries}];\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join(file), code)
}

/// A release says what it is built from: `packaging/build.sh` sets the variable. It is not read from git here, because then each
/// commit would build the crate again.
fn version() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=ENVOI_BUILT_FROM");
    let version = env::var("CARGO_PKG_VERSION").map_err(io::Error::other)?;
    let from = env::var("ENVOI_BUILT_FROM").unwrap_or_else(|_| "development build".to_owned());
    println!("cargo::rustc-env=ENVOI_VERSION={version} ({from})");
    Ok(())
}
