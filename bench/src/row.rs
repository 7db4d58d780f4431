//! A line of the table, and how several rounds become one figure.

use std::fmt;

/// A measurement: its name, its value, the raw measurement beside it, and the target.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) value: String,
    pub(crate) raw: String,
    pub(crate) figure: String,
    /// The smallest and the largest figure of the rounds; empty for a single measurement.
    pub(crate) spread: String,
    pub(crate) target: &'static str,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, raw, figure, spread, target } = self;
        write!(f, "| {what} | {value} | {raw} | {figure} | {spread} | {target} |")
    }
}

/// The median; 0 if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The value that `hundredths` percent of the values do not exceed; 0 if there are no values.
pub(crate) fn percentile(mut values: Vec<f64>, hundredths: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = values.len().saturating_mul(hundredths).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or(0.0)
}

/// The smallest and the largest of these; 0 if there are no values.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    (least, values.iter().copied().reduce(f64::max).unwrap_or(0.0))
}

/// The range of ratios, as text.
pub(crate) fn spread(ratios: &[f64]) -> String {
    let (least, most) = extremes(ratios);
    format!("{least:.2} to {most:.2}")
}
