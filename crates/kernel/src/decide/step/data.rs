//! The data that an attempt hands over.
//!
//! Owns its possible places: the report, the file at `$ENVOI_DATA`, or the step's text if the step has `data: json`. It is in one place;
//! two are a mistake, because it would not be known which one counts.

use crate::model::{
    files::Blob,
    flow::Step,
    input::AttemptResult,
    size::{self, RESERVED},
};
use envoi_contract::{
    code::Code,
    json::{Error as JsonError, Value},
    skill_report::SkillError,
};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GivenData {
    /// The data; null where none was handed over.
    pub value: Value,
    /// The content of the store that holds it.
    pub blob: Option<Blob>,
}

/// Why data that was handed over cannot be read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The supervisor found something else than a file.
    #[error("there is {0}")]
    NoFile(String),
    /// The supervisor could not read the text.
    #[error("{0}")]
    Text(String),
    /// The rest of the document may look like another document.
    #[error("the text is larger than 1 MiB, or not kept in full; the file at `$ENVOI_DATA` may have 16 MiB")]
    CutText,
}

/// A place in which data was found.
struct Source {
    /// "in its report (`data`)"
    place: &'static str,
    value: Result<Value, Unreadable>,
    blob: Option<Blob>,
}

impl GivenData {
    /// The data of an attempt of `step`.
    ///
    /// # Errors
    /// `DATA_INVALID`: it is no JSON, it is in two places, or it looks like a reference of the engine's.
    pub fn of(step: &Step, result: &AttemptResult) -> Result<Self, SkillError> {
        let mut sources = report(result).into_iter().chain(file(result)).chain(text(step, result));
        let invalid = |message: String| SkillError::new(Code::DataInvalid, message);
        match (sources.next(), sources.next()) {
            (None, _) if step.data_is_text => Err(invalid(
                "`data: json`: the text of the step is empty, and no data stands elsewhere".to_owned(),
            )),
            (None, _) => Ok(Self::default()),
            (Some(first), Some(second)) => Err(invalid(format!(
                "the step hands over data twice, {} and {}; leave one of them out",
                first.place, second.place
            ))),
            (Some(Source { place, value, blob }), None) => {
                let value =
                    value.map_err(|why| invalid(format!("the data {place} cannot be read: {why}")))?;
                match RESERVED.iter().find(|name| value.get(name).is_some()) {
                    Some(name) => Err(invalid(format!(
                        "the data {place} has a member `{name}`, which only Envoi writes, in the place of data that is too large; give \
                         it another name"
                    ))),
                    None => Ok(Self { value, blob }),
                }
            }
        }
    }
}

/// Whether the report is one is the verdict's business.
fn report(result: &AttemptResult) -> Option<Source> {
    let report = Value::parse(result.report.as_deref()?).ok()?;
    let value = report.get("data").filter(|data| !matches!(data, Value::Null))?.clone();
    Some(Source { place: "in its report (`data`)", value: Ok(value), blob: result.report_blob.clone() })
}

fn file(result: &AttemptResult) -> Option<Source> {
    let value = match (&result.data, &result.data_unreadable) {
        (Some(bytes), _) if size::is_cut_document(bytes) => {
            Err(Unreadable::NoFile(size::CUT_DOCUMENT.to_owned()))
        }
        (Some(bytes), _) => Value::parse(bytes).map_err(Unreadable::from),
        (None, Some(what)) => Err(Unreadable::NoFile(what.clone())),
        (None, None) => return None,
    };
    Some(Source { place: "at `$ENVOI_DATA`", value, blob: result.data_blob.clone() })
}

fn text(step: &Step, result: &AttemptResult) -> Option<Source> {
    let text = result.text.trim();
    if !step.data_is_text || (text.is_empty() && !result.text_cut) {
        return None;
    }
    let value = match &result.text_unreadable {
        _ if result.text_cut => Err(Unreadable::CutText),
        Some(why) => Err(Unreadable::Text(why.clone())),
        None => Value::parse_str(text).map_err(Unreadable::from),
    };
    Some(Source { place: "in its text (`data: json`)", value, blob: result.text_blob.clone() })
}
