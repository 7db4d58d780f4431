//! Where a command leaves its report, and how the report is taken over.
//!
//! Does not look inside: whether the file is a report at all is for the reader of contract 4 to say.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dir::AttemptDir;
use crate::mask::{Masker, Secrets};
use crate::record::FileRef;
use crate::spec::{Command, Spec};
use crate::{durable, plain, text};

/// No document of the contracts may be larger (CONTRACTS §0). A larger file behind `--output` is some other output.
pub(crate) const LARGEST_REPORT_BYTES: u64 = 16 * 1024 * 1024;

/// What is read of a report at most.
const CUT_AT_BYTES: u64 = LARGEST_REPORT_BYTES + 1;

/// What tells a file that was written anew from one that was left by an earlier visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    sha256: String,
    modified_s: i64,
    modified_ns: i64,
}

/// The state of the file that the command names by `--output`; none if it names none or there is none.
pub(crate) fn stamp(spec: &Spec) -> io::Result<Option<Stamp>> {
    let Some(path) = output_option_file(spec) else { return Ok(None) };
    let metadata = fs::metadata(&path)?;
    if metadata.len() > LARGEST_REPORT_BYTES {
        return Ok(None);
    }
    let sha256 = durable::measure(&path)?.sha256;
    Ok(Some(Stamp { sha256, modified_s: metadata.mtime(), modified_ns: metadata.mtime_nsec() }))
}

/// Brings the report, if there is one, to its place in the attempt's folder, masked and on disk.
///
/// One that is too large is cut to one byte over the limit, so that it is still there and still too large for its reader.
pub(crate) fn collect(
    dir: &AttemptDir,
    spec: &Spec,
    before: Option<&Stamp>,
    secrets: &Secrets,
) -> io::Result<Option<FileRef>> {
    if let Some(taken) = take_report(&dir.report(), &dir.report(), secrets)? {
        return Ok(Some(taken));
    }
    let written = stamp(spec)?.filter(|now| Some(now) != before);
    match (written, output_option_file(spec)) {
        (Some(_), Some(path)) => take_report(&path, &dir.report(), secrets),
        _ => Ok(None),
    }
}

/// Puts a masked copy of a report at `to`. Where a secret stands in it, its values are masked, so that it stays the document
/// that it is: masked as bytes, a number or the name of a member could break it.
fn take_report(from: &Path, to: &Path, secrets: &Secrets) -> io::Result<Option<FileRef>> {
    if !secrets.is_empty()
        && let Some(source) = text::open_if_there(from)?
    {
        let mut document = Vec::new();
        source.take(CUT_AT_BYTES).read_to_end(&mut document)?;
        if (document.len() as u64) < CUT_AT_BYTES {
            durable::put(to, &secrets.mask_document(document))?;
            return file_ref(to).map(Some);
        }
    }
    take_over(from, to, secrets, CUT_AT_BYTES)
}

/// Puts a masked copy of the beginning of `from`, which may be the same, at `to`; none if `from` is no regular file. The
/// copy of a file that has `cut_at_bytes` or more has exactly so many, though masking makes it shorter: NULs fill it up.
pub(crate) fn take_over(
    from: &Path,
    to: &Path,
    secrets: &Secrets,
    cut_at_bytes: u64,
) -> io::Result<Option<FileRef>> {
    let Some(source) = text::open_if_there(from)? else { return Ok(None) };
    let mut source = source.take(cut_at_bytes);
    let temp = durable::temp_beside(to);
    let mut target = plain::create(&temp)?;
    let (mut masker, mut masked) = (Masker::new(secrets), Vec::new());
    durable::pieces(&mut source, |piece| {
        masker.push(piece, &mut masked);
        target.write_all(&masked)?;
        masked.clear();
        Ok(())
    })?;
    masker.finish(&mut masked);
    target.write_all(&masked)?;
    if source.limit() == 0 {
        target.set_len(cut_at_bytes)?;
    }
    target.sync_all()?;
    fs::rename(&temp, to)?;
    file_ref(to).map(Some)
}

/// Refers to a file that stands directly in the attempt's folder.
pub(crate) fn file_ref(path: &Path) -> io::Result<FileRef> {
    let measure = durable::measure(path)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(FileRef { path: name, bytes: measure.bytes, sha256: measure.sha256 })
}

/// The file behind `--output`, if there is one and it is inside the workspace.
fn output_option_file(spec: &Spec) -> Option<PathBuf> {
    let named = output_option(&spec.command)?;
    let path = spec.cwd.join(named).canonicalize().ok()?;
    let workspace = spec.workspace.canonicalize().ok()?;
    (path.starts_with(workspace) && path.is_file()).then_some(path)
}

/// The value of `--output` in a list-form command; of several the last, as most programs read it.
fn output_option(command: &Command) -> Option<&str> {
    let Command::Exec { argv } = command else { return None };
    let mut value = None;
    let mut arguments = argv.iter().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--output" {
            value = arguments.next().map(String::as_str).or(value);
        } else if let Some(joined) = argument.strip_prefix("--output=") {
            value = Some(joined);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::output_option;
    use crate::spec::Command;

    #[test]
    fn the_output_option_is_read_in_list_form_only() {
        let rows: &[(&[&str], Option<&str>)] = &[
            (&["skill", "--output", "r.json"], Some("r.json")),
            (&["skill", "--output=r.json", "x"], Some("r.json")),
            (&["skill", "--output", "a", "--output", "b"], Some("b")),
            (&["skill", "--output"], None),
            (&["--output", "x"], None),
            (&["skill", "--outputs", "x"], None),
        ];
        for (argv, expected) in rows {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(output_option(&Command::Exec { argv }), *expected);
        }
        assert_eq!(output_option(&Command::Shell { script: "skill --output r.json".to_owned() }), None);
    }
}
