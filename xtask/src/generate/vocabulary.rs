//! The closed vocabularies and fixed tables of the contracts, as modules of the libraries for Python and
//! TypeScript.
//!
//! Only data: the code that uses a word is written by hand there. Each language has its own form of the same
//! list.

use envoi_contract::envelope::{InterruptKind, InterruptStatus, RecordStatus, TerminalReason};
use envoi_contract::error::ADVICE;
use envoi_contract::schema::Schema;
use envoi_contract::user_envelope::OriginKind;
use envoi_contract::{handoff, routing};
use std::fmt::Write as _;

/// A closed vocabulary.
struct Vocabulary {
    /// Name of the type, in every language.
    name: &'static str,
    /// Name of the list of its words, in TypeScript.
    list: &'static str,
    told: &'static str,
    words: Vec<&'static str>,
}

fn vocabularies() -> Vec<Vocabulary> {
    vec![
        Vocabulary {
            name: "RoutingKind",
            list: "ROUTING_KINDS",
            told: "One step after the other, with a `loop_target` a gate; repeated until a success value is stated; where the text \
                   says.",
            words: routing::Kind::ALL.iter().map(|kind| kind.word()).collect(),
        },
        Vocabulary {
            name: "HandoffStatus",
            list: "HANDOFF_STATUSES",
            told: "How a step's execution ended. A critic's verdict is no status.",
            words: handoff::Status::ALL.iter().map(|status| status.word()).collect(),
        },
        Vocabulary {
            name: "TerminalReason",
            list: "TERMINAL_REASONS",
            told: "Why a pipeline ended: the contract's own words, those that relatives write, and those that Envoi adds.",
            words: TerminalReason::ALL.iter().map(|reason| reason.word()).collect(),
        },
        Vocabulary {
            name: "InterruptKind",
            list: "INTERRUPT_KINDS",
            told: "What an interrupt asks for.",
            words: InterruptKind::ALL.iter().map(|kind| kind.word()).collect(),
        },
        Vocabulary {
            name: "InterruptStatus",
            list: "INTERRUPT_STATUSES",
            told: "What became of an interrupt.",
            words: InterruptStatus::ALL.iter().map(|status| status.word()).collect(),
        },
        Vocabulary {
            name: "RecordStatus",
            list: "RECORD_STATUSES",
            told: "How an attempt went. A hand-off's `succeeded` is `success` here, its `failed` is `error`.",
            words: RecordStatus::ALL.iter().map(|status| status.word()).collect(),
        },
        Vocabulary {
            name: "OriginKind",
            list: "ORIGIN_KINDS",
            told: "Where a file came from.",
            words: OriginKind::ALL.iter().map(|kind| kind.word()).collect(),
        },
    ]
}

const TIME_TO_LIVE: &str = "How long an interrupt made by a library stays open, in milliseconds; none for ever. In a run nothing expires unless the \
     flow sets an expiry.";
const EXCHANGED: &str = "The members of an envelope that systems exchange while a pipeline runs, in order.";
const ADVISED: &str = "The general advice for each code, for refusals without a more precise hint.";

/// The member names of the exchanged form, in order.
fn exchanged() -> Vec<String> {
    let schema = Schema::named("envelope-dict").map(Schema::to_value).unwrap_or_default();
    let members = schema.get("properties").and_then(|members| members.as_object());
    members.into_iter().flat_map(|members| members.keys()).map(ToString::to_string).collect()
}

/// The Python module.
pub(super) fn python() -> String {
    let mut out = String::from(
        "\"\"\"The closed vocabularies and fixed tables of the contracts.\n\n\
         Generated from `crates/contract` by `cargo xtask generate`: change it there.\n\"\"\"\n\n\
         from __future__ import annotations\n\nfrom enum import Enum\nfrom typing import Dict, List, Optional\n",
    );
    for Vocabulary { name, told, words, .. } in vocabularies() {
        let _ = write!(out, "\n\nclass {name}(str, Enum):\n    \"\"\"{told}\"\"\"\n\n");
        words.iter().for_each(|word| out.push_str(&format!("    {} = \"{word}\"\n", word.to_uppercase())));
    }
    out.push_str("\n\nDEFAULT_TIME_TO_LIVE_MS: Dict[InterruptKind, Optional[int]] = {\n");
    for kind in InterruptKind::ALL {
        let word = kind.word().to_uppercase();
        let _ =
            writeln!(out, "    InterruptKind.{word}: {},", milliseconds(*kind).unwrap_or("None".to_owned()));
    }
    let _ = write!(out, "}}\n\"\"\"{TIME_TO_LIVE}\"\"\"\n\nEXCHANGED_MEMBERS: List[str] = [\n");
    exchanged().iter().for_each(|member| out.push_str(&format!("    \"{member}\",\n")));
    let _ = write!(out, "]\n\"\"\"{EXCHANGED}\"\"\"\n\nADVICE: Dict[str, str] = {{\n");
    ADVICE.iter().for_each(|(code, advice)| out.push_str(&format!("    \"{code}\": \"{advice}\",\n")));
    let _ = write!(out, "}}\n\"\"\"{ADVISED}\"\"\"\n");
    out
}

/// The TypeScript module.
pub(super) fn typescript() -> String {
    let mut out = String::from(
        "/**\n * The closed vocabularies and fixed tables of the contracts.\n *\n \
         * Generated from `crates/contract` by `cargo xtask generate`: change it there.\n */\n",
    );
    for Vocabulary { name, list, told, words } in vocabularies() {
        let _ = write!(out, "\n/** {told} */\nexport const {list} = [\n");
        words.iter().for_each(|word| out.push_str(&format!("  \"{word}\",\n")));
        let _ = write!(out, "] as const;\nexport type {name} = (typeof {list})[number];\n");
    }
    let _ = write!(
        out,
        "\n/** {TIME_TO_LIVE} */\nexport const DEFAULT_TIME_TO_LIVE_MS: Readonly<Record<InterruptKind, number | null>> = {{\n"
    );
    for kind in InterruptKind::ALL {
        let _ = writeln!(out, "  {kind}: {},", milliseconds(*kind).unwrap_or("null".to_owned()));
    }
    let _ = write!(
        out,
        "}};\n\n/** {EXCHANGED} */\nexport const EXCHANGED_MEMBERS: ReadonlySet<string> = new Set([\n"
    );
    exchanged().iter().for_each(|member| out.push_str(&format!("  \"{member}\",\n")));
    let _ = write!(out, "]);\n\n/** {ADVISED} */\nexport const ADVICE = {{\n");
    ADVICE.iter().for_each(|(code, advice)| out.push_str(&format!("  {code}: \"{advice}\",\n")));
    out.push_str("} as const;\n\n/** The contracts' codes. */\nexport type Code = keyof typeof ADVICE;\n");
    out
}

/// The default time to live of an interrupt in milliseconds, with thousands separators.
fn milliseconds(kind: InterruptKind) -> Option<String> {
    let digits = kind.default_time_to_live_ms()?.to_string();
    let mut apart = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            apart.push('_');
        }
        apart.push(digit);
    }
    Some(apart)
}
