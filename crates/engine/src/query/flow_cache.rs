//! Flows that were parsed, so that a flow is parsed once, however many requests and runs use it.
//!
//! A flow follows from its texts, their paths, the name of its file and the version of the language; the path of that file appears only in
//! reports. The cache knows a flow by a digest of these. So a damaged text is parsed anew and refused, also while the whole one is known. A
//! flow that cannot be parsed is not kept.

use envoi_contract::digest::Digest;
use envoi_flow::{Files, LANGUAGE, Loaded, Report};
use envoi_kernel::Flow;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The texts of all flows that are kept have at most so many bytes together. With more, all are forgotten, and parsed again
/// when they are needed.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// The flows of this process.
static FLOWS: FlowCache = FlowCache::new(MAX_TEXT_BYTES);

/// A flow that was parsed.
#[derive(Debug, Clone)]
pub struct ParsedFlow {
    /// The flow.
    pub flow: Arc<Flow>,
    /// The version of the language in which it is written.
    pub language: u32,
    /// The texts of the flows that it names, directly or not, by their paths.
    pub parts: Arc<BTreeMap<String, String>>,
}

/// See the module.
pub(crate) struct FlowCache {
    max_text_bytes: usize,
    state: Mutex<State>,
}

struct State {
    known: BTreeMap<Digest, ParsedFlow>,
    text_bytes: usize,
    /// How many flows were parsed, whether or not that succeeded.
    parses: u64,
}

/// The flow of these texts, parsed now or earlier by this process.
///
/// `language` is the version of the language to which the flow was pinned. `name` is how messages call the file, and from its folder the
/// paths of `parts` begin.
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
///
/// let text = "flow: hello\nsteps:\n  - id: greet\n    run: [echo, hello]\n";
/// let parse = |name| envoi_engine::parsed_flow(envoi_flow::LANGUAGE, name, text, &BTreeMap::new());
/// let first = parse("flow.yaml").unwrap();
/// assert_eq!(first.flow.id.as_str(), "hello");
/// assert!(Arc::ptr_eq(&first.flow, &parse("/w/flow.yaml").unwrap().flow), "it is parsed once");
/// ```
///
/// # Errors
/// Everything that is wrong with it.
pub fn parsed_flow(
    language: u32,
    name: &str,
    text: &str,
    parts: &BTreeMap<String, String>,
) -> Result<ParsedFlow, Report> {
    FLOWS.parse(language, name, text, parts)
}

/// As [`parsed_flow`], of the newest language, with the words of `files` for what is missing: `files` has just what `parts` has.
///
/// # Errors
/// As [`parsed_flow`].
pub fn parsed_flow_of(
    name: &str,
    text: &str,
    parts: &BTreeMap<String, String>,
    files: &dyn Files,
) -> Result<ParsedFlow, Report> {
    FLOWS.parse_of(LANGUAGE, name, text, parts, files)
}

/// The flow of this text, of the newest language, and of files that may have changed: it is parsed now. [`parsed_flow`] knows it
/// from then on.
///
/// # Errors
/// As [`parsed_flow`].
pub fn flow_parsed_now(name: &str, text: &str, files: &dyn Files) -> Result<ParsedFlow, Report> {
    FLOWS.parse_now(LANGUAGE, name, text, files)
}

/// The cache of this process.
pub(super) fn of_process() -> &'static FlowCache {
    &FLOWS
}

impl FlowCache {
    pub(super) const fn new(max_text_bytes: usize) -> Self {
        Self { max_text_bytes, state: Mutex::new(State { known: BTreeMap::new(), text_bytes: 0, parses: 0 }) }
    }

    pub(super) fn parse(
        &self,
        language: u32,
        name: &str,
        text: &str,
        parts: &BTreeMap<String, String>,
    ) -> Result<ParsedFlow, Report> {
        self.parse_of(language, name, text, parts, parts)
    }

    /// `files` has just what `parts` has.
    fn parse_of(
        &self,
        language: u32,
        name: &str,
        text: &str,
        parts: &BTreeMap<String, String>,
        files: &dyn Files,
    ) -> Result<ParsedFlow, Report> {
        let key = key(language, name, text, parts);
        if let Some(known) = self.lock().known.get(&key) {
            return Ok(known.clone());
        }
        let parsed = self.parse_now(language, name, text, files)?;
        // There may be files that no flow names.
        if *parsed.parts != *parts {
            self.keep(key, parsed.clone(), bytes(text, parts));
        }
        Ok(parsed)
    }

    fn parse_now(
        &self,
        language: u32,
        name: &str,
        text: &str,
        files: &dyn Files,
    ) -> Result<ParsedFlow, Report> {
        // Without the lock: a large flow holds up no other. Two threads may parse the same flow then, which changes nothing.
        let loaded = envoi_flow::load_as(language, name, text, files);
        let mut state = self.lock();
        state.parses = state.parses.saturating_add(1);
        drop(state);
        let Loaded { flow, language, parts } = loaded?;
        let key = key(language, name, text, &parts);
        tracing::debug!(key = %key, "a flow is parsed");
        let bytes = bytes(text, &parts);
        let parsed = ParsedFlow { flow: Arc::new(flow), language, parts: Arc::new(parts) };
        self.keep(key, parsed.clone(), bytes);
        Ok(parsed)
    }

