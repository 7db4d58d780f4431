//! Amounts that are only partly known.

/// An amount that was used. It may be larger if `unknown` attempts and calls have an unknown amount.
pub(crate) fn at_least(shown: String, unknown: u64) -> String {
    if unknown == 0 { shown } else { format!("at least {shown}") }
}

/// The same for a table, with a word for an amount that is completely unknown.
pub(crate) fn known(shown: String, is_nothing: bool, unknown: u64) -> String {
    if is_nothing && unknown > 0 { "unknown".to_owned() } else { at_least(shown, unknown) }
}
