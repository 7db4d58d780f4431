//! A run as A2A clients see it: applies the run's events in order, and returns the updates for clients.
//!
//! Pure: the same events give the same updates, in the same order and with the same ids, also after a
//! restart. Owns which events lead to updates, and the content of a task. [`super::writer`] converts it to
//! its A2A form.
//!
//! Events are applied one *moment* at a time. The events of one commit have the same time, and in the middle
//! of a commit a run may look as if it waits for a person although its next step begins a few events later.
//! Two commits within one millisecond may be applied as one moment or as two. All followers get the same
//! updates, unless the run came to rest and continued within that millisecond.

use super::state;
use envoi_a2a::model::TaskState;
use envoi_contract::{digest::Digest, handoff::Status as HandoffStatus, json::Value, time::Timestamp};
use envoi_journal as journal;
use envoi_kernel::{
    ApplyError, Event, Record, Run, Status as RunStatus,
    event::{
        About, AttemptSettled, Blob, Choice, EndStatus, HandoffWritten, InterruptAnswered, InterruptRaised,
        RunEnded,
    },
    files::list_name,
    flow::Versions,
    ids::{InterruptId, RunId, Seq, StepId, VisitId, derived},
};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The state of a run with events applied.
pub(crate) struct Fold {
    run: Run,
    history: Vec<HistoryEntry>,
    files: BTreeMap<String, Arc<FileVersion>>,
    /// The texts of visits that are not concluded yet.
    texts: BTreeMap<VisitId, Blob>,
    last_text: Option<Blob>,
    /// Data that is too large for the journal, by the digest that replaces it there.
    large: BTreeMap<Digest, Data>,
    end: Option<Arc<End>>,
    last_shown: (TaskState, Vec<InterruptId>),
}

/// An entry of the conversation, in order.
#[derive(Debug, Clone)]
pub(crate) enum HistoryEntry {
    /// The run began.
    Begun,
    /// The run raised a question.
    Question(Arc<Question>),
    /// A question was answered, or got one of several approvals.
    Answered(Arc<Answered>),
    /// The run ended.
    Ended(Arc<End>),
}

/// A question, and how it can be answered.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The event that raised it.
    pub(crate) raised: InterruptRaised,
    /// The accepted decisions, the most usual first.
    pub(crate) choices: Vec<Choice>,
    /// The JSON Schema of its form, if it has one.
    pub(crate) form: Option<Value>,
}

impl Question {
    /// An open question of a run.
    pub(crate) fn of(run: &Run, raised: &InterruptRaised) -> Self {
        let plan = run.step(&raised.visit).and_then(|step| step.asks());
        let form = plan.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.clone());
        Self { choices: run.accepts(raised), form, raised: raised.clone() }
    }
}

/// An answer from the journal.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// An id for the message about the answer. A client's own message has another id.
    pub(crate) id: String,
    /// The answer.
    pub(crate) answer: InterruptAnswered,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// The id of the message about it.
    pub(crate) id: String,
    /// The event of the end.
    pub(crate) ended: RunEnded,
    /// The last text of the last step, if the run succeeded.
    pub(crate) text: Option<Blob>,
    /// The resulting data of the run, if it succeeded.
    pub(crate) data: Option<Data>,
}

/// The data of a step's report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    /// The value in the journal.
    Here(Value),
    /// The member `data` of the report with this digest.
    InReport(Digest),
    /// The whole content with this digest.
    Kept(Digest),
}

/// The newest version of a file that steps hand over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileVersion {
    /// Path relative to the workspace.
    pub(crate) path: String,
    /// The content; `None` if the file was deleted.
    pub(crate) blob: Option<Blob>,
}

/// The state of a task, with its details.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// The state.
    pub(crate) state: TaskState,
    /// The time of the last event.
    pub(crate) at: Timestamp,
    /// Open questions, the oldest first; empty unless the task waits.
    pub(crate) questions: Vec<Arc<Question>>,
    /// Present only if the task has ended.
    pub(crate) end: Option<Arc<End>>,
}

/// The position of an update: its event, and its number among the updates of that event, from 1. The last
/// update has no number.
///
/// Written `SEQ` or `SEQ.N`, so that the plain number of an event means that all its updates were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    seq: Seq,
    nth: Option<usize>,
}

