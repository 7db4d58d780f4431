//! The check of an attempt's data against the `outputs` of its step.
//!
//! The kernel knows no JSON Schema: the result of the attempt carries whether the data fits.

use envoi_kernel::{GivenData, flow::Step, input::AttemptResult};

/// Why the data does not fit the step's `outputs`. Data that cannot be read is the verdict's business.
pub(crate) fn of(step: &Step, result: &AttemptResult) -> Option<String> {
    let schema = step.outputs.as_ref()?;
    let given = GivenData::of(step, result).ok()?;
    envoi_flow::outputs::check(schema, &given.value).err().map(|errors| errors.to_string())
}
