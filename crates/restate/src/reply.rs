//! The wire form of the answer to a call: a line with the kind of the answer, and the answer below it. Also
//! the texts for a missing answer.

use envoi_cluster::wire::{Answer, Unfit};
use envoi_http::NoAnswer;

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The object took the message and returns this.
    Answer(Answer),
    /// The message was carried out; there is no result.
    Done,
    /// The message is invalid. Nothing has changed, and the same message would get the same answer.
    Unfit {
        /// The reason, for a person.
        reason: String,
    },
}

/// Why there is no answer, for a person.
pub(crate) fn words(no_answer: &NoAnswer) -> &str {
    let (NoAnswer::NotSent(why) | NoAnswer::Unknown(why)) = no_answer;
    why
}

/// The text is not a valid reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadReply {
    #[error("its first line is unknown")]
    Kind,
    #[error("{0}")]
    Answer(#[from] Unfit),
}

impl Reply {
    pub(crate) fn written(self) -> Result<String, Unfit> {
        Ok(match self {
            Self::Answer(answer) => format!("answer\n{}", answer.written()?),
            Self::Done => "done\n".to_owned(),
            Self::Unfit { reason } => format!("unfit\n{reason}"),
        })
    }

    pub(crate) fn read(text: &str) -> Result<Self, BadReply> {
        match text.split_once('\n') {
            Some(("answer", answer)) => Ok(Self::Answer(Answer::read(answer)?)),
            Some(("done", "")) => Ok(Self::Done),
            Some(("unfit", reason)) => Ok(Self::Unfit { reason: reason.to_owned() }),
            _ => Err(BadReply::Kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_cluster::worker_slot;

    #[test]
    fn a_reply_comes_out_of_its_text_as_it_went_in() {
        let replies = [
            Reply::Answer(Answer::WorkerSlot(worker_slot::Reply::Taken)),
            Reply::Done,
            Reply::Unfit { reason: "two\nlines".to_owned() },
        ];
        for reply in replies {
            assert_eq!(Reply::read(&reply.clone().written().unwrap()).unwrap(), reply);
        }
        for text in ["", "done", "done\nmore", "answer\n{}", "other\n"] {
            assert!(Reply::read(text).is_err(), "{text}");
        }
    }
}