impl StreamPosition {
    /// The position after all updates of an event.
    pub(crate) const fn after(seq: Seq) -> Self {
        Self { seq, nth: None }
    }

    /// Parses the output of [`fmt::Display`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        fn number<T: core::str::FromStr>(text: &str) -> Option<T> {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        }
        Some(match text.split_once('.') {
            None => Self { seq: number(text)?, nth: None },
            Some((seq, nth)) => Self { seq: number(seq)?, nth: Some(number(nth)?) },
        })
    }

    /// The event.
    pub(crate) const fn seq(self) -> Seq {
        self.seq
    }

    /// The first event with updates after this position: the event itself if more of its updates follow.
    pub(crate) const fn next_seq(self) -> Seq {
        match self.nth {
            None => self.seq.saturating_add(1),
            Some(_) => self.seq,
        }
    }

    /// Whether it comes after `other`.
    pub(crate) fn is_after(self, other: Self) -> bool {
        let rank = |place: Self| (place.seq, place.nth.unwrap_or(usize::MAX));
        rank(self) > rank(other)
    }
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            None => write!(f, "{}", self.seq),
            Some(nth) => write!(f, "{}.{nth}", self.seq),
        }
    }
}

/// An update for clients.
#[derive(Debug, Clone)]
pub(crate) struct TaskUpdate {
    /// The position of the update.
    pub(crate) position: StreamPosition,
    /// The kind of the update.
    pub(crate) kind: UpdateKind,
}

/// The kind of a [`TaskUpdate`]. Content is referenced, not included.
#[derive(Debug, Clone)]
pub(crate) enum UpdateKind {
    /// The status of the task has changed.
    Status(Standing),
    /// A file is new, has changed, or was deleted.
    File(Arc<FileVersion>),
}

/// The content of the last message of a successful run.
#[derive(Debug, Default)]
pub(crate) struct RunResult {
    /// The last text of its last step.
    pub(crate) last_text: Option<Blob>,
    /// The place of the run's data, if it is too large for the journal.
    pub(crate) large: BTreeMap<Digest, Data>,
}

impl Fold {
    /// A run without any event applied.
    pub(crate) fn new(flow: impl Into<Versions>) -> Self {
        Self {
            run: Run::new(flow),
            history: Vec::new(),
            files: BTreeMap::new(),
            texts: BTreeMap::new(),
            last_text: None,
            large: BTreeMap::new(),
            end: None,
            last_shown: (TaskState::Working, Vec::new()),
        }
    }

    /// A run in this state, with only these records applied: enough to show the task, not to apply later
    /// events.
    ///
    /// `result` has the place of its last data, if that is too large for the journal.
    pub(crate) fn standing_as(
        run: Run,
        shown: &[Record],
        files: Vec<FileVersion>,
        result: RunResult,
    ) -> Self {
        let files = files.into_iter().map(|made| (made.path.clone(), Arc::new(made))).collect();
        let RunResult { last_text, large } = result;
        let mut fold = Self { files, last_text, large, ..Self::new(run.versions().clone()) };
        fold.run = run;
        for record in shown {
            fold.record_history(record);
        }
        fold
    }

    /// Applies records in order, any number of moments but only whole ones. Returns the updates for clients.
    ///
    /// # Errors
    /// [`ApplyError`] if the records do not follow the applied ones. The fold must not be used after that.
    pub(crate) fn apply(&mut self, records: &[Record]) -> Result<Vec<TaskUpdate>, ApplyError> {
        let mut updates = Vec::new();
        for moment in records.chunk_by(|one, next| one.at == next.at) {
            let mut of_moment = Vec::new();
            for record in moment {
                self.run.apply(record)?;
                self.record_history(record);
                of_moment.extend(
                    self.take_files(record).into_iter().map(|made| (record.seq, UpdateKind::File(made))),
                );
            }
            if let Some((last, standing)) = moment.last().zip(self.changed()) {
                of_moment.push((last.seq, UpdateKind::Status(standing)));
            }
            updates.extend(with_positions(of_moment));
        }
        Ok(updates)
    }

