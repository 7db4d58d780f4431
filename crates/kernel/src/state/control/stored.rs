//! The stored form of the state in a snapshot: names, order and encoding of its members.
//!
//! The phase is stored as four members; a state has only those that it needs. Older snapshots, written before
//! the phase was one type, may have more of them: the cause of an end beside the end, or the reason of a stop
//! beside the person who cancels. The latest phase wins.

use super::Control;
use crate::{
    model::{
        event::{
            AttemptStarted, Correction, FilesRestoring, InterruptAnswered, InterruptRaised, RunEnded,
            RunForked, RunStarted,
        },
        family::Share,
        files::HandedOver,
        ids::{AttemptId, FlowId, InterruptId, Principal, Seq, TimerId, VisitId},
        ledger::Ledger,
    },
    state::{
        accounts::Accounts, flow_state::FlowState, goals::Goals, open_visits::OpenVisits, phase::Phase,
        program_session::ProgramSessions, throttle::WaitingTime,
    },
};
use envoi_contract::{digest::Digest, time::Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A run that has not started cannot be ending or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is of a run that ends and has not started")]
pub(crate) struct EndsBeforeItsStart;

/// Defines the stored form from one list of the members that it shares with the state: those before the
/// phase, and those after it. The conversions in both directions name every member, so that none can be
/// forgotten.
macro_rules! stored_control {
    (
        { $($(#[$attribute_before:meta])* $before:ident: $type_before:ty,)* }
        phase
        { $($(#[$attribute_after:meta])* $after:ident: $type_after:ty,)* }
    ) => {
        /// The stored form of [`Control`], which documents the members.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct StoredControl {
            started: Option<Arc<RunStarted>>,
            $($(#[$attribute_before])* $before: $type_before,)*
            cancelling: Option<Principal>,
            stopping: Option<RunEnded>,
            ended: Option<RunEnded>,
            $($(#[$attribute_after])* $after: $type_after,)*
        }

        impl From<Control> for StoredControl {
            fn from(control: Control) -> Self {
                let Control { phase, $($before,)* $($after,)* } = control;
                let started = phase.started().cloned();
                let mut stored = Self {
                    started,
                    $($before,)*
                    cancelling: None,
                    stopping: None,
                    ended: None,
                    $($after,)*
                };
                match phase {
                    Phase::NotStarted | Phase::GoingOn { .. } => {}
                    Phase::Stopping { end, .. } => stored.stopping = Some(end),
                    Phase::Cancelling { by, .. } => stored.cancelling = Some(by),
                    Phase::Ended { end, .. } => stored.ended = Some(end),
                }
                stored
            }
        }

        impl TryFrom<StoredControl> for Control {
            type Error = EndsBeforeItsStart;

            fn try_from(stored: StoredControl) -> Result<Self, EndsBeforeItsStart> {
                let StoredControl { started, $($before,)* cancelling, stopping, ended, $($after,)* } = stored;
                let phase = match (started, ended, cancelling, stopping) {
                    (Some(started), Some(end), _, _) => Phase::Ended { started, end },
                    (Some(started), None, Some(by), _) => Phase::Cancelling { started, by },
                    (Some(started), None, None, Some(end)) => Phase::Stopping { started, end },
                    (Some(started), None, None, None) => Phase::GoingOn { started },
                    (None, None, None, None) => Phase::NotStarted,
                    (None, _, _, _) => return Err(EndsBeforeItsStart),
                };
                Ok(Self { phase, $($before,)* $($after,)* })
            }
        }
    };
}

stored_control! {
    {
        started_at: Timestamp,
        next_seq: Seq,
        last_at: Timestamp,
        #[serde(with = "pairs")]
        open: OpenVisits,
        top: FlowState,
        #[serde(rename = "inner")]
        subflows: BTreeMap<String, FlowState>,
        #[serde(default)]
        left: BTreeMap<String, FlowId>,
        ledger: Ledger,
        accounts: Accounts,
        goals: Option<Goals>,
        interrupts: BTreeMap<InterruptId, Arc<InterruptRaised>>,
        #[serde(default)]
        votes: BTreeMap<InterruptId, Vec<Arc<InterruptAnswered>>>,
        #[serde(default)]
        last_answer: Option<InterruptId>,
        #[serde(default)]
        files: Arc<BTreeMap<String, Option<Digest>>>,
        #[serde(default)]
        manifests: Arc<Vec<HandedOver>>,
        #[serde(default)]
        raised: Ledger,
        timers: BTreeMap<TimerId, (Timestamp, VisitId)>,
        abandoned: BTreeSet<AttemptId>,
        #[serde(with = "pairs")]
        ending: BTreeMap<AttemptId, Arc<AttemptStarted>>,
        last_handoff: Option<VisitId>,
    }
    phase
    {
        #[serde(default)]
        forked: Option<Arc<RunForked>>,
        #[serde(default)]
        inherited: Share,
        #[serde(default, skip_serializing_if = "ProgramSessions::is_empty")]
        sessions: ProgramSessions,
        #[serde(default, skip_serializing_if = "WaitingTime::is_nothing")]
        waiting: WaitingTime,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correction: Option<Arc<Correction>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restoring: Option<Arc<FilesRestoring>>,
    }
}

/// Stores maps with structured keys as lists of pairs, because JSON member names are only text.
mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<'m, K, V, M, S>(map: &'m M, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Serialize + 'm,
        V: Serialize + 'm,
        &'m M: IntoIterator<Item = (&'m K, &'m V)>,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, M, D>(deserializer: D) -> Result<M, D::Error>
    where
        K: Deserialize<'de>,
        V: Deserialize<'de>,
        M: FromIterator<(K, V)>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}
