//! The behaviour of a simulated command: its duration, its end and its results.
//!
//! All of it follows from the seed and the attempt's name, never from when it runs: so the same run ends the
//! same way in a world with crashes as in one without.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_engine::Job;
use envoi_kernel::{
    event::{Blob, Outcome},
    input::{AttemptResult, ReportPlace},
};
use envoi_testkit::Dice;

/// How one attempt goes, if nothing comes in between.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) duration_ms: u64,
    outcome: Outcome,
    text: String,
    report: Option<String>,
}

/// Bytes of a large text: more than travel with a commit.
const LARGE_BYTES: usize = 40_000;

/// Bytes of a large report's data, which stands in the event: a few of them make a snapshot due.
const FILLER_BYTES: usize = 30_000;

impl Work {
    pub(crate) fn of(seed: u64, job: &Job) -> Self {
        let mut dice = Dice::of(seed, &["work", job.run.as_str(), &job.started.attempt.to_string()]);
        let skill = job.flow.step(&job.started.attempt.visit.step).and_then(|step| step.skill.as_deref());
        let named: Vec<String> = job.flow.steps.iter().map(|step| step.id.to_string()).collect();
        Self {
            duration_ms: dice.between(0, 4_000),
            outcome: outcome(&mut dice),
            text: text(&mut dice, &named),
            report: report(&mut dice, skill, Dice::of(seed, &["heavy", job.run.as_str()]).permille(80)),
        }
    }

    /// An agent that works for so long, exits with this code and leaves this report.
    pub(crate) fn of_agent(duration_ms: u64, code: i32, report: String) -> Self {
        let text = "Words of an agent.\n".to_owned();
        Self { duration_ms, outcome: Outcome::Exited { code }, text, report: Some(report) }
    }

    /// The record of the supervisor. `outcome` replaces the command's own one, for a command that was ended.
    pub(crate) fn result(
        &self,
        job: &Job,
        started_at: Timestamp,
        ended: Option<(Outcome, u64)>,
    ) -> AttemptResult {
        let (outcome, duration_ms) = ended.unwrap_or_else(|| (self.outcome.clone(), self.duration_ms));
        AttemptResult {
            duration_ms,
            text: self.text.clone(),
            text_blob: Some(blob(self.text.as_bytes())),
            stderr_tail: "stderr of the simulated command\n".to_owned(),
            report: self.report.as_ref().map(|report| report.clone().into_bytes()),
            report_blob: self.report.as_ref().map(|report| blob(report.as_bytes())),
            report_place: ReportPlace { assigned: true, unreadable: None },
            ..AttemptResult::empty(job.started.attempt.clone(), outcome, started_at)
        }
    }
}

fn blob(bytes: &[u8]) -> Blob {
    Blob { digest: Digest::of(bytes), size: u64::try_from(bytes.len()).unwrap_or(u64::MAX) }
}

fn outcome(dice: &mut Dice) -> Outcome {
    match dice.below(100) {
        0..72 => Outcome::Exited { code: 0 },
        72..88 => Outcome::Exited { code: 1 },
        88..91 => Outcome::Exited { code: 127 },
        91..94 => Outcome::Signalled { signal: 9 },
        94..97 => Outcome::TimedOut,
        _ => Outcome::CannotStart { reason: "the simulated machine refused".to_owned() },
    }
}

fn text(dice: &mut Dice, steps: &[String]) -> String {
    let hint = dice.pick(steps).map_or_else(String::new, |step| format!("Go to step '{step}'\n"));
    let mut text = match dice.below(8) {
        0 => "All is well.\nStatus: VERIFIED\n".to_owned(),
        1 => "Not yet.\nStatus: UNVERIFIED\n".to_owned(),
        2 => "Status: BLOCKED\nfurther_iteration_can_help: false\n".to_owned(),
        3..6 => hint,
        6 => String::new(),
        _ => "Some words without a verdict.\n".to_owned(),
    };
    if dice.permille(20) {
        text.push_str(&"x".repeat(LARGE_BYTES));
    }
    text
}

/// A heavy run is one whose reports say much.
fn report(dice: &mut Dice, skill: Option<&str>, heavy: bool) -> Option<String> {
    let wanted = if skill.is_some() || heavy { 900 } else { 300 };
    if !dice.permille(wanted) {
        return None;
    }
    if dice.permille(50) {
        return Some("{ this is no report".to_owned());
    }
    let ok = !dice.permille(250);
    let status = dice.word(&["VERIFIED", "UNVERIFIED", "DONE"]);
    let filler = if heavy { "x".repeat(FILLER_BYTES) } else { String::new() };
    Some(format!(
        r#"{{"ok":{ok},"generatedAt":"2026-11-21T00:00:00Z","skillName":"{}","data":{{"status":"{status}","filler":"{filler}"}},"metrics":{{"llm_calls":{},"cost_usd":"0.{}"}}}}"#,
        skill.unwrap_or("other"),
        dice.below(4),
        dice.below(10),
    ))
}
