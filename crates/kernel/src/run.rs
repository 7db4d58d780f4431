//! A run of a flow: its state, the events that change it, and what it wants to be true.

mod ahead;
mod hand_offs;
mod what_if;

pub use hand_offs::{HasOtherFiles, hand_offs};
pub use what_if::{Lead, Reconsidered, WhatIf, what_if};

use crate::state::bounds;
use crate::{
    decide::{
        advance, answer, ask, call, cancel, correct,
        draft::Draft,
        expire, files, fork, raise,
        reopen::{self, Reopen},
        settle, start, timer, try_now,
    },
    model::{
        command::Command,
        event::{
            AttemptStarted, Choice, Correction, EndStatus, FilesRestoring, InterruptAnswered,
            InterruptRaised, Record, RunForked, RunStarted,
        },
        family::Share,
        files::HandedOver,
        flow::{Flow, Limits, Step, Versions},
        ids::{AttemptId, CallId, InterruptId, RunId, Seq, StepId, VisitId},
        input::{Input, Refusal, Slot, Wants},
        ledger::Ledger,
        throttle::AccountWait,
    },
    state::{
        accounts,
        control::{ApplyError, Control, stored::StoredControl},
        envelope_size,
        outlook::Outlook,
        projection,
        status::Status,
    },
};
use ahead::Ahead;
use envoi_contract::{digest::Digest, envelope::Envelope, time::Timestamp};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{collections::BTreeMap, sync::Arc};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The version of its flow that holds now.
    flow: Arc<Flow>,
    versions: Versions,
    control: Control,
    /// Without what mirrors the state: [`Run::envelope`] adds that.
    envelope: Envelope,
    /// About the bytes of the envelope's outputs together.
    outputs_bytes: usize,
    /// The use of each step; no decision reads it.
    by_step: BTreeMap<String, Ledger>,
    view: View,
    ahead: Ahead,
}

/// The parts of the view, which only shows the run, that follow the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// The envelope and `by_step`.
    Whole,
    /// `by_step` alone.
    ByStep,
    Nothing,
}

/// See [`Run::progress`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The values there are.
    pub items: usize,
    /// Items that are done or have failed, also those that a visit keeps of the visit that it takes up.
    pub over: usize,
    /// Items that have failed.
    pub failed: usize,
}

/// A journal that is not this run's, or a snapshot that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// An event contradicts those before it.
    #[error(transparent)]
    Illegal(#[from] ApplyError),
    /// The snapshot is damaged, or was written by another version; or the state cannot be written as one.
    #[error("the snapshot cannot be read or written: {reason}")]
    Snapshot {
        /// The error of the reader.
        reason: String,
    },
}

/// The version of what a snapshot holds. It grows when a member gets another name or another meaning: a snapshot of another
/// version is not read, and the run is replayed from its events. A member that is added leaves it as it is if its default is true of
/// every run of before.
const SNAPSHOT_VERSION: u32 = 3;

/// Snapshots written before they had a version are of the first one.
fn first_version() -> u32 {
    1
}

/// The types within refuse members that they do not know: a member that was renamed would otherwise come back as its default.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    #[serde(default = "first_version")]
    version: u32,
    control: StoredControl,
    envelope: Envelope,
    by_step: BTreeMap<String, Ledger>,
}

/// A snapshot of which the envelope is not read: it is most of the snapshot of a long run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotWithoutEnvelope {
    #[serde(default = "first_version")]
    version: u32,
    control: StoredControl,
    #[serde(rename = "envelope")]
    _envelope: IgnoredAny,
    by_step: BTreeMap<String, Ledger>,
}

/// The deciding state alone: a snapshot without the view, of the same version.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlSnapshot {
    version: u32,
    control: StoredControl,
}

impl Run {
    /// A run of a flow before its first event; of all its versions, if it has been corrected.
    #[must_use]
    pub fn new(flow: impl Into<Versions>) -> Self {
        let versions = flow.into();
        let flow = Arc::clone(versions.first());
        let (control, envelope, by_step, ahead) = Default::default();
        Self { flow, versions, control, envelope, outputs_bytes: 0, by_step, view: View::Whole, ahead }
    }

    /// The same for a run that only decides: [`Run::apply`] then leaves out what shows the run. Its [`Run::envelope`] has only what
    /// mirrors the state, [`Run::by_step`] is empty, and it has no [`Run::snapshot`], but a [`Run::control_snapshot`].
    #[must_use]
    pub fn without_view(flow: impl Into<Versions>) -> Self {
        Self { view: View::Nothing, ..Self::new(flow) }
    }

