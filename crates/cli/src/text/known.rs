//! Amounts of which a part is not known.

/// An amount that was used; it may be more if `unknown` attempts and calls have used what is not known.
pub(crate) fn at_least(shown: String, unknown: u64) -> String {
    if unknown == 0 { shown } else { format!("at least {shown}") }
}

/// The same for a table, which has a word for an amount of which nothing is known.
pub(crate) fn known(shown: String, is_nothing: bool, unknown: u64) -> String {
    if is_nothing && unknown > 0 { "unknown".to_owned() } else { at_least(shown, unknown) }
}
