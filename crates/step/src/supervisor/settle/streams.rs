//! What the command has printed, as the record names it.

use std::{fs, io, path::Path};

use crate::{
    attempt::record::{FileRef, Stream},
    output::{report, stream::Kept},
    supervisor::Attempt,
};

/// More than the line in a stream that reports the omitted bytes.
const LEFT_OUT_LINE_BYTES: u64 = 100;

impl Attempt {
    /// The current lengths of the files of stdout and stderr. A file may exceed the cap by the line that
    /// reports the omitted bytes; a larger file is an error.
    pub(super) fn stream_lengths(&self) -> io::Result<[u64; 2]> {
        let most_bytes = self.spec.stream_cap_bytes.saturating_add(LEFT_OUT_LINE_BYTES);
        let length = |path: std::path::PathBuf| {
            let bytes = fs::symlink_metadata(&path).map_or(0, |found| found.len());
            if bytes > most_bytes {
                let why = format!("`{}` holds more than was written to it", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            Ok(bytes)
        };
        Ok([length(self.dir.stdout())?, length(self.dir.stderr())?])
    }
}

/// Refers to the file of a stream. It is missing if the command never ran.
pub(super) fn stream(path: &Path, kept: &Kept, bytes_before_masking: u64) -> io::Result<Stream> {
    let is_gone = fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let name = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = if is_gone { FileRef::of_nothing(name()) } else { report::file_ref(path)? };
    // Bytes that the command wrote to the file directly count too.
    let in_file = if kept.left_out_bytes == 0 { bytes_before_masking } else { 0 };
    Ok(Stream { total_bytes: kept.total_bytes.max(in_file), file })
}

/// A sentence for each thing that is missing from a stream.
pub(super) fn warnings(name: &str, kept: &Kept) -> impl Iterator<Item = String> {
    let cut = (kept.left_out_bytes > 0).then(|| {
        format!(
            "{name} is cut: of {} bytes the first and the last half of the limit are kept, {} bytes between them are left out \
             (`output.stream` in the configuration)",
            kept.total_bytes, kept.left_out_bytes
        )
    });
    let failed = kept.failed.as_ref().map(|error| format!("{name} could not be kept in full: {error}"));
    cut.into_iter().chain(failed)
}