    /// The run that these records made; the same code as living through them.
    ///
    /// # Errors
    /// [`ReplayError::Illegal`] names the first event that cannot follow.
    pub fn replay(
        flow: impl Into<Versions>,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self, ReplayError> {
        let mut run = Self::new(flow);
        for record in records {
            run.apply(&record)?;
        }
        Ok(run)
    }

    /// The state as bytes, for a snapshot.
    ///
    /// # Errors
    /// [`ReplayError::Snapshot`]: the state cannot be written, or the run has no view. The run does without a snapshot.
    pub fn snapshot(&self) -> Result<Vec<u8>, ReplayError> {
        if self.view != View::Whole {
            return Err(ReplayError::Snapshot { reason: "the run is without its view".to_owned() });
        }
        let snapshot = Snapshot {
            version: SNAPSHOT_VERSION,
            control: self.control.clone().into(),
            envelope: self.envelope(),
            by_step: self.by_step.clone(),
        };
        serde_json::to_vec(&snapshot).map_err(|error| ReplayError::Snapshot { reason: error.to_string() })
    }

    /// The run that [`Run::snapshot`] was taken of.
    ///
    /// # Errors
    /// [`ReplayError::Snapshot`]: then replay from the first event.
    pub fn restore(flow: impl Into<Versions>, snapshot: &[u8]) -> Result<Self, ReplayError> {
        let Snapshot { version, control, mut envelope, by_step } = read_snapshot(snapshot)?;
        let run = Self::of_control(flow.into(), version, control)?;
        projection::forget_mirrored(&mut envelope, &run.control);
        let outputs_bytes = envelope_size::total(&envelope);
        Ok(Self { envelope, outputs_bytes, by_step, view: View::Whole, ..run })
    }

    /// As [`Run::restore`], without the envelope, which takes most of the time: for a run that is shown otherwise. Its [`Run::envelope`] has
    /// only what mirrors the state, and it has no [`Run::snapshot`].
    ///
    /// # Errors
    /// [`ReplayError::Snapshot`]: then replay from the first event.
    pub fn restore_without_envelope(flow: impl Into<Versions>, snapshot: &[u8]) -> Result<Self, ReplayError> {
        let SnapshotWithoutEnvelope { version, control, by_step, .. } = read_snapshot(snapshot)?;
        let run = Self::of_control(flow.into(), version, control)?;
        Ok(Self { by_step, view: View::ByStep, ..run })
    }

    /// The deciding state, as bytes: all that [`Run::decide`] and [`Run::wants`] read. It grows with the open visits and with the
    /// steps of the flow, while the envelope in [`Run::snapshot`] grows with each visit.
    ///
    /// # Errors
    /// [`ReplayError::Snapshot`]: the state cannot be written.
    pub fn control_snapshot(&self) -> Result<Vec<u8>, ReplayError> {
        let snapshot = ControlSnapshot { version: SNAPSHOT_VERSION, control: self.control.clone().into() };
        serde_json::to_vec(&snapshot).map_err(|error| ReplayError::Snapshot { reason: error.to_string() })
    }

    /// The run that [`Run::control_snapshot`] was taken of, as [`Run::without_view`] has it.
    ///
    /// # Errors
    /// [`ReplayError::Snapshot`]: then replay from the first event.
    pub fn restore_control(flow: impl Into<Versions>, snapshot: &[u8]) -> Result<Self, ReplayError> {
        let ControlSnapshot { version, control } = read_snapshot(snapshot)?;
        Self::of_control(flow.into(), version, control)
    }

    /// A run without its view that has come to this.
    fn of_control(versions: Versions, version: u32, control: StoredControl) -> Result<Self, ReplayError> {
        if version != SNAPSHOT_VERSION {
            return Err(ReplayError::Snapshot { reason: format!("it is of version {version}") });
        }
        let control = Control::try_from(control)
            .map_err(|error| ReplayError::Snapshot { reason: error.to_string() })?;
        let pinned = control.phase.started().map_or(versions.first().digest, |started| started.flow_digest);
        let language = control.phase.started().map_or(versions.first().language, |started| started.language);
        let of_digest = || versions.all().find(|flow| flow.digest == pinned);
        let Some(flow) = versions.of(&pinned, language).or_else(of_digest).map(Arc::clone) else {
            return Err(ReplayError::Snapshot { reason: "it is of another flow".to_owned() });
        };
        Ok(Self { flow, control, ..Self::without_view(versions) })
    }

    /// The run as it is where its files are now: they have moved since it was started. No event has that, and none is changed.
    pub fn relocate(&mut self, workspace: String, run_base: String, source: String, origin: Option<String>) {
        self.ahead.forget();
        let Some(started) = self.control.phase.started_mut() else { return };
        self.envelope.metadata.insert("workspace".to_owned(), workspace.as_str().into());
        started.workspace = workspace;
        started.run_base = run_base;
        started.source = source;
        if let (Some(isolated), Some(of)) = (&mut started.isolated, origin) {
            isolated.of = of;
        }
    }

    /// Has the run know another version of its flow. It holds once an event has it.
    pub fn learn(&mut self, flow: Arc<Flow>) {
        self.versions.add(flow);
    }

    /// The effect of a correction of its flow on the run, now; changes nothing. `from`: the step from which on finished steps
    /// run again.
    #[must_use]
    pub fn correction(&self, to: &Flow, from: Option<&StepId>) -> Outlook {
        Outlook::of(&self.flow, to, &self.control, from)
    }

    /// Returns the records that `input` would cause, and changes nothing.
    ///
    /// The input may start one attempt, in `slot`; with `None` nothing is started, and a visit that could start is ready
    /// ([`Wants::ready`]). The records are to be committed together, then passed to [`Run::apply`] in this order. Safe to
    /// call twice: the same input with the same slot at the same `now` gives the same records.
    ///
    /// # Errors
    /// [`Refusal`] says why the input is not acceptable now (late, foreign, malformed, past a bound). The run is as before.
    pub fn decide(&self, input: Input, slot: Option<Slot>, now: Timestamp) -> Result<Vec<Record>, Refusal> {
        self.check_phase(&input)?;
        self.decide_on(self.control.clone(), input, slot, now).map(|(records, ..)| records)
    }

    /// As [`Run::decide`], for a live run: the state after the records is kept for the next decision, so that no decision copies the state.
    /// When they are committed, [`Run::apply`] takes each of them, in this order and before anything else is decided. If they are not, call
    /// [`Run::withdraw`].
    ///
    /// # Errors
    /// As [`Run::decide`].
    pub fn decide_next(
        &mut self,
        input: Input,
        slot: Option<Slot>,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.check_phase(&input)?;
        let control = self.ahead.take(&self.control);
        let (records, control, is_cut_short) = self.decide_on(control, input, slot, now)?;
        self.ahead.keep(control, is_cut_short);
        Ok(records)
    }

    /// Whether the last [`Run::decide_next`] ended although more follows, so that other runs have their turn before. The rest waits for the
    /// next [`Input::SlotFree`], with a slot or without.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.ahead.is_cut_short()
    }

