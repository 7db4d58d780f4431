//! One line of the table, and how several rounds become one figure.

use std::fmt;

/// What was measured, how much it was, what the raw measure beside it was, and what was aimed at.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) value: String,
    pub(crate) raw: String,
    pub(crate) figure: String,
    /// The least and the greatest figure of the rounds; empty if it was measured once.
    pub(crate) spread: String,
    pub(crate) target: &'static str,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, raw, figure, spread, target } = self;
        write!(f, "| {what} | {value} | {raw} | {figure} | {spread} | {target} |")
    }
}

/// The middle one; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The value that so many in a hundred do not exceed; 0 of none.
pub(crate) fn percentile(mut values: Vec<f64>, hundredths: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = values.len().saturating_mul(hundredths).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or(0.0)
}

/// The least and the greatest of these; 0 of none.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    (least, values.iter().copied().reduce(f64::max).unwrap_or(0.0))
}

/// The spread of ratios.
pub(crate) fn spread(ratios: &[f64]) -> String {
    let (least, most) = extremes(ratios);
    format!("{least:.2} to {most:.2}")
}
