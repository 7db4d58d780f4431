//! What a report has to hold, where its step says so.
//!
//! The kernel knows no JSON Schema: whether the data fits is told to it with the result of the attempt.

use envoi_contract::json::Value;
use envoi_kernel::{flow::Step, input::AttemptResult};

/// Why the data of the report is not what the step's `outputs` say. A report that is none is the verdict's business.
pub(crate) fn misfit(step: &Step, result: &AttemptResult) -> Option<String> {
    let schema = step.outputs.as_ref()?;
    let report = Value::parse(result.report.as_deref()?).ok()?;
    let data = report.get("data").unwrap_or(&Value::Null);
    envoi_flow::outputs::check(schema, data).err().map(|errors| errors.to_string())
}
