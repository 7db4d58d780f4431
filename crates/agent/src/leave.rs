//! What an attempt leaves: its report, its text, and the files that the agent handed over.

use crate::{
    call,
    mask::Mask,
    order::Order,
    record::Endpoint,
    task::{self, Part, State, Task},
};
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, SkillReport},
    time::Timestamp,
};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    time::SystemTime,
};

/// Longest message of an error; the whole is in the text.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Longest question; the kernel takes no longer one.
const MAX_QUESTION_CHARS: usize = 15_000;

/// Largest data part that is shown with a question.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// Longest name of a file, before its end and a number. File systems take 255 bytes, and for a while it is `.NAME.tmp`.
const MAX_NAME_BYTES: usize = 200;

/// Longest end of a name that is taken for one, such as `markdown`.
const MAX_END_BYTES: usize = 10;

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The task is over, or waits for an answer.
    Told(Box<Task>, Endpoint),
    /// The agent answered without a task.
    Answered(Value),
    /// The task was cancelled by us.
    Withdrawn(String),
    /// The agent does not know the task any more.
    Lost(String),
    /// Nobody knows whether the agent took what was sent.
    Unclear(String),
    /// The agent could not be reached.
    Unreached(String),
    /// The agent takes no such message.
    Refused(String),
    /// A file of ours cannot be read or written.
    Machine(String),
}

/// A line for whoever looks on.
pub(crate) fn say(line: &str) {
    // Nobody may be there to read it.
    drop(writeln!(io::stdout().lock(), "{line}"));
}

/// Writes files, text and report, the report last; text and report masked.
pub(crate) fn leave(order: &Order, end: &End, mask: &dyn Mask) -> io::Result<ExitCode> {
    let mut agent = Object::default();
    let failed = |code: &str, message: &str| {
        // Masked before it is cut: half a secret is not found.
        let message = mask.text(message).chars().take(MAX_MESSAGE_CHARS).collect();
        Some(SkillError { code: code.to_owned(), message })
    };
    let (mut text, mut data) = (None, None);
    let error = match end {
        End::Told(task, endpoint) => {
            agent = place(task, endpoint);
            text = Some(task.last_words());
            match task.state {
                State::InputRequired | State::AuthRequired | State::Going => {
                    text = None;
                    asks(&mut agent, task, endpoint, mask);
                    None
                }
                State::Completed => {
                    data = task.data().cloned();
                    hand_over(order, task, &mut agent);
                    None
                }
                over => {
                    agent.insert("said", Value::from("over"));
                    let said = task.last_words();
                    let said =
                        if said.trim().is_empty() { format!("the task is {}", over.word()) } else { said };
                    let code = match over {
                        State::Rejected => "AGENT_REJECTED",
                        State::Canceled => "AGENT_CANCELED",
                        _ => "AGENT_FAILED",
                    };
                    failed(code, &said)
                }
            }
        }
        End::Answered(message) => {
            let said = call::said(message);
            text = Some(task::words(&said.parts));
            data = said.parts.iter().filter_map(task::object).next_back().cloned();
            None
        }
        End::Withdrawn(task) => {
            agent.insert("said", Value::from("over"));
            agent.insert("task", Value::from(task.as_str()));
            failed("AGENT_CANCELED", &format!("task {task} was cancelled"))
        }
        End::Lost(task) => {
            agent.insert("said", Value::from("over"));
            agent.insert("task", Value::from(task.as_str()));
            failed("AGENT_TASK_LOST", &format!("the agent does not know task {task} any more"))
        }
        End::Unclear(message) => {
            agent.insert("said", Value::from("unclear"));
            failed("AGENT_UNCLEAR", message)
        }
        End::Unreached(message) => failed("AGENT_UNREACHABLE", message),
        End::Refused(message) => failed("AGENT_REFUSED", message),
        End::Machine(message) => failed("MACHINE_FAILED", message),
    };
    if let Some(error) = &error {
        say(&format!("{}: {}", error.code, error.message));
    }
    fs::write(&order.output, text.map(|text| mask.text(&text)).unwrap_or_default())?;
    let ok = error.is_none();
    let millis = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let report = SkillReport {
        ok,
        generated_at: Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)).to_string(),
        skill_name: "a2a".to_owned(),
        data: data.map(|data| mask.value(&data)),
        metrics: None,
        error: error.map(|error| error.to_value()),
        unknown: Object::from([("agent", mask.value(&Value::Object(agent)))]),
    };
    fs::write(&order.report, report.to_value().compact())?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn place(task: &Task, endpoint: &Endpoint) -> Object {
    let mut members = Object::from([
        ("url", Value::from(endpoint.url.as_str())),
        ("version", Value::from(endpoint.version.word())),
        ("task", Value::from(task.id.as_str())),
    ]);
    if let Some(context) = &task.context {
        members.insert("context", Value::from(context.as_str()));
    }
    members.insert("state", Value::from(task.state.word()));
    members
}