    /// Adds the flow versions to which the run was pinned; see [`Run::learn`].
    pub(crate) fn learn(&mut self, versions: &Versions) {
        versions.all().for_each(|flow| self.run.learn(Arc::clone(flow)));
    }

    /// The run, with all records applied.
    pub(crate) const fn run(&self) -> &Run {
        &self.run
    }

    /// The number of the next event.
    pub(crate) fn next_seq(&self) -> Seq {
        self.run.next_seq()
    }

    /// The conversation so far.
    pub(crate) fn history(&self) -> &[HistoryEntry] {
        &self.history
    }

    /// The files handed over so far, by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileVersion> {
        self.files.values().map(AsRef::as_ref)
    }

    /// The current status of the task.
    pub(crate) fn standing(&self) -> Standing {
        let state = state_of(&self.run);
        let questions = match state {
            TaskState::InputRequired => self.open_questions(),
            _ => Vec::new(),
        };
        let end = self.end.clone().filter(|_| state.is_terminal());
        Standing { state, at: self.run.last_at(), questions, end }
    }

    /// Open questions, oldest first.
    fn open_questions(&self) -> Vec<Arc<Question>> {
        let open: Vec<&InterruptId> = self.run.interrupts().map(|raised| &raised.interrupt).collect();
        let questions = self.history.iter().filter_map(|turn| match turn {
            HistoryEntry::Question(question) if open.contains(&&question.raised.interrupt) => {
                Some(Arc::clone(question))
            }
            _ => None,
        });
        questions.collect()
    }

    /// The state of the task, if it differs from the last update.
    fn changed(&mut self) -> Option<Standing> {
        let standing = self.standing();
        let open = standing.questions.iter().map(|question| question.raised.interrupt.clone()).collect();
        let shown = (standing.state, open);
        let changed = shown != self.last_shown;
        self.last_shown = shown;
        changed.then_some(standing)
    }

    fn record_history(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted(_) => self.history.push(HistoryEntry::Begun),
            Event::InterruptRaised(raised) => {
                let question = Question::of(&self.run, raised);
                self.history.push(HistoryEntry::Question(Arc::new(question)));
            }
            Event::InterruptAnswered(answer) | Event::VoteCast(answer) => {
                let id = format!("ans_{}", self.derived(record));
                self.history
                    .push(HistoryEntry::Answered(Arc::new(Answered { id, answer: answer.as_ref().clone() })));
            }
            Event::AttemptSettled(settled) => self.take_text(settled),
            Event::HandoffWritten(written) => self.conclude(written),
            Event::RunEnded(ended) => {
                let succeeded = ended.status == EndStatus::Succeeded;
                let text = self.last_text.clone().filter(|_| succeeded);
                let data = last_data(&self.run).filter(|_| succeeded).map(|data| self.data(&data));
                let id = format!("end_{}", self.derived(record));
                let end = Arc::new(End { id, ended: ended.clone(), text, data });
                self.end = Some(Arc::clone(&end));
                self.history.push(HistoryEntry::Ended(end));
            }
            _ => {}
        }
    }

    /// Data from the run's state, which may be a reference to the content with the data.
    ///
    /// In an earlier version a step could hand over data that looks like such a reference. Only references
    /// made by the engine are followed: otherwise a step could publish any file of the store, including
    /// another tenant's.
    fn data(&self, data: &Value) -> Data {
        let digest = digest_of_reference(data);
        digest.and_then(|digest| self.large.get(&digest).cloned()).unwrap_or_else(|| Data::Here(data.clone()))
    }

    /// An id for the message about an event.
    fn derived(&self, record: &Record) -> String {
        let unknown = RunId::new("run_0").ok();
        let run = self.run.started().map(|started| &started.run).or(unknown.as_ref());
        run.map(|run| derived(run, record.seq, record.at)).unwrap_or_default()
    }

    fn take_text(&mut self, settled: &AttemptSettled) {
        if settled.late {
            return;
        }
        self.large.extend(place_of_large_data(settled));
        match settled.text.clone().filter(|text| text.size > 0) {
            Some(text) => self.texts.insert(settled.attempt.visit.clone(), text),
            None => self.texts.remove(&settled.attempt.visit),
        };
    }

    /// The last text of a step counts once its visit is concluded.
    fn conclude(&mut self, written: &HandoffWritten) {
        let text = self.texts.remove(&written.visit);
        if written.handoff.status != HandoffStatus::Skipped && text.is_some() {
            self.last_text = text;
        }
    }

    fn take_files(&mut self, record: &Record) -> Vec<Arc<FileVersion>> {
        let Event::AttemptSettled(settled) = &record.event else { return Vec::new() };
        if settled.late {
            return Vec::new();
        }
        let listed =
            settled.files.iter().map(|file| FileVersion { path: file.path.clone(), blob: file.blob.clone() });
        // For a large set clients get the list, and find the contents through it.
        let list = settled.manifest.as_ref().map(|manifest| FileVersion {
            path: list_name(&settled.attempt.visit.scope, &settled.attempt.visit.step),
            blob: Some(manifest.list.clone()),
        });
        let made = listed.chain(list).filter_map(|made| {
            // A file that is handed over unchanged causes no update.
            let is_known = self.files.get(&made.path).is_some_and(|known| **known == made);
            let made = Arc::new(made);
            self.files.insert(made.path.clone(), Arc::clone(&made));
            (!is_known).then_some(made)
        });
        made.collect()
    }
}