    fn keep(&self, key: Digest, parsed: ParsedFlow, bytes: usize) {
        let mut state = self.lock();
        state.text_bytes = state.text_bytes.saturating_add(bytes);
        if state.text_bytes > self.max_text_bytes {
            state.known.clear();
            state.text_bytes = bytes;
        }
        if state.known.insert(key, parsed).is_some() {
            state.text_bytes = state.text_bytes.saturating_sub(bytes);
        }
    }

    #[cfg(test)]
    pub(super) fn parses(&self) -> u64 {
        self.lock().parses
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(text: &str, parts: &BTreeMap<String, String>) -> usize {
    parts.values().map(String::len).fold(text.len(), usize::saturating_add)
}

/// Names and texts with their lengths, so that no two flows have the same key.
fn key(language: u32, name: &str, text: &str, parts: &BTreeMap<String, String>) -> Digest {
    let file = name.rsplit('/').next().unwrap_or(name);
    let texts =
        [file, text].into_iter().chain(parts.iter().flat_map(|(path, text)| [path.as_str(), text.as_str()]));
    let mut bytes = language.to_be_bytes().to_vec();
    for text in texts {
        bytes.extend_from_slice(&text.len().to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(id: &str) -> String {
        format!("flow: {id}\nsteps:\n  - id: a\n    run: [\"true\"]\n")
    }

    fn parts(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("part.yaml".to_owned(), text.to_owned())])
    }

    #[test]
    fn the_same_texts_are_parsed_once() {
        let cache = FlowCache::new(MAX_TEXT_BYTES);
        let none = BTreeMap::new();
        let first = cache.parse(LANGUAGE, "f.yaml", &flow("f"), &none).unwrap();
        for name in ["f.yaml", "/elsewhere/f.yaml"] {
            let again = cache.parse(LANGUAGE, name, &flow("f"), &none).unwrap();
            assert!(Arc::ptr_eq(&first.flow, &again.flow), "{name}");
        }
        assert_eq!(cache.parses(), 1);
        assert_eq!(*first.flow, envoi_flow::load("f.yaml", &flow("f")).unwrap().flow);
    }

    #[test]
    fn one_text_is_another_flow_in_another_version_of_the_language() {
        let cache = FlowCache::new(MAX_TEXT_BYTES);
        let text = "flow: f\nsteps:\n  - id: a\n    run: a; b\n";
        let versions =
            [1, 2].map(|language| cache.parse(language, "f.yaml", text, &BTreeMap::new()).unwrap());
        assert_ne!(versions[0].flow.steps, versions[1].flow.steps);
        assert_eq!(versions.map(|parsed| parsed.language), [1, 2]);
        assert!(cache.parse(LANGUAGE + 1, "f.yaml", text, &BTreeMap::new()).is_err());
    }

    #[test]
    fn whatever_differs_is_parsed_for_itself() {
        let cache = FlowCache::new(MAX_TEXT_BYTES);
        let outer = "flow: o\nsteps:\n  - id: a\n    flow: ./part.yaml\n";
        for (count, (name, text, part)) in (1_u64..).zip([
            ("f.yaml", outer, &flow("p")),
            ("g.yaml", outer, &flow("p")),
            ("g.yaml", outer, &flow("q")),
            ("g.yaml", flow("f").as_str(), &flow("q")),
        ]) {
            for _ in 0..2 {
                let parsed = cache.parse(LANGUAGE, name, text, &parts(part)).unwrap();
                let expected = envoi_flow::load_with(name, text, &parts(part)).unwrap();
                assert_eq!((&*parsed.flow, &*parsed.parts), (&expected.flow, &expected.parts));
            }
            assert_eq!(cache.parses(), count, "{name} {text} {part}");
        }
    }

    #[test]
    fn what_was_parsed_from_files_is_known_to_those_who_have_the_texts() {
        let cache = FlowCache::new(MAX_TEXT_BYTES);
        let outer = "flow: o\nsteps:\n  - id: a\n    flow: ./part.yaml\n";
        let mut files = parts(&flow("p"));
        files.insert("other.yaml".to_owned(), flow("other"));
        let first = cache.parse_now(LANGUAGE, "/w/f.yaml", outer, &files).unwrap();
        assert_eq!(*first.parts, parts(&flow("p")));
        let started = cache.parse(LANGUAGE, "f.yaml", outer, &first.parts).unwrap();
        assert!(Arc::ptr_eq(&first.flow, &started.flow));
        assert_eq!(cache.parses(), 1);
        // The files may have changed since.
        files.insert("part.yaml".to_owned(), flow("q"));
        let changed = cache.parse_now(LANGUAGE, "/w/f.yaml", outer, &files).unwrap();
        assert_ne!(changed.flow, first.flow);
        assert!(cache.parse(LANGUAGE, "f.yaml", outer, &BTreeMap::new()).is_err(), "without its files");
    }

    #[test]
    fn a_flow_that_cannot_be_parsed_is_refused_each_time() {
        let cache = FlowCache::new(MAX_TEXT_BYTES);
        for count in 1..3 {
            assert!(cache.parse(LANGUAGE, "f.yaml", "flow: f\n", &BTreeMap::new()).is_err());
            assert_eq!(cache.parses(), count);
        }
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let cache = FlowCache::new(flow("a").len() * 2);
        let none = BTreeMap::new();
        for (id, parses) in [("a", 1), ("b", 2), ("a", 2), ("c", 3), ("a", 4), ("c", 4)] {
            cache.parse(LANGUAGE, "f.yaml", &flow(id), &none).unwrap();
            assert_eq!(cache.parses(), parses, "{id}");
        }
    }
}
