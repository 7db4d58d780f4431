//! The sessions of agent programs: their ids and their progress.
//!
//! A session is identified by its label, the account of its program, and the scope of the step: each item of
//! a `for_each`, and each execution of an inner flow, has sessions of its own. A session is live in one
//! attempt at a time. A fork of the run does not share sessions with the original run. If the program
//! supports it, the fork's sessions branch off from the original ones at the point of the fork.

use crate::{
    model::{
        command::{Command, ProgramCall, SessionFigures, SessionFork},
        event::{AttemptSettled, AttemptStarted},
        flow::{AfterWait, Step, StepKind},
        ids::VisitId,
    },
    state::visit::{OpenVisit, VisitState},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sessions of agent programs of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ProgramSessions(BTreeMap<String, ProgramSession>);

/// A session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramSession {
    /// Its id; `None`: the program has not reported one.
    id: Option<String>,
    /// Sums over all its processes, as last reported by the program.
    #[serde(default)]
    figures: SessionFigures,
    /// The agent's last message, as the program reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// The point where it branches off, until the program has reported the new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fork_of: Option<SessionFork>,
}

impl ProgramSessions {
    /// Records an announced attempt. If its session has an id, the id is known from now on, even if the attempt fails.
    pub(crate) fn started(&mut self, event: &AttemptStarted) {
        let Some(call) = call_of(event) else { return };
        if let Some(key) = &call.session_key {
            let session = self.0.entry(key.clone()).or_default();
            if let Some(id) = &call.session {
                session.id = Some(id.clone());
            }
        }
    }

    /// Records the end of a live attempt: its program may have reported a session.
    pub(crate) fn settled(&mut self, started: &AttemptStarted, event: &AttemptSettled) {
        let (Some(call), Some(seen)) = (call_of(started), &event.session) else { return };
        if let Some(key) = &call.session_key {
            let session = self.0.entry(key.clone()).or_default();
            session.id = Some(seen.id.clone());
            session.figures = seen.figures.clone();
            if seen.last.is_some() {
                (session.last, session.fork_of) = (seen.last.clone(), None);
            }
        }
    }

    /// The id and the sums of a session, if it has begun.
    pub(crate) fn known(&self, key: &str) -> Option<(&str, &SessionFigures)> {
        let session = self.0.get(key)?;
        Some((session.id.as_deref()?, &session.figures))
    }

    /// The point where this session branches off from another one, if it has not gone beyond that yet.
    pub(crate) fn fork_of(&self, key: &str) -> Option<&SessionFork> {
        self.0.get(key)?.fork_of.as_ref()
    }

    /// The run was forked at this point.
    pub(crate) fn fork(&mut self) {
        self.0 = core::mem::take(&mut self.0)
            .into_iter()
            .filter_map(|(key, session)| {
                let begun = session.id.zip(session.last).map(|(id, last)| SessionFork { id, last });
                let fork_of = begun.or(session.fork_of)?;
                Some((key, ProgramSession { fork_of: Some(fork_of), ..ProgramSession::default() }))
            })
            .collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The key of the session that the attempts of a visit continue, if they share one. `other`: use the fallback
/// program instead of the step's own.
pub(crate) fn key(step: &Step, visit: &VisitId, other: bool) -> Option<String> {
    let StepKind::Agent(plan) = &step.kind else { return None };
    // Each account has sessions of its own. The name of the account begins with the name of the program.
    let (program, account) = match &plan.on_throttled.then {
        AfterWait::Use(instead) if other => (&instead.name, &instead.account),
        _ => (&plan.program, &plan.account),
    };
    // Through the bridge, the program has no account, and its model may change within a session.
    let account = if plan.by_bridge { format!("{program} by bridge") } else { account.clone() };
    let label = plan.session.as_ref()?;
    let scope = visit.flow_scope();
    let scope = if scope.is_empty() { String::new() } else { format!("{scope}.") };
    let item = visit.item().map_or_else(String::new, |item| format!("[{item}]"));
    Some(format!("{scope}{label}{item}@{account}"))
}

/// Whether another visit uses this session: in a live attempt, or in one that waits for a person's answer.
pub(crate) fn is_live(open: &BTreeMap<VisitId, OpenVisit>, visit: &VisitId, key: &str) -> bool {
    open.iter().any(|(id, other)| {
        let call = other.plan.as_deref().and_then(call_of);
        let has_it = call.is_some_and(|call| call.session_key.as_deref() == Some(key));
        // A session that waits for a person can continue only where it was stopped.
        let is_in_use = other.state == VisitState::Running || !other.tool_approval.is_none();
        id != visit && is_in_use && has_it
    })
}

fn call_of(event: &AttemptStarted) -> Option<&ProgramCall> {
    match &event.command {
        Command::Agent(call) => Some(call),
        Command::Exec(_) | Command::Shell(_) | Command::A2a(_) | Command::Model(_) | Command::Merge(_) => {
            None
        }
    }
}
