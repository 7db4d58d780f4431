//! `envoi show INT`: everything that a person needs to decide a question.
//!
//! It shows what the answer applies to: the pinned flow, the last hand-off and the artifacts in the store.

use crate::{
    process::{clock, failure::Failure, invocation, output, terminal},
    text::{columns::prose, diff, duration::between},
    view::{describe, last_words::last_words, questions::stands},
};
use envoi_api::{
    QuestionContext,
    cause::failure,
    preview,
    question::{ChangedFile, QuestionDetail},
    words::plain,
};
use envoi_contract::{envelope::InterruptKind, json::Value, time::Timestamp};
use envoi_engine::{Changed, LoadedQuestion, load_question};
use envoi_journal::{InboxRow, ReadError, Reader};
use envoi_kernel::{
    event::{About, Blob, InterruptRaised},
    files::MOST_LISTED,
    ids::{InterruptId, Principal, RunId},
};
use std::{fmt::Write as _, ops::Deref, path::Path};

/// The most diff lines of one file, and of all files.
const MOST_LINES_A_FILE: usize = 80;
const MOST_LINES: usize = 400;
/// The most changed files that are named. The others are counted.
const MOST_FILES: usize = 200;

/// A question with its details.
struct Question {
    loaded: LoadedQuestion,
    now: Timestamp,
    /// The person who views it.
    by: Principal,
}

pub(crate) fn show(
    reader: &Reader,
    id: &RunId,
    interrupt: &InterruptId,
    by: &Principal,
    json: bool,
) -> Result<u8, Failure> {
    let question = load(reader, id, interrupt, by)?;
    match json {
        true => output::row(&question.json(reader).map_err(Failure::store)?)?,
        false => output::data(&diff::lines(&question.text(reader).map_err(Failure::store)?))?,
    }
    Ok(0)
}

/// All details, for people.
pub(crate) fn overview(
    reader: &Reader,
    id: &RunId,
    interrupt: &InterruptId,
    by: &Principal,
) -> Result<String, Failure> {
    load(reader, id, interrupt, by)?.text(reader).map_err(Failure::store)
}

/// The most important details, for people.
pub(crate) fn brief(
    reader: &Reader,
    id: &RunId,
    interrupt: &InterruptId,
    by: &Principal,
) -> Result<String, Failure> {
    load(reader, id, interrupt, by)?.brief(reader).map_err(Failure::store)
}

/// The contents of the files that a question shows: before the run, and when it was asked.
pub(crate) fn contents(
    reader: &Reader,
    id: &RunId,
    interrupt: &InterruptId,
    by: &Principal,
) -> Result<Vec<Blob>, Failure> {
    let changed = load(reader, id, interrupt, by)?.changed(reader).map_err(Failure::store)?;
    Ok(changed.into_iter().flat_map(|file| [file.before, file.after]).flatten().collect())
}

fn load(reader: &Reader, id: &RunId, interrupt: &InterruptId, by: &Principal) -> Result<Question, Failure> {
    let row = reader.question(id, interrupt).map_err(Failure::store)?;
    Ok(Question { loaded: load_question(reader, row)?, now: envoi_engine::now(), by: by.clone() })
}

impl Deref for Question {
    type Target = LoadedQuestion;

    fn deref(&self) -> &LoadedQuestion {
        &self.loaded
    }
}