    /// The last decision is not committed.
    pub fn withdraw(&mut self) {
        self.ahead.forget();
    }

    fn decide_on(
        &self,
        control: Control,
        input: Input,
        slot: Option<Slot>,
        now: Timestamp,
    ) -> Result<(Vec<Record>, Control, bool), Refusal> {
        let draft = Draft::new(&self.versions, &self.flow, control, slot, now);
        let decided = match input {
            Input::Start(start) => start::start(draft, *start),
            Input::Fork(fork) => fork::fork(draft, *fork),
            Input::SlotFree => advance::slot_free(draft),
            Input::Settled(result) => settle::settled(draft, *result),
            Input::InDoubt { attempt, evidence } => settle::in_doubt(draft, &attempt, evidence),
            Input::ModelCall(call) => call::begin(draft, *call),
            Input::ModelCalled(called) => call::end(draft, *called),
            Input::Answer(answer) => answer::answer(draft, *answer),
            Input::Changed { interrupt, found } => ask::changed(draft, interrupt, found),
            Input::Expire { interrupt } => expire::expire(draft, interrupt),
            Input::TimerDue { timer } => timer::due(draft, timer),
            Input::Raise { more, by, why, request, elsewhere } => {
                raise::raise(draft, more, request, Reopen { by, why, request: None, elsewhere })
            }
            Input::Correct(correct) => correct::correct(draft, *correct),
            Input::TryNow { by, why, request, elsewhere } => {
                try_now::try_now(draft, Reopen { by, why, request, elsewhere })
            }
            Input::RestoreFiles(wanted) => files::restore(draft, *wanted),
            Input::FilesRestored(restored) => files::restored(draft, *restored),
            Input::FilesKept { reason } => files::kept(draft, reason),
            Input::Cancel { by } => cancel::cancel(draft, by),
            Input::Reopen { by, why, request, elsewhere } => {
                reopen::reopen(draft, Reopen { by, why, request, elsewhere })
            }
        }?;
        Ok(decided.finish())
    }

