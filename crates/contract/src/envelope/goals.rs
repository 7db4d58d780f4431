//! The methods of the seed: goals, rounds, and whether a pipeline makes progress.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Envelope;
use crate::json::{Members, Object, Value};
use crate::time::Timestamp;

/// The default number of rounds after which a pipeline without a completed goal counts as stuck.
pub const DEFAULT_MIN_PROGRESS_STAGES: u64 = 2;

/// The information about the current round that a step needs.
#[derive(Clone, Debug, PartialEq)]
pub struct StageContext {
    /// The round, from 1.
    pub current_stage_number: u64,
    /// Rounds allowed.
    pub max_stages: u64,
    /// The goals.
    pub all_goals: Vec<String>,
    /// The goals that are not complete.
    pub remaining_goals: Vec<String>,
    /// Each goal's status.
    pub goal_completion_status: Members<String>,
    /// The result of each finished round.
    pub completed_stages: Vec<Object>,
}

impl StageContext {
    /// The six members as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let statuses: Object = self
            .goal_completion_status
            .iter()
            .map(|(goal, status)| (goal, Value::from(status.as_str())))
            .collect();
        Value::Object(Object::from([
            ("current_stage_number", Value::from(self.current_stage_number)),
            ("max_stages", Value::from(self.max_stages)),
            ("all_goals", Value::from(self.all_goals.clone())),
            ("remaining_goals", Value::from(self.remaining_goals.clone())),
            ("goal_completion_status", Value::Object(statuses)),
            ("completed_stages", Value::from(self.completed_stages.clone())),
        ]))
    }
}

/// The content of a new envelope. Ids and the current time come from the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id of the envelope.
    pub envelope_id: String,
    /// The text of the request.
    pub raw_input: String,
    /// The user who makes the request.
    pub user_id: String,
    /// The session.
    pub session_id: String,
    /// The id of the request.
    pub request_id: String,
    /// Metadata, free-form.
    pub metadata: Object,
    /// The current time, for both `received_at` and `created_at`.
    pub now: Timestamp,
}

/// A new envelope with the seed's defaults.
#[must_use]
pub fn create_envelope(request: Request) -> Envelope {
    let Request { envelope_id, raw_input, user_id, session_id, request_id, metadata, now } = request;
    let now = Some(now.to_string());
    Envelope {
        envelope_id,
        request_id,
        user_id,
        session_id,
        raw_input,
        received_at: now.clone(),
        created_at: now,
        metadata,
        ..Envelope::default()
    }
}

impl Envelope {
    /// Replaces all three goal members. Duplicates stay in the lists and collapse in the map; each goal is `pending`.
    pub fn initialize_goals(&mut self, goals: &[String]) {
        self.all_goals = goals.to_vec();
        self.remaining_goals = goals.to_vec();
        self.goal_completion_status =
            goals.iter().map(|goal| (goal.as_str(), "pending".to_string())).collect();
    }

    /// Marks a goal `complete` and removes its first occurrence from the remaining ones. If the map or the list does
    /// not have the goal, it stays unchanged.
    pub fn mark_goal_complete(&mut self, goal: &str) {
        if let Some(status) = self.goal_completion_status.get_mut(goal) {
            *status = "complete".to_string();
        }
        if let Some(at) = self.remaining_goals.iter().position(|remaining| remaining == goal) {
            self.remaining_goals.remove(at);
        }
    }

    /// Begins the next round. The number is not limited here; limits are checked where rounds are started.
    pub fn advance_stage(&mut self) {
        self.current_stage_number = self.current_stage_number.saturating_add(1);
    }

    /// A copy of the information about the current round.
    #[must_use]
    pub fn get_stage_context(&self) -> StageContext {
        StageContext {
            current_stage_number: self.current_stage_number,
            max_stages: self.max_stages,
            all_goals: self.all_goals.clone(),
            remaining_goals: self.remaining_goals.clone(),
            goal_completion_status: self.goal_completion_status.clone(),
            completed_stages: self.completed_stages.clone(),
        }
    }

    /// True if `min_progress_stages` rounds have begun and no goal is done: `complete`, or `satisfied` from a related
    /// system.
    #[must_use]
    pub fn is_stuck(&self, min_progress_stages: u64) -> bool {
        let done = |status: &String| status == "complete" || status == "satisfied";
        self.current_stage_number >= min_progress_stages && !self.goal_completion_status.values().any(done)
    }
}
