//! Puts the pages of `spec/errors/` into the binary, for `envoi explain`, and what it is built from, for `envoi --version`.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    version()?;
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

/// A release says what it is built from: `packaging/build.sh` sets the variable. It is not read from git here, because then each
/// commit would build the crate again.
fn version() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=ENVOI_BUILT_FROM");
    let version = env::var("CARGO_PKG_VERSION").map_err(io::Error::other)?;
    let from = env::var("ENVOI_BUILT_FROM").unwrap_or_else(|_| "development build".to_owned());
    println!("cargo::rustc-env=ENVOI_VERSION={version} ({from})");
    Ok(())
}