    fn check_phase(&self, input: &Input) -> Result<(), Refusal> {
        let has_started = self.control.phase.started().is_some();
        if matches!(input, Input::Start(_) | Input::Fork(_)) {
            return if has_started { Err(Refusal::AlreadyStarted) } else { Ok(()) };
        }
        if !has_started {
            return Err(Refusal::NotStarted);
        }
        let status = self.status();
        match (input, &status) {
            (
                Input::Correct(_)
                | Input::Reopen { .. }
                | Input::Settled(_)
                | Input::ModelCalled(_)
                | Input::RestoreFiles(_)
                | Input::FilesRestored(_)
                | Input::FilesKept { .. },
                Status::Ended(_),
            ) => Ok(()),
            (Input::Raise { .. } | Input::TryNow { .. }, Status::Ended(ended))
                if ended.status != EndStatus::Succeeded =>
            {
                Ok(())
            }
            (_, Status::Ended(_)) => Err(Refusal::Over { status: status.word() }),
            _ => Ok(()),
        }
    }

    /// Changes the state by one committed record; the only way in which it changes.
    ///
    /// # Errors
    /// [`ApplyError`] when the event cannot follow; the state is then not to be used further.
    pub fn apply(&mut self, record: &Record) -> Result<(), ApplyError> {
        let next = Arc::clone(self.versions.named_by(&record.event).unwrap_or(&self.flow));
        if self.view == View::Nothing {
            self.control.apply(&self.flow, &next, record)?;
            self.flow = next;
            return Ok(());
        }
        let used = self.control.ledger.clone();
        if self.view == View::Whole {
            projection::before(&mut self.envelope, &self.control, &record.event);
        }
        self.control.apply(&self.flow, &next, record)?;
        self.flow = next;
        accounts::charge(&mut self.by_step, &record.event, &used, &self.control.ledger);
        if self.view == View::ByStep {
            return Ok(());
        }
        let Self { flow, control, envelope, outputs_bytes, .. } = self;
        projection::apply(envelope, outputs_bytes, flow, control, record);
        Ok(())
    }

    /// The things that are to be true now; empty only when the run is over or has not begun.
    #[must_use]
    pub fn wants(&self) -> Wants {
        if self.control.phase.ended().is_some() {
            return Wants::default();
        }
        Wants {
            attempts: self.control.live().map(|(id, visit)| id.attempt(visit.attempts)).collect(),
            ready: bounds::ready(&self.flow, &self.control).cloned().collect(),
            timers: self.control.timers.iter().map(|(id, (due, _))| (id.clone(), *due)).collect(),
            interrupts: self.control.interrupts.keys().cloned().collect(),
            expiries: self.expiries().collect(),
            ending: self.control.ending.keys().cloned().collect(),
            cancelling: self.control.phase.cancelled_by().is_some(),
            restoring: self.control.restoring.is_some(),
        }
    }