/// The resulting data of a run: that of the last step that has data and whose hand-off is a success.
///
/// A step with a question does not count: its data is a person's answer, not a result of the run.
pub(crate) fn last_data(run: &Run) -> Option<Value> {
    let envelope = run.envelope();
    let data = |step: &str| {
        let id = StepId::new(step).ok()?;
        let asks = run.flow().steps.iter().any(|step| step.id == id && step.asks().is_some());
        let data = envelope.outputs.get(step)?.get("data")?;
        (!asks && !data.is_null() && !envelope.failed_stages.contains_key(step)).then(|| data.clone())
    };
    let newest = run.last_handoff().filter(|visit| visit.scope.is_empty()).map(|visit| visit.step.as_str());
    // Steps of inner flows do not count: the step that calls the flow has their result.
    let others = envelope.outputs.keys().collect::<Vec<_>>().into_iter().rev();
    newest.into_iter().chain(others).find_map(data)
}

/// The digest that data refers to, if it has the form of a reference.
pub(crate) fn digest_of_reference(data: &Value) -> Option<Digest> {
    let members = data.as_object().filter(|members| members.len() == 2 && members.contains_key("size"))?;
    Digest::parse(members.get("$artifact")?.as_str()?)
}

/// The place of data that the engine has replaced by a reference.
pub(crate) fn place_of_large_data(settled: &AttemptSettled) -> Option<(Digest, Data)> {
    let digest = digest_of_reference(&settled.data)?;
    let is = |blob: &Option<Blob>| blob.as_ref().is_some_and(|blob| blob.digest == digest);
    match (is(&settled.report), is(&settled.data_kept)) {
        (true, _) => Some((digest, Data::InReport(digest))),
        (_, true) => Some((digest, Data::Kept(digest))),
        _ => None,
    }
}

/// The updates of a moment, each with its position.
fn with_positions(of_moment: Vec<(Seq, UpdateKind)>) -> impl Iterator<Item = TaskUpdate> {
    let seqs: Vec<Seq> = of_moment.iter().map(|(seq, _)| *seq).collect();
    let of_event = move |index: usize, seq: Seq| {
        let before = seqs.iter().take(index).filter(|other| **other == seq).count();
        let behind = seqs.iter().skip(index.saturating_add(1)).any(|other| *other == seq);
        behind.then_some(before.saturating_add(1))
    };
    of_moment.into_iter().enumerate().map(move |(index, (seq, kind))| {
        let position = StreamPosition { seq, nth: of_event(index, seq) };
        TaskUpdate { position, kind }
    })
}

/// The A2A state of a run's status in the kernel.
fn state_of(run: &Run) -> TaskState {
    let status = match run.status() {
        RunStatus::Running => journal::RunStatus::Running,
        RunStatus::Waiting { .. } => journal::RunStatus::Waiting,
        RunStatus::Ended(ended) => journal::RunStatus::Ended(ended.status),
    };
    state::of(status, run.interrupts().next().is_some())
}

#[cfg(test)]
mod tests;