impl Question {
    fn text(&self, reader: &Reader) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        self.who_and_when(&mut text)?;
        writeln!(text, "\n{}\n", prose(self.row.question.trim_end(), terminal::columns_of_stdout()))?;
        if let Some(raised) = &self.raised {
            self.evidence(raised, &mut text)?;
            self.last_words(raised, &mut text)?;
        }
        self.answer(&mut text)?;
        self.form(&mut text)?;
        self.handoff(&mut text)?;
        self.files(reader, &mut text)?;
        writeln!(text, "used       {}", crate::view::describe::used(&self.run))?;
        if let (true, Some(raised)) = (self.is_open(), &self.raised) {
            self.ways_on(raised, &mut text)?;
        }
        Ok(text)
    }

    fn brief(&self, reader: &Reader) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(text, "{}\n", prose(self.row.question.trim_end(), terminal::columns_of_stderr()))?;
        if let Some(raised) = &self.raised {
            self.evidence(raised, &mut text)?;
            self.last_words(raised, &mut text)?;
        }
        if let Some(at) = self.row.expires_at {
            writeln!(text, "  expires in {}", between(self.now, at))?;
        }
        if let Some(who) = self.who_may() {
            writeln!(text, "  answer by: {who}")?;
        }
        let content = |blob: &Option<Blob>| blob.as_ref().and_then(|blob| reader.blob(&blob.digest).ok());
        let changed = match self.changed(reader) {
            Ok(changed) => changed,
            Err(error) => {
                writeln!(text, "  {}", not_known(&error))?;
                Vec::new()
            }
        };
        for file in changed.into_iter().take(MOST_FILES) {
            let known = file.created || file.before.is_some();
            let before = content(&file.before);
            let after = content(&file.after);
            writeln!(text, "  {}", line_of(&file, known, before.as_deref(), after.as_deref()))?;
        }
        Ok(text)
    }

    fn who_and_when(&self, text: &mut String) -> std::fmt::Result {
        let row = &self.row;
        let title = self
            .run
            .flow()
            .title
            .as_deref()
            .map_or_else(String::new, |title| format!(": {}", diff::printable(title)));
        writeln!(text, "question   {} ({})", row.interrupt, stands(row, self.now))?;
        writeln!(text, "run        {} of {}{title}", row.run, self.run.flow().id)?;
        writeln!(text, "step       {}, which asks for {}", row.visit, a_kind(row))?;
        writeln!(
            text,
            "asked      {} ({} ago)",
            clock::local(row.raised_at),
            between(row.raised_at, self.now)
        )?;
        if let Some(at) = row.expires_at {
            writeln!(text, "expires    {}", clock::local(at))?;
        }
        if let Some(who) = self.who_may() {
            writeln!(text, "answer by  {who}")?;
        }
        if let Some(subject) = self.raised.as_ref().and_then(|raised| raised.subject) {
            writeln!(text, "shown      {subject}")?;
        }
        Ok(())
    }

    /// Formats the answer that was given.
    fn answer(&self, text: &mut String) -> std::fmt::Result {
        let Some((at, given)) = &self.loaded.given else { return Ok(()) };
        writeln!(
            text,
            "answer     {} by {} ({}) at {}",
            given.choice.word(),
            given.by.actor,
            given.channel,
            clock::local(*at)
        )?;
        for line in given.text.lines() {
            writeln!(text, "  {line}")?;
        }
        for (name, value) in given.data.as_object().into_iter().flat_map(|members| members.iter()) {
            writeln!(text, "  {name}: {}", plain(value))?;
        }
        for file in &given.attachments {
            let name = file.filename.as_deref().unwrap_or(&file.artifact_id);
            writeln!(text, "  file {name} ({})", file.digest)?;
        }
        writeln!(text)
    }

    /// The people who may answer, if that is restricted.
    fn who_may(&self) -> Option<String> {
        let plan = self.run.step(&self.row.visit)?.asks()?;
        if self.row.about != About::Ask {
            return None;
        }
        let votes: Vec<&str> =
            self.run.votes(&self.row.interrupt).map(|vote| vote.by.actor.as_str()).collect();
        let several = (plan.quorum > 1).then(|| {
            let so_far = if votes.is_empty() { "no answer yet".to_owned() } else { votes.join(", ") };
            format!("{} different people have to approve (so far: {so_far})", plan.quorum)
        });
        let starter = self.run.started().filter(|_| plan.not_by_starter);
        let forked = self.run.forked().map(|forked| &forked.by.actor);
        let other = starter.map(|started| {
            let forked = forked.filter(|by| **by != started.by.actor);
            let forked = forked.map_or_else(String::new, |by| format!(", and {by}, who forked it"));
            format!("anybody but {}, who started the run{forked}", started.by.actor)
        });
        match (several, other) {
            (Some(several), Some(other)) => Some(format!("{several}; {other}")),
            (several, other) => several.or(other),
        }
    }

    fn evidence(&self, raised: &InterruptRaised, text: &mut String) -> std::fmt::Result {
        for (name, value) in raised.evidence.as_object().into_iter().flat_map(|members| members.iter()) {
            let shown = plain(value);
            if matches!(shown.as_str(), "" | "null" | "[]" | "0") {
                continue;
            }
            match shown.trim_end().contains('\n') {
                false => writeln!(text, "  {name}: {}", diff::printable(shown.trim_end()))?,
                true => {
                    writeln!(text, "  {name}:")?;
                    shown
                        .trim_end()
                        .lines()
                        .try_for_each(|line| writeln!(text, "    {}", diff::printable(line)))?;
                }
            }
        }
        Ok(())
    }

    fn form(&self, text: &mut String) -> std::fmt::Result {
        let Some(schema) = self.schema() else { return Ok(()) };
        writeln!(text, "form")?;
        for field in envoi_flow::answers::fields(schema) {
            let needed = match (&field.default, field.required) {
                (Some(default), _) => format!(", default {}", plain(default)),
                (None, true) => ", needed".to_owned(),
                (None, false) => String::new(),
            };
            let expects = field.expects();
            let about = field.description.map_or_else(String::new, |about| format!(": {about}"));
            writeln!(text, "  {} ({}{needed}){about}", field.name, expects)?;
        }
        writeln!(text)
    }

    fn schema(&self) -> Option<&Value> {
        let step = self.run.step(&self.row.visit)?;
        step.asks().filter(|_| self.row.about == About::Ask)?.schema.as_ref()
    }

    fn handoff(&self, text: &mut String) -> std::fmt::Result {
        let Some(written) = self.last_handoff() else { return writeln!(text, "last hand-off  none\n") };
        let handoff = &written.handoff;
        let verdict = match handoff.verification_passed {
            Some(true) => ", verified",
            Some(false) => ", not verified",
            None => "",
        };
        writeln!(text, "last hand-off  {} {}{verdict}", written.visit, handoff.status.word())?;
        if let Some(error) = &handoff.error {
            writeln!(text, "  {}", diff::printable(&failure(error)))?;
        }
        for line in handoff.summary.lines().take(20) {
            writeln!(text, "  {}", diff::printable(line))?;
        }
        writeln!(text)
    }

    fn files(&self, reader: &Reader, text: &mut String) -> std::fmt::Result {
        let changed = match self.changed(reader) {
            // Only artifacts are compared here.
            Ok(changed) if changed.is_empty() => {
                let keeps = self.run.started().is_some_and(|started| started.keep_files);
                let all = if keeps {
                    format!("; all files: {} diff {}", invocation::envoi(), self.row.run)
                } else {
                    String::new()
                };
                return writeln!(text, "files      no artifact has changed{all}\n");
            }
            Ok(changed) => changed,
            Err(error) => return writeln!(text, "files      {}\n", not_known(&error)),
        };
        let within =
            self.run.started().map(|started| format!(" in {}/{}", started.run_base, self.run.flow().id));
        writeln!(text, "files      as the run leaves them{}", within.as_deref().unwrap_or(""))?;
        let content = |blob: &Option<Blob>| blob.as_ref().and_then(|blob| reader.blob(&blob.digest).ok());
        let mut left = MOST_LINES;
        for file in changed.iter().take(MOST_FILES) {
            let before = content(&file.before);
            let after = content(&file.after);
            let known = file.created || file.before.is_some();
            writeln!(text, "  {}", line_of(file, known, before.as_deref(), after.as_deref()))?;
            let shown = if known && left > 0 {
                diff::unified(&file.path, before.as_deref(), after.as_deref(), MOST_LINES_A_FILE.min(left))
            } else {
                String::new()
            };
            left = left.saturating_sub(shown.lines().count());
            shown.lines().try_for_each(|line| writeln!(text, "    {line}"))?;
        }
        if changed.len() > MOST_FILES {
            writeln!(text, "  and {} more", changed.len().saturating_sub(MOST_FILES))?;
        }
        writeln!(text)
    }

    fn ways_on(&self, raised: &InterruptRaised, text: &mut String) -> std::fmt::Result {
        writeln!(text)?;
        for (choice, leads) in preview::choices(&self.run, raised, &self.by) {
            writeln!(text, "{:<10} {leads}", choice.word())?;
        }
        let base = self.run.started().map(|started| Path::new(&started.run_base));
        if let Some(place) = base.zip(raised.evidence.get("edit").and_then(Value::as_str)) {
            let place = place.0.join(place.1);
            writeln!(
                text,
                "\nto edit the files in conflict: write their final content, without markers, in {}, or delete a file there. Then: {} answer {} --choice edit",
                place.display(),
                invocation::envoi(),
                raised.interrupt
            )?;
        }
        if let Some(leads) = preview::silence(&self.run, raised) {
            writeln!(text, "{:<10} {leads}", "no answer")?;
        }
        writeln!(
            text,
            "\nanswer: {}",
            describe::how_to_answer(
                &self.row.run,
                raised,
                self.run.interrupts().count() == 1,
                self.run.step(&raised.visit)
            )
        )?;
        describe::more_rounds(&self.row.run, raised).iter().try_for_each(|line| writeln!(text, "{line}"))
    }

    /// The last lines of the step that the question is about.
    fn last_words(&self, raised: &InterruptRaised, text: &mut String) -> std::fmt::Result {
        let run_base = self.run.started().map(|started| Path::new(&started.run_base));
        let lines = run_base.map(|run_base| last_words(run_base, raised)).unwrap_or_default();
        lines.iter().try_for_each(|line| writeln!(text, "{line}"))?;
        if lines.is_empty() { Ok(()) } else { writeln!(text) }
    }

    fn json(&self, reader: &Reader) -> Result<QuestionDetail, ReadError> {
        let LoadedQuestion { row, run, raised, given, .. } = &self.loaded;
        let context = QuestionContext {
            raised: raised.as_ref(),
            files: self.changed(reader)?.into_iter().take(MOST_LISTED).map(shown).collect(),
            last_handoff: self.last_handoff(),
            given: given.clone(),
        };
        Ok(QuestionDetail::of(row, run, context, self.now, &self.by))
    }
}