    /// The state of the run.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::of(&self.flow, &self.control)
    }

    /// Contract 3 of this run as it is now. It is made anew each time, from all that is open: ask where it is read, not at each event.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        let mut envelope = self.envelope.clone();
        projection::mirror(&mut envelope, &self.flow, &self.control);
        envelope
    }

    /// Every version of its flow that it knows.
    #[must_use]
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The correction of its flow that takes effect when nothing is live.
    #[must_use]
    pub fn requested_correction(&self) -> Option<&Correction> {
        self.control.correction.as_deref()
    }

    /// The restore of its files that is under way: nothing of it starts until that is done.
    #[must_use]
    pub fn restoring(&self) -> Option<&FilesRestoring> {
        self.control.restoring.as_deref()
    }

    /// The pinned flow, in the version that holds now.
    #[must_use]
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// The flow that holds a visit: the run's own, or one that a step runs.
    #[must_use]
    pub fn flow_of(&self, visit: &VisitId) -> &Arc<Flow> {
        let inner = self.control.flow_id(visit.flow_scope());
        inner.and_then(|id| self.flow.flows.get(id)).unwrap_or(&self.flow)
    }

    /// The step of a visit.
    #[must_use]
    pub fn step(&self, visit: &VisitId) -> Option<&Step> {
        self.flow_of(visit).step(&visit.step)
    }

    /// How the run began; `None` before its first event.
    #[must_use]
    pub fn started(&self) -> Option<&RunStarted> {
        self.control.phase.started().map(Arc::as_ref)
    }

    /// The start of an attempt that is live, or was given up and is being ended.
    #[must_use]
    pub fn attempt(&self, id: &AttemptId) -> Option<&Arc<AttemptStarted>> {
        let open = self.control.open.get(&id.visit).and_then(|visit| visit.plan.as_ref());
        open.filter(|plan| plan.attempt == *id).or_else(|| self.control.ending.get(id))
    }

    /// The start of the last attempt of an open visit, live or not.
    #[must_use]
    pub fn last_attempt(&self, visit: &VisitId) -> Option<&Arc<AttemptStarted>> {
        self.control.open.get(visit)?.plan.as_ref()
    }

    /// The last attempts, live or not, of visits whose agents' tasks may go on, as far as the run knows. None once the run is
    /// over or being cancelled: then no attempt waits for those tasks any more.
    pub fn talks(&self) -> impl Iterator<Item = &Arc<AttemptStarted>> {
        let waits = self.control.phase.cancelled_by().is_none() && !matches!(self.status(), Status::Ended(_));
        self.control.open.values().filter_map(move |open| {
            let plan = open.plan.as_ref().filter(|_| waits)?;
            let Command::A2a(call) = &plan.command else { return None };
            open.agent_session.is_about(call).then_some(plan)
        })
    }

    /// The visits that wait for a closed account, and until when.
    pub fn account_waits(&self) -> impl Iterator<Item = (&VisitId, &AccountWait, Timestamp)> {
        self.control.timers.values().filter_map(|(due, visit)| {
            let wait = self.control.open.get(visit)?.waited.wait.as_ref()?;
            Some((visit, wait, *due))
        })
    }

    /// How far an open visit that is done for each of several values has come; `None` for any other.
    #[must_use]
    pub fn progress(&self, visit: &VisitId) -> Option<Progress> {
        let fan = self.control.open.get(visit)?.for_each.as_ref()?;
        Some(Progress { items: fan.items.len(), over: fan.results.len(), failed: fan.failed().count() })
    }

    /// How often the loop that a step closes has gone back since it was entered, in the flow of this scope (empty: the run's own).
    #[must_use]
    pub fn iteration(&self, scope: &str, closing: &StepId) -> u64 {
        let state = if scope.is_empty() { Some(&self.control.top) } else { self.control.subflows.get(scope) };
        state.and_then(|state| state.loops.get(closing)).map_or(0, |state| state.iteration)
    }

    /// Questions that are open, oldest first.
    pub fn interrupts(&self) -> impl Iterator<Item = &InterruptRaised> {
        self.control.interrupts.values().map(AsRef::as_ref)
    }

    fn expiries(&self) -> impl Iterator<Item = (InterruptId, Timestamp)> {
        self.interrupts().filter_map(|raised| Some((raised.interrupt.clone(), raised.expires_at?)))
    }

    /// The choices of an open question, the most usual first; another round may still be refused past a limit.
    #[must_use]
    pub fn accepts(&self, raised: &InterruptRaised) -> Vec<Choice> {
        self.step(&raised.visit).map(|step| answer::accepts(step, raised)).unwrap_or_default()
    }

    /// Approvals of an open question that needs more than one, in the order in which they came.
    pub fn votes(&self, interrupt: &InterruptId) -> impl Iterator<Item = &InterruptAnswered> {
        self.control.votes.get(interrupt).into_iter().flatten().map(AsRef::as_ref)
    }

    /// The newest version of every artifact that events list, by its path in the workspace; `None` when it was deleted.
    /// The files of [`Run::manifests`] are not among them.
    #[must_use]
    pub fn files(&self) -> &BTreeMap<String, Option<Digest>> {
        &self.control.files
    }

    /// The lists of artifacts that are content of the store, in the order in which they were handed over.
    #[must_use]
    pub fn manifests(&self) -> &[HandedOver] {
        &self.control.manifests
    }

    /// The visit whose hand-off is the last one that was not skipped.
    #[must_use]
    pub fn last_handoff(&self) -> Option<&VisitId> {
        self.control.last_handoff.as_ref()
    }

    /// The limits that hold: those of the flow, and the amounts that people have added.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let limits = &self.flow.limits;
        let raised = &self.control.raised;
        let higher = |max: Option<u64>, more: u64| max.map(|max| max.saturating_add(more));
        Limits {
            agent_hops: higher(limits.agent_hops, raised.agent_hops),
            iterations: higher(limits.iterations, raised.iterations),
            llm_calls: higher(limits.llm_calls, raised.llm_calls),
            wall_time_ms: higher(limits.wall_time_ms, raised.wall_time_ms),
            waiting_ms: higher(limits.waiting_ms, raised.waiting_ms),
            cost: limits.cost.map(|max| max.saturating_add(raised.cost)),
            unknown: limits.unknown,
            on_reached: limits.on_reached,
        }
    }

    /// The most rounds of a run with goals: those of the flow, and those that people have added.
    #[must_use]
    pub fn max_rounds(&self) -> Option<u64> {
        let goals = self.flow.goals.as_ref()?;
        Some(goals.max_rounds.saturating_add(self.control.raised.rounds))
    }

    /// The amounts that the run has used, and those of others of its family when it last began or went on: its
    /// limits are tested with them.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.control.ledger
    }

    /// How long it has waited for accounts until `now`: the time in which at least one of its steps did. Forks begin at 0.
    #[must_use]
    pub fn waited_ms(&self, now: Timestamp) -> u64 {
        self.control.waiting.up_to(now)
    }

    /// The amounts of model calls that were metered for this attempt, until it is over.
    #[must_use]
    pub fn metered(&self, attempt: &AttemptId) -> Ledger {
        self.control.accounts.of(attempt).1
    }

    /// The amounts that people have added to the limits.
    #[must_use]
    pub fn raised(&self) -> &Ledger {
        &self.control.raised
    }

    /// Its own used and added amounts: for all but forks these are all that it knows.
    #[must_use]
    pub fn own_share(&self) -> Share {
        self.known_share().beyond(&self.control.inherited)
    }

    /// The amounts that it knows to have been used by its family, and added to its limits.
    #[must_use]
    pub fn known_share(&self) -> Share {
        Share { used: self.control.ledger.clone(), raised: self.control.raised.clone() }
    }

    /// How it was forked, if it is a fork.
    #[must_use]
    pub fn forked(&self) -> Option<&RunForked> {
        self.control.forked.as_deref()
    }

    /// The run that it goes back to by forks: itself, if it is none. `None` before its first event.
    #[must_use]
    pub fn root(&self) -> Option<&RunId> {
        let own = self.control.phase.started().map(|started| &started.run);
        self.forked().map(|forked| &forked.root).or(own)
    }

    /// The amounts that live attempts have reserved: their budgets.
    #[must_use]
    pub fn reserved(&self) -> Ledger {
        self.control.accounts.reserved()
    }

    /// Whether this attempt is to be running.
    #[must_use]
    pub fn is_live(&self, attempt: &AttemptId) -> bool {
        self.control.is_live(attempt)
    }

    /// Calls of models that are under way, and the attempt that made each, if one did. There may be some when the run
    /// is over.
    pub fn calls(&self) -> impl Iterator<Item = (&CallId, Option<&AttemptId>)> {
        self.control.accounts.calls()
    }

    /// The use of each step, by its id; a step of an inner flow is named by both ids, `build.compile`. The sum of all is
    /// the run's own use ([`Run::own_share`]), but for model calls that no attempt made.
    #[must_use]
    pub fn ledger_by_step(&self) -> &BTreeMap<String, Ledger> {
        &self.by_step
    }

    /// The time of the last event; the run's own time never goes below it.
    #[must_use]
    pub fn last_at(&self) -> Timestamp {
        self.control.last_at
    }

    /// The sequence number of the next event.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.control.next_seq
    }
}

fn read_snapshot<'s, S: Deserialize<'s>>(snapshot: &'s [u8]) -> Result<S, ReplayError> {
    serde_json::from_slice(snapshot).map_err(|error| ReplayError::Snapshot { reason: error.to_string() })
}
