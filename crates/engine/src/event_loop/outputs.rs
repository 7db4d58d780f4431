//! What a report has to hold, where its step has `outputs`.
//!
//! The kernel knows no JSON Schema: the result of the attempt carries whether the data fits.

use envoi_contract::json::Value;
use envoi_kernel::{flow::Step, input::AttemptResult};

/// Why the data of the report does not fit the step's `outputs`. A report that is none is the verdict's business.
pub(crate) fn misfit(step: &Step, result: &AttemptResult) -> Option<String> {
    let schema = step.outputs.as_ref()?;
    let report = Value::parse(result.report.as_deref()?).ok()?;
    let data = report.get("data").unwrap_or(&Value::Null);
    envoi_flow::outputs::check(schema, data).err().map(|errors| errors.to_string())
}
