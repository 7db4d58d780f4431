//! The step's text, from `$ENVOI_OUTPUT` or stdout.

use std::{fs, io, path::Path};

use crate::{
    attempt::{record::FileRef, spec::Spec},
    output::{
        cleaning, report,
        stream::Kept,
        text::{self, Text},
    },
    supervisor::Attempt,
};

/// A larger `$ENVOI_OUTPUT` is not kept as a whole. The bound is that of a stream.
const MOST_OUTPUT_BYTES: u64 = Spec::STREAM_CAP_BYTES;

const BYTES_OF_A_MIB: u64 = 1024 * 1024;

impl Attempt {
    /// Finds the step's text: `$ENVOI_OUTPUT` if the command wrote a file there, else stdout. Writes it to a
    /// file of its own only if it differs from that file. Also returns whether it is only a part of the
    /// command's output.
    pub(super) fn text(
        &self,
        stdout: &FileRef,
        kept: &Kept,
        warnings: &mut Vec<String>,
    ) -> io::Result<(FileRef, bool)> {
        let output = self.dir.output();
        let mut of_stdout = false;
        let (Text { content: text, is_cut }, source) = match self.text_of(&output)? {
            Some(text) if is_larger(&output, MOST_OUTPUT_BYTES) => {
                // A masked copy of all of it could fill the disk, and take long.
                envoi_durable::put(&output, text.content.as_bytes())?;
                let most = MOST_OUTPUT_BYTES >> 20;
                warnings.push(format!("`$ENVOI_OUTPUT` has more than {most} MiB: only its text is kept"));
                (text, Some(report::file_ref(&output)?))
            }
            Some(text) => {
                let most_bytes = MOST_OUTPUT_BYTES.saturating_add(1);
                (text, report::take_over(&output, &output, &self.secrets, most_bytes)?)
            }
            None => {
                if fs::symlink_metadata(&output).is_ok() {
                    warnings
                        .push("`$ENVOI_OUTPUT` is not a regular file: stdout is used as the text".to_owned());
                }
                of_stdout = true;
                (self.text_of(&self.dir.stdout())?.unwrap_or_default(), Some(stdout.clone()))
            }
        };
        let lacks_some = of_stdout && (kept.left_out_bytes > 0 || kept.failed.is_some());
        if is_cut || lacks_some {
            let name = if of_stdout { "stdout" } else { "`$ENVOI_OUTPUT`" };
            warnings.push(self.cut_text(name, is_cut));
        }
        let own = self.dir.text();
        let file = match source.filter(|source| source.holds(text.as_bytes())) {
            Some(source) => {
                // The command has put this file there. It would be taken for the text, and is not masked.
                if fs::symlink_metadata(&own).is_ok() {
                    cleaning::remove(&own)?;
                }
                source
            }
            None => {
                envoi_durable::put(&own, text.as_bytes())?;
                report::file_ref(&own)?
            }
        };
        Ok((file, is_cut || lacks_some))
    }

    /// A warning about a text that is only part of its source.
    fn cut_text(&self, source: &str, is_too_large: bool) -> String {
        let most_bytes = self.spec.text_cap_bytes;
        let why = match (is_too_large, most_bytes % BYTES_OF_A_MIB) {
            (true, 0) => {
                format!("has more than {} MiB, and only its end is kept", most_bytes / BYTES_OF_A_MIB)
            }
            (true, _) => format!("has more than {most_bytes} bytes, and only its end is kept"),
            (false, _) => "is not kept in full".to_owned(),
        };
        format!("the step's text is cut: {source} {why}; a status, a route or data in it does not count")
    }

    fn text_of(&self, path: &Path) -> io::Result<Option<Text>> {
        // If the file is not kept as a whole, only its end is read: more than the text, because masking and
        // escape sequences shorten it.
        let most_bytes = match is_larger(path, MOST_OUTPUT_BYTES) {
            true => self.spec.text_cap_bytes.saturating_mul(4),
            false => MOST_OUTPUT_BYTES,
        };
        text::of_file(path, &self.secrets, self.spec.text_cap_bytes, most_bytes)
    }
}

fn is_larger(path: &Path, bytes: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.len() > bytes)
}
