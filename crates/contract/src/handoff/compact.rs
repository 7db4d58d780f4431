//! Writes a hand-off on one line, and checks whether its reader would accept it. Both work without building a JSON
//! tree, because each step of a run needs them.

use alloc::string::{String, ToString};

use super::{
    HANDOFF_INVALID, Handoff, MAX_SUMMARY_SCALARS, artifact, artifact_pointer, check_id, checked_error,
    has_content, too_long,
};
use crate::error::Diagnostic;
use crate::json::{CompactObject, MAX_U53, Value};
use crate::quoted::shorten;
use crate::time;

/// The members of a hand-off.
const KNOWN: [&str; 17] = [
    "step_id",
    "flow_key",
    "run_id",
    "routing_signal",
    "summary",
    "artifacts",
    "status",
    "error",
    "duration_ms",
    "timestamp",
    "file_changes",
    "prompt_hash",
    "verification_passed",
    "verification_details",
    "routing_audit",
    "assumptions_made",
    "decisions_made",
];

impl Handoff {
    /// The hand-off as JSON on one line. Equals `to_value().compact()`, but builds no tree.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        let mut object = CompactObject::begin(&mut out);
        object.string("step_id", &self.step_id);
        object.string("flow_key", &self.flow_key);
        object.string("run_id", &self.run_id);
        self.routing_signal.write_compact(object.name("routing_signal"));
        object.string("summary", &self.summary);
        let mut artifacts = CompactObject::begin(object.name("artifacts"));
        self.artifacts.iter().for_each(|(name, path)| artifacts.string(name, path));
        artifacts.end();
        object.string("status", self.status.word());
        object.string_or_null("error", self.error.as_deref());
        object.name("duration_ms").push_str(&self.duration_ms.to_string());
        if let Some(timestamp) = self.timestamp.as_deref().filter(|text| !text.is_empty()) {
            object.string("timestamp", timestamp);
        }
        if has_content(&self.file_changes) {
            object.value("file_changes", &self.file_changes);
        }
        if let Some(hash) = self.prompt_hash.as_deref().filter(|text| !text.is_empty()) {
            object.string("prompt_hash", hash);
        }
        if let Some(passed) = self.verification_passed {
            object.bool("verification_passed", passed);
        }
        for (name, value) in [
            ("verification_details", &self.verification_details),
            ("routing_audit", &self.routing_audit),
            ("assumptions_made", &self.assumptions_made),
            ("decisions_made", &self.decisions_made),
        ] {
            if has_content(value) {
                object.value(name, value);
            }
        }
        // A known member that is left out here may be in `unknown`; `with_unknown` handles it in the same way.
        let unknown = self.unknown.iter().filter(|(name, _)| !self.is_written(name));
        unknown.for_each(|(name, value)| object.value(name, value));
        object.end();
        out
    }

    /// Checks that [`Handoff::decode`] would accept the output of [`Handoff::to_value`].
    ///
    /// # Errors
    /// As [`Handoff::decode`].
    pub fn check(&self) -> Result<(), Diagnostic> {
        for (name, id) in [("step_id", &self.step_id), ("flow_key", &self.flow_key), ("run_id", &self.run_id)]
        {
            check_id(name, id)?;
        }
        self.routing_signal.check().map_err(|refusal| refusal.under(HANDOFF_INVALID, "/routing_signal"))?;
        // A text never has more scalars than bytes, so a short one need not be counted.
        if self.summary.len() > MAX_SUMMARY_SCALARS {
            too_long(&self.summary)?;
        }
        let outside = |(_, path): &(&str, &String)| !artifact::is_inside(path);
        if let Some((name, path)) = self.artifacts.iter().find(outside) {
            let expected = "a path relative to the run's directory";
            return Err(refusal(&artifact_pointer(name), expected, path));
        }
        checked_error(self.status, self.error.clone().filter(|error| !error.is_empty()))?;
        if self.duration_ms > MAX_U53 {
            return Err(refusal("/duration_ms", "an integer up to 2^53 - 1", &self.duration_ms.to_string()));
        }
        if let Some(name) = self.unknown.keys().find(|name| KNOWN.contains(name)) {
            return Err(refusal("", "members that this contract does not know", name));
        }
        match self.timestamp.as_deref() {
            Some(text) if !text.is_empty() && time::passed_on(text).is_none() => {
                Err(refusal("/timestamp", "an RFC 3339 time", text))
            }
            _ => Ok(()),
        }
    }

    fn is_written(&self, name: &str) -> bool {
        KNOWN.contains(&name)
            && match name {
                "timestamp" => self.timestamp.as_deref().is_some_and(|text| !text.is_empty()),
                "prompt_hash" => self.prompt_hash.as_deref().is_some_and(|text| !text.is_empty()),
                "verification_passed" => self.verification_passed.is_some(),
                "file_changes" => has_content(&self.file_changes),
                "verification_details" => has_content(&self.verification_details),
                "routing_audit" => has_content(&self.routing_audit),
                "assumptions_made" => has_content(&self.assumptions_made),
                "decisions_made" => has_content(&self.decisions_made),
                _ => true,
            }
    }
}

fn refusal(pointer: &str, expected: &str, found: &str) -> Diagnostic {
    Diagnostic::of_value(HANDOFF_INVALID, pointer, expected, &Value::from(shorten(found, 60)))
}