fn asks(agent: &mut Object, task: &Task, endpoint: &Endpoint, mask: &dyn Mask) {
    let mut evidence = place(task, endpoint);
    let shown = task.status.iter().filter_map(task::object).next_back();
    if let Some(data) = shown.filter(|data| data.compact().len() <= MAX_SHOWN_BYTES) {
        evidence.insert("data", data.clone());
    }
    let mut question: String = mask.text(&task.question()).chars().take(MAX_QUESTION_CHARS).collect();
    if task.state == State::AuthRequired {
        let first = "The agent wants to be authorized. Do that where it says, then answer; answers are kept, so put no \
                     password into one.";
        question = format!("{first}\n\n{question}");
    }
    agent.insert("said", Value::from("asks"));
    agent.insert("question", Value::from(question));
    agent.insert("evidence", Value::Object(evidence));
}

/// Writes what the agent hands over into the folder of the order, if it is wanted. Content that lies elsewhere is named, and
/// not fetched.
fn hand_over(order: &Order, task: &Task, agent: &mut Object) {
    let all = || task.artifacts.iter().flat_map(|one| one.parts.iter().map(|part| (one.name.as_str(), part)));
    let links = all().filter_map(|(_, part)| match part {
        Part::Link(url, _) => Some(Value::from(url.as_str())),
        _ => None,
    });
    let links: Vec<Value> = links.collect();
    if !links.is_empty() {
        agent.insert("links", Value::from(links));
    }
    let Some(folder) = &order.files else { return };
    let (mut taken, mut left_out) = (BTreeSet::new(), Vec::new());
    for (artifact, part) in all() {
        let (content, named, end) = match part {
            Part::Text(text, name) => (text.clone().into_bytes(), name, "txt"),
            Part::Data(value, name) => (value.pretty().into_bytes(), name, "json"),
            Part::Bytes(bytes, name) => (bytes.clone(), name, "bin"),
            Part::Link(..) => continue,
        };
        let name = free(
            &named.as_deref().map_or_else(|| plain(artifact, Some(end)), |name| plain(name, None)),
            &mut taken,
        );
        // The task is over, and its text is worth more than one file.
        match put(folder, &name, &content) {
            Ok(()) => say(&format!("handed over: {name}")),
            Err(error) => {
                say(&format!("warning: {name} of the agent cannot be written, and is left out: {error}"));
                left_out.push(Value::from(name));
            }
        }
    }
    if !left_out.is_empty() {
        agent.insert("left_out", Value::from(left_out));
    }
}

fn put(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let temp = folder.join(format!(".{name}.tmp"));
    let written = fs::write(&temp, content).and_then(|()| fs::rename(&temp, folder.join(name)));
    if written.is_err() {
        // Half a file is nobody's; that there is none is told already.
        drop(fs::remove_file(&temp));
    }
    written
}

/// A name that is one name: what an agent calls a file is a stranger's text.
fn plain(name: &str, end: Option<&str>) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = |c: char| if c.is_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    let mut bytes = 0_usize;
    let fits = |c: &char| {
        bytes = bytes.saturating_add(c.len_utf8());
        bytes <= MAX_NAME_BYTES
    };
    let text: String = last.chars().map(kept).take_while(fits).collect();
    let text = text.trim_matches(|c: char| c == '.' || c == ' ');
    let text = if text.is_empty() { "file" } else { text };
    match end {
        Some(end) if !has_end(text) => format!("{text}.{end}"),
        _ => text.to_owned(),
    }
}

/// Whether a name ends as names of files do, as in `note.md`: it is kept then. In `review 1.2` what stands behind the dot is a
/// number.
fn has_end(name: &str) -> bool {
    let Some((stem, end)) = name.rsplit_once('.') else { return false };
    let is_plain = end.len() <= MAX_END_BYTES && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    !stem.is_empty() && is_plain && end.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The name, or with a number before its end if it is taken.
fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let (stem, end) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    let mut all = core::iter::once(name.to_owned()).chain((2_u32..).map(|n| format!("{stem}-{n}{end}")));
    let free = all.find(|name| !taken.contains(&name.to_lowercase())).unwrap_or_default();
    taken.insert(free.to_lowercase());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_strangers_are_made_plain_and_made_to_differ() {
        for (name, end, expected) in [
            ("report.pdf", None, "report.pdf"),
            ("../../etc/passwd", None, "passwd"),
            ("C:\\temp\\x.exe", None, "x.exe"),
            ("..", None, "file"),
            ("", None, "file"),
            (".hidden", None, "hidden"),
            ("a\nb\0c", None, "a_b_c"),
            ("review", Some("txt"), "review.txt"),
            ("review.txt", Some("txt"), "review.txt"),
            ("note.md", Some("txt"), "note.md"),
            ("data.jsonl", Some("json"), "data.jsonl"),
            ("archive.7z", Some("bin"), "archive.7z"),
            ("review 1.2", Some("txt"), "review 1.2.txt"),
            ("Done. All of it", Some("txt"), "Done. All of it.txt"),
            ("what.ever is there", Some("txt"), "what.ever is there.txt"),
        ] {
            assert_eq!(plain(name, end), expected, "{name:?}");
        }
        // What is no letter becomes one byte.
        for (one, bytes) in [("x", 200), ("é", 200), ("語", 198), ("𠀋", 200), ("🜂", 200)] {
            assert_eq!(plain(&one.repeat(300), None).len(), bytes, "{one}");
        }
        let mut taken = BTreeSet::new();
        let names = ["a.txt", "A.txt", "a.txt", "b"].map(|name| free(name, &mut taken));
        assert_eq!(names, ["a.txt", "A-2.txt", "a-3.txt", "b"]);
    }
}