fn not_known(error: &ReadError) -> String {
    format!("which ones changed is not known: {error}")
}

/// Formats a change for programs: contents by their digests.
fn shown(Changed { path, before, created, after }: Changed) -> ChangedFile {
    let digest = |blob: Option<Blob>| blob.map(|blob| blob.digest.to_string());
    ChangedFile {
        path,
        created,
        before_digest: digest(before),
        size_bytes: after.as_ref().map(|blob| blob.size),
        after_digest: digest(after),
    }
}

fn a_kind(row: &InboxRow) -> String {
    let kind = row.kind.word().replace('_', " ");
    match row.about {
        About::Ask if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        About::Ask => format!("a {kind}"),
        About::InDoubt => "a decision on an attempt in doubt".to_owned(),
        About::Exhausted => "a decision on a loop without success".to_owned(),
        About::Blocked => "a decision on a loop that cannot get further".to_owned(),
        About::Review => "a review".to_owned(),
        About::Limit => "a higher bound".to_owned(),
        About::Agent if row.kind == InterruptKind::Confirmation => {
            "a decision on a call of a tool".to_owned()
        }
        About::Agent => "an answer to an agent".to_owned(),
        About::Throttled => "a decision on an account that is closed".to_owned(),
        About::Conflict => "a decision on items in conflict".to_owned(),
        About::Stuck => "a decision on rounds without any goal reached".to_owned(),
    }
}

fn line_of(file: &Changed, known: bool, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let path = diff::printable(&file.path);
    let word = match (file.created, &file.after) {
        (_, None) => "deleted",
        (true, _) => "created",
        (false, _) => "changed",
    };
    if !known {
        return format!("{word} {path} (what it was before is not in the store)");
    }
    let (added, removed) = diff::stat(before, after);
    format!("{word} {path} +{added} -{removed}")
}
