//! The meaning of a scalar without quotes.

use super::Scalar;

/// The value of a scalar under the strict core schema. Only `true` and `false` are booleans. Only JSON's numbers are
/// numbers, so `007`, `0x1F`, `+1` and `1_000` are texts. Only `null`, `~` and an empty scalar are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    /// A number. Its token is the text of the scalar.
    Number,
    Text,
}

impl Scalar {
    pub(crate) fn meaning(&self) -> Meaning {
        if !self.plain {
            return Meaning::Text;
        }
        match self.text.as_str() {
            "" | "~" | "null" => Meaning::Null,
            "true" => Meaning::Bool(true),
            "false" => Meaning::Bool(false),
            text if is_number(text) => Meaning::Number,
            _ => Meaning::Text,
        }
    }

    /// The kind of the value, in words that complete "found …".
    pub(crate) fn described(&self) -> String {
        match self.meaning() {
            Meaning::Null => "nothing".to_owned(),
            Meaning::Bool(_) => format!("the boolean `{}`", self.text),
            Meaning::Number => format!("the number `{}`", self.text),
            Meaning::Text => format!("the string `{}`", shortened(&self.text)),
        }
    }
}

/// At most 40 characters of a text, on one line.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.split_once(['\n', '\r']).map_or(text, |(first, _)| first);
    let mut short: String = line.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// True for `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|part| digits(part.strip_prefix(['+', '-']).unwrap_or(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_the_strict_core_schema_says() {
        let rows: [(Meaning, &[&str]); 5] = [
            (Meaning::Null, &["", "~", "null"]),
            (Meaning::Bool(true), &["true"]),
            (Meaning::Bool(false), &["false"]),
            (
                Meaning::Number,
                &["0", "-0", "7", "1.00", "1e400", "-2.5E-3", "123456789012345678901234567890"],
            ),
            (
                Meaning::Text,
                &[
                    "yes", "no", "on", "off", "True", "NULL", "007", "0x1F", "0o7", "+1", ".5", "5.",
                    "1_000", ".inf", "1e", "-", "a",
                ],
            ),
        ];
        for (meaning, texts) in rows {
            for text in texts {
                assert_eq!(Scalar { text: (*text).to_owned(), plain: true }.meaning(), meaning, "{text}");
                assert_eq!(
                    Scalar { text: (*text).to_owned(), plain: false }.meaning(),
                    Meaning::Text,
                    "{text}"
                );
            }
        }
    }
}
