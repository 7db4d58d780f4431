//! Composes the prompt for the program: the text of the flow, and what happened before.
//!
//! | when | what the prompt contains |
//! |---|---|
//! | always | the prompt of the flow, with its expressions evaluated |
//! | a rate limit of the account stopped the attempt | before it: a note of this, and that the work goes on |
//! | an earlier attempt was interrupted | before it: a note of this, and that the last action may have taken effect |
//! | the files were restored (`files: restore`) | before it: a note that the agent's changes of files were undone |
//! | the program takes no schema, and the step has `outputs` | after it: the form of the last message, and the schema |
//! | the previous try failed | after it: the error |
//! | a critic or a person sent the run back | after it: their feedback |

use crate::Order;
use envoi_preset::end_of_feedback;

const CUT_OFF: &str = "You have worked on this task before, and were cut off. It is not known whether your last action took effect: \
                       look before you rely on it or do it again. The task is unchanged:\n\n";

const THROTTLED: &str = "You have worked on this task before, and a limit of the account stopped you. Go on from there. The task is \
                         unchanged:\n\n";

const SET_BACK: &str = "You have worked on this task before. The files are now as they were when you began: your changes of files are \
                        undone. What you did elsewhere may have taken effect. The task is unchanged:\n\n";

/// Adds the schema to the prompt, for a program that takes no schema in another way.
pub(crate) fn with_schema(prompt: &str, schema: &str) -> String {
    format!(
        "{}\n\nWhen you are done, let your last message be one JSON document and nothing else. It has to fit this JSON Schema:\n\n\
         {schema}\n",
        prompt.trim_end()
    )
}

/// The events before this attempt, apart from the error and the feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing, or the session already contains it.
    Nothing,
    /// The last attempt was interrupted.
    CutOff,
    /// A rate limit of the account stopped it.
    Throttled,
    /// The files were restored to their state at the beginning of the step.
    SetBack,
}

impl Before {
    pub(crate) fn of(order: &Order) -> Self {
        match order {
            Order { set_back: true, .. } => Self::SetBack,
            Order { cut_off: true, .. } => Self::CutOff,
            Order { was_throttled: true, .. } => Self::Throttled,
            _ => Self::Nothing,
        }
    }
}

/// Composes the prompt as described in the module documentation.
pub(crate) fn compose(prompt: &str, before: Before, failure: Option<&str>, feedback: Option<&str>) -> String {
    let mut text = match before {
        Before::CutOff => CUT_OFF.to_owned(),
        Before::Throttled => THROTTLED.to_owned(),
        Before::SetBack => SET_BACK.to_owned(),
        Before::Nothing => String::new(),
    };
    text.push_str(prompt.trim_end());
    text.push('\n');
    if let Some(failure) = failure {
        text.push_str(&format!("\nYour last try failed:\n\n{}\n", failure.trim()));
    }
    if let Some(feedback) = feedback.map(end_of_feedback).filter(|feedback| !feedback.is_empty()) {
        text.push_str(&format!("\nFeedback on your last result:\n\n{feedback}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_preset::MAX_FEEDBACK_BYTES;

    #[test]
    fn what_came_before_stands_in_the_prompt() {
        assert_eq!(compose("Do it.\n", Before::Nothing, None, None), "Do it.\n");
        assert_eq!(compose("Do it.", Before::Nothing, None, Some("  \n")), "Do it.\n");
        let all =
            compose("Do it.", Before::CutOff, Some("AGENT_SCHEMA: text"), Some("UNVERIFIED: tests fail"));
        assert!(all.starts_with(CUT_OFF), "{all}");
        assert!(all.ends_with(
            "Do it.\n\nYour last try failed:\n\nAGENT_SCHEMA: text\n\nFeedback on your last result:\n\nUNVERIFIED: tests fail\n"
        ));
        assert_eq!(compose("Do it.", Before::Throttled, None, None), format!("{THROTTLED}Do it.\n"));
        assert_eq!(compose("Do it.", Before::SetBack, None, None), format!("{SET_BACK}Do it.\n"));
        let long = "ü".repeat(MAX_FEEDBACK_BYTES);
        assert!(compose("p", Before::Nothing, None, Some(&long)).len() < MAX_FEEDBACK_BYTES + 100);
    }
}
