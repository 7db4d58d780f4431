//! Masks the events of a program and writes them to their file.
//!
//! A text may go on in the next line. Lines are therefore held until the text is complete, and then masked together:
//! a secret that is split over two lines would not be masked otherwise.

use crate::{Mask, files::KeptEvents};
use envoi_preset::{Part, ProgramLine, with_whole_text};
use std::{io, mem};

/// Longest text that is held. A longer one is masked in pieces.
const MOST_HELD_BYTES: usize = 1024 * 1024;

/// See the module documentation.
pub(crate) struct Events<'m> {
    file: KeptEvents,
    mask: &'m dyn Mask,
    held: Vec<ProgramLine>,
    held_bytes: usize,
}

impl<'m> Events<'m> {
    pub(crate) fn new(file: KeptEvents, mask: &'m dyn Mask) -> Self {
        Self { file, mask, held: Vec::new(), held_bytes: 0 }
    }

    /// Takes the next line. Returns true if the file has just become full.
    pub(crate) fn keep(&mut self, line: &ProgramLine) -> io::Result<bool> {
        let goes_on = self
            .held
            .last()
            .is_none_or(|last| mem::discriminant(&last.part) == mem::discriminant(&line.part));
        let mut is_full = false;
        if !goes_on || self.held_bytes > MOST_HELD_BYTES {
            is_full = self.flush()?;
        }
        self.held_bytes = self.held_bytes.saturating_add(line.raw.len());
        self.held.push(line.clone());
        if line.part == Part::Whole || !self.mask.hides() {
            is_full |= self.flush()?;
        }
        Ok(is_full)
    }

    /// Writes the held lines. Returns true if the file has just become full.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        self.held_bytes = 0;
        let held = mem::take(&mut self.held);
        let mut is_full = false;
        for line in self.masked(&held) {
            is_full |= self.file.keep(&line)?;
        }
        Ok(is_full)
    }

    fn masked(&self, held: &[ProgramLine]) -> Vec<String> {
        let Some(first) = held.first() else { return Vec::new() };
        let one_by_one = || held.iter().map(|line| self.mask.text(&line.raw)).collect();
        match first.part {
            Part::Whole => one_by_one(),
            Part::Text => {
                let lines: Vec<&str> = held.iter().map(|line| line.raw.as_str()).collect();
                vec![self.mask.text(&lines.join("\n"))]
            }
            Part::Piece(_) => {
                let pieces = held.iter().filter_map(|line| match &line.part {
                    Part::Piece(piece) => Some(piece.as_str()),
                    Part::Whole | Part::Text => None,
                });
                let whole: String = pieces.collect();
                let masked = self.mask.text(&whole);
                match masked == whole {
                    true => one_by_one(),
                    false => vec![self.mask.text(&with_whole_text(&first.raw, &masked))],
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use envoi_contract::json::Value;
    use envoi_preset::{Masking, Preset, Reading};

    struct Hides(bool);

    impl Mask for Hides {
        fn text(&self, text: &str) -> String {
            if self.0 {
                text.replace("hunter2\nhunter3", "***").replace("s3cret", "***")
            } else {
                text.to_owned()
            }
        }

        fn value(&self, value: &Value) -> Value {
            value.clone()
        }

        fn hides(&self) -> bool {
            self.0
        }
    }

    const LINES: &str = "hunter2\nhunter3\n\
        {\"type\":\"init\",\"model\":\"m s3cret\"}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"It is s3c\",\"delta\":true}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ret.\",\"delta\":true}\n\
        {\"type\":\"tool_use\"}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"No\",\"delta\":true}\n\
        {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ne.\",\"delta\":true}\n";

    /// Returns what is kept of [`LINES`], and whether a line was already written before the end.
    fn kept(hides: bool) -> (Vec<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mask = Hides(hides);
        let mut events = Events::new(KeptEvents::open(&path).unwrap(), &mask);
        let show = |text: &str| mask.text(text);
        let mut reading = Reading::of(Preset::Gemini, Masking::with(&show));
        for line in reading.push(LINES.as_bytes()) {
            assert!(!events.keep(&line).unwrap());
        }
        let before = files::text(&path).unwrap();
        events.flush().unwrap();
        let after = files::text(&path).unwrap();
        (after.lines().map(str::to_owned).collect(), before == after)
    }

    #[test]
    fn a_secret_that_goes_on_in_the_next_line_is_masked() {
        let (kept, _) = kept(true);
        let expected = [
            "***",
            r#"{"type":"init","model":"m ***"}"#,
            r#"{"type":"message","role":"assistant","content":"It is ***.","delta":true}"#,
            r#"{"type":"tool_use"}"#,
            r#"{"type":"message","role":"assistant","content":"No","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"ne.","delta":true}"#,
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn without_a_secret_each_event_is_kept_at_once_as_it_is() {
        let (kept, was_there) = kept(false);
        assert_eq!(kept.join("\n") + "\n", LINES);
        assert!(was_there);
    }
}
